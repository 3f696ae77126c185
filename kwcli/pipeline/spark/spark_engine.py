"""A job in, its tables in the staging folder and reports of them out: the engine `stitch`, and its reference.

    splits ── read_split ──▶ parts ── by connection, in order ──▶ stitch ──▶ verdicts ── by split ──▶ write_tables
                  └────────▶ pools of rows ───────────────────────────────────────────────────────────────┘

Stage 1 reads and decodes one split a task; the rows that a split can settle alone wait in the staging folder. Spark
moves and sorts all other parts (with `raw`: everything), of which stage 2 makes connections. Stage 3 writes the tables.
"""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Iterator
from threading import Event, Thread
from typing import TYPE_CHECKING, Final

from kwcli.pipeline.engine_job_and_result import EngineResult
from kwcli.pipeline.spark.driver_task_coordination import Coordination
from kwcli.pipeline.spark.explain_failures import make_failure_of_exception
from kwcli.pipeline.spark.read_stage import read_split
from kwcli.pipeline.spark.stage_schemas import PARTS, STITCHED, StageInput
from kwcli.pipeline.spark.stitch_stage import stitch_partition
from kwcli.pipeline.spark.write_stage import RESULT_DDL, write_tables
from kwcli.pipeline.store.replace_folders_of_tables import os_errors_as_failures
from kwcli.pipeline.tables.run_counts import RunCounts

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from kwcli.pipeline.engine_job_and_result import JobSpec, Progress
    from kwcli.pipeline.plan_splits import PendingPlan
    from kwcli.pipeline.read.split_and_file_range import Problem, Split
    from kwcli.pipeline.spark.stage_schemas import ReadReport, WriteReport
    from kwcli.pipeline.store.staging_folder import Staging

__all__ = ["count_tasks", "run_job", "run_stitch_stages"]

PERIOD_S: Final = 0.2
# Bytes of capture for each task of stages 2 and 3; fewer than cores would leave some idle, too many make small files.
TASK_SIZE: Final = 1 << 30
TASKS_MIN: Final = 4
TASKS_MAX: Final = 4000
SORT_COLUMNS: Final = ("point", "key", "ord", "seq", "kind")


def run_stitch_stages(spark: SparkSession, stage_input: StageInput, partitions: int) -> DataFrame:
    """Stages 1 and 2: verdicts by split. `partitions` is the number of tasks of stages 2 and 3."""
    from pyspark.sql.functions import expr
    from pyspark.sql.pandas.types import from_arrow_schema

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with os_errors_as_failures(place):
            for batch in batches:
                for number in batch.column(0).to_pylist():
                    yield from read_split(stage_input, number)

    def join(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with os_errors_as_failures(place):
            yield from stitch_partition(stage_input, batches)

    count, place = stage_input.most, stage_input.staging.files.root
    parts = spark.range(0, count, 1, count).mapInArrow(read, from_arrow_schema(PARTS))
    ordered = parts.repartition(partitions, "point", "key").sortWithinPartitions(*SORT_COLUMNS)
    verdicts = ordered.mapInArrow(join, from_arrow_schema(STITCHED))
    return verdicts.repartitionById(partitions, expr(f"cast(split * {partitions} div {count} as int)"))


def run_job(
    spark: SparkSession,
    spec: JobSpec,
    pending_plan: PendingPlan,
    staging: Staging,
    progress: Progress | None = None,
    *,
    raw: bool = False,
    partitions: int | None = None,
) -> EngineResult:
    """Run a job. Failure says what went wrong.

    With `raw` all payload travels by connection and is decoded behind the shuffle: slow, the reference of the tests.
    `progress` is called now and then, by another thread. `partitions` is the number of tasks of stages 2 and 3.
    """
    stage_input = StageInput(spec, pending_plan.most, staging, raw)

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with os_errors_as_failures(staging.files.root):
            yield from write_tables(stage_input, batches)

    coordination = Coordination(staging)
    try:
        with _ProgressThread(coordination, progress), _PlanningThread(coordination, pending_plan.splits):
            made = run_stitch_stages(spark, stage_input, partitions or count_tasks(pending_plan.size)).mapInArrow(
                write, RESULT_DDL
            )
            rows = made.collect()
    except Exception as problem:
        raise make_failure_of_exception(problem) from problem
    return _combine_task_reports(
        coordination.read_reports(), [pickle.loads(row["report"]) for row in rows], coordination.read_lost_connections()
    )


def count_tasks(size: int) -> int:
    """The number of tasks of stages 2 and 3 for `size` bytes of captures; each task writes a file of each table."""
    return min(max(TASKS_MIN, -(-size // TASK_SIZE)), TASKS_MAX)


class _PlanningThread:
    """Records the splits as they come, in a thread, while a job in the foreground already reads the first of them."""

    def __init__(self, coordination: Coordination, splits: Iterator[Split]) -> None:
        self._coordination = coordination
        self._splits = splits
        self._over = Event()
        self._thread = Thread(target=self._add_splits, daemon=True)

    def _add_splits(self) -> None:
        known: list[Split] = []
        try:
            for split in self._splits:
                if self._over.is_set():
                    return
                self._coordination.write_split(len(known), split)
                known.append(split)
            self._coordination.write_all_splits(known)
        except Exception as problem:
            self._coordination.write_planning_failure(str(problem))  # a task reports it

    def __enter__(self) -> None:
        self._coordination.create_folder()
        self._thread.start()

    def __exit__(self, kind: object, *_: object) -> None:
        self._over.set()
        if kind is None:  # else planning may take long, and the plan is not needed
            self._thread.join()


def _combine_task_reports(read: list[ReadReport], written: list[WriteReport], lost: list[Problem]) -> EngineResult:
    tally = RunCounts()
    counts: Counter[str] = Counter()
    for report in written:
        tally.merge(report.tally)
    for each in read:
        counts.update(each.counts)
    pooled, found = sum(each.rows for each in read), sum(report.rows for report in written)
    if pooled != found:
        raise RuntimeError(f"{pooled} rows went into the pools, {found} came out")
    return EngineResult(
        sorted(file for report in written for file in report.files),
        tally,
        counts,
        [problem for each in read for problem in each.problems] + lost,
        sum(each.size for each in read),
    )


class _ProgressThread:
    """Reports now and then, in a thread, how far the tasks are, while a job runs in the foreground."""

    def __init__(self, coordination: Coordination, progress: Progress | None) -> None:
        self._coordination = coordination
        self._progress = progress
        self._over = Event()
        self._thread = Thread(target=self._report_progress, daemon=True) if progress else None

    def _report_progress(self) -> None:
        assert self._progress is not None
        while not self._over.wait(PERIOD_S):
            self._progress(*self._coordination.read_progress())

    def __enter__(self) -> None:
        if self._thread is not None:
            self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join()
