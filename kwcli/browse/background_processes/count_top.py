"""Rows of the spool in; rates, errors and latencies by client, API or topic, and the slowest exchanges, out.

Of files all rows count, of live traffic those of the last minute or two: every minute the sums begin anew, and the ones
of the minute before still count.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from decoders.analysis.slowest_exchanges import Slowest
from decoders.analysis.statistics import Statistics
from decoders.exchanges.body_reader import ApiReaders
from decoders.filters import parse
from kwcli.browse.background_processes.search_messages import CountTop, TopCounted
from kwcli.filter_options import WENT_WRONG
from kwcli.output.renderers import WantedPaths

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Ended, Settled
    from kwcli.browse.background_processes.search_spool import Searcher

__all__ = ["TopCounter"]

SLOWEST: Final = 20
_WINDOW_NS: Final = 60 * 10**9
_EVERY_S: Final = 1.0


class TopCounter:
    """Answers CountTop."""

    done = False

    def __init__(self, asked: CountTop, searcher: Searcher) -> None:
        self._asked, self._send = asked, searcher.send
        self._sums, self._wrong, self._slowest = self._make_empty_statistics()
        self._before: tuple[Statistics, Statistics, Slowest] | None = None
        selection = parse(WENT_WRONG)
        self._went_wrong = selection.matches
        needs = WantedPaths(self._sums.needs, self._slowest.needs, selection.needs)
        self.api_readers = ApiReaders(needs)
        self._until = 0
        self._latest_s = time.monotonic()

    def _make_empty_statistics(self) -> tuple[Statistics, Statistics, Slowest]:
        """Sums of all exchanges, of those that failed or were never answered, and the slowest."""
        by = (self._asked.by,)
        return Statistics(by, "latency", over_time=True), Statistics(by, "latency"), Slowest(SLOWEST)

    def process_rows_of_block(self, first: int, rows: list[Settled], _ended: list[Ended]) -> None:
        """Count the rows of a block."""
        for row in rows:
            if row.kind != "exchange":
                continue
            if self._asked.window and row.time_ns - self._sums.first_ns > _WINDOW_NS and self._sums.first_ns:
                self._before = self._sums, self._wrong, self._slowest
                self._sums, self._wrong, self._slowest = self._make_empty_statistics()
            self._sums.add(row)
            if self._went_wrong(row):
                self._wrong.add(row)
            self._slowest.add(row)
        self._until = first + len(rows)
        if time.monotonic() - self._latest_s > _EVERY_S:
            self.note_all_rows_searched()

    def note_all_rows_searched(self) -> None:
        """Send the counts so far."""
        self._latest_s = time.monotonic()
        sums, wrong, slowest = self._sums, self._wrong, self._slowest
        if self._before is not None:
            sums, wrong, slowest = self._make_empty_statistics()
            for one, two, three in (self._before, (self._sums, self._wrong, self._slowest)):
                sums.merge(one)
                wrong.merge(two)
                slowest.merge(three)
        by = self._asked.by
        errors = {row.get(by): row["count"] for row, _ in wrong.rows_of_groups() if "others" not in row}
        found = sorted(sums.rows_of_groups(), key=lambda item: -item[0]["count"])
        rows = [
            (row if "others" in row else {**row, "errors": errors.get(row.get(by), 0)}, dict(group.slices))
            for row, group in found
        ]
        self._send(TopCounted(self._asked.number, self._asked.by, rows, sums.slice_span(), slowest.rows(), self._until))
