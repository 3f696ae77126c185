"""The screen of `kw browse`: rows that the reader has spooled in, panes on a terminal out; keys in, questions out."""

from __future__ import annotations

import asyncio
import signal
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol

from textual.app import App, ComposeResult, SystemCommand
from textual.binding import BindingType
from textual.containers import Container
from textual.geometry import Size
from textual.screen import Screen
from textual.widget import Widget

from decoders.wire.format_and_escape_text import escape_text, format_rfc3339
from kwcli.browse.actions import ACTIONS, Place, bindings_of, key_names
from kwcli.browse.bars import KeyBar, StatusBar, TitleBar, format_bar
from kwcli.browse.bytes_pane import BytesPane
from kwcli.browse.filter_bar import FilterBar, describe_filter_error
from kwcli.browse.line_pane import LinePane
from kwcli.browse.list_pane import ListPane
from kwcli.browse.message_fields import find_about
from kwcli.browse.message_pane import MessagePane
from kwcli.browse.quick_filters import QUICK_FILTERS, join_with_filter
from kwcli.browse.read_into_spool import CaptureFaults, ReaderReport, ReadingEnded, ReadProgress
from kwcli.browse.row_filter import FoundRows, ListFilter
from kwcli.browse.search_spool import FindRows, RowsFound
from kwcli.browse.spool import NewBlock, SpooledRows
from kwcli.filter_options import WENT_WRONG
from kwcli.output.short_texts import LOCAL, count_of, find_zone
from kwcli.run_environment import Exit

if TYPE_CHECKING:
    from kwcli.output.settings import Settings
    from kwcli.run_environment import Environment

__all__ = ["BrowseApp", "Source", "Work"]

# So often (s) messages of the other processes are looked for, and so many of them are taken before keys are.
_EVERY_S: Final = 0.05
_AT_ONCE: Final = 200
# So long (s) after the last key a filter that is being typed is tried.
_PAUSE_S: Final = 0.2
# From this width on, bytes stand beside the tree.
_BESIDE: Final = 110


class Work(Protocol):
    """The other processes, as the screen knows them."""

    def collect_messages(self, most: int) -> list[Any]:
        """Up to so many messages that have come."""

    def send_question(self, question: Any) -> None:
        """Send a message to the searcher."""

    def stop(self) -> None:
        """End the other processes."""


class Source:
    """What is read: its name for people, its size in bytes where it has one, whether it is live."""

    def __init__(self, name: str, size: int | None, *, live: bool) -> None:
        self.name = name
        self.size = size
        self.live = live


class BrowseApp(App[int]):
    """The program on the screen. Its result is the exit code of the run."""

    ENABLE_COMMAND_PALETTE = True
    BINDINGS: ClassVar[list[BindingType]] = [*bindings_of("everywhere")]
    CSS = """
    Screen { layers: base; }
    ListPane { height: 1fr; }
    #message { height: 2fr; display: none; }
    #message.shown { display: block; }
    #message.beside { layout: horizontal; }
    MessagePane { height: 1fr; width: 1fr; }
    BytesPane { display: none; height: 1fr; border-top: solid; }
    BytesPane.shown { display: block; }
    #message.beside BytesPane { width: 81; border-top: none; border-left: solid; }
    """

    def __init__(
        self, env: Environment, settings: Settings, rows: SpooledRows, work: Work, source: Source, filter_text: str = ""
    ) -> None:
        super().__init__(ansi_color=True)
        self.theme = "ansi-dark"
        self._env = env
        self._settings = settings
        self._rows = rows
        self._work = work
        self._source = source
        self._numbers = iter(range(1, 1 << 62))
        self.row_filter = ListFilter(self._work.send_question, self._next_number)
        self._first_filter = filter_text
        self._errors: FoundRows | None = None
        self._error_step = 0
        self._taken = 0
        self._ended: ReadingEnded | None = None
        self.reports: list[str] = []
        self.faults: list[str] = []
        self.notice = ""
        self.defect: Exception | None = None
        self._pause: Any = None
        self.list_pane = ListPane(rows, settings)
        self.message_pane = MessagePane(settings)
        self.bytes_pane = BytesPane()
        self.filter_bar = FilterBar(self._complete_filter)
        self.status_bar = StatusBar()
        self.about_bar = StatusBar()
        self.key_bar = KeyBar()
        if env.ascii:
            from kwcli.terminal.ascii_text import to_ascii

            self.list_pane.to_ascii = self.message_pane.to_ascii = to_ascii

    def _next_number(self) -> int:
        return next(self._numbers)

    # -- parts ---------------------------------------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        """The parts of the screen, from above."""
        yield TitleBar(self.list_pane.make_titles)
        yield self.list_pane
        with Container(id="message"):
            yield self.message_pane
            yield self.bytes_pane
        self.about_bar.display = False
        yield self.about_bar
        yield self.filter_bar
        yield self.status_bar
        yield self.key_bar

    def on_mount(self) -> None:
        """Begin to take messages."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP):
            with suppress(NotImplementedError, ValueError, RuntimeError):  # in a test, not the main thread
                loop.add_signal_handler(number, partial(self.exit, int(Exit.INTERRUPTED)))
        self.list_pane.follows = self._source.live
        self.list_pane.focus()
        if self._first_filter:
            self.row_filter.keep_text(self._first_filter)
            self.filter_bar.remember(self._first_filter)
            self._show_found()
        self.set_interval(_EVERY_S, self.take_messages)
        self.take_messages()

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:  # noqa: ARG002  # textual's signature
        """The actions, for the command palette."""
        for action in ACTIONS:
            yield SystemCommand(
                action.text,
                f"{' '.join(key_names(action))} · {action.name}",
                partial(self.run_named_action, action.name, action.where),
            )

    async def run_named_action(self, name: str, where: Place) -> None:
        """Run an action of the table, on the pane that has it."""
        pane = self._pane_of(where)
        if pane is not None and pane is not self:
            assert isinstance(pane, Widget)
            pane.focus()
        await self.run_action(name, pane or self)

    def _pane_of(self, where: Place) -> Any:
        panes: dict[Place, Any] = {
            "everywhere": self,
            "list": self.list_pane,
            "message": self.message_pane,
            "bytes": self.bytes_pane,
            "lines": self.focused if isinstance(self.focused, LinePane) else self.list_pane,
        }
        return panes.get(where)

    def _handle_exception(self, error: Exception) -> None:
        """Give up the screen at a defect; the program says what it was, as at any defect."""
        if self.defect is None:
            self.defect = error
        if self.is_headless:
            super()._handle_exception(error)
        else:
            self.exit(int(Exit.FAILURE))

    # -- messages of the other processes -------------------------------------------------------------------------------

    def take_messages(self) -> None:
        """Take what has come, and draw what changes by it."""
        new_rows, new_found = False, False
        for message in self._work.collect_messages(_AT_ONCE):
            if isinstance(message, NewBlock):
                self._rows.add_block(message)
                new_rows = True
            elif isinstance(message, RowsFound):
                new_found |= self._take_found(message)
            elif isinstance(message, ReadProgress):
                self._taken = message.taken
            elif isinstance(message, ReaderReport):
                self.reports.append(message.text)
            elif isinstance(message, CaptureFaults):
                self.faults = message.sentences
            elif isinstance(message, ReadingEnded):
                self._end_reading(message)
        if new_found:
            self._show_found()
        elif new_rows and self.row_filter.shown is None:
            self.list_pane.take_new_rows()
            if not self.message_pane.message.fields and self.is_message_shown:
                self._show_message()
        self.show_status()

    def _end_reading(self, ended: ReadingEnded) -> None:
        self._ended = ended
        self._taken = self._source.size or self._taken
        if ended.code and not self._rows.end and not self._source.live:
            self.exit(ended.code)

    def _take_found(self, part: RowsFound) -> bool:
        if self._errors is not None and part.number == self._errors.number:
            self._errors.add_part(part)
            self._go_to_error()
            return False
        return self.row_filter.take_part(part, self._rows.end)

    def _show_found(self) -> None:
        found = self.row_filter.shown
        numbers = None if found is None else found.rows
        if numbers is not self.list_pane.numbers:
            self.list_pane.show_numbers(numbers)
            self._show_message()
        else:
            self.list_pane.take_new_rows()

    def show_status(self) -> None:
        """Draw the line that says what is shown, and how far the reading is."""
        pane = self.list_pane
        parts = [self._source.name, count_of(self._rows.end, "row")]
        found = self.row_filter.shown
        if found is not None:
            parts.append(f"{count_of(len(found.rows), 'match')}: {found.text}")
        if self.notice:
            parts.insert(0, self.notice)
        right = f"{pane.cursor + 1:,} of {pane.count_lines():,}" if pane.count_lines() else "no rows"
        row = pane.row
        if row is not None:
            day = find_zone(self._settings.zone).format_exact_time(format_rfc3339(row.time_ns))
            right = f"{day[:10]} {right}"
        if self._ended is None and self._source.size:
            right = f"{format_bar(self._taken, self._source.size)}  {right}"
        elif self._ended is None:
            right = f"live{' ▼' if pane.follows else ''}  {right}"
        elif self._ended.full:
            parts.insert(0, "the spool is full: narrow by --since, --port, or give more by --spool")
        elif found is not None and found.until < self._rows.end:
            right = f"searched {format_bar(found.until, self._rows.end)}  {right}"
        self.status_bar.show(" · ".join(map(escape_text, parts)), right)

    def show_notice(self, notice: str) -> None:
        """Show a sentence until the next key."""
        self.notice = notice
        self.show_status()

    # -- list and message ----------------------------------------------------------------------------------------------

    @property
    def is_message_shown(self) -> bool:
        """Whether the message of the row at the cursor is shown."""
        return self.query_one("#message").has_class("shown")

    def on_list_pane_message_wanted(self) -> None:
        """Open the message."""
        self.query_one("#message").add_class("shown")
        self.about_bar.display = True
        self._show_message()
        self.message_pane.focus()
        self.call_after_refresh(self.list_pane.show_cursor)

    def _show_message(self) -> None:
        if self.is_message_shown:
            self.message_pane.show_row(self.list_pane.row)

    def on_line_pane_cursor_moved(self, event: LinePane.CursorMoved) -> None:
        """Show what belongs to the line at the cursor."""
        self.notice = ""
        if event.pane is self.list_pane:
            self._show_message()
        elif event.pane is self.message_pane:
            self.bytes_pane.show_field(self.message_pane.message, self.message_pane.field)
            self._show_about()
        self.show_status()

    def _show_about(self) -> None:
        field, row = self.message_pane.field, self.message_pane.exchange
        if field is None or row is None or row.kind != "exchange":
            self.about_bar.show("", "")
            return
        self.about_bar.show(escape_text(find_about(row, field) or field.path), field.side)

    def on_message_pane_other_row_wanted(self, event: MessagePane.OtherRowWanted) -> None:
        """Show the message of another row."""
        self.list_pane.move_to(self.list_pane.cursor + event.step)

    def on_message_pane_bytes_toggled(self) -> None:
        """Show or hide the bytes."""
        self.bytes_pane.toggle_class("shown")
        self.bytes_pane.show_field(self.message_pane.message, self.message_pane.field)

    def on_bytes_pane_bytes_left(self) -> None:
        """Hide the bytes."""
        self.bytes_pane.remove_class("shown")
        self.message_pane.focus()

    def on_bytes_pane_byte_chosen(self, event: BytesPane.ByteChosen) -> None:
        """Put the cursor of the tree on the field of a byte."""
        self.message_pane.go_to_field(event.side, event.byte)

    def on_message_pane_search_wanted(self) -> None:
        """Ask for a text to search."""
        self.filter_bar.open("search", self.message_pane.searched)

    def on_resize(self, event: Any) -> None:
        """Put the bytes beside the tree where there is room."""
        size: Size = event.size
        self.query_one("#message").set_class(size.width >= _BESIDE, "beside")

    def on_descendant_focus(self) -> None:
        """Show the keys of the pane that has the focus."""
        pane = self.focused
        places: dict[type, tuple[Place, ...]] = {
            ListPane: ("list", "everywhere"),
            MessagePane: ("message", "everywhere"),
            BytesPane: ("bytes", "everywhere"),
        }
        self.key_bar.show_place(*places.get(type(pane), ("everywhere",)))

    # -- errors --------------------------------------------------------------------------------------------------------

    def on_list_pane_error_wanted(self, event: ListPane.ErrorWanted) -> None:
        """Go to the next row with an error, as soon as it is found."""
        self._error_step = event.step
        if self._errors is None:
            self._errors = FoundRows(self._next_number(), WENT_WRONG)
            self._work.send_question(FindRows(self._errors.number, WENT_WRONG))
        self._go_to_error()

    def _go_to_error(self) -> None:
        found, pane, step = self._errors, self.list_pane, self._error_step
        if found is None or not step or not pane.count_lines():
            return
        here = pane.number_at(pane.cursor)
        at = bisect_right(found.rows, here) if step > 0 else bisect_left(found.rows, here) - 1
        while 0 <= at < len(found.rows):
            line = pane.find_line_of(found.rows[at])
            if line < pane.count_lines() and pane.number_at(line) == found.rows[at]:
                self._error_step = 0
                pane.move_to(line)
                return
            at += step
        if found.until >= self._rows.end or step < 0:
            self._error_step = 0
            self.show_notice("no further error" if step > 0 else "no earlier error")

    # -- the filter ----------------------------------------------------------------------------------------------------

    def _complete_filter(self, text: str) -> Iterator[tuple[str, str]]:
        from kwcli.completion.candidates import KINDS, Typed

        typed = Typed(text, (), lambda what: sorted(self._rows.names_of(what)))
        yield from ((whole, meaning) for whole, meaning in KINDS["filter"](typed) if whole.isprintable())

    def on_filter_bar_text_typed(self, event: FilterBar.TextTyped) -> None:
        """Try the filter once the typing pauses."""
        if event.ask != "filter":
            return
        if self._pause is not None:
            self._pause.stop()
        self._pause = self.set_timer(_PAUSE_S, partial(self._try_filter, event.text.strip()))

    def _try_filter(self, text: str) -> None:
        if self.filter_bar.is_open and describe_filter_error(text) is None:
            self.row_filter.try_text(text)
            self._show_found()
            self.show_status()

    def on_filter_bar_text_entered(self, event: FilterBar.TextEntered) -> None:
        """Take what was entered, or give it up."""
        if event.ask == "filter":
            if self._pause is not None:
                self._pause.stop()
            if event.text is None:
                self.row_filter.give_up()
            else:
                self.row_filter.keep_text(event.text)
            self._show_found()
            self.list_pane.focus()
        elif event.ask == "search":
            self.message_pane.focus()
            if event.text is not None and not self.message_pane.search(event.text) and event.text:
                self.show_notice(f"not found: {event.text}")
        self.show_status()

    def filter_by(self, text: str) -> None:
        """Put a filter in force."""
        self.filter_bar.remember(text)
        self.row_filter.keep_text(text)
        self._show_found()
        self.list_pane.focus()
        self.show_status()

    def on_list_pane_quick_filter_wanted(self, event: ListPane.QuickFilterWanted) -> None:
        """Narrow the filter by what the row at the cursor is about."""
        row = self.list_pane.row
        more = QUICK_FILTERS[event.name](row) if row is not None and row.kind == "exchange" else ""
        if more:
            self.filter_by(join_with_filter(self.row_filter.text, more))
        else:
            self.show_notice("this row has nothing of the kind")

    # -- actions -------------------------------------------------------------------------------------------------------

    def action_show_help(self) -> None:
        from kwcli.browse.help_screen import HelpScreen

        self.push_screen(HelpScreen())

    def action_edit_filter(self) -> None:
        self.filter_bar.open("filter", self.row_filter.text)

    def action_clear_filter(self) -> None:
        self.filter_by("")

    def action_go_back(self) -> None:
        if self.bytes_pane.has_focus:
            self.message_pane.focus()
        elif self.is_message_shown:
            self.query_one("#message").remove_class("shown")
            self.about_bar.display = False
            self.list_pane.focus()
        elif self.focused is not self.list_pane:
            self.list_pane.focus()
        else:
            self.exit(int(Exit.DONE))

    async def action_quit(self) -> None:
        self.exit(int(Exit.DONE))

    def action_show_list(self) -> None:
        self.list_pane.focus()

    def _panes_shown(self) -> list[LinePane]:
        panes: list[LinePane] = [self.list_pane]
        if self.is_message_shown:
            panes.append(self.message_pane)
            if self.bytes_pane.has_class("shown"):
                panes.append(self.bytes_pane)
        return panes

    def _focus_pane(self, step: int) -> None:
        panes = self._panes_shown()
        at = panes.index(self.focused) if self.focused in panes else 0
        panes[(at + step) % len(panes)].focus()

    def action_focus_next_pane(self) -> None:
        self._focus_pane(1)

    def action_focus_earlier_pane(self) -> None:
        self._focus_pane(-1)

    def action_change_times(self) -> None:
        self.list_pane.time_form = self.list_pane.time_form.next_form()
        self._redraw_list()

    def action_change_zone(self) -> None:
        self._set_zone("" if self._settings.zone else self._env.variables.get("TZ") or LOCAL)

    def _set_zone(self, zone: str) -> None:
        self._settings = self._settings._replace(zone=zone)
        self.list_pane.settings = self.message_pane.settings = self._settings
        self._redraw_list()

    def _redraw_list(self) -> None:
        self.list_pane.forget_lines()
        self.query_one(TitleBar).refresh()
        self.show_status()
