"""`kw errors`: what an error code means and what to do about it, offline."""

from __future__ import annotations

import click

from kwcli.env import Environment
from kwcli.options import OutputOptions, output_options

EXAMPLES = """\b
Examples:
  kw errors 6
  kw errors not-leader
  kw errors NotCoordinatorForGroupException ERR__TRANSPORT
  kw errors 'Offset commit failed: error code 27'
  kw errors --retriable
  kw errors --grep fence -o json"""


@click.command("errors", epilog=EXAMPLES, context_settings={"ignore_unknown_options": True})
@click.argument("error", nargs=-1, metavar="[CODE|NAME|LINE]...")
@click.option("--retriable/--not-retriable", default=None, help="Errors after which clients send again, or give up.")
@click.option("--grep", metavar="WORD", help="Errors whose name or meaning holds this word.")
@output_options(formats=("text", "ndjson", "json", "csv", "yaml", "fields"))
@click.pass_obj
def command(
    env: Environment, error: tuple[str, ...], retriable: bool | None, grep: str | None, shown: OutputOptions
) -> int:
    """Explain error codes, by number or name, as brokers, clients and their logs write them, or list all of them."""
    from kwcli.reference.show import show_errors

    return show_errors(env, shown.settings(env), words=error, grep=grep, retriable=retriable)
