"""The records of a batch of magic 2 in, rows (the fields of Record) out, in one fast pass.

Neighbouring records in a batch are alike, so the widths of length, timestamp and offset (one or two bytes each) of one
record are tried on the next: one `unpack_from` takes them with the key's length, and tables turn them into values. A
table has None where a width does not fit; then the widths are looked up anew, and where a field is wider than two bytes
the rest of the batch goes through the loop for any widths. Only ends are compared with the buffer: each record must end
where its length says and the last one exactly at `stop`. Other records raise NotPlain (or IndexError or struct.error at
the end of the buffer), and the caller reads the same bytes with `read_rows_checked`, which says what is wrong and
where, and which the tests compare with. Benchmark: tests/bench/records.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from struct import Struct
from typing import Final

from decoders.errors import LimitExceeded, Malformed, Truncated
from decoders.limits import HEADER_KEY_MAX, HEADERS_OF_RECORD_MAX
from decoders.records.record_and_batch import (
    Budget,
    Header,
    Row,
)
from decoders.wire.format_and_escape_text import format_bytes
from decoders.wire.primitive_types import read_varint, read_varlong

_INT64 = 1 << 64


def wrap_int64(number: int) -> int:
    """The number as a Java long holds it: sums of hostile base values and deltas wrap."""
    return (number + (_INT64 >> 1)) % _INT64 - (_INT64 >> 1)


def read_rows_checked(
    data: bytes, at: int, stop: int, count: int, base_offset: int, base_timestamp: int, budget: Budget
) -> Iterator[Row]:
    """The rows of `count` records from `at` to `stop`. Raises DecodeError at the first record that cannot be read."""
    for index in range(count):
        start = at
        size, at = read_varint(data, at, stop)
        end = at + size
        if size < 0 or end > stop:
            raise Truncated(f"record {index} of {format_bytes(size)}, {stop - at} are left", offset=start)
        stamp, at = read_varlong(data, min(at + 1, end), end)  # after the attributes, an unused byte
        delta, at = read_varint(data, at, end)
        key, at = _read_varint_sized(data, at, end)
        value, at = _read_varint_sized(data, at, end)
        headers, at = _read_record_headers(data, at, end, budget)
        if at != end:
            raise Malformed(f"record {index} says {format_bytes(size)} and has {at - end + size}", offset=start)
        yield wrap_int64(base_offset + delta), wrap_int64(base_timestamp + stamp), key, value, headers, None
    if at != stop:
        raise Malformed(f"{format_bytes(stop - at)} after the last record", offset=at)


def _read_varint_sized(data: bytes, at: int, end: int) -> tuple[bytes | None, int]:
    start = at
    size, at = read_varint(data, at, end)
    if size < 0:
        return None, at
    if size > end - at:
        raise Truncated(f"{format_bytes(size)}, {end - at} are left in the record", offset=start)
    return data[at : at + size], at + size


def _read_record_headers(data: bytes, at: int, end: int, budget: Budget) -> tuple[tuple[Header, ...], int]:
    start = at
    count, at = read_varint(data, at, end)
    if count < 0 or count * 2 > end - at:
        raise Malformed(f"{count} headers in what is left, {format_bytes(end - at)}", offset=start)
    if count > budget.headers:
        raise LimitExceeded("too many headers for one exchange", offset=start)
    if count > HEADERS_OF_RECORD_MAX:
        raise LimitExceeded(f"a record of {count:,} headers", offset=start)
    budget.headers -= count
    out: list[Header] = []
    for _ in range(count):
        start = at
        key, at = _read_varint_sized(data, at, end)
        if key is None:
            raise Malformed("a header without a key", offset=start)
        if len(key) > HEADER_KEY_MAX:
            raise LimitExceeded(f"a header with a key of {format_bytes(len(key))}", offset=start)
        value, at = _read_varint_sized(data, at, end)
        out.append((key.decode("utf-8", "surrogateescape"), value))
    return tuple(out), at


class NotPlain(Exception):
    """The fast readers cannot read this batch; `read_rows_checked` has to."""


Table = tuple[int | None, ...]
_Names = dict[bytes, str]
_NAMES_MAX: Final = 256
_SEEN_MAX: Final = 16
_SEEN_SIZE: Final = 4096


def _table_of_one_byte_varints(extra: int, *, signed: bool) -> Table:
    """Zigzag varints of one byte, by that byte: the value plus `extra`; None for negative ones unless `signed`."""
    return (*_varints_with_high_bits(0, extra, signed=signed), *_NONE)


def _table_of_two_byte_varints(extra: int, *, signed: bool) -> Table:
    """Zigzag varints of two bytes, by their little-endian number: the value plus `extra`; negative only if `signed`."""
    out: list[int | None] = []
    for high in range(128):
        out += _NONE
        out += _varints_with_high_bits(high, extra, signed=signed)
    out += _NONE * 256
    return tuple(out)


def _varints_with_high_bits(high_bits: int, extra: int, *, signed: bool) -> list[int | None]:
    """The values, plus `extra`, of the 128 zigzag varints whose bits from the eighth on are `high_bits`."""
    first = high_bits << 6
    out: list[int | None] = [None] * 128
    out[::2] = range(first + extra, first + extra + 64)
    if signed:
        out[1::2] = range(extra - first - 1, extra - first - 65, -1)
    return out


_NONE: Final[Table] = (None,) * 128
_LENGTH_1: Final = _table_of_one_byte_varints(0, signed=False)

# The fields up to the first byte of the key's length; tables of the record's end, timestamp and offset; their size.
_Layout = tuple[Callable[[bytes, int], tuple[int, ...]], Table, Table, Table, int]


@cache
def _make_record_layouts() -> tuple[tuple[_Layout, ...], Table]:
    """The layouts of a record by the widths of three fields, and the lengths that take two bytes.

    They are made for the first batch whose records are read, since that takes 3 ms.
    """
    values = (_table_of_one_byte_varints(0, signed=True), _table_of_two_byte_varints(0, signed=True))
    # The length of a record, counted from the start of its length field.
    extents = (_table_of_one_byte_varints(1, signed=False), _table_of_two_byte_varints(2, signed=False))
    made: list[_Layout] = []
    for index in range(8):
        length, timestamp, offset = index >> 2, index >> 1 & 1, index & 1
        form = Struct(f"<{'BH'[length]}x{'BH'[timestamp]}{'BH'[offset]}B")
        made.append((form.unpack_from, extents[length], values[timestamp], values[offset], form.size))
    return tuple(made), _table_of_two_byte_varints(0, signed=False)


def _find_record_layout(data: bytes, at: int, layouts: tuple[_Layout, ...]) -> _Layout | None:
    """The one of the layouts that the record at `at` has; None where a field is wider than two bytes."""
    index = 0
    for skip in (2, 1, 1):
        index <<= 1
        if data[at] > 127:
            index |= 1
            at += 1
            if data[at] > 127:
                return None
        at += skip
    return layouts[index]


def read_rows_fast(  # noqa: C901 - one loop without calls is the point
    data: bytes, at: int, stop: int, count: int, base_offset: int, base_timestamp: int, budget: Budget
) -> Iterator[Row]:
    """The rows of `count` records from `at` to `stop`. Raises NotPlain, IndexError or struct.error for unusual ones."""
    layouts, lengths_2 = _make_record_layouts()
    unpack, extents, timestamps, offsets, head = layouts[0]
    lengths = _LENGTH_1
    names: _Names = {}
    seen: dict[bytes, tuple[Header, ...]] = {}  # headers by their bytes, until too many differ
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...]
    for done in range(count):
        extent, timestamp, offset, size = unpack(data, at)
        end, stamp, delta = extents[extent], timestamps[timestamp], offsets[offset]
        if end is None or stamp is None or delta is None:
            layout = _find_record_layout(data, at, layouts)
            if layout is None:
                yield from read_rows_of_any_width(data, at, stop, count - done, base_offset, base_timestamp, budget)
                return
            unpack, extents, timestamps, offsets, head = layout
            extent, timestamp, offset, size = unpack(data, at)
            end, stamp, delta = extents[extent], timestamps[timestamp], offsets[offset]
            if end is None or stamp is None or delta is None:
                raise NotPlain
        end += at
        at += head
        length = lengths[size]
        if length is not None:
            start = at
            at += length
            key = data[start:at]
        elif size == 1:
            key = None
        else:
            key, at = _read_varint_sized_fast(data, at - 1)
        size = data[at]
        if size > 127:
            length = lengths_2[size | data[at + 1] << 8]
            if length is not None:
                start = at + 2
                at = start + length
                value = data[start:at]
            else:
                value, at = _read_varint_sized_fast(data, at)
        elif size == 1:
            value = None
            at += 1
        else:
            start = at + 1
            at = start + (size >> 1)
            value = data[start:at]
            if size & 1:
                raise NotPlain
        if data[at]:
            # In a compiled copy a slice that ends before it begins raises SystemError.
            block = data[at:end] if at < end and len(seen) < _SEEN_MAX else b""
            if block in seen:
                headers = seen[block]
                at = end
                budget.headers -= len(headers)
                if budget.headers < 0:
                    raise NotPlain
            else:
                headers, at = read_record_headers_fast(data, at, budget, names)
                if 0 < len(block) < _SEEN_SIZE:
                    seen[block] = headers
        else:
            headers = ()
            at += 1
        if at != end:
            raise NotPlain
        yield base_offset + delta, base_timestamp + stamp, key, value, headers, None
    if at != stop:
        raise NotPlain


def read_rows_of_any_width(  # noqa: C901 - as above
    data: bytes, at: int, stop: int, count: int, base_offset: int, base_timestamp: int, budget: Budget
) -> Iterator[Row]:
    """The rows of `count` records from `at` to `stop`, with fields of any width. Raises NotPlain or IndexError.

    Batches whose timestamps are eight seconds apart or more, and batches of a compacted topic, are read here three
    times as fast as by `read_rows_checked` (915 ns a record against 2,770), batches with values of 20 KB in three
    quarters of the time: `python -m tests.bench.records`, "event times".
    """
    lengths, (_, lengths_2) = _LENGTH_1, _make_record_layouts()
    names: _Names = {}
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...]
    for _ in range(count):
        raw = data[at]
        at += 1
        if raw > 127:
            if data[at] < 128:
                raw += (data[at] << 7) - 128
                at += 1
            else:
                raw, at = _read_varint_fast(data, at - 1)
        end = at + (raw >> 1)
        if raw & 1:
            raise NotPlain
        raw = data[at + 1]
        at += 2
        if raw > 127:
            raw &= 127
            shift = 7
            byte = data[at]
            while byte > 127:
                raw |= (byte & 127) << shift
                shift += 7
                at += 1
                byte = data[at]
            if shift > 56:
                raise NotPlain
            raw |= byte << shift
            at += 1
        timestamp = base_timestamp + (raw >> 1 ^ -(raw & 1))
        raw = data[at]
        at += 1
        if raw > 127:
            if data[at] < 128:
                raw += (data[at] << 7) - 128
                at += 1
            else:
                raw, at = _read_varint_fast(data, at - 1)
                if raw >> 32:
                    raise NotPlain
        offset = base_offset + (raw >> 1 ^ -(raw & 1))
        length = lengths[data[at]]
        if length is not None:
            start = at + 1
            at = start + length
            key = data[start:at]
        else:
            key, at = _read_varint_sized_fast(data, at)
        length = lengths[data[at]]
        if length is not None:
            start = at + 1
            at = start + length
            value = data[start:at]
        elif data[at] > 127 and (length := lengths_2[data[at] | data[at + 1] << 8]) is not None:
            start = at + 2
            at = start + length
            value = data[start:at]
        else:
            value, at = _read_varint_sized_fast(data, at)
        if data[at]:
            headers, at = read_record_headers_fast(data, at, budget, names)
        else:
            headers = ()
            at += 1
        if at != end:
            raise NotPlain
        yield offset, timestamp, key, value, headers, None
    if at != stop:
        raise NotPlain


def _read_varint_fast(data: bytes, at: int, last_shift: int = 28) -> tuple[int, int]:
    """An unsigned varint of at most five bytes (nine for a last shift of 56), and the offset after it."""
    raw = data[at]
    at += 1
    if raw > 127:
        raw &= 127
        shift = 7
        byte = data[at]
        at += 1
        while byte > 127:
            raw |= (byte & 127) << shift
            shift += 7
            byte = data[at]
            at += 1
        raw |= byte << shift
        if shift > last_shift:
            raise NotPlain
    return raw, at


def _read_varint_sized_fast(data: bytes, at: int) -> tuple[bytes | None, int]:
    """The bytes (None for null) whose length is at `at`, and the offset after them. Raises NotPlain."""
    raw, at = _read_varint_fast(data, at)
    if raw & 1:
        if raw != 1:
            raise NotPlain
        return None, at
    end = at + (raw >> 1)
    if end > len(data):
        raise NotPlain
    return data[at:end], end


def read_record_headers_fast(
    data: bytes, at: int, budget: Budget, known_header_keys: _Names
) -> tuple[tuple[Header, ...], int]:
    """The headers of a record, whose count is at `at`, and the offset after them. Charges the budget; raises NotPlain.

    `known_header_keys` keeps the keys of the batch so far, by their bytes: most records have the same header keys.
    """
    raw = data[at]
    if raw > 127:
        raw, at = _read_varint_fast(data, at)
    else:
        at += 1
    count = raw >> 1
    # A header takes two bytes or more.
    if raw & 1 or count * 2 > len(data) - at or count > budget.headers or count > HEADERS_OF_RECORD_MAX:
        raise NotPlain
    budget.headers -= count
    lengths = _LENGTH_1
    out: list[Header] = []
    add = out.append
    value: bytes | None
    for _ in range(count):
        length = lengths[data[at]]
        if length is not None:
            start = at + 1
            at = start + length
            key = data[start:at]
        else:
            held, at = _read_varint_sized_fast(data, at)
            if held is None or len(held) > HEADER_KEY_MAX:
                raise NotPlain
            key = held
        try:
            name = known_header_keys[key]
        except KeyError:
            name = key.decode("utf-8", "surrogateescape")
            if len(known_header_keys) < _NAMES_MAX:
                known_header_keys[key] = name
        length = lengths[data[at]]
        if length is not None:
            start = at + 1
            at = start + length
            value = data[start:at]
        else:
            value, at = _read_varint_sized_fast(data, at)
        add((name, value))
    return tuple(out), at
