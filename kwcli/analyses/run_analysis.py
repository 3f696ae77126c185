"""Options in, an exit code out: the exchanges that they select are fed to a fold, and its answer is written."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from kwcli.analyses.render_answer import make_reading_view
from kwcli.output.report_partial_input import report_sentences
from kwcli.reading.list_input_files import has_capture_name, has_records_name
from kwcli.reading.run_reading import ReadingRun

if TYPE_CHECKING:
    from decoders.analysis.doctor.doctor import Doctor
    from kwcli.analyses.render_answer import AnswerRenderer
    from kwcli.capture_options import CaptureOptions
    from kwcli.net.config.client_config import ClientConfig
    from kwcli.options import FilterOptions
    from kwcli.output.output_settings import Settings
    from kwcli.run_environment import Environment, Exit

__all__ = ["run_analysis", "show_portraits"]


def run_analysis(
    env: Environment,
    settings: Settings,
    capture: CaptureOptions,
    filters: FilterOptions,
    renderer: AnswerRenderer,
) -> Exit:
    """Feed the renderer's fold with the exchanges that the options select, write its answer, return the exit code."""
    renderer.capture = capture
    code = ReadingRun(env, settings, capture, filters, view=make_reading_view(renderer)).run().exit_code()
    report_sentences(env, settings, renderer.coverage_sentences())
    return code


def diagnose_cluster(env: Environment, config: ClientConfig, doctor: Doctor, renderer: AnswerRenderer) -> Exit:
    """Have the doctor look at a cluster and write the findings, also those before a failure; returns the exit code."""
    from kwcli.analyses.doctor_cluster_probe import probe_cluster
    from kwcli.run_environment import Exit, Failure

    code = Exit.DONE
    try:
        probe_cluster(env, config, doctor)
    except Failure as failure:
        code = Exit(failure.code)  # the findings have the reason

    def write(data: bytes) -> None:
        env.stdout.write(data)

    renderer.open(write).close()
    return code


def _split_files_and_name(capture: CaptureOptions, name: str | None) -> tuple[CaptureOptions, str | None]:
    """`kw topics FILE orders`: the last word is the name that is asked for, where it is no file and reads like none."""
    *files, last = capture.files or ("",)
    other = bool(files or capture.places)
    if name is not None or not (last and other) or last == "-" or set(last) & set("/*?[=<>~") or os.path.lexists(last):
        return capture, name
    if has_capture_name(last) or has_records_name(last):
        return capture, name
    return capture._replace(files=tuple(files)), last


def show_portraits(
    word: str,
    env: Environment,
    capture: CaptureOptions,
    name: str | None,
    filters: FilterOptions,
    make_settings: Callable[[], Settings],
) -> Exit:
    """Run `kw clients`, `kw groups`, `kw topics` or `kw brokers`, as `word` says; returns the exit code."""
    from decoders.filters import parse
    from kwcli.analyses.render_entity_portraits import PORTRAITS, PortraitRenderer  # with their folds

    capture, name = _split_files_and_name(capture, name)
    capture.check_usage()
    settings = make_settings()
    within = parse(capture.time_filter_text(env, settings.zone)).matches
    return run_analysis(env, settings, capture, filters, PortraitRenderer(PORTRAITS[word], settings, name, within))
