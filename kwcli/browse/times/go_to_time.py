"""A time as people write it in, the cursor of the list at the first row from then on out."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from decoders.wire.format_and_escape_text import format_rfc3339
from decoders.wire.parse_units import parse_moment
from kwcli.browse.background_processes.search_messages import FindRows, Forget, RowsFound
from kwcli.browse.background_processes.spool import BlockLost, SpooledRows
from kwcli.browse.quick_filters import join_with_filter
from kwcli.output.short_texts import NS, TimeZone

if TYPE_CHECKING:
    from kwcli.browse.panes.list_pane import ListPane

__all__ = ["TimeStep", "explain_wrong_time"]


def explain_wrong_time(text: str) -> str:
    """Why a text is no time; empty where it is one."""
    try:
        parse_moment(text)
    except ValueError:
        return f"{text} is no time: write 17:34:50, 2026-11-21 17:34 or 5m (before the end)"
    return ""


class TimeStep:
    """The step to a time that is still to be done: the list in the order in which rows came says which row is first."""

    def __init__(self, ask: Callable[[Any], None], next_number: Callable[[], int]) -> None:
        self._ask, self._next_number = ask, next_number
        self._number = 0
        self._written = ""

    def begin_step(self, text: str, rows: SpooledRows, filter_text: str, zone: TimeZone) -> str:
        """Look for the first row from a time on, which is of a zone where it names none; returns what is said then."""
        self.give_up()
        try:
            first_ns, last_ns = rows.find_row(rows.first).time_ns, rows.find_row(rows.end - 1).time_ns
            offset = zone.local_time(first_ns // NS).utcoffset()
            offset_ns = 0 if offset is None else int(offset.total_seconds()) * NS
            wanted_ns = parse_moment(text).resolve_to_ns(first_ns, last_ns, offset_ns)
            wanted_ns = min(wanted_ns, last_ns + 1)  # no row is later, and no later time has to be written
        except (BlockLost, IndexError, ValueError, OverflowError):
            return "there is no row"
        self._number, self._written = self._next_number(), text
        self._ask(FindRows(self._number, join_with_filter(filter_text, f"time >= {format_rfc3339(wanted_ns)}")))
        return f"looking for {text}"

    def give_up(self) -> None:
        """Give up what is still looked for."""
        if self._number:
            self._ask(Forget(self._number))
        self._number = 0

    def take_answer_part(self, part: RowsFound, pane: ListPane, end: int) -> str | None:
        """Go to the first row that is found; returns what is said then, None for the answer to another question."""
        if part.number != self._number or not self._number:
            return None
        if part.rows:
            self.give_up()
            pane.move_to(pane.find_line_of(int.from_bytes(part.rows[:8], "little")))
            return f"the first row from {self._written} on"
        if part.until >= end:
            self.give_up()
            pane.move_to(pane.count_lines() - 1)
            return f"no row is as late as {self._written}: this is the last one"
        return ""
