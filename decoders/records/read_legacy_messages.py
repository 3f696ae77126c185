"""An outer message of magic 0 or 1 in, its JSON-ready dict out, with the messages inside a wrapper.

A message: int64 offset, int32 size, then uint32 CRC-32 of what follows, int8 magic, int8 attributes, in magic 1 an
int64 timestamp, and key and value as int32-sized bytes. A compressed message is a wrapper: its value is a message set.
Inner offsets are absolute in magic 0. In magic 1 they are relative, and the last inner message has the wrapper's offset
(Kafka's AbstractLegacyRecordBatch); librdkafka may leave 0 in the wrapper, the inner offsets are then absolute.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from struct import Struct
from typing import Any, ClassVar, Final

from decoders.errors import DecodeError, LimitExceeded, Malformed, Truncated
from decoders.limits import BATCH_INFLATED_MAX, NESTED_MAX, RECORD_BYTE_COST, RECORD_NESTING_MAX
from decoders.named_tuple import NamedTuple
from decoders.records.batch_layout import LOG_APPEND, LOG_OVERHEAD
from decoders.records.codecs import CODEC_MASK, CODEC_NAMES
from decoders.records.read_batch_v2 import Problem, inflate_within_budget
from decoders.records.read_rows_v2 import wrap_int64
from decoders.records.record_and_batch import Budget, Form, Row, TooLarge, blank_batch_json, set_batch_error
from decoders.records.records_as_json import DeferredRecords, Failures
from decoders.wire.format_and_escape_text import format_bytes

# offset, size, crc, magic, attributes
_HEAD: Final = Struct(">qiIbb")
_INT64: Final = Struct(">q")
_INT32: Final = Struct(">i")
_CRC_START: Final = 16
_ATTRIBUTES_AT: Final = 17
# The size of the smallest message.
_LEAST: Final = 26
# The smallest value of the size field by magic: checksum, magic, attributes, (timestamp,) two lengths.
SIZE_MIN: Final[dict[int, int]] = {0: 14, 1: 22}


class _Message(NamedTuple):
    """One message as it is on the wire, without checksum; `timestamp` is None in magic 0."""

    offset: int
    attributes: int
    timestamp: int | None
    key: bytes | None
    value: bytes | None


class _CollectedRows:
    """What reading a message collects: rows while the budget allows, and always count and first offset.

    Where the rows would take too much memory they are `deferred`: `rows` is empty, `taken` says how many may be shown.
    """

    def __init__(self, budget: Budget, *, keep: bool) -> None:
        self.rows: list[Row] = []
        self.count = 0
        self.taken = 0
        self.first: int | None = None
        self.budget = budget
        self.keep = keep
        self.deferred = False

    def add_row(self, row: Row) -> None:
        if self.first is None:
            self.first = row[0]
        self.count += 1
        budget = self.budget
        if self.keep and budget.records > 0:
            budget.records -= 1
            self.taken += 1
            if self.deferred:
                return
            self.rows.append(row)
            budget.held -= (_LEAST + len(row[2] or b"") + len(row[3] or b"")) * RECORD_BYTE_COST
            if budget.held < 0:
                if not budget.deferring:
                    raise TooLarge
                self.deferred = True
                self.rows.clear()


def read_message_head(data: bytes, at: int, size: int) -> tuple[dict[str, Any], int]:
    """The JSON-ready dict from the first 18 bytes of an outer message, and the message's attributes."""
    offset, _, _, magic, attributes = _HEAD.unpack_from(data, at)
    fields = blank_batch_json(size)
    fields["last_offset"] = offset
    fields["magic"] = magic
    fields["codec"] = CODEC_NAMES[attributes & CODEC_MASK]
    if magic:
        fields["timestamp_type"] = "log_append" if attributes & LOG_APPEND else "create"
    if not attributes & CODEC_MASK:
        fields["base_offset"] = offset
        fields["record_count"] = 1
    return fields, attributes


def read_truncated_message(data: bytes, at: int, size_present: int) -> dict[str, Any]:
    """The JSON-ready dict of a truncated message, of which only `size_present` bytes are there."""
    if size_present < _HEAD.size:
        fields = blank_batch_json(size_present)
        (fields["last_offset"],) = _INT64.unpack_from(data, at)
        fields["magic"] = data[at + _CRC_START]
    else:
        fields, _ = read_message_head(data, at, size_present)
        if fields["magic"] and size_present >= _HEAD.size + 8:
            (fields["max_timestamp"],) = _INT64.unpack_from(data, at + _HEAD.size)
    fields["truncated"] = True
    return fields


def read_outer_message(data: bytes, at: int, stop: int, budget: Budget, form: Form | None) -> dict[str, Any]:
    """The JSON-ready dict of the whole outer message from `at` to `stop`; with its records if a form is given."""
    fields, attributes = read_message_head(data, at, stop - at)
    problem: Problem | None = None
    found = _CollectedRows(budget, keep=form is not None)
    message: _Message | None = None
    try:
        message = _read_message(data, at, stop)
    except _BadChecksum as mismatch:
        fields["crc"] = "bad"
        problem = "crc", mismatch.text
        with suppress(DecodeError):
            message = _read_message(data, at, stop, verify_checksum=False)
            fields["max_timestamp"] = message.timestamp
            _collect_rows(message, fields["magic"], found)
    except DecodeError as failure:
        fields["crc"] = "ok"
        problem = "malformed", failure.text
    else:
        fields["crc"] = "ok"
        fields["max_timestamp"] = message.timestamp
        problem = _collect_rows(message, fields["magic"], found)
        if attributes & CODEC_MASK:
            fields["base_offset"] = found.first
            fields["record_count"] = found.count if problem is None else None
    if problem is not None:
        set_batch_error(fields, *problem)
    if form is None:
        return fields
    if found.deferred and message is not None:
        again = partial(_read_rows_again, message, fields["magic"])
        fields["records"] = DeferredRecords(again, found.taken, found.count, budget, form)
        return fields
    records = form(iter(found.rows))
    if len(records) < found.count:
        fields["records_cut"] = found.count - len(records)
    fields["records"] = records
    return fields


def count_records_in_wrapper(data: bytes, at: int, stop: int, budget: Budget) -> int:
    """How many records the whole compressed message from `at` to `stop` holds; 0 where it is damaged."""
    try:
        return _count_nested_records(data, at, stop, budget, 1)
    except DecodeError:
        return 0


def _count_nested_records(data: bytes, at: int, stop: int, budget: Budget, depth: int) -> int:
    """How many records a compressed message holds at nesting level `depth`. Raises what `_rows_of_wrapper` raises."""
    magic = data[at + _CRC_START]
    _, attributes, _, value = _locate_key_and_value(data, at, stop, verify_checksum=True)
    inner = _inflate_wrapped_set(_read_int32_sized(data, value), attributes, magic, budget, depth)
    _find_last_inner_message(inner)
    count = 0
    for begin, end in _inner_message_ranges(inner, magic):
        if inner[begin + _ATTRIBUTES_AT] & CODEC_MASK:
            count += _count_nested_records(inner, begin, end, budget, depth + 1)
        else:
            _locate_key_and_value(inner, begin, end, verify_checksum=True)
            count += 1
    return count


class _BadChecksum(Malformed):
    reason: ClassVar[str] = "crc"


class _BadCodec(Malformed):
    reason: ClassVar[str] = "codec"


def _collect_rows(message: _Message, magic: int, found: _CollectedRows) -> Problem | None:
    """Collect the rows of a message or wrapper; returns the problem that ended it early, None if none did."""
    try:
        for row in _rows_of_outer_message(message, magic, found.budget):
            found.add_row(row)
    except DecodeError as failure:
        return failure.reason, failure.text
    return None


def _read_rows_again(message: _Message, magic: int, _failures: Failures) -> Iterator[Row]:
    """The rows of an outer message, read again: a failure just ends them, and the exchange's budget is not charged."""
    with suppress(DecodeError):
        yield from _rows_of_outer_message(message, magic, Budget())


def _rows_of_outer_message(message: _Message, magic: int, budget: Budget) -> Iterator[Row]:
    """The rows of an outer message: one if it is plain, those of its inner messages if it is a wrapper."""
    if message.attributes & CODEC_MASK:
        yield from _rows_of_wrapper(message, message.offset, magic, budget, 1)
    else:
        yield message.offset, message.timestamp, message.key, message.value, (), None


def _inflate_wrapped_set(wrapper_value: bytes | None, attributes: int, magic: int, budget: Budget, depth: int) -> bytes:
    """The decompressed message set of a wrapper at nesting level `depth`. Raises LimitExceeded or Malformed."""
    if depth > RECORD_NESTING_MAX:
        raise LimitExceeded(f"compressed messages more than {RECORD_NESTING_MAX} deep")
    if wrapper_value is None:
        raise Malformed("a compressed message without a value")
    cap = BATCH_INFLATED_MAX if depth == 1 else NESTED_MAX
    try:
        return inflate_within_budget(attributes & CODEC_MASK, memoryview(wrapper_value), budget, magic, cap)
    except LimitExceeded:
        raise
    except DecodeError as failure:
        raise _BadCodec(failure.text) from None


def _inner_message_ranges(data: bytes, magic: int) -> Iterator[tuple[int, int]]:
    """The start and end of each message of an inner set, whose sizes `_find_last_inner_message` has checked."""
    at, end = 0, len(data)
    while at < end:
        stop = at + LOG_OVERHEAD + _INT32.unpack_from(data, at + 8)[0]
        if data[at + _CRC_START] != magic:
            raise Malformed(f"a message of magic {data[at + _CRC_START]} inside one of magic {magic}")
        if data[at + _ATTRIBUTES_AT] & CODEC_MASK and stop - at > NESTED_MAX:
            raise LimitExceeded(f"a compressed message of {format_bytes(stop - at)} inside another one")
        yield at, stop
        at = stop


def _rows_of_wrapper(wrapper: _Message, absolute_offset: int, magic: int, budget: Budget, depth: int) -> Iterator[Row]:
    """The rows of the messages in a wrapper whose absolute offset is `absolute_offset`."""
    data = _inflate_wrapped_set(wrapper.value, wrapper.attributes, magic, budget, depth)
    last = _find_last_inner_message(data)
    base = 0
    if magic and absolute_offset:
        base = absolute_offset - _INT64.unpack_from(data, last)[0]
    for at, stop in _inner_message_ranges(data, magic):
        inner = _read_message(data, at, stop)
        absolute = wrap_int64(base + inner.offset)
        if inner.attributes & CODEC_MASK:
            yield from _rows_of_wrapper(inner, absolute, magic, budget, depth + 1)
        else:
            append = wrapper.attributes & LOG_APPEND
            timestamp = wrapper.timestamp if append else inner.timestamp
            yield absolute, timestamp, inner.key, inner.value, (), None


def _find_last_inner_message(data: bytes) -> int:
    """The start of the last message of an inner set. Raises DecodeError if the set does not end with a message."""
    last = -1
    at, end = 0, len(data)
    while at < end:
        if at + LOG_OVERHEAD + SIZE_MIN[0] > end:
            raise Truncated("the last inner message is cut", offset=at)
        (size,) = _INT32.unpack_from(data, at + 8)
        stop = at + LOG_OVERHEAD + size
        if size < SIZE_MIN[0] or stop > end:
            raise Malformed(f"an inner message of {format_bytes(size)}, {end - at - LOG_OVERHEAD} are left", offset=at)
        last, at = at, stop
    if last < 0:
        raise Malformed("a compressed message with nothing inside")
    return last


def _read_message(data: bytes, at: int, stop: int, *, verify_checksum: bool = True) -> _Message:
    """One whole message; its checksum is verified if `verify_checksum`. Raises DecodeError."""
    offset, attributes, key, value = _locate_key_and_value(data, at, stop, verify_checksum=verify_checksum)
    timestamp = _INT64.unpack_from(data, key - 8)[0] if data[at + _CRC_START] else None
    return _Message(offset, attributes, timestamp, _read_int32_sized(data, key), _read_int32_sized(data, value))


def _locate_key_and_value(data: bytes, at: int, stop: int, *, verify_checksum: bool) -> tuple[int, int, int, int]:
    """The offset and attributes of a whole message, and where the size fields of its key and its value are."""
    offset, size, crc, magic, attributes = _HEAD.unpack_from(data, at)
    if verify_checksum:
        found = zlib.crc32(memoryview(data)[at + _CRC_START : stop])
        if found != crc:
            raise _BadChecksum(f"the CRC-32 of message {offset} is {found:08x}, it says {crc:08x}", offset=at)
    if size < SIZE_MIN[1 if magic else 0]:
        raise Malformed(f"a message of magic {magic} in {format_bytes(size)}", offset=at)
    key = at + _HEAD.size + (8 if magic else 0)
    value = _skip_int32_sized(data, key, stop)
    end = _skip_int32_sized(data, value, stop)
    if end != stop:
        raise Malformed(f"{format_bytes(stop - end)} after the value of message {offset}", offset=end)
    return offset, attributes, key, value


def _skip_int32_sized(data: bytes, at: int, stop: int) -> int:
    """The offset after int32-sized bytes at `at`. Raises Truncated."""
    if at + 4 > stop:
        raise Truncated("the message is cut", offset=at)
    size: int = _INT32.unpack_from(data, at)[0]
    if size > stop - at - 4:
        raise Truncated(f"{format_bytes(size)}, {stop - at - 4} are left in the message", offset=at)
    return at + 4 + max(size, 0)


def _read_int32_sized(data: bytes, at: int) -> bytes | None:
    """The int32-sized bytes at `at`, None if the size is negative; `_skip_int32_sized` has checked them."""
    size: int = _INT32.unpack_from(data, at)[0]
    return data[at + 4 : at + 4 + size] if size >= 0 else None
