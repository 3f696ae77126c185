"""`kw help`: the handbook, a page a topic."""

from __future__ import annotations

import click

from kwcli.env import Environment
from kwcli.help.pages import TOPICS
from kwcli.options import COLORS

EXAMPLES = """\b
Examples:
  kw help
  kw help filter
  kw help --search snaplen"""


class TopicName(click.ParamType[str]):
    """A topic of the handbook, which completion knows."""

    name = "topic"
    known = TOPICS


@click.command("help", epilog=EXAMPLES)
@click.argument("topic", required=False, type=TopicName(), metavar="[TOPIC]")
@click.option("--search", metavar="WORD", help="List the lines of all pages that hold this word.")
@click.option("--no-pager", is_flag=True, help="Do not page long output on a terminal.")
@click.option("--color", type=click.Choice(COLORS), default="auto", help="When to use colours.")
@click.pass_obj
def command(env: Environment, topic: str | None, search: str | None, no_pager: bool, color: str) -> int:
    """Show a page of the handbook, or list its topics."""
    from kwcli.help.view import show_found, show_page, show_topics

    if topic is not None and search is not None:
        raise click.UsageError("either a topic or --search")
    if search is not None:
        return show_found(env, search)
    if topic is None:
        return show_topics(env)
    return show_page(env, topic, color=color, pager=not no_pager)
