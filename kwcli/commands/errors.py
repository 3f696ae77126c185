"""`kw errors`: what an error code means and what to do about it, offline."""

from __future__ import annotations

import click

from kwcli.env import Environment
from kwcli.options import OutputOptions, output_options

EXAMPLES = """\b
Examples:
  kw errors 6
  kw errors not-leader
  kw errors --grep fence -o json"""


@click.command("errors", epilog=EXAMPLES, context_settings={"ignore_unknown_options": True})
@click.argument("error", required=False, metavar="[CODE|NAME]")
@click.option("--grep", metavar="WORD", help="Errors whose name or meaning holds this word.")
@output_options(formats=("text", "ndjson", "json"))
@click.pass_obj
def command(env: Environment, error: str | None, grep: str | None, shown: OutputOptions) -> int:
    """Explain an error code, by its number or name (the beginning of one will do), or list all of them."""
    from kwcli.reference.show import show_errors

    return show_errors(env, shown.settings(env), word=error, grep=grep)
