"""Records and what their batch says in, the bytes of a batch out, as Kafka's Java code writes them.

Magic 2 is written here, the message sets of magic 0 and 1 by `write_legacy`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from struct import Struct, error
from typing import Final

import google_crc32c

from decoders.errors import EncodeError
from decoders.records.batch import CONTROL, CRC_START, DELETE_HORIZON, HEADER, LOG_OVERHEAD, TRANSACTIONAL
from decoders.records.codecs import NUMBERS, deflate
from decoders.records.model import Batch, Record
from decoders.records.write_legacy import TIMESTAMP_TYPES, encode_message_set
from decoders.wire.varints import write_varint, write_varlong

_MAGIC: Final = 2
_CRC: Final = Struct(">I")
_CRC_AT: Final = CRC_START - _CRC.size
_NULL: Final = write_varint(-1)


def encode_batch(
    records: Sequence[Record],
    *,
    magic: int = 2,
    codec: str = "none",
    base_offset: int | None = None,
    last_offset: int | None = None,
    timestamp_type: str | None = None,
    base_timestamp: int | None = None,
    max_timestamp: int | None = None,
    partition_leader_epoch: int | None = None,
    producer_id: int | None = None,
    producer_epoch: int | None = None,
    base_sequence: int | None = None,
    transactional: bool | None = None,
    control: bool | None = None,
    delete_horizon_ms: int | None = None,
) -> bytes:
    """One batch, or the messages of magic 0 and 1: one a record, or a wrapper of all where there is a codec.

    The keywords are the fields of a Batch, of which most calls name one or two; encode_records() takes the value.

    Offsets and timestamps left out follow from the records; a delete horizon is the base timestamp. Without records the
    offsets are those given (default 0 and base - 1) and the timestamps -1. Raises EncodeError, also for what the magic
    has no room for.
    """
    if magic != _MAGIC:
        _refuse(
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=base_sequence,
            transactional=transactional or None,
            control=control or None,
            delete_horizon_ms=delete_horizon_ms,
        )
        return encode_message_set(
            records,
            magic,
            codec=codec,
            last_offset=last_offset,
            timestamp_type=timestamp_type,
            max_timestamp=max_timestamp,
        )
    base_offset, last_offset = _offsets(records, base_offset, last_offset)
    stamps = [-1 if record.timestamp is None else record.timestamp for record in records]
    if delete_horizon_ms is not None or base_timestamp is None:
        base_timestamp = next(iter(stamps), -1) if delete_horizon_ms is None else delete_horizon_ms
    payload = b"".join(
        _record(record, stamp - base_timestamp, base_offset, index)
        for index, (record, stamp) in enumerate(zip(records, stamps, strict=True))
    )
    packed = deflate(codec, payload, _MAGIC)
    flags = (TRANSACTIONAL if transactional else 0) | (CONTROL if control else 0)
    flags |= NUMBERS[codec] | _timestamp_flag(timestamp_type) | (0 if delete_horizon_ms is None else DELETE_HORIZON)
    return _batch(
        packed,
        base_offset,
        -1 if partition_leader_epoch is None else partition_leader_epoch,
        flags,
        last_offset - base_offset,
        base_timestamp,
        max(stamps, default=-1) if max_timestamp is None else max_timestamp,
        *(-1 if number is None else number for number in (producer_id, producer_epoch, base_sequence)),
        len(records),
    )


def _refuse(**told: int | None) -> None:
    """What a message of magic 0 or 1 has no room for must not be said."""
    for name, value in told.items():
        if value not in (None, -1):
            raise EncodeError("needs magic 2", path=name)


def _offsets(records: Sequence[Record], first: int | None, last: int | None) -> tuple[int, int]:
    """The first and the last offset, as given or as the records have them."""
    if first is None:
        first = records[0].offset if records else 0
    if last is None:
        last = records[-1].offset if records else first - 1
    return first, last


def _timestamp_flag(kind: str | None) -> int:
    flag = TIMESTAMP_TYPES.get(kind or "create")
    if flag is None:
        raise EncodeError(f"create or log_append, not {kind!r}", path="timestamp_type")
    return flag


def _batch(packed: bytes, base_offset: int, epoch: int, *rest: int) -> bytes:
    """Header and records of magic 2; `rest` are the fields of the header from the attributes on."""
    try:
        head = HEADER.pack(base_offset, HEADER.size - LOG_OVERHEAD + len(packed), epoch, _MAGIC, 0, *rest)
    except error as failure:
        raise EncodeError(f"a field of the batch is out of range: {failure}") from None
    out = bytearray(head + packed)
    _CRC.pack_into(out, _CRC_AT, google_crc32c.value(bytes(out[CRC_START:])))
    return bytes(out)


def encode_records(batches: Iterable[Batch]) -> bytes:
    """Whole batches that were read with their records, or made; of any magic, 2 where none is said. Raises EncodeError.

    What is in a wrapper of magic 0 or 1 is written as one wrapper again, one level deep.
    """
    return b"".join(_again(batch, f"[{index}]") for index, batch in enumerate(batches))


def _again(batch: Batch, path: str) -> bytes:
    if batch.error is not None or batch.truncated or batch.records_cut:
        raise EncodeError("only whole batches can be written", path=path)
    if batch.records is None:
        raise EncodeError("a batch without its records", path=f"{path}.records")
    magic = _MAGIC if batch.magic is None else batch.magic
    try:
        return encode_batch(
            batch.records,
            magic=magic,
            codec=batch.codec or "none",
            base_offset=batch.base_offset,
            last_offset=batch.last_offset,
            timestamp_type=batch.timestamp_type,
            base_timestamp=batch.base_timestamp,
            max_timestamp=batch.max_timestamp,
            partition_leader_epoch=batch.partition_leader_epoch,
            producer_id=batch.producer_id,
            producer_epoch=batch.producer_epoch,
            base_sequence=batch.base_sequence,
            transactional=batch.transactional,
            control=batch.control,
            delete_horizon_ms=batch.delete_horizon_ms,
        )
    except EncodeError as failure:
        raise EncodeError(failure.text, path=f"{path}.{failure.path}".rstrip(".")) from None


def _record(record: Record, timestamp_delta: int, base_offset: int, index: int) -> bytes:
    """One record with its length before it."""
    offset_delta = record.offset - base_offset
    if not -(1 << 31) <= offset_delta < 1 << 31:
        raise EncodeError(f"{record.offset} is too far from {base_offset}", path=f"records[{index}].offset")
    if not -(1 << 63) <= timestamp_delta < 1 << 63:
        raise EncodeError("too far from the base timestamp", path=f"records[{index}].timestamp")
    parts = [
        b"\0",
        write_varlong(timestamp_delta),
        write_varint(offset_delta),
        _sized(record.key),
        _sized(record.value),
        write_varint(len(record.headers)),
    ]
    for key, value in record.headers:
        parts += (_sized(key.encode("utf-8", "surrogateescape")), _sized(value))
    body = b"".join(parts)
    return write_varint(len(body)) + body


def _sized(data: bytes | None) -> bytes:
    return _NULL if data is None else write_varint(len(data)) + data
