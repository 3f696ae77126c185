"""A record's key in, its partition out, as Kafka's Java producer chooses it: murmur2 of the key modulo the count."""

from __future__ import annotations

from typing import Final

_SEED: Final = 0x9747B28C
_FACTOR: Final = 0x5BD1E995
_SHIFT: Final = 24
_MASK: Final = 0xFFFFFFFF


def murmur2(data: bytes) -> int:
    """The unsigned 32-bit MurmurHash2 of Kafka's Utils (its own seed, words little-endian)."""
    value = _SEED ^ len(data)
    whole = len(data) & ~3
    for at in range(0, whole, 4):
        word = int.from_bytes(data[at : at + 4], "little") * _FACTOR & _MASK
        word = (word ^ word >> _SHIFT) * _FACTOR & _MASK
        value = value * _FACTOR & _MASK ^ word
    if len(data) > whole:
        value = (value ^ int.from_bytes(data[whole:], "little")) * _FACTOR & _MASK
    value = (value ^ value >> 13) * _FACTOR & _MASK
    return value ^ value >> 15


def partition_of(key: bytes, count: int) -> int:
    """The partition of a record with this key in a topic of `count` partitions."""
    return (murmur2(key) & 0x7FFFFFFF) % count
