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
from kwcli.help.pages import ALIASES, TOPICS, describe_topic, read_page

_INLINE: Final = re.compile(
    r"`(?P<code>[^`]+)`|\*\*(?P<strong>[^*]+)\*\*|(?<!\w)\*(?P<em>[^*\s][^*]*)\*"
    r"|\[(?P<text>[^\]]+)\]\((?P<url>[^)]+)\)"
)
_ESCAPES: Final = {"\\": "\\e", "-": "\\-", "^": "\\(ha", "~": "\\(ti", "`": "\\(ga", "'": "\\(aq"}
_LONGEST: Final = 40
_SPACES: Final = re.compile(r"\s+")


def man_page(program: click.Group, topic: str | None = None) -> str:
    """The page kw(1) with the whole handbook; or kw-TOPIC(1), with one of its pages and the options of its command."""
    if topic is None:
        lines = _head("kw", "see what is really on the wire of Apache Kafka")
        lines += [".SH SYNOPSIS", ".B kw", *_text("COMMAND …")]
        lines += [".SH COMMANDS", *_commands(program)]
        for each in TOPICS:
            lines += [f".SH {_quoted(each.upper())}", *_page(each)]
    else:
        lines = [*_head(f"kw-{topic}", describe_topic(topic)), ".SH DESCRIPTION", *_page(topic)]
        own = [path for path in _paths(program) if ALIASES.get(path[0], path[0]) == topic]
        lines += [".SH COMMANDS"] * bool(own)
        for path in own:
            lines += _command(program, path)
    more = "`kw help TOPIC` shows a page of the handbook, `kw COMMAND --help` the options of a command."
    lines += [".SH SEE ALSO", *_text(more)]
    return "\n".join(lines) + "\n"


def _head(name: str, description: str) -> list[str]:
    return [
        f'.TH {_quoted(name.upper())} 1 "" {_quoted(f"kw {VERSION}")} "Handbook of kw"',
        *(".nh", ".ad l"),  # hyphens in names of options and fields are no places to break
        ".SH NAME",
        f"{_escaped(name)} \\- {_inline(description)}",
    ]


def _paths(program: click.Group) -> Iterator[tuple[str, ...]]:
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


def _commands(program: click.Group) -> list[str]:
    return [line for path in _paths(program) for line in _command(program, path)]


def _command(program: click.Group, path: tuple[str, ...]) -> list[str]:
    """A command's usage, what it does, and its options."""
    ctx: click.Context = click.Context(program, info_name="kw", **program.context_settings)
    command: click.Command = program
    for name in path:
        assert isinstance(command, click.Group)
        found = command.get_command(ctx, name)
        assert found is not None
        command, ctx = found, click.Context(found, ctx, info_name=name)
    usage = " ".join(["kw", *path, *command.collect_usage_pieces(ctx)])
    lines = [f".SS {_quoted(usage)}"]
    for paragraph in (command.help or "").split("\n\n"):
        lines += [*_text(paragraph), ".PP"]
    lines = lines[:-1]
    for param in command.get_params(ctx):
        record = param.get_help_record(ctx) if isinstance(param, click.Option) and not param.hidden else None
        if record is not None and "--help" not in param.opts:
            words = _quoted(record[0]).replace("|", "|\\:")  # where a long list of words may break
            lines += [".TP", f".B {words}", *_text(record[1])]
    return lines


def _page(topic: str) -> list[str]:
    """A page of the handbook, its first line as a sentence."""
    _, _, rest = read_page(topic).partition("\n")
    return [*_text(f"{describe_topic(topic)}."), *_blocks(rest.splitlines())]


def _blocks(source: list[str]) -> Iterator[str]:
    at = 0
    while at < len(source):
        line = source[at]
        if line.startswith("```"):
            end = next(n for n in range(at + 1, len(source)) if source[n].startswith("```"))
            yield from (".PP", ".RS 2", ".nf")
            yield from (_guarded(_escaped(each)) for each in source[at + 1 : end])
            yield from (".fi", ".RE")
            at = end + 1
        elif line.startswith("#"):
            yield f".SS {_quoted(line.lstrip('# '))}"
            at += 1
        elif line.startswith("|"):
            end = next((n for n in range(at, len(source)) if not source[n].startswith("|")), len(source))
            yield from _table(source[at:end])
            at = end
        elif line.startswith("- "):
            end = next((n for n in range(at + 1, len(source)) if not source[n].startswith("  ")), len(source))
            yield from (".IP \\(bu 2", *_text(" ".join(each.strip() for each in [line[2:], *source[at + 1 : end]])))
            at = end
        elif not line.strip():
            at += 1
        else:
            end = next((n for n in range(at + 1, len(source)) if _begins_block(source[n])), len(source))
            yield from (".PP", *_text(" ".join(source[at:end])))
            at = end


def _begins_block(line: str) -> bool:
    return not line.strip() or line.startswith(("#", "|", "```", "- "))


def _table(rows: list[str]) -> Iterator[str]:
    """A table as a list of terms, its first cells; with more than two columns, each other cell follows its title."""
    titles, _, *cells = (_cells(row) for row in rows)
    for term, *others in cells:
        yield from (".TP", f"\\fB{_inline(term)}\\fR" if term else "\\&")
        if len(titles) == 2:
            yield from _text(others[0]) if others[0].strip() else ["\\&"]
            continue
        pairs = zip(titles[1:], others, strict=True)
        yield from _text("; ".join(f"{title}: {cell}" if title else cell for title, cell in pairs if cell)) or ["\\&"]


def _cells(row: str) -> list[str]:
    return [cell.replace("\\|", "|").strip() for cell in re.split(r"(?<!\\)\|", row.strip().strip("|"))]


def _text(text: str) -> list[str]:
    """A paragraph as one line; no line for an empty paragraph."""
    plain = _SPACES.sub(" ", text.replace("\b", "")).strip()
    return [_guarded(_inline(plain))] if plain else []


def _inline(text: str) -> str:
    parts, at = [], 0
    for match in _INLINE.finditer(text):
        parts.append(_escaped(text[at : match.start()]))
        if match["url"]:
            shown, url = _escaped(match["text"].strip("`")), match["url"]
            parts.append(shown if url.endswith(".md") else f"{shown} ({_escaped(url)})")
        else:
            shown = _breakable(_escaped(match["code"] or match["strong"] or match["em"]))
            parts.append(f"\\f{'I' if match['em'] else 'B'}{shown}\\fR")
        at = match.end()
    return "".join([*parts, _escaped(text[at:])])


def _breakable(text: str) -> str:
    """The text, with words that are too long for a line made breakable behind a comma, a colon or a slash."""
    words = text.split(" ")
    return " ".join(re.sub(r"([,:/])", r"\1\\:", word) if len(word) > _LONGEST else word for word in words)


def _escaped(text: str) -> str:
    return "".join(map(_character, text))


def _character(character: str) -> str:
    found = _ESCAPES.get(character)
    if found is not None:
        return found
    return character if character.isascii() else f"\\[u{ord(character):04X}]"


def _guarded(line: str) -> str:
    """The line, protected from being read as a roff request where it begins with a dot or an apostrophe."""
    return f"\\&{line}" if line[:1] in (".", "'") or not line else line


def _quoted(text: str) -> str:
    """The text as the argument of a macro, in quotes."""
    return '"' + _escaped(text).replace('"', "\\(dq") + '"'
