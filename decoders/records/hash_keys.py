"""The key of a record in, the numbers out by which clients choose its partition."""

from __future__ import annotations

from typing import Final

__all__ = ["fnv1a", "murmur2"]

_SEED: Final = 0x9747B28C
_FACTOR: Final = 0x5BD1E995
_SHIFT: Final = 24
_MASK: Final = 0xFFFFFFFF
# FNV-1a's offset basis and prime of 32 bits.
_BASIS: Final = 0x811C9DC5
_PRIME: Final = 0x01000193
_SIGN: Final = 1 << 31


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


def fnv1a(data: bytes) -> int:
    """The 32-bit FNV-1a of Sarama, and of librdkafka where it is asked for: a signed number's absolute value."""
    value = _BASIS
    for byte in data:
        value = (value ^ byte) * _PRIME & _MASK
    return value if value < _SIGN else (1 << 32) - value
