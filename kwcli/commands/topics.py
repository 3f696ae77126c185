"""`kw topics`: captures in, what is known of each topic out."""

from __future__ import annotations

import click

from kwcli.answers.options import portrait_command
from kwcli.env import Environment
from kwcli.options import CaptureOptions, FilterOptions, OutputOptions

EXAMPLES = """\b
Examples:
  kw topics orders.pcapng
  kw topics captures/ --client-id checkout-7 -o ndjson
  kw topics orders.pcapng --name payments"""


@portrait_command("topics", EXAMPLES)
@click.pass_obj
def command(
    env: Environment,
    capture: CaptureOptions,
    name: str | None,
    filters: FilterOptions,
    shown: OutputOptions,
) -> int:
    """Show what is done with topics in captures: who writes, reads, administers each, and who only asked for it.

    FILE as for `kw sniff`. One row a topic, by name where it is known; `--name` shows all of one.
    """
    from kwcli.answers.run import show_portraits

    return show_portraits("topics", env, capture, name, filters, shown)
