"""Splits in, tables in the staging folder out, in one process: the engine `local`.

One decoder reads the splits of a capture point, one after the other, as one capture; no connection is in two points.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING

from decoders.exchanges.engine import Engine
from kwcli.pipeline.engine_job_and_result import EngineResult
from kwcli.pipeline.read.decode_request_logs import RequestLogDecoder
from kwcli.pipeline.read.filter_and_batch_rows import RowBatcher, RowFilter
from kwcli.pipeline.read.read_split_segments import SplitReader
from kwcli.pipeline.read.read_tls_keys import read_keys
from kwcli.reading.sinks.closing_lines import note_dropped_keys

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Row
    from decoders.tls.key_log import KeyLog
    from kwcli.pipeline.engine_job_and_result import JobSpec, Progress
    from kwcli.pipeline.plan_splits import PendingPlan
    from kwcli.pipeline.read.read_split_segments import GrowingState
    from kwcli.pipeline.read.splits import Problem, Split
    from kwcli.pipeline.store.staging import Staging
    from kwcli.pipeline.tables.write_parquet import TableWriter

__all__ = ["PointDecoder", "decode_splits_into_tables"]


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
        self.engine = Engine(spec.ports, row_filter.needs, connections=True, keys=keys)
        self.counts: Counter[str] = Counter()
        self.problems: list[Problem] = []
        self.left: dict[int, GrowingState] = {}
        self.taken = 0
        self.last_ns = 0
        self._spec, self._point, self._row_filter, self._writer = spec, point, row_filter, writer
        write_ended = partial(writer.write_table, "connections")
        self._batcher = RowBatcher(spec, point, row_filter, writer.write, write_ended, observe)

    def decode_split(self, split: Split, progress: Callable[[int], None] | None = None) -> None:
        """Decode a split; `progress` is told the bytes read so far."""
        if split.pieces[0].log:
            self._decode_log_piece(split)
            return
        reading = SplitReader(split, self.engine)
        for segments in reading:
            self._batcher.add_rows(self.engine.feed(segments))
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
        self._batcher.add_rows(self.engine.finish())

    def write_pending_rows(self) -> None:
        """Write the rows that wait for a full batch."""
        self._batcher.write_pending_rows()


def decode_splits_into_tables(
    spec: JobSpec, pending_plan: PendingPlan, staging: Staging, progress: Progress | None = None
) -> EngineResult:
    """Read all splits into tables. Raises OSError when the tables cannot be written."""
    row_filter = RowFilter(spec)
    counts: Counter[str] = Counter()
    problems: list[Problem] = []
    taken = done = 0
    with staging.writer(spec.tables) as writer:
        for point, splits in groupby(pending_plan.splits, key=lambda split: split.point):
            keys = read_keys(spec.key_logs, spec.secret_captures, spec.files)
            decoder = PointDecoder(spec, point, row_filter, keys, writer)
            for split in splits:
                decoder.decode_split(
                    split, None if progress is None else partial(_show_progress, progress, taken, done)
                )
                done += 1
            decoder.finish()
            decoder.write_pending_rows()
            taken += decoder.taken
            counts.update(decoder.counts)
            note_dropped_keys(counts, keys)
            problems += decoder.problems
        written = writer.close()
    return EngineResult(written, writer.tally, counts, problems, taken)


def _show_progress(progress: Progress, before: int, done: int, taken: int) -> None:
    progress(before + taken, done)
