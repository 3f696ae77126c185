"""An exchange in, the tree of its request and its response out: folded and unfolded, searched, with a cursor."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final

from rich.segment import Segment
from rich.style import Style
from textual.binding import BindingType
from textual.message import Message
from textual.strip import Strip

from kwcli.browse.actions import make_bindings_of_places
from kwcli.browse.message_tree.match_records import make_record_matcher
from kwcli.browse.message_tree.message_fields import INDEX, FieldReader, MessageFields, is_path_below
from kwcli.browse.message_tree.tree_field import TreeField
from kwcli.browse.panes.line_pane import LinePane
from kwcli.output.short_texts import cell_width

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Settled
    from kwcli.output.output_settings import Settings

__all__ = ["MessagePane", "describe_not_found"]

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
_READING: Final = "reading the message"
_NOTHING_BELOW: Final = "this line has nothing below it"
# Cells that names take at most; values stand in one column behind them, for which so many cells stay where they can.
_NAMES_MOST: Final = 44
_NAMES_LEAST: Final = 12
_CELLS_OF_VALUES: Final = 24
# Fields that are read at once, in about 5 ms; and so long (s) lies before the next ones, in which keys are taken.
FIELDS_AT_ONCE: Final = 200
_PAUSE_S: Final = 0.002


def describe_not_found(text: str) -> str:
    """That a text is not in this message, and how it is searched in all."""
    return f"not found: {text} · f {text} Enter searches it in all rows"


class MessagePane(LinePane):
    """The tree. `fields` has all its lines, `shown` the places of those that no fold hides."""

    place = "message"
    BINDINGS: ClassVar[list[BindingType]] = [*make_bindings_of_places(place)]

    class OtherRowWanted(Message):
        """The message of the next row of the list is to be shown, or of the one before."""

        def __init__(self, step: int) -> None:
            super().__init__()
            self.step = step

    class OtherRecordsWanted(Message):
        """The next row with records is to be shown, at the first of them, or the one before, at the last."""

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
        self.message = MessageFields()
        self._reader: FieldReader | None = None
        self._source: FieldReader | None = None  # what has read the message
        self._refolded: set[tuple[str, str]] = set()  # side and path of folds that are not as they are at first
        self._unfolds_records = False  # whether records are unfolded at first
        self._shown: list[int] = []
        self._under: TreeField | None = None  # the field that hides those that are read now
        self._names = 0  # cells of the column of names
        self._wanted: tuple[str, str] | None = None  # side and path of the field that the cursor is to go to
        self._when_read: Callable[[], None] | None = None  # what a key has asked for that is done once all is read
        self._at_top: TreeField | None = None  # the record that goes to the top, as far as lines below it are read
        self.searched = ""
        self.to_ascii: Callable[[str], str] = str

    # -- contents ------------------------------------------------------------------------------------------------------

    def show_row(self, row: Settled | None) -> None:
        """Show the message of a row; the cursor stays on the field that it was on, where the message has it."""
        before = self.field
        self._wanted = (before.side, before.path) if before is not None else self._wanted
        self.exchange = row
        self.message, self._reader, self._source, self._when_read = MessageFields(), None, None, None
        self._names, self.line_width, self.cursor = 0, self.size.width, 0
        self._shown, self._under, self._at_top = [], None, None
        if row is not None and row.kind == "exchange":
            self._reader = self._source = FieldReader(row, self.settings)
            self.message = self._reader.message
            self._read_fields(self._reader)
        self.redraw_lines()
        self.call_after_refresh(self.show_cursor)
        self.post_message(self.CursorMoved(self))

    def _read_fields(self, reader: FieldReader) -> None:
        """Read the next fields, and do what waits for them; later ones are read when keys had their turn."""
        if reader is not self._reader:
            return  # another message is shown
        fields = self.message.fields
        first = len(fields)
        reader.read_fields(FIELDS_AT_ONCE)
        for field in fields[first:]:
            if field.text:
                self._names = max(self._names, min(cell_width(field.name), _NAMES_MOST))
        self.line_width = max(
            self.line_width,
            max((self._names + cell_width(field.text) + 6 for field in fields[first:]), default=0),
        )
        self._show_fields_from(first)
        if self._wanted is not None:
            self._go_to_wanted_field(first)
        if not self.message.is_whole:
            self.set_timer(_PAUSE_S, partial(self._read_fields, reader))
        else:
            self._end_reading(reader)
        if first:
            self.redraw_lines()
            self.call_after_refresh(self._scroll_record_to_top)
            self.post_message(self.CursorMoved(self))

    def _end_reading(self, reader: FieldReader) -> None:
        """Put remarks among the fields, and do what a key has asked for."""
        self._reader, self._wanted, then, self._when_read = None, None, self._when_read, None
        here = self.field
        if reader.add_remarks():
            self._redraw_folds(here)
        if then is not None:
            self.post_notice("", instead_of=_READING)
            then()

    def _go_to_wanted_field(self, first: int) -> None:
        """Put the cursor on the field that it was on in the message before, once it is read."""
        begin = bisect_left(self._shown, first)
        for at in range(begin, len(self._shown)):
            field = self.message.fields[self._shown[at]]
            if (field.side, field.path) == self._wanted:
                self.cursor, self._wanted = at, None
                self.call_after_refresh(self.show_cursor)
                return

    def _wait_for_fields(self, action: Callable[[], None]) -> bool:
        """Have an action done once all fields are read; False where they are."""
        if self._reader is None:
            return False
        self._when_read = action
        self.post_notice(_READING, instead_of="")
        return True

    @property
    def is_reading(self) -> bool:
        """Whether fields of the message are still to be read."""
        return self._reader is not None

    def move_to(self, at: int) -> None:
        """Put the cursor on a line; it no longer goes to a field that is still to be read."""
        self._wanted = None
        super().move_to(at)

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

    def _is_folded(self, field: TreeField) -> bool:
        """Whether a field hides those below it: records do at first, unless everything was unfolded."""
        at_first = field.is_record and not self._unfolds_records
        return bool(field.fold) and at_first != ((field.side, field.fold) in self._refolded)

    def _show_fields_from(self, place: int) -> None:
        """Find the lines that no fold hides, of the fields from a place on."""
        if not place:
            self._shown, self._under = [], None
        under = self._under
        for at in range(place, len(self.message.fields)):
            field = self.message.fields[at]
            if (
                under is not None
                and field.side == under.side
                and (under.is_heading or is_path_below(field.path, under.fold))
            ):
                continue
            under = field if self._is_folded(field) else None
            self._shown.append(at)
        self._under = under

    def _set_folded(self, field: TreeField, *, folded: bool) -> None:
        if folded != self._is_folded(field):
            self._refolded ^= {(field.side, field.fold)}
        self._redraw_folds(field)

    def _redraw_folds(self, field: TreeField | None) -> None:
        self._show_fields_from(0)
        if field is not None:
            places = [at for at, each in self._list_shown_fields() if each is field]
            self.cursor = places[0] if places else min(self.cursor, len(self._shown) - 1)
        self.redraw_lines()
        self.show_cursor()
        self.post_message(self.CursorMoved(self))

    def _find_enclosing_field(self, field: TreeField) -> TreeField | None:
        """The field that folds this one away, or begins its side."""
        for at in range(self.cursor - 1, -1, -1):
            above = self.message.fields[self._shown[at]]
            if above.side == field.side and above.fold and (above.is_heading or is_path_below(field.path, above.fold)):
                return above
        return None

    # -- lines ---------------------------------------------------------------------------------------------------------

    def count_lines(self) -> int:
        """The lines that no fold hides; one where there is no message."""
        return len(self._shown) or 1

    def make_line(self, at: int) -> Strip:
        """A line of the tree."""
        if not self._shown:
            return Strip([Segment(self._explain_missing_fields(), Style(dim=True))])
        field = self.message.fields[self._shown[at]]
        folded = self._is_folded(field)
        mark = _MARKS[folded] if field.fold else " "
        if field.is_heading:
            return Strip([Segment(self.to_ascii(f"{mark} {field.name}  "), _HEAD), Segment(self.to_ascii(field.text))])
        matches = self.searched and self._is_match(field)
        room = 0 if field.is_record else min(self._names, max(self.size.width - _CELLS_OF_VALUES, _NAMES_LEAST))
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

    def _explain_missing_fields(self) -> str:
        row = self.exchange
        if row is None:
            return "no message"
        return "bytes that are no exchange" if row.kind != "exchange" else "no fields"

    # -- search --------------------------------------------------------------------------------------------------------

    def _is_match(self, field: TreeField) -> bool:
        return self.searched.lower() in f"{field.name} {field.text}".lower()

    def search(self, text: str) -> bool:
        """Search a text from the cursor on; returns whether there is one, or may be in fields still to be read."""
        self.searched = text
        self.redraw_lines()
        if not text or self._go_to_match(1, include=True):
            return bool(text)
        return self._wait_for_fields(self._search_again)

    def _search_again(self) -> None:
        if not self._go_to_match(1, include=True):
            self.post_notice(describe_not_found(self.searched))

    def _go_to_match(self, step: int, *, include: bool = False) -> bool:
        if not self.searched or not self.message.fields:
            return False
        here = self._place_of_cursor
        count = len(self.message.fields)
        for far in range(0 if include else 1, count + 1):
            field = self.message.fields[(here + far * step) % count]
            if self._is_match(field):
                self._unfold_and_go_to_field(field)
                return True
        return False

    @property
    def _place_of_cursor(self) -> int:
        """The place among all fields of the one at the cursor."""
        return self._shown[self.cursor] if self.cursor < len(self._shown) else 0

    def _unfold_and_go_to_field(self, field: TreeField) -> None:
        """Put the cursor on a field, with everything unfolded that it lies in."""
        for each in self.message.fields:
            if each is field:
                break
            is_around = each.side == field.side and (each.is_heading or is_path_below(field.path, each.fold))
            if is_around and self._is_folded(each):
                self._refolded ^= {(each.side, each.fold)}
        self._redraw_folds(field)

    # -- records -------------------------------------------------------------------------------------------------------

    def go_to_record(self, step: int, text: str = "") -> None:
        """Go to the first record of the message, or the last: of those that a filter is about, where there are some."""
        records = [field for field in self.message.fields if field.is_record]
        matches = make_record_matcher(text, self.settings.values) if text else None
        if matches is not None and self._wait_for_fields(partial(self.go_to_record, step, text)):
            return
        if matches is not None and self._source is not None:
            found = [(field, self._source.json_of(field)) for field in records]
            records = [field for field, its in found if isinstance(its, dict) and matches(its)] or records
        if self._reader is not None and (step < 0 or not records):
            self._wait_for_fields(partial(self.go_to_record, step))
        elif records:
            self._show_record(records[0 if step > 0 else -1], at_top=True)
        else:
            self.post_notice("its records are not shown: they cannot be read")

    def _show_record(self, record: TreeField, *, at_top: bool = False) -> None:
        """Put the cursor on a record; the first one gone to goes to the top, with those that follow it below."""
        comes_from = self.field
        self._unfold_and_go_to_field(record)
        if at_top or comes_from is None or not comes_from.is_record or not self._is_on_screen:
            self._at_top = record
            self.call_after_refresh(self._scroll_record_to_top)

    def _scroll_record_to_top(self) -> None:
        """Scroll to the record while the cursor is on it: again when more lines below it are read."""
        if self._at_top is not None and self.field is self._at_top:
            self.scroll_to(y=self.cursor, animate=False, immediate=True)
        if self._reader is None:
            self._at_top = None

    @property
    def _is_on_screen(self) -> bool:
        return self.scroll_offset.y <= self.cursor < self.scroll_offset.y + self.size.height

    def _go_to_other_record(self, step: int) -> None:
        fields, here = self.message.fields, self._place_of_cursor
        places = range(here + 1, len(fields)) if step > 0 else range(here - 1, -1, -1)
        found = next((fields[place] for place in places if fields[place].is_record), None)
        if found is not None:
            self._show_record(found)
        elif step < 0 or not self._wait_for_fields(partial(self._go_to_other_record, step)):
            self.post_message(self.OtherRecordsWanted(step))

    # -- actions -------------------------------------------------------------------------------------------------------

    def open_line(self) -> None:
        """Fold or unfold."""
        self.action_toggle_fold()

    def action_toggle_fold(self) -> None:
        field = self.field
        if field is not None and field.fold:
            self._set_folded(field, folded=not self._is_folded(field))
        else:
            self.post_notice(_NOTHING_BELOW)

    def action_fold_or_leave(self) -> None:
        field = self.field
        if field is not None and field.fold and not self._is_folded(field):
            self._set_folded(field, folded=True)
        elif field is not None and (around := self._find_enclosing_field(field)) is not None:
            self.move_to(next(at for at, each in self._list_shown_fields() if each is around))
        else:
            self.post_notice("nothing is around this line")

    def action_unfold(self) -> None:
        field = self.field
        if field is not None and self._is_folded(field):
            self._set_folded(field, folded=False)
        else:
            self.post_notice("this line is not folded" if field is not None and field.fold else _NOTHING_BELOW)

    def action_fold_all(self) -> None:
        foldable = [field for field in self.message.fields if field.fold and field.path]
        if all(map(self._is_folded, foldable)):
            self.post_notice("everything is folded")
        self._refolded = {(field.side, field.fold) for field in foldable if not field.is_record}
        self._unfolds_records = False
        self._redraw_folds(self.field)

    def action_unfold_all(self) -> None:
        if not any(map(self._is_folded, self.message.fields)):
            self.post_notice("nothing is folded")
        self._refolded, self._unfolds_records = set(), True
        self._redraw_folds(self.field)

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
            self.post_notice("nothing is searched: / asks for a text")
        elif not self._go_to_match(step) and not self._wait_for_fields(partial(self._go_to_other_match, step)):
            self.post_notice(describe_not_found(self.searched))
        elif self.field is before:
            self.post_notice("there is no other match")

    def action_next_error_code(self) -> None:
        self._go_to_error_code(1)

    def action_earlier_error_code(self) -> None:
        self._go_to_error_code(-1)

    def _go_to_error_code(self, step: int) -> None:
        """Go to the next field that is an error code, or to the one before, on either side."""
        fields, here = self.message.fields, self._place_of_cursor
        places = range(here + 1, len(fields)) if step > 0 else range(here - 1, -1, -1)
        found = next((fields[place] for place in places if fields[place].is_error_code), None)
        if found is not None:
            self._unfold_and_go_to_field(found)
        elif step < 0 or not self._wait_for_fields(partial(self._go_to_error_code, step)):
            self.post_notice("no further error code" if step > 0 else "no earlier error code")

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
        elif not self._wait_for_fields(self.action_change_side):
            self.post_notice("there is no other side")

    def action_next_record(self) -> None:
        self._go_to_other_record(1)

    def action_earlier_record(self) -> None:
        self._go_to_other_record(-1)

    def action_go_to_end(self) -> None:
        if not self._wait_for_fields(self.action_go_to_end):
            super().action_go_to_end()

    def action_toggle_bytes(self) -> None:
        self.post_message(self.BytesToggled())

    def action_next_row(self) -> None:
        self.post_message(self.OtherRowWanted(1))

    def action_earlier_row(self) -> None:
        self.post_message(self.OtherRowWanted(-1))
