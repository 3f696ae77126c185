"""`kw groups`: captures in, what is known of each group out."""

from __future__ import annotations

import click

from kwcli.answers.options import portrait_command
from kwcli.env import Environment
from kwcli.options import CaptureOptions, FilterOptions, OutputOptions

EXAMPLES = """\b
Examples:
  kw groups orders.pcapng
  kw groups captures/ --name billing
  kw groups orders.pcapng -o ndjson | jq '{group, commit_lag, rebalances}'"""


@portrait_command("groups", EXAMPLES)
@click.pass_obj
def command(
    env: Environment,
    capture: CaptureOptions,
    name: str | None,
    filters: FilterOptions,
    shown: OutputOptions,
) -> int:
    """Show groups of consumers: members, rebalances and who caused them, commits, lag, what is read again.

    FILE as for `kw sniff`. One row a group; `--name` shows the page of one: each generation with who joined, left and
    waited, members, and how far each partition is behind.
    """
    from kwcli.answers.run import show_portraits

    return show_portraits("groups", env, capture, name, filters, shown)
