"""Rows with their times in, the ladder of a connection, a group or a transaction out: an arrow for each message.

    17:34:47.717  checkout-7 ───▶ 2          Produce 10 orders[2] 61 rec 930B
    17:34:47.938  checkout-7 ◀─── 2   221ms  NOT_LEADER_OR_FOLLOWER
                  ⋮ 3.2s

Arrows are in the order of their times, requests and responses apart. A gap of a second or more has a line.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, Final

from rich.segment import Segment
from rich.style import Style
from textual.binding import BindingType
from textual.message import Message
from textual.strip import Strip

from decoders.wire.format_and_escape_text import escape_text, format_latency, format_size
from kwcli.browse.actions import make_bindings_of_places
from kwcli.browse.background_processes.search_messages import RowsFound
from kwcli.browse.background_processes.spool import BlockLost, SpooledRows
from kwcli.browse.panes.line_pane import LinePane
from kwcli.browse.panes.row_times import TimeForm, format_row_time
from kwcli.browse.panes.styled_lines import make_strip
from kwcli.output.facts.compile_line_facts import FactLimits
from kwcli.output.facts.line_fact_functions import (
    find_api_facts,
    format_exchange_trouble,
    list_facts_of_decoded_sides,
    list_no_facts,
)
from kwcli.output.short_texts import NS, cell_width, cut, find_zone, palette

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange
    from kwcli.output.output_settings import Settings

__all__ = ["LadderPane"]

_GAP_NS: Final = NS
_CLIENT_CELLS: Final = 14
_BROKER_CELLS: Final = 6
# Narrower panes have short arrows and names, and the answers' times where requests have their names.
_NARROW: Final = 60
_LIMITS: Final = FactLimits(4, 24)
# Kinds of lines.
_REQUEST, _RESPONSE, _GAP = 0, 1, 2


class LadderPane(LinePane):
    """The ladder. `steps`: of each line its time, the number of its row, and its kind; of a gap its length."""

    place = "ladder"
    BINDINGS: ClassVar[list[BindingType]] = [*make_bindings_of_places(place)]

    class RowWanted(Message):
        """The message of a row is to be shown."""

        def __init__(self, number: int) -> None:
            super().__init__()
            self.number = number

    def __init__(self, rows: SpooledRows, settings: Settings, **options: Any) -> None:
        super().__init__(**options)
        self.rows = rows
        self.settings = settings
        self.about = ""
        self.question = 0
        self.time_form = TimeForm.ABSOLUTE
        self._messages: list[tuple[int, int, int]] = []
        self.steps: list[tuple[int, int, int]] = []
        self._wanted: int | None = None  # the row that the cursor is to be on once it is there
        self._marked_ns: int | None = None  # the time of the arrow with a mark
        self._until = 0  # the number of the first row that was not looked at
        self.to_ascii: Callable[[str], str] = str

    def begin_ladder(self, question: int, about: str, number: int | None) -> None:
        """Begin a ladder, which the answer to a question fills; the cursor goes to the row with this number."""
        self.question, self.about, self._wanted, self._until = question, about, number, 0
        self._messages, self.steps = [], []
        self.cursor, self._marked_ns = 0, None
        self.redraw_lines()

    @property
    def awaited(self) -> str:
        """That arrows are looked for, until that of the row is there that the ladder was begun at."""
        needed = min((self._wanted or 0) + 1, self.rows.end)
        return "looking for the ladder" if self.question and self._until < needed else ""

    def take_answer_part(self, part: RowsFound) -> None:
        """Add the arrows of some rows."""
        self._until = part.until
        numbers, times = array("Q"), array("Q")
        numbers.frombytes(part.rows)
        times.frombytes(part.times)
        if not numbers:
            return
        came: list[tuple[int, int, int]] = []
        for at, number in enumerate(numbers):
            sent, answered = times[2 * at], times[2 * at + 1]
            if sent:
                came.append((sent, number, _REQUEST))
            if answered:
                came.append((answered, number, _RESPONSE))
        if not came:
            return
        here = self.steps[self.cursor] if self.cursor < len(self.steps) else None
        first_new = self._add_messages(came)
        if self._wanted is not None:
            self._go_to_row(self._wanted, _REQUEST, first_new)
        elif here is not None and self.cursor >= first_new:
            self._go_to_row(*here[1:], first_new)
        self.redraw_lines()
        self.call_after_refresh(self.show_cursor)

    def _add_messages(self, came: list[tuple[int, int, int]]) -> int:
        """Put messages at their places; returns the first line that is another one now. Lines before it stay."""
        earliest = min(came)
        at = bisect_left(self._messages, earliest)
        self._messages[at:] = sorted(self._messages[at:] + came)
        line = bisect_left(self.steps, earliest)
        if line and self.steps[line - 1][2] == _GAP:
            line -= 1
        del self.steps[line:]
        before = self._messages[at - 1][0] if at else None
        for step in islice(self._messages, at, None):
            if before is not None and step[0] - before >= _GAP_NS:
                self.steps.append((before, step[0] - before, _GAP))
            self.steps.append(step)
            before = step[0]
        return line

    def _go_to_row(self, number: int, kind: int, first: int) -> None:
        """Put the cursor on a message, where it is in this line or a later one."""
        for at in range(first, len(self.steps)):
            if self.steps[at][1:] == (number, kind):
                self.cursor = at
                return

    # -- lines ---------------------------------------------------------------------------------------------------------

    def count_lines(self) -> int:
        """The lines of the ladder; one where there is none."""
        return len(self.steps) or 1

    def make_titles(self) -> Strip:
        """The line above the ladder."""
        said = [f"ladder of {escape_text(self.about)}", *self._list_times_since_mark()]
        if self.size.width < _NARROW:
            said = [*said[1:], said[0]]
        return Strip([Segment(self.to_ascii(" · ".join(said)), Style(dim=True))])

    def _list_times_since_mark(self) -> list[str]:
        """The time of the arrow at the cursor since the one before it, and since the mark."""
        if self.cursor >= len(self.steps) or self.steps[self.cursor][2] == _GAP:
            return []
        time_ns, since_ns = self.steps[self.cursor][0], self._find_time_of_message_before(self.cursor)
        spans = [(time_ns - since_ns, "since the arrow before", "")] if self.cursor else []
        if self._marked_ns is not None:
            spans.append((time_ns - self._marked_ns, "since the mark", "mark "))
        if self.size.width < _NARROW:
            return [f"{word}{_format_span(span, '+')}" for span, _, word in spans]
        return [f"{_format_span(span, '')} {said}" for span, said, _ in spans]

    def make_line(self, at: int) -> Strip:
        """A line of the ladder."""
        if not self.steps:
            return Strip([Segment("no exchange yet", Style(dim=True))])
        time_ns, number, kind = self.steps[at]
        if kind == _GAP:
            return make_strip(self.to_ascii(f"{'':>14}⋮ {format_latency(number / 1e6)}"))
        try:
            row = self.rows.find_row(number)
        except BlockLost:
            return Strip([Segment("no longer kept: the spool is full", Style(dim=True))])
        assert row.kind == "exchange"
        return make_strip(self.to_ascii(self._format_step(at, time_ns, row, kind)))

    def _format_step(self, at: int, time_ns: int, row: Exchange, kind: int) -> str:
        colors = palette(self.settings.color)
        since_ns = None
        if self.time_form is TimeForm.RELATIVE:
            since_ns = self.steps[0][0]
        elif self.time_form is TimeForm.DELTA:
            since_ns = self._find_time_of_message_before(at)
        when = format_row_time(time_ns, since_ns, find_zone(self.settings.zone))
        narrow = self.size.width < _NARROW
        client_cells, broker_cells = (6, 2) if narrow else (_CLIENT_CELLS, _BROKER_CELLS)
        client = cut(escape_text(row.client_id or "") or row.client.rpartition(":")[0], client_cells)
        node = self.rows.nodes.get(row.broker)
        broker = str(node) if node is not None else cut(row.broker.rpartition(":")[2], broker_cells)
        line = "─" if narrow else "───"
        arrow = f"{line}▶" if kind == _REQUEST else f"◀{line}"
        head = (
            f"{colors.dim}{when}{colors.off}{'' if narrow else ' '} {colors.client}{client}{colors.off}"
            f"{' ' * (client_cells - cell_width(client))} {arrow} {broker:<{broker_cells}} "
        )
        row.view("request")  # both sides are read for it
        trouble = escape_text(format_exchange_trouble(row))
        facts = find_api_facts(row.api_key)
        said = list_facts_of_decoded_sides(row, list_no_facts if facts is None else facts.facts, _LIMITS)
        if kind == _REQUEST:
            name = row.api or "SASL token"
            version = "" if row.api_version is None else f" {row.api_version}"
            open_end = f" {colors.bad}{trouble}{colors.off}" if trouble and row.response_ns is None else ""
            head = head if narrow else f"{head}{'':>6}  "
            return f"{head}{colors.api}{name}{version}{colors.off}{open_end} {escape_text(' '.join(said))}"
        took = "" if row.latency_ms is None else format_latency(row.latency_ms)
        size = "" if row.response_size is None else format_size(row.response_size)
        bad = f"{colors.bad}{trouble}{colors.off} " if trouble else ""
        head = f"{head}{took} " if narrow else f"{head}{took:>6}  "
        outcome = [each for each in said if each.startswith(("→", "gen ")) or "@" in each]
        told = " " + (escape_text(" ".join(outcome)) or ("" if trouble else "ok"))
        return f"{head}{bad}{colors.dim}{row.api or 'answer'}{colors.off}{told.rstrip()} {colors.dim}{size}{colors.off}"

    def _find_time_of_message_before(self, at: int) -> int:
        for place in range(at - 1, -1, -1):
            if self.steps[place][2] != _GAP:
                return self.steps[place][0]
        return self.steps[at][0]

    # -- actions -------------------------------------------------------------------------------------------------------

    def move_to(self, at: int) -> None:
        """Put the cursor on a line; the ladder no longer looks for the row it was begun at."""
        self._wanted = None
        super().move_to(at)

    def open_line(self) -> None:
        """Show the message."""
        if self.cursor < len(self.steps) and self.steps[self.cursor][2] != _GAP:
            self.post_message(self.RowWanted(self.steps[self.cursor][1]))
        else:
            self.post_notice("this line is no message")

    def action_set_mark(self) -> None:
        if self.cursor >= len(self.steps) or self.steps[self.cursor][2] == _GAP:
            self.post_notice("this line is no message")
        elif self._marked_ns == self.steps[self.cursor][0]:
            self._marked_ns = None
            self.post_notice("the mark is gone")
        else:
            self._marked_ns = self.steps[self.cursor][0]
            self.post_notice("marked: the line above has the time since here")
        self.post_message(self.CursorMoved(self))

    def action_open_step(self) -> None:
        self.open_line()

    def action_other_end(self) -> None:
        _, number, kind = self.steps[self.cursor] if self.cursor < len(self.steps) else (0, 0, _GAP)
        for at, (_, its_number, its_kind) in enumerate(self.steps):
            if kind != _GAP and its_number == number and its_kind == 1 - kind:
                self.move_to(at)
                return
        self.post_notice("there is no other side")


def _format_span(span_ns: int, sign: str) -> str:
    return f"{'-' if span_ns < 0 else sign}{format_latency(abs(span_ns) / 1e6)}"
