"""Codec number and compressed bytes of a batch in, plain bytes out, at most a cap; and back.

Each codec is one module with `inflate(data, cap, magic)` and `deflate(data, magic)`, loaded on first use. `inflate`
returns at most `cap` bytes, raises LimitExceeded where there would be more and Malformed or Truncated where the data is
broken; it never allocates memory for a size that the data merely claims.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Final

from decoders.errors import EncodeError, Malformed
from decoders.named_tuple import NamedTuple


class Codec(NamedTuple):
    """The functions that decompress and compress with one codec."""

    inflate: Callable[[memoryview, int, int], bytes]
    deflate: Callable[[bytes, int], bytes]


# Bits 0-2 of a batch's attributes.
NAMES: Final = ("none", "gzip", "snappy", "lz4", "zstd")
NUMBERS: Final = {name: number for number, name in enumerate(NAMES)}
CODEC_MASK: Final = 0b111
# By codec number, those without a name included.
CODEC_NAMES: Final = (*NAMES, *(f"UNKNOWN({number})" for number in range(len(NAMES), CODEC_MASK + 1)))


@cache
def find_codec(codec_number: int) -> Codec:
    """The codec with a number (not 0). Raises Malformed for a number that Kafka does not have."""
    if not 0 < codec_number < len(NAMES):
        raise Malformed(f"no compression has the number {codec_number}")
    module = import_module(f"{__name__}.{NAMES[codec_number]}")
    return Codec(module.inflate, module.deflate)


def inflate(codec_number: int, packed: memoryview, size_max: int, magic: int) -> bytes:
    """The plain records of a batch (or message) of format `magic`, at most `size_max` bytes. Raises DecodeError."""
    return find_codec(codec_number).inflate(packed, size_max, magic)


def deflate(codec_name: str, plain: bytes, magic: int = 2) -> bytes:
    """Compress with the codec of a name, which may be `none`, for format `magic`. Raises EncodeError if unknown."""
    number = NUMBERS.get(codec_name)
    if number is None:
        raise EncodeError(f"no compression is called {codec_name!r}; there are {', '.join(NAMES)}", path="codec")
    return find_codec(number).deflate(plain, magic) if number else plain
