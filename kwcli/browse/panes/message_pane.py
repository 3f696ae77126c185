"""An exchange in, the tree of its request and its response out: folded and unfolded, searched, with a cursor."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Final

from rich.segment import Segment
from rich.style import Style
from textual.binding import BindingType
from textual.message import Message
from textual.strip import Strip

from kwcli.browse.actions import bindings_of
from kwcli.browse.message_fields import INDEX, MessageFields, TreeField, is_below, list_fields
from kwcli.browse.panes.line_pane import LinePane
from kwcli.output.short_texts import cell_width

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Settled
    from kwcli.output.output_settings import Settings

__all__ = ["MessagePane"]

_HEAD: Final = Style(bold=True)
_NAME: Final = Style(color="cyan")
_PAINTS: Final[dict[str, Style]] = {
    "": Style(),
    "dim": Style(dim=True),
    "bad": Style(color="red", bold=True),
    "head": Style(),
}
_MATCH: Final = Style(bold=True, underline=True)
_MARKS: Final = {True: "▸", False: "▾"}
_NOTHING_BELOW: Final = "this line has nothing below it"
# Cells that names take at most; values stand in one column behind them, for which so many cells stay where they can.
_NAMES_MOST: Final = 44
_NAMES_LEAST: Final = 12
_CELLS_OF_VALUES: Final = 24


class MessagePane(LinePane):
    """The tree. `fields` has all its lines, `shown` the places of those that no fold hides."""

    place = "message"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings_of(place)]

    class OtherRowWanted(Message):
        """The message of the next row of the list is to be shown, or of the one before."""

        def __init__(self, step: int) -> None:
            super().__init__()
            self.step = step

    class SearchWanted(Message):
        """A text is to be asked for, which is searched then."""

    class BytesToggled(Message):
        """The bytes are to be shown, or hidden."""

    def __init__(self, settings: Settings, **options: Any) -> None:
        super().__init__(**options)
        self.settings = settings
        self.exchange: Settled | None = None
        self.message = MessageFields([], {}, {})
        self._folded: set[tuple[str, str]] = set()  # side and path
        self._shown: list[int] = []
        self._names = 0  # cells of the column of names
        self.searched = ""
        self.to_ascii: Callable[[str], str] = str

    # -- contents ------------------------------------------------------------------------------------------------------

    def show_row(self, row: Settled | None) -> None:
        """Show the message of a row; the cursor stays on the field that it was on, where the message has it."""
        before = self.field
        self.exchange = row
        if row is None or row.kind != "exchange":
            self.message = MessageFields([], {}, {})
        else:
            self.message = list_fields(row, self.settings)
        widths = [cell_width(field.name) for field in self.message.fields if field.text]
        self._names = min(max(widths, default=0), _NAMES_MOST)
        self.line_width = max(
            (self._names + cell_width(field.text) + 6 for field in self.message.fields), default=self.size.width
        )
        self._hide_folded()
        at = 0
        if before is not None:
            at = next(
                (at for at, each in self._list_shown_fields() if (each.side, each.path) == (before.side, before.path)),
                0,
            )
        self.cursor = at
        self.redraw_lines()
        self.call_after_refresh(self.show_cursor)
        self.post_message(self.CursorMoved(self))

    def _list_shown_fields(self) -> list[tuple[int, TreeField]]:
        return [(at, self.message.fields[place]) for at, place in enumerate(self._shown)]

    @property
    def field(self) -> TreeField | None:
        """The field at the cursor."""
        return self.message.fields[self._shown[self.cursor]] if self.cursor < len(self._shown) else None

    def go_to_field(self, side: str, byte: int) -> None:
        """Put the cursor on the field that has a byte of a side."""
        best: tuple[int, int] | None = None
        for at, field in self._list_shown_fields():
            if field.side != side:
                continue
            for begin, end, _ in field.runs:
                if begin <= byte < end and (best is None or end - begin < best[0]):
                    best = end - begin, at
        if best is not None:
            self.move_to(best[1])

    # -- folds ---------------------------------------------------------------------------------------------------------

    def _hide_folded(self) -> None:
        """Find the lines that no fold hides."""
        self._shown = []
        under: TreeField | None = None
        for place, field in enumerate(self.message.fields):
            if (
                under is not None
                and field.side == under.side
                and (under.is_heading or is_below(field.path, under.fold))
            ):
                continue
            under = None
            self._shown.append(place)
            if field.fold and (field.side, field.fold) in self._folded:
                under = field

    def _set_folded(self, field: TreeField, *, folded: bool) -> None:
        key = (field.side, field.fold)
        if folded:
            self._folded.add(key)
        else:
            self._folded.discard(key)
        self._refold(field)

    def _refold(self, field: TreeField | None) -> None:
        self._hide_folded()
        if field is not None:
            places = [at for at, each in self._list_shown_fields() if each is field]
            self.cursor = places[0] if places else min(self.cursor, len(self._shown) - 1)
        self.redraw_lines()
        self.show_cursor()
        self.post_message(self.CursorMoved(self))

    def _find_field_around(self, field: TreeField) -> TreeField | None:
        """The field that folds this one away, or begins its side."""
        for at in range(self.cursor - 1, -1, -1):
            above = self.message.fields[self._shown[at]]
            if above.side == field.side and above.fold and (above.is_heading or is_below(field.path, above.fold)):
                return above
        return None

    # -- lines ---------------------------------------------------------------------------------------------------------

    def count_lines(self) -> int:
        """The lines that no fold hides; one where there is no message."""
        return len(self._shown) or 1

    def make_line(self, at: int) -> Strip:
        """A line of the tree."""
        if not self._shown:
            return Strip([Segment(self._describe_skipped(), Style(dim=True))])
        field = self.message.fields[self._shown[at]]
        folded = (field.side, field.fold) in self._folded
        mark = _MARKS[folded] if field.fold else " "
        if field.is_heading:
            return Strip([Segment(self.to_ascii(f"{mark} {field.name}  "), _HEAD), Segment(self.to_ascii(field.text))])
        matches = self.searched and self._is_match(field)
        room = min(self._names, max(self.size.width - _CELLS_OF_VALUES, _NAMES_LEAST))
        name = field.name + " " * (room - cell_width(field.name)) if field.text else field.name
        paint = _PAINTS[field.paint]
        return Strip(
            [
                Segment(self.to_ascii(f"{mark} ")),
                Segment(self.to_ascii(name), _NAME + _MATCH if matches else _NAME),
                Segment("  "),
                Segment(self.to_ascii(field.text), paint + _MATCH if matches else paint),
            ]
        )

    def _describe_skipped(self) -> str:
        row = self.exchange
        if row is None:
            return "no message"
        return "bytes that are no exchange" if row.kind != "exchange" else "no fields"

    # -- search --------------------------------------------------------------------------------------------------------

    def _is_match(self, field: TreeField) -> bool:
        return self.searched.lower() in f"{field.name} {field.text}".lower()

    def search(self, text: str) -> bool:
        """Search a text from the cursor on; returns whether there is one."""
        self.searched = text
        self.redraw_lines()
        return bool(text) and self._go_to_match(1, include=True)

    def _go_to_match(self, step: int, *, include: bool = False) -> bool:
        if not self.searched or not self.message.fields:
            return False
        here = self._shown[self.cursor] if self.cursor < len(self._shown) else 0
        count = len(self.message.fields)
        for far in range(0 if include else 1, count + 1):
            field = self.message.fields[(here + far * step) % count]
            if self._is_match(field):
                for key in [key for key in self._folded if key[0] == field.side]:
                    if key[1] == field.side or is_below(field.path, key[1]):
                        self._folded.discard(key)
                self._refold(field)
                return True
        return False

    # -- actions -------------------------------------------------------------------------------------------------------

    def open_line(self) -> None:
        """Fold or unfold."""
        self.action_toggle_fold()

    def action_toggle_fold(self) -> None:
        field = self.field
        if field is not None and field.fold:
            self._set_folded(field, folded=(field.side, field.fold) not in self._folded)
        else:
            self.post_notice(_NOTHING_BELOW)

    def action_fold_or_leave(self) -> None:
        field = self.field
        if field is not None and field.fold and (field.side, field.fold) not in self._folded:
            self._set_folded(field, folded=True)
        elif field is not None and (around := self._find_field_around(field)) is not None:
            self.move_to(next(at for at, each in self._list_shown_fields() if each is around))
        else:
            self.post_notice("nothing is around this line")

    def action_unfold(self) -> None:
        field = self.field
        if field is not None and (field.side, field.fold) in self._folded:
            self._set_folded(field, folded=False)
        else:
            self.post_notice("this line is not folded" if field is not None and field.fold else _NOTHING_BELOW)

    def action_fold_all(self) -> None:
        every: set[tuple[str, str]] = {
            (field.side, field.fold) for field in self.message.fields if field.fold and field.path
        }
        if self._folded >= every:
            self.post_notice("everything is folded")
        self._folded = every
        self._refold(self.field)

    def action_unfold_all(self) -> None:
        if not self._folded:
            self.post_notice("nothing is folded")
        self._folded.clear()
        self._refold(self.field)

    def action_copy_field(self) -> None:
        if self.field is None:
            self.post_notice("there is no field")
        else:
            self.copy(self.field.text)

    def action_copy_path(self) -> None:
        if self.field is None or not self.field.path:
            self.post_notice("this line has no path")
        else:
            self.copy(f"{self.field.side}.{INDEX.sub('', self.field.path)}")

    def action_search_text(self) -> None:
        self.post_message(self.SearchWanted())

    def action_next_match(self) -> None:
        self._go_to_other_match(1)

    def action_earlier_match(self) -> None:
        self._go_to_other_match(-1)

    def _go_to_other_match(self, step: int) -> None:
        before = self.field
        if not self.searched:
            self.post_notice("nothing is searched: s asks for a text")
        elif not self._go_to_match(step):
            self.post_notice(f"not found: {self.searched}")
        elif self.field is before:
            self.post_notice("there is no other match")

    def action_change_side(self) -> None:
        field = self.field
        heads = [
            at
            for at, each in self._list_shown_fields()
            if each.is_heading and field is not None and each.side != field.side
        ]
        if heads:
            self.move_to(heads[0])
            self.scroll_to(y=heads[0], animate=False, immediate=True)  # what follows it is what was asked for
        else:
            self.post_notice("there is no other side")

    def action_toggle_bytes(self) -> None:
        self.post_message(self.BytesToggled())

    def action_next_row(self) -> None:
        self.post_message(self.OtherRowWanted(1))

    def action_earlier_row(self) -> None:
        self.post_message(self.OtherRowWanted(-1))
