"""`kw version`: which kw this is, on which Python, what it knows of Kafka, and the libraries that it uses."""

from __future__ import annotations

import click

from kwcli.env import Environment
from kwcli.options import OutputOptions, output_options

EXAMPLES = """\b
Examples:
  kw version
  kw version -o json"""


@click.command("version", epilog=EXAMPLES)
@output_options(formats=("text", "ndjson", "json"))
@click.pass_obj
def command(env: Environment, shown: OutputOptions) -> None:
    """Show the versions of kw, of Python, of the newest Kafka that kw knows, and of the libraries."""
    from kwcli.reference.versions import versions, write_versions

    write_versions(env, versions(), shown.settings(env).format)
