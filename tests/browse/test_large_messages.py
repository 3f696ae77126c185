"""A message of 3,000 fields: read in slices, with keys between them, to the same lines as at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

pytest.importorskip("textual", reason="kw browse needs textual")

import kwcli.browse.panes.message_pane as message_pane_module
from kwcli.browse.message_tree import record_lines, tree_field
from kwcli.browse.message_tree.message_fields import FieldReader
from kwcli.browse.message_tree.tree_field import TreeField
from kwcli.browse.panes.message_pane import FIELDS_AT_ONCE, MessagePane
from tests.browse.browsing import Browsing, run_steps
from tests.browse.test_ways import DOWNSTREAM, press

FILE: Final = "captures/share-groups.pcapng"


def find_large_row(browsing: Browsing) -> int:
    """The line of an answer with 3,000 fields."""
    pane = browsing.app.list_pane
    rows = [(at, pane.row_at(at)) for at in range(pane.count_lines())]
    return next(
        at
        for at, row in rows
        if row and row.kind == "exchange" and row.api == "DescribeConfigs" and row.response_size > 10_000  # type: ignore[operator]
    )


@pytest.fixture
def slices(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many fields were read at once, each time."""
    read, sizes = FieldReader.read_fields, []

    def read_and_count(reader: FieldReader, most: int) -> None:
        before = len(reader.message.fields)
        read(reader, most)
        sizes.append(len(reader.message.fields) - before)

    monkeypatch.setattr(FieldReader, "read_fields", read_and_count)
    return sizes


@pytest.mark.long
def test_a_large_message_is_read_in_slices_between_which_keys_are_taken(slices: list[int]) -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        app, pane = browsing.app, browsing.app.message_pane
        app.list_pane.move_to(find_large_row(browsing))
        app.on_list_pane_message_wanted()
        assert slices == [FIELDS_AT_ONCE]
        assert pane.is_reading
        await browsing.settle(pilot)
        assert not pane.is_reading
        assert max(slices) <= FIELDS_AT_ONCE <= 200
        assert sum(slices) == len(pane.message.fields) > 3000
        row = app.list_pane.row
        assert row is not None
        assert row.kind == "exchange"
        whole = FieldReader(row, browsing.settings).read_all()
        found = [[(each.path, each.name, each.text, each.fold) for each in its.fields] for its in (whole, pane.message)]
        assert found[0] == found[1]
        assert pane.count_lines() == len(whole.fields)
        assert (whole.frames, whole.hidden) == (pane.message.frames, pane.message.hidden)

    run_steps(Browsing(FILE), steps, (100, 30))


@pytest.mark.long
def test_what_keys_ask_for_meanwhile_is_done_once_all_is_read(slices: list[int]) -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        app, pane = browsing.app, browsing.app.message_pane
        row = find_large_row(browsing)
        last = "unclean.leader.election.enable"
        for action in (pane.action_go_to_end, lambda: pane.search("no such text"), lambda: pane.search(last)):
            app.list_pane.move_to(row)
            app.on_list_pane_message_wanted()
            action()
            assert pane.is_reading
            app.bytes_pane.show_field(pane.message, pane.message.fields[-1])
            assert "reading" in app.bytes_pane.make_line(0).text
            await browsing.settle(pilot)
            assert "reading" not in browsing.screen_text
            if action == pane.action_go_to_end:
                assert pane.cursor == pane.count_lines() - 1
            assert ("not found: no such text" in browsing.screen_text) == (pane.searched == "no such text")
            await pilot.press("escape")
            await browsing.settle(pilot)
            app.list_pane.move_to(0)
        assert slices

    run_steps(Browsing(FILE), steps, (100, 30))


@pytest.mark.long
def test_another_row_ends_the_reading_and_the_field_at_the_cursor_is_found_again(slices: list[int]) -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        app, pane = browsing.app, browsing.app.message_pane
        row = find_large_row(browsing)
        app.list_pane.move_to(row)
        app.on_list_pane_message_wanted()
        await browsing.settle(pilot)
        pane.move_to(pane.count_lines() - 4)
        assert pane.field is not None
        path = pane.field.path
        slices.clear()
        pane.show_row(app.list_pane.row)
        assert pane.cursor == 0
        await browsing.settle(pilot)
        assert pane.field.path == path
        pane.show_row(app.list_pane.row)
        slices.clear()
        app.list_pane.move_to(0)
        await browsing.settle(pilot)
        assert sum(slices) == len(pane.message.fields) < 3000

    run_steps(Browsing(FILE), steps, (100, 30))


def test_records_that_are_left_out_are_counted_over_all_batches_of_a_side(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_lines, "_LINES_MAX", 5)
    records = [{"offset": at, "key": "k", "value": "v"} for at in range(3)]
    record = {"response": {"responses": [{"records": [{"codec": "gzip", "records": records}] * 3}]}}
    compressed, lines = record_lines.CompressedRecords(record), []
    for batch in range(3):
        field = TreeField(
            "response", f"responses[0].records[{batch}].records", "  records", "30 B", "", [(0, 30, False)]
        )
        lines += list(record_lines.add_record_lines(compressed.add_records_below(field), {}))
    assert [line.path.rpartition(".")[2] for line in lines if line.is_record] == ["records[0]", "records[1]"]
    left_out = [(line.path, line.name.strip(), line.text) for line in lines if "not shown" in line.name]
    assert left_out == [
        ("responses[0].records[0].records[2]", "! not shown", "1 more record"),
        ("responses[0].records[1].records[0]", "! not shown", "3 records"),
        ("responses[0].records[2].records[0]", "! not shown", "3 records"),
    ]


def test_fields_of_ndjson_that_are_left_out_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    value = {"names": ["a", "b"], "topics": [{"name": "a", "ids": [1, 2]}, {"name": "b", "ids": {"redacted": 4}}]}
    whole = [line.path for line in tree_field.walk_json("response", "", "", value, 0)]
    monkeypatch.setattr(tree_field, "_FIELDS_MAX", 8)
    lines = [*tree_field.walk_json("response", "", "", value, 0)]
    assert [line.path for line in lines[:-1]] == whole[: len(lines) - 1]
    assert (lines[-1].name, lines[-1].text) == ("! not shown", "5 more lines")
    monkeypatch.setattr(tree_field, "_FIELDS_MAX", 13)
    assert [line.path for line in tree_field.walk_json("response", "", "", value, 0)] == whole


def test_a_record_goes_to_the_top_also_where_the_lines_below_it_are_read_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(message_pane_module, "FIELDS_AT_ONCE", 40)  # the first record is among the first slice's
    slices: list[Callable[[], None]] = []
    monkeypatch.setattr(MessagePane, "set_timer", lambda _pane, _seconds, read: slices.append(read))

    async def steps(browsing: Browsing, pilot: Any) -> None:
        pane = browsing.app.message_pane
        browsing.app.list_pane.move_to(20)
        await pilot.press("d")
        browsing.app.apply_new_messages()  # the row with records is found
        await pilot.pause()
        assert pane.is_reading
        while slices:
            slices.pop()()
            await pilot.pause()
        assert not pane.is_reading
        assert pane.field is not None
        assert pane.field.is_record
        assert pane.scroll_offset.y == pane.cursor > 0

    run_steps(Browsing(), steps, (200, 50))


@pytest.mark.parametrize("at_once", [20, FIELDS_AT_ONCE])
def test_records_that_are_opened_again_are_at_the_top_however_their_message_is_read(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(message_pane_module, "FIELDS_AT_ONCE", at_once)

    async def steps(browsing: Browsing, pilot: Any) -> None:
        pane = browsing.app.message_pane
        for keys in (("d",), ("escape", "g", "d")):
            await press(browsing, pilot, *keys)
            assert pane.field is not None
            assert pane.field.is_record
            assert pane.scroll_offset.y == pane.cursor > 0

    run_steps(Browsing(DOWNSTREAM), steps, (100, 30))
