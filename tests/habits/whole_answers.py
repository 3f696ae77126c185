"""Whole answers of `kw` (`whole/*.txt`) in, rows to run out; `python -m tests.habits.whole_answers` writes them.

    $ [@COLUMNS] [NAME=value …] COMMAND [| COMMAND …]     as in the lists of command lines (command_lists.py)
    …                                                     its standard output, whole
    ! …                                                   lines of its standard error
    = CODE                                                its exit code, unless it is 0

A new row is such a `$` line alone. After a change of an answer the command writes all of them again, and `git diff`
shows what the change does to them.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Final, NamedTuple

from tests.habits.command_lists import parse_row, run_row
from tests.listed_answers import drop_duration

FOLDER: Final = Path(__file__).parent / "whole"


class Answer(NamedTuple):
    """A command line, and all that it writes."""

    line: str
    written: str


def read_answers(path: Path) -> list[Answer]:
    """The answers of a file."""
    blocks = f"\n{path.read_text()}".split("\n$ ")[1:]
    return [Answer(line, written) for line, _, written in (block.rstrip("\n").partition("\n") for block in blocks)]


def run_line(line: str, folder: Path) -> str:
    """All that a command line writes, `$TMP` as an empty folder."""
    found = run_row(parse_row("", f"0 {line}"), folder)
    lines = found.out.splitlines() + [f"! {text}" for text in drop_duration(found.err).splitlines()]
    lines += [f"= {found.code}"] if found.code else []
    return "\n".join(text.rstrip() for text in lines).strip("\n")


def write_answers(path: Path) -> None:
    """Run the lines of a file, and write what they answer now."""
    rows = []
    for line, _ in read_answers(path):
        with tempfile.TemporaryDirectory() as folder:
            rows.append(f"$ {line}\n{run_line(line, Path(folder))}\n")
    path.write_text("\n".join(rows))


if __name__ == "__main__":
    for path in map(Path, sys.argv[1:]) if sys.argv[1:] else sorted(FOLDER.glob("*.txt")):
        write_answers(path)
