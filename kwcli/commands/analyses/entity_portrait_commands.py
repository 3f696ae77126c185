"""`kw clients`, `groups`, `transactions`, `topics` and `brokers`: captures in, one row for each of them out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kwcli.capture_options import CaptureOptions
from kwcli.options import FilterOptions, OutputOptions, answer_options
from kwcli.run_environment import Environment
from kwcli.schema_options import SchemaOptions, schema_options

if TYPE_CHECKING:
    from kwcli.output.output_settings import Settings

_values_option = click.option("--values", is_flag=True, help="Decode keys and values: the schemas of each topic.")

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
    "transactions": (
        """Show transactions: state, age, producer, partitions, what holds the last stable offset, how to end it.

    FILE as for `kw sniff`. One row per transactional id, with its latest transaction, and one per producer that holds
    readers back and whose id is not known; `--name` shows one in full: its timeline.
    """,
        """\b
Examples:
  kw transactions orders.pcapng
  kw transactions captures/ --name ledger-3
  kw transactions orders.pcapng -o ndjson | jq -r 'select(.holds != []) | .command'""",
    ),
    "topics": (
        """Show the topics in captures: clients that write, read, administer each, or only ask for it.

    FILE as for `kw sniff`. One row per topic, by name if known; `--name` shows one in full.
    """,
        """\b
Examples:
  kw topics orders.pcapng
  kw topics captures/ --client-id checkout-7 -o ndjson
  kw topics orders.pcapng --values
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

    named = click.option("--name", metavar="NAME", help="Show only NAME, in full.")
    of_values = (_values_option, schema_options) if word == "topics" else ()

    @click.command(word, help=text, epilog=examples)
    @answer_options(named, *of_values)
    @click.pass_obj
    def show_answer(
        env: Environment,
        capture: CaptureOptions,
        name: str | None,
        filters: FilterOptions,
        shown: OutputOptions,
        values: bool = False,
        schemas: SchemaOptions = SchemaOptions(),  # noqa: B008 - a tuple, which never changes
    ) -> int:
        from kwcli.analyses.run_analysis import show_portraits

        def make_settings() -> Settings:
            settings = shown.make_settings(env)
            if not values and schemas == SchemaOptions():
                return settings
            from kwcli.net.connection_options import add_value_reader_to_settings

            return add_value_reader_to_settings(env, settings, schemas, wanted=values)

        return show_portraits(word, env, capture, name, filters, make_settings)

    return show_answer
