"""The state of the screen in, its fixed lines out: titles, what is known and how far, the keys that work here."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from rich.segment import Segment
from rich.style import Style
from textual.events import Click
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from kwcli.browse.actions import ACTIONS, Place, find_key_by_label, list_key_labels
from kwcli.output.short_texts import cell_width, cut

__all__ = ["Hint", "KeyBar", "StatusBar", "TitleBar", "format_progress_bar", "list_hints"]

_WORD: Final = re.compile(r"\S+(?: UTC)?")
_BLOCKS = 12
Hint = tuple[str, str]  # a key, and its word


class TitleBar(Widget):
    """One line, made anew whenever it is drawn."""

    DEFAULT_CSS = "TitleBar { height: 1; }"

    class TitleClicked(Message):
        """A title was clicked at."""

        def __init__(self, title: str) -> None:
            super().__init__()
            self.title = title

    def __init__(self, make: Callable[[], Strip]) -> None:
        super().__init__()
        self._make = make

    def render_line(self, y: int) -> Strip:  # noqa: ARG002  # there is one
        """The line."""
        return self._make().crop_extend(0, self.size.width, None)

    def on_click(self, event: Click) -> None:
        """Say which title is there."""
        found = [word for word in _WORD.finditer(self._make().text) if word.start() <= event.x <= word.end()]
        if found:
            self.post_message(self.TitleClicked(found[0][0]))


class StatusBar(Widget):
    """One line: what is shown on the left, a position on the right; the left is cut where there is no room."""

    DEFAULT_CSS = "StatusBar { height: 1; }"

    def __init__(self) -> None:
        super().__init__()
        self.left = self.right = ""
        self.is_bad = False
        self.notice = ""

    def show(self, left: str, right: str, *, bad: bool = False, notice: str = "") -> None:
        """Show two texts; where there is no room for a notice, with which the left one begins, that is shown alone."""
        if notice != self.notice:
            self.notice = notice
            self.refresh()
        if (left, right, bad) != (self.left, self.right, self.is_bad):
            self.left, self.right, self.is_bad = left, right, bad
            self.refresh()

    def render_line(self, y: int) -> Strip:  # noqa: ARG002  # there is one
        """The line."""
        width = self.size.width
        right = cut(self.right, max(width - 8, 0))
        if self.notice and cell_width(self.notice) + cell_width(right) + 2 > width:
            right = ""
        left = cut(self.left, max(width - cell_width(right) - (2 if right else 0), 0))
        gap = " " * max(width - cell_width(left) - cell_width(right), 0)
        style = Style(reverse=True, color="red") if self.is_bad else Style(reverse=True)
        return Strip([Segment(f"{left}{gap}{right}", style)]).crop_extend(0, width, None)


class KeyBar(Widget):
    """The keys that work here, the most useful first; those for which there is room."""

    DEFAULT_CSS = "KeyBar { height: 1; }"

    class KeyClicked(Message):
        """A key was clicked at."""

        def __init__(self, key: str) -> None:
            super().__init__()
            self.key = key

    def __init__(self) -> None:
        super().__init__()
        self.hints: list[Hint] = []

    def show_hints(self, hints: list[Hint]) -> None:
        """Show these keys."""
        self.hints = hints
        self.refresh()

    def render_line(self, y: int) -> Strip:  # noqa: ARG002  # there is one
        """The line."""
        segments: list[Segment] = []
        left = self.size.width
        for key, word in self.hints:
            left -= cell_width(key) + cell_width(word) + 1
            if left < 0:
                break
            segments += [Segment(key, Style(bold=True)), Segment(f" {word}  ", Style(dim=True))]
            left -= 2
        return Strip(segments).crop_extend(0, self.size.width, None)

    def on_click(self, event: Click) -> None:
        """Do as if the key was pressed."""
        left = 0
        for key, word in self.hints:
            end = left + cell_width(key) + cell_width(word) + 1
            if left <= event.x < end <= self.size.width:
                self.post_message(self.KeyClicked(find_key_by_label(key)))
                return
            left = end + 2


def list_hints(place: Place) -> list[Hint]:
    """The keys of a place and of all places, by the ranks of the table; of two actions for a key, that of the place."""
    words: dict[str, str] = {}
    ranks: dict[str, int] = {}
    for where in (place, "lines", "everywhere"):
        for action in ACTIONS:
            key = action.keys[0]
            if action.where == where and action.bar and key not in words and action.bar not in words.values():
                words[key], ranks[key] = action.bar, action.rank
    keys = sorted(words, key=ranks.__getitem__)
    return [(name, words[key]) for name, key in zip(list_key_labels(keys), keys, strict=True)]


def format_progress_bar(done: int, total: int) -> str:
    """`█████░░░░░░░ 41 %`."""
    share = min(done / total, 1.0) if total else 0.0
    full = int(share * _BLOCKS)
    return f"{'█' * full}{'░' * (_BLOCKS - full)} {share * 100:.0f} %"
