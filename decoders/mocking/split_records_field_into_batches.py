"""A records field in, the batches of a log out: those of magic 2 as they are, those of older formats written anew."""

from __future__ import annotations

from typing import Final

from decoders.errors import DecodeError, EncodeError
from decoders.mocking.partition_log import MAGIC, StoredBatch
from decoders.mocking.refusal_error import Refusal
from decoders.records.encode_batches import encode_batch
from decoders.records.read_batches import decode_records
from decoders.records.record_and_batch import Batch

__all__ = ["split_records_field_into_batches"]

_COMMIT: Final = "COMMIT"


def split_records_field_into_batches(data: bytes, *, partly: bool = False) -> list[StoredBatch]:
    """The batches of a records field. `partly`: batches that cannot be read are left out, else they are an error.

    Raises Refusal.
    """
    found: list[StoredBatch] = []
    try:
        batches = decode_records(data)
    except DecodeError as problem:
        if partly:
            return found
        raise Refusal("CORRUPT_MESSAGE", problem.text) from None
    at = 0
    for batch in batches:
        stop = at + batch.size
        problem_text = _find_batch_problem(batch)
        if problem_text is None:
            found += _make_stored_batches(batch, data[at:stop])
        elif not partly:
            raise Refusal("CORRUPT_MESSAGE", problem_text)
        at = stop
    return found


def _find_batch_problem(batch: Batch) -> str | None:
    if batch.error is not None:
        return batch.error[1]
    if batch.truncated or batch.magic is None or batch.records is None or batch.crc == "bad":
        return "a batch that is cut off or has a wrong checksum"
    return None


def _make_stored_batches(batch: Batch, data: bytes) -> list[StoredBatch]:
    records = batch.records or []
    if batch.magic == MAGIC:
        base, last = batch.base_offset or 0, batch.last_offset
        committed = None
        if batch.control and records and records[0].control_record is not None:
            committed = str(records[0].control_record["type"]).upper() == _COMMIT
        return [
            StoredBatch(
                base,
                base if last is None else last,
                data,
                -1 if batch.max_timestamp is None else batch.max_timestamp,
                -1 if batch.producer_id is None else batch.producer_id,
                -1 if batch.producer_epoch is None else batch.producer_epoch,
                -1 if batch.base_sequence is None else batch.base_sequence,
                len(records),
                bool(batch.transactional),
                bool(batch.control),
                committed,
                batch.codec or "none",
            )
        ]
    out = []
    for record in records:
        try:
            again = encode_batch([record], Batch(base_offset=record.offset, partition_leader_epoch=0))
        except EncodeError as problem:
            raise Refusal("INVALID_RECORD", problem.text) from None
        stamp = -1 if record.timestamp is None else record.timestamp
        out.append(StoredBatch(record.offset, record.offset, again, stamp, record_count=1))
    return out
