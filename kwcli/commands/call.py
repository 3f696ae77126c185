"""`kw call`: one request to a broker, its answer, and how long it took."""

from __future__ import annotations

import click

from kwcli.clashing_options import Clash, refuse_clashes, refuse_options_without
from kwcli.net.config.client_config import ConnectionOptions
from kwcli.net.connection_options import ConnectingCommand, connection_options
from kwcli.option_types import Seconds, VersionWord
from kwcli.options import ContentOptions, OutputOptions, content_options, output_options
from kwcli.run_environment import Environment

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
EXAMPLES = """\b
Examples:
  kw call Metadata topics[].name=orders -b kafka1:9092
  kw call find-coordinator key=billing --select node_id
  kw call produce topic=orders key=k value=@order.json header=trace:7 --compression zstd
  printf 'a=1\\nb=2\\n' | kw call produce topic=orders -K =
  kw call produce topic=orders value:='{"id":41}' --schema order.avsc
  kw call fetch topic=orders offset=-10 --values
  kw call ApiVersions --node all -o table
  kw call DeleteTopics --skeleton > delete.yaml; kw call DeleteTopics @delete.yaml --dry-run"""


# What shows an answer, and what says how often, or where to, a request is sent.
_OF_ANSWERS = ("select", "against", "values")
_OF_SENDING = ("split", "repeat", "interval_s", "node")
CLASHES = (
    Clash(
        "skeleton",
        (
            "example",
            "edit",
            "dry_run",
            "raw_body",
            "only",
            *_OF_ANSWERS,
            *_OF_SENDING,
            "output",
            "records",
            "lines",
            "schema",
        ),
        "--skeleton prints the request as YAML to fill in, and sends nothing",
    ),
    Clash("example", ("edit", "raw_body"), "--example sends the example unchanged"),
    Clash(
        "raw_body",
        ("edit", "compression", "acks", "magic", "lines", "key_separator", "schema"),
        "--raw-body is the whole body",
    ),
    Clash("schema", ("raw_values",), "--schema encodes by a schema, and --raw-values uses none"),
    Clash("dry_run", ("against", "values"), "nothing is sent, so there is no answer"),
    Clash("node", ("split",), "the whole request goes to the named node"),
    Clash("values", ("only", "select", "against"), "--values prints only the values of records"),
    Clash("against", ("only", "select"), "--against prints a table of versions"),
)


@click.command("call", cls=ConnectingCommand, epilog=EXAMPLES)
@click.argument("api")
@click.argument("words", nargs=-1, metavar="[PATH=VALUE | @FILE | -]...")
@click.option("--api-version", "version", type=VersionWord(), metavar="N", help="Send this version: 12, v12, latest.")
@click.option("--as-kafka", "release", metavar="2.8", help="Send the highest version that this release speaks.")
@click.option("--force", is_flag=True, help="Send an API or version not offered, too.")
@click.option(
    "--node", metavar="NODE", help="Ids (1,2), any, controller, all, coordinator:GROUP, txn:ID, leader:TOPIC-PART."
)
@click.option("--split", is_flag=True, help="Send each leader or coordinator its share of the request.")
@click.option("--example", is_flag=True, help="Send the example of the API as it is, even if it changes something.")
@click.option("--skeleton", is_flag=True, help="Print the request as annotated YAML to fill in; send nothing.")
@click.option("--edit", is_flag=True, help="Edit the request in $EDITOR before it is sent.")
@click.option("--dry-run", is_flag=True, help="Show the request and its bytes without connecting.")
@click.option("--raw-body", metavar="HEX", help="Send these bytes as the body.")
@click.option("--only", type=click.Choice(["request", "response"]), help="Show one side; in JSON, only its body.")
@click.option("--select", metavar="PATH", help="Show only this path of the response (or of --only).")
@content_options
@click.option("--compression", type=click.Choice(CODECS), help="With topic=… value=…: how to compress the records.")
@click.option("--acks", type=click.Choice(["all", "1", "0"]), help="With topic=… value=…: replicas that must ack.")
@click.option("--magic", type=click.IntRange(0, 2), metavar="0|1|2", help="With topic=… value=…: batch format.")
@click.option("--lines", is_flag=True, help="With topic=… and a pipe: each line is a value, JSON or not.")
@click.option(
    "--schema", metavar="ID|SUBJECT|FILE", help="With topic=… value=…: encode values, which are JSON, by this schema."
)
@click.option("--values", is_flag=True, help="With Fetch: print only record values, one per line.")
@click.option(
    "-K",
    "--key-separator",
    metavar="SEP",
    help="Separator of key and value, in lines that are sent or that a fetch prints.",
)
@click.option("--repeat", type=click.IntRange(min=0), default=1, metavar="N", help="Send N times; 0: until Ctrl-C.")
@click.option("--interval", "interval_s", type=Seconds(), metavar="TIME", help="Interval of --repeat (default: 1s).")
@click.option("--against", metavar="3.9", help="With ApiVersions: compare what brokers offer with this release.")
@connection_options
@output_options(
    verbose="Show the request, the chosen server and the look-ups; -vv also their messages.",
    quiet="No summary of repetitions.",
    columns=True,
    times=True,
)
@click.pass_obj
def command(
    env: Environment,
    /,
    api: str,
    words: tuple[str, ...],
    connection: ConnectionOptions,
    content: ContentOptions,
    shown: OutputOptions,
    **asked: object,
) -> int:
    """Send one request to the right broker; print request, response and timing.

    API is a name in any spelling or a number. The body is the API's example, changed by words: topics[0].name=a,
    topics[].name=a appends, path:=JSON, path=@file; or JSON or YAML from @FILE or, with -, standard input.

    Produce and Fetch take short words as well: topic=orders key=k value=v header=a:b, or one value a line from a pipe;
    topic=orders offset=-10 (before the end), beginning, end, @2026-11-21T03:04.
    """
    from kwcli.calling.call_command import CallOptions, run_call

    refuse_clashes(*CLASHES)
    refuse_options_without("repeat", ("interval_s",), "it is the time between repetitions")
    if asked["dry_run"] and (asked["only"] or ("response" if asked["select"] else "request")) == "response":
        text = "--dry-run gets no response: use --only request, or --select with a path of the request"
        raise click.UsageError(text, click.get_current_context())
    given = CallOptions(api, words, **asked)  # type: ignore[arg-type]  # click has checked the types
    settings = shown.make_settings(env, content, live=given.repeat != 1 or given.edit)
    return run_call(env, given, settings, content, connection)
