"""`kw replay`: what clients asked in a recording, asked again of another cluster, and how its answers differ."""

from __future__ import annotations

import click

from kwcli.capture_options import CaptureOptions
from kwcli.net.config.client_config import ConnectionOptions
from kwcli.net.connection_options import ConnectingCommand, connection_options_of_others
from kwcli.options import (
    NO_SUMMARY,
    FilterOptions,
    OutputOptions,
    filter_options,
    keylog_option,
    names_from_option,
    output_options,
    pass_options_as_value,
    ports_option,
    since_option,
    until_option,
    words_option,
)
from kwcli.replay import ReplayOptions
from kwcli.run_environment import Environment, Exit

EXAMPLES = """\b
Examples:
  kw replay orders.pcapng -b new-cluster:9092
  kw replay orders.pcapng -b new-cluster:9092 --speed max -o table
  kw replay orders.pcapng -b test:9092 --changes data,admin:create_topics --map orders=orders-copy
  kw replay orders.pcapng --dry-run"""
FORMATS = ("text", "table", "ndjson", "json")


@click.command("replay", cls=ConnectingCommand, epilog=EXAMPLES)
@pass_options_as_value("capture", CaptureOptions, CaptureOptions._fields)
@pass_options_as_value("words", ReplayOptions, ReplayOptions._fields)
@click.argument("files", nargs=-1, metavar="FILE...", type=click.Path(readable=False))
@click.option("--speed", default="1", metavar="N|max", help="1: as in the recording; 10: ten times as fast; max.")
@words_option(
    "--changes",
    metavar="data|admin:API,...",
    help="Also send changes: to data (records, groups, transactions), or by these admin APIs.",
)
@words_option("--map", metavar="OLD=NEW,...", help="Rename topic OLD to NEW; also group:OLD=NEW, transaction:OLD=NEW.")
@click.option("--dry-run", is_flag=True, help="List requests to send and skip, with reasons; do not connect.")
@click.option("--replay-client-id", metavar="ID", help="The client id to send (default: the recorded ids).")
@ports_option
@keylog_option
@names_from_option
@since_option
@until_option
@filter_options(limit="Stop reading after N requests.")
@connection_options_of_others
@output_options(
    verbose="Show every request, not only those with different responses; -vv other ids too.",
    quiet=NO_SUMMARY,
    formats=FORMATS,
    times=True,
)
@click.pass_obj
def command(
    env: Environment,
    words: ReplayOptions,
    capture: CaptureOptions,
    filters: FilterOptions,
    connection: ConnectionOptions,
    shown: OutputOptions,
) -> Exit:
    """Send the requests of a recording to another cluster; compare its responses with those recorded.

    FILE is a capture, or NDJSON of kw sniff or kw proxy; - is standard input. Only requests that change nothing
    are sent, unless --changes says more. Exit code 4: a response differs or is refused.
    """
    from kwcli.replay.run_replay import run_replay

    capture.check_usage()
    return run_replay(env, words, capture, filters, connection, shown)
