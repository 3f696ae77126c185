"""The splits of a batch's task in, its rows in staging and the states of its connections out: in any process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from decoders.errors import DecodeError
from decoders.named_tuple import NamedTuple
from kwcli.pipeline.local_engine import PointDecoder
from kwcli.pipeline.read.filter_and_batch_rows import RowFilter
from kwcli.pipeline.read.read_tls_keys import read_keys
from kwcli.pipeline.read.split_and_file_range import Problem
from kwcli.pipeline.tables.run_counts import RunCounts
from kwcli.pipeline.watch.diagnose_each_date import DailyDoctors
from kwcli.reading.capture_sources import escape_non_utf8
from kwcli.reading.sinks.closing_lines import note_dropped_keys
from kwcli.run_environment import Failure

if TYPE_CHECKING:
    from kwcli.pipeline.engine_job_and_result import JobSpec
    from kwcli.pipeline.read.read_split_segments import GrowingState
    from kwcli.pipeline.store.batch_store import BatchStaging
    from kwcli.pipeline.tables.write_parquet import WrittenFile
    from kwcli.pipeline.watch.track_captures import PointPlan

__all__ = ["BatchInput", "TaskReport", "decode_points", "merge_task_reports"]


class BatchInput(NamedTuple):
    """The input of all tasks of a batch. `states` are the paths of the states that the batch before has left, by point.

    With `ends` the captures are over behind this batch, and open connections are settled.
    """

    spec: JobSpec
    staging: BatchStaging
    states: Mapping[str, str]
    ends: bool


class TaskReport(NamedTuple):
    """What a task has written and found; `states`, `last_ns` by point, `left` by number of file (`PointDecoder`).

    `seen` are the folds of findings, each behind its date (`DailyDoctors`).
    """

    files: tuple[WrittenFile, ...]
    states: Mapping[str, str]
    left: Mapping[int, GrowingState]
    last_ns: Mapping[str, int]
    counts: Counter[str]
    problems: tuple[Problem, ...]
    tally: RunCounts
    taken: int
    seen: tuple[tuple[int, bytes], ...] = ()


_ANEW: Final = "begins anew, since another version of kw left its state: requests that were open are lost"


def decode_points(batch: BatchInput, points: Sequence[PointPlan]) -> TaskReport:
    """Decode these points, from their states on. Raises OSError when writing fails, Failure when a state is missing."""
    spec, staging = batch.spec, batch.staging
    row_filter = RowFilter(spec)
    read_keys.cache_clear()  # key logs grow
    keys = read_keys(spec.key_logs, spec.secret_captures)
    states: dict[str, str] = {}
    left: dict[int, GrowingState] = {}
    last_ns: dict[str, int] = {}
    counts: Counter[str] = Counter()
    problems: list[Problem] = []
    taken = 0
    doctors = DailyDoctors() if spec.doctor else None
    with staging.make_writer(spec.tables) as writer:
        for point, splits in points:
            observe = None if doctors is None else doctors.add_row
            decoder = PointDecoder(spec, point, row_filter, keys, writer, observe)
            before = batch.states.get(point)
            if before is not None:
                state = staging.files.read(before)
                if state is None:
                    raise Failure(f"{staging.files.full_path(before)}: missing: watch into another folder")
                try:
                    decoder.engine.resume(state)
                    decoder.engine.pairer.context.topics.add_missing_names(spec.topic_names)
                except DecodeError:
                    decoder = PointDecoder(spec, point, row_filter, keys, writer, observe)
                    problems.append(Problem(point or "open connections", None, _ANEW))
            for split in splits:
                decoder.decode_split(split)
            if batch.ends:
                decoder.finish()
            else:
                decoder.engine.summary.clients.clear()  # their number has no bound, and they are not needed here
                states[point] = staging.write_state(decoder.engine.export())
            decoder.write_pending_rows()
            left.update(decoder.left)
            last_ns[point] = decoder.last_ns
            counts.update(decoder.counts)
            problems += decoder.problems
            taken += decoder.taken
        note_dropped_keys(counts, keys)
        files = tuple(writer.close())
    seen = () if doctors is None else doctors.export([*map(escape_non_utf8, spec.files)])
    return TaskReport(files, states, left, last_ns, counts, tuple(problems), writer.tally, taken, seen)


def merge_task_reports(reports: Sequence[TaskReport]) -> TaskReport:
    """The reports of all tasks of a batch as one."""
    states: dict[str, str] = {}
    left: dict[int, GrowingState] = {}
    last_ns: dict[str, int] = {}
    counts: Counter[str] = Counter()
    tally = RunCounts()
    for report in reports:
        states.update(report.states)
        left.update(report.left)
        last_ns.update(report.last_ns)
        counts.update(report.counts)
        tally.merge(report.tally)
    return TaskReport(
        tuple(sorted(file for report in reports for file in report.files)),
        states,
        left,
        last_ns,
        counts,
        tuple(problem for report in reports for problem in report.problems),
        tally,
        sum(report.taken for report in reports),
        tuple(each for report in reports for each in report.seen),
    )
