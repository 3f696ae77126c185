"""Keys in, pressed before their pane is there, and the ways back from where they lead."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("textual", reason="kw browse needs textual")

from kwcli.browse.background_processes.search_messages import CausesFound, RowsFound, TopCounted
from tests.browse.browsing import Browsing, run_steps
from tests.browse.test_ways import press

SIZE = (100, 30)


def hold_back(browsing: Browsing, kind: type) -> Any:
    """Keep answers of a kind from the screen; what is returned lets them come."""
    collect = browsing.work.collect_messages
    kept: list[Any] = []

    def collect_others(most: int) -> list[Any]:
        found = collect(most)
        kept.extend(each for each in found if isinstance(each, kind))
        return [each for each in found if not isinstance(each, kind)]

    def release() -> None:
        browsing.work.collect_messages = collect  # type: ignore[method-assign]
        browsing.work.answers.extend(kept)

    browsing.work.collect_messages = collect_others  # type: ignore[method-assign]
    return release


@pytest.mark.parametrize(
    ("key", "kind", "awaited"),
    [("3", CausesFound, "looking for findings: 2 keys wait"), ("4", TopCounted, "counting: 2 keys wait")],
)
def test_keys_pressed_before_lines_are_there_are_done_with_them(key: str, kind: type, awaited: str) -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        app = browsing.app
        release = hold_back(browsing, kind)
        for each in (key, "enter", "enter"):
            app.post_message(make_key(each))
        await browsing.settle(pilot)
        assert awaited in browsing.screen_text
        assert "there is no" not in browsing.screen_text
        release()
        await do_all_keys(browsing, pilot)
        assert awaited not in browsing.screen_text
        assert (app.view, app.is_message_shown, app.focused) == (app.list_pane, True, app.message_pane)
        assert app.row_filter.text

    run_steps(Browsing(), steps, SIZE)


async def do_all_keys(browsing: Browsing, pilot: Any) -> None:
    await browsing.settle(pilot)
    while browsing.app.waiting_keys.waits:
        await browsing.settle(pilot)


def make_key(name: str) -> Any:
    from textual.events import Key

    return Key(name, name if len(name) == 1 else None)


@pytest.mark.long
def test_keys_that_follow_at_once_go_to_the_pane_that_is_then_shown() -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        app = browsing.app
        for each in ("4", "j", "enter", "G", "enter", "x", "escape", "3", "j", "L"):
            app.post_message(make_key(each))
        await do_all_keys(browsing, pilot)
        assert (app.view, app.findings_pane.cursor, app.top_pane.cursor) == (app.findings_pane, 1, 1)
        assert app.list_pane.cursor == app.list_pane.count_lines() - 1 < 192

    run_steps(Browsing(), steps, SIZE)


def test_esc_gives_up_keys_that_wait() -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        app = browsing.app
        release = hold_back(browsing, CausesFound)
        await press(browsing, pilot, "3", "enter", "escape")
        assert "given up" in browsing.screen_text
        release()
        await browsing.settle(pilot)
        assert (app.view, app.row_filter.text) == (app.findings_pane, "")

    run_steps(Browsing(), steps, SIZE)


@pytest.mark.long
def test_esc_goes_back_step_by_step_and_ends_nothing() -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        app, pane = browsing.app, browsing.app.list_pane
        pane.move_to(60)
        await press(browsing, pilot, "a")
        first, at, number = app.row_filter.text, pane.cursor, pane.number_at_cursor
        await press(browsing, pilot, "3", "j", "enter", "enter")
        assert app.is_message_shown
        assert app.row_filter.text != first
        seen = []
        for _ in range(6):
            text = await press(browsing, pilot, "escape")
            seen.append((app.view.place, app.row_filter.text, app.is_message_shown))
        assert seen[1:4] == [("findings", first, False), ("list", first, False), ("list", "", False)]
        assert app.findings_pane.cursor == 1
        assert "q quits" in text
        assert pane.number_at_cursor == number
        assert app.return_value is None
        await press(browsing, pilot, "u")
        assert (app.row_filter.text, pane.cursor) == (first, at)
        await press(browsing, pilot, "q")
        assert app.return_value == 0

    run_steps(Browsing(), steps, SIZE)


@pytest.mark.long
def test_esc_goes_from_the_message_of_an_arrow_to_the_ladder_and_to_the_filter_before() -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        app = browsing.app
        await press(browsing, pilot, "exclamation_mark")
        errors = app.row_filter.text
        await press(browsing, pilot, "L", "g", "enter")
        assert (app.row_filter.text, app.is_message_shown) == ("", True)
        await press(browsing, pilot, "escape")
        assert (app.view, app.row_filter.text) == (app.ladder_pane, errors)
        await press(browsing, pilot, "escape")
        assert (app.view, app.row_filter.text) == (app.list_pane, errors)

    run_steps(Browsing(), steps, SIZE)


@pytest.mark.long
def test_a_view_is_left_for_the_message_that_was_open() -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        app = browsing.app
        await press(browsing, pilot, "enter", "j", "j", "f4", "escape")
        assert (app.view, app.focused, app.message_pane.cursor) == (app.list_pane, app.message_pane, 2)

    run_steps(Browsing(), steps, SIZE)


@pytest.mark.long
def test_digits_in_a_message_are_of_numbers() -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        app = browsing.app
        assert "F2 shows the view" in await press(browsing, pilot, "enter", "1")
        await press(browsing, pilot, "1", "j")
        assert app.message_pane.cursor == 11
        await press(browsing, pilot, "3", "k")
        assert app.message_pane.cursor == 8

    run_steps(Browsing(), steps, SIZE)


def test_a_key_that_finds_nothing_in_a_row_says_which_rows_have_it() -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        assert "this row is of no group: f group shows" in await press(browsing, pilot, "R")
        assert "this row is of no transaction: f transaction.id" in await press(browsing, pilot, "X")
        assert "this row names no topic: f topic" in await press(browsing, pilot, "p")

    run_steps(Browsing(), steps, (130, 30))


def test_a_notice_takes_the_whole_line_where_there_is_no_room_beside_it() -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        assert "this row is of no group: f group shows" in await press(browsing, pilot, "R")

    run_steps(Browsing(), steps, (40, 20))


def test_what_the_evidence_is_of_a_finding_stays() -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        app = browsing.app
        await press(browsing, pilot, "3", "enter")
        said = app._earlier.describe_evidence_of_filter(app.row_filter.text)
        assert said
        assert said in await press(browsing, pilot, "j", "enter", "j")
        assert said not in await press(browsing, pilot, "escape", "F")

    run_steps(Browsing(), steps, SIZE)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("number", [14, 30, 100])
def test_the_cursor_goes_to_the_nearest_row_also_where_rows_come_later(number: int) -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        app, pane = browsing.app, browsing.app.list_pane
        pane.move_to(number)
        release = hold_back(browsing, RowsFound)
        await press(browsing, pilot, "exclamation_mark")
        collected = [each for each in browsing.work.collect_messages(100) if isinstance(each, RowsFound)]
        assert collected == []
        release()
        await browsing.settle(pilot)
        assert pane.numbers is not None
        assert abs(pane.numbers[pane.cursor] - number) == min(abs(each - number) for each in pane.numbers)
        await press(browsing, pilot, "escape")
        assert app.row_filter.text == ""

    run_steps(Browsing(), steps, SIZE)


@pytest.mark.long
def test_the_palette_has_the_actions_with_the_words_that_are_typed_alone() -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        app = browsing.app
        await pilot.press("colon", *"wq")
        await pilot.pause(0.2)
        await pilot.press("enter")
        await browsing.settle(pilot)
        assert app.view is app.list_pane
        assert "no action has wq" in browsing.screen_text
        assert "! errors" in browsing.screen_lines()[-1]  # the keys of the list are below it again

    run_steps(Browsing(), steps, SIZE)


@pytest.mark.long
def test_a_click_on_a_title_sorts_and_one_on_a_key_does_it() -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        app = browsing.app
        titles = browsing.screen_lines()[0]
        await pilot.click("TitleBar", offset=(titles.index("took") + 1, 0))
        await browsing.settle(pilot)
        assert app.row_filter.order == "latency"
        await pilot.click("TitleBar", offset=(titles.index("took") + 1, 0))
        await pilot.click("TitleBar", offset=(titles.index("client") + 1, 0))
        await browsing.settle(pilot)
        assert app.row_filter.order == ""
        assert "there is no order by client" in browsing.screen_text
        await pilot.click("KeyBar", offset=(browsing.screen_lines()[-1].index("errors"), 0))
        await browsing.settle(pilot)
        assert app.list_pane.count_lines() == 9
        await pilot.click("KeyBar", offset=(1, 0))
        await browsing.settle(pilot)
        assert "Everywhere" in browsing.screen_text

    run_steps(Browsing(), steps, SIZE)


@pytest.mark.long
def test_a_client_is_searched_in_the_list_of_clients() -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        pane = browsing.app.top_pane
        await press(browsing, pilot, "4", "slash", *"illing-1", "enter")
        assert pane.has_focus
        assert "billing-1" in pane.make_line(pane.cursor).text
        at = pane.cursor
        await press(browsing, pilot, "n", "N")
        assert pane.cursor == at

    run_steps(Browsing(), steps, SIZE)
