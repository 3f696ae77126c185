"""Records of magic 2 in one tight pass: plain bytes in, rows (the fields of Record) out, or Unusual.

Strategy: neighbours in a batch are alike, so the widths of length, timestamp and offset (one or two bytes each) of one
record are tried on the next: one `unpack_from` takes them with the key's length, and tables turn them into values. A
table has None where a width does not fit; then the widths are looked up anew, and where a field is wider than two bytes
the rest of the batch goes through the loop for any widths. Nothing but the end is compared with the buffer: each record
must end where its length says and the last one exactly at `stop`. What does not raises Unusual (or IndexError or
struct.error at the end of the buffer), and the caller reads the same bytes with `plain.rows`, which says where and
what, and which is the oracle in tests. Benchmark: tests/bench/records.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from struct import Struct
from typing import Final

from decoders.limits import HEADER_KEY_MAX, HEADERS_OF_RECORD_MAX
from decoders.records.model import Budget, Header, Row


class NotPlain(Exception):
    """The plain reader has to look at this batch."""


Table = tuple[int | None, ...]
_Names = dict[bytes, str]
_NAMES_MAX: Final = 256
_SEEN_MAX: Final = 16
_SEEN_SIZE: Final = 4096


def _one_byte(extra: int, *, signed: bool) -> Table:
    """By a byte: the value of a zigzag varint of that byte alone, plus `extra`; None for negative ones if unsigned."""
    return (*_half(0, extra, signed=signed), *_NONE)


def _two_bytes(extra: int, *, signed: bool) -> Table:
    """The same by the little-endian number of two bytes."""
    out: list[int | None] = []
    for high in range(128):
        out += _NONE
        out += _half(high, extra, signed=signed)
    out += _NONE * 256
    return tuple(out)


def _half(high: int, extra: int, *, signed: bool) -> list[int | None]:
    """The values of the 128 varints whose low bits count through and whose high bits are given."""
    first = high << 6
    out: list[int | None] = [None] * 128
    out[::2] = range(first + extra, first + extra + 64)
    if signed:
        out[1::2] = range(extra - first - 1, extra - first - 65, -1)
    return out


_NONE: Final[Table] = (None,) * 128
_VALUE: Final = (_one_byte(0, signed=True), _two_bytes(0, signed=True))
_LENGTH_1, _LENGTH_2 = _one_byte(0, signed=False), _two_bytes(0, signed=False)
# The length of a record, counted from the first byte of the length itself.
_EXTENT: Final = (_one_byte(1, signed=False), _two_bytes(2, signed=False))

_Layout = tuple[Callable[[bytes, int], tuple[int, ...]], Table, Table, Table, int]


def _layout(length: int, timestamp: int, offset: int) -> _Layout:
    """How to read a record's head up to the byte of the key's length: by the widths less one."""
    form = Struct(f"<{'BH'[length]}x{'BH'[timestamp]}{'BH'[offset]}B")
    return form.unpack_from, _EXTENT[length], _VALUE[timestamp], _VALUE[offset], form.size


_LAYOUTS: Final = tuple(_layout(index >> 2, index >> 1 & 1, index & 1) for index in range(8))


def _find_layout(data: bytes, at: int) -> _Layout | None:
    """The layout of the record at `at`; None where a field is wider than two bytes."""
    index = 0
    for skip in (2, 1, 1):
        index <<= 1
        if data[at] > 127:
            index |= 1
            at += 1
            if data[at] > 127:
                return None
        at += skip
    return _LAYOUTS[index]


def rows(  # noqa: C901 - one loop without calls is the point
    data: bytes, at: int, stop: int, count: int, base_offset: int, base_timestamp: int, budget: Budget
) -> Iterator[Row]:
    """`count` records from `at` on, which must end at `stop`."""
    unpack, extents, timestamps, offsets, head = _LAYOUTS[0]
    lengths, lengths_2 = _LENGTH_1, _LENGTH_2
    names: _Names = {}
    seen: dict[bytes, tuple[Header, ...]] = {}  # headers by their bytes, until too many differ
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...]
    for done in range(count):
        extent, timestamp, offset, size = unpack(data, at)
        end, stamp, delta = extents[extent], timestamps[timestamp], offsets[offset]
        if end is None or stamp is None or delta is None:
            layout = _find_layout(data, at)
            if layout is None:
                yield from wide_rows(data, at, stop, count - done, base_offset, base_timestamp, budget)
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
            key, at = _sized(data, at - 1)
        size = data[at]
        if size > 127:
            length = lengths_2[size | data[at + 1] << 8]
            if length is not None:
                start = at + 2
                at = start + length
                value = data[start:at]
            else:
                value, at = _sized(data, at)
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
            block = data[at:end] if len(seen) < _SEEN_MAX and end - at < _SEEN_SIZE else b""
            if block in seen:
                headers = seen[block]
                at = end
                budget.headers -= len(headers)
                if budget.headers < 0:
                    raise NotPlain
            else:
                headers, at = read_headers(data, at, budget, names)
                if block:
                    seen[block] = headers
        else:
            headers = ()
            at += 1
        if at != end:
            raise NotPlain
        yield base_offset + delta, base_timestamp + stamp, key, value, headers, None
    if at != stop:
        raise NotPlain


def wide_rows(  # noqa: C901 - as above
    data: bytes, at: int, stop: int, count: int, base_offset: int, base_timestamp: int, budget: Budget
) -> Iterator[Row]:
    """The same for fields of any width; a byte that is the whole varint is taken here, a longer one by `_varint`.

    Batches whose times are eight seconds apart or more, and those of a compacted topic, are read here three times as
    fast as by `plain.rows` (915 ns a record against 2,770), those of values of 20 KB in three quarters of the time:
    `python -m tests.bench.records`, "event times".
    """
    lengths, lengths_2 = _LENGTH_1, _LENGTH_2
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
                raw, at = _varint(data, at - 1)
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
                raw, at = _varint(data, at - 1)
                if raw >> 32:
                    raise NotPlain
        offset = base_offset + (raw >> 1 ^ -(raw & 1))
        length = lengths[data[at]]
        if length is not None:
            start = at + 1
            at = start + length
            key = data[start:at]
        else:
            key, at = _sized(data, at)
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
            value, at = _sized(data, at)
        if data[at]:
            headers, at = read_headers(data, at, budget, names)
        else:
            headers = ()
            at += 1
        if at != end:
            raise NotPlain
        yield offset, timestamp, key, value, headers, None
    if at != stop:
        raise NotPlain


def _varint(data: bytes, at: int, last_shift: int = 28) -> tuple[int, int]:
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


def _sized(data: bytes, at: int) -> tuple[bytes | None, int]:
    """Bytes with their length before them, and the offset after them."""
    raw, at = _varint(data, at)
    if raw & 1:
        if raw != 1:
            raise NotPlain
        return None, at
    end = at + (raw >> 1)
    if end > len(data):
        raise NotPlain
    return data[at:end], end


def read_headers(data: bytes, at: int, budget: Budget, names: _Names) -> tuple[tuple[Header, ...], int]:
    """The headers of a record from their count on, and the offset after them; takes them off the budget.

    `names` keeps the keys met so far, by their bytes: the headers of a batch mostly have the same ones.
    """
    raw = data[at]
    if raw > 127:
        raw, at = _varint(data, at)
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
            held, at = _sized(data, at)
            if held is None or len(held) > HEADER_KEY_MAX:
                raise NotPlain
            key = held
        try:
            name = names[key]
        except KeyError:
            name = key.decode("utf-8", "surrogateescape")
            if len(names) < _NAMES_MAX:
                names[key] = name
        length = lengths[data[at]]
        if length is not None:
            start = at + 1
            at = start + length
            value = data[start:at]
        else:
            value, at = _sized(data, at)
        add((name, value))
    return tuple(out), at
