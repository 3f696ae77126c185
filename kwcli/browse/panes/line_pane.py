"""Lines by their number in, a pane with a cursor that scrolls through them out: what all panes have in common.

Lines are made when they are drawn (textual's Line API), so that a million of them cost nothing.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final

from rich.segment import Segment
from rich.style import Style
from textual.binding import BindingType
from textual.events import Click, Key
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from kwcli.browse.actions import ACTIONS, Place, list_key_labels, make_bindings_of_places

__all__ = ["CURSOR", "LinePane"]

# The line that keys go to has no colours and nothing dim: reversed, they are hard to read in one theme or the other.
CURSOR: Final = Style(reverse=True)
_BOLD_CURSOR: Final = Style(reverse=True, bold=True)
_OTHER_CURSOR: Final = Style(underline=True)
_DIGITS_MOST: Final = 9  # of a number before a key
# Panes that a digit shows; in others it is always of a number.
_VIEWS: Final = frozenset(("list", "ladder", "findings", "top"))
_SIDEWAYS: Final = 8  # cells that one key scrolls


class LinePane(ScrollView, can_focus=True):
    """A pane of lines. Subclasses say how many there are, and make each; `place`: where their keys are in the table."""

    place: ClassVar[Place] = "lines"
    BINDINGS: ClassVar[list[BindingType]] = [*make_bindings_of_places("lines")]
    DEFAULT_CSS = """
    LinePane { scrollbar-size-vertical: 1; scrollbar-size-horizontal: 0; }
    """

    class CursorMoved(Message):
        """The cursor of a pane is at another line."""

        def __init__(self, pane: LinePane) -> None:
            super().__init__()
            self.pane = pane

    class NoticeWanted(Message):
        """A sentence is to be shown until the next key."""

        def __init__(self, notice: str, instead_of: str | None = None) -> None:
            super().__init__()
            self.notice = notice
            self.instead_of = instead_of

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.cursor = 0
        self.line_width = 0  # the most cells of a line; 0: as wide as the pane
        self._typed = ""  # the digits of a number that a key is to take
        self._number = 0  # the number typed before the last key; 0 for none

    # -- what subclasses say -------------------------------------------------------------------------------------------

    def count_lines(self) -> int:
        """How many lines there are."""
        raise NotImplementedError

    def make_line(self, at: int) -> Strip:
        """A line."""
        raise NotImplementedError

    @property
    def awaited(self) -> str:
        """What keys wait for where lines are still to be found, as in "looking for findings"; empty for nothing."""
        return ""

    def make_titles(self) -> Strip:
        """The line above the pane, where it is at the top of the screen."""
        return Strip.blank(self.size.width)

    def post_notice(self, notice: str, *, instead_of: str | None = None) -> None:
        """Show a sentence until the next key: what a key has done, or why it does nothing."""
        self.post_message(self.NoticeWanted(notice, instead_of))

    def copy(self, text: str) -> None:
        """Copy a text to the clipboard of the terminal."""
        self.app.copy_to_clipboard(text)
        self.post_notice(f"copied: {text}")

    # -- drawing -------------------------------------------------------------------------------------------------------

    def redraw_lines(self) -> None:
        """Draw anew, with as many lines as there are now."""
        count = self.count_lines()
        self.cursor = max(0, min(self.cursor, count - 1))
        self.virtual_size = Size(max(self.line_width, self.size.width), count)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """A line of the screen."""
        left, top = self.scroll_offset
        at, width = top + y, self.size.width
        if at >= self.count_lines():
            return Strip.blank(width)
        strip = self.make_line(at)
        if at == self.cursor:
            strip = strip.adjust_cell_length(max(width + left, strip.cell_length))
            strip = _mark_cursor(strip) if self.has_focus else strip.apply_style(_OTHER_CURSOR)
        return strip.crop_extend(left, left + width, None)

    # -- the cursor ----------------------------------------------------------------------------------------------------

    def move_to(self, at: int) -> None:
        """Put the cursor on a line, and show it."""
        before, count = self.cursor, self.count_lines()
        self.cursor = max(0, min(at, count - 1))
        self.show_cursor()
        if self.cursor != before:
            self._refresh_line(before)
            self._refresh_line(self.cursor)
            self.post_message(self.CursorMoved(self))

    def _refresh_line(self, at: int) -> None:
        self.refresh(Region(0, at - self.scroll_offset.y, self.size.width, 1))

    def show_cursor(self) -> None:
        """Scroll so far that the line of the cursor is shown."""
        height, top = max(self.size.height, 1), self.scroll_offset.y
        if self.cursor < top:
            self.scroll_to(y=self.cursor, animate=False, immediate=True)
        elif self.cursor >= top + height:
            self.scroll_to(y=self.cursor - height + 1, animate=False, immediate=True)

    def on_focus(self) -> None:
        """Show the cursor as that of the pane that keys go to."""
        self.refresh()

    def on_blur(self) -> None:
        """Show the cursor as one that keys do not move."""
        self.refresh()

    def on_resize(self) -> None:
        """Draw anew; the cursor stays on the screen."""
        self.redraw_lines()
        self.show_cursor()

    def on_click(self, event: Click) -> None:
        """Go to the line that was clicked at; a second click opens it."""
        at = self.scroll_offset.y + event.y
        if at < self.count_lines():
            again = at == self.cursor and event.chain > 1
            self.move_to(at)
            if again:
                self.open_line()

    def open_line(self) -> None:
        """Do what Enter does."""

    def on_key(self, event: Key) -> None:
        """Take the digits of a number for the key after them, as vim does; Esc forgets them.

        A digit that shows another view does so where views are, unless a number has begun, be it by a 0.
        """
        self._number = 0
        if event.key.isdecimal() and (self._typed or not self._shows_other_pane(event.key)):
            self._typed = (self._typed + event.key)[:_DIGITS_MOST]
            self.post_notice(
                f"{self._typed}: then j or k moves by so many lines, G goes to that line{self._format_key_of_view()}"
            )
        elif self._typed and event.key == "escape":
            self._typed = ""
            self.post_notice("")
        else:
            self._number, self._typed = int(self._typed or 0), ""
            return
        event.stop()
        event.prevent_default()

    def _shows_other_pane(self, digit: str) -> bool:
        shown = next((action.name for action in ACTIONS if digit in action.keys), "")
        return self.place in _VIEWS and bool(shown) and shown != f"show_{self.place}"

    def _format_key_of_view(self) -> str:
        """The key of the view that a digit shows elsewhere."""
        keys = next((action.keys for action in ACTIONS if self._typed in action.keys), ())
        return f"; {list_key_labels(keys)[-1]} shows the view" if keys and self.place not in _VIEWS else ""

    # -- actions -------------------------------------------------------------------------------------------------------

    def action_move_down(self) -> None:
        self.move_to(self.cursor + (self._number or 1))

    def action_move_up(self) -> None:
        self.move_to(self.cursor - (self._number or 1))

    def action_page_down(self) -> None:
        self._move_page(max(self.size.height - 1, 1))

    def action_page_up(self) -> None:
        self._move_page(-max(self.size.height - 1, 1))

    def action_half_page_down(self) -> None:
        self._move_page(max(self.size.height // 2, 1))

    def action_half_page_up(self) -> None:
        self._move_page(-max(self.size.height // 2, 1))

    def _move_page(self, lines: int) -> None:
        """Move cursor and lines together, so that the first key already shows other lines."""
        self.scroll_to(y=self.scroll_offset.y + lines * (self._number or 1), animate=False, immediate=True)
        self.move_to(self.cursor + lines * (self._number or 1))

    def action_go_to_start(self) -> None:
        self.move_to(max(self._number - 1, 0))

    def action_go_to_end(self) -> None:
        self.move_to((self._number or self.count_lines()) - 1)

    def action_scroll_left(self) -> None:
        self.scroll_relative(x=-_SIDEWAYS, animate=False, immediate=True)

    def action_scroll_right(self) -> None:
        self.scroll_relative(x=_SIDEWAYS, animate=False, immediate=True)


def _mark_cursor(strip: Strip) -> Strip:
    """The line as that of the cursor."""
    return Strip([Segment(each.text, _BOLD_CURSOR if each.style and each.style.bold else CURSOR) for each in strip])
