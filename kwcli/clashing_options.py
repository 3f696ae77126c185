"""Options that say nothing beside others, as a command line has them; a usage error that names both out."""

from __future__ import annotations

from collections.abc import Iterable

import click
from click.core import ParameterSource

from decoders.named_tuple import NamedTuple

__all__ = ["Clash", "refuse_clashes", "refuse_given_options", "refuse_options_without"]


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
