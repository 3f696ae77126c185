"""Filters typed and made by keys in, the rows that they let through on the screen out."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("textual", reason="kw browse needs textual")

from decoders.filters import parse
from kwcli.browse.panes.filter_bar import describe_filter_error
from kwcli.browse.quick_filters import QUICK_FILTERS, join_with_filter
from tests.browse.browsing import TOUR, Browsing, run_steps
from tests.cli.worlds import kw

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange


def count_matches(text: str) -> int:
    return len(kw("sniff", TOUR, "-f", text, "-o", "ndjson").out.splitlines())


async def type_filter(browsing: Browsing, pilot: Any, text: str, *, enter: bool = True) -> None:
    browsing.app.filter_bar.open("filter")
    browsing.app.filter_bar.line.value = text
    await browsing.wait_for_pause(pilot)
    await browsing.settle(pilot)
    if enter:
        await pilot.press("enter")
        await browsing.settle(pilot)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("text", ["error", "api == Fetch and latency > 100ms", 'topic ~ "^pay"', "group == billing"])
def test_a_filter_shows_the_rows_that_sniff_shows(text: str) -> None:
    async def steps(browsing: Browsing, _: Any) -> None:
        assert 0 < browsing.app.list_pane.count_lines() == count_matches(text) < 193
        assert f"{browsing.app.list_pane.count_lines()} match" in browsing.screen_text
        selection = parse(text)
        for at in range(browsing.app.list_pane.count_lines()):
            row = browsing.app.list_pane.row_at(at)
            assert row is not None
            assert row.kind == "exchange"
            assert row.time_ns
        assert selection.text == text

    run_steps(Browsing(text=text), steps)


def test_rows_change_while_a_filter_is_typed_and_errors_have_a_caret() -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        pane = browsing.app.list_pane
        await pilot.press("f", *"error")
        await browsing.wait_for_pause(pilot)
        await browsing.settle(pilot)
        errors = pane.count_lines()
        assert errors == count_matches("error")
        await pilot.press(*" and topc")
        await browsing.wait_for_pause(pilot)
        await browsing.settle(pilot)
        lines = browsing.screen_text.splitlines()
        typed = next(at for at, line in enumerate(lines) if line.startswith("filter: error and topc"))
        assert lines[typed - 1].index("▾") == lines[typed].index("topc")
        assert 'no field "topc"' in lines[typed - 2].replace("'", '"')
        assert pane.count_lines() == errors  # the last rows stay
        await pilot.press("enter")  # takes no filter with an error
        assert browsing.app.filter_bar.is_open
        await pilot.press("escape")
        await browsing.settle(pilot)
        assert pane.count_lines() == 193
        assert pane.has_focus

    run_steps(Browsing(), steps)


@pytest.mark.long
def test_a_filter_given_up_leaves_the_one_in_force() -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        pane, asked = browsing.app.list_pane, browsing.work.asked
        await type_filter(browsing, pilot, "error")
        errors, questions = pane.count_lines(), len(asked)
        await type_filter(browsing, pilot, "api == Fetch", enter=False)
        assert pane.count_lines() == count_matches("api == Fetch")
        await pilot.press("escape")
        await browsing.settle(pilot)
        assert pane.count_lines() == errors
        assert [type(each).__name__ for each in asked[questions:]] == ["FindRows", "Forget"]  # nothing is asked again
        await pilot.press("F")
        await browsing.settle(pilot)
        assert pane.count_lines() == 193

    run_steps(Browsing(), steps)


def test_the_row_at_the_cursor_stays_where_a_filter_lets_it_through() -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        pane = browsing.app.list_pane
        pane.move_to(100)
        row = pane.row
        assert row is not None
        await pilot.press("n")
        await browsing.settle(pilot)
        assert pane.row is not None
        assert pane.row.time_ns == row.time_ns
        await pilot.press("F")
        await browsing.settle(pilot)
        assert pane.cursor == 100

    run_steps(Browsing(), steps)


@pytest.mark.long
def test_tab_completes_and_arrows_recall() -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        line = browsing.app.filter_bar.line
        await pilot.press("f", *"correl", "tab")
        assert line.value == "correlation_id "
        line.value = "topic == or"
        line.cursor_position = 11
        await pilot.press("tab")
        assert line.value == "topic == orders "
        await pilot.press("enter", "f")
        line.value = "api == Fetch"
        await pilot.press("enter", "f")
        assert line.value == "api == Fetch"
        await pilot.press("up", "up")
        assert line.value == "topic == orders"
        await pilot.press("down")
        assert line.value == "api == Fetch"

    run_steps(Browsing(), steps)


def test_rows_that_come_while_a_filter_is_in_force_are_filtered() -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        assert browsing.app.list_pane.count_lines() == 0
        browsing.work.waits = False
        await browsing.settle(pilot)
        assert browsing.app.list_pane.count_lines() == count_matches("error")

    browsing = Browsing(text="error")
    browsing.work.waits = True
    run_steps(browsing, steps)


# Quick filters

KEYS = {"c": "this_client", "n": "this_connection", "p": "this_topic", "r": "this_group", "a": "this_api"}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("key", [*KEYS, "exclamation_mark", "w"])
def test_a_quick_filter_lets_its_own_row_through(key: str) -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        pane = browsing.app.list_pane
        wanted: Callable[[Exchange], object] = {"r": lambda row: row.groups, "p": lambda row: row.topics}.get(
            key, lambda row: row.unexpected
        )
        rows = [pane.row_at(at) for at in range(pane.count_lines())]
        at = next(at for at, row in enumerate(rows) if row is not None and row.kind == "exchange" and wanted(row))
        pane.move_to(at)
        row = pane.row
        await pilot.press(key)
        await browsing.settle(pilot)
        assert 0 < pane.count_lines() < 193
        assert row is not None
        assert pane.row is not None
        assert (pane.row.time_ns, pane.row.connection) == (row.time_ns, row.connection)
        assert pane.count_lines() == count_matches(browsing.app.row_filter.text)

    run_steps(Browsing(), steps)


def test_a_quick_filter_narrows_the_one_in_force() -> None:
    assert join_with_filter("", "error") == "error"
    assert join_with_filter("api == Fetch", "error") == "api == Fetch and error"
    assert join_with_filter("error or undecoded", "api == Fetch") == "(error or undecoded) and api == Fetch"
    assert join_with_filter("api == Fetch and error", "error") == "api == Fetch and error"
    assert set(KEYS.values()) < set(QUICK_FILTERS)


def test_an_error_of_a_filter_has_its_column() -> None:
    assert describe_filter_error("error and") is not None
    assert describe_filter_error("") is None
    found = describe_filter_error("latency > 5 parsecs")
    assert found is not None
    assert found[0] >= 10


def test_a_name_that_is_offered_is_replaced_by_typing_and_a_filter_is_not() -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        line = browsing.app.filter_bar.line
        await pilot.press("W", "a")
        assert line.value == "a"
        await pilot.press("escape", "f", *"error", "enter")
        await browsing.settle(pilot)
        await pilot.press("f", "1")
        assert line.value == "error1"

    run_steps(Browsing(), steps)
