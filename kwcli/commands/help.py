"""`kw help`: the handbook, a page a topic."""

from __future__ import annotations

import click

from kwcli.help.handbook_pages import TOPICS
from kwcli.options import COLORS
from kwcli.run_environment import Environment

EXAMPLES = """\b
Examples:
  kw help
  kw help filter
  kw help --search latency
  kw help profile add
  kw help --man > kw.1; man ./kw.1"""


class HelpTopic(click.ParamType[str]):
    """A topic of the handbook, which completion knows."""

    name = "topic"
    known = TOPICS


@click.command("help", epilog=EXAMPLES)
@click.argument("words", nargs=-1, type=HelpTopic(), metavar="[TOPIC | COMMAND]")
@click.option("--search", metavar="WORD", help="List the lines of all pages with this word.")
@click.option("--man", is_flag=True, help="Print all pages, or one, as a manual page for man.")
@click.option("--no-pager", is_flag=True, help="Do not page long output on a terminal.")
@click.option("--color", type=click.Choice(COLORS), default="auto", help="When to use colours.")
@click.pass_context
def command(
    ctx: click.Context, words: tuple[str, ...], search: str | None, man: bool, no_pager: bool, color: str
) -> int:
    """Show a page of the handbook, or list its topics. A command's page has its name; for a command of a group,
    `kw help profile add`, its options are shown."""
    from kwcli.help.show_handbook import (
        show_command_help,
        show_handbook_page,
        show_handbook_search,
        show_handbook_topics,
        show_man_page,
    )

    env: Environment = ctx.obj
    program = ctx.find_root().command
    assert isinstance(program, click.Group)
    if words and search is not None:
        raise click.UsageError("give a topic or --search, not both")
    if search is not None:
        return show_handbook_search(env, search)
    if man:
        return show_man_page(env, program, words[0] if words else None)
    if not words:
        return show_handbook_topics(env)
    if len(words) > 1:
        return show_command_help(env, ctx.find_root(), words)
    return show_handbook_page(env, words[0], color=color, pager=not no_pager)
