"""A records field that is one plain batch of one record in, its JSON-ready form out; None for anything else.

What producers without linger send, and so what a capture of small messages is made of: the general way costs four times
as much on them. `read.batches_json` is the oracle in tests. Benchmark: tests/bench/sniff.py, profile `small`.
"""

from __future__ import annotations

from typing import Any, Final

import google_crc32c

from decoders.records.batch import CRC_START, HEADER, LOG_OVERHEAD, SIZE
from decoders.wire.text import json_bytes

_FAR: Final = 1 << 62
_MAGIC: Final = 2
# Header, and a record of one-byte fields with neither key nor value.
_LEAST: Final = SIZE + 7


def single_json(data: bytes) -> list[dict[str, Any]] | None:
    """The `records` value with its one record; None where this is not the case or anything is wrong."""
    size = len(data)
    if size < _LEAST:
        return None
    (base, length, epoch, magic, crc, attributes, delta, first, last, producer, producer_epoch, sequence, count) = (
        HEADER.unpack_from(data)
    )
    if count != 1 or attributes or magic != _MAGIC or length != size - LOG_OVERHEAD or not -_FAR < base < _FAR:
        return None
    if not -_FAR < first < _FAR or delta or google_crc32c.value(data[CRC_START:]) != crc:
        return None
    # Length, attributes, timestamp delta, offset delta: the two deltas of a first record are 0.
    at = SIZE
    extent = data[at]
    at += 1
    if extent > 127:
        extent += (data[at] << 7) - 128
        at += 1
        if extent > 0x3FFF:
            return None
    if extent & 1 or at + (extent >> 1) != size or data[at + 1] or data[at + 2]:
        return None
    shown: list[Any] = []
    at += 3
    for _ in ("key", "value"):
        if at >= size:
            return None
        extent = data[at]
        at += 1
        if extent == 1:
            shown.append(None)
            continue
        if extent > 127:
            if at >= size:
                return None
            extent += (data[at] << 7) - 128
            at += 1
            if extent > 0x3FFF:
                return None
        if extent & 1:
            return None
        stop = at + (extent >> 1)
        shown.append(json_bytes(data[at:stop]))
        at = stop
    if at + 1 != size or data[at]:
        return None
    return [
        {
            "base_offset": base,
            "last_offset": base,
            "magic": 2,
            "codec": "none",
            "timestamp_type": "create",
            "base_timestamp": first,
            "max_timestamp": last,
            "partition_leader_epoch": epoch,
            "producer_id": producer,
            "producer_epoch": producer_epoch,
            "base_sequence": sequence,
            "transactional": False,
            "control": False,
            "delete_horizon_ms": None,
            "crc": "ok",
            "record_count": 1,
            "size": size,
            "truncated": False,
            "records": [{"offset": base, "timestamp": first, "key": shown[0], "value": shown[1], "headers": []}],
        }
    ]
