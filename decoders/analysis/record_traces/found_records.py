"""What is found of records that are asked for: their offsets, their contents, and which a log has no longer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from decoders.analysis.record_traces.asked_records import AskedOffsets, AskedRecords, RecordCondition
from decoders.analysis.record_traces.partition_tables import (
    NONE,
    Identity,
    make_batch_identity,
    read_items_by_partition,
    read_pair,
)
from decoders.analysis.record_traces.record_contents import RecordContents, read_record_rows
from decoders.limits import PARTITIONS_KEPT_MAX, RECORDS_TRACED_MAX
from decoders.protocol_facts.api_keys import PRODUCE
from decoders.wire.state_serialization import state_fields

if TYPE_CHECKING:
    from decoders.analysis.groups.partition_offsets_and_lag import TopicPartition
    from decoders.exchanges.exchange import Exchange
    from decoders.records.summarize_records import BatchHead

__all__ = ["TOPIC_ID_LENGTH", "FoundRecords"]


# The characters of the text of a topic's id.
TOPIC_ID_LENGTH: Final = 22


class FoundRecords:
    """The records asked for, as far as they were seen; `left_out` counts offsets beyond RECORDS_TRACED_MAX."""

    def __init__(self, asked: AskedRecords | None) -> None:
        self.asked = asked
        # Offsets of the records that meet a condition, and their contents as far as these were seen.
        self.matches: dict[TopicPartition, set[int]] = {}
        self.contents: dict[tuple[str, int, int], RecordContents] = {}
        # Offsets that a log no longer has, though it has later ones: partition → (offset, when a Fetch passed it).
        self.absent: dict[TopicPartition, dict[int, int]] = {}
        # Where the batches end that were seen; for partitions and topics that are not asked about NONE: what a question
        # may have meant instead.
        self.seen_to: dict[TopicPartition, int] = {}
        # Batches with records that meet a condition and have no offset, as identities (partition_tables.py) of an index
        # that has other batches too.
        self.without_offset: dict[TopicPartition, set[Identity]] = {}
        self.left_out = 0

    def may_hold_asked(self, where: TopicPartition) -> bool:
        """Whether a partition may have records that are asked for: names of topic ids may be told later."""
        asked = self.asked
        if not isinstance(asked, AskedOffsets):
            return True
        topic, number = where
        if number != asked.partition:
            return False
        return topic == asked.topic or TOPIC_ID_LENGTH in (len(topic), len(asked.topic))

    def note_matching_batch_without_offset(self, where: TopicPartition, head: BatchHead) -> None:
        """Note a batch with records that meet the condition, of which no offset is known."""
        its = head.size, head.producer_id, head.producer_epoch, head.base_sequence
        newest = NONE if head.max_timestamp is None else head.max_timestamp
        identity = make_batch_identity(*its, NONE if head.crc is None else head.crc, newest)
        found = self.without_offset.setdefault(where, set())
        if identity is not None and len(found) < RECORDS_TRACED_MAX:
            found.add(identity)

    def note_matches(self, where: TopicPartition, offsets: list[int]) -> None:
        """Note the offsets of records that meet the condition."""
        its = self.matches.setdefault(where, set())
        for offset in offsets:
            if len(its) < RECORDS_TRACED_MAX:
                its.add(offset)
            elif offset not in its:
                self.left_out += 1

    def is_asked_for(self, where: TopicPartition, offset: int) -> bool:
        """Whether the record at an offset is asked for."""
        asked = self.asked
        if isinstance(asked, AskedOffsets):
            return asked.first <= offset <= asked.last
        return offset in self.matches.get(where, ())

    def note_asked_contents(
        self, exchange: Exchange, where: TopicPartition, records: Any, head: BatchHead, first: int
    ) -> None:
        """Note key and headers of the records asked for in a batch, whose first record has the offset `first`."""
        raw = exchange.request_raw if exchange.api_key == PRODUCE else exchange.response_raw
        if len(self.contents) >= RECORDS_TRACED_MAX:
            return
        for row in read_record_rows(records, raw, head):
            offset = first + row[0] - head.base_offset
            if self.is_asked_for(where, offset):
                contents, key = RecordContents.from_row(row), (*where, offset)
                self.contents[key] = max(self.contents.get(key, contents), contents, key=repr)

    def note_asked_batches(
        self, exchange: Exchange, where: TopicPartition, records: Any, heads: list[BatchHead], first: int
    ) -> list[BatchHead]:
        """Note the records asked for, of those from the offset `first` on in an answer; returns their batches."""
        inside = []
        for head in heads:
            found = self._find_offsets(exchange, where, records, head, first)
            if found:
                if not isinstance(self.asked, AskedOffsets):
                    self.note_matches(where, found)
                inside.append(head)
        for head in inside:
            self.note_asked_contents(exchange, where, records, head, head.base_offset)
        return inside

    def _find_offsets(
        self, exchange: Exchange, where: TopicPartition, records: Any, head: BatchHead, first: int
    ) -> list[int]:
        """The offsets asked for in a batch of an answer; of AskedOffsets the first one alone."""
        asked = self.asked
        if isinstance(asked, RecordCondition):
            found = asked.list_passing_offsets(where[0], records, exchange.response_raw, head)
            return [offset for offset in found if offset >= first] if found else []
        low = max(head.base_offset, first)
        if isinstance(asked, AskedOffsets):
            low = max(low, asked.first)
            return [low] if low <= min(head.last_offset, asked.last) else []
        if asked is None or head.producer_id != asked.producer_id or head.base_sequence < 0:
            return []
        if asked.sequence is None:
            return list(range(low, head.last_offset + 1))
        offset = head.base_offset + asked.sequence - head.base_sequence
        return [offset] if low <= offset <= head.last_offset else []

    def note_end_of_partition(self, where: TopicPartition, end: int) -> None:
        """Note where the records of a partition end that were seen."""
        if self.asked.__class__ is not AskedOffsets:
            return  # nothing else may have been meant
        known = self.seen_to.get(where)
        if (known is None and len(self.seen_to) < PARTITIONS_KEPT_MAX) or (known is not None and known < end):
            self.seen_to[where] = end

    def note_missing_offsets(
        self, exchange: Exchange, where: TopicPartition, records: Any, heads: list[BatchHead], span: tuple[int, int]
    ) -> None:
        """Note offsets asked for that lie between those of the records that a Fetch got."""
        low, high = span
        if high - low > RECORDS_TRACED_MAX:
            return
        there: set[int] = set()
        for head in heads:
            if head.last_offset < low or head.base_offset >= high:
                continue
            if head.records == head.offset_count:
                there.update(range(head.base_offset, head.last_offset + 1))
            else:
                there.update(row[0] for row in read_record_rows(records, exchange.response_raw, head))
        time_ns = exchange.response_ns or exchange.time_ns
        for offset in range(low, high):
            if offset not in there:
                its = self.absent.setdefault(where, {})
                its[offset] = min(its.get(offset, time_ns), time_ns)

    def merge(self, other: FoundRecords) -> None:
        """Add what `other` has found; `other` stays unchanged."""
        self.left_out += other.left_out
        for where, offsets in other.matches.items():
            self.note_matches(where, sorted(offsets))
        for key, contents in other.contents.items():
            if key in self.contents or len(self.contents) < RECORDS_TRACED_MAX:
                self.contents[key] = max(self.contents.get(key, contents), contents, key=repr)
        for where, times in other.absent.items():
            mine = self.absent.setdefault(where, {})
            for offset, time_ns in times.items():
                mine[offset] = min(mine.get(offset, time_ns), time_ns)
        for where, last in other.seen_to.items():
            self.note_end_of_partition(where, last)
        for where, identities in other.without_offset.items():
            self.without_offset[where] = self.without_offset.get(where, set()) | identities

    def state(self) -> list[object]:
        """The state as built-in values, for `resume_state`."""
        return [
            [[where, sorted(offsets)] for where, offsets in self.matches.items()],
            [[key, contents.state()] for key, contents in self.contents.items()],
            [[where, times] for where, times in self.absent.items()],
            list(self.seen_to.items()),
            [[where, sorted(identities)] for where, identities in self.without_offset.items()],
            self.left_out,
        ]

    def resume_state(self, state: object) -> None:
        """Restore a `state` of the same question. Raises DecodeError."""
        matches, contents, absent, seen, without, self.left_out = state_fields(state, *[list] * 5, int)
        for where, offsets in read_items_by_partition(matches, list):
            self.matches[where] = set(state_fields(offsets, *[int] * len(offsets)))
        for item in contents:
            key, its = state_fields(item, tuple, list)
            topic, number, offset = state_fields(key, str, int, int)
            self.contents[topic, number, offset] = RecordContents.make_resumed(its)
        for where, times in read_items_by_partition(absent, dict):
            self.absent[where] = dict(map(read_pair, times.items()))
        self.seen_to.update(read_items_by_partition(seen, int))
        for where, identities in read_items_by_partition(without, list):
            self.without_offset[where] = {_read_identity(each) for each in identities}


def _read_identity(value: object) -> Identity:
    kind, *rest = state_fields(value, *[int] * 4)
    return kind, rest[0], rest[1], rest[2]
