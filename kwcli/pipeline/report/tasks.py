"""Tables in, folds out, counted by tasks of Spark: each task has folds of its own, which are merged here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from kwcli.pipeline.report.folds import Counted, Folds
from kwcli.pipeline.report.tables import Tables, together
from kwcli.pipeline.spark.failures import failure_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kwcli.pipeline.report.counted import Run

_STATE = "state binary"


def count_there(spark: SparkSession, tables: Tables) -> Run:
    """Counting on Spark. Failure says in one line why a task failed."""

    def run(counted: Mapping[str, Counted], table: str) -> Folds:
        whole = Folds(counted, table)
        if not tables.files[table]:
            return whole
        tables.check(table, whole.columns)
        rows = spark.read.parquet(*tables.files[table]).select(*whole.columns)
        states = rows.mapInArrow(partial(count_part, counted, table), _STATE)
        try:
            found = states.collect()
        except Exception as problem:
            raise failure_of(problem) from problem
        for row in found:
            part = Folds(counted, table)
            part.resume(bytes(row.state))
            whole.merge(part)
        return whole

    return run


def count_part(
    counted: Mapping[str, Counted], table: str, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """What one task does: its rows in, the state of its folds out."""
    folds = Folds(counted, table)
    for batch in together(batches):
        folds.count(batch)
    yield pa.RecordBatch.from_pydict({"state": pa.array([folds.export()], pa.binary())})
