"""A records field in, its batches out: as values, or as JSON-ready dicts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import repeat
from struct import Struct
from typing import Any, Final

import google_crc32c

from decoders.limits import BATCH_COST, PIECE, RECORD_BYTE_COST
from decoders.records import read_batch_v2, read_legacy_messages
from decoders.records.batch_layout import CRC_START, LOG_OVERHEAD, MAGIC_AT, SIZE
from decoders.records.read_batch_v2 import FAR, read_batch_header
from decoders.records.record_and_batch import (
    Batch,
    Budget,
    Form,
    Record,
    Row,
    TooLarge,
    blank_batch_json,
    set_batch_error,
)
from decoders.records.records_as_json import (
    records_json,
    records_json_noting_encodings,
    records_json_noting_encodings_beyond_json,
)
from decoders.schema.body_json_form import json_bytes
from decoders.wire.deferred_json import DeferredList
from decoders.wire.format_and_escape_text import format_bytes

_MAGIC_MAX: Final = 2
# The size of a batch with one record of one-byte fields, without key, value and headers.
_LEAST: Final = SIZE + 7
_TWO_BYTES: Final = 0x4000
# The bytes from the attributes on: no codec, create time, no transaction, a last offset delta of 0.
_PLAIN: Final = bytes(6)
_ONE_RECORD: Final = b"\0\0\0\x01"
# What shows all keys and values of a single plain record alike.
_FORMS_OF_ALL: Final = (records_json, records_json_noting_encodings, records_json_noting_encodings_beyond_json)


def single_record_batch_json(data: bytes) -> list[dict[str, Any]] | None:
    """The `records` value of one plain batch with one record; None for all other fields, and if anything is wrong."""
    size = len(data)
    if size < _LEAST or data[SIZE - 4 : SIZE] != _ONE_RECORD or data[MAGIC_AT] != _MAGIC_MAX:
        return None
    if data[CRC_START : CRC_START + 6] != _PLAIN:
        return None
    if int.from_bytes(data[8:12], "big") != size - LOG_OVERHEAD:
        return None
    fields, crc, _ = read_batch_header(data, 0, size)
    base, first = fields["base_offset"], fields["base_timestamp"]
    if not -FAR < base < FAR or not -FAR < first < FAR or google_crc32c.value(data[CRC_START:]) != crc:
        return None
    length, at = _read_short_varint_length(data, SIZE)
    # After the attributes come the timestamp and offset deltas, which are 0 in a first record.
    if length is None or at + length != size or data[at + 1 : at + 3] != b"\0\0":
        return None
    key, at = _read_sized_text_json(data, at + 3, size)
    value, at = _read_sized_text_json(data, at, size)
    if at + 1 != size or data[at]:
        return None
    fields["records"] = [{"offset": base, "timestamp": first, "key": key, "value": value, "headers": []}]
    return [fields]


def _read_short_varint_length(data: bytes, at: int) -> tuple[int | None, int]:
    """A length of one or two bytes and the offset after it; None for -1 and for any other number."""
    number = data[at]
    at += 1
    if number > 127 and at < len(data):
        number += (data[at] << 7) - 128
        at += 1
    return (None if number & 1 or number >= _TWO_BYTES else number >> 1), at


def _read_sized_text_json(data: bytes, at: int, size: int) -> tuple[Any, int]:
    """The JSON form of a key or value and the offset after it; the offset is `size` if its length is unusual."""
    if at >= size:
        return None, size
    if data[at] == 1:
        return None, at + 1
    length, start = _read_short_varint_length(data, at)
    if length is None or start + length >= size:
        return None, size
    return json_bytes(data[start : start + length]), start + length


# Batches of any magic

# A batch that cannot be read is a value with an error, never an exception. A batch that cannot be stepped over (its
# size is impossible) takes the rest of the buffer with it.


_INT32: Final = Struct(">i")
_LENGTH_MIN: Final = (read_legacy_messages.SIZE_MIN[0], read_legacy_messages.SIZE_MIN[1], SIZE - LOG_OVERHEAD)
_Reader = Callable[[bytes, int, int, Budget, Form | None], dict[str, Any]]
_READERS: Final[tuple[_Reader, ...]] = (
    read_legacy_messages.read_outer_message,
    read_legacy_messages.read_outer_message,
    read_batch_v2.read_batch,
)
_CUT: Final = (
    read_legacy_messages.read_truncated_message,
    read_legacy_messages.read_truncated_message,
    read_batch_v2.read_truncated_batch,
)
# The memory for the batches that are made together where batches are read while they are written.
_AT_ONCE: Final = PIECE * RECORD_BYTE_COST
_new: Final = tuple.__new__  # half the cost of the class's own


def make_records_of_rows(rows: Iterator[Row]) -> list[Any]:
    """The rows of a batch as a list of Record: the form that the library uses."""
    return list(map(_new, repeat(Record), rows))


def batches_json(
    data: bytes | None, *, records: bool = False, budget: Budget | None = None, form: Form = records_json
) -> list[dict[str, Any]] | None:
    """The `records` value of an exchange record from a records field; null stays null.

    With `records`, each batch has its records, in the given form. The budget is that of the exchange.
    """
    if data is None:
        return None
    budget = budget or Budget()
    if records and form in _FORMS_OF_ALL:
        single = _read_and_charge_single_record_batch(data, budget)
        if single is not None:
            return single
    return list(read_batches_as_fields(data, budget, form if records else None))


def _read_and_charge_single_record_batch(data: bytes, budget: Budget) -> list[dict[str, Any]] | None:
    """The `records` value of one plain batch with one record, charged to the budget; None for all other fields."""
    if budget.batches <= 0 or budget.records <= 0:
        return None
    single = single_record_batch_json(data)
    if single is not None:
        budget.batches -= 1
        budget.records -= 1
        budget.held -= len(data) * RECORD_BYTE_COST
    return single


class DeferredBatches(DeferredList):
    """The batches of a records field that would take much memory, read while they are written."""

    __slots__ = ("_began", "_budget", "_data", "_form")

    def __init__(self, data: bytes, budget: Budget, form: Form | None) -> None:
        self._data = data
        self._budget = budget
        self._form = form
        self._began: tuple[int, int, int, int, int] | None = None

    def chunks(self) -> Iterator[list[Any]]:
        """The batches, some at a time; the records of large ones are deferred as well."""
        budget = self._budget
        if self._began is None:
            self._began = budget.remaining
        budget.remaining = self._began  # reading the batches again costs nothing more
        chunk: list[Any] = []
        try:
            budget.deferring, budget.held = True, _AT_ONCE
            for fields in read_batches_as_fields(self._data, budget, self._form):
                chunk.append(fields)
                if budget.held < 0:
                    yield chunk
                    chunk = []
                    budget.deferring, budget.held = True, _AT_ONCE
        finally:
            budget.deferring, budget.held = False, -1
        if chunk:
            yield chunk


def batches_json_or_deferred(
    data: bytes | None, budget: Budget, *, records: bool, form: Form = records_json
) -> list[dict[str, Any]] | DeferredBatches | None:
    """The `records` value of an exchange record; a DeferredBatches if it would take more memory than the budget has."""
    if data is None:
        return None
    if budget.held < 0:
        return DeferredBatches(data, budget, form if records else None) if data else []
    if records and form in _FORMS_OF_ALL:
        single = _read_and_charge_single_record_batch(data, budget)
        if single is not None:
            return single
    began = budget.remaining
    try:
        return list(read_batches_as_fields(data, budget, form if records else None))
    except TooLarge:
        budget.remaining = began
        budget.held = -1  # later fields are deferred too, so that the budget is spent in their order
        return DeferredBatches(data, budget, form if records else None)


def read_batches(data: bytes | None, *, records: bool, budget: Budget | None = None) -> list[Batch]:
    """The batches of a records field (empty for null), with their records if `records`."""
    return list(
        map(
            batch_from_fields,
            read_batches_as_fields(bytes(data or b""), budget or Budget(), make_records_of_rows if records else None),
        )
    )


def read_records_by_batch(data: bytes, budget: Budget, record_form: Form) -> Iterator[list[Any]]:
    """For each batch, what `record_form` makes of its rows up to a failure; one batch is held in memory at a time."""
    for fields in read_batches_as_fields(data, budget, record_form):
        yield fields["records"]


def read_first_batch_header(data: bytes) -> Batch:
    """The first batch of a records field that is not empty, without its records; the others are not read."""
    return batch_from_fields(next(read_batches_as_fields(data, Budget(), None)))


def batch_from_fields(fields: dict[str, Any]) -> Batch:
    error = fields.pop("error", None)
    found = Batch(**fields)
    if error is not None:
        found.error = (error["reason"], error["text"])
    return found


def decode_records(data: bytes) -> list[Batch]:
    """All batches of a records field with all their records, in any of the three formats.

    Nothing is raised: a broken batch says in its `error` what is wrong.
    """
    return read_batches(data, records=True)


def read_batches_as_fields(data: bytes, budget: Budget, form: Form | None) -> Iterator[dict[str, Any]]:
    """The JSON-ready dict of each batch or outer message; their sizes add up to the buffer's length."""
    at, end = 0, len(data)
    while at < end:
        left = budget.batches = budget.batches - 1
        held = budget.held = budget.held - BATCH_COST
        if held < 0 and not budget.deferring:
            raise TooLarge
        if left < 0:
            yield set_batch_error(blank_unread_batch(end - at, form), "limit", "too many batches for one exchange")
            return
        if end - at >= SIZE and data[at + MAGIC_AT] == _MAGIC_MAX:
            # Nearly all batches are whole ones of magic 2.
            (length,) = _INT32.unpack_from(data, at + 8)
            stop = at + LOG_OVERHEAD + length
            if length >= _LENGTH_MIN[_MAGIC_MAX] and stop <= end:
                yield read_batch_v2.read_batch(data, at, stop, budget, form)
                at = stop
                continue
        stop, problem = find_batch_end(data, at, end)
        magic = data[at + MAGIC_AT] if end - at > MAGIC_AT else _MAGIC_MAX
        if problem:
            yield set_batch_error(blank_unread_batch(stop - at, form), "malformed", problem)
        elif stop > end:
            fields = _CUT[magic](data, at, end - at)
            if form is not None:
                fields["records"] = []
            yield fields
        else:
            yield _READERS[magic](data, at, stop, budget, form)
        at = stop


def find_batch_end(data: bytes, at: int, end: int) -> tuple[int, str]:
    """The end of the batch at `at` (beyond `end` if it is cut off), and why it is no batch (empty if it is)."""
    left = end - at
    if left < LOG_OVERHEAD:
        return end + 1, ""
    (length,) = _INT32.unpack_from(data, at + 8)
    stop = at + LOG_OVERHEAD + length
    if left <= MAGIC_AT:
        return (end, f"a batch of {format_bytes(length)}") if length < _LENGTH_MIN[0] else (max(stop, end + 1), "")
    magic = data[at + MAGIC_AT]
    if magic > _MAGIC_MAX:
        good = length >= _LENGTH_MIN[0] and stop <= end
        return stop if good else end, f"a batch of magic {magic}"
    if length < _LENGTH_MIN[magic]:
        return end, f"a batch of magic {magic} in {format_bytes(length)}"
    return stop, ""


def blank_unread_batch(size: int, form: Form | None) -> dict[str, Any]:
    fields = blank_batch_json(size)
    if form is not None:
        fields["records"] = []
    return fields
