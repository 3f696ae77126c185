"""Record batches and records in JSON form in, what is shown of them out: which fields, how wide, times to be read.

A batch has twenty fields of which a few say something; of a record key and value are what people look for, so where
there is no room the others go first and these are cut.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final

# Fields of a batch, what matters most first.
BATCH: Final = [
    *("base_offset", "last_offset", "record_count", "size", "codec", "crc", "producer_id", "producer_epoch"),
    *("base_sequence", "transactional", "control", "timestamp_type", "base_timestamp", "max_timestamp"),
    *("partition_leader_epoch", "magic", "delete_horizon_ms", "truncated"),
]
# What these fields of a batch say nothing with.
_NOTHING: Final[dict[str, tuple[Any, ...]]] = {
    "producer_id": (-1, None),
    "producer_epoch": (-1, None),
    "base_sequence": (-1, None),
    "transactional": (False, None),
    "control": (False, None),
    "timestamp_type": ("create", None),
    "base_timestamp": (None,),
    "max_timestamp": (-1, None),
    "partition_leader_epoch": (-1, None),
    "delete_horizon_ms": (None,),
    "truncated": (False,),
}
_TIMES: Final = ("timestamp", "base_timestamp", "max_timestamp", "delete_horizon_ms")
_RECORD: Final = {"offset", "timestamp", "key", "value", "headers"}
_VALUE_MIN: Final = 24
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def is_batch(item: dict[str, Any]) -> bool:
    """Whether this is one batch of a records field."""
    return "record_count" in item and "base_offset" in item and "magic" in item


def is_record(item: dict[str, Any]) -> bool:
    """Whether this is one record of a batch (not a control record, which has something nested)."""
    return item.keys() == _RECORD


def telling(batch: dict[str, Any]) -> dict[str, Any]:
    """The fields of a batch that say something, and whatever else is in it, in the order in which they matter."""
    ordered = {name: batch[name] for name in BATCH if name in batch}
    return {name: value for name, value in (ordered | batch).items() if value not in _NOTHING.get(name, ())}


def moment(name: str, value: Any) -> str | None:
    """A time of a batch or record as text: `2026-11-21T03:04:05.123Z`; None for what is none."""
    if name not in _TIMES or not isinstance(value, int) or value < 0:
        return None
    try:
        text = (_EPOCH + timedelta(milliseconds=value)).isoformat(timespec="milliseconds")
    except OverflowError:
        return None
    return text.replace("+00:00", "Z")


def record_widths(widths: dict[str, int], room: int, gap: int) -> dict[str, int]:
    """How wide each column of a table of records may be; those that are left out are not shown."""

    def left(*names: str) -> int:
        return room - sum(widths[name] + gap for name in names)

    out = dict(widths)
    if sum(widths.values()) + gap * (len(widths) - 1) <= room:
        return out
    keyed = min(widths["key"], max(room // 4, 8))
    if left("offset", "timestamp") - keyed - gap < _VALUE_MIN:
        del out["timestamp"]
    out["key"] = keyed
    rest = room - sum(out[name] + gap for name in ("offset", "timestamp", "key") if name in out)
    out["headers"] = min(widths["headers"], max(rest // 3, 2))
    out["value"] = min(widths["value"], rest - out["headers"] - gap)
    if out["value"] < min(_VALUE_MIN, widths["value"]):
        del out["headers"]
        out["value"] = max(min(widths["value"], rest), 1)
    return out
