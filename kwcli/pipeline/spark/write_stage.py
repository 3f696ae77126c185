"""The third stage of a job: verdicts on the runs of splits in, the tables' rows out, pooled ones and late ones.

A task has all verdicts on its splits. So it walks their pools once, completes each batch of a pool at once and hands it
to a writer.
"""

from __future__ import annotations

import pickle
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Final, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from kwcli.pipeline.spark.complete_rows_of_splits import RowCompletion
from kwcli.pipeline.spark.driver_task_coordination import Coordination
from kwcli.pipeline.spark.explain_failures import describe_split_place, turn_errors_into_failures
from kwcli.pipeline.spark.stage_schemas import STITCHED, StageInput, WriteReport, unpack_connections, unpack_rows
from kwcli.pipeline.spark.stage_settled_rows_of_split import read_settled_rows
from kwcli.pipeline.spark.tune_python_gc import collect_garbage_seldom

__all__ = ["RESULT_DDL", "PartitionWriter", "RowSink", "write_tables"]

RESULT: Final = pa.schema([pa.field("report", pa.binary())])
RESULT_DDL: Final = "report binary"
_VERDICT: Final = [name for name in STITCHED.names if name not in ("split", "rows", "ended")]


class RowSink(Protocol):
    """Takes rows of tables, as a TableWriter does."""

    def write(self, rows: pa.RecordBatch, /) -> None: ...

    def write_table(self, table: str, batch: pa.RecordBatch, /) -> None: ...


def write_tables(stage_input: StageInput, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The work of one task: all verdicts on its splits in, tables written, a batch with its WriteReport out."""
    with collect_garbage_seldom(), stage_input.staging.make_writer(stage_input.spec.tables) as writer:
        writing = PartitionWriter(stage_input, writer)
        with turn_errors_into_failures(writing.describe_place):
            for batch in batches:
                writing.add_batch(batch)
            for _ in writing.finish():
                pass
            report = WriteReport(tuple(writer.close()), writer.tally, writing.rows)
    yield pa.RecordBatch.from_arrays([pa.array([pickle.dumps(report)], pa.binary())], schema=RESULT)


class PartitionWriter:
    """Hands the rows of some splits to a writer. `rows` counts the rows that were in pools."""

    def __init__(self, stage_input: StageInput, writer: RowSink) -> None:
        self.rows = 0
        self._stage_input = stage_input
        self._writer = writer
        coordination = Coordination(stage_input.staging)
        self._splits = coordination.read_all_splits()
        self._facts = coordination.read_facts_by_point(self._splits)
        self._completions: dict[str, RowCompletion] = {}
        self._verdicts: dict[int, list[pa.RecordBatch]] = defaultdict(list)
        self._split = 0  # the split whose rows are being written

    def describe_place(self) -> str:
        """The place that the rows being written are from, for error messages."""
        return describe_split_place(self._splits[self._split])

    def add_batch(self, batch: pa.RecordBatch) -> None:
        """Take a batch of the second stage: its rows and connections are written at once, its verdicts wait."""
        for name, unpack in (("rows", unpack_rows), ("ended", unpack_connections)):
            for at in pc.indices_nonzero(pc.is_valid(batch.column(name))).to_pylist():
                self._write_batch(batch.column("split")[at].as_py(), unpack(batch.column(name)[at].as_py()), name)
        verdicts = batch.filter(pc.is_valid(batch.column("run")))
        for split in pc.unique(verdicts.column("split")).to_pylist():
            its = verdicts.filter(pc.equal(verdicts.column("split"), split))
            self._verdicts[split].append(its.select(_VERDICT))

    def finish(self) -> Iterator[None]:
        """Write the rows of the pools, one batch a step."""
        for split in sorted(self._verdicts):
            verdicts = pa.Table.from_batches(self._verdicts.pop(split)).sort_by("run").combine_chunks()
            completion = self._begin_split_and_get_completion(split)
            for rows, runs in read_settled_rows(self._stage_input.staging, split):
                self.rows += rows.num_rows
                self._writer.write(completion.complete_rows(completion.apply_verdicts(rows, runs, verdicts)))
                yield

    def _write_batch(self, split: int, batch: pa.RecordBatch, kind: str) -> None:
        completion = self._begin_split_and_get_completion(split)
        if kind == "ended":
            self._writer.write_table("connections", completion.drop_connection_numbers(batch))
        else:
            self._writer.write(completion.complete_rows(batch))

    def _begin_split_and_get_completion(self, split: int) -> RowCompletion:
        self._split = split
        point = self._splits[split].point
        if point not in self._completions:
            self._completions[point] = RowCompletion(self._facts.get(point))
        return self._completions[point]
