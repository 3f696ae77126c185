"""Captures that never end in, tables that grow out: the loop of `kw pipeline watch`.

The problem. Captures arrive day and night. The process that decodes them, a worker of Spark, or the machine may die at
any moment; then no byte may be lost or counted twice. A connection outlives files, batches and processes.

The idea. Work is done in batches, and one commit says three things at once: the files that a batch adds to the tables,
how far each capture has been read, and the state of the open connections of each capture point. A batch that dies
before its commit has never happened; one that dies behind it is finished by the next process that opens the folder.

    look ──▶ plan ──▶ decode (a task for some points, here or on Spark) ──▶ are the files the same? ──▶ commit ──▶ look
     ▲                   state N-1 ─▶ engine ─▶ rows, state N in staging                                   │
     └──────────────── batch N failed: what it left is deleted, all is as commit N-1 says ◀────────────────┘

What always holds: tables, positions and states are those of one commit. The engine is that of `kw sniff`, resumed from
its exported state, so the rows are those of `kw pipeline run` over all files. A batch is bounded: bytes beyond it wait,
and are reported as lag.

Why the loop is here and not Spark's: Structured Streaming keeps its own log of offsets, and hands a batch out again
when its own commit is missing. So a sink needs a second log, of the batches that it has, and the two logs have to be
reconciled at each start. Here one log has it all, also for the engine `local`, which needs no Spark. Spark is used for
what it is good at: tasks on many machines, which are tried again where one dies.

What is given up: the packets of one capture point are decoded by one task at a time, about 70 MB/s; many points are
decoded side by side.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import orjson

from decoders.named_tuple import NamedTuple
from decoders.wire.format_and_escape_text import format_size
from kwcli.analyses.finding_renderer import add_commands_to_stored_findings, list_reading_options
from kwcli.analyses.render_answer import make_answer_record
from kwcli.analyses.render_doctor_answer import parse_thresholds
from kwcli.malloc_trim import Trimmer
from kwcli.output.format_decoded_values import list_missing_schemas
from kwcli.output.short_texts import count_of
from kwcli.pipeline.choose_engine import choose_engine
from kwcli.pipeline.engine_job_and_result import JobSpec, build_job_spec
from kwcli.pipeline.read.filter_and_batch_rows import RowFilter
from kwcli.pipeline.store.batch_store import (
    PARQUET,
    BatchStore,
    Change,
    open_batch_store,
    require_package_of_log_format,
)
from kwcli.pipeline.store.replace_folders_of_tables import os_errors_as_failures, write_empty_files
from kwcli.pipeline.store.tables_manifest import normalize_by_json
from kwcli.pipeline.tables.findings_table import build_findings_batch
from kwcli.pipeline.tables.run_counts import RunCounts
from kwcli.pipeline.tables.upgrade_table_rows import NewerTables
from kwcli.pipeline.watch.decode_batch import BatchInput, TaskReport, decode_points, merge_task_reports
from kwcli.pipeline.watch.diagnose_each_date import WatchFindings
from kwcli.pipeline.watch.learn_schemas_of_batches import WatchSchemas
from kwcli.pipeline.watch.spool_live_captures import LiveSpool
from kwcli.pipeline.watch.track_captures import BatchPlan, WatchedFiles
from kwcli.pipeline.watch.watch_metrics import WatchProgress, format_metrics
from kwcli.reading.live.capture_commands import parse_and_name_capture_commands
from kwcli.reading.sinks.closing_lines import DROPPED_KEYS_LINE, KEYS_DROPPED, describe_passed_over
from kwcli.reading.tls_key_log_files import check_key_logs
from kwcli.run_environment import Exit, Failure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from decoders.analysis.fold_interface import Row
    from kwcli.pipeline.choose_engine import EngineChoice
    from kwcli.pipeline.read.split_and_file_range import Problem
    from kwcli.pipeline.run_options import RunOptions, WatchOptions
    from kwcli.pipeline.store.batch_store import BatchStaging
    from kwcli.pipeline.watch.track_captures import PointPlan
    from kwcli.reading.live_capture import LiveCapture
    from kwcli.run_environment import Environment

__all__ = ["EngineGone", "Watch", "run_watch"]

# The time between two looks while nothing comes.
LOOK_S: Final = 0.5
# A batch that failed is tried again after so long, then after twice that, and so on up to the longest time.
RETRY_S: Final = 1.0
RETRY_MAX_S: Final = 30.0
# A batch whose files were emptied while it was read is tried again with half of its bytes, down to so many.
BATCH_MIN: Final = 1 << 20
# How often the progress is reported.
SAY_S: Final = 60.0
# Problems of captures that a commit keeps: the latest ones.
PROBLEMS_MAX: Final = 1000
# Ids of schemas whose values are counted, those of most values, where the schemas were not found.
MISSING_SCHEMAS_MAX: Final = 1000


class EngineGone(Failure):
    """Spark, which decodes, has ended: another process may begin anew, this one cannot."""


class CommittedBatches(NamedTuple):
    """A batch that is committed, or the sum of several up to number `batch`; `findings` to tell, as JSON records."""

    batch: int
    size: int
    rows: int
    seconds: float
    findings: tuple[dict[str, Any], ...] = ()


Decode = Callable[[BatchInput, "Sequence[PointPlan]"], list[TaskReport]]


def run_watch(env: Environment, options: RunOptions, watch_options: WatchOptions) -> Exit:
    """Do `kw pipeline watch`, until Ctrl-C or as far as its options say; the exit code. Raises Failure."""
    check_key_logs(options.keylogs, again=True)  # before the folder is touched
    commands = parse_and_name_capture_commands(watch_options.commands)
    engine_choice = choose_engine(options, 0, env.variables)
    require_package_of_log_format(watch_options.table_format)
    with (
        _open_interfaces(env, options.ports, watch_options) as interfaces,
        open_batch_store(options.out, renames=watch_options.renames, table_format=watch_options.table_format) as store,
        _start_decoding(env, engine_choice) as decode,
    ):
        with os_errors_as_failures(options.out):
            spool = LiveSpool(options.out, commands, interfaces, env, restart=watch_options.restart)
        _refuse_equal_names(spool, options.points)
        watching = Watch(env, options, watch_options, store, decode, spool)
        own = options.engine == "auto" and options.master is None
        watching.resume_from_commit("engine local (Spark with --master)" if own else str(engine_choice))
        with _serve_metrics(env, watching, watch_options.metrics, quiet=options.quiet):
            try:
                watching.start_capturing()
                watching.run_batches()
            except KeyboardInterrupt:
                watching.handle_interrupt()
            finally:
                watching.stop_capturing()
        return watching.exit_code()


@contextmanager
def _open_interfaces(
    env: Environment, ports: Sequence[int], watch_options: WatchOptions
) -> Iterator[list[LiveCapture]]:
    """The interfaces that are captured. Raises Failure where one cannot be."""
    from kwcli.reading.live_capture import KernelFilter, LiveCapture

    opened: list[LiveCapture] = []
    try:
        for interface in watch_options.interfaces:
            opened.append(LiveCapture(interface, KernelFilter(ports, watch_options.bpf), env))
        yield opened
    finally:
        for capture in opened:
            with suppress(OSError):  # closed by the spool
                capture.close()


def _refuse_equal_names(spool: LiveSpool, points: Sequence[tuple[str, str]]) -> None:
    """Raise Failure where two places have one name: their packets would be taken for those of one place."""
    counts = Counter([*spool.captured, *{name for name, _ in points}])
    for name in (name for name, count in counts.items() if count > 1):
        raise Failure(f"{name}: two places have this name; --on NAME=COMMAND gives a command another", Exit.USAGE)


@contextmanager
def _serve_metrics(env: Environment, watching: Watch, where: tuple[str, int] | None, *, quiet: bool) -> Iterator[None]:
    """Serve the metrics of a watch to Prometheus, where that is wanted."""
    if where is None:
        yield
        return
    from kwcli.telemetry.http_server import MetricsServer

    server = MetricsServer(where, watching.format_metrics)
    if not quiet:
        host, port = server.address
        env.report(f"kw: metrics on http://{f'[{host}]' if ':' in host else host}:{port}/metrics")
    try:
        yield
    finally:
        server.close()


class Watch:
    """One watch of one folder, locked by `store`; `decode` runs the tasks of a batch."""

    def __init__(
        self,
        env: Environment,
        options: RunOptions,
        watch_options: WatchOptions,
        store: BatchStore,
        decode: Decode,
        spool: LiveSpool | None = None,
    ) -> None:
        self.batch = 0  # the latest one that is committed
        self.lost = False
        self._env = env
        self._options = options
        self._watch_options = watch_options
        self._store = store
        self._decode = decode
        self._captures = WatchedFiles(
            options.sources, options.points, watch_options.lateness_s, watch_options.batch_size
        )
        self._spool = spool
        self._is_live = spool is not None and not spool.has_ended
        self._breaks: list[Problem] = []  # in what was captured live, until a commit has them
        self._ends = watch_options.once or watch_options.finish
        if spool is not None:
            self._captures.points += spool.points
            self._captures.live = frozenset(spool.names)
            self._ends = self._ends or (self._is_live and not options.sources and not options.points)
        self._captures.whole = self._ends and not self._is_live
        self._states: dict[str, str] = {}
        self._counts: Counter[str] = Counter()
        self._tally = RunCounts()
        self._problems: list[str] = []
        self._dropped_keys = False  # it was told that key logs have too many sessions
        self._kept = True  # whether a commit has all problems so far
        self._findings = WatchFindings(parse_thresholds(watch_options.thresholds)) if watch_options.doctor else None
        self._state_of_schemas = ""  # its path
        self._schemas = WatchSchemas(env, options.schemas) if options.records else None
        self._damaged = 0
        self._said: dict[str, str] = {}
        self._retries = 0  # of batches, in this process
        self._committed_s = 0.0  # time of the latest commit; below, how long its batch took
        self._took_s = 0.0
        self._said_at = env.monotonic()
        self._since = CommittedBatches(0, 0, 0, 0.0)  # the sum of the batches since the last report
        self._trimmer = Trimmer()
        RowFilter(self._build_job_spec(BatchPlan((), (), 0, frozenset())))  # a wrong filter fails now

    # -- the loop ------------------------------------------------------------------------------------------------------

    def resume_from_commit(self, engine: str) -> None:
        """Go on from the latest commit, and say so."""
        self._store.delete_uncommitted_files()
        self._load_state_of_last_commit()
        if self._options.quiet:
            return
        if self._store.recovered:
            self._env.report(f"kw: {self._options.out}: {self._store.recovered}")
        goes_on = f"going on after batch {self.batch:,}" if self.batch else "watching"
        self._env.report(f"kw: {goes_on}: {', '.join(self._describe_inputs())}; {engine}; Ctrl-C ends")
        if not self._watch_options.renames:
            log = self._watch_options.table_format
            others = "other programs only with --format delta" if log == PARQUET else f"readers of {log.title()}"
            self._env.report(
                f"kw: {self._options.out}: a file counts once a commit names it: kw respects that, and {others}"
            )

    def start_capturing(self) -> None:
        """Begin to capture at the live places; tell where nobody has captured since the last watch."""
        if self._spool is None or not self._is_live:
            return
        self._breaks = self._spool.find_uncaptured_times(self._captures.last_ns)
        self._report_problems(self._breaks)
        self._kept = self._kept and not self._breaks
        self._spool.start()

    def stop_capturing(self) -> None:
        """End what captures at the live places, and delete what the tables have."""
        if self._spool is not None:
            self._spool.stop()
            self.lost = self.lost or bool(self._spool.dropped)
            self._delete_read_files()
            self._spool.delete_empty_folders()

    def _delete_read_files(self) -> None:
        """Delete the packets of live places that are in the tables."""
        if self._spool is not None:
            self._spool.delete_read_files(self._captures.files.values())

    def run_batches(self) -> None:
        """Do batch after batch; returns when nothing more is to come."""
        pause = RETRY_S
        while True:
            begun = self._env.monotonic()
            if self._spool is not None:
                self._spool.raise_defect()
            if self._ends and self._spool is not None and self._spool.has_ended:
                self._captures.whole = True  # all that has come is in files
            try:
                with os_errors_as_failures(self._options.out):
                    committed = self.run_next_batch()
            except EngineGone:
                with suppress(OSError):
                    self._store.finish_or_delete_last_batch()
                raise
            except NewerTables:
                raise
            except Failure as failure:
                self._retries += 1
                self._return_to_latest_commit(failure)
                time.sleep(pause)
                pause = min(pause * 2, RETRY_MAX_S)
                continue
            pause = RETRY_S
            if committed is None and self._captures.whole:
                if self._watch_options.finish:
                    with os_errors_as_failures(self._options.out):
                        committed = self._run_last_batch()
                if committed is not None:
                    self._report_batch(committed)
                self._report_missing_schemas()
                return
            if committed is not None:
                self._report_batch(committed)
            self._report_counts_when_due()
            if committed is None and not self._captures.whole:
                time.sleep(LOOK_S)
            elif not self._captures.whole:
                self._wait_for_interval(begun)

    def _wait_for_interval(self, begun: float) -> None:
        """Wait until another batch may follow the batch that began at `begun`.

        Files that come meanwhile are seen at once: the time that a file waits for its lateness begins there.
        """
        while (left := self._watch_options.interval_s - (self._env.monotonic() - begun)) > LOOK_S:
            time.sleep(LOOK_S)
            with suppress(Failure, OSError):  # the next batch meets it again, and reports it
                self._look_for_files()
        time.sleep(max(left, 0.0))

    def _look_for_files(self) -> None:
        """Look which files are there, and report their problems."""
        problems = self._captures.look_for_files(self._env.monotonic())
        self._report_problems(problems)
        self._report_unreachable()
        self._kept = self._kept and not problems

    def run_next_batch(self) -> CommittedBatches | None:
        """Do one batch; None where there is nothing to read. Raises Failure and OSError where nothing was committed."""
        begun = self._env.monotonic()
        self._look_for_files()
        plan, problems = self._captures.plan_batch(begun)
        self._report_problems(problems)
        if not plan.points:
            if problems or not self._kept:
                self._run_batch(BatchPlan((), plan.files, 0, frozenset()), begun, ends=False)
            return None
        return self._run_batch(plan, begun, ends=False)

    def _run_last_batch(self) -> CommittedBatches | None:
        """Settle the open connections in a last batch; None where no point has any."""
        from kwcli.pipeline.watch.track_captures import PointPlan

        self._report_problems(self._captures.find_cut_files())
        points = tuple(PointPlan(point, ()) for point in sorted(self._states))
        plan = BatchPlan(points, tuple(self._captures.names), 0, frozenset())
        return self._run_batch(plan, self._env.monotonic(), ends=True) if points else None

    def _run_batch(self, plan: BatchPlan, begun: float, *, ends: bool) -> CommittedBatches:
        """Decode a planned batch, and commit it."""
        batch = self.batch + 1
        staging = self._store.start_staging(batch)
        spec = self._build_job_spec(plan)
        if self._schemas is not None:
            schemas = self._schemas.learn_from_batch(spec, plan.points, self._read_state_of_point, ends=ends)
            spec = spec._replace(schemas=schemas)
        batch_input = BatchInput(spec, staging, self._states, ends)
        report = merge_task_reports(self._decode(batch_input, plan.points))
        changed = self._captures.find_changed_files(report.left) if plan.size else []
        if changed:  # perhaps a ring is faster than the batch: a smaller batch is ready sooner
            self._captures.batch_size = max(
                self._captures.batch_size // 2, min(BATCH_MIN, self._watch_options.batch_size)
            )
            raise Failure(f"{changed[0]}: was emptied or replaced while it was read: the batch is done again")
        states = {} if ends else self._states | dict(report.states)
        state = self._captures.finish_batch(plan, report.left, report.last_ns)
        self._add_counts_of_report(report)
        files = [*report.files]
        found, kept = self._update_findings(staging, report, ends=ends)
        known = self._write_state_of_new_schemas(staging)
        if found:
            with staging.make_writer(("findings",)) as writer:
                writer.write_table("findings", build_findings_batch(found, batch))
                files += writer.close()
        if batch == 1:
            files += write_empty_files(staging, {*self._list_tables_to_write()} - {file.table for file in files})
        self._store.commit_batch(
            staging,
            Change(files, self._find_files_of_dropped_dates()),
            watch={
                "batch": batch,
                "states": states,
                "captures": state,
                "counts": dict(self._counts),
                "tally": self._tally.export(),
                "problems": self._problems,
                "damaged": self._damaged,
                "findings": kept,
                "schemas": known,
            },
            options=self._select_options_of_rows(),
            tables=self._list_tables_to_write(),
            facts=self._build_commit_facts(),
        )
        self.batch, self._states, self._kept, self._breaks = batch, states, True, []
        self._state_of_schemas = known
        self._captures.batch_size = min(self._captures.batch_size * 2, self._watch_options.batch_size)
        self._trimmer.trim_if_grown()
        self._committed_s, self._took_s = self._env.monotonic(), self._env.monotonic() - begun
        self._report_problems(report.problems, counted=False)
        self._store.files.remove(staging.folder)
        self._store.delete_unnamed_states({*states.values(), kept, known})
        self._delete_read_files()
        told = tuple(make_answer_record("finding", row) for _, row in found)
        return CommittedBatches(batch, report.taken, report.tally.exchanges, self._env.monotonic() - begun, told)

    def _update_findings(
        self, staging: BatchStaging, report: TaskReport, *, ends: bool
    ) -> tuple[list[tuple[int, Row]], str]:
        """The findings to tell after a batch, each behind its date, and the path of the state of all findings."""
        if self._findings is None:
            return [], ""
        found = self._findings.merge_folds(report.seen, ends=ends)
        options = self._options
        add_commands_to_stored_findings(
            (row for _, row in found), list_reading_options(options.ports, options.names_from, options.keylogs)
        )
        return found, staging.write_state(self._findings.export())

    def _read_state_of_point(self, point: str) -> bytes | None:
        path = self._states.get(point)
        return None if path is None else self._store.files.read(path)

    def _write_state_of_new_schemas(self, staging: BatchStaging) -> str:
        """The path of the state of schemas, which is written where a batch has taught some."""
        if self._schemas is None or not self._schemas.have_changed:
            return self._state_of_schemas
        return staging.write_state(self._schemas.export())

    def _list_tables_to_write(self) -> tuple[str, ...]:
        return (*self._options.tables, "findings") if self._watch_options.doctor else self._options.tables

    def _find_files_of_dropped_dates(self) -> frozenset[str]:
        """The files of dates that are dropped, by the clock of the captures."""
        latest = max(self._captures.last_ns.values(), default=0)
        if not self._watch_options.keep_days or not latest:
            return frozenset()
        today = datetime.fromtimestamp(latest // 10**9, UTC).date()
        return self._store.find_files_of_dates_before(today - timedelta(days=self._watch_options.keep_days))

    def _return_to_latest_commit(self, failure: Failure) -> None:
        """After a batch that failed, go back to the latest commit. Raises the failure where no retry is made."""
        if self._captures.whole and not self._is_live:  # what was captured live cannot be had again
            with suppress(OSError):
                self._store.finish_or_delete_last_batch()
            raise failure
        if self._said.get("batch") != failure.text:
            self._env.report(f"kw: {failure.text}; trying again")
        self._said["batch"] = failure.text
        while True:
            with suppress(OSError):  # the folder is away, or its disk is full: nothing goes on before it is back
                self._store.finish_or_delete_last_batch()
                self._load_state_of_last_commit()
                return
            time.sleep(RETRY_MAX_S)

    def _load_state_of_last_commit(self) -> None:
        """Load the state of the latest commit."""
        self._kept = True  # problems since that commit are found again
        value = self._store.read_newest_commit()
        if value is None:
            self._captures.forget_all_files()
            if self._findings is not None:
                self._findings.resume(None)
            self._resume_schemas("")
            return
        if value["options"] != normalize_by_json(self._select_options_of_rows()):
            raise Failure(f"{self._options.out}: was watched with other options: use those, or another folder")
        kept = value["watch"]
        self.batch, self._states = kept["batch"], dict(kept["states"])
        self._captures.resume(kept["captures"])
        if self._findings is not None:
            self._resume_findings(kept["findings"])
        self._resume_schemas(kept.get("schemas", ""))  # which older versions of kw had not
        self._counts = Counter(kept["counts"])
        self._tally = RunCounts.resume(kept["tally"])
        self._problems, self._damaged = list(kept["problems"]), kept["damaged"]
        self._keep_problems(self._breaks)

    def _resume_findings(self, path: str) -> None:
        """Load the state of findings. Failure where it is missing; without it findings would be told again."""
        assert self._findings is not None
        state = self._store.files.read(path)
        if state is None:
            raise Failure(f"{self._store.files.full_path(path)}: missing: watch into another folder")
        if not self._findings.resume(state):
            self._env.report(f"kw: {self._options.out}: findings begin anew: another version of kw left their state")

    def _resume_schemas(self, path: str) -> None:
        """Load the schemas that captures taught. Failure where they are missing: rows would depend on restarts."""
        self._state_of_schemas = path
        if self._schemas is None:
            return
        state = self._store.files.read(path) if path else None
        if path and state is None:
            raise Failure(f"{self._store.files.full_path(path)}: missing: watch into another folder")
        self._schemas.resume(state)

    # -- what is made of options ---------------------------------------------------------------------------------------

    def _build_job_spec(self, plan: BatchPlan) -> JobSpec:
        files = plan.files if self._spool is None else tuple(map(self._spool.name_file, plan.files))
        spec = build_job_spec(self._options, files, self._captures.find_captures_with_secrets())
        return spec._replace(doctor=self._watch_options.doctor)

    def _select_options_of_rows(self) -> dict[str, Any]:
        """The options that the rows depend on; of key logs and schemas the names alone, since there may be more."""
        rows = self._options.select_options_of_rows()
        rows.pop("hosts", None)  # addresses get other names in time
        rows.pop("topic_names", None)  # topics are made
        if self._watch_options.table_format != PARQUET:
            rows["format"] = self._watch_options.table_format
        if self._watch_options.doctor:
            rows["doctor"] = sorted(self._watch_options.thresholds)
        return rows | {key: [name for name, _ in rows[key]] for key in ("keylogs", "schemas") if key in rows}

    def _describe_inputs(self) -> list[str]:
        live = self._spool.captured if self._spool is not None else ()
        return [*self._options.sources, *(f"{name}={place}" for name, place in self._options.points), *live]

    # -- what is counted and told --------------------------------------------------------------------------------------

    def _add_counts_of_report(self, report: TaskReport) -> None:
        if report.counts[KEYS_DROPPED] and not self._dropped_keys:
            self._dropped_keys = True
            self._env.report(f"kw: {DROPPED_KEYS_LINE}")
        self._counts.update(report.counts)
        self._tally.merge(report.tally)
        self._tally.clients.clear()  # their number has no bound
        self._tally.brokers.clear()
        if len(self._tally.missing_schemas) > MISSING_SCHEMAS_MAX:
            self._tally.missing_schemas = Counter(dict(self._tally.missing_schemas.most_common(MISSING_SCHEMAS_MAX)))
        self._keep_problems(report.problems)

    def _keep_problems(self, problems: Sequence[Problem]) -> None:
        """Add problems to those that a commit keeps."""
        self._damaged += len({problem.file for problem in problems})
        self._problems = [*self._problems, *map(str, problems)][-PROBLEMS_MAX:]
        self.lost = self.lost or bool(problems)

    def _build_commit_facts(self) -> dict[str, Any]:
        tally = self._tally
        return {
            "engine": "watch",
            "exchanges": tally.exchanges,
            "connections": tally.connections,
            "packets": self._counts["packets"],
            "first_ns": tally.first_ns,
            "last_ns": tally.last_ns,
            "problems": self._problems,
            "damaged": self._damaged,
            "lossy": tally.is_lossy or bool(self._problems) or bool(describe_passed_over(self._counts)),
            "faults": [],
        }

    def _report_problems(self, problems: Sequence[Problem], *, counted: bool = True) -> None:
        if counted:
            self._keep_problems(problems)
        for problem in problems:
            self._env.report(f"kw: {problem}")

    def _report_unreachable(self) -> None:
        """Report each source that cannot be looked at, once, and again when it is back."""
        now = self._captures.unreachable
        for word, text in now.items():
            if self._said.get(word) != text:
                waits = "" if self._captures.whole else "; waiting for it"
                self._env.report(f"kw: {text if text.startswith(word) else f'{word}: {text}'}{waits}")
        for word in [word for word in self._said if word not in now and word != "batch"]:
            del self._said[word]
            self._env.report(f"kw: {word}: can be read again")
        self._said.update(now)

    def _report_batch(self, committed: CommittedBatches) -> None:
        """Report a batch that is committed, and write its findings."""
        if self._said.pop("batch", None) is not None:
            self._env.report(f"kw: {self._options.out}: batch {committed.batch:,} is committed: all is well again")
        since = self._since
        self._since = CommittedBatches(
            committed.batch, since.size + committed.size, since.rows + committed.rows, since.seconds + committed.seconds
        )
        if self._options.verbose and not self._options.quiet:
            self._env.report(f"kw: batch {committed.batch:,}: {self._format_batch_line(committed)}")
        for finding in committed.findings:
            self._env.stdout.write(orjson.dumps(finding, option=orjson.OPT_APPEND_NEWLINE))
        if committed.findings:
            self._env.stdout.flush()

    def _report_counts_when_due(self) -> None:
        now = self._env.monotonic()
        if now - self._said_at >= SAY_S and not self._options.quiet:
            if self._since.batch and not self._options.verbose:
                self._env.report(f"kw: up to batch {self.batch:,}: {self._format_batch_line(self._since)}")
            self._said_at, self._since = now, CommittedBatches(0, 0, 0, 0.0)

    def _report_missing_schemas(self) -> None:
        """Report the keys and values in the tables whose schemas were not found."""
        if not self._options.quiet:
            for line in list_missing_schemas(self._tally.missing_schemas, "--schemas DIR"):
                self._env.report(f"kw: {line}")

    def _format_batch_line(self, committed: CommittedBatches) -> str:
        lag = self._captures.measure_unread_lag(self._env.monotonic())
        behind = f"{format_size(lag.size)} and {lag.seconds:.1f} s behind" if lag.size else "nothing left to read"
        done = f"{count_of(committed.rows, 'exchange')} of {format_size(committed.size)} in {committed.seconds:.1f} s"
        return f"{done}; {behind}"

    def format_metrics(self) -> str:
        """The metrics of the watch, in the text format of Prometheus."""
        now = self._env.monotonic()
        lag = self._captures.measure_unread_lag(now)
        numbers = WatchProgress(
            self.batch,
            lag,
            self._took_s,
            now - self._committed_s if self._committed_s else None,
            self._retries,
            self._damaged,
            len(self._captures.unreachable),
        )
        return format_metrics(numbers, self._tally.exchanges, self._counts["packets"], self._captures.last_ns)

    def handle_interrupt(self) -> None:
        """After Ctrl-C: delete what was not committed, and say that the same command goes on.

        The packets that live places have given are committed, where there are no other captures.
        """
        if self._spool is not None:
            self._spool.stop()
        with suppress(OSError, Failure):
            self._store.finish_or_delete_last_batch()
            if self._is_live and not self._options.sources and not self._options.points:
                self._load_state_of_last_commit()
                with suppress(KeyboardInterrupt):
                    while (committed := self.run_next_batch()) is not None:
                        self._report_batch(committed)
                self._store.finish_or_delete_last_batch()
        if not self._options.quiet:
            self._env.report(f"kw: stopped after batch {self.batch:,}; the same command goes on")

    def exit_code(self) -> Exit:
        """The exit code; where only the files that are there were to be read, an unreachable source is a failure."""
        if self._captures.whole and self._captures.unreachable:
            return Exit.FAILURE
        if self._spool is not None and self._spool.is_broken:
            return Exit.FAILURE
        return Exit.LOSSY if self._options.strict and (self.lost or self._build_commit_facts()["lossy"]) else Exit.DONE


@contextmanager
def _start_decoding(env: Environment, engine_choice: EngineChoice) -> Iterator[Decode]:
    """The function that decodes a batch; its Spark, if any, runs for as long as the context is open."""
    if engine_choice.engine == "local":
        yield _decode_locally
        return
    from kwcli.pipeline.spark.spark_sessions import LEAN, open_own_session
    from kwcli.pipeline.spark.watch_batch import run_watch_batch

    with open_own_session(engine_choice.master, env, LEAN) as spark:
        yield partial(_decode_on_spark, run_watch_batch, spark)


def _decode_locally(batch: BatchInput, points: Sequence[PointPlan]) -> list[TaskReport]:
    return [decode_points(batch, points)]


def _decode_on_spark(
    run_watch_batch: Any, spark: Any, batch: BatchInput, points: Sequence[PointPlan]
) -> list[TaskReport]:
    try:
        found: list[TaskReport] = run_watch_batch(spark, batch, points, spark.sparkContext.defaultParallelism)
    except Failure as failure:
        try:
            spark.range(1).count()
        except Exception:
            raise EngineGone(f"{failure.text}; Spark has ended: the same command goes on", failure.code) from failure
        raise
    return found
