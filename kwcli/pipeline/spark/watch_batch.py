"""A batch of a watch in, its rows in staging and reports on them out: on Spark, some capture points for each task."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from kwcli.pipeline.spark.explain_failures import make_failure_of_exception
from kwcli.pipeline.spark.write_stage import RESULT, RESULT_DDL
from kwcli.pipeline.store.replace_folders_of_tables import os_errors_as_failures
from kwcli.pipeline.watch.decode_batch import BatchInput, TaskReport, decode_points

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from kwcli.pipeline.watch.track_captures import PointPlan

__all__ = ["run_watch_batch"]


def run_watch_batch(
    spark: SparkSession, batch: BatchInput, points: Sequence[PointPlan], cores: int
) -> list[TaskReport]:
    """Decode all points of a batch. A task that is killed is tried again by Spark. Failure says what went wrong."""
    tasks = share_points_among_tasks(points, max(cores, 1))

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        with os_errors_as_failures(batch.staging.files.root):
            for rows in batches:
                for number in rows.column(0).to_pylist():
                    report = decode_points(batch, tasks[number])
                    yield pa.RecordBatch.from_arrays([pa.array([pickle.dumps(report)], pa.binary())], schema=RESULT)

    try:
        rows = spark.range(0, len(tasks), 1, len(tasks)).mapInArrow(work, RESULT_DDL).collect()
    except Exception as problem:
        raise make_failure_of_exception(problem) from problem
    return [pickle.loads(row["report"]) for row in rows]


def share_points_among_tasks(points: Sequence[PointPlan], count: int) -> list[list[PointPlan]]:
    """The points in at most `count` groups of about the same size, the largest points first."""
    groups: list[list[PointPlan]] = [[] for _ in range(min(count, len(points)))]
    sizes = [0] * len(groups)
    for point in sorted(points, key=lambda one: -sum(split.size for split in one.splits)):
        at = sizes.index(min(sizes))
        groups[at].append(point)
        sizes[at] += sum(split.size for split in point.splits)
    return groups
