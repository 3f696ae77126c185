"""The bytes of one side in, a hex dump out in which the bytes of the selected field are lit; secrets are `**`."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any, ClassVar, Final

from rich.segment import Segment
from rich.style import Style
from textual.binding import BindingType
from textual.events import Click
from textual.message import Message
from textual.strip import Strip

from kwcli.browse.actions import make_bindings_of_places
from kwcli.browse.message_tree.message_fields import MessageFields
from kwcli.browse.message_tree.tree_field import TreeField
from kwcli.browse.panes.line_pane import LinePane

__all__ = ["BytesPane"]

_LIT: Final = Style(bold=True, reverse=True)
_AT: Final = Style(bold=True, underline=True, reverse=True)
_DIM: Final = Style(dim=True)
_PLAIN: Final = Style()


class BytesPane(LinePane):
    """The dump of the side that the selected field is on. `byte` is the byte that the cursor is at."""

    place = "bytes"
    BINDINGS: ClassVar[list[BindingType]] = [*make_bindings_of_places(place)]

    class ByteChosen(Message):
        """The cursor is at another byte."""

        def __init__(self, side: str, byte: int) -> None:
            super().__init__()
            self.side = side
            self.byte = byte

    class BytesLeft(Message):
        """The bytes are to be hidden."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.side = ""
        self.data = b""
        self._is_read = True  # whether all fields of the message are, and so which bytes are secrets
        self.byte = 0
        self._lit: list[tuple[int, int]] = []
        self._hidden: list[tuple[int, int]] = []
        self._begins: list[int] = []

    @property
    def bytes_per_line(self) -> int:
        """Bytes a line."""
        return next((count for count in (16, 8) if self.size.width >= 4 * count + 7), 4)

    def show_field(self, message: MessageFields, field: TreeField | None) -> None:
        """Show the side of a field, with its bytes lit; other fields of that side leave the dump where it is."""
        side = "" if field is None else field.side
        data = b"" if field is None else message.frames.get(field.side, b"")
        self._is_read = message.is_whole
        if (side, data) != (self.side, self.data):
            self.side, self.data = side, data
            self._hidden = [] if field is None else sorted(message.hidden.get(field.side, []))
            self._begins = [begin for begin, _ in self._hidden]
        self._lit = [] if field is None else [(begin, end) for begin, end, _ in field.runs]
        if self._lit and not any(begin <= self.byte < end for begin, end in self._lit):
            self.byte = self._lit[0][0]
        self.byte = max(0, min(self.byte, len(self.data) - 1))
        self.cursor = self.byte // self.bytes_per_line
        self.redraw_lines()
        self.show_cursor()

    def count_lines(self) -> int:
        """The lines of the dump; one where there are no bytes."""
        return max(-(-len(self.data) // self.bytes_per_line), 1)

    def render_line(self, y: int) -> Strip:
        """A line of the screen; the cursor is a byte, not a line."""
        at = self.scroll_offset.y + y
        if at >= self.count_lines():
            return Strip.blank(self.size.width)
        return self.make_line(at).crop_extend(self.scroll_offset.x, self.scroll_offset.x + self.size.width, None)

    def make_line(self, at: int) -> Strip:
        """A line of the dump: offset, bytes as hex, bytes as text."""
        if not self.data:
            text = "no bytes: they are not in this source" if self._is_read else "reading …"
            return Strip([Segment(text, _DIM)])
        count = self.bytes_per_line
        begin = at * count
        digits: list[Segment] = [Segment(f"{begin:04x}  ", _DIM)]
        texts: list[Segment] = [Segment(" ", _PLAIN)]
        for place in range(begin, begin + count):
            if place >= len(self.data):
                digits.append(Segment("   ", _PLAIN))
                continue
            style = self._style_of_byte(place)
            secret = self._is_hidden(place)
            byte = self.data[place]
            gap = (
                style
                if self._is_highlighted(place) and self._is_highlighted(place + 1) and place + 1 < begin + count
                else _PLAIN
            )
            digits += [Segment("**" if secret else f"{byte:02x}", style), Segment(" ", gap)]
            texts.append(Segment("*" if secret else chr(byte) if 32 <= byte < 127 else ".", style))
        return Strip([*digits, *texts]).simplify()

    def _style_of_byte(self, place: int) -> Style:
        if place == self.byte and self.has_focus:
            return _AT
        return _LIT if self._is_highlighted(place) else _PLAIN

    def _is_highlighted(self, place: int) -> bool:
        return any(begin <= place < end for begin, end in self._lit)

    def _is_hidden(self, place: int) -> bool:
        at = bisect_right(self._begins, place) - 1
        return at >= 0 and place < self._hidden[at][1]

    # -- the cursor ----------------------------------------------------------------------------------------------------

    def move_to(self, at: int) -> None:
        """Put the cursor on the same column of another line."""
        line = max(0, min(at, self.count_lines() - 1))
        self._go_to_byte(line * self.bytes_per_line + self.byte % self.bytes_per_line)

    def _go_to_byte(self, offset: int) -> None:
        self.byte = max(0, min(offset, len(self.data) - 1))
        self.cursor = self.byte // self.bytes_per_line
        self.show_cursor()
        self.refresh()
        self.post_message(self.ByteChosen(self.side, self.byte))

    def on_click(self, event: Click) -> None:
        """Go to the byte that was clicked at."""
        column = event.x + self.scroll_offset.x - 6
        if 0 <= column < 3 * self.bytes_per_line:
            self._go_to_byte((self.scroll_offset.y + event.y) * self.bytes_per_line + column // 3)

    def action_byte_forward(self) -> None:
        self._go_to_byte(self.byte + 1)

    def action_byte_back(self) -> None:
        self._go_to_byte(self.byte - 1)

    def action_leave_bytes(self) -> None:
        self.post_message(self.BytesLeft())
