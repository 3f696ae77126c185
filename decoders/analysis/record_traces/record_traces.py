"""The fold of `kw trace`: exchanges in, a row for each record that is asked for out, with all that happened to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

from decoders.analysis.record_traces.asked_records import AskedOffsets, AskedRecords
from decoders.analysis.record_traces.life_of_record import LivesOfRecords
from decoders.analysis.record_traces.record_index import RecordIndex, TopicPartition
from decoders.limits import RECORDS_TRACED_MAX
from decoders.wire.state_serialization import pack, state_fields, unpack

if TYPE_CHECKING:
    from decoders.analysis.fold_interface import Row
    from decoders.exchanges.exchange import Exchange
    from decoders.schema.model import Side

__all__ = ["RecordTraces"]


class RecordTraces:
    """The lives of the records that a question asks for."""

    def __init__(self, asked: AskedRecords) -> None:
        self.asked = asked
        self.index = RecordIndex(asked)
        self.file_names: Sequence[str] = ()

    def needs(self, api_key: int, side: Side) -> frozenset[str]:
        """The paths of records, offsets, groups and names."""
        return self.index.needs(api_key, side)

    def add(self, exchange: Exchange) -> None:
        """Add what an exchange says of the records."""
        self.index.add(exchange)

    def learn(self, exchange: Exchange) -> None:
        """Learn names and members of groups from an exchange, whether or not it counts."""
        self.index.learn(exchange)

    def merge(self, other: Self) -> None:
        """Add what `other` has seen."""
        self.index.merge(other.index)

    def export(self) -> bytes:
        """The state, for `resume`."""
        return pack([repr(self.asked), self.index.state()])

    def resume(self, state: bytes) -> None:
        """Restore the state that `export` gave. Raises DecodeError."""
        _, index = state_fields(unpack(state), str, list)
        self.index.resume_state(index)

    def name_files(self, names: Sequence[str]) -> None:
        """Take the names of the captures, by their numbers in packets; the list may grow."""
        self.file_names = names

    def rows(self) -> list[Row]:
        """A row for each record, by topic, partition and offset."""
        lives = LivesOfRecords(self.index, self.file_names)
        found = [lives.make_row(where, offset) for where, offset in self._list_records(lives)][:RECORDS_TRACED_MAX]
        if not isinstance(self.asked, AskedOffsets):
            for where in sorted(lives.tables):
                found += lives.make_rows_without_offset(where)
        return found

    def _list_records(self, lives: LivesOfRecords) -> list[tuple[TopicPartition, int]]:
        """Partition and offset of the records."""
        asked = self.asked
        names = self.index.topic_names
        if not isinstance(asked, AskedOffsets):
            its = {
                (names.get(topic, topic), number): offsets for (topic, number), offsets in self.index.matches.items()
            }
            return [(where, offset) for where, offsets in sorted(its.items()) for offset in sorted(offsets)]
        where = names.get(asked.topic, asked.topic), asked.partition
        return [(where, offset) for offset in lives.offsets_seen(where, asked.first, asked.last)]
