"""The ways to what people look for: the keys that the last line and the help show, what they lead to, and how soon."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

pytest.importorskip("textual", reason="kw browse needs textual")

from kwcli.browse.actions import ACTIONS, PLACES, WAYS, list_key_labels
from kwcli.browse.message_tree.message_fields import FieldReader
from kwcli.browse.panes.help_screen import list_help_lines
from kwcli.browse.panes.title_status_and_key_bars import list_hints
from tests.browse.browsing import TOUR, Browsing, run_steps
from tests.browse.test_wire_text import list_rows

DOWNSTREAM: Final = "captures/traces/downstream.pcap.zst"


async def press(browsing: Browsing, pilot: Any, *keys: str) -> str:
    for key in keys:
        await pilot.press(key)
        await browsing.settle(pilot)
    return browsing.screen_text


# The line of keys


@pytest.mark.parametrize(
    ("width", "keys"), [(80, ["?", "Enter", "f", "!", "S", "3", "4", "W"]), (100, [*"fS3!4WGC", "?", "Enter"])]
)
def test_the_most_useful_keys_of_the_list_are_below_it(width: int, keys: list[str]) -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        await pilot.pause()
        shown = {each.split(" ")[0] for each in browsing.screen_lines()[-1].split("  ") if each.strip()}
        assert shown >= set(keys)

    run_steps(Browsing(), steps, (width, 24))


def test_keys_come_by_their_rank_in_the_table() -> None:
    for place in PLACES:
        here = [action for action in ACTIONS if action.bar and action.where in (place, "lines", "everywhere")]
        ranks = [
            min(each.rank for each in here if (list_key_labels(each.keys)[0], each.bar) == hint)
            for hint in list_hints(place)
        ]
        assert ranks == sorted(ranks)
        assert ranks[0] == 0


# Way → what is on the screen at its end, in the tour unless another capture is named.
SEEN: Final = {
    "3 Enter": r"\d+ match",
    "!": r"9 matches: errors",
    "4 Enter G": r"client_id == .billing-1.[^\n]*47 of 47",
    "S": r"by latency[^\n]*1 of 193",
    "d": r"\[0\] record  offset \d+ · key customer-3 · value ",
    "Enter /": r"search:",
    "Enter e x": r"0000  00 00 02 d0 ",
    "9 j": r"10 of 193",
    "L": r"ladder of connection == 1",
    "c W": r"27 exchanges as NDJSON",
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way[1])
def test_the_ways_that_the_help_begins_with_lead_there(way: tuple[tuple[str, ...], str]) -> None:
    keys, text = way
    written = " ".join(list_key_labels(keys))
    assert (written, text) in list_help_lines()[: len(WAYS) + 1]
    assert {*keys} <= {"9"} | {key for action in ACTIONS for key in action.keys}

    async def steps(browsing: Browsing, pilot: Any) -> None:
        assert re.search(SEEN[written], await press(browsing, pilot, *keys)), browsing.screen_text

    run_steps(Browsing(), steps, (100, 30))


@pytest.mark.long
def test_each_press_of_sort_brings_another_order() -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        pane = browsing.app.list_pane
        seen = [[*range(pane.count_lines())]]
        for _ in range(4):
            await press(browsing, pilot, "S")
            assert pane.numbers is not None
            seen.append(list(pane.numbers))
        assert len({*map(tuple, seen)}) == 5
        assert seen[1][:10] != seen[0][:10]  # somebody sees it
        await press(browsing, pilot, "S")
        assert pane.numbers is None

    run_steps(Browsing(), steps)


def test_the_help_fits_80_columns() -> None:
    assert [text for _, text in list_help_lines() if len(text) > 61] == []


# Writing


@pytest.mark.long
def test_the_line_that_asks_for_a_file_says_how_much_and_how_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    browsing = Browsing(text="error")
    monkeypatch.chdir(tmp_path)
    there = tmp_path / "there.csv"
    there.touch()

    async def steps(browsing: Browsing, pilot: Any) -> None:
        text = await press(browsing, pilot, "W")
        assert "28 exchanges as NDJSON · or end the name with .pcapng .json .yaml .csv .hex .txt" in text
        for name, said in (
            ("x.pcapng", "packets of 28 exchanges · or end the name with .ndjson"),
            ("x.hex", "28 exchanges as hex · or"),
            ("x", "28 exchanges · end the name with .pcapng .ndjson"),
            ("x.exe", ".exe is none of them"),
            ("there.csv", "there.csv exists: Enter twice overwrites it, or give another name"),
        ):
            browsing.app.filter_bar.line.value = name
            await pilot.pause()
            assert said in browsing.screen_text
        text = await press(browsing, pilot, "escape", "F", "W")
        assert "193 exchanges as NDJSON" in text
        assert "the open message as NDJSON" in await press(browsing, pilot, "escape", "enter", "W")

    run_steps(browsing, steps, (100, 24))


def test_exchanges_alone_are_counted_and_while_rows_come_so_far() -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        kinds = [row.kind for row in map(browsing.rows.find_row, range(browsing.rows.end))]
        exchanges = kinds.count("exchange")
        assert exchanges == browsing.rows.kept_exchanges < len(kinds)
        assert f"\n{exchanges} exchanges as NDJSON" in await press(browsing, pilot, "W")
        await press(browsing, pilot, "escape")
        browsing.app._ended = None
        assert f"{exchanges} exchanges so far as NDJSON" in await press(browsing, pilot, "W")

    run_steps(Browsing("captures/values/confluent-json.pcapng.zst"), steps, (100, 24))


@pytest.mark.long
def test_what_was_on_the_screen_when_the_name_was_asked_for_is_written(tmp_path: Path) -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        app = browsing.app
        row = app.list_pane.row
        assert row is not None
        assert row.kind == "exchange"
        changes: tuple[tuple[list[str], Callable[[], None]], ...] = (
            (["W"], lambda: app.row_filter.apply_text("error")),
            (["F", "g", "enter", "W"], lambda: app.list_pane.move_to(3)),
        )
        for keys, change in changes:
            await press(browsing, pilot, *keys)
            said = re.search(r"(.*) as NDJSON", browsing.screen_text)
            change()
            await browsing.settle(pilot)
            path = tmp_path / f"{len(keys)}.ndjson"
            app.filter_bar.line.value = str(path)
            await press(browsing, pilot, "enter")
            records = [*map(json.loads, path.read_text().splitlines())]
            assert said is not None
            if "193 exchanges" in said[1]:
                assert len(records) == 193
            else:
                assert said[1] == "the open message"
                assert [(each["connection"], each["correlation_id"]) for each in records] == [
                    (row.connection, row.correlation_id)
                ]

    run_steps(Browsing(), steps, (160, 30))


def test_a_capture_without_rows_is_written_as_an_empty_file(tmp_path: Path) -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        await press(browsing, pilot, "W")
        browsing.app.filter_bar.line.value = str(tmp_path / "rows.ndjson")
        assert "rows.ndjson: 0 rows" in await press(browsing, pilot, "enter")
        assert [each.name for each in tmp_path.iterdir()] == ["rows.ndjson"]

    run_steps(Browsing("tests/browse/empty.pcap"), steps, (160, 30))


# Records


def test_records_are_one_key_away_and_the_next_row_with_some_another() -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        app = browsing.app
        text = await press(browsing, pilot, "d")
        assert "[3] record  offset 3 · value order 503" in text
        assert app.list_pane.cursor == 3
        assert "A record: Enter unfolds its fields." in text
        text = await press(browsing, pilot, "escape", "j", "d")
        row = app.list_pane.row
        assert row is not None
        assert row.kind == "exchange"
        assert (row.api, row.client_id) == ("Fetch", "billing")
        assert "[3] record  offset 3 · value order 503" in text

    run_steps(Browsing(DOWNSTREAM), steps, (100, 30))


@pytest.mark.long
def test_keys_go_from_record_to_record_through_all_rows_and_back() -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        app, pane = browsing.app, browsing.app.message_pane
        seen = []
        for key in "ddddddddddD":
            await press(browsing, pilot, key)
            assert pane.field is not None
            seen.append((app.list_pane.cursor, pane.field.path.partition(".records")[2]))
        produced = [(3, f"[0].records[{at}]") for at in range(8)]
        assert seen == [*produced, (10, "[0].records[0]"), (10, "[0].records[1]"), (10, "[0].records[0]")]
        await press(browsing, pilot, "D")
        assert pane.field is not None
        assert (app.list_pane.cursor, pane.field.name.strip()) == (3, "[7] record")
        await press(browsing, pilot, "escape", "g", "D")
        assert "no earlier row with records" in browsing.screen_text
        await press(browsing, pilot, "G", "d")
        assert "no further row with records" in browsing.screen_text

    run_steps(Browsing(DOWNSTREAM), steps, (100, 30))


@pytest.mark.long
def test_a_record_is_found_by_its_offset_and_unfolds() -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        pane = browsing.app.message_pane
        browsing.app.list_pane.move_to(10)
        await press(browsing, pilot, "enter", "slash", *"offset 3", "enter")
        assert pane.field is not None
        assert pane.field.text == "offset 3 · value order 503"
        count = pane.count_lines()
        await press(browsing, pilot, "enter")
        assert pane.count_lines() == count + 13
        assert browsing.app.about_bar.right == "response 0x1ce–23a, 0 is its size"
        assert "everything is folded" not in await press(browsing, pilot, "minus")
        assert "everything is folded" in await press(browsing, pilot, "minus")
        assert "nothing is folded" not in await press(browsing, pilot, "plus")
        assert "nothing is folded" in await press(browsing, pilot, "plus")
        assert pane.count_lines() == len(pane.message.fields)

    run_steps(Browsing(DOWNSTREAM), steps, (100, 30))


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("file", "text", "seen"),
    [
        (TOUR, "api == Fetch and records > 0", "offset 0 · key customer-1 · value {"),
        (TOUR, "api == Produce and client_id == checkout-7", "offset 0 · key customer-3 · value {"),
        ("captures/old-clients.pcap.gz", "api == Produce and records == 4", "key customer-1 · value {"),
        ("captures/old-clients.pcap.gz", "api == Produce and records == 20", "key customer-"),
        ("captures/values/schemas-topic.pcapng.zst", "api == Produce and not topic == _schemas", "value "),
    ],
)
def test_records_of_every_kind_have_a_line(file: str, text: str, seen: str) -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        await press(browsing, pilot, "d")
        records = [field for field in browsing.app.message_pane.message.fields if field.is_record]
        assert records
        assert all(field.fold == field.path for field in records)
        assert seen in records[0].text

    run_steps(Browsing(file, text=text), steps, (100, 30))


def test_produced_records_have_the_offsets_of_the_answer() -> None:
    browsing, count = Browsing(DOWNSTREAM), 0
    fetched = {}
    for row in list_rows(browsing):
        if row.kind != "exchange" or row.api not in ("Fetch", "Produce"):
            continue
        fields = [field for field in FieldReader(row, browsing.settings).read_all().fields if field.is_record]
        for field in fields:
            offset, _, value = field.text.partition(" · ")
            if row.api == "Fetch":
                fetched[value] = offset
            elif value in fetched or row.status == "complete":
                count += fetched.setdefault(value, offset) == offset
    assert count >= 8


@pytest.mark.parametrize(
    ("text", "seen"),
    [("value ~ 507", "value order 507"), ('value ~ "order 50[5]" and api == Fetch', "value order 505")],
)
def test_records_are_opened_at_the_one_that_the_filter_is_about(text: str, seen: str) -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        await press(browsing, pilot, "d")
        field = browsing.app.message_pane.field
        assert field is not None
        assert field.text.endswith(seen)
        assert "f nowhere Enter searches it in all rows" in await press(browsing, pilot, "slash", *"nowhere", "enter")

    run_steps(Browsing(DOWNSTREAM, text=text), steps, (130, 30))


def test_the_order_by_size_shows_sizes() -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        assert "sent" in (await press(browsing, pilot, "S", "S")).splitlines()[0]
        assert "sent" not in (await press(browsing, pilot, "S")).splitlines()[0]

    run_steps(Browsing(), steps)


def test_an_empty_message_says_that_nothing_is_left_to_fold() -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        await press(browsing, pilot, "enter", "plus")
        assert "everything is folded" in await press(browsing, pilot, "minus")

    run_steps(Browsing("tests/browse/empty.pcap"), steps)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("file", [TOUR, DOWNSTREAM, "captures/old-clients.pcap.gz", "captures/share-groups.pcapng"])
def test_fetched_records_have_the_offsets_of_their_json(file: str) -> None:
    browsing, count = Browsing(file), 0
    for row in list_rows(browsing):
        if row.kind != "exchange" or row.api not in ("Fetch", "ShareFetch"):
            continue
        topics = row.to_dict(records=True)["response"]["responses"]
        partitions = [each for topic in topics for each in topic.get("partitions", ())]  # an answer may be cut off
        batches = [batch for each in partitions for batch in each.get("records") or ()]
        expected = [f"offset {record['offset']}" for batch in batches for record in batch.get("records", ())]
        fields = FieldReader(row, browsing.settings).read_all().fields
        assert [field.text.partition(" · ")[0] for field in fields if field.is_record] == expected
        count += len(expected)
    assert count > 3
