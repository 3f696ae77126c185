"""`kw brokers`: captures in, what is known of each broker out."""

from __future__ import annotations

import click

from kwcli.answers.options import portrait_command
from kwcli.env import Environment
from kwcli.options import CaptureOptions, FilterOptions, OutputOptions

EXAMPLES = """\b
Examples:
  kw brokers orders.pcapng
  kw brokers captures/ -o ndjson
  kw brokers orders.pcapng --name 2"""


@portrait_command("brokers", EXAMPLES)
@click.pass_obj
def command(
    env: Environment,
    capture: CaptureOptions,
    name: str | None,
    filters: FilterOptions,
    shown: OutputOptions,
) -> int:
    """Show the brokers of captures: node, rack, addresses, release, controller, latency, errors, clients.

    FILE as for `kw sniff`. One row an address that was talked to, then those that are only advertised; `--name` shows
    all of one, by address or node id.
    """
    from kwcli.answers.run import show_portraits

    return show_portraits("brokers", env, capture, name, filters, shown)
