"""Batches of rows in, slices of them as bytes out, and back: how rows of tables travel from task to task."""

from __future__ import annotations

from typing import Final

import lz4.block  # type: ignore[import-untyped]  # lz4 ships no types
import pyarrow as pa

from kwcli.pipeline.tables.schemas import ROWS

__all__ = ["PARTS", "PARTS_DDL", "packed", "parts_batch", "unpacked"]

PARTS: Final = pa.schema(
    [
        pa.field("point", pa.string()),
        pa.field("key", pa.binary()),
        pa.field("ord", pa.int64()),
        pa.field("seq", pa.int64()),
        pa.field("kind", pa.int32()),
        pa.field("blob", pa.binary()),
        pa.field("rows", pa.binary()),
    ]
)
PARTS_DDL: Final = "point string, key binary, ord long, seq long, kind int, blob binary, rows binary"
# Key, seq, kind, blob, and the part's own rows where it has some.
Travelling = tuple[bytes, int, int, bytes, bytes | None]


def packed(rows: pa.RecordBatch) -> bytes:
    """A batch of the travelling form as bytes; their schema is known on the other side.

    A slice of a few rows is 11 kB of padding for its many columns, and compressed one.
    """
    data: bytes = lz4.block.compress(rows.serialize())
    return data


def unpacked(blob: bytes) -> pa.RecordBatch:
    """The batch again."""
    return pa.ipc.read_record_batch(pa.py_buffer(lz4.block.decompress(blob)), ROWS)


def parts_batch(point: str, order: int, parts: list[Travelling]) -> pa.RecordBatch:
    """Parts of one split."""
    keys, seqs, kinds, blobs, rows = zip(*parts, strict=True)
    count = len(parts)
    arrays = [
        pa.repeat(pa.scalar(point, pa.string()), count),
        pa.array(keys, pa.binary()),
        pa.repeat(pa.scalar(order, pa.int64()), count),
        pa.array(seqs, pa.int64()),
        pa.array(kinds, pa.int32()),
        pa.array(blobs, pa.binary()),
        pa.array(rows, pa.binary()),
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=PARTS)
