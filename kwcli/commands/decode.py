"""`kw decode`: the bytes of messages in, what they say out."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click

from decoders.named_tuple import NamedTuple
from kwcli.clashing_options import Clash, refuse_clashes, refuse_given_options
from kwcli.option_types import VersionWord
from kwcli.options import ContentOptions, OutputOptions, content_options, output_options, pass_options_as_value
from kwcli.run_environment import Environment
from kwcli.schema_options import RegistryOptions, registry_options

if TYPE_CHECKING:
    from decoders.schema.api_declaration import Side

FORMATS = ("text", "json", "ndjson", "yaml", "fields", "hex")
FORMS = ("auto", "hex", "base64", "raw")
NEGATIVE = re.compile(r"-(?:\d[\d,_]*|0x[0-9a-f]+)", re.IGNORECASE)
# No word of a command line has it in it.
MARK = "\x1f"
EXAMPLES = """\b
Examples:
  kw decode 0000001200030005000000070003617070ffffffff00
  xxd frame.bin | kw decode -o hex
  kw decode --api Metadata --version 12 response.bin
  kw decode --explain 'Invalid receive (size = 369295617 larger than 104857600)'
  kw decode --explain -720899
  kw decode --as OffsetCommitKey 00010001670001740000000200"""


class MessageOptions(NamedTuple):
    """Which messages the bytes are of; None where nothing was said."""

    api: str | None
    version: str | None
    request: bool
    response: bool
    structure: str | None

    @property
    def side(self) -> Side | None:
        """Which side they are of; None where that was not said."""
        return "request" if self.request else "response" if self.response else None


CLASHES = (
    Clash(
        "structure",
        ("api", "version", "request", "response", "records", "explain"),
        "--as decodes a structure, which is no message and holds its version",
    ),
    Clash(
        "explain",
        ("api", "version", "request", "response", "records", "reveal_secrets", "names"),
        "--explain identifies unknown bytes",
    ),
    Clash("request", ("response",), "a message is either of them"),
)


class NumbersAllowed(click.Command):
    """Takes `-720899` and `-0x10` for what they are, numbers and no options, wherever no option waits for a value."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Mark negative numbers, so that click takes them for arguments."""
        waiting = {name for param in self.params if _takes_value(param) for name in param.opts}
        before = ["", *args]
        return super().parse_args(
            ctx,
            [
                MARK + word if NEGATIVE.fullmatch(word) and last not in waiting else word
                for last, word in zip(before, args, strict=False)
            ],
        )


def _takes_value(param: click.Parameter) -> bool:
    return isinstance(param, click.Option) and not param.is_flag and not param.count


def _remove_marks_of_negative_numbers(
    _ctx: click.Context, _param: click.Parameter, words: tuple[str, ...]
) -> tuple[str, ...]:
    return tuple(word.removeprefix(MARK) for word in words)


@click.command("decode", epilog=EXAMPLES, cls=NumbersAllowed)
@click.argument(
    "inputs",
    metavar="[HEX | BASE64 | FILE | @FILE | -]...",
    nargs=-1,
    type=click.Path(readable=False),
    callback=_remove_marks_of_negative_numbers,
)
@click.option("--api", metavar="API", help="The API of the messages, by name or number.")
@click.option(
    "--version", "--api-version", "version", type=VersionWord(), metavar="N", help="API version: 12, v12, latest."
)
@click.option("--request", is_flag=True, help="The messages are requests.")
@click.option("--response", is_flag=True, help="The messages are responses.")
@click.option(
    "--as", "structure", metavar="STRUCTURE", help="The bytes are this structure (OffsetCommitValue); list shows all."
)
@click.option("--from", "form", type=click.Choice(FORMS), default="auto", help="Notation of the bytes.")
@click.option("--explain", is_flag=True, help="Identify unknown bytes, or numbers from a log.")
@content_options
@registry_options
@output_options(verbose="Show headers too; shorten nothing in hex.", formats=FORMATS)
@pass_options_as_value("said", MessageOptions, MessageOptions._fields)
@click.pass_context
def command(
    ctx: click.Context,
    inputs: tuple[str, ...],
    said: MessageOptions,
    form: str,
    explain: bool,
    content: ContentOptions,
    registry: RegistryOptions,
    shown: OutputOptions,
) -> int:
    """Decode single messages: hex, base64, dumps of xxd, hexdump and tcpdump -X, raw bytes, one or many.

    With or without the size field, several frames back to back, or one per line. A request names its API and version; a
    response needs --api and --version, or is guessed, and other candidates are listed. With both, a bare body decodes
    too. Fields before a failure are shown.
    """
    from kwcli.decoding.find_messages import MessageHints
    from kwcli.decoding.run_decode_and_explain import run_decode, run_explain
    from kwcli.names_in_any_spelling import find_api, parse_api_version

    env: Environment = ctx.obj
    refuse_clashes(*CLASHES)
    if said.version is not None and said.api is None:
        raise click.UsageError("--version needs --api", ctx)
    if said.structure is not None and shown.output == "hex":
        refuse_given_options("with --as, which prints text, json or ndjson", among=("output",))
    if explain and shown.output == "hex":
        refuse_given_options("with --explain, which prints text, json or ndjson", among=("output",))
    settings = shown.make_settings(env, content, live=not inputs or "-" in inputs)
    if registry != RegistryOptions():
        from kwcli.net.connection_options import add_named_registry_to_settings

        settings = add_named_registry_to_settings(env, settings, content, registry)
    if said.structure is not None:
        from kwcli.decoding.decode_structures import print_structures, run_decode_as_structure
        from kwcli.names_in_any_spelling import find_structure_name

        if said.structure == "list":
            return print_structures(env, settings)
        return run_decode_as_structure(inputs, env, settings, find_structure_name(said.structure), form)
    if explain:
        return run_explain(inputs, env, settings, form)
    found = None if said.api is None else find_api(said.api)
    version = None if found is None or said.version is None else parse_api_version(found, said.version)
    hints = MessageHints(said.side, None if found is None else found.key, version)
    return run_decode(inputs, env, settings, hints, form)
