"""The options that the commands of the reference share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

from kwcli.options import COLORS, set_debug

FORMATS: Final = ("text", "ndjson", "json")
Command = TypeVar("Command", bound=Callable[..., Any])


def reference_options(command: Command) -> Command:
    """Format, colours, defects."""
    command = click.option(
        "--debug",
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=set_debug,
        help="Show the traceback of a defect.",
    )(command)
    command = click.option("--color", type=click.Choice(COLORS), default="auto", help="When to use colours.")(command)
    return click.option(
        "-o", "--output", type=click.Choice(FORMATS), help="Output format; text on a terminal, ndjson when piped."
    )(command)
