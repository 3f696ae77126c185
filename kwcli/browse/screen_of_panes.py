"""Panes in, a screen that shows some of them out: one at the top, the message below it; keys are done in their order.

The questions that panes ask are answered by app.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.command import Provider
from textual.containers import Container
from textual.events import Event, Key
from textual.filter import LineFilter
from textual.screen import Screen

from decoders.wire.format_and_escape_text import escape_text
from kwcli.browse.actions import describe_key_in_other_panes, make_bindings_of_places
from kwcli.browse.ascii_and_colorless_lines import AsciiFilter, ColorlessFilter
from kwcli.browse.background_processes.spool import SpooledRows
from kwcli.browse.command_palette import ActionProvider
from kwcli.browse.message_tree.message_fields import describe_bytes_of_field, describe_field_meaning
from kwcli.browse.panes.bytes_pane import BytesPane
from kwcli.browse.panes.filter_bar import FilterBar
from kwcli.browse.panes.findings_pane import FindingsPane
from kwcli.browse.panes.ladder_pane import LadderPane
from kwcli.browse.panes.line_pane import LinePane
from kwcli.browse.panes.list_pane import ListPane
from kwcli.browse.panes.message_pane import MessagePane
from kwcli.browse.panes.screen_style import SCREEN_STYLE
from kwcli.browse.panes.title_status_and_key_bars import KeyBar, StatusBar, TitleBar, list_hints
from kwcli.browse.panes.top_pane import TopPane
from kwcli.browse.waiting_keys import KeyPassed, WaitingKeys
from kwcli.run_environment import Exit

if TYPE_CHECKING:
    from kwcli.output.output_settings import Settings
    from kwcli.run_environment import Environment

__all__ = ["ScreenOfPanes"]

# From this width on, bytes stand beside the tree.
_BESIDE: Final = 110
# Actions of panes that need no line, or wait for it themselves.
_NEED_NO_LINE: Final = frozenset(
    ("next_error", "earlier_error", "next_records", "earlier_records", "next_order", "choose_columns", "next_dimension")
)


class _PaneScreen(Screen[None], inherit_bindings=False):
    """The screen with the panes; its keys are those of the table alone, where textual's has Tab for any widget."""


class ScreenOfPanes(App[int]):
    """The panes, and which of them are shown. Its result is the exit code of the run."""

    ENABLE_COMMAND_PALETTE = True
    COMMANDS: ClassVar[set[type[Provider] | Callable[[], type[Provider]]]] = {ActionProvider}
    BINDINGS: ClassVar[list[BindingType]] = [*make_bindings_of_places("everywhere")]
    CSS = SCREEN_STYLE
    filter_bar: FilterBar

    def __init__(self, env: Environment, settings: Settings, rows: SpooledRows) -> None:
        self._line_filters: list[LineFilter] = [*([AsciiFilter()] if env.ascii else [])]
        if not settings.color:
            self._line_filters.append(ColorlessFilter())
        super().__init__(ansi_color=True)
        self.theme = "ansi-dark"
        self._env = env
        self._settings = settings
        self.rows = rows
        self.notice = ""
        self.defect: Exception | None = None
        self.waiting_keys = WaitingKeys(self)
        self.list_pane = ListPane(rows, settings)
        self.message_pane = MessagePane(settings)
        self.bytes_pane = BytesPane()
        self.ladder_pane = LadderPane(rows, settings)
        self.findings_pane = FindingsPane(settings)
        self.top_pane = TopPane(settings)
        self.view: LinePane = self.list_pane  # the pane at the top of the screen
        self._is_message_of_ladder = False  # whether an arrow's message is open, which the ladder is behind
        self._hides_message = False  # whether a message was open where another view was asked for
        self.status_bar = StatusBar()
        self.about_bar = StatusBar()
        self.key_bar = KeyBar()
        if env.ascii:
            from kwcli.terminal.ascii_text import to_ascii

            for pane in (self.list_pane, self.message_pane, self.ladder_pane, self.findings_pane, self.top_pane):
                pane.to_ascii = to_ascii

    # -- what app.py does ----------------------------------------------------------------------------------------------

    def show_status(self) -> None:
        """Draw the line that says what is shown."""
        raise NotImplementedError

    def _give_up_steps(self, action: str = "") -> None:
        """Give up what is still to be looked for."""
        raise NotImplementedError

    def describe_awaited_rows(self) -> str:
        """What the list still looks for; empty for nothing."""
        raise NotImplementedError

    # -- parts ---------------------------------------------------------------------------------------------------------

    def get_line_filters(self) -> Sequence[LineFilter]:
        """What is done to all lines: ASCII, no colours, where that is asked for."""
        return [*super().get_line_filters(), *self._line_filters]

    def get_default_screen(self) -> Screen[Any]:
        """The screen with the panes."""
        return _PaneScreen(id="_default")

    def compose(self) -> ComposeResult:
        """The parts of the screen, from above."""
        yield TitleBar(lambda: self.view.make_titles())
        yield self.list_pane
        yield self.ladder_pane
        yield self.findings_pane
        yield self.top_pane
        with Container(id="message"):
            yield self.message_pane
            yield self.bytes_pane
        self.about_bar.display = False
        yield self.about_bar
        yield self.filter_bar
        yield self.status_bar
        yield self.key_bar

    def _handle_exception(self, error: Exception) -> None:
        """Give up the screen at a defect; the program says what it was, as at any defect."""
        if self.defect is None:
            self.defect = error
        if self.is_headless:
            super()._handle_exception(error)
        else:
            self.exit(int(Exit.FAILURE))

    # -- keys ----------------------------------------------------------------------------------------------------------

    async def on_event(self, event: Event) -> None:
        """Take keys in their order (waiting_keys.py); other events as they come."""
        if isinstance(event, Key) and not event.is_forwarded:
            await self.waiting_keys.do_or_keep_key(event)
        else:
            await super().on_event(event)

    async def pass_key(self, event: Key) -> None:
        """Give a key to where keys go."""
        await super().on_event(event)

    async def on_key_passed(self, event: KeyPassed) -> None:
        """Do the next key."""
        await self.waiting_keys.handle_marker(event)

    def describe_what_key_waits_for(self, key: str) -> str:
        """What a key has to wait for, as in "looking for findings"; empty where it can be done."""
        pane, active = self.focused, self.screen.active_bindings.get(key)
        if not isinstance(pane, LinePane) or self.filter_bar.is_open:
            return ""
        if active is not None and (active.node is self or active.binding.action in _NEED_NO_LINE):
            return ""
        return self.describe_awaited_rows() if pane is self.list_pane else pane.awaited

    def on_key(self, event: Key) -> None:
        """Forget the notice of the key before; where the key means nothing here, say where it does."""
        self.notice = ""
        active = self.screen.active_bindings.get(event.key)
        if active is None:
            self.notice = describe_key_in_other_panes(event.key)
        self._give_up_steps("" if active is None else active.binding.action)
        self.show_status()

    def on_key_bar_key_clicked(self, event: KeyBar.KeyClicked) -> None:
        """Do as if the key was pressed."""
        self.post_message(Key(event.key, None))

    def on_click(self) -> None:
        """Forget the notice, and the steps that are still to be done."""
        self._give_up_steps()
        self.show_notice("")

    def on_line_pane_notice_wanted(self, event: LinePane.NoticeWanted) -> None:
        """Show what a pane has to say, if need be in place of a certain notice alone."""
        if event.instead_of in (None, self.notice):
            self.show_notice(event.notice)

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

    def _hide_message(self) -> None:
        self.query_one("#message").remove_class("shown")
        self.about_bar.display = self._is_message_of_ladder = False

    def _show_message(self) -> None:
        if self.is_message_shown:
            self.message_pane.show_row(self.list_pane.row)

    def on_line_pane_cursor_moved(self, event: LinePane.CursorMoved) -> None:
        """Show what belongs to the line at the cursor."""
        if event.pane is self.list_pane and self.message_pane.exchange is not self.list_pane.row:
            self._show_message()
        elif event.pane is self.message_pane:
            self.bytes_pane.show_field(self.message_pane.message, self.message_pane.field)
            self._show_field_meaning()
        elif event.pane is self.ladder_pane:
            self.query_one(TitleBar).refresh()
        self.show_status()

    def _show_field_meaning(self) -> None:
        field, row = self.message_pane.field, self.message_pane.exchange
        if field is None or row is None or row.kind != "exchange":
            self.about_bar.show("", "")
            return
        self.about_bar.show(
            escape_text(describe_field_meaning(row, field) or field.path), describe_bytes_of_field(field)
        )

    def on_message_pane_other_row_wanted(self, event: MessagePane.OtherRowWanted) -> None:
        """Show the message of another row."""
        if 0 <= self.list_pane.cursor + event.step < self.list_pane.count_lines():
            self.list_pane.move_to(self.list_pane.cursor + event.step)
        else:
            self.show_notice("this is the last row" if event.step > 0 else "this is the first row")

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
        self.query_one("#message").set_class(event.size.width >= _BESIDE, "beside")

    def on_descendant_focus(self) -> None:
        """Show the keys of the pane that has the focus."""
        pane = self.focused
        if len(self.screen_stack) > 1:
            return
        if self.filter_bar.line.has_focus:
            self.key_bar.show_hints(self.filter_bar.list_hints())
        else:
            self.key_bar.show_hints(list_hints(pane.place if isinstance(pane, LinePane) else "everywhere"))

    # -- views ---------------------------------------------------------------------------------------------------------

    def show_view(self, pane: LinePane) -> None:
        """Show a pane at the top of the screen, in place of the one that is there."""
        if pane is not self.list_pane and self.is_message_shown:
            self._hide_message()
            self._hides_message = True
        elif pane is self.list_pane:
            self._hides_message = False
        self.view = pane
        for each in (self.list_pane, self.ladder_pane, self.findings_pane, self.top_pane):
            each.display = each is pane
        pane.focus()
        self.query_one(TitleBar).refresh()
        self.show_status()

    def show_list_as_it_was(self) -> None:
        """Show the list, and the message that was open where another view was asked for."""
        opens = self._hides_message
        self.show_view(self.list_pane)
        if opens:
            self.on_list_pane_message_wanted()

    def _show_view_or_say_shown(self, pane: LinePane) -> None:
        again = pane.has_focus
        self.show_view(pane)
        self.show_notice("this is what is shown" if again else "Esc goes back; a number begins with 0 here: 03k")

    async def action_quit(self) -> None:
        self.exit(int(Exit.DONE))

    def _list_shown_panes(self) -> list[LinePane]:
        panes: list[LinePane] = [self.view]
        if self.is_message_shown:
            panes.append(self.message_pane)
            if self.bytes_pane.has_class("shown"):
                panes.append(self.bytes_pane)
        return panes

    def _focus_pane(self, step: int) -> None:
        panes = self._list_shown_panes()
        if len(panes) == 1:
            self.show_notice("there is no other pane")
        at = panes.index(self.focused) if self.focused in panes else 0
        panes[(at + step) % len(panes)].focus()

    def action_focus_next_pane(self) -> None:
        self._focus_pane(1)

    def action_focus_earlier_pane(self) -> None:
        self._focus_pane(-1)
