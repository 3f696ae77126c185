"""The input of the stages of a Spark job, the batches that travel between them, and the reports of their tasks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import lz4.block  # type: ignore[import-untyped]  # lz4 ships no types
import pyarrow as pa

from decoders.named_tuple import NamedTuple
from kwcli.pipeline.tables.arrow_schemas import ENDED, ROWS

if TYPE_CHECKING:
    from kwcli.pipeline.engine_job_and_result import JobSpec
    from kwcli.pipeline.read.split_and_file_range import Problem
    from kwcli.pipeline.store.staging_folder import Staging
    from kwcli.pipeline.tables.run_counts import RunCounts
    from kwcli.pipeline.tables.write_parquet import WrittenFile

__all__ = [
    "IDENTITY",
    "PARTS",
    "STITCHED",
    "ReadReport",
    "StageInput",
    "Travelling",
    "WriteReport",
    "build_parts_batch",
    "pack_rows",
    "unpack_connections",
    "unpack_rows",
]


class StageInput(NamedTuple):
    """A run over captures in at most `most` splits (which Coordination has), and where its tasks write.

    With `raw` the first stage decodes nothing: the reference that everything else is compared with.
    """

    spec: JobSpec
    most: int
    staging: Staging
    raw: bool


class ReadReport(NamedTuple):
    """The report on a split that was read: bytes of capture, counts of packets, problems, facts for other connections.

    `rows` is the number of rows in its pool.
    """

    split: int
    size: int
    counts: Mapping[str, int]
    problems: tuple[Problem, ...]
    facts: tuple[bytes, ...]
    rows: int


class WriteReport(NamedTuple):
    """The report of a task that has written its tables. `rows` is the number of rows that it found in pools."""

    files: tuple[WrittenFile, ...]
    tally: RunCounts
    rows: int


# Batches that travel between the stages

# From the first stage to the second: parts (decoders/splits/split_parts.py) of split `ord` of their point. `run` is set
# once for each run that has rows in the split's pool, where the rows have the same number.
PARTS: Final = pa.schema(
    [
        pa.field("point", pa.string()),
        pa.field("key", pa.binary()),
        pa.field("ord", pa.int64()),
        pa.field("seq", pa.int64()),
        pa.field("kind", pa.int32()),
        pa.field("blob", pa.binary()),
        pa.field("run", pa.int32()),
    ]
)
# Key, seq, kind, blob, run.
Travelling = tuple[bytes, int, int, bytes, int | None]

# Columns about their connection that the rows of a run lack.
IDENTITY: Final = (
    *("client", "client_ip", "client_port", "broker", "broker_ip", "broker_port", "connection_began_ns"),
    "via_address",
)
# From the second stage to the third, `split` by its place in the job: for each run of its pool a verdict, whether the
# rows count and what they lack; or rows, or connections, that only the second stage could settle.
STITCHED: Final = pa.schema(
    [
        pa.field("split", pa.int64()),
        pa.field("run", pa.int32()),
        pa.field("counts", pa.bool_()),
        *(pa.field(name, ROWS.field(name).type) for name in IDENTITY),
        pa.field("place_added", pa.int64()),
        pa.field("client_software_name", pa.string()),
        pa.field("client_software_version", pa.string()),
        pa.field("user", pa.string()),
        pa.field("mechanism", pa.string()),
        pa.field("rows", pa.binary()),
        pa.field("ended", pa.binary()),
    ]
)


def pack_rows(rows: pa.RecordBatch) -> bytes:
    """A batch as bytes without its schema. A few rows are 11 kB, most of it padding, and 1 kB compressed."""
    data: bytes = lz4.block.compress(rows.serialize())
    return data


def unpack_rows(blob: bytes) -> pa.RecordBatch:
    """The batch of rows (schema ROWS) that `pack_rows` made bytes of."""
    return pa.ipc.read_record_batch(pa.py_buffer(lz4.block.decompress(blob)), ROWS)


def unpack_connections(blob: bytes) -> pa.RecordBatch:
    """The batch of connections (schema ENDED) that `pack_rows` made bytes of."""
    return pa.ipc.read_record_batch(pa.py_buffer(lz4.block.decompress(blob)), ENDED)


def build_parts_batch(point: str, number: int, parts: list[Travelling]) -> pa.RecordBatch:
    """Parts of one split as a batch with the schema PARTS."""
    keys, seqs, kinds, blobs, runs = zip(*parts, strict=True)
    count = len(parts)
    arrays = [
        pa.repeat(pa.scalar(point, pa.string()), count),
        pa.array(keys, pa.binary()),
        pa.repeat(pa.scalar(number, pa.int64()), count),
        pa.array(seqs, pa.int64()),
        pa.array(kinds, pa.int32()),
        pa.array(blobs, pa.binary()),
        pa.array(runs, pa.int32()),
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=PARTS)
