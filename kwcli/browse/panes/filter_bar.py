"""The line in which a filter is typed: completion and errors while typing, earlier filters by the arrow keys.

The same line asks for the text to search and the names of files. It is hidden while nothing is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Final, Literal

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import Input, Static

from decoders.errors import FilterError
from decoders.filters import parse
from decoders.wire.suggest_similar_words import did_you_mean
from kwcli.browse.panes.title_status_and_key_bars import Hint

__all__ = ["Ask", "FilterBar", "describe_filter_error"]

# What the line asks for.
Ask = Literal["filter", "search", "file", "zone", "columns", "time"]
_TITLES: Final[dict[Ask, str]] = {
    "filter": "filter",
    "search": "search",
    "file": "write to",
    "zone": "zone",
    "columns": "columns",
    "time": "go to time",
}
# Candidates that are shown at once.
_CANDIDATES: Final = 6
_HISTORY_MAX: Final = 200
# What the line asks for, and its text → the texts that it may become, each with what its last word means.
Complete = Callable[[Ask, str], Iterable[tuple[str, str]]]
# The name of a file → what would be written to it, and why it cannot be.
DescribeFile = Callable[[str], tuple[str, str]]
_COMPLETED: Final = ("filter", "columns", "zone")
# Where the text that is offered goes with the first character that is typed.
_REPLACED: Final = ("search", "file", "zone")


def describe_filter_error(text: str) -> tuple[int, str] | None:
    """The column (from 0) of the error in a filter, and what it is; None where it is a filter."""
    try:
        parse(text)
    except FilterError as error:
        hint = did_you_mean(error.word, error.candidates) if error.word else ""
        return max(error.column - 1, 0), f"{error.text}{hint}"
    return None


def _cut_to_added_part(whole: str, text: str) -> str:
    """What a candidate adds to a text that is typed: its last word, or all where other words come before that."""
    return (
        (whole.rpartition(" ")[2] or whole) if whole.startswith(text) else whole[len(text.rpartition(" ")[0]) :].strip()
    )


class FilterLine(Input):
    """The line itself. Keys that move in the history or complete are those of a shell."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "earlier_entry", "Take the entry before", show=False),
        Binding("down", "later_entry", "Take the next entry", show=False),
        Binding("tab", "complete", "Complete the word", show=False),
        Binding("escape,ctrl+c", "give_up", "Leave the line as it was", show=False),
    ]

    def __init__(self, bar: FilterBar) -> None:
        super().__init__(compact=True, select_on_focus=False)
        self._bar = bar

    def action_earlier_entry(self) -> None:
        self._bar.show_history_entry(-1)

    def action_later_entry(self) -> None:
        self._bar.show_history_entry(1)

    def action_complete(self) -> None:
        self._bar.complete_word()

    def action_give_up(self) -> None:
        self._bar.give_up()


class FilterBar(Vertical):
    """The line, with candidates or the error above it."""

    DEFAULT_CSS = """
    FilterBar { height: auto; display: none; }
    FilterBar #hints { height: auto; }
    FilterBar #line { height: 1; }
    FilterBar #title { width: auto; height: 1; }
    FilterBar Input { border: none; height: 1; padding: 0; }
    """

    class TextTyped(Message):
        """The text has changed while it is typed."""

        def __init__(self, ask: Ask, text: str) -> None:
            super().__init__()
            self.ask = ask
            self.text = text

    class TextEntered(Message):
        """The text is entered; None: given up, and all is to be as it was before."""

        def __init__(self, ask: Ask, text: str | None) -> None:
            super().__init__()
            self.ask = ask
            self.text = text

    def __init__(
        self,
        complete: Complete,
        describe_file: DescribeFile,
        can_overwrite: Callable[[str], bool],
        read_filter: Callable[[str], str],
        **options: Any,
    ) -> None:
        """`read_filter`: the filter that a text stands for, which may be the text; empty where it is none."""
        super().__init__(**options)
        self._read_filter = read_filter
        self.find_problem: Callable[[Ask, str], str] = lambda _ask, _text: ""  # why a text cannot be taken
        self._problem = ""  # that of the text that was entered last
        self._offered: list[str] = []  # what the next presses of Tab write in turn
        self._can_overwrite = can_overwrite
        self._refused = ""  # the name of a file that was there when it was entered
        self.overwrites = False  # whether the name was entered again then
        self._complete = complete
        self._describe_file = describe_file
        self.ask: Ask = "filter"
        self._history: dict[Ask, list[str]] = {ask: [] for ask in _TITLES}
        self._recalled = 0
        self._typed = ""
        self.is_open = False

    def compose(self) -> ComposeResult:
        """The parts of the bar."""
        from textual.containers import Horizontal

        yield Static("", id="hints", markup=False)
        with Horizontal(id="line"):
            yield Static("", id="title", markup=False)
            yield FilterLine(self)

    @property
    def line(self) -> Input:
        """The line."""
        return self.query_one(FilterLine)

    def open(self, ask: Ask, text: str = "") -> None:
        """Ask for a text."""
        self.ask = ask
        self._refused, self.overwrites, self._problem = "", False, ""
        self.is_open = True
        self.display = True
        self.query_one("#title", Static).update(f"{_TITLES[ask]}: ")
        self._recalled = len(self._history[ask])
        self.line.value = text
        self.line.cursor_position = len(text)
        if ask in _REPLACED:
            self.line.select_all()
        self.line.focus()
        self._show_hints(text)

    def list_hints(self) -> list[Hint]:
        """The keys that work while something is typed."""
        completes = [("Tab", "complete")] if self.ask in _COMPLETED else []
        replaces = [("typing", "replaces what is offered")] if self.ask in _REPLACED else []
        return [("Enter", "take"), ("Esc", "give up"), *completes, ("↑", "earlier"), *replaces]

    def close(self) -> None:
        """Hide the line."""
        self.is_open = False
        self.display = False

    def give_up(self) -> None:
        """Leave all as it was."""
        self.close()
        self.post_message(self.TextEntered(self.ask, None))

    def add_to_history(self, text: str, ask: Ask = "filter") -> None:
        """Put a text in the history."""
        history = self._history[ask]
        if text and text not in history[-1:]:
            history.append(text)
            del history[:-_HISTORY_MAX]

    def show_history_entry(self, step: int) -> None:
        """Take the entry before, or the one after, from the history."""
        history = self._history[self.ask]
        at = max(0, min(self._recalled + step, len(history)))
        if self._recalled == len(history):
            self._typed = self.line.value
        self._recalled = at
        text = history[at] if at < len(history) else self._typed
        self.line.value = text
        self.line.cursor_position = len(text)

    def complete_word(self) -> None:
        """Complete the word before the cursor as far as all candidates agree; each in turn, where they do not."""
        if self.ask not in _COMPLETED:
            return
        text = self.line.value
        if text in self._offered:
            self._set_line_text(self._offered[(self._offered.index(text) + 1) % len(self._offered)])
            return
        found = [each for each, _ in self._complete(self.ask, text)]
        if not found:
            return
        whole = found[0]
        for each in found[1:]:
            while not each.startswith(whole):
                whole = whole[:-1]
        if len(found) == 1 and self.ask == "filter" and not whole.endswith((".", "(")):
            whole += " "
        if len(whole) > len(text):
            self._set_line_text(whole)
        elif not found[0].startswith(text):
            self._set_line_text(found[0])
            self._offered = found

    def _set_line_text(self, text: str) -> None:
        self.line.value = text
        self.line.cursor_position = len(text)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Show what the text may become, or what is wrong with it."""
        event.stop()
        self._problem = ""
        if self.is_open:
            self._show_hints(event.value)
            self.post_message(self.TextTyped(self.ask, event.value))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Take the text; a filter with an error, and a name that is taken, stay where they are."""
        event.stop()
        text = event.value.strip()
        if self.ask == "filter":
            if not self._read_filter(text) and text:
                return
            text = self._read_filter(text)
        self._problem = self.find_problem(self.ask, text)
        if self._problem:
            self._show_hints(text)
            return
        if self.ask == "file" and self._describe_file(text)[1]:
            self.overwrites = text == self._refused and self._can_overwrite(text)
            self._refused = text
            if not self.overwrites:
                self._show_hints(text)
                return
        self.add_to_history(text, self.ask)
        self.close()
        self.post_message(self.TextEntered(self.ask, text))

    def _show_hints(self, text: str) -> None:
        hints = self.query_one("#hints", Static)
        if self.ask == "file":
            said, wrong_name = self._describe_file(text.strip())
            if text.strip() == self._refused and self._can_overwrite(self._refused):
                wrong_name = f"{self._refused} exists: Enter overwrites it, Esc gives up"
            lines = [Text(said, style="dim"), *([Text(wrong_name, style="red")] if wrong_name else [])]
            hints.display = True
            hints.update(Text("\n").join(lines))
            return
        if self.ask not in _COMPLETED:
            hints.update(Text(self._problem, style="red"))
            hints.display = bool(self._problem)
            return
        wrong = describe_filter_error(text) if self.ask == "filter" else None
        room = max(self.size.width or self.app.size.width, 20)
        lines = []
        words = list(self._complete(self.ask, text))[: 4 * _CANDIDATES] if text or wrong is None else []
        fits = ""
        for whole, meaning in words:
            word = _cut_to_added_part(whole, text) if self.ask == "filter" else whole.rpartition(",")[2] or whole
            said = f"{word} ({meaning})" if meaning and len(words) <= 3 else word
            if len(fits) + len(said) + 2 > room:
                break
            fits += f"{'  ' if fits else ''}{said}"
        if fits:
            lines.append(Text(fits, style="dim", no_wrap=True))
        read = self._read_filter(text.strip()) if self.ask == "filter" and text.strip() else ""
        if read and wrong is not None:
            lines.append(Text(f"Enter searches {text.strip()}: {read}", style="dim"))
        elif read and read != text.strip():
            lines.append(Text(f"in the zone that is shown: {read}", style="dim"))
        if self._problem:
            lines.append(Text(self._problem, style="red"))
        if wrong is not None and text.strip():
            column, why = wrong
            at = len(_TITLES["filter"]) + 2 + column
            lines.append(Text(why, style="red"))
            lines.append(Text(" " * min(at, room - 1) + "▾", style="red", no_wrap=True))
        hints.display = bool(lines)
        hints.update(Text("\n").join(lines))
