"""`kw clients`, `kw groups`, `kw topics`, `kw brokers`: captures in, one row for each of them out."""

from __future__ import annotations

import click

from kwcli.capture_options import CaptureOptions
from kwcli.options import FilterOptions, OutputOptions, answer_options
from kwcli.run_environment import Environment

# Command → its help, and its examples.
HELP = {
    "clients": (
        """Show the clients in captures: software, addresses, topics, groups, errors, latency.

    FILE as for `kw sniff`. One row per client id (address, if it has none) and software; `--name` shows one in full.
    """,
        """\b
Examples:
  kw clients orders.pcapng
  kw clients captures/ --topic payments -o ndjson
  kw clients orders.pcapng --name checkout-7""",
    ),
    "groups": (
        """Show consumer groups: members, rebalances and their causes, commits, lag, offsets read again.

    FILE as for `kw sniff`. One row per group; `--name` shows one in full: each generation with joins, leaves and
    waits, members, and the lag of each partition.
    """,
        """\b
Examples:
  kw groups orders.pcapng
  kw groups captures/ --name billing
  kw groups orders.pcapng -o ndjson | jq '{group, commit_lag, rebalances}'""",
    ),
    "topics": (
        """Show the topics in captures: clients that write, read, administer each, or only ask for it.

    FILE as for `kw sniff`. One row per topic, by name if known; `--name` shows one in full.
    """,
        """\b
Examples:
  kw topics orders.pcapng
  kw topics captures/ --client-id checkout-7 -o ndjson
  kw topics orders.pcapng --name payments""",
    ),
    "brokers": (
        """Show the brokers of captures: node, rack, addresses, release, controller, latency, errors, clients.

    FILE as for `kw sniff`. One row per address that clients used, then addresses only advertised; `--name` shows
    one in full, by address or node id.
    """,
        """\b
Examples:
  kw brokers orders.pcapng
  kw brokers captures/ -o ndjson
  kw brokers orders.pcapng --name 2""",
    ),
}


def command(word: str) -> click.Command:
    """The command that is called so."""
    text, examples = HELP[word]

    @click.command(word, help=text, epilog=examples)
    @answer_options(click.option("--name", metavar="NAME", help="Show only NAME, in full."))
    @click.pass_obj
    def show_answer(
        env: Environment, capture: CaptureOptions, name: str | None, filters: FilterOptions, shown: OutputOptions
    ) -> int:
        from kwcli.analyses.run import show_portraits

        return show_portraits(word, env, capture, name, filters, shown)

    return show_answer
