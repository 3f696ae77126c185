"""Batches in, observations of which key went to which partition out, for a sample: one batch in eight, by its checksum.

A key is exported as the three hashes by which clients choose partitions, never as its bytes. Reading and hashing keys
costs more than all else that is observed of a batch, and few topics have producers with keys enough to be compared. So
a batch is kept as it came, then its keys; they are hashed when a state is exported, or by a finding that needs them.
"""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Protocol
from zlib import crc32

from decoders.errors import DecodeError
from decoders.records.batch_layout import SIZE
from decoders.records.codecs import NUMBERS, inflate
from decoders.records.hash_keys import fnv1a, murmur2
from decoders.wire.primitive_types import read_varint, read_varlong

if TYPE_CHECKING:
    from collections.abc import Iterator

    from decoders.records.summarize_records import BatchHead

__all__ = ["KeysOfWriter", "KeysOfWriters"]

# The most records of a batch that are looked at, and the most bytes of a compressed batch, packed and plain.
_RECORDS_MOST: Final = 4
_PACKED_MOST: Final = 1 << 14
_PLAIN_MOST: Final = 1 << 18
_KEY_MOST: Final = 256
# So many keys of a client and topic are enough, and so many batches are looked at for them: many topics have no keys.
_KEYS_MOST: Final = 64
_BATCHES_MOST: Final = 256
# Batches of a client and topic that are kept before their keys are read, the most bytes of a plain one, and of all.
_KEPT_MOST: Final = 16
_KEPT_PLAIN_MOST: Final = 1 << 10
_KEPT_SIZE_MOST: Final = 1 << 22
# Partition, count of records, codec, magic, bytes behind the header.
_Batch = tuple[Any, int, str, int, bytes]


class CountedKeys(Protocol):
    """What keeps the counts of a client and topic: an observation of kind `keys`."""

    sums: dict[str, int]

    def add_to_sum(self, name: str, amount: int) -> None:
        """Add to a sum."""

    def count_name(self, facet: str, name: str, count: int = 1) -> dict[str, int]:
        """Count a name of a facet."""


class AllCounts(Protocol):
    """All observations, of which those of kind `keys` are found or made."""

    def get_or_make(self, *key: str | int | None) -> Any:
        """The observation of this kind and subject."""

    def get_observation(self, *key: str | int | None) -> Any:
        """The same; None where none is kept."""


class KeysOfWriter:
    """Batches of a client and topic whose keys are not read yet, and keys that are not hashed yet, with their places.

    `counted` is the observation that has the hashes of all others, and the counts of keys and batches that were read.
    """

    __slots__ = ("batches", "counted", "placed")

    def __init__(self, counted: CountedKeys) -> None:
        self.counted = counted
        self.batches: list[_Batch] = []
        self.placed: dict[tuple[Any, bytes], int] = {}

    def has_enough_batches(self) -> bool:
        """Whether no further batch is looked at."""
        sums = self.counted.sums
        return sums.get("keys", 0) >= _KEYS_MOST or sums.get("batches", 0) + len(self.batches) >= _BATCHES_MOST

    def estimate_most_keys(self) -> int:
        """How many keys there may be, if each of the batches that are not read has as many as are looked at."""
        unread = sum(min(records, _RECORDS_MOST) for _, records, *_ in self.batches)
        return self.counted.sums.get("keys", 0) + unread

    def read_keys(self) -> None:
        """Read the keys of the batches that were kept."""
        batches, self.batches = self.batches, []
        for number, records, codec, magic, data in batches:
            if not self.has_enough_batches():
                self._count_keys(number, _read_keys(data, (0, len(data)), records, codec, magic))

    def read_keys_of_large_batch(self, number: Any, raw: bytes, head: BatchHead) -> None:
        """Read the keys of a batch without compression that is too large to keep, behind those that were kept."""
        self.read_keys()
        if not self.has_enough_batches():
            span = head.at + SIZE, head.at + head.size
            self._count_keys(number, _read_keys(raw, span, head.records, head.codec, head.magic))

    def _count_keys(self, number: Any, keys: Iterator[bytes]) -> None:
        self.counted.add_to_sum("batches", 1)
        for key in keys:
            self.placed[number, key] = self.placed.get((number, key), 0) + 1
            self.counted.add_to_sum("keys", 1)

    def hash_keys(self) -> None:
        """Read and hash all keys: `counted` has them then."""
        self.read_keys()
        for (number, key), count in self.placed.items():
            self.counted.count_name("placed", f"{number}{_hash_key(key)}", count)
        self.placed = {}


class KeysOfWriters:
    """Sampled batches and keys by topic and client, before keys are hashed."""

    def __init__(self) -> None:
        self.by_writer: dict[tuple[str, str], KeysOfWriter] = {}
        self._size = 0

    def add_batch(self, seen: AllCounts, client: str, place: tuple[str, Any], raw: bytes, head: BatchHead) -> None:
        """Keep a batch of a client that a partition (`place`: topic and number) has taken, if its keys are wanted."""
        topic, number = place
        its = self.by_writer.get((topic, client)) or self._make_keys_of_writer(seen, topic, client)
        if its is None or its.has_enough_batches():
            return
        _, codec, records, size, *_ = head
        data = b""
        if codec == "none":
            if size > _KEPT_PLAIN_MOST:
                its.read_keys_of_large_batch(number, raw, head)
                return
            data = raw[head.at + SIZE : head.at + size]
        elif size <= _PACKED_MOST and codec in NUMBERS:
            data = raw[head.at + SIZE : head.at + size]
        else:
            records, codec = 0, "none"
        its.batches.append((number, records, codec, head.magic, data))
        self._size += len(data)
        if self._size > _KEPT_SIZE_MOST:
            self.read_keys()
        elif len(its.batches) >= _KEPT_MOST:
            its.read_keys()

    def _make_keys_of_writer(self, seen: AllCounts, topic: str, client: str) -> KeysOfWriter | None:
        its = KeysOfWriter(seen.get_or_make("keys", topic, client))
        if seen.get_observation("keys", topic, client) is None:
            return None  # beyond the limit
        self.by_writer[topic, client] = its
        return its

    def read_keys(self) -> None:
        """Read the keys of all batches that were kept."""
        self._size = 0
        for its in self.by_writer.values():
            its.read_keys()

    def hash_keys(self) -> None:
        """Read and hash the keys of all writers."""
        self._size = 0
        for its in self.by_writer.values():
            its.hash_keys()


@lru_cache(1024)  # many records have the same few keys
def _hash_key(key: bytes) -> str:
    return f" {murmur2(key):x} {crc32(key):x} {fnv1a(key):x}"


def _read_keys(raw: bytes, span: tuple[int, int], records: int, codec: str, magic: int) -> Iterator[bytes]:
    """The keys of the first records of a batch in a span of bytes; none from the first record without a key on."""
    at, end = span
    with suppress(DecodeError):
        if codec != "none":
            raw = bytes(inflate(NUMBERS[codec], memoryview(raw)[at:end], _PLAIN_MOST, magic))
            at, end = 0, len(raw)
        for _ in range(min(records, _RECORDS_MOST)):
            size, at = read_varint(raw, at, end)
            stop = at + size
            if size < 0 or stop > end:
                return
            _, at = read_varlong(raw, at + 1, stop)  # after the attributes
            _, at = read_varint(raw, at, stop)
            size, at = read_varint(raw, at, stop)
            if size < 0 or size > stop - at:
                return
            if size <= _KEY_MOST:
                yield raw[at : at + size]
            at = stop
