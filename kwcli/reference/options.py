"""The options that the commands of the reference share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

from kwcli.options import COLORS

FORMATS: Final = ("text", "ndjson", "json")
Command = TypeVar("Command", bound=Callable[..., Any])


def reference_options(command: Command) -> Command:
    """Format and colours."""
    command = click.option("--color", type=click.Choice(COLORS), default="auto", help="When to use colours.")(command)
    return click.option(
        "-o", "--output", type=click.Choice(FORMATS), help="Output format; text on a terminal, ndjson when piped."
    )(command)
