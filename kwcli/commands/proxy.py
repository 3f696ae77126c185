"""`kw proxy`: a man in the middle for a whole cluster."""

from __future__ import annotations

import click

from kwcli.clashing_options import Clash, refuse_clashes, refuse_given_options
from kwcli.net.config.client_config import ConnectionOptions
from kwcli.net.connection_options import ConnectingCommand, connection_options_of_others, read_client_config
from kwcli.option_types import NetworkList
from kwcli.options import metrics_option, pass_options_as_value
from kwcli.proxy.deciding.faults.fault_options import FaultOptions, fault_options
from kwcli.proxy.deciding.script_and_control_options import ScriptAndControlOptions, script_and_control_options
from kwcli.proxy.listening_and_version_options import ListeningOptions, served_options
from kwcli.proxy.log.log_options import CLASHES, LogOptions, log_options
from kwcli.proxy.tls.listener_tls_options import TlsOptions, security_options
from kwcli.run_environment import Environment

EXAMPLES = """\b
Examples:
  kw proxy -b kafka1:9092
  kw proxy -b kafka1:9092 --port-base 29092 --bind 0.0.0.0 --advertise laptop.lan
  kw proxy -b kafka1:9093 -F client.properties --tls-in
  kw proxy -b kafka1:9092 --metrics 9400 --check
  kw proxy -b kafka1:9092 --fault 'error NOT_LEADER_OR_FOLLOWER, rate 5%, when api == Produce'
  kw proxy -b kafka1:9092 -f 'error or latency > 1s' -w orders.pcapng
  kw proxy -b kafka1:9092 --as-kafka 2.8
  kw proxy -b kafka1:9092 --port-base 0 --no-log -w test.pcapng --run 'make test'
  kw proxy -b localhost:19092 --dial-map kafka-1:9092=localhost:19092"""


class ProxyCommand(ConnectingCommand, click.Group):
    """The proxy itself, or `kw proxy ctl` for one that runs."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # click's signature
        return ["ctl"]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002  # click's signature
        if cmd_name != "ctl":
            return None
        from kwcli.proxy.deciding.control.ctl_commands import command as ctl

        return ctl


@click.group("proxy", cls=ProxyCommand, epilog=EXAMPLES, invoke_without_command=True)
@connection_options_of_others
@click.option(
    "--port-base",
    type=click.IntRange(0, 65535),
    default=19092,
    metavar="N",
    help="Bootstrap listener on N, node k on N+1+k (default: 19092); 0: a free range.",
)
@click.option("--bind", metavar="ADDRESS", default="127.0.0.1", help="Listen on ADDRESS (default: 127.0.0.1).")
@click.option("--advertise", metavar="HOST", help="Host name given to clients, instead of the --bind address.")
@click.option(
    "--run", metavar="CMD", help="Run CMD (KW_BOOTSTRAP_SERVER, KAFKA_BOOTSTRAP_SERVERS), end with its exit code."
)
@click.option(
    "--proxy-protocol",
    type=NetworkList(),
    metavar="CIDR,...",
    help="Require a PROXY head (1, 2) from these networks, and believe the client that it names.",
)
@click.option(
    "--send-proxy",
    type=click.Choice(["v1", "v2"]),
    help="Name the client to brokers in a PROXY head before its bytes.",
)
@security_options
@metrics_option("Serve Prometheus metrics on http://127.0.0.1:PORT/metrics, or at ADDRESS.")
@click.option("--check", "only_check", is_flag=True, help="Test brokers, login, ports, certificates; then exit.")
@served_options
@fault_options
@script_and_control_options
@log_options
@pass_options_as_value("listening", ListeningOptions, ListeningOptions._fields)
@click.pass_obj
def command(
    env: Environment,
    connection: ConnectionOptions,
    security: TlsOptions,
    log: LogOptions,
    faults: FaultOptions,
    script_and_control: ScriptAndControlOptions,
    listening: ListeningOptions,
    only_check: bool,
) -> int | None:
    """Relay clients to a cluster: every broker gets a listener here, and clients learn no other address.

    Configure clients with the printed bootstrap.servers. Ctrl-C waits for answers, then ends; again: at once.
    """
    ctx = click.get_current_context()
    if ctx.invoked_subcommand is not None:
        refuse_given_options(f"before {ctx.invoked_subcommand}: it is for starting a proxy")
        return None
    from kwcli.proxy.run_proxy import run_proxy

    refuse_clashes(*CLASHES, Clash("only_check", ("run",), "no proxy is started"))
    config = read_client_config(env, connection, verbose=log.shown.verbose)._replace(send_proxy=listening.send_proxy)
    return run_proxy(
        env, config, listening.make_listening(), security, log, faults, script_and_control, only_check=only_check
    )
