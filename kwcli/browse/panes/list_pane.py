"""Rows of the spool in, the list of exchanges out: lines as `kw sniff` prints them, of all rows or of a filter's."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar, Final

from rich.segment import Segment
from rich.style import Style
from textual.binding import BindingType
from textual.message import Message
from textual.strip import Strip

from decoders.wire.format_and_escape_text import format_size
from kwcli.browse.actions import make_bindings_of_places
from kwcli.browse.background_processes.spool import BlockLost, SpooledRows
from kwcli.browse.panes.line_pane import LinePane
from kwcli.browse.panes.row_times import TIME_CELLS, TimeForm, format_row_time
from kwcli.browse.panes.styled_lines import make_strip
from kwcli.output.facts.line_fact_functions import facts_paths
from kwcli.output.renderers import WantedPaths, find_paths_read_by_format
from kwcli.output.short_texts import find_zone
from kwcli.output.text import TextLines

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Settled
    from kwcli.browse.panes.lines_of_chosen_columns import ChosenLines
    from kwcli.output.output_settings import Settings

__all__ = ["ListPane"]

_LINES_KEPT: Final = 2000
# Lines have columns for at least so many cells; narrower terminals show their beginning.
_NARROWEST: Final = 60
# The most cells that a line may have: facts beyond the width are reached by scrolling.
_DIM: Final = Style(dim=True)


class ListPane(LinePane):
    """The list. `numbers`: the rows of a filter, by their number in the spool; None for all rows."""

    place = "list"
    BINDINGS: ClassVar[list[BindingType]] = [*make_bindings_of_places(place)]

    class MessageWanted(Message):
        """The message of the row at the cursor is to be shown."""

    class ErrorWanted(Message):
        """The cursor is to go to the next row with an error, or to the one before."""

        def __init__(self, step: int) -> None:
            super().__init__()
            self.step = step

    class RecordsWanted(Message):
        """The next row with records is to be opened at them, or the one before."""

        def __init__(self, step: int) -> None:
            super().__init__()
            self.step = step

    class LadderWanted(Message):
        """A ladder of what the row at the cursor is about is to be shown."""

        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

    class OrderWanted(Message):
        """The list is to be in the next order."""

    class ColumnsWanted(Message):
        """Columns are to be asked for."""

    class QuickFilterWanted(Message):
        """The list is to be filtered by what the row at the cursor is about."""

        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

    def __init__(self, rows: SpooledRows, settings: Settings, **options: Any) -> None:
        super().__init__(**options)
        self.rows = rows
        self._settings = settings
        self._set_needed_fields()
        self.numbers: array[int] | None = None
        self.is_sorted = False
        self.time_form = TimeForm.ABSOLUTE
        self._order = ""
        self._gaps: array[int] | None = None
        self.follows = False  # the cursor stays on the last row
        self._looks_for: int | None = None  # the row that the cursor goes to once it is there, or the nearest one
        self._strips: OrderedDict[int, Strip] = OrderedDict()
        self._lines: TextLines | None = None
        self._chosen: ChosenLines | None = None
        self._lost = 0  # rows that the list has lost at its start
        self.to_ascii: Callable[[str], str] = str

    # -- rows ----------------------------------------------------------------------------------------------------------

    def count_lines(self) -> int:
        """How many rows are in the list."""
        return self.rows.end - self.rows.first if self.numbers is None else len(self.numbers)

    def number_at(self, at: int) -> int:
        """The number in the spool of a row of the list."""
        return self.rows.first + at if self.numbers is None else self.numbers[at]

    def row_at(self, at: int) -> Settled | None:
        """A row of the list; None where there is none, or it is no longer kept."""
        if not 0 <= at < self.count_lines():
            return None
        try:
            return self.rows.find_row(self.number_at(at))
        except BlockLost:
            return None

    @property
    def row(self) -> Settled | None:
        """The row at the cursor."""
        return self.row_at(self.cursor)

    def find_line_of(self, number: int) -> int:
        """The line of a row by its number in the spool, or of the next one that is in the list."""
        if self.numbers is None:
            return number - self.rows.first
        if not self.is_sorted:
            return bisect_left(self.numbers, number)
        with suppress(ValueError):
            return self.numbers.index(number)
        return len(self.numbers)

    @property
    def number_at_cursor(self) -> int | None:
        """The number in the spool of the row at the cursor; None where there is none."""
        return self.number_at(self.cursor) if self.cursor < self.count_lines() else None

    def show_rows_by_number(
        self,
        numbers: array[int] | None,
        *,
        order: str = "",
        until: int = 0,
        gaps: array[int] | None = None,
    ) -> None:
        """Show these rows, or all; the cursor stays on its row, or goes to the nearest one that is there.

        `order`: the word of `--sort` that they are sorted by; a cursor at the top of a sorted list stays there.
        `until`: the number of the first row of which it is not known whether it is one of them.
        `gaps`: the time before each row without any, in ns, which is shown where times are.
        """
        is_sorted = bool(order)
        if gaps is not None or self._gaps is not None or order != self._order:
            self._gaps, self._order = gaps, order
            self._strips.clear()
        if self._looks_for is None:
            self._looks_for = self.number_at_cursor
        begins = is_sorted and (not self.is_sorted or not self.cursor)
        self.numbers, self.is_sorted = numbers, is_sorted
        if begins:
            self.cursor, self._looks_for = 0, None
        self.go_to_nearest_row(until)
        self.redraw_lines()
        self.call_after_refresh(self.show_cursor)

    def go_to_row_once_shown(self, number: int | None) -> None:
        """Have the cursor go to a row as soon as it is among those that are shown, or to the nearest one."""
        self._looks_for = number

    def may_find_nearer_row(self, until: int) -> bool:
        """Whether rows that were not looked at, from `until` on, may be nearer to the one that is looked for."""
        number = self._looks_for
        return number is not None and number >= until and self.count_lines() > 0

    def go_to_nearest_row(self, until: int) -> None:
        """Put the cursor on the row that it was on, or on the nearest one; again while rows before `until` are all."""
        number = self._looks_for
        if number is None or not self.count_lines():
            return
        line = min(self.find_line_of(number), self.count_lines() - 1)
        if line and not self.is_sorted and self.number_at(line) - number > number - self.number_at(line - 1) >= 0:
            line -= 1
        if line != self.cursor:
            self.cursor = line
            self.redraw_lines()
            self.call_after_refresh(self.show_cursor)
        if number < until:
            self._looks_for = None

    def draw_new_rows(self) -> None:
        """Draw rows that have come; the line at the top stays where it is, unless the list follows."""
        lost = self.rows.first - self._lost
        if lost and self.numbers is None:
            self.cursor -= lost
            self.scroll_to(y=max(self.scroll_offset.y - lost, 0), animate=False, immediate=True)
        elif lost and self.numbers is not None and not self.is_sorted:
            gone = bisect_left(self.numbers, self.rows.first)
            del self.numbers[:gone]
            self.cursor -= gone
        self._lost = self.rows.first
        self.redraw_lines()
        if self.follows:
            self.cursor = max(self.count_lines() - 1, 0)
            self.call_after_refresh(self.show_cursor)

    # -- lines ---------------------------------------------------------------------------------------------------------

    @property
    def settings(self) -> Settings:
        """The settings that lines are made by."""
        return self._settings

    @settings.setter
    def settings(self, settings: Settings) -> None:
        columns, self._settings = self._settings.columns, settings
        if settings.columns != columns:
            self._set_needed_fields()
        self.forget_lines()

    def _set_needed_fields(self) -> None:
        """Have rows hold the fields of bodies that their lines show."""
        if self._settings.columns:
            self.rows.set_needed_fields(WantedPaths(facts_paths, find_paths_read_by_format(self._settings)))

    def forget_lines(self) -> None:
        """Make all lines anew, in another width or form."""
        self._lines = self._chosen = None
        self._strips.clear()
        self.redraw_lines()

    def on_resize(self) -> None:
        """Make the lines anew in the new width."""
        self._lines = self._chosen = None
        self._strips.clear()
        super().on_resize()

    @property
    def text_lines(self) -> TextLines:
        """What makes the lines, for the width that the pane has now."""
        if self._lines is None:
            width = max(self.size.width - 1, _NARROWEST)
            zone = find_zone(self._settings.zone)
            self._lines = TextLines(width, color=self._settings.color, zone=zone, nodes=self.rows.nodes, alone=True)
            self.line_width = width + 1
        return self._lines

    @property
    def _shows_sizes_for_times(self) -> bool:
        """Whether sizes stand where times are: rows are sorted by them, and the columns have none in this width."""
        return self._order == "size" and not self.text_lines.layout.sent

    @property
    def chosen_lines(self) -> ChosenLines | None:
        """What makes the lines where columns are chosen."""
        if self._chosen is None and self._settings.columns:
            from kwcli.browse.panes.lines_of_chosen_columns import ChosenLines  # not loaded before somebody chooses

            top, height = self.scroll_offset.y, max(self.size.height, 1)
            rows = [row for row in map(self.row_at, range(top, top + height)) if row is not None]
            lines = ChosenLines(self._settings, self.rows.nodes, rows)
            if not rows:
                return lines
            self._chosen = lines
            self.line_width = lines.width + 1
            self.call_after_refresh(self.redraw_lines)
        return self._chosen

    def make_titles(self) -> Strip:
        """The titles of the columns."""
        chosen = self.chosen_lines
        if chosen is not None:
            left = self.scroll_offset.x
            titles = Strip([Segment(self.to_ascii(chosen.titles), _DIM)])
            return titles.crop_extend(left, left + self.size.width, _DIM)
        strip = make_strip(self.to_ascii(self.text_lines.column_titles_line()))
        title = "gap before" if self._gaps is not None else "sent     got" if self._shows_sizes_for_times else ""
        if title or self.time_form is not TimeForm.ABSOLUTE:
            title = title or self.time_form.value
            strip = _replace_time(strip, f"{title:<{TIME_CELLS}}", Style(dim=True))
        left = self.scroll_offset.x
        return strip.crop_extend(left, left + self.size.width, _DIM)

    def make_line(self, at: int) -> Strip:
        """The line of a row."""
        number = self.number_at(at)
        strip = self._strips.get(number)
        if strip is None:
            strip = self._make_row_line(at)
            self._strips[number] = strip
            if len(self._strips) > _LINES_KEPT:
                self._strips.popitem(last=False)
        return strip

    def _make_row_line(self, at: int) -> Strip:
        row = self.row_at(at)
        if row is None:
            return Strip([Segment("no longer kept: the spool is full", _DIM)])
        chosen = self.chosen_lines
        if chosen is not None:
            return Strip([Segment(self.to_ascii(chosen.make_line(row)))])
        lines = self.text_lines
        line = lines.exchange_line(row) if row.kind == "exchange" else lines.skipped_line(row)
        strip = make_strip(self.to_ascii(line))
        if self._gaps is not None and at < len(self._gaps):
            return _replace_time(strip, format_row_time(self._gaps[at], 0, lines.zone), _DIM)
        if self._shows_sizes_for_times:
            return _replace_time(strip, _format_sizes(row), _DIM)
        if self.time_form is TimeForm.ABSOLUTE:
            return strip
        before = self.row_at(0 if self.time_form is TimeForm.RELATIVE else max(at - 1, 0))
        since_ns = row.time_ns if before is None else before.time_ns
        return _replace_time(strip, format_row_time(row.time_ns, since_ns, lines.zone), _DIM)

    # -- actions -------------------------------------------------------------------------------------------------------

    def open_line(self) -> None:
        """Open the message."""
        self.post_message(self.MessageWanted())

    def action_open_message(self) -> None:
        self.open_line()

    def action_copy_row(self) -> None:
        if self.count_lines():
            self.copy(self.make_line(self.cursor).text.rstrip())
        else:
            self.post_notice("there is no row")

    def action_next_error(self) -> None:
        self.post_message(self.ErrorWanted(1))

    def action_earlier_error(self) -> None:
        self.post_message(self.ErrorWanted(-1))

    def action_next_records(self) -> None:
        self.post_message(self.RecordsWanted(1))

    def action_earlier_records(self) -> None:
        self.post_message(self.RecordsWanted(-1))

    async def action_go_back_from_list(self) -> None:
        await self.app.run_action("go_back")

    async def action_leave_list(self) -> None:
        await self.app.run_action("leave")

    def action_connection_ladder(self) -> None:
        self.post_message(self.LadderWanted("connection_ladder"))

    def action_group_ladder(self) -> None:
        self.post_message(self.LadderWanted("group_ladder"))

    def action_transaction_ladder(self) -> None:
        self.post_message(self.LadderWanted("transaction_ladder"))

    def action_next_order(self) -> None:
        self.post_message(self.OrderWanted())

    def action_choose_columns(self) -> None:
        self.post_message(self.ColumnsWanted())

    def action_this_client(self) -> None:
        self.post_message(self.QuickFilterWanted("this_client"))

    def action_this_connection(self) -> None:
        self.post_message(self.QuickFilterWanted("this_connection"))

    def action_this_topic(self) -> None:
        self.post_message(self.QuickFilterWanted("this_topic"))

    def action_this_group(self) -> None:
        self.post_message(self.QuickFilterWanted("this_group"))

    def action_this_api(self) -> None:
        self.post_message(self.QuickFilterWanted("this_api"))

    def action_only_errors(self) -> None:
        self.post_message(self.QuickFilterWanted("only_errors"))

    def action_this_slow(self) -> None:
        self.post_message(self.QuickFilterWanted("this_slow"))

    def action_go_to_end(self) -> None:
        self.follows = not self._number
        super().action_go_to_end()

    def move_to(self, at: int) -> None:
        """Put the cursor on a row; a list that follows new rows does so only from its last one."""
        self._looks_for = None
        if at < self.count_lines() - 1:
            self.follows = False
        super().move_to(at)


def _format_sizes(row: Settled) -> str:
    """The sizes of a request and its response, or of bytes that are no exchange, in TIME_CELLS cells."""
    sizes = [row.request_size, row.response_size] if row.kind == "exchange" else [None, row.size]
    sent, got = ("" if size is None else format_size(size) for size in sizes)
    return f"{sent:<6}{got:>6}"[:TIME_CELLS]


def _replace_time(strip: Strip, text: str, style: Style) -> Strip:
    """The line with another text in place of the time."""
    return Strip([Segment(text, style), *strip.crop(TIME_CELLS)])
