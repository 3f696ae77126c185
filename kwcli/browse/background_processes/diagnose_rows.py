"""Rows of the spool in, what the doctor finds in them out: at the end of what is there, and again as more comes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from decoders.analysis.doctor.doctor import Doctor
from decoders.exchanges.body_reader import ApiReaders
from kwcli.browse.background_processes.search_messages import CausesFound, FindCauses
from kwcli.output.renderers import WantedPaths

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Ended, Settled
    from kwcli.browse.background_processes.search_spool import Searcher

__all__ = ["CauseFinder"]

# So long (s) lies between two answers while rows keep coming.
_EVERY_S: Final = 2.0


class CauseFinder:
    """Answers FindCauses."""

    done = False

    def __init__(self, asked: FindCauses, searcher: Searcher) -> None:
        self._number, self._send, self._searcher = asked.number, searcher.send, searcher
        self._doctor = Doctor(None, searcher.settings.values)
        self.api_readers = ApiReaders(WantedPaths(self._doctor.needs))
        self._until = 0
        self._latest_s = time.monotonic()

    def process_rows_of_block(self, first: int, rows: list[Settled], ended: list[Ended]) -> None:
        """Have the doctor look at the rows of a block."""
        for row in rows:
            if row.kind == "exchange":
                self._doctor.add(row)
        for each in ended:
            self._doctor.observe_connection_end(each)
        self._until = first + len(rows)
        if time.monotonic() - self._latest_s > _EVERY_S:
            self.note_all_rows_searched()

    def note_all_rows_searched(self) -> None:
        """Send what was found so far."""
        self._latest_s = time.monotonic()
        self._doctor.set_capture_faults(self._searcher.faults)
        self._send(CausesFound(self._number, self._doctor.rows(), self._until))
