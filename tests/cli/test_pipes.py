"""Output through a pipe equals that on a terminal of the same width, without colours."""

from __future__ import annotations

import re
from typing import Final

import pytest

from tests.captures.shipped import CLEAN, FOLDER
from tests.cli.worlds import kw, world
from tests.sampling import sampled

ESCAPE: Final = re.compile(r"\x1b\[[0-9;]*m")
TOUR: Final = str(FOLDER / "tour.pcapng")
ANSWERS: Final = ("clients", "topics", "brokers", "doctor", "audit")
COMMANDS: Final[list[tuple[str, ...]]] = [
    *(("sniff", str(FOLDER / name), "-q") for name in CLEAN if name in ("sasl-raw.pcap", "tour.pcapng")),
    ("sniff", TOUR, "-q", "-v", "--limit", "40"),
    ("sniff", TOUR, "-q", "-o", "table"),
    ("sniff", TOUR, "-q", "-o", "csv"),
    ("sniff", TOUR, "-q", "--columns", "time,api,topic,summary"),
    ("sniff", TOUR, "-q", "-e", "time,api,topic,summary"),
    ("stats", TOUR, "-q", "--slowest", "3"),
    ("stats", TOUR, "-q", "--by", "time", "-o", "table"),
    ("stats", TOUR, "-q", "--by", "file,api"),
    *((command, TOUR, "-q", *more) for command in ANSWERS for more in ((), ("-o", "table"))),
    ("clients", TOUR, "-q", "--name", "billing-1"),
    ("topics", TOUR, "-q", "--name", "orders"),
    ("apis",),
    ("apis", "Fetch"),
    ("apis", "Fetch", "12"),
    ("apis", "--diff", "3.9", "4.0"),
    ("errors",),
    ("errors", "3"),
    ("call", "Metadata", "--dry-run", "topics[].name=a"),
    ("decode", "0000001200030005000000070003617070ffffffff00"),
]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("columns", sampled([80, 200], 2))
@pytest.mark.parametrize("words", COMMANDS, ids=[" ".join(words)[-60:] for words in COMMANDS])
def test_a_pipe_gets_what_a_terminal_shows(words: tuple[str, ...], columns: int) -> None:
    shown = kw(*words, env=world(terminal=True, columns=columns, variables={"TERM": "xterm"}))
    piped = kw(*words, env=world(columns=columns, variables={"KW_OUTPUT": ""}))
    assert (piped.code, piped.out) == (shown.code, ESCAPE.sub("", shown.out))
    assert "\x1b" not in piped.out
    assert len(piped.out) > 20


@pytest.mark.parametrize("words", [words for words in COMMANDS if words[0] == "sniff" and "-v" not in words])
def test_without_a_width_nothing_is_left_out_in_a_pipe(words: tuple[str, ...]) -> None:
    narrow = kw(*words, env=world(columns=100, variables={"KW_OUTPUT": ""})).out
    piped = kw(*words, env=world(variables={"KW_OUTPUT": ""})).out
    below = [line for line in narrow.splitlines() if line.startswith(" ")]  # what had no room in the line above
    assert len(piped.splitlines()) == len(narrow.splitlines()) - len(below)
    assert "…" not in piped
