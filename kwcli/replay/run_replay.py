"""Options of `kw replay` in; a recording, asked again and compared, and an exit code out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwcli.net.connection_options import read_client_config
from kwcli.reading.run_reading import ReadingRun
from kwcli.reading.sinks.filter_sort_and_limit_rows import ReadingView
from kwcli.replay.recorded_requests import AllowedChanges, ReplayRecording
from kwcli.replay.replay_output import ReplayOutput, format_closing_lines
from kwcli.replay.replay_requests_in_time import (
    ReplaySettings,
    choose_exit_code,
    parse_name_map,
    parse_speed,
    replay_recording,
    show_requests_without_sending,
)
from kwcli.run_environment import Exit, Failure

if TYPE_CHECKING:
    from kwcli.capture_options import CaptureOptions
    from kwcli.net.config.client_config import ConnectionOptions
    from kwcli.options import FilterOptions, OutputOptions
    from kwcli.output.output_settings import Settings
    from kwcli.replay import ReplayOptions
    from kwcli.run_environment import Environment

__all__ = ["run_replay"]


def run_replay(
    env: Environment,
    asked: ReplayOptions,
    capture: CaptureOptions,
    filters: FilterOptions,
    connection: ConnectionOptions,
    shown: OutputOptions,
) -> Exit:
    """Read the recording, ask its requests again, show the outcomes; the exit code. Raises Failure."""
    allowed = AllowedChanges.parse_words(asked.changes)
    settings = ReplaySettings(allowed, parse_name_map(asked.map), parse_speed(asked.speed), asked.replay_client_id)
    output_settings = shown.make_settings(env, live=not asked.dry_run)
    config = None if asked.dry_run else read_client_config(env, connection, verbose=shown.verbose)
    if config is not None and config.controllers:
        raise Failure("kw replay sends to brokers: give -b, not --bootstrap-controller", Exit.USAGE)
    recording = ReplayRecording(allowed)
    code = _read_recording(env, output_settings, capture, filters, recording)
    if code == Exit.INTERRUPTED:
        return code

    def write(data: bytes) -> None:
        env.stdout.write(data)
        env.stdout.flush()

    output = ReplayOutput(output_settings, write, dry_run=asked.dry_run)
    interrupted = False
    if config is None:
        counts = show_requests_without_sending(recording, output.show_outcome)
    else:
        counts, interrupted = replay_recording(env, recording, config, settings, output.show_outcome)
    output.write_totals(counts)
    if not output_settings.quiet:
        for line in format_closing_lines(counts, dry_run=asked.dry_run):
            env.report(f"kw: {line}")
    found = choose_exit_code(counts, interrupted=interrupted)
    return found if found != Exit.DONE else code


def _read_recording(
    env: Environment,
    settings: Settings,
    capture: CaptureOptions,
    filters: FilterOptions,
    recording: ReplayRecording,
) -> Exit:
    """Read what the options name into the recording; the exit code of reading."""
    sniffing = ReadingRun(
        env,
        settings._replace(format="ndjson"),
        capture,
        filters,
        view=ReadingView(lambda _key, _side: frozenset(), lambda _write: recording),
    )
    return sniffing.run().exit_code()
