"""Batches of magic 2: a whole batch in, its JSON-ready dict out (header, checksum, records in a given form).

61 bytes of header, then the records, compressed together or plain (protocol guide, "Record Batch"). The CRC-32C covers
everything from the attributes on.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from itertools import islice
from struct import Struct
from typing import Any, Final

import google_crc32c

from decoders.errors import DecodeError, LimitExceeded
from decoders.limits import BATCH_INFLATED_MAX, MIB, RECORD_BYTE_COST
from decoders.records import fast, plain
from decoders.records.codecs import CODEC_MASK, codec_name, inflate
from decoders.records.control import control_record
from decoders.records.deferred import DeferredRecords, Failures
from decoders.records.model import Budget, Form, Row, TooLarge, failed
from decoders.wire.text import in_bytes

# base offset, length, leader epoch, magic, crc, attributes, last offset delta, base and max timestamp, producer id,
# producer epoch, base sequence, record count
HEADER: Final = Struct(">qiibIhiqqqhii")
SIZE: Final = HEADER.size
# Bytes before those that the length counts, and those that the checksum covers.
LOG_OVERHEAD: Final = 12
CRC_START: Final = 21
LOG_APPEND, TRANSACTIONAL, CONTROL, DELETE_HORIZON = 0x08, 0x10, 0x20, 0x40
# Length, attributes, two deltas, two lengths and a count of headers, one byte each.
RECORD_MIN: Final = 7
# What a failed decompression costs the exchange: what came out before the failure is not known.
_FAILURE_COST: Final = 4 * MIB
# Bases beyond this may wrap.
FAR: Final = 1 << 62
_CODECS: Final = tuple(map(codec_name, range(CODEC_MASK + 1)))
Problem = tuple[str, str]


def header_fields(data: bytes, at: int, size: int) -> tuple[dict[str, Any], int, int]:
    """The header at `at` of a batch with `size` bytes on the wire; besides the checksum it says and its attributes."""
    (base, _, epoch, magic, crc, attributes, delta, first, last, producer, producer_epoch, sequence, count) = (
        HEADER.unpack_from(data, at)
    )
    fields = {
        "base_offset": base,
        "last_offset": base + delta if -FAR < base < FAR else plain.int64(base + delta),
        "magic": magic,
        "codec": _CODECS[attributes & CODEC_MASK],
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


# By the bytes of the header that must be there: what they tell.
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
    """What the header says of a batch of which only `size` bytes are there."""
    fields, _, _ = header_fields(data[at : at + min(size, SIZE)].ljust(SIZE, b"\0"), 0, size)
    for need, names in _KNOWN_FROM:
        if size < need:
            fields.update(dict.fromkeys(names))
    fields["crc"] = "unchecked"
    fields["truncated"] = True
    return fields


def read(data: bytes, at: int, stop: int, budget: Budget, form: Form | None) -> dict[str, Any]:
    """The whole batch from `at` to `stop`; with its records where a form for them is given."""
    fields, crc, attributes = header_fields(data, at, stop - at)
    body = data[at + CRC_START : stop]
    found: int = google_crc32c.value(body)
    count = fields["record_count"]
    problem: Problem | None = None
    if found != crc:
        fields["crc"] = "bad"
        problem = "crc", f"the CRC-32C is {found:08x}, the batch says {crc:08x}"
    elif count < 0:
        problem = "malformed", f"{count} records"
    if form is None:
        return fields if problem is None else failed(fields, *problem)
    records: list[Any] | DeferredRecords = []
    if problem is None:
        records, problem = _records(fields, data, at + SIZE, stop, attributes, budget, form)
    if problem is not None:
        failed(fields, *problem)
    elif records.__class__ is list and len(records) < count:
        fields["records_cut"] = count - len(records)
    fields["records"] = records
    return fields


def spend(number: int, data: memoryview, budget: Budget, magic: int, most: int = BATCH_INFLATED_MAX) -> bytes:
    """Decompress within what one batch and the exchange may still cost; what comes out is taken off the budget."""
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


def _records(
    fields: dict[str, Any], data: bytes, start: int, stop: int, attributes: int, budget: Budget, form: Form
) -> tuple[list[Any] | DeferredRecords, Problem | None]:
    """The records of a batch whose checksum is right: all, those before a failure, or those that the budget allows."""
    count = fields["record_count"]
    number = attributes & CODEC_MASK
    packed = data, start, stop
    if number:
        if not count:
            return [], None
        try:
            data = spend(number, memoryview(data)[start:stop], budget, 2)
        except DecodeError as failure:
            return [], ("limit" if isinstance(failure, LimitExceeded) else "codec", failure.text)
        start, stop = 0, len(data)
    if count * RECORD_MIN > stop - start:
        return [], ("malformed", f"{count} records in {in_bytes(stop - start)}")
    take = min(count, budget.records)
    budget.held -= (stop - start) * RECORD_BYTE_COST
    if budget.held < 0 and take:
        if not budget.deferring:
            raise TooLarge
        budget.records -= take
        payload = _Payload(fields, packed, attributes, budget)
        return DeferredRecords(payload.rows, take, count, budget, form), None
    base, first = fields["base_offset"], fields["base_timestamp"]
    budget.records -= take
    headers = budget.headers
    known = attributes & (LOG_APPEND | CONTROL)
    if -FAR < base < FAR and -FAR < first < FAR:
        rows = fast.rows(data, start, stop, count, base, first, budget)
        if known:
            rows = _as_batch(rows, attributes, fields["max_timestamp"])
        try:
            return form(rows if take == count else islice(rows, take)), None
        except (fast.NotPlain, IndexError, struct.error):
            budget.headers = headers
    failures: Failures = []
    rows = _until_failure(plain.rows(data, start, stop, count, base, first, budget), failures)
    if known:
        rows = _as_batch(rows, attributes, fields["max_timestamp"])
    records = form(rows if take == count else islice(rows, take))
    return records, (failures[0].reason, failures[0].text) if failures else None


class _Payload:
    """The records of one batch as they came, to be read whenever they are asked for."""

    __slots__ = ("_attributes", "_budget", "_fields", "_packed")

    def __init__(self, fields: dict[str, Any], packed: tuple[bytes, int, int], attributes: int, budget: Budget) -> None:
        self._fields = fields
        self._packed = packed
        self._attributes = attributes
        self._budget = budget

    def rows(self, failures: Failures) -> Iterator[Row]:
        """The rows before a failure; what is decompressed again is not taken off the budget again."""
        data, start, stop = self._packed
        number = self._attributes & CODEC_MASK
        data = inflate(number, memoryview(data)[start:stop], BATCH_INFLATED_MAX, 2) if number else data[start:stop]
        rows = _until_failure(self._either(data), failures)
        if self._attributes & (LOG_APPEND | CONTROL):
            rows = _as_batch(rows, self._attributes, self._fields["max_timestamp"])
        return rows

    def _either(self, data: bytes) -> Iterator[Row]:
        """The rows by the fast reader; from where it gives up on by the plain one.

        Only the last row that the fast reader gave before it gave up may be wrong: it is not yet handed on.
        """
        count, base, first = (self._fields[name] for name in ("record_count", "base_offset", "base_timestamp"))
        budget = self._budget
        headers = budget.headers
        given = 0
        if -FAR < base < FAR and -FAR < first < FAR:
            rows = fast.rows(data, 0, len(data), count, base, first, budget)
            try:
                before = next(rows, None)
                for row in rows:
                    if before is not None:
                        yield before
                        given += 1
                    before = row
            except (fast.NotPlain, IndexError, struct.error):
                budget.headers = headers
            else:
                if before is not None:
                    yield before
                return
        yield from islice(plain.rows(data, 0, len(data), count, base, first, budget), given, None)


def _until_failure(rows: Iterator[Row], failures: Failures) -> Iterator[Row]:
    """The rows before the first failure, which goes to `failures`."""
    try:
        yield from rows
    except DecodeError as failure:
        failures.append(failure)


def _as_batch(rows: Iterator[Row], attributes: int, max_timestamp: int) -> Iterator[Row]:
    """Rows with what the batch knows of them: the append time, the meaning of control records."""
    if attributes & LOG_APPEND:
        rows = ((at, max_timestamp, key, value, headers, None) for at, _, key, value, headers, _ in rows)
    if attributes & CONTROL:
        rows = ((at, ms, key, value, headers, control_record(key, value)) for at, ms, key, value, headers, _ in rows)
    return rows
