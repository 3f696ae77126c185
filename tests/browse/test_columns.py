"""Columns and orders in, the lines of the list out: as `kw sniff --columns` and `kw sniff --sort` have them."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytest.importorskip("textual", reason="kw browse needs textual")

from kwcli.output.read_row_cells import make_row_columns
from tests.browse.browsing import TOUR, Browsing, run_steps
from tests.cli.worlds import kw, world

CHOSEN = "time,latency,client,api,topic,error,request.acks,node"


async def choose(browsing: Browsing, pilot: Any, text: str) -> None:
    await pilot.press("v")
    browsing.app.filter_bar.line.value = text
    await pilot.press("enter")
    await browsing.settle(pilot)


def lines_of(browsing: Browsing) -> list[str]:
    pane = browsing.app.list_pane
    return [pane.make_line(at).text.rstrip() for at in range(pane.count_lines())]


def test_columns_are_those_of_sniff() -> None:
    words = CHOSEN.replace(",node", "")
    printed = kw("sniff", TOUR, "--columns", words, "-v", env=world(columns=300, terminal=True)).out.splitlines()
    rows = [line.split() for line in printed[1:] if line[2:3] == ":"]

    async def steps(browsing: Browsing, pilot: Any) -> None:
        await choose(browsing, pilot, words)
        assert browsing.screen_lines()[0].split()[:4] == ["time", "UTC", "latency", "client"]
        found = [line.split() for line in lines_of(browsing)]
        assert len(found) == len(rows) == 193
        # Cells are cut at other widths.
        for mine, its in zip(found, rows, strict=True):
            for one, other in zip(mine, its, strict=True):
                assert one == other or "…" in one + other
        await choose(browsing, pilot, "topik")
        assert "did you mean" in browsing.screen_text
        await choose(browsing, pilot, "")
        assert "request" in browsing.screen_lines()[0]

    run_steps(Browsing(), steps, (200, 24))


def test_a_column_that_is_completed() -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        await pilot.press("v", *"time,laten", "tab")
        assert browsing.app.filter_bar.line.value == "time,latency"
        assert "latency" in browsing.screen_text

    run_steps(Browsing(), steps)


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("order", "presses"), [("latency", 1), ("size", 2), ("time", 3)])
def test_an_order_is_that_of_sniff(order: str, presses: int) -> None:
    out = kw("sniff", TOUR, "--sort", order, "-o", "ndjson").out
    expected = [(row["connection"], row.get("correlation_id")) for row in map(json.loads, out.splitlines())]

    expected_errors = [json.loads(line) for line in kw("sniff", TOUR, "--errors", "-o", "ndjson").out.splitlines()]
    wrong = [(row["connection"], row.get("correlation_id")) for row in expected_errors]

    async def steps(browsing: Browsing, pilot: Any) -> None:
        app = browsing.app
        await pilot.press(*"S" * presses)
        await browsing.settle(pilot)
        assert f"by {order}" in browsing.screen_text
        rows = [app.list_pane.row_at(at) for at in range(app.list_pane.count_lines())]
        assert [(row.connection, getattr(row, "correlation_id", None)) for row in rows if row] == expected
        assert app.list_pane.cursor == 0
        await pilot.press("e")
        await browsing.settle(pilot)
        line = app.list_pane.cursor
        assert line > 0
        assert expected[line] in wrong
        assert not any(each in wrong for each in expected[1:line])
        row = app.list_pane.row
        await pilot.press("exclamation_mark")
        await browsing.settle(pilot)
        assert app.list_pane.row is row or app.list_pane.row.time_ns == row.time_ns  # type: ignore[union-attr]
        assert app.list_pane.count_lines() == len(expected_errors)
        await pilot.press("F", *"S" * (5 - presses))
        await browsing.settle(pilot)
        assert app.list_pane.numbers is None

    run_steps(Browsing(), steps)


def test_words_of_the_command_line_are_where_the_list_begins() -> None:
    async def steps(browsing: Browsing, _: Any) -> None:
        pane = browsing.app.list_pane
        assert [line.split()[1] for line in lines_of(browsing)[:3]] == ["1.12s", "852ms", "716ms"]
        assert pane.is_sorted

    make_row_columns(CHOSEN.split(","))
    run_steps(Browsing(columns=tuple(CHOSEN.split(",")), order="latency"), steps, (120, 24))
    found = kw("browse", TOUR, "--columns", "topik", env=world(terminal=True))
    assert (found.code, found.out) == (2, "")
    assert "--columns: " in found.err
