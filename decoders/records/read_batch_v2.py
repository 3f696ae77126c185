"""Batches of magic 2 in, their JSON-ready dicts out: header, checksum, records in a given form.

A batch has 61 bytes of header, then the records, compressed together or plain (protocol guide, "Record Batch"). The
CRC-32C covers everything from the attributes on.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

import google_crc32c

from decoders.errors import DecodeError, LimitExceeded, strip_traceback
from decoders.limits import BATCH_INFLATED_MAX, MIB, RECORD_BYTE_COST
from decoders.records.batch_layout import CONTROL, CRC_START, DELETE_HORIZON, HEADER, LOG_APPEND, SIZE, TRANSACTIONAL
from decoders.records.codecs import CODEC_MASK, CODEC_NAMES, inflate
from decoders.records.read_rows_v2 import NotPlain, read_rows_checked, read_rows_fast, wrap_int64
from decoders.records.record_and_batch import Budget, Form, Row, TooLarge, set_batch_error
from decoders.records.records_as_json import DeferredRecords, Failures, decode_control_record
from decoders.wire.format_and_escape_text import format_bytes

# The smallest record: length, attributes, two deltas, two lengths and a count of headers, one byte each.
RECORD_MIN: Final = 7
# A failed decompression costs the exchange this much: how much came out before the failure is not known.
_FAILURE_COST: Final = 4 * MIB
# Sums with base offsets or timestamps beyond this may wrap.
FAR: Final = 1 << 62
Problem = tuple[str, str]


def read_batch_header(data: bytes, at: int, batch_size: int) -> tuple[dict[str, Any], int, int]:
    """The JSON-ready dict of the header of a batch of `batch_size` bytes at `at`; its checksum; its attributes."""
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
        "size": batch_size,
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


def read_truncated_batch(data: bytes, at: int, size_present: int) -> dict[str, Any]:
    """The JSON-ready dict of a truncated batch, of which only `size_present` bytes are there."""
    fields, _, _ = read_batch_header(data[at : at + min(size_present, SIZE)].ljust(SIZE, b"\0"), 0, size_present)
    for need, names in _KNOWN_FROM:
        if size_present < need:
            fields.update(dict.fromkeys(names))
    fields["crc"] = "unchecked"
    fields["truncated"] = True
    return fields


def read_batch(data: bytes, at: int, stop: int, budget: Budget, form: Form | None) -> dict[str, Any]:
    """The JSON-ready dict of the whole batch from `at` to `stop`; with its records if a form is given."""
    fields, crc, attributes = read_batch_header(data, at, stop - at)
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
        return fields if problem is None else set_batch_error(fields, *problem)
    records: list[Any] | DeferredRecords = []
    if count >= 0:  # records are shown up to the first that cannot be read, even if the checksum is wrong
        records, failure = _read_records_of_batch(fields, data, at + SIZE, stop, attributes, budget, form)
        problem = problem or failure
    if problem is not None:
        set_batch_error(fields, *problem)
    if (bad or problem is None) and isinstance(records, list) and len(records) < count:
        fields["records_cut"] = count - len(records)
    fields["records"] = records
    return fields


def read_rows_of_plain_batch(data: bytes, at: int, stop: int, budget: Budget) -> list[Row] | None:
    """The rows of the whole batch from `at` to `stop`; None for one that is compressed or in any way unusual.

    A third of the time of `read_batch`, which reads those: without the header as a dict, and without the checksum.
    """
    base, _, _, _, _, attributes, _, first, _, _, _, _, count = HEADER.unpack_from(data, at)
    start = at + SIZE
    if attributes & ~TRANSACTIONAL or not 0 <= count <= budget.records or count * RECORD_MIN > stop - start:
        return None
    if not (-FAR < base < FAR and -FAR < first < FAR):
        return None
    headers = budget.headers
    try:
        rows = list(read_rows_fast(data, start, stop, count, base, first, budget))
    except (NotPlain, IndexError, struct.error):
        budget.headers = headers
        return None
    budget.records -= count
    return rows


def inflate_within_budget(
    codec_number: int, packed: memoryview, budget: Budget, magic: int, size_max: int = BATCH_INFLATED_MAX
) -> bytes:
    """Decompress within the limits of one batch and of the budget, and charge the result to the budget.

    Raises LimitExceeded or another DecodeError.
    """
    cap = min(size_max, budget.inflated)
    try:
        out = inflate(codec_number, packed, cap, magic)
    except LimitExceeded:
        budget.inflated -= cap
        raise
    except DecodeError:
        budget.inflated -= min(cap, _FAILURE_COST)
        raise
    budget.inflated -= len(out)
    return out


def _read_records_of_batch(
    batch_fields: dict[str, Any], data: bytes, start: int, stop: int, attributes: int, budget: Budget, form: Form
) -> tuple[list[Any] | DeferredRecords, Problem | None]:
    """The records of a batch and the problem in them: all, those before a failure, or as many as the budget allows."""
    count = batch_fields["record_count"]
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
        return [], ("malformed", f"{count} records in {format_bytes(stop - start)}")
    take = min(count, budget.records)
    held = budget.held = budget.held - (stop - start) * RECORD_BYTE_COST
    if held < 0 and take:
        if not budget.deferring:
            raise TooLarge
        budget.records -= take
        payload = _UnreadRecords(batch_fields, packed, attributes, budget)
        # A batch with a wrong checksum has an error already: a failure in its records is not shown.
        rows_of = payload.rows if batch_fields["crc"] == "ok" else lambda _: payload.rows([])
        return DeferredRecords(rows_of, take, count, budget, form), None
    base, first = batch_fields["base_offset"], batch_fields["base_timestamp"]
    budget.records -= take
    headers = budget.headers
    known = attributes & (LOG_APPEND | CONTROL)
    if -FAR < base < FAR and -FAR < first < FAR:
        rows = read_rows_fast(data, start, stop, count, base, first, budget)
        if known:
            rows = _apply_batch_attributes(rows, attributes, batch_fields["max_timestamp"])
        try:
            return form(rows if take == count else islice(rows, take)), None
        except (NotPlain, IndexError, struct.error):
            budget.headers = headers
    failures: Failures = []
    rows = _rows_before_failure(read_rows_checked(data, start, stop, count, base, first, budget), failures)
    if known:
        rows = _apply_batch_attributes(rows, attributes, batch_fields["max_timestamp"])
    records = form(rows if take == count else islice(rows, take))
    return records, (failures[0].reason, failures[0].text) if failures else None


class _UnreadRecords:
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
        rows = _rows_before_failure(self._read_rows(data), failures)
        if self._attributes & (LOG_APPEND | CONTROL):
            rows = _apply_batch_attributes(rows, self._attributes, self._last)
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
            rows = read_rows_fast(data, 0, len(data), count, base, first, budget)
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
        yield from islice(read_rows_checked(data, 0, len(data), count, base, first, budget), given, None)


def _rows_before_failure(rows: Iterator[Row], failures: Failures) -> Iterator[Row]:
    """The rows before the first failure, which goes to `failures`."""
    try:
        yield from rows
    except DecodeError as failure:
        failures.append(strip_traceback(failure))


def _apply_batch_attributes(rows: Iterator[Row], attributes: int, max_timestamp: int) -> Iterator[Row]:
    """Rows completed by their batch's attributes: the log append time, decoded control records."""
    if attributes & LOG_APPEND:
        rows = ((at, max_timestamp, key, value, headers, None) for at, _, key, value, headers, _ in rows)
    if attributes & CONTROL:
        rows = (
            (at, ms, key, value, headers, decode_control_record(key, value)) for at, ms, key, value, headers, _ in rows
        )
    return rows
