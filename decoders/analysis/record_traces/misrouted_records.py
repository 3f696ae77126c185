"""The fold of `kw trace --misrouted --values`: as that of `--misrouted`, with records that have a foreign schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from decoders.analysis.record_traces.misrouted_values import MisroutedValues
from decoders.analysis.record_traces.record_faults import RecordFaults
from decoders.protocol_facts.keys import PRODUCE
from decoders.wire.state_serialization import pack, state_fields, unpack

if TYPE_CHECKING:
    from decoders.analysis.fold_interface import Row
    from decoders.exchanges.exchange import Exchange
    from decoders.messages.decode_record_values import RecordValueReader

__all__ = ["MisroutedRecords"]


class MisroutedRecords(RecordFaults):
    """Batches that were misrouted, and records whose value has the schema of another topic, by a reader of values."""

    def __init__(self, reader: RecordValueReader) -> None:
        super().__init__("misrouted")
        self._values = MisroutedValues(reader)

    @property
    def left_out(self) -> int:
        """How many rows there was no room for."""
        return self.index.left_out + self._values.left_out

    def add(self, exchange: Exchange) -> None:
        """Add what an exchange writes."""
        super().add(exchange)
        if exchange.api_key == PRODUCE:
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
