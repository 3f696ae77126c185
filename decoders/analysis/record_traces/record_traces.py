"""The fold of `kw trace`: exchanges in, a row for each record that is asked for out, with all that happened to it."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from decoders.analysis.record_traces.asked_records import AskedOffsets, AskedRecords
from decoders.analysis.record_traces.base_of_record_index_folds import RecordFold
from decoders.analysis.record_traces.life_of_record import LivesOfRecords
from decoders.analysis.record_traces.record_index import RecordIndex, TopicPartition
from decoders.limits import RECORDS_TRACED_MAX

if TYPE_CHECKING:
    from decoders.analysis.fold_interface import Row

__all__ = ["RecordTraces"]


class RecordTraces(RecordFold):
    """The lives of the records that a question asks for."""

    def __init__(self, asked: AskedRecords) -> None:
        super().__init__(RecordIndex(asked), repr(asked))
        self.asked = asked

    def rows(self) -> list[Row]:
        """A row for each record, by topic, partition and offset."""
        return self.make_rows(LivesOfRecords(self.index, self.file_names))

    def make_rows(self, lives: LivesOfRecords) -> list[Row]:
        """A row for each record that is asked for."""
        found = [
            lives.make_row(where, offset) for where, offset in self._list_asked_records(lives)[:RECORDS_TRACED_MAX]
        ]
        if not isinstance(self.asked, AskedOffsets):
            for where in sorted(lives.tables):
                found += lives.make_rows_without_offset(where)
        return found

    def _list_asked_records(self, lives: LivesOfRecords) -> list[tuple[TopicPartition, int]]:
        """Partition and offset of the records."""
        asked = self.asked
        names = lives.names
        if not isinstance(asked, AskedOffsets):
            its: defaultdict[TopicPartition, set[int]] = defaultdict(set)
            for (topic, number), offsets in self.index.found.matches.items():
                its[names.get(topic, topic), number] |= offsets
            return [(where, offset) for where in sorted(its) for offset in sorted(its[where])]
        where = names.get(asked.topic, asked.topic), asked.partition
        return [(where, offset) for offset in lives.list_offsets_seen(where, asked.first, asked.last)]
