"""The fold of `kw trace --duplicates`, `--losses` and `--misrouted`: exchanges in, a row for each of these out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from decoders.analysis.record_traces.find_duplicates import find_duplicates
from decoders.analysis.record_traces.find_losses import find_losses
from decoders.analysis.record_traces.find_misrouted import find_misrouted
from decoders.analysis.record_traces.life_of_record import LivesOfRecords
from decoders.analysis.record_traces.record_fold import RecordFold
from decoders.analysis.record_traces.record_index import RecordIndex

if TYPE_CHECKING:
    from decoders.analysis.fold_interface import Row

__all__ = ["RECORD_FAULTS", "RecordFaults"]

# Kind of row → the function that finds them, and the tables that it reads.
RECORD_FAULTS: Final[dict[str, tuple[Callable[[LivesOfRecords], Iterator[Row]], frozenset[str]]]] = {
    "duplicate": (find_duplicates, frozenset({"writes", "batches", "fingerprints"})),
    "loss": (find_losses, frozenset({"writes", "reads", "wanted", "commits", "positions", "starts"})),
    "misrouted": (find_misrouted, frozenset({"writes"})),
}


class RecordFaults(RecordFold):
    """Records that were written twice, lost, or misrouted, as `kind` says."""

    def __init__(self, kind: str) -> None:
        super().__init__(RecordIndex(kept=RECORD_FAULTS[kind][1]), kind)
        self.kind = kind

    def rows(self) -> list[Row]:
        """A row for each duplicate, loss or misrouted batch."""
        return list(RECORD_FAULTS[self.kind][0](LivesOfRecords(self.index, self.file_names)))
