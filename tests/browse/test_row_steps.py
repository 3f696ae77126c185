"""Steps to rows whose answers come late in; a cursor that moves once, or stays where another key has put it, out."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable
from typing import Any, Final

import pytest

pytest.importorskip("textual", reason="kw browse needs textual")

import kwcli.browse.panes.message_pane as message_pane_module
from kwcli.browse.background_processes.search_messages import FindRows, RowsFound
from kwcli.browse.panes.message_pane import FIELDS_AT_ONCE
from kwcli.browse.row_steps import RowSteps
from tests.browse.browsing import Browsing, run_steps
from tests.browse.test_ways import DOWNSTREAM, press

RECORDS: Final = "records > 0"


def hold_answers(browsing: Browsing, text: str, first: int = 0) -> Callable[[], None]:
    """Keep the answers for a filter back but for the first rows; what is returned lets them come."""
    held: list[Any] = []
    holds = True
    collect = browsing.work.collect_messages

    def collect_but_held(most: int) -> list[Any]:
        numbers = {each.number for each in browsing.work.asked if isinstance(each, FindRows) and each.text == text}
        came: list[Any] = []
        for message in collect(most):
            if not (holds and isinstance(message, RowsFound) and message.number in numbers):
                came.append(message)
                continue
            rows = array("Q", message.rows)
            held.append(message._replace(rows=rows[first:].tobytes()))
            if first:
                came.append(message._replace(rows=rows[:first].tobytes(), until=rows[first - 1] + 1))
        if not holds:
            came += held
            held.clear()
        return came

    def release() -> None:
        nonlocal holds
        holds = False

    browsing.work.collect_messages = collect_but_held  # type: ignore[method-assign]  # of this one
    return release


class FakeList:
    """A list of every second row, which counts how often a row is looked for in it."""

    is_sorted = False

    def __init__(self, rows: int) -> None:
        self.numbers = array("Q", range(0, rows, 2))
        self.cursor = self.searches = 0

    def count_lines(self) -> int:
        return len(self.numbers)

    def number_at(self, at: int) -> int:
        return self.numbers[at]

    def find_line_of(self, number: int) -> int:
        self.searches += 1
        return bisect_left(self.numbers, number)

    def move_to(self, at: int) -> None:
        self.cursor = at


def test_a_row_is_looked_for_in_the_list_once_however_many_parts_come() -> None:
    rows, block, pane = 8192, 64, FakeList(8192)
    steps = RowSteps(lambda _: None, lambda: 1, RECORDS, "row with records", ())
    steps.begin_step(1, from_here=True)
    for first in range(0, rows, block):
        end = first + block
        steps.take_answer_part(RowsFound(1, array("Q", range(first + 1, end, 2)).tobytes(), end))
        notice = steps.go_on(pane, rows, rows)[1]  # type: ignore[arg-type]  # as much of it as is used
    assert notice == "no further row with records"
    assert pane.searches == rows / 2


@pytest.mark.parametrize("others", [["f", "a", "p"], ["3"], ["j"], ["enter"], ["e"]], ids="".join)
def test_another_key_gives_up_a_step_that_is_still_to_be_done(others: list[str]) -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        app = browsing.app
        release = hold_answers(browsing, RECORDS)
        assert "looking for it" in await press(browsing, pilot, "d")
        text = await press(browsing, pilot, *others)
        focused, cursor, view, is_open = app.focused, app.list_pane.cursor, app.view, app.is_message_shown
        release()
        await browsing.settle(pilot)
        assert browsing.screen_text == text
        assert app.focused is focused
        assert (app.list_pane.cursor, app.view, app.is_message_shown) == (cursor, view, is_open)

    run_steps(Browsing(DOWNSTREAM), steps, (100, 30))


def test_a_click_gives_up_a_step_that_is_still_to_be_done() -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        release = hold_answers(browsing, RECORDS)
        await press(browsing, pilot, "d")
        await pilot.click("ListPane", offset=(2, 4))
        await browsing.settle(pilot)
        release()
        await browsing.settle(pilot)
        assert (browsing.app.list_pane.cursor, browsing.app.is_message_shown) == (4, False)

    run_steps(Browsing(DOWNSTREAM), steps, (100, 30))


@pytest.mark.long
@pytest.mark.parametrize("first", [0, 1, 2])
def test_a_step_waits_for_the_rest_of_the_list(first: int) -> None:
    text = "api == Produce or api == ApiVersions"

    async def steps(browsing: Browsing, pilot: Any) -> None:
        app = browsing.app
        await press(browsing, pilot, "d", "escape", "g")  # the rows with records are known
        release = hold_answers(browsing, text, first)
        app.filter_by(text)
        await browsing.settle(pilot)
        assert "looking for it" in await press(browsing, pilot, "d")
        assert not app.is_message_shown
        release()
        await browsing.settle(pilot)
        assert "[3] record  offset 3 · value order 503" in browsing.screen_text
        row = app.list_pane.row
        assert row is not None
        assert row.kind == "exchange"
        assert row.api == "Produce"

    run_steps(Browsing(DOWNSTREAM), steps, (100, 30))


@pytest.mark.long
@pytest.mark.parametrize("at_once", [20, FIELDS_AT_ONCE])
def test_more_steps_than_rows_end_at_the_records_of_the_last_one(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(message_pane_module, "FIELDS_AT_ONCE", at_once)

    async def steps(browsing: Browsing, pilot: Any) -> None:
        app, pane = browsing.app, browsing.app.message_pane
        release = hold_answers(browsing, RECORDS)
        await press(browsing, pilot, *"d" * 30)
        release()
        await browsing.settle(pilot)
        assert "no further row with records" in browsing.screen_text
        last = app.list_pane.cursor
        assert last > 10
        assert app.is_message_shown
        assert pane.field is not None
        assert pane.field.is_record
        await press(browsing, pilot, "G", "D", "d")
        assert app.list_pane.cursor == last

    run_steps(Browsing(DOWNSTREAM), steps, (100, 30))
