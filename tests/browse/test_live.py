"""Rows that keep coming in: the list stays where somebody looks, or follows, and keys work meanwhile."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("textual", reason="kw browse needs textual")

import kwcli.browse.background_processes.spool as spool_module
from kwcli.browse.background_processes.spool import NewBlock, SpoolWriter
from tests.browse.browsing import Browsing, run_steps


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool_module, "BLOCK_ROWS", 10)


def release_blocks(browsing: Browsing, count: int) -> None:
    """Let so many further blocks come."""
    released: list[Any] = []
    while count and browsing.work.held:
        released.append(browsing.work.held.popleft())
        count -= isinstance(released[-1], NewBlock)
    for message in released:
        browsing.work.searcher.handle_message(message)
    browsing.work.answers.extend(released)


@pytest.mark.usefixtures("small_blocks")
def test_a_live_list_follows_from_its_last_row_and_stays_elsewhere() -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        pane = browsing.app.list_pane
        for _ in range(4):
            release_blocks(browsing, 1)
            await browsing.settle(pilot)
            assert pane.cursor == pane.count_lines() - 1
        assert pane.count_lines() == 40
        assert "live ▼" in browsing.screen_text
        await pilot.press("k", "k")
        top, cursor, row = pane.scroll_offset.y, pane.cursor, pane.row
        assert row is not None
        release_blocks(browsing, 5)
        await browsing.settle(pilot)
        assert pane.count_lines() == 90
        assert (pane.scroll_offset.y, pane.cursor) == (top, cursor)
        assert pane.row is not None
        assert pane.row.time_ns == row.time_ns
        await pilot.press("G")
        release_blocks(browsing, 1)
        await browsing.settle(pilot)
        assert pane.cursor == pane.count_lines() - 1 == 99
        assert pane.scroll_offset.y == 100 - pane.size.height

    browsing = Browsing(live=True)
    browsing.work.waits = True
    run_steps(browsing, steps)


@pytest.mark.long
@pytest.mark.usefixtures("small_blocks")
def test_a_filter_is_typed_while_rows_come() -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        pane = browsing.app.list_pane
        release_blocks(browsing, 3)
        await pilot.press("f")
        for key in "error":
            release_blocks(browsing, 1)
            await pilot.press(key)
            await browsing.settle(pilot)
        assert browsing.app.filter_bar.line.value == "error"
        await pilot.press("enter")
        release_blocks(browsing, 100)
        await browsing.settle(pilot)
        assert pane.count_lines() == 28
        await pilot.press("enter")
        await browsing.settle(pilot)
        assert "→ request" in browsing.screen_text

    browsing = Browsing(live=True)
    browsing.work.waits = True
    run_steps(browsing, steps)


def test_rows_that_the_spool_has_given_up_leave_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool_module, "BLOCK_ROWS", 10)

    async def steps(browsing: Browsing, pilot: Any) -> None:
        pane, rows = browsing.app.list_pane, browsing.rows
        release_blocks(browsing, 2)
        await browsing.settle(pilot)
        assert pane.count_lines() == 20
        at = 0
        while rows.first == 0 and at < 30:
            at += 1
            # A live spool says with a block how many of the first ones are gone.
            message = next(each for each in browsing.work.held if isinstance(each, NewBlock))
            browsing.work.held[browsing.work.held.index(message)] = message._replace(lost=int(at > 2))
            release_blocks(browsing, 1)
            await browsing.settle(pilot)
        assert rows.first == 10
        assert pane.count_lines() == rows.end - 10
        assert pane.row_at(0) is not None
        assert pane.number_at(0) == 10

    browsing = Browsing(live=True)
    browsing.work.waits = True
    run_steps(browsing, steps)


@pytest.mark.long
def test_ten_thousand_rows_a_second_leave_the_list_and_the_memory_as_they_are() -> None:
    """Two seconds of such traffic, in steps of those 50 ms after which the screen looks for messages."""
    browsing = Browsing(live=True)
    browsing.work.waits = True
    lent = Browsing()
    for message in lent.work.held:
        if isinstance(message, NewBlock):
            lent.rows.add_block(message)
    rows = [lent.rows.find_row(number) for number in range(lent.rows.end)]
    browsing.work.held.clear()
    writer = SpoolWriter(browsing.spool, lent.rows.topics, wraps=True)
    browsing.spool.capacity = 400_000  # so that the oldest rows give way

    def write_rows(count: int) -> None:
        for at in range(count):
            writer.add_row(rows[at % len(rows)])
            if writer.is_block_whole:
                browsing.work.held.append(writer.write_block())
        browsing.work.held.append(writer.write_block())

    async def steps(browsing: Browsing, pilot: Any) -> None:
        pane = browsing.app.list_pane
        for step in range(40):
            write_rows(500)
            released = [*browsing.work.held]
            browsing.work.held.clear()
            browsing.work.answers.extend(released)
            browsing.app.apply_new_messages()
            if step < 36:
                await pilot.press("j" if step % 2 else "k")
                number, top = pane.number_at(pane.cursor), pane.number_at(pane.scroll_offset.y)
            elif step == 36:
                await pilot.press("G", "k", "k", "k")
                number, top = pane.number_at(pane.cursor), pane.number_at(pane.scroll_offset.y)
            else:  # the rows that somebody looks at are still there, and stay where they are
                await pilot.pause()
                assert (pane.number_at(pane.cursor), pane.number_at(pane.scroll_offset.y)) == (number, top)
        assert browsing.rows.end == 20_000
        assert 0 < browsing.rows.first < number
        assert len(browsing.rows._kept) <= 8
        assert len(pane._strips) <= 2000
        assert len(browsing.rows._places) <= 200

    run_steps(browsing, steps)
