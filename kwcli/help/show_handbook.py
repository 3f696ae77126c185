"""Topics and words in, the handbook on standard output: laid out and paged on a terminal, plain Markdown in a pipe."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import Final

import click

from decoders.wire.suggest_similar_words import did_you_mean
from kwcli.help.handbook_pages import ALIASES, TOPICS, describe_topic, read_page, search_pages
from kwcli.output.output_settings import choose_settings
from kwcli.run_environment import Environment, Exit, Failure

# Lines of prose that are longer than this are hard to read, however wide the terminal is.
WIDEST = 120
# Only colours of kw's own palette: a terminal is given no others.
STYLES = {
    **dict.fromkeys(("markdown.code", "markdown.code_block"), "cyan"),
    **dict.fromkeys(("markdown.h1", "markdown.h2", "markdown.h3", "markdown.table.header"), "bold"),
    **dict.fromkeys(
        ("markdown.em", "markdown.item.bullet", "markdown.link", "markdown.link_url", "markdown.h1.border"), "none"
    ),
    "markdown.table.border": "dim",
}


def show_handbook_topics(env: Environment) -> int:
    """Print every topic with its description."""
    width = max(map(len, TOPICS))
    lines = [f"{topic:<{width}}  {describe_topic(topic).replace('`', '')}" for topic in TOPICS]
    lines += ["", "kw help TOPIC shows a page, kw help --search WORD finds a word, kw COMMAND --help lists options."]
    env.stdout.write(("\n".join(lines) + "\n").encode())
    return Exit.DONE


def show_handbook_page(env: Environment, word: str, *, color: str, pager: bool) -> int:
    """Print the page of a topic. Raises Failure (usage) with the nearest topic where there is none of that name."""
    text = read_page(_find_topic_by_word(word))
    if not env.stdout_terminal:
        env.stdout.write(text.encode())
        return Exit.DONE
    shown = choose_settings(env, output="text", color=color)
    if pager:
        env.start_paging(short=True)  # less ends by itself
    env.allow_colors(True)
    env.stdout.write(_render_markdown(text, width=min(shown.width or 80, WIDEST), color=shown.color).encode())
    return Exit.DONE


def _find_topic_by_word(word: str) -> str:
    topic = ALIASES.get(word.lower(), word.lower())
    if topic not in TOPICS:
        hint = did_you_mean(word, (*TOPICS, *ALIASES))
        raise Failure(f"no topic {word[:80]!r}{hint}; kw help lists them, kw help --search finds a word", Exit.USAGE)
    return topic


def show_man_page(env: Environment, program: click.Group, word: str | None) -> int:
    """Print the manual page of the program, or of a topic. Raises Failure (usage) where there is no such topic."""
    from kwcli.help.manual_page import format_man_page

    env.stdout.write(format_man_page(program, None if word is None else _find_topic_by_word(word)).encode())
    return Exit.DONE


def show_command_help(env: Environment, root: click.Context, words: Sequence[str]) -> int:
    """Print what `kw WORDS… --help` prints. Raises Failure (usage) where there is no such command."""
    ctx, command = root, root.command
    for word in words:
        found = command.get_command(ctx, word) if isinstance(command, click.Group) else None
        if found is None:
            raise Failure(f"no command {' '.join(words)[:80]!r}; kw help lists topics, kw --help commands", Exit.USAGE)
        command, ctx = found, click.Context(found, ctx, info_name=word, **found.context_settings)
    env.stdout.write(f"{ctx.get_help()}\n".encode())
    return Exit.DONE


def show_handbook_search(env: Environment, word: str) -> int:
    """Print the lines that hold `word`, as grep does: `topic:line: text`. Raises Failure where there is none."""
    found = [f"{each.topic}:{each.number}: {each.line}" for each in search_pages(word)]
    if not found:
        raise Failure(f"no page of the handbook holds {word[:80]!r}")
    env.stdout.write(("\n".join(found) + "\n").encode())
    return Exit.DONE


_PAGE_LINK: Final = re.compile(r"\[([^\]]+)\]\(([\w-]+)\.md\)")
_HEADING: Final = re.compile(r"^#.*$|^\|.*\|$(?=\n\| *-)", re.MULTILINE)  # of a section, of a table


def _format_link_as_command(link: re.Match[str]) -> str:
    """A link to a page as the command that shows it."""
    label, page = link.groups()
    return f"`kw help {page}`" if label == page else f"{label} (`kw help {page}`)"


def _render_markdown(text: str, *, width: int, color: bool) -> str:
    """Markdown as lines for a terminal of `width` columns."""
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.markdown import CodeBlock, Markdown
    from rich.text import Text
    from rich.theme import Theme

    class Example(CodeBlock):
        """A fenced block whose lines stay whole: wrapped output of a command cannot be read."""

        def __rich_console__(self, _console: Console, _options: ConsoleOptions) -> RenderResult:
            for line in str(self.text).rstrip().splitlines():
                yield Text(f"  {line}", style="cyan", no_wrap=True, overflow="ignore")

    class Page(Markdown):
        elements = {**Markdown.elements, "fence": Example}  # noqa: RUF012  # rich's own attribute

    text = _PAGE_LINK.sub(_format_link_as_command, text)  # terminal links are escape codes, which would not pass
    text = _HEADING.sub(lambda heading: heading[0].replace("`", ""), text)  # kw has no style both bold and coloured
    out = io.StringIO()
    console = Console(
        file=out,
        width=width,
        force_terminal=color,
        color_system="standard" if color else None,
        legacy_windows=False,
        theme=Theme(STYLES),
        _environ={},
    )
    console.print(Page(text, hyperlinks=False), crop=False)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"
