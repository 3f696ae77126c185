"""The options of `kw pipeline report` in, the report made and written out."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from decoders.protocol_facts.kafka_releases import RELEASES
from kwcli.analyses.finding_renderer import add_commands_to_stored_findings
from kwcli.names_in_any_spelling import find_release
from kwcli.pip_extras import pip_command_for_extra
from kwcli.report import NO_PAGE, PageFile
from kwcli.report.report_renderer import choose_exit_code, count_breaking_clients, write_report
from kwcli.run_environment import Exit, Failure

if TYPE_CHECKING:
    from kwcli.output.output_settings import Settings
    from kwcli.report.build_report import Report
    from kwcli.run_environment import Environment


def run_report(
    env: Environment,
    settings: Settings,
    folder: str,
    *,
    target: str | None = None,
    page: PageFile = NO_PAGE,
    master: str | None = None,
) -> int:
    """What `kw pipeline report FOLDER` does; the exit code. Failure says in one line why it cannot be done.

    `target`: the release that clients are held against, the newest without it; where it was asked for and turns some
    clients away, the exit code says so (FINDINGS). `page`: where the page goes; then nothing goes to
    standard output. `master`: count on Spark.
    """
    release = RELEASES[-1] if target is None else find_release(target)
    page.refuse_foreign_file()
    if find_spec("pyarrow") is None or find_spec("numpy") is None:
        raise Failure(f"reading tables needs pyarrow: {pip_command_for_extra('report')}")
    found = _make_report_of_tables(env, folder, release, master, wanted=not settings.quiet)
    for name in ("findings", "security"):
        add_commands_to_stored_findings(found[name] or ())
    breaking = count_breaking_clients(found) if target is not None else 0
    code = choose_exit_code(env, Exit.DONE, breaking, release, quiet=settings.quiet)
    write_report(env, settings, found, page.html_path, env.stdout.write)
    env.stdout.flush()
    return code


def _make_report_of_tables(env: Environment, folder: str, release: str, master: str | None, *, wanted: bool) -> Report:
    from kwcli.pipeline.report.read_tables import Tables
    from kwcli.pipeline.report.run_exchange_folds import fold_exchanges_by_spark, fold_exchanges_locally, has_bodies
    from kwcli.pipeline.report.run_folds import make_local_counter, run_two_rounds
    from kwcli.report.build_report import build_report
    from kwcli.terminal.progress import ProgressLine

    tables = Tables(folder)
    if master is not None:
        from kwcli.pipeline.report.run_folds import make_spark_counter
        from kwcli.pipeline.spark.spark_sessions import open_own_session

        for name in tables.files:
            tables.find_older_files(name)  # a file that cannot be read fails before Spark starts
        with open_own_session(master, env) as spark:
            found = run_two_rounds(tables, make_spark_counter(spark, tables))
            if has_bodies(tables):
                found = fold_exchanges_by_spark(spark, tables).add_folds_to_result(found)
            return build_report(found, release)
    progress = ProgressLine(env, None, wanted=wanted)
    try:
        found = run_two_rounds(tables, make_local_counter(tables, progress))
        if has_bodies(tables):
            found = fold_exchanges_locally(tables, progress).add_folds_to_result(found)
        return build_report(found, release)
    finally:
        progress.hide_line()
