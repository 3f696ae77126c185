"""`kw decode`: the bytes of messages in, what they say out."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import click

from kwcli.env import Environment
from kwcli.options import ContentOptions, OutputOptions, content_options, gathered, output_options

if TYPE_CHECKING:
    from decoders.schema.model import Side

FORMATS = ("text", "json", "ndjson", "yaml", "fields", "hex")
FORMS = ("auto", "hex", "base64", "raw")
EXAMPLES = """\b
Examples:
  kw decode 0000001200030005000000070003617070ffffffff00
  xxd frame.bin | kw decode -o hex
  kw decode --api Metadata --version 12 response.bin
  kw decode --explain 'Invalid receive (size = 369295617 larger than 104857600)'"""


class MessageOptions(NamedTuple):
    """Which messages the bytes are of; None where nothing was said."""

    api: str | None
    version: int | None
    side: Side | None


@click.command("decode", epilog=EXAMPLES)
@click.argument("inputs", metavar="[HEX | BASE64 | FILE | @FILE | -]...", nargs=-1, type=click.Path(readable=False))
@click.option("--api", metavar="API", help="The API of the messages, by name or number.")
@click.option("--version", "--api-version", "version", type=int, metavar="N", help="Its version.")
@click.option("--request", "side", flag_value="request", help="The messages are requests.")
@click.option("--response", "side", flag_value="response", help="The messages are responses.")
@click.option("--from", "form", type=click.Choice(FORMS), default="auto", help="How the bytes are written.")
@click.option("--explain", is_flag=True, help="Name what strange bytes, or numbers of a log, are.")
@content_options
@output_options(verbose="Show headers too; in hex nothing is shortened.", formats=FORMATS)
@gathered("said", MessageOptions, MessageOptions._fields)
@click.pass_context
def command(
    ctx: click.Context,
    inputs: tuple[str, ...],
    said: MessageOptions,
    form: str,
    explain: bool,
    content: ContentOptions,
    shown: OutputOptions,
) -> int:
    """Decode single messages: hex, base64, dumps of xxd, hexdump and tcpdump -X, raw bytes, one or many.

    With the size field or without, several frames back to back, a message a line. A request says itself what it is; a
    response needs --api and --version, or is guessed, and what else it may be is listed. With both even a bare body
    decodes. What stands before a failure is shown.
    """
    from kwcli.decoding.messages import MessageHints
    from kwcli.decoding.run import run, run_explain
    from kwcli.spelling import find_api

    env: Environment = ctx.obj
    if said.version is not None and said.api is None:
        raise click.UsageError("--version needs --api", ctx)
    settings = shown.settings(env, content)
    if explain:
        return run_explain(inputs, env, settings, form)
    key = None if said.api is None else find_api(said.api).key
    return run(inputs, env, settings, MessageHints(said.side, key, said.version), form)
