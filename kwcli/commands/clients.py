"""`kw clients`: captures in, what is known of each client out."""

from __future__ import annotations

import click

from kwcli.answers.options import portrait_command
from kwcli.env import Environment
from kwcli.options import CaptureOptions, FilterOptions, OutputOptions

EXAMPLES = """\b
Examples:
  kw clients orders.pcapng
  kw clients captures/ --topic payments -o ndjson
  kw clients orders.pcapng --name checkout-7"""


@portrait_command("clients", EXAMPLES)
@click.pass_obj
def command(
    env: Environment,
    capture: CaptureOptions,
    name: str | None,
    filters: FilterOptions,
    shown: OutputOptions,
) -> int:
    """Show who talks in captures: clients with software, addresses, topics, groups, errors, latency.

    FILE as for `kw sniff`. One row a client id (or address, where it has none) and software; `--name` shows all of one.
    """
    from kwcli.answers.run import show_portraits

    return show_portraits("clients", env, capture, name, filters, shown)
