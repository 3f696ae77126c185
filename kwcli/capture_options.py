"""What a command reads: files, pipes, interfaces, commands that write a capture; which options say nothing together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from decoders.named_tuple import NamedTuple
from kwcli.clashing_options import refuse_options_without

if TYPE_CHECKING:
    from decoders.wire.parse_units import Moment
    from kwcli.run_environment import Environment

__all__ = ["ROTATION_OPTIONS", "CaptureOptions", "Rotation"]

# Options that make a Rotation, in the order of its fields; a command that has these gets the Rotation in `capture`.
ROTATION_OPTIONS: Final = ("rotate_size", "rotate_interval", "keep")


class Rotation(NamedTuple):
    """When the file of kept packets gives way to a new file (size in bytes, seconds), and how many files stay."""

    size: int | None = None
    interval_s: float | None = None
    keep: int | None = None


class CaptureOptions(NamedTuple):
    """What a command reads, and the ports whose connections it takes for Kafka's."""

    files: tuple[str, ...] = ()
    interfaces: tuple[str, ...] = ()
    bpf: str | None = None
    write: str | None = None
    ports: tuple[int, ...] = ()
    since: Moment | None = None
    until: Moment | None = None
    keylogs: tuple[str, ...] = ()
    whole_connections: bool = False
    with_keys: bool = False
    follow: bool = False
    guess_requests: bool = False  # of commands that have guess_option
    rotation: Rotation = Rotation()
    names_from: str | None = None
    hosts: str | None = None
    jobs: int = 1  # of commands that have jobs_option
    metrics: tuple[str, int] | None = None  # this and `otlp`: of commands that have telemetry_options
    otlp: str | None = None
    commands: tuple[str, ...] = ()  # [NAME=]COMMAND
    merge_delay: float | None = None  # seconds
    restart: bool = False
    align_clocks: bool = False

    @property
    def places(self) -> str:
        """The interfaces and commands of a live capture, for messages; empty where there are none."""
        return ", ".join((*self.interfaces, *self.commands))

    @property
    def is_live(self) -> bool:
        """Whether traffic is read as it comes, so that rows are wanted at once."""
        return bool(self.places) or self.follow or "-" in self.files or self._has_pipes

    @property
    def has_merged_places(self) -> bool:
        """Whether several inputs are merged as they come: commands, interfaces, pipes, files of several clocks."""
        several = len(self.files) > 1
        return bool(self.commands) or len(self.interfaces) > 1 or (several and (self._has_pipes or self.align_clocks))

    @property
    def _has_pipes(self) -> bool:
        from kwcli.reading.list_input_files import is_pipe

        return any(map(is_pipe, self.files))

    def time_filter_text(self, env: Environment, zone: str) -> str:
        """The filter expression for --since and --until; empty where neither is given. Raises Failure (usage).

        `zone`: the zone of times without one (Settings.zone).
        """
        if self.since is None and self.until is None:
            return ""
        from kwcli.filter_options import build_time_expression

        return build_time_expression(
            self.since, self.until, () if self.places or self.follow else self.files, env, zone
        )

    def check_usage(self, *, cuts: bool = False) -> None:
        """Raise UsageError where the options name no input, or clash. `cuts`: the command cuts packets out of files."""
        _check_capture_options(self, cuts=cuts)


def _check_capture_options(capture: CaptureOptions, *, cuts: bool) -> None:
    """Raise UsageError where the options name no input, or clash. `cuts`: the command cuts packets out of files."""
    context = click.get_current_context()
    if capture.files and capture.places:
        from kwcli.other_tools_hints import is_tcpdump_filter

        if capture.interfaces and is_tcpdump_filter(capture.files[0]):
            raise click.UsageError(f"the filter of a live capture is --bpf '{' '.join(capture.files)}'", context)
        files = ", ".join(capture.files[:2]) + (" …" if capture.files[2:] else "")
        option, what = ("-i", "an interface") if capture.interfaces else ("--on", "commands")
        raise click.UsageError(f"{files} and {option} {capture.places}: not both; give files, or {what}", context)
    if not capture.files and not capture.places:
        raise click.UsageError("give capture files, or - for standard input, or -i IFACE, or --on 'COMMAND'", context)
    _check_live_options(capture, context, cuts=cuts)
    for name, given in (("--whole-connections", capture.whole_connections), ("--with-keys", capture.with_keys)):
        if given and (not capture.write or capture.places):
            raise click.UsageError(f"{name} is for packets cut out of files: FILE -w OUT.pcapng", context)
    if capture.follow and capture.places:
        raise click.UsageError("a live capture is followed anyway: leave --follow out", context)
    if capture.follow and capture.write:
        raise click.UsageError("-w needs files that no longer grow: leave --follow out", context)
    if capture.follow and len(capture.files) > 1:
        why = "reads one file and the files that continue it: name one file, a folder or a pattern"
        raise click.UsageError(f"--follow {why}", context)
    refuse_options_without("write", ROTATION_OPTIONS, "it is about the files of -w")
    if capture.rotation != Rotation() and not capture.places:
        raise click.UsageError(
            "--rotate-size, --rotate-interval and --keep are for a live capture: -i IFACE or --on 'COMMAND'",
            context,
        )
    if capture.metrics is not None and not capture.is_live:
        raise click.UsageError(
            "--metrics is for live traffic: -i IFACE, --on 'COMMAND', --follow or standard input", context
        )
    if capture.rotation.keep is not None and capture.rotation == (None, None, capture.rotation.keep):
        raise click.UsageError("--keep needs --rotate-size or --rotate-interval: it counts their files", context)


def _check_live_options(capture: CaptureOptions, context: click.Context, *, cuts: bool) -> None:
    """Raise UsageError where options of live captures have none, or an interface is given twice."""
    for interface in capture.interfaces:
        if capture.interfaces.count(interface) > 1:
            raise click.UsageError(f"-i {interface} is given more than once", context)
    if capture.bpf is not None and not capture.interfaces:
        raise click.UsageError("--bpf is for a live capture: it needs -i IFACE", context)
    if capture.write is not None and not cuts and not capture.places:
        raise click.UsageError("-w is for a live capture: it needs -i IFACE or --on 'COMMAND'", context)
    if capture.restart and not capture.commands:
        raise click.UsageError("--restart starts the commands of --on again: --on 'COMMAND'", context)
    if capture.merge_delay is not None and not capture.has_merged_places:
        raise click.UsageError("--merge-delay is for several inputs that are read as they come", context)
    if capture.align_clocks and len((*capture.files, *capture.commands)) < 2:
        raise click.UsageError("--align-clocks is for captures of several clocks: files, or commands of --on", context)
    if capture.align_clocks and capture.files and capture.write:
        raise click.UsageError("-w cuts packets out of files as they are: leave --align-clocks out", context)
