"""A records field that is one plain batch of one record in, its JSON-ready form out; None for anything else.

What producers without linger send, and so what a capture of small messages is made of: the general way costs four times
as much on them. `read.batches_json` is the oracle in tests. Benchmark: tests/bench/sniff.py, profile `small`.
"""

from __future__ import annotations

from typing import Any, Final

import google_crc32c

from decoders.records.batch import CRC_START, FAR, LOG_OVERHEAD, SIZE, header_fields
from decoders.wire.text import json_bytes

# A record of one-byte fields with neither key nor value nor headers.
_LEAST: Final = SIZE + 7
_TWO_BYTES: Final = 0x4000
_MAGIC, _MAGIC_AT = 2, 16
# From the attributes on: no codec, create time, no transaction, a last offset delta of 0.
_PLAIN: Final = bytes(6)
_ONE_RECORD: Final = b"\0\0\0\x01"


def single_json(data: bytes) -> list[dict[str, Any]] | None:
    """The `records` value with its one record; None where this is not the case or anything is wrong."""
    size = len(data)
    if size < _LEAST or data[SIZE - 4 : SIZE] != _ONE_RECORD or data[_MAGIC_AT] != _MAGIC:
        return None
    if data[CRC_START : CRC_START + 6] != _PLAIN:
        return None
    if int.from_bytes(data[8:12], "big") != size - LOG_OVERHEAD:
        return None
    fields, crc, _ = header_fields(data, 0, size)
    base, first = fields["base_offset"], fields["base_timestamp"]
    if not -FAR < base < FAR or not -FAR < first < FAR or google_crc32c.value(data[CRC_START:]) != crc:
        return None
    length, at = _length(data, SIZE)
    # Attributes and the two deltas, which are 0 in a first record.
    if length is None or at + length != size or data[at + 1 : at + 3] != b"\0\0":
        return None
    key, at = _shown(data, at + 3, size)
    value, at = _shown(data, at, size)
    if at + 1 != size or data[at]:
        return None
    fields["records"] = [{"offset": base, "timestamp": first, "key": key, "value": value, "headers": []}]
    return [fields]


def _length(data: bytes, at: int) -> tuple[int | None, int]:
    """A length of one or two bytes and the offset behind it; None for -1 and whatever else is no such length."""
    number = data[at]
    at += 1
    if number > 127 and at < len(data):
        number += (data[at] << 7) - 128
        at += 1
    return (None if number & 1 or number >= _TWO_BYTES else number >> 1), at


def _shown(data: bytes, at: int, size: int) -> tuple[Any, int]:
    """The JSON form of a key or value and the offset behind it, which is `size` where it is no usual one."""
    if at >= size:
        return None, size
    if data[at] == 1:
        return None, at + 1
    length, start = _length(data, at)
    if length is None or start + length >= size:
        return None, size
    return json_bytes(data[start : start + length]), start + length
