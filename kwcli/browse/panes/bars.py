"""The state of the screen in, its fixed lines out: titles, what is known and how far, the keys that work here."""

from __future__ import annotations

from collections.abc import Callable

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Static

from kwcli.browse.actions import ACTIONS, Place, key_names
from kwcli.output.short_texts import cell_width, cut

__all__ = ["KeyBar", "StatusBar", "TitleBar", "format_bar"]

_BLOCKS = 12


class TitleBar(Widget):
    """One line, made anew whenever it is drawn."""

    DEFAULT_CSS = "TitleBar { height: 1; }"

    def __init__(self, make: Callable[[], Strip]) -> None:
        super().__init__()
        self._make = make

    def render_line(self, y: int) -> Strip:  # noqa: ARG002  # there is one
        """The line."""
        return self._make().crop_extend(0, self.size.width, None)


class StatusBar(Widget):
    """One line: what is shown on the left, a position on the right; the left is cut where there is no room."""

    DEFAULT_CSS = "StatusBar { height: 1; }"

    def __init__(self) -> None:
        super().__init__()
        self.left = self.right = ""
        self.is_bad = False

    def show(self, left: str, right: str, *, bad: bool = False) -> None:
        """Show two texts."""
        if (left, right, bad) != (self.left, self.right, self.is_bad):
            self.left, self.right, self.is_bad = left, right, bad
            self.refresh()

    def render_line(self, y: int) -> Strip:  # noqa: ARG002  # there is one
        """The line."""
        width = self.size.width
        right = cut(self.right, max(width - 8, 0))
        left = cut(self.left, max(width - cell_width(right) - 2, 0))
        gap = " " * max(width - cell_width(left) - cell_width(right), 0)
        style = Style(reverse=True, color="red") if self.is_bad else Style(reverse=True)
        return Strip([Segment(f"{left}{gap}{right}", style)]).crop_extend(0, width, None)


class KeyBar(Static):
    """The keys that work here, the most used first."""

    DEFAULT_CSS = "KeyBar { height: 1; }"

    def show_place(self, *places: Place) -> None:
        """Show the keys of these places."""
        text = Text(no_wrap=True, overflow="ellipsis")
        for place in places:
            for action in ACTIONS:
                if action.where == place and action.bar:
                    text.append(key_names(action)[0], style="bold")
                    text.append(f" {action.bar}  ", style="dim")
        self.update(text)


def format_bar(done: int, total: int) -> str:
    """`█████░░░░░░░ 41 %`."""
    share = min(done / total, 1.0) if total else 0.0
    full = int(share * _BLOCKS)
    return f"{'█' * full}{'░' * (_BLOCKS - full)} {share * 100:.0f} %"
