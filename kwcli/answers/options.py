"""The options of the commands that show one row for each client, topic …: the same for all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from kwcli.options import capture_options, filter_options, jobs_option, output_options

__all__ = ["FORMATS", "portrait_command"]

FORMATS = ("text", "table", "ndjson", "json", "csv", "yaml", "fields")


def portrait_command(word: str, examples: str) -> Callable[[Callable[..., Any]], click.Command]:
    """A command called `word`; it gets `capture`, `name`, `filters` and `shown`."""

    def decorated(function: Callable[..., Any]) -> click.Command:
        for decorate in (
            output_options(quiet="No summary and no progress bar.", formats=FORMATS),
            filter_options(limit="Stop reading after N exchanges counted."),
            jobs_option,
            click.option("--name", metavar="NAME", help="All that is known of this one."),
            capture_options,
        ):
            function = decorate(function)
        return click.command(word, epilog=examples)(function)

    return decorated
