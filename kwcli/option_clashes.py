"""Options that say nothing beside others, as a command line has them; a usage error that names both out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from decoders.named_tuple import NamedTuple

if TYPE_CHECKING:
    from kwcli.options import CaptureOptions

__all__ = ["Clash", "check_capture_options", "refuse_clashes", "refuse_given_options", "refuse_options_without"]


class Clash(NamedTuple):
    """An option, the options that say nothing beside it (all by their parameters' names), and why in a few words."""

    option: str
    others: tuple[str, ...]
    why: str


def refuse_clashes(*clashes: Clash) -> None:
    """Raise UsageError where the command line has two options of which one would be ignored; defaults do not count."""
    context = click.get_current_context()
    names, typed = _parameters_on_command_line(context)
    for clash in clashes:
        if clash.option in typed:
            for other in clash.others:
                if other in typed:
                    text = f"{names[other]} has no effect with {names[clash.option]}: {clash.why}"
                    raise click.UsageError(text, context)


def refuse_options_without(option: str, others: Iterable[str], why: str) -> None:
    """Raise UsageError where the command line has one of `others`, which need `option`, but not `option` itself."""
    context = click.get_current_context()
    names, typed = _parameters_on_command_line(context)
    if option not in typed:
        for other in others:
            if other in typed:
                raise click.UsageError(f"{names[other]} needs {names[option]}: {why}", context)


def refuse_given_options(why: str, among: Iterable[str] | None = None) -> None:
    """Raise UsageError where the command line has an option (one of `among`), which says nothing; `why` says why."""
    context = click.get_current_context()
    names, typed = _parameters_on_command_line(context)
    for name in names:
        if name in typed and (among is None or name in among):
            raise click.UsageError(f"{names[name]} has no effect {why}", context)


def _parameters_on_command_line(context: click.Context) -> tuple[dict[str, str], set[str]]:
    """The spelling of a command's parameters, by name, and the names of the parameters that the command line has."""
    names = {param.name or "": max(param.opts, key=len) for param in context.command.params}
    return names, {name for name in names if context.get_parameter_source(name) is ParameterSource.COMMANDLINE}


def check_capture_options(capture: CaptureOptions, rotation_options: Sequence[str], *, cuts: bool = False) -> None:
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
    refuse_options_without("write", rotation_options, "it is about the files of -w")
    if any(each is not None for each in capture.rotation) and not capture.places:
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
    """Raise UsageError where options of live captures have none."""
    if capture.bpf is not None and not capture.interfaces:
        raise click.UsageError("--bpf is for a live capture: it needs -i IFACE", context)
    if capture.write is not None and not cuts and not capture.places:
        raise click.UsageError("-w is for a live capture: it needs -i IFACE or --on 'COMMAND'", context)
    if capture.restart and not capture.commands:
        raise click.UsageError("--restart starts the commands of --on again: --on 'COMMAND'", context)
    if capture.merge_delay is not None and not capture.has_merged_places:
        raise click.UsageError("--merge-delay is for several inputs that are read as they come", context)
