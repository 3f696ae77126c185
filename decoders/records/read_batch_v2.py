"""Batches of magic 2 in, their JSON-ready dicts out; records are read in one fast pass, as rows (the fields of Record).

Strategy: neighbouring records in a batch are alike, so the widths of length, timestamp and offset (one or two bytes
each) of one record are tried on the next: one `unpack_from` takes them with the key's length, and tables turn them into
values. A table has None where a width does not fit; then the widths are looked up anew, and where a field is wider than
two bytes the rest of the batch goes through the loop for any widths. Only ends are compared with the buffer: each
record must end where its length says and the last one exactly at `stop`. Other records raise NotPlain (or IndexError
or struct.error at the end of the buffer), and the caller reads the same bytes with `plain_rows`, which says what is
wrong and where, and which the tests compare with. Benchmark: tests/bench/records.py.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from functools import cache
from itertools import islice
from struct import Struct
from typing import Any, Final

import google_crc32c

from decoders.errors import DecodeError, LimitExceeded, Malformed, Truncated, without_frames
from decoders.limits import BATCH_INFLATED_MAX, HEADER_KEY_MAX, HEADERS_OF_RECORD_MAX, MIB, RECORD_BYTE_COST
from decoders.records.codecs import CODEC_MASK, CODEC_NAMES, inflate
from decoders.records.json_form import DeferredRecords, Failures, control_record
from decoders.records.model import (
    CONTROL,
    CRC_START,
    DELETE_HORIZON,
    HEADER,
    LOG_APPEND,
    SIZE,
    TRANSACTIONAL,
    Budget,
    Form,
    Header,
    Row,
    TooLarge,
    set_error,
)
from decoders.wire.primitives import read_varint, read_varlong
from decoders.wire.readable_text import in_bytes

_INT64 = 1 << 64


def wrap_int64(number: int) -> int:
    """The number as a Java long holds it: sums of hostile base values and deltas wrap."""
    return (number + (_INT64 >> 1)) % _INT64 - (_INT64 >> 1)


def plain_rows(
    data: bytes, at: int, stop: int, count: int, base_offset: int, base_timestamp: int, budget: Budget
) -> Iterator[Row]:
    """The rows of `count` records from `at` to `stop`. Raises DecodeError at the first record that cannot be read."""
    for index in range(count):
        start = at
        size, at = read_varint(data, at, stop)
        end = at + size
        if size < 0 or end > stop:
            raise Truncated(f"record {index} of {in_bytes(size)}, {stop - at} are left", offset=start)
        stamp, at = read_varlong(data, min(at + 1, end), end)  # after the attributes, an unused byte
        delta, at = read_varint(data, at, end)
        key, at = _read_sized(data, at, end)
        value, at = _read_sized(data, at, end)
        headers, at = _read_headers(data, at, end, budget)
        if at != end:
            raise Malformed(f"record {index} says {in_bytes(size)} and has {at - end + size}", offset=start)
        yield wrap_int64(base_offset + delta), wrap_int64(base_timestamp + stamp), key, value, headers, None
    if at != stop:
        raise Malformed(f"{in_bytes(stop - at)} after the last record", offset=at)


def _read_sized(data: bytes, at: int, end: int) -> tuple[bytes | None, int]:
    start = at
    size, at = read_varint(data, at, end)
    if size < 0:
        return None, at
    if size > end - at:
        raise Truncated(f"{in_bytes(size)}, {end - at} are left in the record", offset=start)
    return data[at : at + size], at + size


def _read_headers(data: bytes, at: int, end: int, budget: Budget) -> tuple[tuple[Header, ...], int]:
    start = at
    count, at = read_varint(data, at, end)
    if count < 0 or count * 2 > end - at:
        raise Malformed(f"{count} headers in what is left, {in_bytes(end - at)}", offset=start)
    if count > budget.headers:
        raise LimitExceeded("too many headers for one exchange", offset=start)
    if count > HEADERS_OF_RECORD_MAX:
        raise LimitExceeded(f"a record of {count:,} headers", offset=start)
    budget.headers -= count
    out: list[Header] = []
    for _ in range(count):
        start = at
        key, at = _read_sized(data, at, end)
        if key is None:
            raise Malformed("a header without a key", offset=start)
        if len(key) > HEADER_KEY_MAX:
            raise LimitExceeded(f"a header with a key of {in_bytes(len(key))}", offset=start)
        value, at = _read_sized(data, at, end)
        out.append((key.decode("utf-8", "surrogateescape"), value))
    return tuple(out), at


class NotPlain(Exception):
    """The fast readers cannot read this batch; `plain_rows` has to."""


Table = tuple[int | None, ...]
_Names = dict[bytes, str]
_NAMES_MAX: Final = 256
_SEEN_MAX: Final = 16
_SEEN_SIZE: Final = 4096


def _one_byte_table(extra: int, *, signed: bool) -> Table:
    """Zigzag varints of one byte, by that byte: the value plus `extra`; None for negative ones unless `signed`."""
    return (*_half_table(0, extra, signed=signed), *_NONE)


def _two_byte_table(extra: int, *, signed: bool) -> Table:
    """Zigzag varints of two bytes, by their little-endian number: the value plus `extra`; negative only if `signed`."""
    out: list[int | None] = []
    for high in range(128):
        out += _NONE
        out += _half_table(high, extra, signed=signed)
    out += _NONE * 256
    return tuple(out)


def _half_table(high: int, extra: int, *, signed: bool) -> list[int | None]:
    """The values, plus `extra`, of the 128 zigzag varints whose bits from the eighth on are `high`."""
    first = high << 6
    out: list[int | None] = [None] * 128
    out[::2] = range(first + extra, first + extra + 64)
    if signed:
        out[1::2] = range(extra - first - 1, extra - first - 65, -1)
    return out


_NONE: Final[Table] = (None,) * 128
_LENGTH_1: Final = _one_byte_table(0, signed=False)

# The fields up to the first byte of the key's length; tables of the record's end, timestamp and offset; their size.
_Layout = tuple[Callable[[bytes, int], tuple[int, ...]], Table, Table, Table, int]


@cache
def _make_tables() -> tuple[tuple[_Layout, ...], Table]:
    """The layouts of a record by the widths of three fields, and the lengths that take two bytes.

    They are made for the first batch whose records are read, since that takes 3 ms.
    """
    values = (_one_byte_table(0, signed=True), _two_byte_table(0, signed=True))
    # The length of a record, counted from the start of its length field.
    extents = (_one_byte_table(1, signed=False), _two_byte_table(2, signed=False))
    made: list[_Layout] = []
    for index in range(8):
        length, timestamp, offset = index >> 2, index >> 1 & 1, index & 1
        form = Struct(f"<{'BH'[length]}x{'BH'[timestamp]}{'BH'[offset]}B")
        made.append((form.unpack_from, extents[length], values[timestamp], values[offset], form.size))
    return tuple(made), _two_byte_table(0, signed=False)


def _find_layout(data: bytes, at: int, layouts: tuple[_Layout, ...]) -> _Layout | None:
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


def fast_rows(  # noqa: C901 - one loop without calls is the point
    data: bytes, at: int, stop: int, count: int, base_offset: int, base_timestamp: int, budget: Budget
) -> Iterator[Row]:
    """The rows of `count` records from `at` to `stop`. Raises NotPlain, IndexError or struct.error for unusual ones."""
    layouts, lengths_2 = _make_tables()
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
            layout = _find_layout(data, at, layouts)
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
            key, at = _read_plain_sized(data, at - 1)
        size = data[at]
        if size > 127:
            length = lengths_2[size | data[at + 1] << 8]
            if length is not None:
                start = at + 2
                at = start + length
                value = data[start:at]
            else:
                value, at = _read_plain_sized(data, at)
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
                headers, at = read_plain_headers(data, at, budget, names)
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


def wide_rows(  # noqa: C901 - as above
    data: bytes, at: int, stop: int, count: int, base_offset: int, base_timestamp: int, budget: Budget
) -> Iterator[Row]:
    """The rows of `count` records from `at` to `stop`, with fields of any width. Raises NotPlain or IndexError.

    Batches whose timestamps are eight seconds apart or more, and batches of a compacted topic, are read here three
    times as fast as by `plain_rows` (915 ns a record against 2,770), batches with values of 20 KB in three quarters of
    the time: `python -m tests.bench.records`, "event times".
    """
    lengths, (_, lengths_2) = _LENGTH_1, _make_tables()
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
                raw, at = _read_plain_varint(data, at - 1)
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
                raw, at = _read_plain_varint(data, at - 1)
                if raw >> 32:
                    raise NotPlain
        offset = base_offset + (raw >> 1 ^ -(raw & 1))
        length = lengths[data[at]]
        if length is not None:
            start = at + 1
            at = start + length
            key = data[start:at]
        else:
            key, at = _read_plain_sized(data, at)
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
            value, at = _read_plain_sized(data, at)
        if data[at]:
            headers, at = read_plain_headers(data, at, budget, names)
        else:
            headers = ()
            at += 1
        if at != end:
            raise NotPlain
        yield offset, timestamp, key, value, headers, None
    if at != stop:
        raise NotPlain


def _read_plain_varint(data: bytes, at: int, last_shift: int = 28) -> tuple[int, int]:
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


def _read_plain_sized(data: bytes, at: int) -> tuple[bytes | None, int]:
    """The bytes (None for null) whose length is at `at`, and the offset after them. Raises NotPlain."""
    raw, at = _read_plain_varint(data, at)
    if raw & 1:
        if raw != 1:
            raise NotPlain
        return None, at
    end = at + (raw >> 1)
    if end > len(data):
        raise NotPlain
    return data[at:end], end


def read_plain_headers(data: bytes, at: int, budget: Budget, names: _Names) -> tuple[tuple[Header, ...], int]:
    """The headers of a record, whose count is at `at`, and the offset after them. Charges the budget; raises NotPlain.

    `names` keeps the keys of the batch so far, by their bytes: most records have the same header keys.
    """
    raw = data[at]
    if raw > 127:
        raw, at = _read_plain_varint(data, at)
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
            held, at = _read_plain_sized(data, at)
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
            value, at = _read_plain_sized(data, at)
        add((name, value))
    return tuple(out), at


# A whole batch of magic 2 in, its JSON-ready dict out (header, checksum, records in a given form).
#
# A batch has 61 bytes of header, then the records, compressed together or plain (protocol guide, "Record Batch"). The
# CRC-32C covers everything from the attributes on.


# The smallest record: length, attributes, two deltas, two lengths and a count of headers, one byte each.
RECORD_MIN: Final = 7
# A failed decompression costs the exchange this much: how much came out before the failure is not known.
_FAILURE_COST: Final = 4 * MIB
# Sums with base offsets or timestamps beyond this may wrap.
FAR: Final = 1 << 62
Problem = tuple[str, str]


def header_fields(data: bytes, at: int, size: int) -> tuple[dict[str, Any], int, int]:
    """The JSON-ready dict of a batch header at `at` (`size`: of the batch), its checksum field, and its attributes."""
    (base, _, epoch, magic, crc, attributes, delta, first, last, producer, producer_epoch, sequence, count) = (
        HEADER.unpack_from(data, at)
    )
    fields = {
        "base_offset": base,
        "last_offset": base + delta if -FAR < base < FAR else wrap_int64(base + delta),
        "magic": magic,
        "codec": CODEC_NAMES[attributes & CODEC_MASK],
        "timestamp_type": "log_append" if attributes & LOG_APPEND else "create",
        "base_timestamp": first,
        "max_timestamp": last,
        "partition_leader_epoch": epoch,
        "producer_id": producer,
        "producer_epoch": producer_epoch,
        "base_sequence": sequence,
        "transactional": attributes & TRANSACTIONAL != 0,
        "control": attributes & CONTROL != 0,
        "delete_horizon_ms": first if attributes & DELETE_HORIZON else None,
        "crc": "ok",
        "record_count": count,
        "size": size,
        "truncated": False,
    }
    return fields, crc, attributes


# How many bytes of the header each field needs.
_KNOWN_FROM: Final = (
    (8, ("base_offset",)),
    (16, ("partition_leader_epoch",)),
    (17, ("magic",)),
    (23, ("codec", "timestamp_type", "transactional", "control")),
    (27, ("last_offset",)),
    (35, ("base_timestamp", "delete_horizon_ms")),
    (43, ("max_timestamp",)),
    (51, ("producer_id",)),
    (53, ("producer_epoch",)),
    (57, ("base_sequence",)),
    (61, ("record_count",)),
)


def cut_fields(data: bytes, at: int, size: int) -> dict[str, Any]:
    """The JSON-ready dict of a truncated batch, of which only `size` bytes are there."""
    fields, _, _ = header_fields(data[at : at + min(size, SIZE)].ljust(SIZE, b"\0"), 0, size)
    for need, names in _KNOWN_FROM:
        if size < need:
            fields.update(dict.fromkeys(names))
    fields["crc"] = "unchecked"
    fields["truncated"] = True
    return fields


def read_batch(data: bytes, at: int, stop: int, budget: Budget, form: Form | None) -> dict[str, Any]:
    """The JSON-ready dict of the whole batch from `at` to `stop`; with its records if a form is given."""
    fields, crc, attributes = header_fields(data, at, stop - at)
    body = data[at + CRC_START : stop]
    found: int = google_crc32c.value(body)
    count = fields["record_count"]
    problem: Problem | None = None
    bad = found != crc
    if bad:
        fields["crc"] = "bad"
        problem = "crc", f"the CRC-32C is {found:08x}, the batch says {crc:08x}"
    elif count < 0:
        problem = "malformed", f"{count} records"
    if form is None:
        return fields if problem is None else set_error(fields, *problem)
    records: list[Any] | DeferredRecords = []
    if count >= 0:  # records are shown up to the first that cannot be read, even if the checksum is wrong
        records, failure = _read_records(fields, data, at + SIZE, stop, attributes, budget, form)
        problem = problem or failure
    if problem is not None:
        set_error(fields, *problem)
    if (bad or problem is None) and records.__class__ is list and len(records) < count:
        fields["records_cut"] = count - len(records)
    fields["records"] = records
    return fields


def inflate_within_budget(
    number: int, data: memoryview, budget: Budget, magic: int, most: int = BATCH_INFLATED_MAX
) -> bytes:
    """Decompress within the limits of one batch and of the budget, and charge the result to the budget.

    Raises LimitExceeded or another DecodeError.
    """
    cap = min(most, budget.inflated)
    try:
        out = inflate(number, data, cap, magic)
    except LimitExceeded:
        budget.inflated -= cap
        raise
    except DecodeError:
        budget.inflated -= min(cap, _FAILURE_COST)
        raise
    budget.inflated -= len(out)
    return out


def _read_records(
    fields: dict[str, Any], data: bytes, start: int, stop: int, attributes: int, budget: Budget, form: Form
) -> tuple[list[Any] | DeferredRecords, Problem | None]:
    """The records of a batch and the problem in them: all, those before a failure, or as many as the budget allows."""
    count = fields["record_count"]
    number = attributes & CODEC_MASK
    packed = data, start, stop
    if number:
        if not count:
            return [], None
        try:
            data = inflate_within_budget(number, memoryview(data)[start:stop], budget, 2)
        except DecodeError as failure:
            return [], ("limit" if isinstance(failure, LimitExceeded) else "codec", failure.text)
        start, stop = 0, len(data)
    if count * RECORD_MIN > stop - start:
        return [], ("malformed", f"{count} records in {in_bytes(stop - start)}")
    take = min(count, budget.records)
    held = budget.held = budget.held - (stop - start) * RECORD_BYTE_COST
    if held < 0 and take:
        if not budget.deferring:
            raise TooLarge
        budget.records -= take
        payload = _Payload(fields, packed, attributes, budget)
        # A batch with a wrong checksum has an error already: a failure in its records is not shown.
        rows_of = payload.rows if fields["crc"] == "ok" else lambda _: payload.rows([])
        return DeferredRecords(rows_of, take, count, budget, form), None
    base, first = fields["base_offset"], fields["base_timestamp"]
    budget.records -= take
    headers = budget.headers
    known = attributes & (LOG_APPEND | CONTROL)
    if -FAR < base < FAR and -FAR < first < FAR:
        rows = fast_rows(data, start, stop, count, base, first, budget)
        if known:
            rows = _complete_rows(rows, attributes, fields["max_timestamp"])
        try:
            return form(rows if take == count else islice(rows, take)), None
        except (NotPlain, IndexError, struct.error):
            budget.headers = headers
    failures: Failures = []
    rows = _until_failure(plain_rows(data, start, stop, count, base, first, budget), failures)
    if known:
        rows = _complete_rows(rows, attributes, fields["max_timestamp"])
    records = form(rows if take == count else islice(rows, take))
    return records, (failures[0].reason, failures[0].text) if failures else None


class _Payload:
    """The undecoded records of one batch, which can be read any number of times.

    It does not refer to the dict of the batch, which refers to it: a cycle would keep the bytes of many batches.
    """

    __slots__ = ("_attributes", "_base", "_budget", "_count", "_first", "_last", "_packed")

    def __init__(self, fields: dict[str, Any], packed: tuple[bytes, int, int], attributes: int, budget: Budget) -> None:
        self._count: int = fields["record_count"]
        self._base: int = fields["base_offset"]
        self._first: int = fields["base_timestamp"]
        self._last: int = fields["max_timestamp"]
        self._packed = packed
        self._attributes = attributes
        self._budget = budget

    def rows(self, failures: Failures) -> Iterator[Row]:
        """The rows before a failure, which goes to `failures`; decompressing again does not charge the budget again."""
        data, start, stop = self._packed
        number = self._attributes & CODEC_MASK
        data = inflate(number, memoryview(data)[start:stop], BATCH_INFLATED_MAX, 2) if number else data[start:stop]
        rows = _until_failure(self._read_rows(data), failures)
        if self._attributes & (LOG_APPEND | CONTROL):
            rows = _complete_rows(rows, self._attributes, self._last)
        return rows

    def _read_rows(self, data: bytes) -> Iterator[Row]:
        """The rows as the fast reader gives them, and after it gives up, as the plain reader gives them.

        Only the last row before the fast reader gives up may be wrong, so each row is held until the next one is read.
        """
        count, base, first = self._count, self._base, self._first
        budget = self._budget
        headers = budget.headers
        given = 0
        if -FAR < base < FAR and -FAR < first < FAR:
            rows = fast_rows(data, 0, len(data), count, base, first, budget)
            try:
                before = next(rows, None)
                for row in rows:
                    if before is not None:
                        yield before
                        given += 1
                    before = row
            except (NotPlain, IndexError, struct.error):
                budget.headers = headers
            else:
                if before is not None:
                    yield before
                return
        yield from islice(plain_rows(data, 0, len(data), count, base, first, budget), given, None)


def _until_failure(rows: Iterator[Row], failures: Failures) -> Iterator[Row]:
    """The rows before the first failure, which goes to `failures`."""
    try:
        yield from rows
    except DecodeError as failure:
        failures.append(without_frames(failure))


def _complete_rows(rows: Iterator[Row], attributes: int, max_timestamp: int) -> Iterator[Row]:
    """Rows completed by their batch's attributes: the log append time, decoded control records."""
    if attributes & LOG_APPEND:
        rows = ((at, max_timestamp, key, value, headers, None) for at, _, key, value, headers, _ in rows)
    if attributes & CONTROL:
        rows = ((at, ms, key, value, headers, control_record(key, value)) for at, ms, key, value, headers, _ in rows)
    return rows
