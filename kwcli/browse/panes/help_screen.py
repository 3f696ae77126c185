"""The table of actions in, a screen with all keys out."""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen
from textual.strip import Strip

from kwcli.browse.actions import ACTIONS, PLACES, WAYS, list_key_labels
from kwcli.browse.panes.line_pane import LinePane
from kwcli.browse.panes.title_status_and_key_bars import StatusBar
from kwcli.output.short_texts import cell_width

__all__ = ["HelpScreen", "list_help_lines"]

_SIGNS = (
    ("✗", "an error code"),
    ("·", "an error code of the protocol's normal course"),
    ("?", "unanswered"),
    ("←", "a response whose request is not there"),
    ("!", "not decoded"),
    ("⚡", "a fault on purpose"),
    ("…", "bytes that are no exchange"),
)
_KEY_CELLS = 16
_WAYS = "To find, from the list"


def list_help_lines() -> list[tuple[str, str]]:
    """Two texts a line: keys and what they do; a heading has no second one."""
    lines = [(_WAYS, ""), *((" ".join(list_key_labels(keys)), text) for keys, text in WAYS)]
    for place, heading in PLACES.items():
        lines += [("", ""), (heading, "")]
        lines += [("  ".join(list_key_labels(action.keys)), action.text) for action in ACTIONS if action.where == place]
    return [*lines, ("", ""), ("Signs", ""), *_SIGNS]


class _HelpPane(LinePane):
    """The lines of the help."""

    def __init__(self) -> None:
        super().__init__()
        self._lines = list_help_lines()

    def count_lines(self) -> int:
        """How many lines the help has."""
        return len(self._lines)

    def make_line(self, at: int) -> Strip:
        """A line of the help."""
        keys, text = self._lines[at]
        if not text:
            return Strip([Segment(keys, Style(bold=True))])
        return Strip(
            [Segment(f"  {keys}", Style(color="cyan")), Segment(" " * max(_KEY_CELLS - cell_width(keys), 1) + text)]
        )


class HelpScreen(ModalScreen[None]):
    """All keys; any of those that close it goes back."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,question_mark,enter,f1", "dismiss", "Close the help", show=False)
    ]
    DEFAULT_CSS = """
    HelpScreen { background: $background; }
    _HelpPane { height: 1fr; }
    """

    def compose(self) -> ComposeResult:
        """The parts of the screen."""
        yield _HelpPane()
        yield StatusBar()

    def on_mount(self) -> None:
        """Let the keys go to the lines."""
        self.query_one(_HelpPane).focus()

    def on_line_pane_cursor_moved(self) -> None:
        """Say which page this is."""
        self._show_page()

    def on_resize(self) -> None:
        """Count the pages anew."""
        self.call_after_refresh(self._show_page)

    def _show_page(self) -> None:
        pane = self.query_one(_HelpPane)
        step = max(pane.size.height - 1, 1)
        pages = max(-(-(pane.count_lines() - 1) // step), 1)
        page = pages if pane.scroll_offset.y >= pane.max_scroll_y else pane.scroll_offset.y // step + 1
        said = "PgDn and PgUp turn pages · Esc, q or ? closes the help"
        self.query_one(StatusBar).show(said, f"page {page} of {pages}")

    async def action_dismiss(self, result: None = None) -> None:
        """Go back."""
        self.dismiss(result)
