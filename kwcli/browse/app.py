"""The screen of `kw browse`: rows that the reader has spooled in, panes on a terminal out; keys in, questions out."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from textual.app import SystemCommand
from textual.screen import Screen

from decoders.wire.format_and_escape_text import escape_text
from kwcli.browse.apply_messages_of_processes import Changed, apply_message
from kwcli.browse.background_processes.read_into_spool import ReadingEnded
from kwcli.browse.background_processes.search_messages import (
    CausesFound,
    CountTop,
    FindCauses,
    FindRows,
    Forget,
    RowsFound,
    RowsSorted,
    TopCounted,
)
from kwcli.browse.background_processes.share_schemas_between_processes import NewSchemas, add_schemas_to_store
from kwcli.browse.background_processes.spool import SpooledRows
from kwcli.browse.background_work_and_source import Source, Work
from kwcli.browse.command_palette import list_palette_commands
from kwcli.browse.earlier_places import EarlierPlaces, Place
from kwcli.browse.exports.write_selection import SelectionWriter
from kwcli.browse.import_modules_ahead import import_modules_ahead
from kwcli.browse.panes.filter_bar import Ask, FilterBar, describe_filter_error
from kwcli.browse.panes.findings_pane import FindingsPane
from kwcli.browse.panes.ladder_pane import LadderPane
from kwcli.browse.panes.list_pane import ListPane
from kwcli.browse.panes.message_pane import MessagePane, describe_not_found
from kwcli.browse.panes.title_status_and_key_bars import TitleBar
from kwcli.browse.panes.top_pane import TopPane
from kwcli.browse.quick_filters import LADDERS, QUICK_FILTERS, explain_missing_filter, join_with_filter
from kwcli.browse.row_filter import ORDERED_BY, ORDERS, ORDERS_OF_TITLES, ListFilter, does_filter_decode_values
from kwcli.browse.row_steps import RowSteps, make_error_and_record_steps
from kwcli.browse.screen_of_panes import ScreenOfPanes
from kwcli.browse.status_text import Reading, format_status_texts
from kwcli.browse.text_filters_and_filter_words import list_words_of_filters, make_text_filter
from kwcli.browse.times.go_to_time import TimeStep, explain_wrong_time
from kwcli.browse.times.times_in_filters import write_offsets_at_times
from kwcli.browse.times.zone_names import find_zone_name, list_zone_names
from kwcli.output.short_texts import LOCAL, find_zone
from kwcli.run_environment import Exit, Failure

if TYPE_CHECKING:
    from kwcli.output.output_settings import Settings
    from kwcli.run_environment import Environment

__all__ = ["BrowseApp"]

# So often (s) messages of the other processes are looked for, and so many of them are taken before keys are.
_EVERY_S: Final = 0.05
_AT_ONCE: Final = 200
# So long (s) after the last key a filter that is being typed is tried.
_PAUSE_S: Final = 0.2
_LOOKING: Final = "looking for it"


class BrowseApp(ScreenOfPanes):
    """The program on the screen: what its panes ask for is found, and shown."""

    def __init__(
        self,
        env: Environment,
        settings: Settings,
        rows: SpooledRows,
        work: Work,
        source: Source,
        filter_text: str = "",
        order: str = "",
    ) -> None:
        super().__init__(env, settings, rows)
        self._work = work
        self._source = source
        self._numbers = iter(range(1, 1 << 62))
        self.row_filter = ListFilter(self._work.send_question, self._next_question_number)
        self._earlier = EarlierPlaces()
        self._first_filter, self._first_order = filter_text, order
        self._steps = self._error_steps, self._record_steps = make_error_and_record_steps(
            work.send_question, self._next_question_number
        )
        self.taken = 0
        self._ended: ReadingEnded | None = None
        self.reports: list[str] = []
        self.faults: list[str] = []
        self._pause: Any = None  # the timer that runs since the last key of a filter
        self._asked_causes = self._asked_top = 0  # the numbers of these questions
        self._writer = SelectionWriter(self, source, work.send_question, self._next_question_number)
        self._takers: dict[Ask, Callable[[str], None]] = {
            "file": lambda path: self._writer.write(path, overwrites=self.filter_bar.overwrites),
            "zone": self._apply_typed_zone,
            "time": self._go_to_typed_time,
            "columns": self._apply_typed_columns,
        }
        self.filter_bar = FilterBar(
            self._list_completion_candidates,
            self._writer.describe,
            self._writer.can_overwrite,
            self._put_zone_offsets_in_filter,
        )
        self.filter_bar.find_problem = self._find_problem_of_typed_text
        self._time_step = TimeStep(work.send_question, self._next_question_number)
        self._names: dict[str, set[str]] = {"client_id": set(), "group": set()}  # those that the capture has told
        self._asked_names: dict[int, str] = {}

    def _next_question_number(self) -> int:
        return next(self._numbers)

    # -- parts ---------------------------------------------------------------------------------------------------------

    def on_mount(self) -> None:
        """Begin to take messages."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP):
            with suppress(NotImplementedError, ValueError, RuntimeError):  # in a test, not the main thread
                loop.add_signal_handler(number, partial(self.exit, int(Exit.INTERRUPTED)))
        self.list_pane.follows = self._source.live
        self.list_pane.focus()
        if self._first_order:
            self.row_filter.request_rows_in_order(self._first_order)
        if self._first_filter:
            self.row_filter.apply_text(self._first_filter)
            self.filter_bar.add_to_history(self._first_filter)
            self._show_found_rows_in_list()
        self.set_interval(_EVERY_S, self.apply_new_messages)
        self.apply_new_messages()
        import_modules_ahead(self.set_timer)

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:  # noqa: ARG002  # textual's signature
        """The actions, for the command palette."""
        return list_palette_commands(self)

    # -- messages of the other processes -------------------------------------------------------------------------------

    def apply_new_messages(self) -> None:
        """Take what has come, and draw what changes by it."""
        changed = {apply_message(self, message) for message in self._work.collect_messages(_AT_ONCE)}
        if Changed.SCHEMAS in changed:
            self._decode_values_again()
        if Changed.FOUND in changed:
            self._show_found_rows_in_list()
        elif Changed.ROWS in changed and self.row_filter.shown is None:
            self.list_pane.draw_new_rows()
            if not self.message_pane.message.fields and self.is_message_shown:
                self._show_message()
        for steps in self._steps:
            self._continue_row_steps(steps)
        self.show_status()
        if self.waiting_keys.waits or self.waiting_keys.is_busy:
            self.call_later(self.waiting_keys.go_on)

    def describe_awaited_rows(self) -> str:
        """What the list still looks for: the rows of its filter, up to that of the cursor."""
        wanted = self.row_filter.in_force
        if self.row_filter.shown is wanted and not self.list_pane.may_find_nearer_row(
            self.row_filter.count_listed(self.rows.end)
        ):
            return ""
        return "looking for rows"

    def note_reading_ended(self, ended: ReadingEnded) -> None:
        """Note that all is read; where nothing could be, there is no screen."""
        self._ended = ended
        self.taken = self._source.size or self.taken
        if ended.code and not self.rows.end and not self._source.live:
            self.exit(ended.code)

    @property
    def warnings(self) -> list[str]:
        """The lines of the reader that say what is wrong with the inputs."""
        return [line for line in self.reports if line.startswith("kw: ")]

    def apply_found_rows(self, part: RowsFound | RowsSorted) -> Changed:
        """Take a part of an answer that has rows."""
        if isinstance(part, RowsFound) and any(steps.take_answer_part(part) for steps in self._steps):
            return Changed.NOTHING
        said = (
            self._time_step.take_answer_part(part, self.list_pane, self.rows.end)
            if isinstance(part, RowsFound)
            else None
        )
        if said is not None:
            self.show_notice(said or self.notice)
            return Changed.NOTHING
        if isinstance(part, RowsFound) and part.number == self.ladder_pane.question:
            self.ladder_pane.take_answer_part(part)
            return Changed.NOTHING
        return Changed.FOUND if self.row_filter.take_answer_part(part, self.rows.end) else Changed.NOTHING

    def apply_top_counts(self, counted: TopCounted) -> None:
        """Show counts, where they are those asked for last, or offer the names in them."""
        field = self._asked_names.pop(counted.number, "")
        if field:
            self._work.send_question(Forget(counted.number))
            self._names[field] |= {str(row[field]) for row, _ in counted.rows if row.get(field) is not None}
        if counted.number == self._asked_top:
            self.top_pane.apply_top_counts(counted)

    def apply_findings(self, found: CausesFound) -> None:
        """Show findings."""
        self.findings_pane.show_findings(found)
        self.query_one(TitleBar).refresh()

    def add_schemas_from_reader(self, new: NewSchemas) -> None:
        """Keep schemas for the values of messages and columns."""
        add_schemas_to_store(new, self._settings)

    def _show_found_rows_in_list(self) -> None:
        found = self.row_filter.shown
        numbers = None if found is None else found.rows
        if numbers is not self.list_pane.numbers:
            until = self.row_filter.count_listed(self.rows.end)
            order = "" if found is None else found.order
            gaps = found.gaps if found is not None and order == "gap" else None
            self.list_pane.show_rows_by_number(numbers, order=order, until=until, gaps=gaps)
            self._show_message()
            self.query_one(TitleBar).refresh()
        else:
            self.list_pane.draw_new_rows()
            self.list_pane.go_to_nearest_row(self.row_filter.count_listed(self.rows.end))

    def show_status(self) -> None:
        """Draw the line that says what is shown, and how far the reading is."""
        reading = Reading(self._source, self.taken, self._ended)
        shown = self.row_filter.shown
        said = "" if shown is None else self._earlier.describe_evidence_of_filter(shown.text)
        left, right = format_status_texts(reading, self.rows, self.list_pane, shown, self._settings.zone, said)
        notice = escape_text(self.notice)
        self.status_bar.show(f"{notice} · {left}" if notice else left, right, notice=notice)

    # -- views ---------------------------------------------------------------------------------------------------------

    def _show_row(self, number: int) -> None:
        """Show the message of a row in the list, without the filter where it does not let the row through."""
        self._remember_shown_place("")
        line = self.list_pane.find_line_of(number)
        if not (line < self.list_pane.count_lines() and self.list_pane.number_at(line) == number):
            self.filter_by("")
            line = self.list_pane.find_line_of(number)
        self.show_view(self.list_pane)
        self.list_pane.move_to(line)
        self.on_list_pane_message_wanted()
        self._is_message_of_ladder = True

    def _remember_shown_place(self, text: str, said: str = "") -> None:
        """Note what is shown, for the way back to it, before the list shows what a filter lets through."""
        place = Place(self.view, self.row_filter.text, self.list_pane.number_at_cursor)
        self._earlier.add_place(place, text, said)

    def on_list_pane_ladder_wanted(self, event: ListPane.LadderWanted) -> None:
        """Show the ladder of what the row at the cursor is about."""
        row = self.list_pane.row
        text = LADDERS[event.name](row) if row is not None and row.kind == "exchange" else ""
        if not text:
            self.show_notice(explain_missing_filter(event.name, row))
            return
        if self.ladder_pane.question:
            self._work.send_question(Forget(self.ladder_pane.question))
        number = self._next_question_number()
        self.ladder_pane.begin_ladder(number, text, self.list_pane.number_at(self.list_pane.cursor))
        self._work.send_question(FindRows(number, text, times=True))
        self.show_view(self.ladder_pane)

    def on_ladder_pane_row_wanted(self, event: LadderPane.RowWanted) -> None:
        """Show the message of an arrow."""
        self._show_row(event.number)

    def on_findings_pane_evidence_wanted(self, event: FindingsPane.EvidenceWanted) -> None:
        """List the exchanges that show a finding."""
        self._show_rows_that_pass(event.text, "this finding names no exchange", event.said)

    def on_top_pane_rows_wanted(self, event: TopPane.RowsWanted) -> None:
        """List the rows of a line."""
        self._show_rows_that_pass(event.text, "")

    def _show_rows_that_pass(self, text: str, otherwise: str, said: str = "") -> None:
        if not text:
            self.show_notice(otherwise)
            return
        self._remember_shown_place(text, said)
        self.show_view(self.list_pane)
        self.filter_by(text)

    def on_top_pane_dimension_wanted(self) -> None:
        """Count by something else."""
        self.top_pane.use_next_dimension()
        self._count_top()
        self.query_one(TitleBar).refresh()

    def on_top_pane_line_search_wanted(self) -> None:
        """Ask for a text to search."""
        self.filter_bar.open("search", self.top_pane.searched)

    def _count_top(self) -> None:
        if self._asked_top:
            self._work.send_question(Forget(self._asked_top))
        self._asked_top = self._next_question_number()
        self._work.send_question(CountTop(self._asked_top, self.top_pane.by, window=self._source.live))

    def action_show_list(self) -> None:
        if self.list_pane.has_focus:
            self.show_notice("this is what is shown")
        self.show_list_as_it_was()

    def action_show_ladder(self) -> None:
        if self.ladder_pane.question:
            self._show_view_or_say_shown(self.ladder_pane)
        else:
            self.on_list_pane_ladder_wanted(ListPane.LadderWanted("connection_ladder"))

    def action_show_findings(self) -> None:
        if not self._asked_causes:
            self._asked_causes = self._next_question_number()
            self._work.send_question(FindCauses(self._asked_causes))
        self._show_view_or_say_shown(self.findings_pane)

    def action_show_top(self) -> None:
        if not self._asked_top:
            self._count_top()
        self._show_view_or_say_shown(self.top_pane)

    def on_list_pane_error_wanted(self, event: ListPane.ErrorWanted) -> None:
        """Go to the next row with an error, as soon as it is found."""
        self._begin_row_step(self._error_steps, event.step)

    def on_list_pane_records_wanted(self, event: ListPane.RecordsWanted) -> None:
        """Open the next row with records: that at the cursor, where it has some."""
        self._begin_row_step(self._record_steps, event.step, from_here=event.step > 0)

    def on_message_pane_other_records_wanted(self, event: MessagePane.OtherRecordsWanted) -> None:
        """Open the next row with records behind that of the message, or the one before."""
        self._begin_row_step(self._record_steps, event.step)

    def _begin_row_step(self, steps: RowSteps, step: int, *, from_here: bool = False) -> None:
        if self.view is self.list_pane and not self.filter_bar.is_open:  # no later key was faster
            steps.begin_step(step, from_here=from_here)
            self.notice = _LOOKING
            self._continue_row_steps(steps)

    def _continue_row_steps(self, steps: RowSteps) -> None:
        step, end = steps.pending, self.rows.end
        done, notice = steps.go_on(self.list_pane, self.row_filter.count_listed(end), end)
        if steps is self._record_steps and done:
            self.on_list_pane_message_wanted()
            self.message_pane.go_to_record(step, self.row_filter.text)
        if notice or (step and self.notice == _LOOKING and not steps.pending):
            self.show_notice(notice)

    def _give_up_steps(self, action: str = "") -> None:
        for steps in self._steps:
            steps.give_up(action)
        self._time_step.give_up()

    # -- the filter ----------------------------------------------------------------------------------------------------

    def _list_completion_candidates(self, ask: Ask, text: str) -> Iterator[tuple[str, str]]:
        from kwcli.completion.completion_candidates import KINDS, Typed

        if ask == "zone":
            yield from ((name, "") for name in list_zone_names(text))
            return
        typed = Typed(text, (), lambda what: sorted(self.rows.names_of_kind(what)))
        yield from (
            (whole, meaning)
            for whole, meaning in KINDS["columns" if ask == "columns" else "filter"](typed)
            if whole.isprintable() and (ask == "filter" or whole.startswith(text))
        )

        if ask == "filter":
            known = {**self._names, "topic": self.rows.names_of_kind("topics")}
            yield from (each for each in list_words_of_filters(text, known) if each[0].isprintable())

    def _put_zone_offsets_in_filter(self, text: str) -> str:
        """The filter that a text stands for as it is typed: times are of the zone that is shown."""
        if describe_filter_error(text) is not None:
            return make_text_filter(text)
        return write_offsets_at_times(text, find_zone(self._settings.zone), self.rows.find_first_time_ns())

    def _request_client_and_group_names(self) -> None:
        """Have clients and groups counted, to offer their names."""
        for field in self._names:
            number = self._next_question_number()
            self._asked_names[number] = field
            self._work.send_question(CountTop(number, field))

    def on_filter_bar_text_typed(self, event: FilterBar.TextTyped) -> None:
        """Try the filter once the typing pauses."""
        if event.ask != "filter":
            return
        if self._pause is not None:
            self._pause.stop()
        self._pause = self.set_timer(_PAUSE_S, partial(self._try_filter, event.text.strip()))

    def _try_filter(self, text: str) -> None:
        self._pause = None
        if self.filter_bar.is_open and describe_filter_error(text) is None:
            self.row_filter.try_filter(self._put_zone_offsets_in_filter(text))
            self._show_found_rows_in_list()
            self.show_status()

    def on_filter_bar_text_entered(self, event: FilterBar.TextEntered) -> None:
        """Take what was entered, or give it up."""
        if event.ask == "filter":
            if self._pause is not None:
                self._pause.stop()
                self._pause = None
            if event.text is None:
                self.row_filter.give_up()
                self._show_found_rows_in_list()
            else:
                self._put_filter_in_force(event.text)
            self.show_view(self.list_pane)
        elif event.text is not None and event.ask in self._takers:
            self.view.focus()
            self._takers[event.ask](event.text)
        elif event.ask == "search" and self.view is self.top_pane:
            self.top_pane.focus()
            if event.text and not self.top_pane.search(event.text):
                self.show_notice(f"not found: {event.text}")
        elif event.ask == "search":
            self.message_pane.focus()
            if event.text is not None and not self.message_pane.search(event.text) and event.text:
                self.show_notice(describe_not_found(event.text))
        else:
            self.view.focus()
        self.show_status()

    def filter_by(self, text: str) -> None:
        """Put a filter in force."""
        self._put_filter_in_force(text)
        self.show_view(self.list_pane)

    def _put_filter_in_force(self, text: str) -> None:
        """Put a filter in force; the one before it can be brought back."""
        if text != self.row_filter.text:
            self._earlier.add_filter(self.row_filter.text, self.list_pane.number_at_cursor)
        self.filter_bar.add_to_history(text)
        self.row_filter.apply_text(text)
        self._show_found_rows_in_list()

    def on_list_pane_quick_filter_wanted(self, event: ListPane.QuickFilterWanted) -> None:
        """Narrow the filter by what the row at the cursor is about."""
        row = self.list_pane.row
        more = QUICK_FILTERS[event.name](row) if row is not None and row.kind == "exchange" else ""
        text = join_with_filter(self.row_filter.text, more)
        if not more:
            self.show_notice(explain_missing_filter(event.name, row))
        elif text == self.row_filter.text:
            self.show_notice("the filter says so already")
        else:
            self.filter_by(text)

    def _decode_values_again(self) -> None:
        """Show values by the schemas that are known now; ask the filter again where it looks into values."""
        self._show_message()
        if self._settings.columns:
            self.list_pane.forget_lines()
        filter_now = self.row_filter.in_force
        if filter_now is not None and filter_now.text and does_filter_decode_values(filter_now.text):
            self.row_filter.request_rows_in_order(self.row_filter.order)

    def on_list_pane_order_wanted(self) -> None:
        """Sort the list by the next of ORDERS."""
        self._sort_by(ORDERS[(ORDERS.index(self.row_filter.order) + 1) % len(ORDERS)])

    def on_title_bar_title_clicked(self, event: TitleBar.TitleClicked) -> None:
        """Sort the list by a column; by one that it is sorted by, as the rows came."""
        order = ORDERS_OF_TITLES.get(event.title.split()[0])
        if self.view is not self.list_pane:
            self.show_notice("the list alone is sorted by its titles")
        elif order is None:
            self.show_notice(f"there is no order by {event.title}: time, took and sizes have one")
        else:
            self._sort_by("" if order == self.row_filter.order else order)

    def _sort_by(self, order: str) -> None:
        self.list_pane.move_to(0)
        self.row_filter.request_rows_in_order(order)
        self._show_found_rows_in_list()
        self.show_notice(f"sorted by {ORDERED_BY[order]}" if order else "in the order in which they ended")

    def on_list_pane_columns_wanted(self) -> None:
        """Ask for columns."""
        self.filter_bar.open("columns", ",".join(self._settings.columns))

    def _apply_typed_columns(self, text: str) -> None:
        from kwcli.output.read_row_cells import make_row_columns

        words = tuple(filter(None, map(str.strip, text.split(","))))
        try:
            make_row_columns(words)
        except Failure as failure:
            self.show_notice(failure.text.removeprefix("--columns: "))
            return
        self._set_columns(words)

    def _set_columns(self, words: tuple[str, ...]) -> None:
        self._settings = self._settings._replace(columns=words)
        self.list_pane.settings = self._settings
        self._redraw_list()

    # -- actions -------------------------------------------------------------------------------------------------------

    def action_show_help(self) -> None:
        from kwcli.browse.panes.help_screen import HelpScreen

        self.push_screen(HelpScreen())

    def action_edit_filter(self) -> None:
        if self.view is not self.list_pane:
            self.show_view(self.list_pane)
        self._request_client_and_group_names()
        self.filter_bar.open("filter", self.row_filter.text)

    def action_clear_filter(self) -> None:
        if not self.row_filter.text:
            self.show_notice("there is no filter")
        self._earlier.forget_places()
        self.filter_by("")

    def action_earlier_filter(self) -> None:
        found = self._earlier.pop_replaced_filter()
        if found is None:
            self.show_notice("there is no earlier filter")
            return
        self._go_to_filter(*found)
        self.show_notice(f"the filter before: {found[0]}" if found[0] else "all rows, as before")

    def _go_to_filter(self, text: str, number: int | None) -> None:
        """Put an earlier filter in force, with the cursor on the row that it was on."""
        self.list_pane.go_to_row_once_shown(number)
        self.row_filter.apply_text(text)
        self._show_found_rows_in_list()
        self.show_view(self.list_pane)

    def action_go_back(self) -> None:
        place = self._earlier.last_place
        if self.bytes_pane.has_focus:
            self.message_pane.focus()
        elif self.is_message_shown and not self._is_message_of_ladder:
            self._hide_message()
            self.list_pane.focus()
        elif self.view is not self.list_pane:
            self.show_list_as_it_was()
        elif place is not None:
            self._earlier.forget_last_place()
            self._hide_message()
            if place.text != self.row_filter.text:
                self._earlier.add_filter(self.row_filter.text, self.list_pane.number_at_cursor)
                self._go_to_filter(place.text, place.row)
            elif place.row is not None:
                self.list_pane.move_to(self.list_pane.find_line_of(place.row))
            self.show_view(place.view)
        elif self.row_filter.text:
            self.filter_by("")
            self.show_notice("all rows; u brings the filter back")
        else:
            self.show_notice("q quits")

    async def action_leave(self) -> None:
        if self.is_message_shown:
            self._hide_message()
        else:
            await self.action_quit()

    def action_change_times(self) -> None:
        self.list_pane.time_form = self.ladder_pane.time_form = self.list_pane.time_form.next_form()
        self._redraw_list()
        self.show_notice(f"times: {self.list_pane.time_form.meaning}")

    def action_change_zone(self) -> None:
        self._set_zone("" if self._settings.zone else self._env.variables.get("TZ") or LOCAL)

    def action_choose_zone(self) -> None:
        self.filter_bar.open("zone", self._settings.zone)

    def _apply_typed_zone(self, zone: str) -> None:
        self._set_zone(find_zone_name(zone) or "")

    def _find_problem_of_typed_text(self, ask: Ask, text: str) -> str:
        """Why the line cannot take a text; empty where it can."""
        if ask == "zone" and find_zone_name(text) is None:
            return f"{text} is no time zone: write Europe/Berlin, or Tab after a part of it"
        return explain_wrong_time(text) if ask == "time" and text else ""

    def action_go_to_time(self) -> None:
        if self.view is not self.list_pane:
            self.show_view(self.list_pane)
        self.filter_bar.open("time")

    def _go_to_typed_time(self, text: str) -> None:
        if text:
            self.list_pane.follows = False
            zone = find_zone(self._settings.zone)
            self.show_notice(self._time_step.begin_step(text, self.rows, self.row_filter.text, zone))

    # -- exports -------------------------------------------------------------------------------------------------------

    def action_export_rows(self) -> None:
        self.filter_bar.open("file", self._writer.take_selection())

    @property
    def has_read_all(self) -> bool:
        """Whether no further row comes."""
        return self._ended is not None

    def action_copy_call(self) -> None:
        from kwcli.browse.exports.call_line import make_call_line

        row = self.list_pane.row
        line = make_call_line(row, self._settings) if row is not None and row.kind == "exchange" else ""
        if line:
            self.copy_to_clipboard(line)
            self.show_notice(f"copied: {line}")
        else:
            self.show_notice("there is no request that could be asked again")

    def _set_zone(self, zone: str) -> None:
        self._settings = self._settings._replace(zone=zone)
        for pane in (self.list_pane, self.message_pane, self.ladder_pane, self.findings_pane, self.top_pane):
            pane.settings = self._settings
        self._redraw_list()
        self.show_notice(f"times in {'UTC' if not zone else 'the zone of this machine' if zone == LOCAL else zone}")

    def _redraw_list(self) -> None:
        self.list_pane.forget_lines()
        self.view.redraw_lines()
        self.query_one(TitleBar).refresh()
        self.show_status()
