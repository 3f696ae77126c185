"""Records, or batches in JSON form, in; a records field in any of the three formats out, as Kafka writes it."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from struct import Struct, error
from typing import Any, Final

import google_crc32c

from decoders.errors import EncodeError
from decoders.records.batch_layout import (
    CONTROL,
    CRC_START,
    DELETE_HORIZON,
    HEADER,
    LOG_APPEND,
    LOG_OVERHEAD,
    TRANSACTIONAL,
)
from decoders.records.codecs import NUMBERS, deflate
from decoders.records.record_and_batch import Batch, Header, Record
from decoders.schema.body_json_form import bytes_from_json, leaf_from_json, quote_json, text_from_json
from decoders.wire.primitive_types import encode_varint, encode_varlong

_OVERHEAD: Final = Struct(">qiI")  # offset, size, crc
_HEADS: Final = (Struct(">bb"), Struct(">bbq"))  # magic, attributes, timestamp
_INT32: Final = Struct(">i")
_CRC_SIZE: Final = 4
_NULL_SIZE: Final = _INT32.pack(-1)
_CODECS: Final = ("none", "gzip", "snappy", "lz4")
TIMESTAMP_TYPES: Final = {"create": 0, "log_append": LOG_APPEND}


def encode_message_set(
    records: Sequence[Record],
    magic: int,
    *,
    codec: str = "none",
    last_offset: int | None = None,
    timestamp_type: str | None = None,
    max_timestamp: int | None = None,
) -> bytes:
    """A message set of magic 0 or 1: one message per record, or one wrapper of all with a codec. Raises EncodeError.

    `last_offset` and `max_timestamp` are the wrapper's, if they do not follow from the records.
    """
    _check_message_set_is_writable(records, magic, codec, timestamp_type)
    kind = TIMESTAMP_TYPES[timestamp_type or "create"] if magic else 0
    stamps = [-1 if record.timestamp is None else record.timestamp for record in records]
    if codec == "none":
        return b"".join(
            _encode_message(record.offset, magic, kind, stamp, record.key, record.value, f"records[{index}]")
            for index, (record, stamp) in enumerate(zip(records, stamps, strict=True))
        )
    last = records[-1].offset
    if last_offset is None:
        last_offset = last
    base = records[0].offset if magic and last_offset else 0
    if magic and last_offset not in (0, last):
        raise EncodeError(f"in magic 1 this is the last record's, {last}", path="last_offset")
    inner = b"".join(
        _encode_message(record.offset - base, magic, kind, stamp, record.key, record.value, f"records[{index}]")
        for index, (record, stamp) in enumerate(zip(records, stamps, strict=True))
    )
    if max_timestamp is None:
        max_timestamp = max(stamps)
    packed = deflate(codec, inner, magic)
    return _encode_message(last_offset, magic, kind | NUMBERS[codec], max_timestamp, None, packed, "")


def _check_message_set_is_writable(
    records: Sequence[Record], magic: int, codec: str, timestamp_type: str | None
) -> None:
    """Raise EncodeError if these records cannot be written as a message set of this magic."""
    if magic not in (0, 1):
        raise EncodeError(f"no records have magic {magic}; there are 0, 1 and 2", path="magic")
    if codec in NUMBERS and codec not in _CODECS:
        raise EncodeError(f"{codec} needs magic 2", path="codec")
    if codec not in NUMBERS:
        raise EncodeError(f"no compression is called {codec!r}; there are {', '.join(_CODECS)}", path="codec")
    if timestamp_type is not None and (timestamp_type not in TIMESTAMP_TYPES or not magic):
        text = "needs magic 1 or 2" if timestamp_type in TIMESTAMP_TYPES else "is neither create nor log_append"
        raise EncodeError(f"{timestamp_type!r} {text}", path="timestamp_type")
    if codec != "none" and not records:
        raise EncodeError(f"magic {magic} cannot compress no records at all", path="records")
    for index, record in enumerate(records):
        if record.headers:
            raise EncodeError("headers need magic 2", path=f"records[{index}].headers")
        if not magic and record.timestamp not in (None, -1):
            raise EncodeError("a timestamp needs magic 1 or 2", path=f"records[{index}].timestamp")


def _encode_message(
    offset: int, magic: int, attributes: int, timestamp: int, key: bytes | None, value: bytes | None, path: str
) -> bytes:
    """The bytes of one message, with offset, size and checksum. Raises EncodeError."""
    try:
        head = _HEADS[magic].pack(magic, attributes, *([timestamp] if magic else []))
        body = b"".join((head, *_encode_int32_sized(key), *_encode_int32_sized(value)))
        return _OVERHEAD.pack(offset, _CRC_SIZE + len(body), zlib.crc32(body)) + body
    except error as failure:
        raise EncodeError(f"offset, timestamp or size is out of range: {failure}", path=path) from None


def _encode_int32_sized(data: bytes | None) -> tuple[bytes, ...]:
    return (_NULL_SIZE,) if data is None else (_INT32.pack(len(data)), data)


# Batches of magic 2, as Kafka's Java code writes them

# Magic 2 is written here, the message sets of magic 0 and 1 by `encode_message_set`.


_MAGIC: Final = 2
_CRC: Final = Struct(">I")
_CRC_AT: Final = CRC_START - _CRC.size
_NULL_VARINT: Final = encode_varint(-1)
_ONLY_MAGIC_2: Final = (
    *("producer_id", "producer_epoch", "base_sequence", "transactional", "control", "delete_horizon_ms"),
)


def encode_batch(records: Sequence[Record], header: Batch | None = None) -> bytes:
    """The bytes of one batch, or of the messages of magic 0 and 1: one per record, or a wrapper of all with a codec.

    `header` holds everything besides the records; magic 2 and codec none are its defaults. Offsets and timestamps left
    out follow from the records; a delete horizon is the base timestamp. Without records the offsets are those of the
    header (default 0 and base - 1) and the timestamps -1. Raises EncodeError, also for fields that the magic does not
    have.
    """
    header = Batch() if header is None else header
    codec = header.codec or "none"
    if header.magic not in (None, _MAGIC):
        _refuse_fields_of_magic_2(header)
        return encode_message_set(
            records,
            header.magic,
            codec=codec,
            last_offset=header.last_offset,
            timestamp_type=header.timestamp_type,
            max_timestamp=header.max_timestamp,
        )
    base_offset, last_offset = _first_and_last_offset(records, header.base_offset, header.last_offset)
    stamps = [-1 if record.timestamp is None else record.timestamp for record in records]
    base_timestamp, horizon = header.base_timestamp, header.delete_horizon_ms
    if horizon is not None or base_timestamp is None:
        base_timestamp = next(iter(stamps), -1) if horizon is None else horizon
    payload = b"".join(
        _encode_record(record, stamp - base_timestamp, base_offset, index)
        for index, (record, stamp) in enumerate(zip(records, stamps, strict=True))
    )
    packed = deflate(codec, payload, _MAGIC)
    flags = (TRANSACTIONAL if header.transactional else 0) | (CONTROL if header.control else 0)
    flags |= NUMBERS[codec] | _timestamp_type_flag(header.timestamp_type) | (0 if horizon is None else DELETE_HORIZON)
    return _encode_batch_v2(
        packed,
        base_offset,
        -1 if header.partition_leader_epoch is None else header.partition_leader_epoch,
        flags,
        last_offset - base_offset,
        base_timestamp,
        max(stamps, default=-1) if header.max_timestamp is None else header.max_timestamp,
        *(
            -1 if number is None else number
            for number in (header.producer_id, header.producer_epoch, header.base_sequence)
        ),
        len(records),
    )


def _refuse_fields_of_magic_2(header: Batch) -> None:
    for name in _ONLY_MAGIC_2:
        value = getattr(header, name)
        if value is not None and value is not False and value != -1:
            raise EncodeError("needs magic 2", path=name)


def _first_and_last_offset(
    records: Sequence[Record], base_offset: int | None, last_offset: int | None
) -> tuple[int, int]:
    """The first and the last offset: as given, or else of the records."""
    if base_offset is None:
        base_offset = records[0].offset if records else 0
    if last_offset is None:
        last_offset = records[-1].offset if records else base_offset - 1
    return base_offset, last_offset


def _timestamp_type_flag(timestamp_type: str | None) -> int:
    flag = TIMESTAMP_TYPES.get(timestamp_type or "create")
    if flag is None:
        raise EncodeError(f"create or log_append, not {timestamp_type!r}", path="timestamp_type")
    return flag


def _encode_batch_v2(packed_records: bytes, base_offset: int, partition_leader_epoch: int, *rest: int) -> bytes:
    """The bytes of a batch of magic 2; `rest` are the header's fields from the attributes on. Raises EncodeError."""
    try:
        head = HEADER.pack(
            base_offset, HEADER.size - LOG_OVERHEAD + len(packed_records), partition_leader_epoch, _MAGIC, 0, *rest
        )
    except error as failure:
        raise EncodeError(f"a field of the batch is out of range: {failure}") from None
    out = bytearray(head + packed_records)
    _CRC.pack_into(out, _CRC_AT, google_crc32c.value(bytes(out[CRC_START:])))
    return bytes(out)


def encode_records(batches: Iterable[Batch]) -> bytes:
    """The bytes of whole batches with their records, of any magic (2 if it is None). Raises EncodeError.

    The records of a wrapper of magic 0 or 1 are written as one wrapper again, one level deep.
    """
    if not isinstance(batches, Iterable):
        raise _make_type_error("an iterable of Batch", batches, "")
    return b"".join(_encode_batch_with_records(batch, f"[{index}]") for index, batch in enumerate(batches))


def _encode_batch_with_records(batch: Batch, path: str) -> bytes:
    if not isinstance(batch, Batch):
        raise _make_type_error("Batch", batch, path)
    if batch.error is not None or batch.truncated or batch.records_cut:
        raise EncodeError("only whole batches can be written", path=path)
    if batch.records is None:
        raise EncodeError("a batch without its records", path=f"{path}.records")
    try:
        return encode_batch(batch.records, batch)
    except (EncodeError, TypeError, ValueError, AttributeError, OverflowError, error) as failure:
        wrong = next(_find_type_errors_of_batch(batch, path), None)
        if wrong is None:
            text, place = (failure.text, failure.path) if isinstance(failure, EncodeError) else (str(failure), "")
            wrong = EncodeError(text, path=f"{path}.{place}".rstrip("."))
        raise wrong from None


def _find_type_errors_of_batch(batch: Batch, path: str) -> Iterator[EncodeError]:
    """An error for each field of a batch that could not be encoded, and of its records, that has another type."""
    for name in ("magic", *(name for name, kind in _NUMBERS.items() if kind != "bool")):
        value = getattr(batch, name)
        if not isinstance(value, int | None):
            yield _make_type_error("int or None", value, f"{path}.{name}")
    for name in _CHOICES:
        value = getattr(batch, name)
        if not isinstance(value, str | None):
            yield _make_type_error("str or None", value, f"{path}.{name}")
    if not isinstance(batch.records, Sequence):
        yield _make_type_error("a list of Record", batch.records, f"{path}.records")
        return
    for index, record in enumerate(batch.records):
        place = f"{path}.records[{index}]"
        if not isinstance(record, Record):
            yield _make_type_error("Record", record, place)
            continue
        if not isinstance(record.offset, int):
            yield _make_type_error("int", record.offset, f"{place}.offset")
        if not isinstance(record.timestamp, int | None):
            yield _make_type_error("int or None", record.timestamp, f"{place}.timestamp")
        for name, data in (("key", record.key), ("value", record.value)):
            if not isinstance(data, bytes | bytearray | memoryview | None):
                yield _make_type_error("bytes or None", data, f"{place}.{name}")
        yield from _find_type_errors_of_headers(record.headers, f"{place}.headers")


def _find_type_errors_of_headers(headers: Sequence[Header], path: str) -> Iterator[EncodeError]:
    if not isinstance(headers, list | tuple):
        yield _make_type_error("(key, value) pairs", headers, path)
        return
    for index, header in enumerate(headers):
        if not isinstance(header, list | tuple):
            yield _make_type_error("(str, bytes or None)", header, f"{path}[{index}]")
        elif len(header) != 2 or not isinstance(header[0], str) or not isinstance(header[1], bytes | None):
            types = ", ".join(type(part).__name__ for part in header)
            yield EncodeError(f"(str, bytes or None) expected, not ({types})", path=f"{path}[{index}]")


def _make_type_error(expected: str, value: object, path: str) -> EncodeError:
    return EncodeError(f"{expected} expected, not {type(value).__name__}", path=path)


def _encode_record(record: Record, timestamp_delta: int, base_offset: int, index: int) -> bytes:
    """The bytes of one record, length included. Raises EncodeError."""
    offset_delta = record.offset - base_offset
    if not -(1 << 31) <= offset_delta < 1 << 31:
        raise EncodeError(f"{record.offset} is too far from {base_offset}", path=f"records[{index}].offset")
    if not -(1 << 63) <= timestamp_delta < 1 << 63:
        raise EncodeError("too far from the base timestamp", path=f"records[{index}].timestamp")
    parts = [
        b"\0",
        encode_varlong(timestamp_delta),
        encode_varint(offset_delta),
        _encode_varint_sized(record.key),
        _encode_varint_sized(record.value),
        encode_varint(len(record.headers)),
    ]
    for key, value in record.headers:
        parts += (_encode_varint_sized(key.encode("utf-8", "surrogateescape")), _encode_varint_sized(value))
    body = b"".join(parts)
    return encode_varint(len(body)) + body


def _encode_varint_sized(data: bytes | None) -> bytes:
    return _NULL_VARINT if data is None else encode_varint(len(data)) + data


# Batches from JSON form

# Fields that follow from the records are not read: `size`, `crc`, `record_count`. Details that the JSON form does not
# hold are lost: how exactly the batch was compressed, the original timestamps of records that the broker stamped
# (`log_append`), the rest of a batch that was cut off.


MAGIC_MAX: Final = 2
# The kinds of the fields that are read; derived fields are ignored.
_NUMBERS: Final = {
    "base_offset": "int64",
    "last_offset": "int64",
    "base_timestamp": "int64",
    "max_timestamp": "int64",
    "partition_leader_epoch": "int32",
    "producer_id": "int64",
    "producer_epoch": "int16",
    "base_sequence": "int32",
    "transactional": "bool",
    "control": "bool",
    "delete_horizon_ms": "int64",
}
_CHOICES: Final = {"codec": tuple(NUMBERS), "timestamp_type": ("create", "log_append")}
_DERIVED: Final = frozenset({"crc", "record_count", "size"})
_PROBLEMS: Final = frozenset({"truncated", "error", "records_cut"})
_BATCH: Final = frozenset({"magic", "records", *_NUMBERS, *_CHOICES, *_DERIVED, *_PROBLEMS})
# Decoded keys and values say what the bytes beside them mean, and are passed over.
_DECODED: Final = frozenset({"key_decoded", "value_decoded"})
_RECORD: Final = frozenset({"offset", "timestamp", "key", "value", "headers", "control_record", *_DECODED})
_HEADER: Final = frozenset({"key", "value"})


def records_from_json(batches: list[Any], path: str) -> bytes:
    """The bytes of a records field from its JSON form. Raises EncodeError, whose path begins with the batch's."""
    return b"".join(_encode_batch_from_json(batch, f"{path}[{index}]") for index, batch in enumerate(batches))


def batch_from_json(value: object, path: str) -> Batch:
    """One batch with its records from its JSON form; fields left out follow from the records. Raises EncodeError."""
    fields = _fields_by_snake_case_name(value, _BATCH, "a batch", path)
    _check_batch_is_whole(fields, path)
    known: dict[str, Any] = {}
    for name, inner in fields.items():
        if inner is None:
            continue
        if name in _NUMBERS:
            known[name] = leaf_from_json(_NUMBERS[name], inner, f"{path}.{name}")
        elif name in _CHOICES:
            if inner not in _CHOICES[name]:
                raise EncodeError(f"{' or '.join(_CHOICES[name])}, not {quote_json(inner)}", path=f"{path}.{name}")
            known[name] = inner
    magic = fields.get("magic")
    if magic is None:
        magic = MAGIC_MAX
    if not isinstance(magic, int) or isinstance(magic, bool) or not 0 <= magic <= MAGIC_MAX:
        raise EncodeError(f"0, 1 or 2, not {quote_json(magic)}", path=f"{path}.magic")
    records = list(_records_from_json(fields["records"], known.get("base_offset", 0), f"{path}.records"))
    return Batch(magic=magic, records=records, **known)


def _encode_batch_from_json(value: object, path: str) -> bytes:

    batch = batch_from_json(value, path)
    try:
        return encode_records([batch])
    except EncodeError as failure:
        # The failure's path begins with the index of the one batch.
        raise EncodeError(failure.text, path=path + failure.path.removeprefix("[0]")) from None


def _check_batch_is_whole(batch_json: Mapping[str, Any], path: str) -> None:
    error = batch_json.get("error")
    if error is not None:
        reason = error.get("reason") if isinstance(error, Mapping) else error
        raise EncodeError(
            f"a batch that could not be read ({quote_json(reason)}) cannot be encoded", path=f"{path}.error"
        )
    if batch_json.get("truncated"):
        raise EncodeError("a batch that was cut off cannot be encoded", path=f"{path}.truncated")
    if batch_json.get("records_cut"):
        text = f"{quote_json(batch_json['records_cut'])} records were left out by a limit; the batch cannot be encoded"
        raise EncodeError(text, path=f"{path}.records_cut")
    if batch_json.get("records") is None:
        raise EncodeError("a batch without its records cannot be encoded; --records keeps them", path=f"{path}.records")


def _records_from_json(records_json: object, base_offset: int, path: str) -> Iterator[Record]:
    if not isinstance(records_json, list | tuple):
        raise EncodeError(f"an array of records expected, not {quote_json(records_json)}", path=path)
    for element, offset, place in zip(
        records_json, count(base_offset), (f"{path}[{n}]" for n in count()), strict=False
    ):
        fields = _fields_by_snake_case_name(element, _RECORD, "a record", place)
        stated, timestamp = fields.get("offset"), fields.get("timestamp")
        headers = fields.get("headers")
        yield Record(
            offset if stated is None else _int64_from_json(stated, f"{place}.offset"),
            None if timestamp is None else _int64_from_json(timestamp, f"{place}.timestamp"),
            _bytes_or_structure_from_json(fields.get("key"), f"{place}.key"),
            _bytes_or_structure_from_json(fields.get("value"), f"{place}.value"),
            () if headers is None else tuple(_record_headers_from_json(headers, f"{place}.headers")),
        )


def _record_headers_from_json(headers_json: object, path: str) -> Iterator[Header]:
    if not isinstance(headers_json, list | tuple):
        raise EncodeError(f"an array of headers expected, not {quote_json(headers_json)}", path=path)
    for index, element in enumerate(headers_json):
        place = f"{path}[{index}]"
        fields = _fields_by_snake_case_name(element, _HEADER, "a header", place)
        yield (
            text_from_json(fields.get("key"), f"{place}.key"),
            _bytes_or_structure_from_json(fields.get("value"), f"{place}.value"),
        )


def _fields_by_snake_case_name(
    json_object: object, known_names: frozenset[str], object_noun: str, path: str
) -> dict[str, Any]:
    """The fields of an object under their snake_case names; camelCase is accepted. Raises EncodeError."""
    if not isinstance(json_object, Mapping):
        raise EncodeError(f"{object_noun} (an object) expected, not {quote_json(json_object)}", path=path)
    known = {name.replace("_", ""): name for name in known_names}
    out: dict[str, Any] = {}
    for name, inner in json_object.items():
        found = name if name in known_names else known.get(str(name).replace("_", "").lower())
        if found is None or found in out:
            problem = (
                "the same field twice"
                if found
                else f"{object_noun} has no such field; there are {', '.join(sorted(known_names - _DECODED))}"
            )
            raise EncodeError(problem, path=f"{path}.{name}")
        out[found] = inner
    return out


def _int64_from_json(value: object, path: str) -> int:
    number = leaf_from_json("int64", value, path)
    assert isinstance(number, int)
    return number


def _bytes_or_structure_from_json(value: object, path: str) -> bytes | None:
    if isinstance(value, dict) and "$type" in value:
        from decoders.embedded import encode_embedded_from_json  # only records of internal topics need it

        return encode_embedded_from_json(value, path)
    return None if value is None else bytes_from_json(value, path)
