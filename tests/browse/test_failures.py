"""Defects and killed processes behind the screen in; a line that says so on it, and a screen that goes on, out."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

pytest.importorskip("textual", reason="kw browse needs textual")

from decoders.exchanges.exchange import Exchange
from kwcli.browse.background_processes.export_rows import RowExporter
from kwcli.browse.background_processes.read_into_spool import ReadingEnded, SpoolingRun
from kwcli.browse.background_processes.search_spool import RowFinder
from kwcli.browse.message_tree.message_fields import FieldReader, describe_field_meaning
from kwcli.browse.quick_filters import QUICK_FILTERS
from kwcli.browse.row_filter import does_filter_decode_values
from tests.browse.browsing import TOUR, Browsing, run_steps
from tests.browse.test_wire_text import list_rows


def fail(*_: Any) -> None:
    raise ZeroDivisionError("on purpose")


def test_a_defect_in_a_search_is_told_and_other_searches_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(RowFinder, "process_rows_of_block", fail)
            await pilot.press("exclamation_mark")
            await browsing.settle(pilot)
        assert "defect: ZeroDivisionError: on purpose" in browsing.screen_text
        await pilot.press("F", "j", "c")
        await browsing.settle(pilot)
        assert 0 < browsing.app.list_pane.count_lines() < 193

    run_steps(Browsing(), steps)


def test_a_defect_in_an_export_leaves_no_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        await pilot.press("W")
        browsing.app.filter_bar.line.value = str(tmp_path / "rows.ndjson")
        with monkeypatch.context() as patch:
            patch.setattr(RowExporter, "_report_finished_export", fail)
            await pilot.press("enter")
            await browsing.settle(pilot)
        assert "defect: ZeroDivisionError: on purpose" in browsing.screen_text
        assert [*tmp_path.iterdir()] == []

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


# Exchanges from NDJSON, with what no broker sends.


def write_row(folder: Path, api: str, change: Callable[[dict[str, Any]], Any], file: str = TOUR) -> str:
    """A file with the last exchange of an API, changed."""
    row = [row for row in list_rows(Browsing(file)) if row.kind == "exchange" and row.api == api][-1]
    record = row.to_dict(records=True)
    change(record)
    path = folder / "changed.ndjson"
    path.write_text(json.dumps(record) + "\n")
    return str(path)


# The value of a record, beside the `error_code`s that Kafka declares.
VALUES: Final[tuple[Any, ...]] = ("E42", None, 7, -1, "\u00b2", "--5", "9" * 5000, True, 1.5, ["a"], {})


def test_an_error_code_of_a_record_is_no_error_of_kafka(tmp_path: Path) -> None:
    def change(record: dict[str, Any]) -> None:
        batches = record["request"]["topic_data"][0]["partition_data"][0]["records"]
        batches[0]["records"][0]["value"] = json.dumps([{"error_code": value} for value in VALUES])

    browsing, seen = Browsing(write_row(tmp_path, "Produce", change)), []
    (row,) = list_rows(browsing)
    assert row.kind == "exchange"
    for field in FieldReader(row, browsing.settings).read_all().fields:
        about = describe_field_meaning(row, field)
        if ".value" in field.path and field.path.endswith("error_code"):
            seen.append(about)
    assert seen == [""] * len(VALUES)


def test_an_error_code_that_kafka_declares_says_what_it_means(tmp_path: Path) -> None:
    def change(record: dict[str, Any]) -> None:
        record["response"]["error_code"] = 7

    browsing = Browsing(write_row(tmp_path, "Metadata", change))
    (row,) = list_rows(browsing)
    assert row.kind == "exchange"
    fields = FieldReader(row, browsing.settings).read_all().fields
    (about,) = [describe_field_meaning(row, each) for each in fields if each.path == "error_code"]
    assert about.startswith("REQUEST_TIMED_OUT: ")


@pytest.mark.long
def test_an_api_without_a_name_is_filtered_by_its_number(tmp_path: Path) -> None:
    def change(record: dict[str, Any]) -> None:
        record.update(api_key=999, api="UNKNOWN(999)", request={}, response={})

    async def steps(browsing: Browsing, pilot: Any) -> None:
        app = browsing.app
        for keys in (["a"], ["4", "b", "enter"], ["4", "G", "enter"]):
            for key in keys:
                await pilot.press(key)
                await browsing.settle(pilot)
            assert "api_key == 999" in app.row_filter.text
            assert app.list_pane.count_lines() == 1
            app.filter_by("")
            await browsing.settle(pilot)
        assert not does_filter_decode_values("api == UNKNOWN(999)")
        row = app.list_pane.row
        assert row is not None
        assert row.kind == "exchange"
        assert QUICK_FILTERS["this_api"](row) == "api_key == 999"

    run_steps(Browsing(write_row(tmp_path, "Metadata", change)), steps)
