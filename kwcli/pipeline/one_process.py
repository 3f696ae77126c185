"""Splits in, tables in the staging folder out, in one process: the engine `local`.

The splits of a capture point, one after the other, are one capture to one engine; no connection goes from one point to
another.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING

from decoders.exchanges.engine import Engine
from kwcli.pipeline.job_spec import EngineResult, RowBatcher, RowFilter
from kwcli.pipeline.read.split_reader import SplitReader
from kwcli.pipeline.read.tls_keys import read_keys

if TYPE_CHECKING:
    from kwcli.pipeline.job_spec import JobSpec, Progress
    from kwcli.pipeline.plan import PendingPlan
    from kwcli.pipeline.read.file_ranges import Problem
    from kwcli.pipeline.store.staging import Staging

__all__ = ["run"]


def run(spec: JobSpec, coming: PendingPlan, staging: Staging, progress: Progress | None = None) -> EngineResult:
    """Read everything. Raises OSError when the tables cannot be written."""
    choice = RowFilter(spec)
    counts: Counter[str] = Counter()
    problems: list[Problem] = []
    taken = done = 0
    with staging.writer(spec.tables) as writer:
        for point, splits in groupby(coming.splits, key=lambda split: split.point):
            keys = read_keys(spec.key_logs, spec.secret_captures, spec.files)
            engine = Engine(spec.ports, choice.needs, connections=True, keys=keys)
            batcher = RowBatcher(spec, point, choice, writer.write, partial(writer.write_table, "connections"))
            for split in splits:
                reading = SplitReader(split, engine)
                for segments in reading:
                    batcher.take(engine.feed(segments))
                    if progress is not None:
                        progress(taken + reading.taken, done)
                taken += reading.taken
                done += 1
                counts.update(reading.counts)
                problems += reading.problems
            batcher.take(engine.finish())
            batcher.flush()
        written = writer.close()
    return EngineResult(written, writer.tally, counts, problems, taken)
