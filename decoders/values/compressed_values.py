"""A value that is compressed as a whole in; the name of its compression and the plain bytes out."""

from __future__ import annotations

import zlib
from typing import Final

from decoders.errors import DecodeError
from decoders.limits import VALUE_INFLATED_MAX
from decoders.records.codecs import NUMBERS, inflate

# First bytes → the codec, as Kafka calls it.
_MARKS: Final = (
    (b"\x1f\x8b\x08", "gzip"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"\x04\x22\x4d\x18", "lz4"),
    (b"\x82SNAPPY\0", "snappy"),
)
_ZLIB_HEADS: Final = (b"\x78\x01", b"\x78\x9c", b"\x78\xda")
_MAGIC: Final = 2


def inflate_value(data: bytes) -> tuple[str, bytes] | None:
    """The compression and the plain bytes; None where there is no mark, or where not all of it is compressed data."""
    if data[:2] in _ZLIB_HEADS:
        run = zlib.decompressobj()
        try:
            found = run.decompress(data, VALUE_INFLATED_MAX)
        except zlib.error:
            return None
        return ("zlib", found) if run.eof and not run.unused_data else None
    for mark, name in _MARKS:
        if data.startswith(mark):
            try:
                return name, inflate(NUMBERS[name], memoryview(data), VALUE_INFLATED_MAX, _MAGIC)
            except DecodeError:
                return None
    return None
