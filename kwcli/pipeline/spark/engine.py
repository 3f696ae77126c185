"""A job in, its tables in the staging folder and reports of them out: the engines `stitch` and `shuffle`.

    splits ── read_split ──▶ parts ── by connection, in order ──▶ write_tables ──▶ names of files

Stage 1 reads and decodes one split a task, stage 2 puts connections together; between them Spark moves and sorts what
a split could not settle alone, and the rows that it could (with `raw`: everything).
"""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Iterator
from threading import Event, Thread
from typing import TYPE_CHECKING, Final

from kwcli.pipeline.local import Outcome
from kwcli.pipeline.spark.arrays import PARTS_DDL
from kwcli.pipeline.spark.failures import failure_of
from kwcli.pipeline.spark.job import Order
from kwcli.pipeline.spark.notes import Notes
from kwcli.pipeline.spark.read_stage import read_split
from kwcli.pipeline.spark.write_stage import RESULT_DDL, write_tables
from kwcli.pipeline.tally import Tally

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from kwcli.pipeline.local import Job, Progress
    from kwcli.pipeline.spark.job import ReadReport, WriteReport
    from kwcli.pipeline.store.staging import Staging

__all__ = ["ORDER", "parts", "run", "tasks"]

PERIOD_S: Final = 0.2
# Bytes of capture for each task of stage 2; fewer tasks than cores would leave some idle, too many make small files.
TASK_SIZE: Final = 512 << 20
TASKS_MIN: Final = 4
TASKS_MAX: Final = 4000
ORDER: Final = ("point", "key", "ord", "seq", "kind")


def parts(spark: SparkSession, order: Order) -> DataFrame:
    """Stage 1: the parts of all splits, a task for each split."""

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from read_split(order, number)

    count = len(order.job.splits)
    return spark.range(0, count, 1, count).mapInArrow(read, PARTS_DDL)


def run(
    spark: SparkSession,
    job: Job,
    staging: Staging,
    progress: Progress | None = None,
    *,
    raw: bool = False,
    partitions: int | None = None,
) -> Outcome:
    """Run a job: the engine `stitch`, or with `raw` the engine `shuffle`. Failure says what went wrong.

    `progress` is called now and then, by another thread. `partitions` is the number of tasks of stage 2.
    """
    order = Order(job, staging, raw)

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return write_tables(order, batches)

    ordered = parts(spark, order).repartition(partitions or tasks(job), "point", "key")
    notes = Notes(staging)
    try:
        with _Watch(notes, progress):
            rows = ordered.sortWithinPartitions(*ORDER).mapInArrow(write, RESULT_DDL).collect()
    except Exception as problem:
        raise failure_of(problem) from problem
    return _outcome(notes.reports(), [pickle.loads(row["report"]) for row in rows])


def tasks(job: Job) -> int:
    """Into how many groups the connections are put for stage 2: a task, and a file of each table and date, for each."""
    size = sum(split.size for split in job.splits)
    return min(max(TASKS_MIN, -(-size // TASK_SIZE)), TASKS_MAX)


def _outcome(read: list[ReadReport], written: list[WriteReport]) -> Outcome:
    tally = Tally()
    counts: Counter[str] = Counter()
    for report in written:
        tally.merge(report.tally)
    for each in read:
        counts.update(each.counts)
    return Outcome(
        sorted(file for report in written for file in report.files),
        tally,
        counts,
        [problem for each in read for problem in each.problems],
        sum(each.size for each in read),
    )


class _Watch:
    """Looks now and then how far the tasks are, while a job runs in the foreground."""

    def __init__(self, notes: Notes, progress: Progress | None) -> None:
        self._notes = notes
        self._progress = progress
        self._over = Event()
        self._thread = Thread(target=self._look, daemon=True) if progress else None

    def _look(self) -> None:
        assert self._progress is not None
        while not self._over.wait(PERIOD_S):
            self._progress(*self._notes.so_far())

    def __enter__(self) -> None:
        if self._thread is not None:
            self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join()
