"""RunOptions in, tables in a folder out: find captures, cut them into splits, choose an engine, commit its tables.

In the end the folder has either the tables of the whole run, or the tables that it had before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from decoders.wire.format_and_escape_text import escape_text
from kwcli.output.format_decoded_values import list_missing_schemas
from kwcli.pipeline.captures_covered_by_run import (
    CoveredCaptures,
    add_captures_covered_by_tables,
    find_captures_asked_for,
)
from kwcli.pipeline.choose_engine import EngineChoice, choose_engine
from kwcli.pipeline.engine_job_and_result import EngineResult, JobSpec, build_job_spec
from kwcli.pipeline.plan_splits import plan_splits_of_captures, start_planning, sum_file_sizes
from kwcli.pipeline.read.decode_request_logs import decode_request_logs_into_tables
from kwcli.pipeline.read.read_tls_keys import find_captures_with_secrets
from kwcli.pipeline.show_run_progress import ProgressBar, format_run_closing_line, format_written_tables_line
from kwcli.pipeline.store.output_folder import OutputFolder, require_local_folder
from kwcli.pipeline.store.replace_folders_of_tables import TableStore, open_store, refuse_foreign_folder
from kwcli.pipeline.store.tables_manifest import normalize_by_json
from kwcli.pipeline.tables.run_counts import RunCounts
from kwcli.reading.capture_sources import escape_non_utf8
from kwcli.reading.sinks.closing_lines import (
    CaptureCounts,
    describe_passed_over,
    has_cut_packets,
    list_capture_fault_lines,
)
from kwcli.reading.tls_key_log_files import check_key_logs
from kwcli.run_environment import Exit, Failure

if TYPE_CHECKING:
    from kwcli.pipeline.engine_job_and_result import Progress
    from kwcli.pipeline.plan_splits import PendingPlan, SplitPlan
    from kwcli.pipeline.read.find_captures import FoundCaptures, SourceFile
    from kwcli.pipeline.read.split_and_file_range import Problem
    from kwcli.pipeline.run_options import RunOptions
    from kwcli.pipeline.store.staging_folder import Staging
    from kwcli.run_environment import Environment

__all__ = ["run_pipeline"]

Engine = Callable[[JobSpec, "PendingPlan", "Staging", "Progress | None"], "EngineResult"]
_NOTHING: Final = "none of the inputs is a capture that can be read: no tables were written"
# The notes in such captures describe connections, which several splits may share.
_CUT_OUT: Final = (
    "kw: the tables may have too many rows: a capture was cut out by kw sniff -w, and only --engine local reads its"
    " notes (chosen rows, topic names)"
)


def run_pipeline(env: Environment, options: RunOptions) -> Exit:
    """Do `kw pipeline run`, or with `explain` write what it would do; the exit code. Raises Failure."""
    begun = env.monotonic()
    check_key_logs(options.keylogs, again=True)  # before the folder is touched
    found = find_captures_asked_for(options)
    if options.explain:
        return _explain_run(env, options, found)
    with open_store(options.out) as store:
        if store.recovered and not options.quiet:
            env.report(f"kw: {options.out}: {store.recovered}")
        manifest = store.read_manifest()
        covered = add_captures_covered_by_tables(options, found, manifest)
        if manifest is None or not store.is_up_to_date(covered.files, options.select_options_of_rows()):
            return _make_tables_of_captures(env, options, covered, store, begun)
        for problem in covered.problems:
            env.report(f"kw: {problem}")
        if not options.quiet:
            state = covered.describe_action(
                manifest, normalize_by_json(options.select_options_of_rows()), up_to_date=True
            )
            env.report(f"kw: {options.out}: {state}")
        return _choose_exit_code(options, covered, manifest.facts)


def _explain_run(env: Environment, options: RunOptions, found: FoundCaptures) -> Exit:
    from kwcli.pipeline.explain_run import format_run_explanation

    files = OutputFolder(require_local_folder(options.out))
    refuse_foreign_folder(files, options.out)
    store = TableStore(files, options.out)
    manifest = store.read_manifest()
    covered = add_captures_covered_by_tables(options, found, manifest)
    up_to_date = manifest is not None and store.is_up_to_date(covered.files, options.select_options_of_rows())
    state = covered.describe_action(
        manifest, normalize_by_json(options.select_options_of_rows()), up_to_date=up_to_date
    )
    plan = plan_splits_of_captures(options, _list_source_files(covered))
    engine_choice = choose_engine(options, sum_file_sizes(covered.files), env.variables)
    lines = format_run_explanation(options, covered, plan, engine_choice, state, env.variables)
    env.stdout.write("".join(f"{escape_text(line)}\n" for line in lines).encode("utf-8", "backslashreplace"))
    _report_problems(env, covered, plan, quiet=options.quiet)
    return Exit.FAILURE if covered.problems else Exit.DONE


def _make_tables_of_captures(
    env: Environment, options: RunOptions, covered: CoveredCaptures, store: TableStore, begun: float
) -> Exit:
    """Make the tables of the captures; the exit code."""
    engine_choice = choose_engine(options, sum_file_sizes(covered.files), env.variables)
    wait_for_plan = start_planning(options, _list_source_files(covered), engine_choice.engine)
    with _start_engine(env, engine_choice, options.jobs) as engine:
        return _write_tables(env, options, covered, wait_for_plan(), store, engine_choice, engine, begun)


def _write_tables(
    env: Environment,
    options: RunOptions,
    covered: CoveredCaptures,
    pending_plan: PendingPlan,
    store: TableStore,
    engine_choice: EngineChoice,
    engine: Engine,
    begun: float,
) -> Exit:
    """Have the engine write the tables, commit them, and write the closing lines; the exit code."""
    plan = pending_plan.plan
    _report_problems(env, covered, plan, quiet=options.quiet)
    known = len(plan.problems)
    captures, logs = _list_source_files(covered), [file for file in covered.files if file.log]
    if not pending_plan.most and not logs:
        raise Failure(_NOTHING)
    if options.verbose and not options.quiet:
        from kwcli.pipeline.explain_run import format_source_lines

        for line in format_source_lines(captures, plan, engine_choice):
            env.report(f"kw: {line.strip()}")
    bar = ProgressBar(
        env, pending_plan.most if engine_choice.has_splits else 0, pending_plan.size, wanted=not options.quiet
    )
    staging = store.start_staging()
    try:
        spec, show = _build_job_spec(env, options, captures), bar.show if bar.active else None
        outcome = engine(spec, pending_plan, staging, show) if pending_plan.most else _make_empty_result()
        if logs:
            outcome = _join_engine_results(outcome, decode_request_logs_into_tables(spec, logs, staging, show))
        told = [*plan.problems, *dict.fromkeys(outcome.problems)]
        if plan.splits or logs:
            faults = list_capture_fault_lines(_build_capture_counts(options, outcome), whole=not told)
            facts = _build_manifest_facts(engine_choice, outcome, told) | {"faults": faults}
            rows, files = options.select_options_of_rows(), covered.files
            store.commit(staging, outcome.written, sources=files, options=rows, tables=options.tables, facts=facts)
    finally:
        bar.hide_line()
    for problem in plan.problems[known:]:
        env.report(f"kw: {problem}")
    if not plan.splits and not logs:
        raise Failure(_NOTHING)
    for problem in dict.fromkeys(outcome.problems):  # each reader of a part meets the capture's problem
        env.report(f"kw: {problem}; what was read of it is in the tables")
    if not options.quiet:
        seconds = env.monotonic() - begun
        damaged = facts["damaged"]
        for line in [*faults, *list_missing_schemas(outcome.tally.missing_schemas, "--schemas DIR")]:
            env.report(f"kw: {line}")
        if engine_choice.has_splits and "cut_out" in outcome.counts:
            env.report(_CUT_OUT)
        env.report(
            format_run_closing_line(
                outcome.tally, outcome.counts, damaged=damaged, engine=str(engine_choice), seconds=seconds
            )
        )
        env.report(format_written_tables_line(outcome.written, options.out))
    return _choose_exit_code(options, covered, facts)


def _list_source_files(covered: CoveredCaptures) -> list[SourceFile]:
    return [file for file in covered.files if not file.log]


def _make_empty_result() -> EngineResult:
    return EngineResult([], RunCounts(), Counter(), [], 0)


def _join_engine_results(one: EngineResult, other: EngineResult) -> EngineResult:
    """Two results as one, with the files, counts and problems of both."""
    one.tally.merge(other.tally)
    return EngineResult(
        sorted(one.written + other.written),
        one.tally,
        one.counts + other.counts,
        one.problems + other.problems,
        one.taken + other.taken,
    )


def _report_problems(env: Environment, covered: CoveredCaptures, plan: SplitPlan, *, quiet: bool) -> None:
    """Write the problems of captures that are known so far, and, unless `quiet`, the notes."""
    for problem in [*covered.problems, *plan.problems]:
        env.report(f"kw: {problem}")
    for note in [] if quiet else [*covered.notes, *plan.notes]:
        env.report(f"kw: {note}")


def _build_manifest_facts(
    engine_choice: EngineChoice, outcome: EngineResult, problems: list[Problem]
) -> dict[str, Any]:
    """What the manifest keeps of a run besides its tables. Nothing in it depends on durations or the clock."""
    return {
        "engine": engine_choice.engine,
        "exchanges": outcome.tally.exchanges,
        "connections": outcome.tally.connections,
        "packets": outcome.counts["packets"],
        "first_ns": outcome.tally.first_ns,
        "last_ns": outcome.tally.last_ns,
        "problems": [escape_non_utf8(str(problem)) for problem in problems],
        "damaged": len({problem.file for problem in problems}),
        "lossy": outcome.tally.is_lossy
        or bool(problems)
        or bool(describe_passed_over(outcome.counts))
        or (has_cut_packets(outcome.counts) and not outcome.tally.connections),
    }


def _build_capture_counts(options: RunOptions, outcome: EngineResult) -> CaptureCounts:
    """The counts of a run, from which `list_capture_fault_lines` finds what is wrong with the captures themselves."""
    tally = outcome.tally
    return CaptureCounts(
        tally.exchanges,
        tally.connections,
        outcome.counts,
        tally.runs,
        tally.run_bytes,
        tally.answers_only,
        tally.requests_only,
        tally.foreign,
        frozenset(options.ports) or None,
    )


def _choose_exit_code(options: RunOptions, covered: CoveredCaptures, facts: Mapping[str, Any]) -> Exit:
    """The exit code: FAILURE where a capture is not in the tables, LOSSY for loss with --strict, else DONE."""
    if covered.problems:
        return Exit.FAILURE
    return Exit.LOSSY if options.strict and facts["lossy"] else Exit.DONE


def _build_job_spec(env: Environment, options: RunOptions, files: list[SourceFile]) -> JobSpec:
    spec = build_job_spec(options, tuple(file.path for file in files), find_captures_with_secrets(files))
    if not options.records:
        return spec
    from kwcli.pipeline.read.learn_schemas import find_schemas_of_run

    return spec._replace(schemas=find_schemas_of_run(env, spec, files, options.schemas, quiet=options.quiet))


# -- engines -----------------------------------------------------------------------------------------------------------


@contextmanager
def _start_engine(env: Environment, engine_choice: EngineChoice, jobs: int) -> Iterator[Engine]:
    """The function of the engine; its Spark, if any, runs for as long as the context is open."""
    if engine_choice.engine == "local":
        from kwcli.pipeline import local_engine
        from kwcli.reading.sinks.row_output import RowOutput

        yield partial(local_engine.decode_splits_into_tables, jobs=jobs, output=RowOutput(env, prompt=False))
        return
    from kwcli.pipeline.spark import spark_engine
    from kwcli.pipeline.spark.spark_sessions import LEAN, open_own_session

    with open_own_session(engine_choice.master, env, LEAN) as spark:
        yield partial(spark_engine.run_job, spark)
