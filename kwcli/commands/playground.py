"""`kw playground`: a throw-away cluster to try things on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from kwcli.clashing_options import Clash, refuse_clashes, refuse_given_options
from kwcli.option_types import ParsedWord, Seconds
from kwcli.options import OutputFormat, debug_option
from kwcli.run_environment import Environment

EXAMPLES = """\b
Examples:
  kw playground --topics orders:3,payments --traffic
  kw playground --nodes 3 --listeners plaintext,sasl_ssl
  kw playground --run 'kw call Metadata'
  kw playground --nodes 3 --keep-going"""
_NODE = """\b
Examples:
  kw playground node
  kw playground node restart 2
  kw playground node kill 1 2; kw playground node start 1 2"""

FIRST_PORT = 9092
RELEASES = ("4.3.1", "3.9.1")
NODE_ACTIONS = ("list", "stop", "kill", "start", "restart", "pause", "unpause")
LISTENERS = ("plaintext", "ssl", "mtls", "sasl_plaintext", "sasl_ssl")


class ReleaseName(ParsedWord[str]):
    """`4.3.1`, `4.3`, `v3.9`, `latest`: one of the releases that there are brokers of."""

    name = "release"
    known = RELEASES

    def parse_word(self, value: str) -> str:
        word = value.strip().lower().removeprefix("v")
        if word == "latest":
            return RELEASES[0]
        found = [release for release in RELEASES if release == word or (word and release.startswith(f"{word}."))]
        if not found:
            raise ValueError(f"there is no broker of {value!r} to start (there are {' and '.join(RELEASES)})")
        return found[0]


class ListenerNames(ParsedWord[tuple[str, ...]]):
    """`plaintext,sasl_ssl`: a tuple of Kafka's listener names, each once."""

    name = "listeners"

    def parse_word(self, value: str) -> tuple[str, ...]:
        names = tuple(dict.fromkeys(word.strip().lower().replace("-", "_") for word in value.split(",")))
        for name in names:
            if name not in LISTENERS:
                raise ValueError(f"{name!r} is no listener (they are {', '.join(LISTENERS)})")
        return tuple(name.upper() for name in names)


class TopicList(ParsedWord[tuple[tuple[str, int | None], ...]]):
    """`orders:3,payments`: a tuple of names with their number of partitions, None where it is not said."""

    name = "topics"

    def parse_word(self, value: str) -> tuple[tuple[str, int | None], ...]:
        from decoders.limits import PLAYGROUND_PARTITIONS_MAX

        topics = []
        for word in value.split(","):
            name, colon, count = word.strip().partition(":")
            if not name or (colon and not (count.isdecimal() and count.strip("0"))):
                raise ValueError(f"{word!r} is no topic (write orders or orders:3)")
            if count and int(count[:9]) > PLAYGROUND_PARTITIONS_MAX:
                raise ValueError(f"{word!r}: a topic has at most {PLAYGROUND_PARTITIONS_MAX} partitions here")
            topics.append((name, int(count) if count else None))
        return tuple(topics)


@click.group("playground", epilog=EXAMPLES, invoke_without_command=True)
@click.option("--nodes", type=click.IntRange(1, 9), default=1, metavar="N", help="Start N brokers.")
@click.option(
    "--version",
    "release",
    type=ReleaseName(),
    default=RELEASES[0],
    metavar="RELEASE",
    help=f"Apache Kafka's release: {' or '.join(RELEASES)} (default: {RELEASES[0]}).",
)
@click.option("--port", type=click.IntRange(1024, 65000), default=FIRST_PORT, metavar="PORT", help="The first port.")
@click.option(
    "--listeners",
    type=ListenerNames(),
    default="plaintext",
    metavar="NAME,...",
    help=f"{', '.join(LISTENERS)}; with certificates, users and a profile for each.",
)
@click.option("--topics", type=TopicList(), default=(), metavar="NAME[:PARTITIONS],...", help="Make these topics.")
@click.option("--traffic", is_flag=True, help="Keep a producer and a group of consumers going.")
@click.option(
    "--run",
    metavar="CMD",
    help="Start, run CMD with the servers' addresses in its environment, stop; exit with CMD's code.",
)
@click.option(
    "--jars",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="A folder with a broker's jars, instead of Maven's.",
)
@click.option("--mock", is_flag=True, help="librdkafka's mock instead of Apache Kafka: no Java, ready at once.")
@click.option("--keep-going", is_flag=True, help="Keep the other nodes when one dies (default: end all).")
@click.option("-q", "--quiet", is_flag=True, help="Print only the ready line.")
@debug_option
@click.pass_context
def command(ctx: click.Context, /, **wanted: Any) -> int | None:
    """Start a throw-away Kafka cluster on this machine; Ctrl-C ends it and leaves nothing behind.

    Real Apache Kafka with Java 17 (Maven fetches its jars once, they are kept), else librdkafka's mock.
    """
    if ctx.invoked_subcommand is not None:
        refuse_given_options(f"before {ctx.invoked_subcommand}: it is for starting a playground")
        return None
    refuse_clashes(
        Clash("mock", ("port",), "the mock chooses its own ports"),
        Clash("mock", ("release", "jars"), "the mock is no Apache Kafka"),
        Clash("mock", ("keep_going",), "nodes of the mock do not die"),
    )
    from kwcli.playground.run_playground import PlaygroundOptions, run_playground

    env: Environment = ctx.obj
    said = {"port": wanted["port"] != FIRST_PORT, "version": wanted["release"] != RELEASES[0]}
    return run_playground(
        env, PlaygroundOptions(**wanted, said=frozenset(name for name, chosen in said.items() if chosen))
    )


@command.command("node", short_help="List, stop, kill, start, restart, pause nodes while it runs.", epilog=_NODE)
@click.argument("action", type=click.Choice(NODE_ACTIONS), default="list")
@click.argument("numbers", type=click.IntRange(min=0), nargs=-1, metavar="[ID]...")
@click.option("--port", type=click.IntRange(1, 65535), metavar="PORT", help="Port of the playground, if several run.")
@click.option("--timeout", "timeout_s", type=Seconds(), default=30.0, metavar="TIME", help="Time limit (default: 30s).")
@click.option("-o", "--output", type=OutputFormat(["text", "ndjson", "json"]), default="text", help="Format.")
@click.pass_obj
def node(
    env: Environment, action: str, numbers: tuple[int, ...], port: int | None, timeout_s: float, output: str
) -> int:
    """List, stop and start nodes of a running playground, to see how clients react.

    stop ends a node in good order, kill as a crash does, pause hangs it until unpause; start brings it back with its
    data. Returns when the node is up again, or gone.
    """
    if (action == "list") == bool(numbers):
        raise click.UsageError("list takes no ID" if numbers else f"{action} needs the ID of a node: list shows them")
    if action == "list":
        refuse_given_options("with list, which does not wait", among=("timeout_s",))
    from kwcli.playground.node_control import run_node_action

    return run_node_action(env, action, numbers, port=port, timeout_s=timeout_s, output=output)
