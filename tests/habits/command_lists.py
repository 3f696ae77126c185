"""Lists of command lines in (`commands/*.txt`), rows that tests can run out.

One row a line; empty lines and lines that begin with `#` are ignored:

    EXIT  [@COLUMNS] [NAME=value …] COMMAND [| COMMAND …]  [⇒ TEXT …] [⇒ !TEXT …]

COMMAND is `kw WORDS…` or, at the beginning of a pipe, `printf 'TEXT'`, with a shell's quotes, but without its patterns
and substitutions. `@100` makes the last output a terminal of 100 columns, `NAME=value` sets a variable, `$TMP` stands
for an empty folder, `$MADE` for one with faulty captures (faulty_captures.py), `$NEWEST` for the newest release of
Kafka. EXIT is the last command's. Each TEXT must stand in what was written to standard output or standard error, each
`!TEXT` must not; `⇒ =TEXT` is the whole standard output, `⇒ ^TEXT` its start, `⇒ !` alone means that it is empty.
`\\n` and `\\t` in TEXT mean what they do in C.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from decoders.protocol_facts.kafka_releases import RELEASES
from tests.cli.worlds import Outcome, kw, world
from tests.habits.faulty_captures import made_folder

FOLDER: Final = Path(__file__).parent / "commands"
ARROW: Final = "⇒"


class Row(NamedTuple):
    """One command line, and the outcome wanted."""

    place: str
    line: str
    exit: int
    columns: int | None
    variables: Mapping[str, str]
    commands: tuple[tuple[str, ...], ...]
    wanted: tuple[str, ...]


def read_rows() -> list[Row]:
    """The rows of all lists."""
    return [
        parse_row(f"{path.stem}:{number}", line)
        for path in sorted(FOLDER.glob("*.txt"))
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if line.strip() and not line.startswith("#")
    ]


def parse_row(place: str, line: str) -> Row:
    """A row of a list. Raises ValueError if the line is no row."""
    typed, *wanted = (part.strip() for part in line.replace("$NEWEST", RELEASES[-1]).split(ARROW))
    code, _, rest = typed.partition(" ")
    words = _split(rest)
    columns = int(words.pop(0)[1:]) if words[0].startswith("@") else None
    variables = {}
    while "=" in words[0] and words[0] != "kw":
        name, _, value = words.pop(0).partition("=")
        variables[name] = value
    commands: list[list[str]] = [[]]
    for word in words:
        if word == "|":
            commands.append([])
        else:
            commands[-1].append(word)
    if not all(command and command[0] in {"kw", "printf"} for command in commands):
        raise ValueError(f"{place}: a command is `kw …` or `printf TEXT`: {line}")
    return Row(
        place,
        line,
        int(code),
        columns,
        variables,
        tuple(tuple(command) for command in commands),
        tuple(_escaped(text) for text in wanted),
    )


def run_row(row: Row, folder: Path) -> Outcome:
    """Run a row in this process; its last command's outcome, with the standard error of all commands."""
    given, said = b"", ""
    for number, command in enumerate(row.commands, 1):
        words = [_placed(word, folder) for word in command]
        if words[0] == "printf":
            given = _escaped(words[1]).encode()
            continue
        last = number == len(row.commands)
        columns = row.columns if last else None
        env = world(
            given,
            variables={"KW_OUTPUT": "", "HOME": str(folder), **row.variables},
            columns=columns,
            terminal=columns is not None,
        )
        found = kw(*words[1:], env=env)
        said += found.err
        given = found.out.encode()
    return Outcome(found.code, found.out, said)


def _placed(word: str, folder: Path) -> str:
    word = word.replace("$TMP", str(folder))
    return word.replace("$MADE", str(made_folder())) if "$MADE" in word else word


def missing(row: Row, found: Outcome) -> list[str]:
    """The wanted exit code and texts of a row that the outcome lacks."""
    both = found.out + found.err
    failed = [] if found.code == row.exit else [f"exit {row.exit}, not {found.code}"]
    for text in row.wanted:
        if text == "!":
            holds = not found.out
        elif text.startswith("!"):
            holds = text[1:] not in both
        elif text.startswith("="):
            holds = found.out.rstrip("\n") == text[1:]
        elif text.startswith("^"):
            holds = found.out.startswith(text[1:])
        else:
            holds = text in both
        if not holds:
            failed.append(text)
    return failed


def _split(line: str) -> list[str]:
    """The words of a command line; `|` is a word."""
    lexer = shlex.shlex(line, posix=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    return list(lexer)


def _escaped(text: str) -> str:
    return text.replace("\\n", "\n").replace("\\t", "\t")
