"""What a newcomer stumbled over: moving by a number, error codes of a message, files that exist, counts of errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

pytest.importorskip("textual", reason="kw browse needs textual")

from kwcli.browse.panes.help_screen import list_help_lines
from tests.browse.browsing import Browsing, run_steps
from tests.browse.test_ways import DOWNSTREAM, press

DISK_FULL: Final = "captures/incidents/disk-full.pcap.zst"
SIZE: Final = (100, 30)


@pytest.mark.long
def test_a_number_before_a_key_moves_by_so_many_lines_or_to_that_line() -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        app, pane = browsing.app, browsing.app.list_pane
        seen = []
        for keys in ("9j", "12G", "5k", "025G", "04j", "j", "99k", "999G"):
            await press(browsing, pilot, *keys)
            seen.append(pane.cursor)
        assert seen == [9, 11, 6, 24, 28, 29, 0, 192]
        assert "9: then j or k moves by so many lines" in await press(browsing, pilot, "9")
        assert "9: then" not in await press(browsing, pilot, "escape")
        await press(browsing, pilot, "k")
        assert pane.cursor == 191
        await press(browsing, pilot, "g", "enter", "5", "j")
        assert app.message_pane.cursor == 5
        await press(browsing, pilot, "f4", "5", "j")
        assert (app.view, app.findings_pane.cursor) == (app.findings_pane, 5)
        await press(browsing, pilot, "1")
        assert app.view is app.list_pane

    run_steps(Browsing(), steps, SIZE)


@pytest.mark.long
def test_a_key_goes_to_each_error_code_of_a_message_and_its_bytes() -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        app, pane = browsing.app, browsing.app.message_pane
        text = await press(browsing, pilot, "9", "j", "enter")
        assert "e error code" in text
        text = await press(browsing, pilot, "e", "e")
        assert pane.field is not None
        assert (pane.field.side, pane.field.path) == ("response", "topics[1].error_code")
        assert "response 0x27–28, 0 is its size" in text
        assert "no further error code" in await press(browsing, pilot, "e")
        await press(browsing, pilot, "E")
        assert pane.field.path == "topics[0].error_code"
        assert "no earlier error code" in await press(browsing, pilot, "E")
        assert app.about_bar.right

    run_steps(Browsing(), steps, SIZE)


def test_records_of_the_eleventh_row_are_four_keys_away() -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        assert "[3] record  offset 3 · value order 503" in await press(browsing, pilot, *"10jd")

    run_steps(Browsing(DOWNSTREAM), steps, SIZE)


@pytest.mark.long
def test_a_second_enter_overwrites_a_file_but_never_one_that_is_read(tmp_path: Path) -> None:
    there = tmp_path / "there.ndjson"
    there.write_text("old")
    folder = tmp_path / "folder.ndjson"
    folder.mkdir()

    async def steps(browsing: Browsing, pilot: Any) -> None:
        bar = browsing.app.filter_bar
        assert "typing replaces what is offered" in await press(browsing, pilot, "exclamation_mark", "W")
        bar.line.value = str(there)
        text = await press(browsing, pilot, "enter")
        assert bar.is_open
        assert "exists: Enter overwrites it, Esc gives up" in text.replace("\n", " ")
        assert there.read_text() == "old"
        await press(browsing, pilot, "enter")
        assert not bar.is_open
        assert there.read_text().count("\n") == 9
        for name in ("captures/tour.pcapng", str(folder)):
            await press(browsing, pilot, "W")
            bar.line.value = name
            text = await press(browsing, pilot, "enter", "enter", "enter")
            assert bar.is_open
            assert "give another name" in text.replace("\n", " ")
            await press(browsing, pilot, "escape")

    run_steps(Browsing(), steps, (160, 30))


@pytest.mark.long
def test_a_second_enter_overwrites_a_capture(tmp_path: Path) -> None:
    there = tmp_path / "there.pcapng"
    there.write_text("old")

    async def steps(browsing: Browsing, pilot: Any) -> None:
        await press(browsing, pilot, "exclamation_mark", "W")
        browsing.app.filter_bar.line.value = str(there)
        await press(browsing, pilot, "enter", "enter")
        await browsing.app.workers.wait_for_complete()
        assert there.stat().st_size > 1000

    run_steps(Browsing(), steps, (160, 30))


def test_errors_are_counted_by_api_and_name() -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        text = await press(browsing, pilot, "exclamation_mark")
        assert "18 matches: errors · Produce 10 KAFKA_STORAGE_ERROR, Metadata 8 LEADER_NOT_AVAILABLE" in text

    run_steps(Browsing(DISK_FULL), steps, (160, 30))


def test_the_table_of_clients_counts_what_the_key_for_errors_lists() -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        await press(browsing, pilot, "4")
        counted = browsing.app.top_pane.counted
        assert counted is not None
        errors = {row["client_id"]: row["errors"] for row, _ in counted.rows}
        assert errors["report-1"] == 1
        assert sum(errors.values()) == 9

    run_steps(Browsing(), steps, SIZE)


def test_a_copied_line_is_said_to_be_copied() -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        assert "copied: kw call ApiVersions" in await press(browsing, pilot, "C")

    run_steps(Browsing(), steps, SIZE)


def test_the_help_says_in_which_order_rows_are() -> None:
    assert "rows in the order in which they ended" in dict(list_help_lines())["1  F2"]


@pytest.mark.long
def test_the_help_says_its_page_and_the_first_key_turns_it() -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        text = await press(browsing, pilot, "question_mark")
        assert "PgDn and PgUp turn pages" in text
        assert "page 1 of 5" in text
        for key in ("pagedown", "pagedown", "pagedown"):
            before = text.splitlines()[:5]
            text = await press(browsing, pilot, key)
            assert text.splitlines()[:5] != before
        assert "page 4 of 5" in text

    run_steps(Browsing(), steps, SIZE)
