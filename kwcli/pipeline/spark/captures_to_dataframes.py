"""Captures in, a table of them as a DataFrame out, for Python programs: nothing runs before Spark is asked for rows.

    from kwcli.pipeline.spark import exchanges, session
    spark = session()
    slow = exchanges(spark, "captures/*.pcapng").where("latency_ms > 100")

Any session will do (`prepare` is called). Tasks coordinate by files in a folder; on several machines it has to
be one that all of them see, named with `folder`.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TypedDict, Unpack

from kwcli.pipeline.engine_job_and_result import JobSpec
from kwcli.pipeline.plan_splits import SPLIT_SIZE, plan_splits
from kwcli.pipeline.read.filter_and_batch_rows import RowFilter
from kwcli.pipeline.read.find_captures import find_captures
from kwcli.pipeline.spark.driver_task_coordination import Coordination
from kwcli.pipeline.spark.spark_engine import count_tasks, run_stitch_stages
from kwcli.pipeline.spark.spark_sessions import make_scratch_folder
from kwcli.pipeline.spark.stage_schemas import StageInput
from kwcli.pipeline.spark.write_stage import PartitionWriter
from kwcli.pipeline.store.output_folder import OutputFolder
from kwcli.pipeline.store.staging_folder import Staging
from kwcli.pipeline.tables.arrow_schemas import SCHEMAS
from kwcli.pipeline.tables.split_by_table_and_date import split_by_table
from kwcli.run_environment import Failure

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["connections", "exchanges", "topic_partitions"]


class GatheredBatches:
    """A RowSink that keeps the batches of one table."""

    def __init__(self, table: str) -> None:
        self._table = table
        self._batches: list[pa.RecordBatch] = []

    def write(self, rows: pa.RecordBatch) -> None:
        self._batches += [batch for _, batch in split_by_table(rows, {self._table})]

    def write_table(self, table: str, batch: pa.RecordBatch) -> None:
        if table == self._table:
            self._batches.append(batch)

    def take_batches(self) -> list[pa.RecordBatch]:
        batches, self._batches = self._batches, []
        return batches


class FrameOptions(TypedDict, total=False):
    """The options of `exchanges`: words of `kw pipeline run`, and settings for Spark.

    `points` are pairs of name and pattern. `partitions` is the number of tasks that join and write.
    """

    points: Iterable[tuple[str, str]]
    ports: Iterable[int] | None
    since_ns: int | None
    until_ns: int | None
    filter: str | None
    bodies: bool
    reveal_secrets: bool
    split_size: int
    partitions: int | None
    folder: str | None


def exchanges(
    spark: SparkSession, path: str | Iterable[str], *, table: str = "exchanges", **options: Unpack[FrameOptions]
) -> DataFrame:
    """The exchanges of captures (paths, globs, folders, URLs), with the columns of the table `exchanges`.

    Problems of a file that can be read in part are not reported. Raises Failure where there is nothing to read.
    """
    from pyspark.sql.pandas.types import from_arrow_schema

    from kwcli.pipeline.spark.spark_sessions import prepare

    if unknown := options.keys() - FrameOptions.__annotations__.keys():
        raise TypeError(f"exchanges() has no option {min(unknown)!r}")
    prepare(spark, source=False)
    found = find_captures([path] if isinstance(path, str) else path, options.get("points", ()))
    plan = plan_splits(found.files, options.get("split_size", SPLIT_SIZE))
    if not plan.splits:
        raise Failure(str([*found.problems, *plan.problems, "there is no capture"][0]))
    ports = options.get("ports")
    spec = JobSpec(
        files=tuple(file.path for file in found.files),
        tables=(table,),
        ports=None if ports is None else frozenset(ports),
        filter=options.get("filter"),
        since_ns=options.get("since_ns"),
        until_ns=options.get("until_ns"),
        bodies=options.get("bodies", False),
        reveal_secrets=options.get("reveal_secrets", False),
    )
    RowFilter(spec)  # a wrong filter fails here
    staging = Staging(OutputFolder(options.get("folder") or str(make_scratch_folder())), uuid.uuid4().hex)
    Coordination(staging).write_all_splits(plan.splits)
    stage_input = StageInput(spec, len(plan.splits), staging, raw=False)

    def rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        gathered = GatheredBatches(table)
        writing = PartitionWriter(stage_input, gathered)
        for batch in batches:
            writing.add_batch(batch)
            yield from gathered.take_batches()
        for _ in writing.finish():
            yield from gathered.take_batches()

    partitions = options.get("partitions") or count_tasks(sum(split.size for split in plan.splits))
    return run_stitch_stages(spark, stage_input, partitions).mapInArrow(rows, from_arrow_schema(SCHEMAS[table]))


def topic_partitions(spark: SparkSession, path: str | Iterable[str], **options: Unpack[FrameOptions]) -> DataFrame:
    """The table `topic_partitions` of captures; arguments and errors are those of `exchanges`."""
    return exchanges(spark, path, table="topic_partitions", **options)


def connections(spark: SparkSession, path: str | Iterable[str], **options: Unpack[FrameOptions]) -> DataFrame:
    """The table `connections` of captures; arguments and errors are those of `exchanges`."""
    return exchanges(spark, path, table="connections", **options)
