"""`kw browse`: captures or live traffic in, a terminal to look through them out."""

from __future__ import annotations

from importlib.util import find_spec

import click

from kwcli.browse.background_work_and_source import BrowseOptions
from kwcli.capture_options import CaptureOptions
from kwcli.option_types import ByteSize
from kwcli.options import (
    COLORS,
    REVEALING,
    ContentOptions,
    FilterOptions,
    OutputOptions,
    ascii_option,
    capture_options,
    columns_option,
    debug_option,
    filter_options,
    guess_option,
    local_option,
    pass_options_as_value,
    schemas_option,
)
from kwcli.run_environment import Environment, Exit, Failure

EXAMPLES = """\b
Examples:
  kw browse orders.pcapng
  kw browse orders.pcapng.zst -f 'client_id == billing-1 and error'
  kw browse -i eth0 --port 9092
  kw browse --on 'ssh broker1 tcpdump -i any -U -w - port 9092'"""


@click.command("browse", epilog=EXAMPLES)
@capture_options
@guess_option
@filter_options()
@click.option("--reveal-secrets", is_flag=True, help=REVEALING)
@schemas_option
@click.option(
    "--spool",
    type=ByteSize(),
    metavar="SIZE",
    default="4GB",
    show_default=True,
    help="Disk space for rows, compressed, in the folder of temporary files.",
)
@columns_option
@click.option("--sort", type=click.Choice(["time", "latency", "size"]), help="Sort by time, slowest or largest first.")
@local_option
@click.option("--color", type=click.Choice(COLORS), default="auto", help="When to use colours.")
@ascii_option
@debug_option
@pass_options_as_value("asked", BrowseOptions, BrowseOptions._fields)
@click.pass_obj
def command(
    env: Environment,
    capture: CaptureOptions,
    filters: FilterOptions,
    reveal_secrets: bool,
    asked: BrowseOptions,
    columns: tuple[str, ...],
    local: bool,
    color: str,
) -> int:
    """Look through captures or live traffic: a list, messages, their bytes.

    Reads what kw sniff reads. The filters given begin the filter line, in which they can be changed. Press ? for keys.
    """
    from kwcli.output.read_row_cells import make_row_columns

    capture.check_usage()
    make_row_columns(columns)  # a word that is no column is told before all else
    if find_spec("textual") is None:
        from kwcli.pip_extras import pip_command_for_extra

        raise Failure(f"kw browse needs textual: {pip_command_for_extra('browse')}")
    if not (env.stdout_terminal and env.stderr_terminal and (env.stdin_terminal or "-" in capture.files)):
        raise Failure("kw browse needs a terminal; kw sniff prints the same rows", Exit.USAGE)
    content = ContentOptions(records=True, reveal_secrets=reveal_secrets, schemas=asked.schemas)
    settings = OutputOptions("text", color, columns=columns, local=local).make_settings(env, content, live=True)
    from kwcli.browse.run_browse import browse

    return browse(env, settings, capture, filters, asked)
