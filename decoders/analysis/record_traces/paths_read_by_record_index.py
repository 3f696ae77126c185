"""What the index of records reads of messages beside topics and partitions: an API and a side in, paths out."""

from __future__ import annotations

from typing import Final

from decoders.protocol_facts.api_keys import (
    DELETE_RECORDS,
    END_TXN,
    FETCH,
    OFFSET_COMMIT,
    OFFSET_FETCH,
    PRODUCE,
    SHARE_ACKNOWLEDGE,
    SHARE_FETCH,
    TXN_OFFSET_COMMIT,
    WRITE_TXN_MARKERS,
)

__all__ = ["OTHER_PATHS"]

_OF_PARTITION: Final = ("log_start_offset", "preferred_read_replica", "aborted_transactions")
OTHER_PATHS: Final[dict[tuple[int, str], tuple[str, ...]]] = {
    (PRODUCE, "request"): ("acks", "transactional_id"),
    (FETCH, "request"): ("replica_id", "replica_state", "isolation_level"),
    (FETCH, "response"): tuple(f"responses[].partitions[].{name}" for name in _OF_PARTITION),
    (OFFSET_COMMIT, "request"): ("generation_id_or_member_epoch", "member_id"),
    (TXN_OFFSET_COMMIT, "request"): ("generation_id_or_member_epoch", "member_id", "transactional_id"),
    (OFFSET_FETCH, "request"): ("group_id",),
    (OFFSET_FETCH, "response"): ("error_code", "groups[].error_code", "groups[].group_id"),
    **dict.fromkeys(
        ((SHARE_FETCH, "request"), (SHARE_ACKNOWLEDGE, "request")),
        ("group_id", "member_id", "topics[].partitions[].acknowledgement_batches"),
    ),
    (SHARE_FETCH, "response"): tuple(
        f"responses[].partitions[].{name}" for name in ("acknowledge_error_code", "acquired_records")
    ),
    (DELETE_RECORDS, "response"): ("topics[].partitions[].low_watermark",),
    (END_TXN, "request"): ("transactional_id", "producer_id", "producer_epoch", "committed"),
    (END_TXN, "response"): ("error_code",),
    (WRITE_TXN_MARKERS, "request"): ("markers",),
}
