"""`kw apis`: the protocol's APIs, their fields and their layouts on the wire, offline."""

from __future__ import annotations

import click

from kwcli.env import Environment
from kwcli.options import OutputOptions, output_options

EXAMPLES = """\b
Examples:
  kw apis Fetch
  kw apis Fetch 12
  kw apis --diff 3.9 4.0
  kw apis --grep leader_epoch -o json"""


@click.command("apis", epilog=EXAMPLES)
@click.argument("api", required=False)
@click.argument("version", required=False, type=click.IntRange(min=0))
@click.option("--release", metavar="RELEASE", help="As this release of Kafka speaks it, for example 2.8.")
@click.option(
    "--diff",
    nargs=2,
    metavar="OLD NEW",
    help="What changed between two releases; of one API also between two versions.",
)
@click.option("--grep", metavar="WORD", help="APIs and fields whose name, or older name, holds this word.")
@output_options(formats=("text", "ndjson", "json", "csv", "yaml", "fields"))
@click.pass_obj
def command(
    env: Environment,
    api: str | None,
    version: int | None,
    release: str | None,
    diff: tuple[str, str] | None,
    grep: str | None,
    shown: OutputOptions,
) -> None:
    """List all APIs, or show the fields of one, or the exact layout of one VERSION of it.

    API is a name in any spelling, also an older one, or a number.
    """
    from kwcli.reference.show import show_apis

    how = shown.settings(env)
    show_apis(env, how, api=api, version=version, release=release, diff=diff, grep=grep)
