"""The folds of `kw trace --duplicates`, `--losses` and `--misrouted`: exchanges in, a row for each of these out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final, Self

from decoders.analysis.exchange_facts import FETCHES
from decoders.analysis.record_traces.base_of_record_index_folds import RecordFold
from decoders.analysis.record_traces.find_duplicates import find_duplicates
from decoders.analysis.record_traces.find_losses import find_losses
from decoders.analysis.record_traces.find_misrouted import find_misrouted
from decoders.analysis.record_traces.life_of_record import LivesOfRecords
from decoders.analysis.record_traces.misrouted_values import MisroutedValues
from decoders.analysis.record_traces.record_index import RecordIndex
from decoders.exchanges.topic_arrays import topic_array_paths
from decoders.wire.state_serialization import pack, state_fields, unpack

if TYPE_CHECKING:
    from decoders.analysis.fold_interface import Row
    from decoders.exchanges.exchange import Exchange
    from decoders.messages.decode_record_values import RecordValueReader
    from decoders.schema.api_declaration import Side

__all__ = ["RECORD_FAULTS", "MisroutedRecords", "RecordFaults"]

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


class MisroutedRecords(RecordFaults):
    """Batches that were misrouted, and records whose value has the schema of another topic, by a reader of values."""

    def __init__(self, reader: RecordValueReader) -> None:
        super().__init__("misrouted")
        self._values = MisroutedValues(reader)

    @property
    def left_out(self) -> Counter[str]:
        """As of the index, with the records with a foreign schema that there was no room for."""
        return self.index.left_out + Counter({"likely misrouted record": self._values.left_out})

    def needs(self, api_key: int, side: Side) -> frozenset[str]:
        """The paths of records that are written or read."""
        found = super().needs(api_key, side)
        return found | topic_array_paths(api_key, side) if api_key in FETCHES and side == "response" else found

    def add(self, exchange: Exchange) -> None:
        """Add what an exchange writes or reads."""
        super().add(exchange)
        self._values.add(exchange)

    def merge(self, other: Self) -> None:
        """Add what `other` has seen."""
        super().merge(other)
        self._values.merge(other._values)

    def export(self) -> bytes:
        """The state, for `resume`."""
        return pack([super().export(), self._values.state()])

    def resume(self, state: bytes) -> None:
        """Restore the state that `export` gave. Raises DecodeError."""
        faults, values = state_fields(unpack(state), bytes, list)
        super().resume(faults)
        self._values.resume_state(values)

    def rows(self) -> list[Row]:
        """A row for each misrouted batch, then for each run of records with a foreign schema."""
        return [*super().rows(), *self._values.rows(self.file_names)]
