"""Splits in, tables in the staging folder out, on this machine: the engine `local`.

One decoder reads the splits of a capture point, one after the other, as one capture; no connection is in two points.
With several jobs this process reads packets and pairs; workers (render_jobs.py) read bodies, make the rows of the
tables and write files of their own. Their rows have no order, as those of Spark's tasks have none: the tables are sets
of rows. What the reader writes itself (the first rows, ends of connections, rows too large for a part) is in its files.
Files of a worker that dies are listed nowhere: the run fails, and the tables stay as they were.
"""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Final

from decoders.exchanges.segments_to_exchanges import Engine
from kwcli.pipeline.engine_job_and_result import EngineResult
from kwcli.pipeline.read.decode_request_logs import RequestLogDecoder
from kwcli.pipeline.read.filter_and_batch_rows import RowBatcher, RowFilter
from kwcli.pipeline.read.read_split_segments import SplitReader
from kwcli.pipeline.read.read_tls_keys import read_keys
from kwcli.pipeline.tables.run_counts import RunCounts
from kwcli.reading.sinks.closing_lines import note_dropped_keys
from kwcli.reading.sinks.process_row_steps import RowStep, RowWork
from kwcli.reading.sinks.render_jobs import RenderJobs, can_fork
from kwcli.reading.sinks.row_output import split_off_connection_ends

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Row, Settled
    from decoders.tls.key_log import KeyLog
    from kwcli.pipeline.engine_job_and_result import JobSpec, Progress
    from kwcli.pipeline.plan_splits import PendingPlan
    from kwcli.pipeline.read.read_split_segments import GrowingState
    from kwcli.pipeline.read.split_and_file_range import Problem, Split
    from kwcli.pipeline.store.staging_folder import Staging
    from kwcli.pipeline.tables.topic_partition_rows import TableNeeds
    from kwcli.pipeline.tables.write_parquet import TableWriter, WrittenFile
    from kwcli.reading.sinks.row_output import RowOutput

__all__ = ["PointDecoder", "decode_splits_into_tables", "make_engine_of_job"]

# Captures of fewer bytes have too few rows for several processes.
SHARED_MIN: Final = 1 << 20


class RowsIntoTables:
    """The renderer of rows that become rows of tables; it has no output of its own."""

    shows_skipped = True
    errors = expected = undecoded = remarks = 0

    def __init__(self, batcher: RowBatcher) -> None:
        self.batcher = batcher

    def write(self, rows: list[Settled]) -> None:
        """Add rows to the tables."""
        self.batcher.add_rows(rows)

    def learn_from_unshown_rows(self, rows: list[Settled]) -> None:
        """Do nothing: a row of a table is made of its exchange alone."""

    def close(self) -> None:
        """Do nothing: the tables are closed with their writer."""


class TableWork(RowWork):
    """The work on steps whose rows become rows of tables; a worker has a writer, and so files, of its own.

    `open_writer` makes the writer of a worker, `make_batcher` what brings rows into it. `written` and `tally` are those
    of all workers that have ended.
    """

    writes_rows = False

    def __init__(
        self,
        batcher: RowBatcher,
        open_writer: Callable[[], TableWriter],
        make_batcher: Callable[[TableWriter], RowBatcher],
    ) -> None:
        super().__init__(RowsIntoTables(batcher), _select_all_rows)
        self._open_writer, self._make_batcher = open_writer, make_batcher
        self.written: list[WrittenFile] = []
        self.tally = RunCounts()

    def rows_for_all_workers(self, _step: RowStep) -> list[Settled]:
        """None: a row of a table is made of its exchange alone."""
        return []

    def begin_worker(self) -> None:
        """Begin as a worker: with empty batches and files of its own."""
        self._writer = self._open_writer()
        self._batcher = self._make_batcher(self._writer)
        self.renderer = RowsIntoTables(self._batcher)

    def states(self) -> tuple[bytes, ...]:
        """The files that a worker has written, which it finishes, and the tally of their rows."""
        self._batcher.write_pending_rows()
        return (pickle.dumps((self._writer.close(), self._writer.tally)),)

    def merge_worker_states(self, states: tuple[bytes, ...]) -> None:
        """Add the files and the tally of a worker."""
        for state in states:
            written, tally = pickle.loads(state)
            self.written += written
            self.tally.merge(tally)


def _select_all_rows(rows: list[Settled]) -> tuple[list[Settled], int]:
    """The rows that a filter wants: RowBatcher has the filter of a run."""
    return rows, 0


def _import_what_tables_need() -> None:
    """Import what pyarrow imports when it is first used (pandas too, where it is installed), before there are workers.

    It takes half a second, which each worker would need for itself.
    """
    import pyarrow as pa
    import pyarrow.acero

    assert pyarrow.acero
    pa.array([0])


def make_engine_of_job(spec: JobSpec, needs: TableNeeds, keys: KeyLog) -> Engine:
    """An engine for the captures of one point."""
    engine = Engine(spec.ports, needs, connections=True, keys=keys)
    engine.enable_leaving_out_of_copies()
    engine.pairer.context.topics.add_missing_names(spec.topic_names)
    return engine


class PointDecoder:
    """The splits of one capture point in, one after the other, their rows into a writer.

    `counts`, `problems`, `taken` and `left` are collected from all readers (`SplitReader`); `last_ns` is the time of
    the last packet. `observe` sees each row that is wanted.
    """

    def __init__(
        self,
        spec: JobSpec,
        point: str,
        row_filter: RowFilter,
        keys: KeyLog,
        writer: TableWriter,
        observe: Callable[[Row], None] | None = None,
    ) -> None:
        self.engine = make_engine_of_job(spec, row_filter.needs, keys)
        self.counts: Counter[str] = Counter()
        self.problems: list[Problem] = []
        self.left: dict[int, GrowingState] = {}
        self.taken = 0
        self.last_ns = 0
        self._spec, self._point, self._row_filter, self._writer = spec, point, row_filter, writer
        self._batcher = self._make_batcher(writer, observe)
        self.work: TableWork | None = None  # of workers
        self._jobs: RenderJobs | None = None

    def _make_batcher(self, writer: TableWriter, observe: Callable[[Row], None] | None = None) -> RowBatcher:
        write_ended = partial(writer.write_table, "connections")
        return RowBatcher(self._spec, self._point, self._row_filter, writer.write, write_ended, observe)

    def start_worker_processes(self, open_writer: Callable[[], TableWriter], output: RowOutput, jobs: int) -> None:
        """Have `jobs` worker processes make the rows, each into a writer of its own. Nothing is written to `output`."""
        _import_what_tables_need()
        self.work = TableWork(self._batcher, open_writer, self._make_batcher)
        self._jobs = RenderJobs(self.work, output, self.engine.pairer.context, jobs)

    def kill_workers(self) -> None:
        """Kill the workers that are left, however the run has ended."""
        if self._jobs is not None:
            self._jobs.kill_workers()

    def _add_rows_to_tables(self, rows: Sequence[Row]) -> None:
        """Add rows to the tables, here or in workers."""
        jobs = self._jobs
        if jobs is None:
            self._batcher.add_rows(rows)
            return
        ended: list[Row] = []
        settled = split_off_connection_ends(rows, ended.append)
        large = jobs.write_in_any_order(settled)
        self._batcher.add_rows([*large, *ended])
        jobs.poll_workers()

    def decode_split(self, split: Split, progress: Callable[[int], None] | None = None) -> None:
        """Decode a split; `progress` is told the bytes read so far."""
        if split.pieces[0].log:
            self._decode_log_piece(split)
            return
        reading = SplitReader(split, self.engine)
        for segments in reading:
            self._add_rows_to_tables(self.engine.feed(segments))
            if segments:
                self.last_ns = segments[-1][1]
            if progress is not None:
                progress(self.taken + reading.taken)
        self.taken += reading.taken
        self.counts.update(reading.counts)
        self.problems += reading.problems
        self.left.update(reading.left)

    def _decode_log_piece(self, split: Split) -> None:
        """Decode a piece of a request log, which has nothing to do with connections."""
        logs = RequestLogDecoder(self._spec, self._point, self._row_filter, self._writer)
        logs.decode_piece(split.pieces[0])
        self.taken += logs.taken
        self.problems += logs.problems
        self.left.update(logs.left)

    def finish(self) -> None:
        """Settle what is open: the capture is over."""
        self._add_rows_to_tables(self.engine.finish())

    def write_pending_rows(self) -> None:
        """Write the rows that wait for a full batch; workers finish their files."""
        if self._jobs is not None:
            self._jobs.close()
        self._batcher.write_pending_rows()


def decode_splits_into_tables(
    spec: JobSpec,
    pending_plan: PendingPlan,
    staging: Staging,
    progress: Progress | None = None,
    *,
    jobs: int = 1,
    output: RowOutput | None = None,
) -> EngineResult:
    """Read all splits into tables, with `jobs` workers where there is an `output` and the input is large enough.

    Raises OSError when the tables cannot be written, Failure when a worker dies.
    """
    row_filter = RowFilter(spec)
    open_writer = partial(staging.make_writer, spec.tables)
    files: list[WrittenFile] = []
    counts: Counter[str] = Counter()
    problems: list[Problem] = []
    taken = done = 0
    if pending_plan.size < SHARED_MIN or not can_fork():
        output = None
    with staging.make_writer(spec.tables) as writer:
        for point, splits in groupby(pending_plan.splits, key=lambda split: split.point):
            keys = read_keys(spec.key_logs, spec.secret_captures, spec.files)
            decoder = PointDecoder(spec, point, row_filter, keys, writer)
            if output is not None and jobs > 1:
                decoder.start_worker_processes(open_writer, output, jobs)
            try:
                for split in splits:
                    decoder.decode_split(
                        split, None if progress is None else partial(_show_progress, progress, taken, done)
                    )
                    done += 1
                decoder.finish()
                decoder.write_pending_rows()
            finally:
                decoder.kill_workers()
            if decoder.work is not None:
                files += decoder.work.written
                writer.tally.merge(decoder.work.tally)
            taken += decoder.taken
            counts.update(decoder.counts)
            note_dropped_keys(counts, keys)
            problems += decoder.problems
        files += writer.close()
    return EngineResult(sorted(files), writer.tally, counts, problems, taken)


def _show_progress(progress: Progress, before: int, done: int, taken: int) -> None:
    progress(before + taken, done)
