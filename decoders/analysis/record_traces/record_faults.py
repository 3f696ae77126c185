"""The fold of `kw trace --duplicates`, `--losses` and `--misrouted`: exchanges in, a row for each of these out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, Self

from decoders.analysis.record_traces.find_duplicates import find_duplicates
from decoders.analysis.record_traces.find_losses import find_losses
from decoders.analysis.record_traces.find_misrouted import find_misrouted_batches
from decoders.analysis.record_traces.life_of_record import LivesOfRecords
from decoders.analysis.record_traces.record_index import RecordIndex
from decoders.wire.state_serialization import pack, state_fields, unpack

if TYPE_CHECKING:
    from decoders.analysis.fold_interface import Row
    from decoders.exchanges.exchange import Exchange
    from decoders.schema.model import Side

__all__ = ["RECORD_FAULTS", "RecordFaults"]

# Kind of row → the function that finds them.
RECORD_FAULTS: Final[dict[str, Callable[[LivesOfRecords], Iterator[Row]]]] = {
    "duplicate": find_duplicates,
    "loss": find_losses,
    "misrouted": find_misrouted_batches,
}


class RecordFaults:
    """Records that were written twice, lost, or misrouted, as `kind` says."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.index = RecordIndex(fingerprints=kind == "duplicate", wanted=kind == "loss")
        self.file_names: Sequence[str] = ()

    def needs(self, api_key: int, side: Side) -> frozenset[str]:
        """The paths of records, offsets, groups and names."""
        return self.index.needs(api_key, side)

    def add(self, exchange: Exchange) -> None:
        """Add what an exchange says of offsets."""
        self.index.add(exchange)

    def learn(self, exchange: Exchange) -> None:
        """Learn names and members of groups from an exchange, whether or not it counts."""
        self.index.learn(exchange)

    def merge(self, other: Self) -> None:
        """Add what `other` has seen."""
        self.index.merge(other.index)

    def export(self) -> bytes:
        """The state, for `resume`."""
        return pack([self.kind, self.index.state()])

    def resume(self, state: bytes) -> None:
        """Restore the state that `export` gave. Raises DecodeError."""
        _, index = state_fields(unpack(state), str, list)
        self.index.resume_state(index)

    def name_files(self, names: Sequence[str]) -> None:
        """Take the names of the captures, by their numbers in packets; the list may grow."""
        self.file_names = names

    def rows(self) -> list[Row]:
        """A row for each duplicate, loss or misrouted batch."""
        return list(RECORD_FAULTS[self.kind](LivesOfRecords(self.index, self.file_names)))
