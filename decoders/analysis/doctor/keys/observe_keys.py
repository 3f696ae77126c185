"""Batches in, observations of which key went to which partition out, for a sample: one batch in eight, by its checksum.

A key is remembered by the three hashes by which clients choose partitions, never by its bytes.
"""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final
from zlib import crc32

from decoders.errors import DecodeError
from decoders.records.batch_layout import SIZE
from decoders.records.codecs import NUMBERS, inflate
from decoders.records.hash_keys import fnv1a, murmur2
from decoders.wire.primitive_types import read_varint, read_varlong

if TYPE_CHECKING:
    from collections.abc import Iterator

    from decoders.analysis.doctor.observations import Observations
    from decoders.exchanges.exchange import Exchange
    from decoders.records.summarize_records import BatchHead

__all__ = ["observe_keys"]

# The most records of a batch that are looked at, and the most bytes of a compressed batch, packed and plain.
_RECORDS_MOST: Final = 4
_PACKED_MOST: Final = 1 << 14
_PLAIN_MOST: Final = 1 << 18
_KEY_MOST: Final = 256
# So many keys of a client and topic are enough, and so many batches are looked at for them: many topics have no keys.
_KEYS_MOST: Final = 64
_BATCHES_MOST: Final = 256


def observe_keys(
    seen: Observations, exchange: Exchange, client: str, place: tuple[str | None, Any], head: BatchHead
) -> None:
    """Observe the keys of a batch that was taken by a partition, `place`: its topic and number."""
    raw, (topic, number) = exchange.request_raw, place
    if raw is None or head.at < 0 or topic is None:
        return
    its = seen.get_or_make("keys", topic, client)
    if its.sums.get("keys", 0) < _KEYS_MOST and its.sums.get("batches", 0) < _BATCHES_MOST:
        its.add_to_sum("batches", 1)
        for key in _read_keys(raw, head):
            its.count_name("placed", f"{number}{_hash_key(key)}")
            its.add_to_sum("keys", 1)


@lru_cache(1024)  # many records have the same few keys
def _hash_key(key: bytes) -> str:
    return f" {murmur2(key):x} {crc32(key):x} {fnv1a(key):x}"


def _read_keys(raw: bytes, head: BatchHead) -> Iterator[bytes]:
    """The keys of the first records of a batch; none from the first record without a key on."""
    at, end = head.at + SIZE, head.at + head.size
    with suppress(DecodeError):
        if head.codec != "none":
            if head.size > _PACKED_MOST or head.codec not in NUMBERS:
                return
            raw = bytes(inflate(NUMBERS[head.codec], memoryview(raw)[at:end], _PLAIN_MOST, head.magic))
            at, end = 0, len(raw)
        for _ in range(min(head.records, _RECORDS_MOST)):
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
