"""`kw mock`: a recording in, brokers made of it until a signal comes, and the exchanges that they serve out."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from kwcli.capture_options import CaptureOptions
from kwcli.clashing_options import refuse_clashes
from kwcli.options import keylog_option, names_from_option
from kwcli.proxy.log.log_options import CLASHES, LogOptions, log_options
from kwcli.proxy.tls.listener_tls_options import TlsOptions, security_options
from kwcli.run_environment import Environment

EXAMPLES = """\b
Examples:
  kw mock orders.pcapng
  kw mock orders.pcapng --port 29092 --calm
  kw mock orders.pcapng -o ndjson -f 'api == Produce' --records
  kw mock orders.pcapng --tls-in
  kw proxy -b kafka1:9092 -o ndjson --records > orders.ndjson; kw mock orders.ndjson --port 0"""


def _parse_passwords_by_user(ctx: click.Context, _param: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    """The callback of --password."""
    pairs = [value.partition("=") for value in values]
    if any(not (user and equals and password) for user, equals, password in pairs):
        raise click.UsageError("--password: write USER=PASSWORD", ctx)
    return {user: password for user, _, password in pairs}


@click.command("mock", epilog=EXAMPLES)
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=19092,
    metavar="N",
    help="The first node listens on N, the next on N+1 ... (default: 19092; 0: any free ports).",
)
@click.option("--bind", metavar="ADDRESS", default="127.0.0.1", help="Listen on ADDRESS (default: 127.0.0.1).")
@click.option("--advertise", metavar="HOST", help="Host name given to clients, instead of the --bind address.")
@click.option("--calm", is_flag=True, help="Leave out the recorded errors.")
@click.option(
    "--password",
    "passwords",
    multiple=True,
    metavar="USER=PASSWORD",
    callback=_parse_passwords_by_user,
    help="SCRAM password of USER, which a broker has to know too; all others have `mock`.",
)
@keylog_option
@names_from_option
@partial(security_options, lends_login=False)
@partial(log_options, upstream=False, quiet="Print only the ready line and problems.")
@click.pass_obj
def command(
    env: Environment,
    /,
    files: tuple[str, ...],
    keylogs: tuple[str, ...],
    names_from: str | None,
    security: TlsOptions,
    log: LogOptions,
    passwords: dict[str, str],
    **place: Any,
) -> int:
    """Mock the brokers of a recording, to test clients: its nodes, topics, records, groups and errors.

    FILE as for `kw sniff`, or NDJSON that kw wrote with --records. Clients are answered in any version they ask for;
    their writes are kept in memory and lost at the end. Ctrl-C ends.
    """
    from kwcli.mock.run_mock import MockPlan, run_mock

    refuse_clashes(*CLASHES)
    return run_mock(
        env, MockPlan(CaptureOptions(files, keylogs=keylogs, names_from=names_from), security, log, passwords, **place)
    )
