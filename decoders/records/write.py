"""Records and what their batch says in, the bytes of a batch of magic 2 out, as Kafka's Java code writes them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from struct import Struct, error
from typing import Final

import google_crc32c

from decoders.errors import EncodeError
from decoders.records.batch import CONTROL, CRC_START, DELETE_HORIZON, HEADER, LOG_APPEND, LOG_OVERHEAD, TRANSACTIONAL
from decoders.records.codecs import NUMBERS, deflate
from decoders.records.model import Batch, Record
from decoders.wire.varints import write_varint, write_varlong

_CRC: Final = Struct(">I")
_CRC_AT: Final = CRC_START - _CRC.size
_TIMESTAMP_TYPES: Final = {"create": 0, "log_append": LOG_APPEND}
_NULL: Final = write_varint(-1)


def encode_batch(
    records: Sequence[Record],
    *,
    codec: str = "none",
    base_offset: int | None = None,
    last_offset: int | None = None,
    timestamp_type: str = "create",
    base_timestamp: int | None = None,
    max_timestamp: int | None = None,
    partition_leader_epoch: int = -1,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    transactional: bool = False,
    control: bool = False,
    delete_horizon_ms: int | None = None,
) -> bytes:
    """One batch. Offsets and timestamps left out follow from the records; a delete horizon is the base timestamp.

    Without records the offsets are those given (default 0 and base - 1) and the timestamps -1. Raises EncodeError.
    """
    stamps = [-1 if record.timestamp is None else record.timestamp for record in records]
    if base_offset is None:
        base_offset = records[0].offset if records else 0
    if last_offset is None:
        last_offset = records[-1].offset if records else base_offset - 1
    if base_timestamp is None:
        base_timestamp = stamps[0] if stamps else -1
    if delete_horizon_ms is not None:
        base_timestamp = delete_horizon_ms
    if max_timestamp is None:
        max_timestamp = max(stamps, default=-1)
    if timestamp_type not in _TIMESTAMP_TYPES:
        raise EncodeError(f"create or log_append, not {timestamp_type!r}", path="timestamp_type")
    payload = b"".join(
        _record(record, stamp - base_timestamp, base_offset, index)
        for index, (record, stamp) in enumerate(zip(records, stamps, strict=True))
    )
    packed = deflate(codec, payload)
    attributes = (
        NUMBERS[codec]
        | _TIMESTAMP_TYPES[timestamp_type]
        | (TRANSACTIONAL if transactional else 0)
        | (CONTROL if control else 0)
        | (DELETE_HORIZON if delete_horizon_ms is not None else 0)
    )
    try:
        out = bytearray(
            HEADER.pack(
                base_offset,
                HEADER.size - LOG_OVERHEAD + len(packed),
                partition_leader_epoch,
                2,
                0,
                attributes,
                last_offset - base_offset,
                base_timestamp,
                max_timestamp,
                producer_id,
                producer_epoch,
                base_sequence,
                len(records),
            )
        )
    except error as failure:
        raise EncodeError(f"a field of the batch is out of range: {failure}") from None
    out += packed
    _CRC.pack_into(out, _CRC_AT, google_crc32c.value(bytes(out[CRC_START:])))
    return bytes(out)


def encode_records(batches: Iterable[Batch]) -> bytes:
    """Batches of magic 2 that were read with their records, or made; raises EncodeError for any other."""
    return b"".join(_again(batch, f"[{index}]") for index, batch in enumerate(batches))


def _again(batch: Batch, path: str) -> bytes:
    if batch.magic not in (2, None) or batch.error is not None or batch.truncated or batch.records_cut:
        raise EncodeError("only whole batches of magic 2 can be written", path=path)
    if batch.records is None:
        raise EncodeError("a batch without its records", path=f"{path}.records")
    return encode_batch(
        batch.records,
        codec=batch.codec or "none",
        base_offset=batch.base_offset,
        last_offset=batch.last_offset,
        timestamp_type=batch.timestamp_type or "create",
        base_timestamp=batch.base_timestamp,
        max_timestamp=batch.max_timestamp,
        partition_leader_epoch=-1 if batch.partition_leader_epoch is None else batch.partition_leader_epoch,
        producer_id=-1 if batch.producer_id is None else batch.producer_id,
        producer_epoch=-1 if batch.producer_epoch is None else batch.producer_epoch,
        base_sequence=-1 if batch.base_sequence is None else batch.base_sequence,
        transactional=bool(batch.transactional),
        control=bool(batch.control),
        delete_horizon_ms=batch.delete_horizon_ms,
    )


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
