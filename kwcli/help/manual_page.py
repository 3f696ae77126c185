"""The handbook and the program's commands in, a manual page in man(7)'s macros out: for groff and mandoc alike.

The Markdown that is understood is what the handbook's pages use: headings, paragraphs, lists, tables, fenced blocks,
`code`, *emphasis* and links. Tables become lists of terms, since columns of prose do not fit a terminal of 80 columns.
All text beyond ASCII is written as `\\[uXXXX]`, which reads the same in every encoding.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import click

from kwcli import VERSION
from kwcli.help.handbook_pages import ALIASES, TOPICS, describe_topic, read_page

_INLINE: Final = re.compile(
    r"`(?P<code>[^`]+)`|\*\*(?P<strong>[^*]+)\*\*|(?<!\w)\*(?P<em>[^*\s][^*]*)\*"
    r"|\[(?P<text>[^\]]+)\]\((?P<url>[^)]+)\)"
)
_ESCAPES: Final = {"\\": "\\e", "-": "\\-", "^": "\\(ha", "~": "\\(ti", "`": "\\(ga", "'": "\\(aq"}
_LONGEST: Final = 40
_SPACES: Final = re.compile(r"\s+")


def format_man_page(program: click.Group, topic: str | None = None) -> str:
    """The page kw(1) with the whole handbook; or kw-TOPIC(1), with one of its pages and the options of its command."""
    if topic is None:
        lines = _format_roff_header_lines("kw", "see what is really on the wire of Apache Kafka")
        lines += [".SH SYNOPSIS", ".B kw", *_convert_paragraph_to_roff("COMMAND …")]
        lines += [".SH COMMANDS", *_make_command_sections(program)]
        for each in TOPICS:
            lines += [f".SH {_quote_roff_argument(each.upper())}", *_convert_page_to_roff(each)]
    else:
        lines = [
            *_format_roff_header_lines(f"kw-{topic}", describe_topic(topic)),
            ".SH DESCRIPTION",
            *_convert_page_to_roff(topic),
        ]
        own = [path for path in _list_command_paths(program) if ALIASES.get(path[0], path[0]) == topic]
        lines += [".SH COMMANDS"] * bool(own)
        for path in own:
            lines += _describe_command(program, path)
    more = "`kw help TOPIC` shows a page of the handbook, `kw COMMAND --help` the options of a command."
    lines += [".SH SEE ALSO", *_convert_paragraph_to_roff(more)]
    return "\n".join(lines) + "\n"


def _format_roff_header_lines(name: str, description: str) -> list[str]:
    return [
        f'.TH {_quote_roff_argument(name.upper())} 1 "" {_quote_roff_argument(f"kw {VERSION}")} "Handbook of kw"',
        *(".nh", ".ad l"),  # hyphens in names of options and fields are no places to break
        ".SH NAME",
        f"{_escape_roff(name)} \\- {_convert_inline_markdown_to_roff(description)}",
    ]


def _list_command_paths(program: click.Group) -> Iterator[tuple[str, ...]]:
    """The paths of all commands; the commands of a group follow the group."""
    ctx = click.Context(program, info_name="kw", **program.context_settings)
    for name in program.list_commands(ctx):
        command = program.get_command(ctx, name)
        if command is None or command.hidden:
            continue
        yield (name,)
        if isinstance(command, click.Group):
            inner = click.Context(command, ctx, info_name=name)
            yield from ((name, each) for each in command.list_commands(inner))


def _make_command_sections(program: click.Group) -> list[str]:
    return [line for path in _list_command_paths(program) for line in _describe_command(program, path)]


def _describe_command(program: click.Group, path: tuple[str, ...]) -> list[str]:
    """A command's usage, what it does, and its options."""
    ctx: click.Context = click.Context(program, info_name="kw", **program.context_settings)
    command: click.Command = program
    for name in path:
        assert isinstance(command, click.Group)
        found = command.get_command(ctx, name)
        assert found is not None
        command, ctx = found, click.Context(found, ctx, info_name=name)
    usage = " ".join(["kw", *path, *command.collect_usage_pieces(ctx)])
    lines = [f".SS {_quote_roff_argument(usage)}"]
    for paragraph in (command.help or "").split("\n\n"):
        lines += [*_convert_paragraph_to_roff(paragraph), ".PP"]
    lines = lines[:-1]
    for param in command.get_params(ctx):
        record = param.get_help_record(ctx) if isinstance(param, click.Option) and not param.hidden else None
        if record is not None and "--help" not in param.opts:
            words = _quote_roff_argument(record[0]).replace("|", "|\\:")  # where a long list of words may break
            lines += [".TP", f".B {words}", *_convert_paragraph_to_roff(record[1])]
    return lines


def _convert_page_to_roff(topic: str) -> list[str]:
    """A page of the handbook, its first line as a sentence."""
    _, _, rest = read_page(topic).partition("\n")
    return [*_convert_paragraph_to_roff(f"{describe_topic(topic)}."), *_convert_blocks_to_roff(rest.splitlines())]


def _convert_blocks_to_roff(source: list[str]) -> Iterator[str]:
    at = 0
    while at < len(source):
        line = source[at]
        if line.startswith("```"):
            end = next(n for n in range(at + 1, len(source)) if source[n].startswith("```"))
            yield from (".PP", ".RS 2", ".nf")
            yield from (_escape_roff_request_at_start(_escape_roff(each)) for each in source[at + 1 : end])
            yield from (".fi", ".RE")
            at = end + 1
        elif line.startswith("#"):
            yield f".SS {_quote_roff_argument(line.lstrip('# '))}"
            at += 1
        elif line.startswith("|"):
            end = next((n for n in range(at, len(source)) if not source[n].startswith("|")), len(source))
            yield from _convert_table_to_roff(source[at:end])
            at = end
        elif line.startswith("- "):
            end = next((n for n in range(at + 1, len(source)) if not source[n].startswith("  ")), len(source))
            yield from (
                ".IP \\(bu 2",
                *_convert_paragraph_to_roff(" ".join(each.strip() for each in [line[2:], *source[at + 1 : end]])),
            )
            at = end
        elif not line.strip():
            at += 1
        else:
            end = next((n for n in range(at + 1, len(source)) if _begins_markdown_block(source[n])), len(source))
            yield from (".PP", *_convert_paragraph_to_roff(" ".join(source[at:end])))
            at = end


def _begins_markdown_block(line: str) -> bool:
    return not line.strip() or line.startswith(("#", "|", "```", "- "))


def _convert_table_to_roff(rows: list[str]) -> Iterator[str]:
    """A table as a list of terms, its first cells; with more than two columns, each other cell follows its title."""
    titles, _, *cells = (_split_table_cells(row) for row in rows)
    for term, *others in cells:
        yield from (".TP", f"\\fB{_convert_inline_markdown_to_roff(term)}\\fR" if term else "\\&")
        if len(titles) == 2:
            yield from _convert_paragraph_to_roff(others[0]) if others[0].strip() else ["\\&"]
            continue
        pairs = zip(titles[1:], others, strict=True)
        yield from _convert_paragraph_to_roff(
            "; ".join(f"{title}: {cell}" if title else cell for title, cell in pairs if cell)
        ) or ["\\&"]


def _split_table_cells(row: str) -> list[str]:
    return [cell.replace("\\|", "|").strip() for cell in re.split(r"(?<!\\)\|", row.strip().strip("|"))]


def _convert_paragraph_to_roff(text: str) -> list[str]:
    """A paragraph as one line; no line for an empty paragraph."""
    plain = _SPACES.sub(" ", text.replace("\b", "")).strip()
    return [_escape_roff_request_at_start(_convert_inline_markdown_to_roff(plain))] if plain else []


def _convert_inline_markdown_to_roff(text: str) -> str:
    parts, at = [], 0
    for match in _INLINE.finditer(text):
        parts.append(_escape_roff(text[at : match.start()]))
        if match["url"]:
            shown, url = _escape_roff(match["text"].strip("`")), match["url"]
            parts.append(shown if url.endswith(".md") else f"{shown} ({_escape_roff(url)})")
        else:
            shown = _allow_line_breaks_in_words(_escape_roff(match["code"] or match["strong"] or match["em"]))
            parts.append(f"\\f{'I' if match['em'] else 'B'}{shown}\\fR")
        at = match.end()
    return "".join([*parts, _escape_roff(text[at:])])


def _allow_line_breaks_in_words(text: str) -> str:
    """The text, with words that are too long for a line made breakable behind a comma, a colon or a slash."""
    words = text.split(" ")
    return " ".join(re.sub(r"([,:/])", r"\1\\:", word) if len(word) > _LONGEST else word for word in words)


def _escape_roff(text: str) -> str:
    return "".join(map(_escape_character, text))


def _escape_character(character: str) -> str:
    found = _ESCAPES.get(character)
    if found is not None:
        return found
    return character if character.isascii() else f"\\[u{ord(character):04X}]"


def _escape_roff_request_at_start(line: str) -> str:
    """The line, protected from being read as a roff request where it begins with a dot or an apostrophe."""
    return f"\\&{line}" if line[:1] in (".", "'") or not line else line


def _quote_roff_argument(text: str) -> str:
    """The text as the argument of a macro, in quotes."""
    return '"' + _escape_roff(text).replace('"', "\\(dq") + '"'
