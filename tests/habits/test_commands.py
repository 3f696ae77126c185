"""Every command line of the lists has the outcome that people expect."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.worlds import Outcome
from tests.habits.command_lists import Row, missing, parse_row, read_rows, run_row

ROWS = read_rows()


def asks_spark(row: Row) -> bool:
    """Whether Spark is asked what is wrong with a query: it takes long to start."""
    return "kw pipeline sql" in row.line and any("of the query" in text for text in row.wanted)


@pytest.mark.one_in(5)
@pytest.mark.parametrize(
    "row",
    [pytest.param(row, marks=[pytest.mark.long] if asks_spark(row) else []) for row in ROWS],
    ids=lambda row: f"{row.place} {row.line[:60]}",
)
def test_command_line(row: Row, tmp_path: Path) -> None:
    found = run_row(row, tmp_path)
    assert missing(row, found) == [], f"{row.line}\n{found.out[:3000]}\n{found.err[:2000]}"


def test_no_row_stands_there_twice() -> None:
    seen = [row.line for row in ROWS]
    assert sorted(seen) == sorted(set(seen))


@pytest.mark.parametrize(
    ("wanted", "failed"),
    [
        ("one", []),
        ("three", ["three"]),
        ("!one", ["!one"]),
        ("!three", []),
        ("!", ["!"]),
        ("=one\\ntwo", []),
        ("=one", ["=one"]),
        ("^on", []),
        ("^two", ["^two"]),
    ],
)
def test_what_is_wanted_can_fail(wanted: str, failed: list[str]) -> None:
    row = parse_row("here:1", f"0 A=b kw apis | kw errors 'x y' ⇒ {wanted}")
    assert (row.variables, row.commands) == ({"A": "b"}, (("kw", "apis"), ("kw", "errors", "x y")))
    assert missing(row, Outcome(0, "one\ntwo\n", "")) == failed
    assert missing(row, Outcome(1, "one\ntwo\n", "")) == ["exit 0, not 1", *failed]
