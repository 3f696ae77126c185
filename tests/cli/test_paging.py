"""Long output on a terminal goes through the user's pager; short output, live input and pipes never do."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from threading import Thread

import pytest

from kwcli.run_environment import Exit
from kwcli.terminal.pager import PagedOutput, find_pager_command
from tests.captures.shipped import FOLDER

TOUR = str(FOLDER / "tour.pcapng")


class Ran:
    """A `kw WORDS…` on a terminal of 24 lines, its output and its end."""

    def __init__(self, words: tuple[str, ...], variables: Mapping[str, str], *, stdin: bool = True) -> None:
        ours, theirs = pty.openpty()
        self.out = b""
        reader = Thread(target=self._read, args=(ours,))
        reader.start()
        surroundings = {name: value for name, value in os.environ.items() if name not in ("PAGER", "KW_PAGER", "LESS")}
        surroundings |= {"TERM": "xterm", "COLUMNS": "100", "LINES": "24", "NO_COLOR": "1", **variables}
        done = subprocess.run(
            [sys.executable, "-m", "kwcli.main", *words],
            stdin=theirs if stdin else subprocess.DEVNULL,
            stdout=theirs,
            stderr=theirs,
            env=surroundings,
            timeout=60,
            check=False,
        )
        self.code = done.returncode
        os.close(theirs)
        reader.join(60)
        os.close(ours)

    def _read(self, ours: int) -> None:
        try:
            while piece := os.read(ours, 65536):
                self.out += piece
        except OSError:
            return  # the other end is closed


@pytest.fixture
def pager(tmp_path: Path) -> tuple[str, Path]:
    """A pager that writes its input to a file, and that file."""
    program, seen = tmp_path / "pager", tmp_path / "seen"
    program.write_text(f'#!/bin/sh\necho "LESS=$LESS" > {seen}\ncat >> {seen}\n')
    program.chmod(0o755)
    return str(program), seen


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (("sniff", TOUR), "Metadata 13"),
        (("sniff", TOUR, "-o", "ndjson"), '{"kind":"exchange"'),
        (("apis",), "Produce"),
        (("errors",), "UNKNOWN_TOPIC_OR_PARTITION"),
        (("help", "sniff"), "Reading the lines"),
    ],
)
def test_long_output_is_paged(pager: tuple[str, Path], words: tuple[str, ...], wanted: str) -> None:
    program, seen = pager
    ran = Ran(words, {"PAGER": program})
    assert ran.code == Exit.DONE, ran.out
    assert wanted in seen.read_text()
    assert seen.read_text().startswith("LESS=FRX\n")
    assert wanted.encode() not in ran.out


def test_what_is_said_comes_behind_it(pager: tuple[str, Path]) -> None:
    program, seen = pager
    ran = Ran(("sniff", TOUR), {"KW_PAGER": program, "PAGER": "false"})
    assert b"193 exchanges" in ran.out
    assert "193 exchanges" not in seen.read_text()


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("words", "variables"),
    [
        (("sniff", TOUR, "--limit", "3"), {}),
        (("sniff", TOUR, "--no-pager"), {}),
        (("sniff", TOUR), {"KW_PAGER": "cat"}),
        (("sniff", TOUR), {"KW_PAGER": ""}),
        (("errors", "3"), {}),
    ],
)
def test_this_is_not_paged(pager: tuple[str, Path], words: tuple[str, ...], variables: dict[str, str]) -> None:
    program, seen = pager
    ran = Ran(words, {"PAGER": program, **variables})
    assert ran.code == Exit.DONE
    assert not seen.exists()
    assert len(ran.out.splitlines()) > 3


def test_without_somebody_who_can_press_a_key_nothing_is_paged(pager: tuple[str, Path]) -> None:
    program, seen = pager
    assert Ran(("sniff", TOUR), {"PAGER": program}, stdin=False).code == Exit.DONE
    assert not seen.exists()


@pytest.mark.one_in(2)
@pytest.mark.parametrize("program", ["true", "head -3", "sh -c 'exit 3'", "no-such-program-at-all"])
def test_a_pager_that_is_closed_early_or_missing_is_no_error(program: str) -> None:
    assert Ran(("sniff", TOUR), {"PAGER": program}).code == Exit.DONE


def test_a_closed_pipe_is_no_error() -> None:
    line = f"{sys.executable} -m kwcli.main sniff {TOUR} -o json -q | head -c 5; exit ${{PIPESTATUS[0]}}"
    assert subprocess.run(["bash", "-c", line], check=False, capture_output=True).returncode == Exit.DONE


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"TERM": "xterm"}, ["less"]),
        ({"TERM": "xterm", "PAGER": "more -s"}, ["more", "-s"]),
        ({"TERM": "xterm", "PAGER": "more", "KW_PAGER": "most"}, ["most"]),
        ({"TERM": "xterm", "PAGER": "sort | head"}, ["sh", "-c", "sort | head"]),
        ({"TERM": "xterm", "PAGER": "cat"}, []),
        ({"TERM": "xterm", "PAGER": ""}, []),
        ({"TERM": "dumb"}, []),
        ({"TERM": "dumb", "PAGER": "more"}, ["more"]),
        ({}, []),
    ],
)
def test_the_program(variables: dict[str, str], words: list[str]) -> None:
    assert find_pager_command(variables) == words


class Memory:
    """A stream that keeps its input, and takes a few bytes at a time."""

    def __init__(self) -> None:
        self.data = b""

    def write(self, data: bytes | memoryview, /) -> int:
        self.data += bytes(data[:3])
        return min(len(data), 3)

    def flush(self) -> None:
        """Do nothing: no bytes wait."""

    def fileno(self) -> int:
        return 1


def test_what_fits_the_screen_is_written_at_the_end() -> None:
    memory = Memory()
    paged = PagedOutput(memory, ["false"], {}, (80, 24))
    paged.write(b"one\n" * 23)
    assert (memory.data, paged.has_begun) == (b"", True)
    paged.close()
    assert (memory.data, paged.has_begun) == (b"one\n" * 23, False)
