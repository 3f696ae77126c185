"""Jobs for the engines of the pipeline, and the rows of the tables that they write."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.dataset as ds

from kwcli.pipeline import local_engine
from kwcli.pipeline.engine_job_and_result import EngineResult, JobSpec
from kwcli.pipeline.plan_splits import PendingPlan, SplitPlan, make_finished_plan, plan_splits
from kwcli.pipeline.read.find_captures import find_captures
from kwcli.pipeline.read.split_and_file_range import Split
from kwcli.pipeline.store.replace_folders_of_tables import open_store
from kwcli.pipeline.tables.table_columns import TABLES


class Job(NamedTuple):
    """The input of an engine."""

    spec: JobSpec
    splits: list[Split]

    @property
    def pending_plan(self) -> PendingPlan:
        """A finished plan with all splits."""
        return make_finished_plan(SplitPlan(self.splits, [], []))


def job_of(words: Sequence[str], *, points: Sequence[tuple[str, str]] = (), size: int = 1 << 30, **more: Any) -> Job:
    """A job over captures, cut at this size."""
    found = find_captures(words, points)
    assert not found.problems
    made = plan_splits(found.files, size)
    assert not made.problems
    return Job(JobSpec(tuple(file.path for file in found.files), **{"tables": tuple(TABLES), **more}), made.splits)


def run(folder: Path, job: Job) -> EngineResult:
    """Run a job into tables in one process."""
    with open_store(str(folder)) as store:
        staging = store.start_staging()
        outcome = local_engine.decode_splits_into_tables(job.spec, job.pending_plan, staging)
        store.commit(staging, outcome.written, sources=[], options={}, tables=job.spec.tables, facts={})
    return outcome


def rows_in(folder: Path, table: str) -> list[dict[str, Any]]:
    """The rows of a table as a reader of Parquet finds them, in a fixed order."""
    rows = ds.dataset(folder / table, partitioning="hive").to_table().to_pylist()
    return sorted(rows, key=lambda row: (row["time_ns"], repr(row)))
