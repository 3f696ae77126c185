"""The records of a plain batch of magic 2 in, what the first bytes of their keys or values are like out.

A question about records can pass over most batches by that, in a third of the time of reading the rows of a few records
or less: here no record becomes an object, and timestamps, offsets and headers are not read. The records are told apart
by their lengths alone, so each record that `read_rows_checked` reads of the same bytes is looked at, and more where it
would fail.
"""

from __future__ import annotations

from typing import Final

__all__ = ["HAS_HEADERS", "combine_first_byte_classes"]

# A bit that no class of bytes has.
HAS_HEADERS: Final = 0x80
_UNUSUAL: Final = -1  # all bits


def combine_first_byte_classes(data: bytes, at: int, stop: int, classes: bytes, *, of_keys: bool) -> int:
    """The bits of the classes of all first bytes of values, or keys, of the records from `at` to `stop`.

    `classes` has the bits of each byte. HAS_HEADERS is among the bits where a record has headers. All bits are set
    where the records are no plain ones.
    """
    found = 0
    try:
        while at < stop:
            size = data[at]
            at += 1
            if size > 127:
                size, at = _read_long_varint(data, at)
            end = at + (size >> 1)
            if size & 1 or end > stop:
                return _UNUSUAL
            at += 1  # the attributes
            while data[at] > 127:
                at += 1
            at += 1
            while data[at] > 127:
                at += 1
            at += 1
            size = data[at]
            at += 1
            if size > 127:
                size, at = _read_long_varint(data, at)
            if size > 1 and not size & 1:  # neither null nor empty
                if of_keys:
                    found |= classes[data[at]]
                at += size >> 1
            size = data[at]
            at += 1
            if size > 127:
                size, at = _read_long_varint(data, at)
            if size > 1 and not size & 1:
                if not of_keys:
                    found |= classes[data[at]]
                at += size >> 1
            if at >= end:
                return _UNUSUAL
            if data[at]:
                found |= HAS_HEADERS
            at = end
    except IndexError:
        return _UNUSUAL
    return found


def _read_long_varint(data: bytes, at: int) -> tuple[int, int]:
    """An unsigned varint of two bytes or more, whose first byte is before `at`, and the offset after it.

    One of more than five bytes is no size: what is returned for it lies beyond all bytes.
    """
    found = data[at - 1] & 127
    for shift in (7, 14, 21, 28):
        byte = data[at]
        at += 1
        found |= (byte & 127) << shift
        if byte < 128:
            return found, at
    return 1 << 40, at
