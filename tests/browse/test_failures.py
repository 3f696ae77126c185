"""Defects and killed processes behind the screen in; a line that says so on it, and a screen that goes on, out."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("textual", reason="kw browse needs textual")

from decoders.exchanges.exchange import Exchange
from kwcli.browse.background_processes.read_into_spool import ReadingEnded, SpoolingRun
from kwcli.browse.background_processes.search_spool import RowFinder
from tests.browse.browsing import Browsing, run_steps


def fail(*_: Any) -> None:
    raise ZeroDivisionError("on purpose")


def test_a_defect_in_a_search_is_told_and_other_searches_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(RowFinder, "add_block", fail)
            await pilot.press("exclamation_mark")
            await browsing.settle(pilot)
        assert "defect: ZeroDivisionError: on purpose" in browsing.screen_text
        await pilot.press("F", "j", "c")
        await browsing.settle(pilot)
        assert 0 < browsing.app.list_pane.count_lines() < 193

    run_steps(Browsing(), steps)


def test_a_defect_in_the_reading_ends_it_and_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SpoolingRun, "write_rows", fail)
    browsing = Browsing()
    assert browsing.work.held[-1] == ReadingEnded(1)
    assert [each.text for each in browsing.work.held if hasattr(each, "text")] == [
        "kw: defect: ZeroDivisionError: on purpose"
    ]


def test_a_cut_capture_shows_what_is_there_and_says_where_it_ends(tmp_path: Any) -> None:
    path = tmp_path / "cut.pcapng"
    with open("captures/tour.pcapng", "rb") as file:
        path.write_bytes(file.read()[:100_000])

    async def steps(browsing: Browsing, _: Any) -> None:
        assert "cut off at byte" in browsing.screen_text
        assert browsing.app.list_pane.count_lines() > 50
        assert isinstance(browsing.app.list_pane.row, Exchange)

    run_steps(Browsing(str(path)), steps, (300, 24))
