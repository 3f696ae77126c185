"""Rows of the spool in, the numbers of those that a filter lets through out, in an order of `kw sniff --sort`."""

from __future__ import annotations

import time
from array import array
from typing import TYPE_CHECKING, Any, Final

from decoders.exchanges.body_reader import ApiReaders
from decoders.filters import parse
from kwcli.browse.background_processes.search_messages import RowsSorted, SortRows
from kwcli.output.renderers import WantedPaths
from kwcli.reading.sinks.filter_sort_and_limit_rows import ORDERS, find_paths_read_by_order

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Ended, Settled
    from kwcli.browse.background_processes.search_spool import Searcher

__all__ = ["RowSorter"]

# The order by the time before a row in which none went on.
GAP: Final = "gap"
# So long (s) lies between two answers while rows keep coming.
_EVERY_S: Final = 2.0
# Added to the rank of an exchange that waited by design, in ms: more than any latency.
_WAITED: Final = 1e15


def _flatten_sort_key(key: Any) -> tuple[float, int]:
    """A key of ORDERS as a number and a time in ns: those of `latency` are longer by whether the exchange waited."""
    if isinstance(key, int):
        return 0.0, key
    *waited, rank, time_ns = key
    return (_WAITED + rank if waited and waited[0] else rank), time_ns


class RowSorter:
    """Answers SortRows. Each answer has all rows so far; their keys are kept, 24 bytes a row."""

    done = False

    def __init__(self, asked: SortRows, searcher: Searcher) -> None:
        self._number, self._send = asked.number, searcher.send
        self._is_by_gap = asked.order == GAP
        needs = [] if self._is_by_gap else find_paths_read_by_order(asked.order)
        self._matches: Any = None
        if asked.text:
            selection = parse(asked.text)
            selection.set_value_reader(searcher.settings.values)
            self._matches = selection.matches
            needs.append(selection.needs)
        self.api_readers = ApiReaders(WantedPaths(*needs))
        self._key = None if self._is_by_gap else ORDERS[asked.order]
        self._latest_ns = 0  # when the last of the rows so far went on
        self._found, self._ranks, self._times = array("Q"), array("d"), array("q")
        self._until = 0
        self._latest_s = time.monotonic()

    def process_rows_of_block(self, first: int, rows: list[Settled], _ended: list[Ended]) -> None:
        """Take the rows of a block that the filter lets through; without one, also bytes that are no exchange."""
        matches, key = self._matches, self._key
        for at, row in enumerate(rows, first):
            if matches is None or (row.kind == "exchange" and matches(row)):
                rank, time_ns = self._measure_silence_before_row(row) if key is None else _flatten_sort_key(key(row))
                self._found.append(at)
                self._ranks.append(rank)
                self._times.append(time_ns)
        self._until = first + len(rows)
        if time.monotonic() - self._latest_s > _EVERY_S:
            self.note_all_rows_searched()

    def _measure_silence_before_row(self, row: Settled) -> tuple[float, int]:
        """The time before a row without any, in ns and below 0, so that the longest is first; and the row's own."""
        time_ns, ended_ns = row.time_ns, row.response_ns if row.kind == "exchange" else None
        gap_ns = max(time_ns - self._latest_ns, 0) if self._latest_ns else 0
        self._latest_ns = max(self._latest_ns, time_ns, ended_ns or 0)
        return float(-gap_ns), time_ns

    def note_all_rows_searched(self) -> None:
        """Send all rows so far."""
        order = sorted(range(len(self._found)), key=self._times.__getitem__)
        order.sort(key=self._ranks.__getitem__)
        rows = array("Q", map(self._found.__getitem__, order))
        self._latest_s = time.monotonic()
        gaps = array("q", (int(-self._ranks[at]) for at in order) if self._is_by_gap else ())
        self._send(RowsSorted(self._number, rows.tobytes(), self._until, gaps.tobytes()))
