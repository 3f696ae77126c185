"""The first stage of a job: one split in, its parts by connection out, as batches of `stage_schemas.PARTS`.

The rows that the split could settle itself go into its pool (stage_settled_rows_of_split.py). Facts for other
connections, counts and problems are left as files for the other tasks and the driver (driver_task_coordination.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from decoders.splits.split_parts import FACT, ROWS, Part
from decoders.splits.split_segments import Splitter
from kwcli.pipeline.read.filter_and_batch_rows import BATCH_WEIGHT, RowFilter, make_exchange_columns
from kwcli.pipeline.read.read_split_segments import SplitReader
from kwcli.pipeline.read.read_tls_keys import read_keys
from kwcli.pipeline.spark.driver_task_coordination import Coordination
from kwcli.pipeline.spark.explain_failures import describe_split_place, turn_errors_into_failures
from kwcli.pipeline.spark.stage_schemas import ReadReport, StageInput, Travelling, build_parts_batch
from kwcli.pipeline.spark.stage_settled_rows_of_split import SettledRowsWriter
from kwcli.pipeline.spark.tune_python_gc import collect_garbage_seldom
from kwcli.reading.sinks.closing_lines import note_dropped_keys

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Settled
    from kwcli.pipeline.read.split_and_file_range import Split

__all__ = ["read_split"]

# Bytes that a task hands to the JVM at once.
BATCH_SIZE: Final = 4 << 20


def read_split(stage_input: StageInput, number: int) -> Iterator[pa.RecordBatch]:
    """Read one split: its parts in batches of PARTS; nothing where there is no split with this number."""
    spec = stage_input.spec
    row_filter = RowFilter(spec)
    coordination = Coordination(stage_input.staging)
    split = coordination.wait_for_split(number)
    if split is None:
        return
    reading = SplitReader(split)
    pool = SettledRowsWriter(stage_input.staging, number)
    shuffle_writer = ShuffleWriter(stage_input, split, row_filter, pool)
    source = reading if reading.repeats else None
    keys = read_keys(spec.key_logs, spec.secret_captures, spec.files)
    splitter = Splitter(
        spec.ports,
        row_filter.needs,
        raw=stage_input.raw,
        source=source,
        project=shuffle_writer.add_waiting_row,
        keys=keys,
        topic_names=spec.topic_names,
    )
    with turn_errors_into_failures(partial(describe_split_place, split)):
        try:
            with collect_garbage_seldom():
                for segments in reading:
                    shuffle_writer.add_parts(splitter.feed(segments))
                    if shuffle_writer.weight_of_waiting_rows >= BATCH_WEIGHT:
                        shuffle_writer.add_parts(splitter.end_batch())
                        shuffle_writer.write_rows()
                    yield from shuffle_writer.take_full_batches()
                    coordination.write_progress(number, reading.taken)
                shuffle_writer.add_parts(splitter.finish())
                shuffle_writer.write_rows()
                yield from shuffle_writer.take_batches()
            pool.close()
        except BaseException:
            pool.abandon()
            raise
    note_dropped_keys(reading.counts, keys)
    counts, problems = dict(reading.counts), tuple(reading.problems)
    coordination.write_split_report(
        ReadReport(number, reading.taken, counts, problems, tuple(shuffle_writer.facts), pool.rows)
    )


class ShuffleWriter:
    """Collects parts until they are worth a batch, and rows for the pool; `facts` are for all connections."""

    def __init__(self, stage_input: StageInput, split: Split, row_filter: RowFilter, pool: SettledRowsWriter) -> None:
        self.facts: list[bytes] = []
        self._split = split
        self._row_filter = row_filter
        self._pool = pool
        self._columns = make_exchange_columns(stage_input.spec, split.point)
        self._open: dict[bytes, int] = {}  # key → its run, of which there are rows
        self._runs = 0
        self._owners: list[int | None] = []  # the run of each row that waits
        self._parts: list[Travelling] = []
        self._size = 0

    def add_parts(self, parts: list[Part]) -> None:
        """Take parts of the splitter: rows, facts, and parts for the second stage."""
        for part in parts:
            if part.kind == ROWS:
                self._number_run_of_settled_rows(part)
            elif part.kind == FACT:
                self.facts.append(part.blob)
            else:
                self._open.pop(part.key, None)
                self._add_part(part, None)

    def take_full_batches(self) -> Iterator[pa.RecordBatch]:
        """A batch, when there is enough for one."""
        if self._size >= BATCH_SIZE:
            yield from self.take_batches()

    def take_batches(self) -> Iterator[pa.RecordBatch]:
        """The parts that wait, in batches."""
        parts, self._parts, self._size = self._parts, [], 0
        begin = size = 0
        for end, (_, _, _, blob, _) in enumerate(parts, 1):
            size += len(blob)
            if size >= BATCH_SIZE or end == len(parts):
                yield build_parts_batch(self._split.point, self._split.ord, parts[begin:end])
                begin, size = end, 0

    def add_waiting_row(self, row: Settled) -> int | None:
        """Collect a row that may still be dropped; its place among the rows that wait, None where it is not wanted."""
        place = None
        if self._row_filter.passes_everything or self._row_filter.is_wanted(row):
            self._columns.add_row(row)
            place = len(self._owners)
            self._owners.append(None)
        if row.kind == "exchange":
            row._free_bytes_and_views()
        return place

    @property
    def weight_of_waiting_rows(self) -> int:
        """The weight of the rows that wait."""
        return self._columns.weight

    def write_rows(self) -> None:
        """Write the rows that wait and have a run; the other rows never get one, and are dropped."""
        if self._owners:
            owners, self._owners = pa.array(self._owners, pa.int32()), []
            rows = self._columns.take_batch()
            if owners.null_count:
                believed = owners.is_valid()
                rows, owners = rows.filter(believed), owners.filter(believed)
            self._pool.write(rows, owners)

    def _add_part(self, part: Part, run: int | None) -> None:
        self._parts.append((part.key, part.seq, part.kind, part.blob, run))
        self._size += len(part.blob) + 64

    def _number_run_of_settled_rows(self, part: Part) -> None:
        """Give rows that the split settled itself the number of their run; only that number travels, once."""
        run = self._open.get(part.key)
        if run is None:
            run = self._open[part.key] = self._runs
            self._runs += 1
            self._add_part(part, run)
        elif part.blob:
            self._add_part(part, None)
        for place in part.rows:
            if place is not None:
                self._owners[place] = run
