"""A records field in, the byte parts of its batches out: header fields, and fields of plain records.

Parts are those of schema/plan_walker.py. Covers batches of magic 2 and messages of magic 0 and 1. Compressed records
are one part; bytes that cannot be read are one part as well, with the reason as its value.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from struct import Struct
from typing import Final

import google_crc32c

from decoders.errors import DecodeError
from decoders.limits import PARTS_MAX
from decoders.records.batch_layout import (
    CONTROL,
    CRC_START,
    DELETE_HORIZON,
    LOG_APPEND,
    LOG_OVERHEAD,
    MAGIC_AT,
    SIZE,
    TRANSACTIONAL,
)
from decoders.records.codecs import CODEC_MASK, CODEC_NAMES
from decoders.schema.plan_walker import BytePart
from decoders.wire.format_and_escape_text import format_bytes
from decoders.wire.primitive_types import STRUCTS, read_varint, read_varlong

_INT32: Final = Struct(">i")
_CRC: Final = Struct(">I")
# The header of each magic in wire order; in message sets the key and the value follow.
HEADERS: Final[dict[int, tuple[tuple[str, str], ...]]] = {
    2: (
        ("base_offset", "int64"),
        ("batch_length", "int32"),
        ("partition_leader_epoch", "int32"),
        ("magic", "int8"),
        ("crc", "uint32"),
        ("attributes", "int16"),
        ("last_offset_delta", "int32"),
        ("base_timestamp", "int64"),
        ("max_timestamp", "int64"),
        ("producer_id", "int64"),
        ("producer_epoch", "int16"),
        ("base_sequence", "int32"),
        ("record_count", "int32"),
    ),
    0: (("offset", "int64"), ("message_size", "int32"), ("crc", "uint32"), ("magic", "int8"), ("attributes", "int8")),
}
_TIMESTAMP: Final = ("timestamp", "int64")
_SIZE_MIN: Final = {0: 14, 1: 22, 2: SIZE - LOG_OVERHEAD}
# How many records of one batch are taken apart; the rest is one part.
RECORDS_MAX: Final = 10_000
# How many headers of one record are taken apart, into four parts each; a record's headers beyond that are one part.
NAMED_HEADERS_MAX: Final = PARTS_MAX // 4
Hide = Callable[[bytes], bool]


def split_batches_into_parts(data: bytes, at: int, end: int, path: str, hide: Hide | None = None) -> Iterator[BytePart]:
    """The parts of the batches in `data[at:end]`; with `hide`, values it is true for and unread bytes are secret."""
    number = 0
    while at < end:
        place = f"{path}[{number}]"
        magic = data[at + MAGIC_AT] if end - at > MAGIC_AT else -1
        length = _INT32.unpack_from(data, at + 8)[0] if end - at >= LOG_OVERHEAD else -1
        if magic not in _SIZE_MIN or length < _SIZE_MIN[magic]:
            why = "a batch cut off" if length >= 0 and magic < 0 else "no batch"
            yield BytePart(place, at, end, "value", why, "bytes", hide is not None)
            return
        stop = at + LOG_OVERHEAD + length
        if stop > end:
            yield from _split_header_into_parts(data, at, end, magic, place, "unchecked")
            body = at + _batch_header_size(magic)
            if body < end:
                text = f"cut off: the batch lacks {format_bytes(stop - end)}"
                yield BytePart(f"{place}.records", body, end, "value", text, "bytes", hide is not None)
            return
        yield from (_split_batch_v2_into_parts if magic == 2 else _split_message_into_parts)(
            data, at, stop, magic, place, hide
        )
        at = stop
        number += 1


def _batch_header_size(magic: int) -> int:
    return SIZE if magic == 2 else 18 + 8 * magic


def _split_header_into_parts(
    data: bytes, at: int, end: int, magic: int, path: str, crc_verdict: str
) -> Iterator[BytePart]:
    """The parts of a header, as many as are there."""
    fields = HEADERS[2] if magic == 2 else HEADERS[0] + ((_TIMESTAMP,) if magic else ())
    for name, kind in fields:
        form = STRUCTS[kind]
        if at + form.size > end:
            if at < end:
                yield BytePart(f"{path}.{name}", at, end, "value", "cut off", kind)
            return
        (value,) = form.unpack_from(data, at)
        shown: object = value
        if name == "crc":
            shown = f"{value:08x} {crc_verdict}"
        elif name == "attributes":
            shown = _describe_batch_attributes(value, magic)
        yield BytePart(f"{path}.{name}", at, at + form.size, "value", shown, kind)
        at += form.size


def _describe_batch_attributes(attributes: int, magic: int) -> str:
    words = [CODEC_NAMES[attributes & CODEC_MASK]]
    if magic and attributes & LOG_APPEND:
        words.append("log append time")
    if magic == 2:
        flags = ((TRANSACTIONAL, "transactional"), (CONTROL, "control"), (DELETE_HORIZON, "delete horizon"))
        words += [word for flag, word in flags if attributes & flag]
    return ", ".join(words)


def _split_batch_v2_into_parts(
    data: bytes, at: int, stop: int, magic: int, path: str, hide: Hide | None
) -> Iterator[BytePart]:
    good = google_crc32c.value(data[at + CRC_START : stop]) == _CRC.unpack_from(data, at + CRC_START - 4)[0]
    yield from _split_header_into_parts(data, at, stop, magic, path, "ok" if good else "bad")
    attributes, count = data[at + CRC_START + 1], _INT32.unpack_from(data, at + SIZE - 4)[0]
    start = at + SIZE
    codec = attributes & CODEC_MASK
    if start == stop:
        return
    if codec or not good:
        text = (
            f"{CODEC_NAMES[codec]}, {format_bytes(stop - start)}" if good else f"unread, {format_bytes(stop - start)}"
        )
        yield BytePart(f"{path}.records", start, stop, "value", text, "bytes", hide is not None)
        return
    number = 0
    try:
        while start < stop and number < min(count, RECORDS_MAX):
            parts, after = _split_record_into_parts(data, start, stop, f"{path}.records[{number}]", hide)
            yield from parts
            start = after
            number += 1
    except DecodeError as failure:
        yield BytePart(f"{path}.records[{number}]", start, stop, "value", failure.text, "bytes", hide is not None)
        return
    if start < stop:
        text = f"{format_bytes(stop - start)}, {max(count - number, 0):,} records more"
        yield BytePart(f"{path}.records[{number}]", start, stop, "value", text, "bytes", hide is not None)


def _split_record_into_parts(
    data: bytes, at: int, stop: int, path: str, hide: Hide | None
) -> tuple[list[BytePart], int]:
    """The parts of one record, and the offset after it. Raises DecodeError."""
    size, start = read_varint(data, at, stop)
    end = start + size
    if size < 1 or end > stop:
        raise DecodeError(f"a record of {format_bytes(size)}, {stop - start} are left", offset=at)
    parts = [
        BytePart(f"{path}.length", at, start, "value", size, "varint"),
        BytePart(f"{path}.attributes", start, start + 1, "value", data[start], "int8"),
    ]
    stamp, after = read_varlong(data, start + 1, end)
    parts.append(BytePart(f"{path}.timestamp_delta", start + 1, after, "value", stamp, "varlong"))
    delta, at = read_varint(data, after, end)
    parts.append(BytePart(f"{path}.offset_delta", after, at, "value", delta, "varint"))
    at = _append_sized_bytes_parts(data, at, end, f"{path}.key", parts)
    at = _append_sized_bytes_parts(data, at, end, f"{path}.value", parts, hide)
    count, after = read_varint(data, at, end)
    parts.append(BytePart(f"{path}.headers", at, after, "size", count, "varint array", False, True))
    at = after
    if count > NAMED_HEADERS_MAX:
        text = f"{count:,} headers in {format_bytes(end - at)}"
        if count > (end - at) // 2:  # each header takes two bytes at least: the sizes of its key and its value
            raise DecodeError(text, offset=at)
        parts.append(BytePart(f"{path}.headers", at, end, "value", text, "bytes", hide is not None))
        return parts, end
    for number in range(count):
        at = _append_sized_bytes_parts(data, at, end, f"{path}.headers[{number}].key", parts)
        at = _append_sized_bytes_parts(data, at, end, f"{path}.headers[{number}].value", parts)
    if at != end:
        raise DecodeError(f"a record that says {format_bytes(size)} and has {at - end + size}", offset=at)
    return parts, end


def _append_sized_bytes_parts(
    data: bytes, at: int, end: int, path: str, parts: list[BytePart], hide: Hide | None = None
) -> int:
    size, start = read_varint(data, at, end)
    after = start + max(size, 0)
    if after > end:
        raise DecodeError(f"{format_bytes(size)}, {end - start} are left in the record", offset=at)
    parts.append(BytePart(path, at, start, "size", size, "varint bytes"))
    if size >= 0:
        value = data[start:after]
        parts.append(BytePart(path, start, after, "value", value, "varint bytes", hide is not None and hide(value)))
    return after


def _split_message_into_parts(
    data: bytes, at: int, stop: int, magic: int, path: str, hide: Hide | None
) -> Iterator[BytePart]:
    """The parts of an outer message of magic 0 or 1."""
    good = zlib.crc32(memoryview(data)[at + 16 : stop]) == _CRC.unpack_from(data, at + 12)[0]
    yield from _split_header_into_parts(data, at, stop, magic, path, "ok" if good else "bad")
    codec = data[at + 17] & CODEC_MASK
    start = at + _batch_header_size(magic)
    for name in ("key", "value"):
        size = _INT32.unpack_from(data, start)[0] if stop - start >= 4 else 0
        after = start + 4 + max(size, 0)
        if stop - start < 4 or after > stop:
            yield BytePart(f"{path}.{name}", start, stop, "value", "longer than its message", "bytes", hide is not None)
            return
        yield BytePart(f"{path}.{name}", start, start + 4, "size", size, "bytes")
        if size >= 0:
            value: object = data[start + 4 : after]
            if name == "value" and codec:
                value = f"{CODEC_NAMES[codec]}, {format_bytes(size)}"
            yield BytePart(f"{path}.{name}", start + 4, after, "value", value, "bytes", hide is not None)
        start = after
    if start < stop:
        yield BytePart(f"{path}.behind", start, stop, "value", "behind the value", "bytes", hide is not None)
