"""`kw apis`: the protocol's APIs, their fields and their layouts on the wire, offline."""

from __future__ import annotations

import click

from kwcli.env import Environment
from kwcli.reference.options import reference_options

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
@reference_options
@click.pass_obj
def command(
    env: Environment,
    api: str | None,
    version: int | None,
    release: str | None,
    diff: tuple[str, str] | None,
    grep: str | None,
    output: str | None,
    color: str,
) -> None:
    """List all APIs, or show the fields of one, or the exact layout of one VERSION of it.

    API is a name in any spelling, also an older one, or a number.
    """
    from kwcli.config import settings
    from kwcli.reference.show import show_apis

    how = settings(env, output=output, color=color, verbose=0, quiet=False)
    show_apis(env, how, api=api, version=version, release=release, diff=diff, grep=grep)
