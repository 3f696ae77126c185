"""`kw proxy ctl`: orders and questions to a running proxy in, its answers over the control interface out."""

from __future__ import annotations

from typing import Any

import click

from kwcli.option_types import Seconds
from kwcli.options import OutputOptions, output_options
from kwcli.run_environment import Environment

EXAMPLES = """\b
Examples:
  kw proxy ctl hold 'api == Produce and topic == orders' --first 1
  kw proxy ctl held
  kw proxy ctl release 1
  kw proxy ctl fault 'delay 200ms, rate 10%, when api == Fetch'
  kw proxy ctl exchanges -n 20 -o ndjson
  kw proxy ctl wait 'api == Produce and topic == orders' --timeout 10s"""


@click.group("ctl", epilog=EXAMPLES)
@click.option("--port", type=click.IntRange(1, 65535), metavar="N", help="--control port; found if one proxy runs.")
@click.pass_context
def command(ctx: click.Context, port: int | None) -> None:
    """Inspect and control a running proxy that was started with --control PORT."""
    ctx.meta["kw.control.port"] = port


def _choose_control_port(env: Environment) -> int:
    from kwcli.proxy.deciding.control.control_client import find_control_port

    port: int | None = click.get_current_context().meta["kw.control.port"]
    return port or find_control_port(env.variables)


def _run_operation(env: Environment, shown: OutputOptions, method: str, path: str, **fields: Any) -> None:
    from kwcli.proxy.deciding.control.control_client import print_rows, send_control_request

    settings = shown.make_settings(env)
    answer = send_control_request(_choose_control_port(env), method, path, fields, env.variables)
    print_rows(env, answer if isinstance(answer, list) else [answer], settings)


def _format_examples(*lines: str) -> str:
    return "\n".join(["\b", "Examples:", *(f"  kw proxy ctl {line}" for line in lines)])


_shown = output_options(formats=("text", "ndjson", "json"))


_shown_exchanges = output_options(
    verbose="Show bodies too; -vv headers as well.", formats=("text", "table", "ndjson", "json", "csv"), times=True
)


@command.command(
    "exchanges", short_help="The last exchanges.", epilog=_format_examples("exchanges", "exchanges -n 100 -o ndjson")
)
@click.option("-n", "--limit", type=click.IntRange(min=1), default=20, help="How many (default: 20).")
@_shown_exchanges
@click.pass_obj
def show_exchanges(env: Environment, /, shown: OutputOptions, limit: int) -> None:
    """Show the last exchanges that went through the proxy, oldest first, as kw sniff does."""
    from kwcli.proxy.deciding.control.control_client import print_exchanges, send_control_request

    settings = shown.make_settings(env)
    fields = {"limit": limit}
    print_exchanges(
        env, send_control_request(_choose_control_port(env), "GET", "/v1/exchanges", fields, env.variables), settings
    )


@command.command(
    "wait",
    short_help="Wait for an exchange.",
    epilog=_format_examples("wait 'api == Produce and topic == orders'", "wait 'fault' --timeout 5s -o ndjson"),
)
@click.argument("expression", metavar="FILTER")
@click.option("--timeout", "timeout_s", type=Seconds(), default=30.0, metavar="TIME", help="Time limit (default: 30s).")
@click.option("--past", is_flag=True, help="Take one of the last exchanges, too, if it matches.")
@_shown_exchanges
@click.pass_obj
def wait(env: Environment, /, shown: OutputOptions, expression: str, timeout_s: float, past: bool) -> None:
    """Wait until an exchange that matches FILTER has gone through the proxy, and show it; exit code 124: none came."""
    from kwcli.proxy.deciding.control.control_client import WaitOptions, print_exchanges, wait_for_exchange

    settings = shown.make_settings(env)
    options = WaitOptions(expression, timeout_s, past)
    print_exchanges(env, [wait_for_exchange(_choose_control_port(env), options, env.variables)], settings)


@command.command("stop", short_help="End the proxy.", epilog=_format_examples("stop", "--port 19099 stop"))
@_shown
@click.pass_obj
def stop(env: Environment, /, shown: OutputOptions) -> None:
    """End the proxy as Ctrl-C does: it takes no new requests, and ends once all answers are sent."""
    _run_operation(env, shown, "POST", "/v1/stop")


@command.command(
    "release", short_help="Let a held exchange go on.", epilog=_format_examples("release 1", "release 1 --do close")
)
@click.argument("number", type=click.IntRange(min=1), metavar="ID")
@click.option("--do", "how", type=click.Choice(["pass", "close", "reset"]), default="pass", help="How to release it.")
@_shown
@click.pass_obj
def release_exchange(env: Environment, /, shown: OutputOptions, number: int, how: str) -> None:
    """Let the exchange ID (of `held`) pass, or end its connection."""
    _run_operation(env, shown, "POST", f"/v1/held/{number}", do=how)


@command.command(
    "hold",
    short_help="Hold new exchanges that match.",
    epilog=_format_examples("hold 'api == JoinGroup'", "hold 'topic == orders' --side response --first 1"),
)
@click.argument("when", default="", metavar="[FILTER]")
@click.option("--side", type=click.Choice(["request", "response"]), default="request", help="Requests or responses.")
@click.option("--first", type=click.IntRange(min=1), metavar="N", help="Hold only N.")
@_shown
@click.pass_obj
def hold_exchanges(env: Environment, /, shown: OutputOptions, when: str, side: str, first: int | None) -> None:
    """Hold exchanges that match FILTER, until released or timed out."""
    _run_operation(env, shown, "POST", "/v1/holds", when=when, side=side, first=first)


@command.command(
    "fault",
    short_help="Add a fault.",
    epilog=_format_examples(
        "fault 'delay 200ms, rate 10%'", "fault 'error NOT_COORDINATOR, first 3, when api == OffsetCommit'"
    ),
)
@click.argument("rule")
@_shown
@click.pass_obj
def add_fault(env: Environment, /, shown: OutputOptions, rule: str) -> None:
    """Add a fault RULE, as --fault takes it (kw help faults)."""
    _run_operation(env, shown, "POST", "/v1/faults", rule=rule)


class RuleNumber(click.ParamType[int]):
    """The number of a rule, from 1; 0 for `all`."""

    name = "rule"
    known = ("all",)

    def convert(self, value: str | int, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if value == "all":
            return 0
        if not (str(value).isdecimal() and int(value)):
            self.fail(f"{value!r} is no number of a rule: write its ID, or all", param, ctx)
        return int(value)


def _add_listing_command(name: str, text: str) -> None:
    """Add a command that shows all rows of `/v1/NAME`."""

    @command.command(name, short_help=text, help=text, epilog=_format_examples(name, f"{name} -o json"))
    @_shown
    @click.pass_obj
    def show(env: Environment, /, shown: OutputOptions) -> None:
        _run_operation(env, shown, "GET", f"/v1/{name}")


def _add_ending_command(name: str, rows: str, text: str) -> None:
    """Add a command that ends one of the rules `/v1/ROWS`."""

    @command.command(name, short_help=text, help=text, epilog=_format_examples(f"{name} 1", f"{name} all"))
    @click.argument("number", type=RuleNumber(), metavar="ID|all")
    @_shown
    @click.pass_obj
    def end(env: Environment, /, shown: OutputOptions, number: int) -> None:
        _run_operation(env, shown, "DELETE", f"/v1/{rows}/{number}" if number else f"/v1/{rows}")


_add_listing_command("connections", "Show the connections of clients.")
_add_listing_command("listeners", "Show the proxy's listeners and the nodes behind them.")
_add_listing_command("held", "Show held exchanges, and how long they will still be held.")
_add_listing_command("holds", "Show the rules that hold exchanges.")
_add_listing_command("faults", "Show the faults, and how often each has hit.")
_add_ending_command("unhold", "holds", "End rule ID (of holds), or all; their exchanges stay held.")
_add_ending_command("unfault", "faults", "End the fault ID (of faults), or all.")
