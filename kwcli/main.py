"""The program `kw`: command-line words in, one command run, an exit code out.

Commands are loaded when they are asked for, so that `kw --help` and completion stay fast. Every error ends in one line
on standard error and an exit code of `run_environment.py`; `--debug` shows the traceback as well.
"""

from __future__ import annotations

import gc
import importlib
import os
import signal
import sys
from collections.abc import Sequence
from typing import Final, NoReturn

import click

from kwcli.run_environment import (
    SELDOM_COLLECTIONS,
    Environment,
    Exit,
    Failure,
    SecretHidingStderr,
    StoredRows,
    describe_write_error,
    make_flag_callback,
)

# Command → the module below kwcli that has its `command`, or the attribute behind the colon; its line in `kw --help`.
COMMANDS: dict[str, tuple[str, str]] = {
    "sniff": ("commands.sniff", "Decode captures or live traffic into Kafka exchanges."),
    "browse": ("commands.browse", "Look through captures or live traffic in the terminal."),
    "call": ("commands.call", "Send any request to a broker; print the response."),
    "proxy": ("commands.proxy", "Relay and log the traffic between clients and a cluster."),
    "stats": ("commands.analyses.stats", "Count exchanges: latency, bytes, errors, records."),
    "clients": (
        "commands.analyses.entity_portrait_commands",
        "Show clients: software, topics, groups, errors, latency.",
    ),
    "groups": (
        "commands.analyses.entity_portrait_commands",
        "Show groups: members, rebalances and their causes, lag.",
    ),
    "transactions": (
        "commands.analyses.entity_portrait_commands",
        "Show transactions: state, age, what they hold back.",
    ),
    "topics": ("commands.analyses.entity_portrait_commands", "Show who writes, reads and administers each topic."),
    "brokers": (
        "commands.analyses.entity_portrait_commands",
        "Show brokers: node, addresses, release, latency, errors.",
    ),
    "trace": ("commands.analyses.trace", "Show the life of a record: written, read, committed."),
    "doctor": ("commands.analyses.doctor", "Say what is wrong in captures, why, and what to do."),
    "audit": ("commands.analyses.audit", "Say which clients break when the brokers are upgraded."),
    "diff": ("commands.analyses.diff", "Say what changed between two captures."),
    "report": ("commands.analyses.report", "Write a report on captures as one HTML page."),
    "sql": ("commands.analyses.sql", "Query captures or tables in SQL."),
    "replay": ("commands.replay", "Send the requests of a recording to another cluster."),
    "scrub": ("commands.scrub", "Make a capture safe to send to others."),
    "pipeline": ("commands.pipeline", "Turn captures of any size into tables; report, run SQL."),
    "apis": ("commands.apis_errors_version:apis", "Look up APIs, fields, wire layouts, releases."),
    "errors": ("commands.apis_errors_version:errors", "Look up error codes: meaning and remedy."),
    "decode": ("commands.decode", "Decode single messages; identify unknown bytes."),
    "encode": ("commands.encode", "Turn a body as JSON, YAML or words into bytes."),
    "profile": ("commands.profile", "Manage named connection settings."),
    "mock": ("commands.mock", "Mock the brokers of a recording, to test clients."),
    "playground": ("commands.playground", "Start a throw-away Kafka cluster on this machine."),
    "completion": ("completion", "Print the completion script for a shell."),
    "help": ("commands.help", "Show a page of the handbook."),
    "version": ("commands.apis_errors_version:version", "Show versions: kw, Kafka, libraries."),
}


# The command that the completion scripts of shells call; not for users.
COMPLETE: Final = "__complete"


class Commands(click.Group):
    """The commands of COMMANDS as a click group. `kw COMMAND help` is `kw help COMMAND`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if len(args) > 1 and args[-1] == "help" and args[0] in COMMANDS and not os.path.exists("help"):
            if args[1] == "help":
                args = ["help", args[0]]
            elif len(args) == 3 and isinstance(self.get_command(ctx, args[0]), click.Group):
                args = ["help", *args[:-1]]
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # click's signature
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002  # click's signature
        if cmd_name not in COMMANDS:
            return None
        name, _, attribute = COMMANDS[cmd_name][0].partition(":")
        command = getattr(importlib.import_module(f"kwcli.{name}"), attribute or "command")
        made: click.Command = command if isinstance(command, click.Command) else command(cmd_name)
        return made

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, command, words = super().resolve_command(ctx, args)
        return name, command, _join_errors_all(words) if command and _has_errors_option(command) else words

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002  # click's signature
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


def _has_errors_option(command: click.Command) -> bool:
    """Whether the command, or one of its subcommands, has the option --errors, which the word `all` may follow."""
    commands = command.commands.values() if isinstance(command, click.Group) else [command]
    return any(option.name == "errors_all" for each in commands for option in each.params)


def _join_errors_all(words: list[str]) -> list[str]:
    """The words with `--errors all` as the one word --errors-all: the word behind --errors is mostly a file."""
    out: list[str] = []
    for at, word in enumerate(words):
        if word == "--":
            return [*out, *words[at:]]
        if word == "all" and out and out[-1] == "--errors":
            out[-1] = "--errors-all"
        else:
            out.append("--errors-all" if word == "--errors=all" else word)
    return out


def _print_version(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        from kwcli import VERSION

        click.echo(f"kw {VERSION}")
        ctx.exit()


def _print_properties(ctx: click.Context, _param: click.Parameter, value: tuple[str, ...]) -> None:
    """`kw -X list` as kcat takes it; a property itself belongs behind the command that connects."""
    if not value:
        return
    from kwcli.net.connection_options import print_properties

    if value[0] not in ("list", "dump", "help"):
        raise click.UsageError(
            "-X goes behind the command: kw call -X KEY=VALUE …, kw proxy -X …; kw -X list shows all"
        )
    print_properties(ctx.obj, value[0], {})
    ctx.exit()


kw = Commands(
    "kw",
    help="See what is really on the wire: a protocol inspector and debugger for Apache Kafka.",
    epilog="\b\nExamples:\n  kw sniff orders.pcapng\n  kw sniff -i eth0 --errors",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    params=[
        click.Option(
            ["--version"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_print_version,
            help="Print the version and end.",
        ),
        click.Option(
            ["--debug"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=make_flag_callback("debug"),
            help="Show the traceback of a defect in any command.",
        ),
        click.Option(
            ["-X", "properties"],
            multiple=True,
            expose_value=False,
            callback=_print_properties,
            metavar="list|dump",
            help="List all client properties, or dump those in force with their sources.",
        ),
    ],
)


def run(words: Sequence[str], env: Environment) -> int:
    """Run `kw WORDS…` in `env` and return the exit code, also where the command raises an exception."""
    env.profile_output = lambda name: _read_profile_output_format(env, name)
    env.open_tables = _open_stored_exchanges
    if any("@" in word for word in words):
        from decoders.wire.redact_text import passwords_of_urls

        env.add_secrets_to_hide(passwords_of_urls(words))
    try:
        return _run_and_report_errors(words, env)
    finally:
        env.end_paging()


def _run_and_report_errors(words: Sequence[str], env: Environment) -> int:
    try:
        if words and words[0] == COMPLETE:
            from kwcli.completion.complete import answer_completion

            return answer_completion(env, words[1:], kw, {name: text for name, (_, text) in COMMANDS.items()})
        outcome = kw.main(list(words), prog_name="kw", standalone_mode=False, obj=env)
        return int(outcome) if isinstance(outcome, int) else Exit.DONE
    except Failure as failure:
        env.report(f"kw: {failure.text}")
        return failure.code
    except click.exceptions.NoArgsIsHelpError as error:
        env.stderr.write(error.format_message().encode() + b"\n")
        return Exit.USAGE
    except click.UsageError as error:
        from kwcli.usage_errors import describe_usage_error

        env.report(f"kw: {describe_usage_error(error, words, COMMANDS)}")
        return Exit.USAGE
    except click.ClickException as error:
        env.report(f"kw: {error.format_message()}")
        return Exit.FAILURE
    except click.exceptions.Exit as end:
        return end.exit_code
    except (KeyboardInterrupt, click.Abort):
        return Exit.INTERRUPTED
    except BrokenPipeError:
        return Exit.DONE
    except SystemExit:  # raised by click alone, where the reader of our output has gone
        return Exit.DONE
    except Exception as defect:
        line = describe_write_error(defect) if isinstance(defect, OSError) else None
        if line is not None and not env.debug:
            env.report(f"kw: {line}")
            return Exit.FAILURE
        if env.debug:
            import traceback

            for line in traceback.format_exc().splitlines():
                env.report(line)
        place = "" if env.debug else " (--debug shows where)"
        env.report(f"kw: defect: {type(defect).__name__}: {defect}{place}")
        return Exit.FAILURE


def _read_profile_output_format(env: Environment, name: str | None) -> str:
    """`kw.output` of the profile with this name, else of the one in use; empty where that cannot be read."""
    from kwcli.user_folders import own_folder_name

    active = os.path.join(own_folder_name("config", env.variables), "active-profile")  # no Path: it loads much
    if name is None and not env.variables.get("KW_PROFILE") and not os.path.exists(active):
        return ""
    from kwcli.net.config.connection_profiles import Profiles
    from kwcli.options import OUTPUT_PROPERTY

    profiles = Profiles.open_own(env)
    chosen = (name, "") if name is not None else profiles.find_profile_in_use(env)
    try:
        return dict(profiles.read_pairs(chosen[0])).get(OUTPUT_PROPERTY, "") if chosen else ""
    except Failure:
        return ""  # reported where the profile is needed


def _open_stored_exchanges(place: str) -> StoredRows:
    """The exchanges in a folder of tables. Raises Failure."""
    from importlib.util import find_spec

    if find_spec("pyarrow") is None:
        from kwcli.pip_extras import pip_command_for_extra

        raise Failure(f"{place}: reading tables needs pyarrow: {pip_command_for_extra('report')}")
    from kwcli.pipeline.tables.stored_exchanges import StoredExchanges

    return StoredExchanges(place)


def _raise_keyboard_interrupt(_number: int, _frame: object) -> NoReturn:
    raise KeyboardInterrupt


def main() -> int:
    """The entry point of the installed program. SIGTERM acts like Ctrl-C: everything decoded so far is written."""
    signal.signal(signal.SIGTERM, _raise_keyboard_interrupt)
    gc.freeze()
    gc.set_threshold(*SELDOM_COLLECTIONS)
    env = Environment.of_process()
    sys.stderr = SecretHidingStderr(env)
    code = run(sys.argv[1:], env)
    try:
        env.stdout.flush()
        if sys.stdout:  # of its own buffer: click prints help there
            sys.stdout.flush()
    except OSError as error:
        # Where the reader of our output has gone, nothing is said.
        if not isinstance(error, BrokenPipeError) and code != Exit.FAILURE:
            env.report(f"kw: {describe_write_error(error) or error}")
            code = Exit.FAILURE
        # Let the interpreter's own flush at exit find nothing to complain about.
        os.dup2(os.open(os.devnull, os.O_WRONLY), env.stdout.fileno())
    if "duckdb" not in sys.modules:  # duckdb complains about objects that are left
        gc.freeze()  # the interpreter's last collections then find nothing to look at: 5 ms
    return code


if __name__ == "__main__":
    sys.exit(main())
