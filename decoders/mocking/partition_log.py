"""Batches of one partition in, the batches and offsets that Fetch, Produce and ListOffsets answer with out.

Every batch is kept as it is on the wire (magic 2); batches of older formats are written anew. Offsets may have holes,
as in compacted topics: a recording has only the batches that a client wrote or read.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from struct import Struct
from typing import Final

from decoders.errors import DecodeError, EncodeError
from decoders.mocking.refusal_error import Refusal
from decoders.named_tuple import NamedTuple
from decoders.records.encode_batches import encode_batch
from decoders.records.read_batches import decode_records
from decoders.records.record_and_batch import Batch, Record

__all__ = ["Abort", "PartitionLog", "StoredBatch", "read_records_of_batch", "rewrite_without_codec"]

MAGIC: Final = 2
# How many of a producer's latest batches are recognised when they are sent once more.
KNOWN_BATCHES: Final = 5
_INT64: Final = Struct(">q")
_MARKER: Final = Struct(">hh")  # version, type
_MARKER_VALUE: Final = Struct(">hi")  # version, coordinator epoch
# Sequence numbers are below this one, and begin again at 0.
_SEQUENCES: Final = 1 << 31


@dataclass(slots=True)
class StoredBatch:
    """One batch as it is on the wire; `committed` is set in the markers that end transactions."""

    base_offset: int
    last_offset: int
    data: bytes
    max_timestamp: int = -1
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1
    record_count: int = 0
    transactional: bool = False
    control: bool = False
    committed: bool | None = None
    codec: str = "none"


class Abort(NamedTuple):
    """One aborted transaction: its producer id, its first offset, the offset of its marker."""

    producer_id: int
    first_offset: int
    last_offset: int


class OffsetAndTimestamp(NamedTuple):
    """A record by its offset and timestamp."""

    offset: int
    timestamp: int


@dataclass(slots=True)
class _Producer:
    epoch: int
    next_sequence: int
    # First sequence number, number of records, offset of the latest batches.
    batches: deque[tuple[int, int, int]] = field(default_factory=lambda: deque(maxlen=KNOWN_BATCHES))


class PartitionLog:
    """The log of one partition. `start` and `end` are offsets; the high watermark is the end."""

    __slots__ = ("_bases", "_producers", "aborts", "batches", "end", "open", "size", "start")

    def __init__(self, start: int = 0) -> None:
        self.start = self.end = start
        self.size = 0
        self.batches: list[StoredBatch] = []
        self._bases: list[int] = []
        self._producers: dict[int, _Producer] = {}
        self.open: dict[int, int] = {}  # producer id → first offset of the transaction that has not ended
        self.aborts: list[Abort] = []

    @property
    def last_stable_offset(self) -> int:
        """The last stable offset: readers of committed records get only records before it."""
        return min(self.open.values(), default=self.end)

    def add_batch(self, batch: StoredBatch) -> None:
        """Put a batch at the end with the offsets that it has, which are not below the end."""
        self.batches.append(batch)
        self._bases.append(batch.base_offset)
        self.end = batch.last_offset + 1
        self.size += len(batch.data)
        if batch.producer_id < 0:
            return
        if batch.control:
            first = self.open.pop(batch.producer_id, None)
            if first is not None and not batch.committed:
                self.aborts.append(Abort(batch.producer_id, first, batch.base_offset))
            return
        if batch.transactional:
            self.open.setdefault(batch.producer_id, batch.base_offset)
        if batch.base_sequence >= 0:
            known = self._producers.get(batch.producer_id)
            if known is None or known.epoch != batch.producer_epoch:
                known = self._producers[batch.producer_id] = _Producer(batch.producer_epoch, 0)
            known.next_sequence = (batch.base_sequence + batch.record_count) % _SEQUENCES
            known.batches.append((batch.base_sequence, batch.record_count, batch.base_offset))

    def find_offset_of_duplicate(self, batch: StoredBatch) -> int | None:
        """The offset at which an idempotent batch was written before; None where it is new. Raises Refusal."""
        if batch.base_sequence < 0:
            return None
        known = self._producers.get(batch.producer_id)
        if known is None:
            return None
        if batch.producer_epoch < known.epoch:
            raise Refusal("INVALID_PRODUCER_EPOCH")
        if batch.producer_epoch > known.epoch:
            if batch.base_sequence:
                raise Refusal("OUT_OF_ORDER_SEQUENCE_NUMBER")
            return None
        for sequence, count, offset in known.batches:
            if sequence == batch.base_sequence and count == batch.record_count:
                return offset
        if batch.base_sequence != known.next_sequence:
            raise Refusal("OUT_OF_ORDER_SEQUENCE_NUMBER")
        return None

    def append_batch(self, batch: StoredBatch) -> int:
        """Write a batch at the end, which sets its offsets; returns the first of them."""
        base = self.end
        count = batch.last_offset - batch.base_offset
        batch.data = _INT64.pack(base) + batch.data[_INT64.size :]  # the checksum does not cover it
        batch.base_offset, batch.last_offset = base, base + count
        self.add_batch(batch)
        return base

    def end_transaction(self, producer_id: int, epoch: int, now_ms: int, *, commit: bool) -> int:
        """Write the marker that ends a transaction; returns the marker's size in bytes."""
        record = Record(self.end, now_ms, _MARKER.pack(0, int(commit)), _MARKER_VALUE.pack(0, 0))
        data = encode_batch(
            [record],
            Batch(
                producer_id=producer_id,
                producer_epoch=epoch,
                transactional=True,
                control=True,
                partition_leader_epoch=0,
            ),
        )
        self.add_batch(
            StoredBatch(
                *(self.end, self.end, data, now_ms, producer_id, epoch, -1, 1),
                transactional=True,
                control=True,
                committed=commit,
            )
        )
        known = self._producers.get(producer_id)
        if known is None or epoch > known.epoch:
            self._producers[producer_id] = _Producer(epoch, 0)
        return len(data)

    def extend_with_empty_batch(self, end: int) -> None:
        """Move the end of the log to `end` by an empty batch, as compaction leaves it: readers pass unknown offsets."""
        if end > self.end:
            data = encode_batch([], Batch(base_offset=self.end, last_offset=end - 1, partition_leader_epoch=0))
            self.add_batch(StoredBatch(self.end, end - 1, data))

    def read_batches(self, offset: int, size: int, limit: int, *, at_least_one: bool) -> list[StoredBatch]:
        """The batches from the one that holds `offset` on, up to a number of bytes and before `limit`."""
        at = self._find_batch_index(offset)
        found: list[StoredBatch] = []
        for batch in (
            self.batches[at : at + 1] if at < len(self.batches) and not size else self._iterate_batches_from(at)
        ):
            if batch.base_offset >= limit:
                break
            if len(batch.data) > size and (found or not at_least_one):
                break
            found.append(batch)
            size -= len(batch.data)
        return found

    def _iterate_batches_from(self, at: int) -> Iterator[StoredBatch]:
        for index in range(at, len(self.batches)):
            yield self.batches[index]

    def _find_batch_index(self, offset: int) -> int:
        """The index of the first batch that ends at this offset or after it."""
        at = max(bisect_right(self._bases, offset) - 1, 0)
        while at < len(self.batches) and self.batches[at].last_offset < offset:
            at += 1
        return at

    def find_aborted_between(self, first: int, last: int) -> list[Abort]:
        """The aborted transactions that have offsets from `first` to `last`."""
        return [abort for abort in self.aborts if abort.last_offset >= first and abort.first_offset <= last]

    def find_offset_by_time(self, timestamp: int) -> OffsetAndTimestamp | None:
        """The first record that is not older than `timestamp`; None where there is none."""
        for batch in self.batches:
            if batch.max_timestamp < timestamp or batch.control:
                continue
            for record in read_records_of_batch(batch):
                if record.timestamp is not None and record.timestamp >= timestamp:
                    return OffsetAndTimestamp(record.offset, record.timestamp)
        return None

    def find_offset_of_greatest_time(self) -> OffsetAndTimestamp | None:
        """The first record with the greatest timestamp."""
        greatest = max((batch.max_timestamp for batch in self.batches if not batch.control), default=-1)
        return None if greatest < 0 else self.find_offset_by_time(greatest)


def read_records_of_batch(batch: StoredBatch) -> Sequence[Record]:
    """The records of a batch; none where they cannot be read."""
    try:
        found: list[Batch] = decode_records(batch.data)
    except DecodeError:
        return ()
    return [record for each in found for record in each.records or ()]


def rewrite_without_codec(batch: StoredBatch, magic: int) -> bytes:
    """A batch in format `magic` without a codec, for older clients; empty for control batches they cannot know."""
    if magic < MAGIC and batch.control:
        return b""
    records = read_records_of_batch(batch)
    try:
        if magic == MAGIC:
            return encode_batch(
                records,
                Batch(
                    base_offset=batch.base_offset,
                    last_offset=batch.last_offset,
                    partition_leader_epoch=0,
                    producer_id=batch.producer_id,
                    producer_epoch=batch.producer_epoch,
                    base_sequence=batch.base_sequence,
                    transactional=batch.transactional,
                    control=batch.control,
                ),
            )
        plain = [record._replace(headers=(), timestamp=record.timestamp if magic else None) for record in records]
        return encode_batch(plain, Batch(magic=magic))
    except EncodeError:
        return b""
