"""`kw encode`: a body as JSON, YAML or words in, its bytes out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from decoders.named_tuple import NamedTuple
from kwcli.clashing_options import Clash, refuse_clashes
from kwcli.option_types import VersionWord
from kwcli.options import debug_option, pass_options_as_value
from kwcli.run_environment import Environment

if TYPE_CHECKING:
    from decoders.schema.api_declaration import Side

FORMS = ("hex", "base64", "raw")
EXAMPLES = """\b
Examples:
  kw encode Metadata 12 topics[].name=orders
  kw encode Fetch 12 --frame --client-id me -o raw < fetch.json > fetch.bin
  kw sniff orders.pcapng --api Metadata --limit 1 -o json | kw encode Metadata 12
  kw encode ApiVersions 3 --response error_code=35 | kw decode --api ApiVersions --version 3 -"""


class FrameHeader(NamedTuple):
    """Whether the whole frame is wanted, and what its header says."""

    frame: bool
    correlation_id: int | None
    client_id: str | None


@click.command("encode", epilog=EXAMPLES)
@click.argument("api", metavar="API")
@click.argument("version", metavar="VERSION", type=VersionWord())
@click.argument("words", metavar="[path=value | @FILE | -]...", nargs=-1)
@click.option("--response", is_flag=True, help="Encode a response, not a request.")
@click.option("--frame", is_flag=True, help="The whole frame: size field, header, body.")
@click.option("--correlation-id", type=click.IntRange(-(1 << 31), (1 << 31) - 1), help="For the header of --frame.")
@click.option("--client-id", metavar="TEXT", help="For the header of --frame.")
@click.option("--skeleton", is_flag=True, help="Print an annotated body to fill in, as YAML.")
@click.option("-o", "--output", type=click.Choice(FORMS), default="hex", help="hex (default), base64 or raw bytes.")
@debug_option
@pass_options_as_value("framing", FrameHeader, FrameHeader._fields)
@click.pass_context
def command(
    ctx: click.Context,
    api: str,
    version: str,
    words: tuple[str, ...],
    response: bool,
    framing: FrameHeader,
    skeleton: bool,
    output: str,
) -> None:
    """Encode a body: JSON or YAML from standard input, from @FILE, or path=value words.

    VERSION is a number or latest. Missing fields take their defaults. An exchange record of `kw sniff -o json --records
    --reveal-secrets`, or a message of `kw decode -o json`, is taken as it is.
    """
    from kwcli.calling.encode_words import (
        HeaderValues,
        encode_message_words,
        format_message_skeleton,
        format_output_bytes,
    )

    refuse_clashes(
        Clash(
            "skeleton",
            ("frame", "correlation_id", "client_id", "output"),
            "--skeleton prints YAML to fill in, no bytes",
        ),
        Clash("response", ("client_id",), "the header of a response has no client id"),
    )
    env: Environment = ctx.obj
    side: Side = "response" if response else "request"
    if skeleton:
        env.stdout.write(format_message_skeleton(api, version, words, env, side))
        return
    if not framing.frame and (framing.correlation_id, framing.client_id) != (None, None):
        raise click.UsageError("--correlation-id and --client-id are for --frame", ctx)
    if output == "raw" and env.stdout_terminal:
        raise click.UsageError("raw bytes are not for a terminal; redirect them or use -o hex", ctx)
    header = HeaderValues(framing.correlation_id, framing.client_id) if framing.frame else None
    data = encode_message_words(api, version, words, env, side, header)
    env.stdout.write(format_output_bytes(data, output))
