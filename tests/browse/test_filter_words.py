"""Texts that are no filter, and times without a zone, in; the filter that they stand for out."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("textual", reason="kw browse needs textual")

from textual.events import AppBlur, Key

from decoders.filters import parse
from kwcli.browse.quick_filters import join_with_filter
from kwcli.browse.text_filters_and_filter_words import list_words_of_filters, make_text_filter
from kwcli.browse.times.times_in_filters import write_offsets_at_times
from kwcli.output.short_texts import find_zone
from tests.browse.browsing import Browsing, run_steps
from tests.browse.test_filter import count_matches
from tests.browse.test_ways import press

SIZE = (100, 30)
# 2026-11-21T17:34:43Z, in winter.
FIRST_NS = 1795282483 * 10**9


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("time>=19:35:07", "time>=19:35:07+02:00"),
        ("error and time < 19:35", "error and time < 19:35+02:00"),
        ("time >= 2026-11-21T19:35:07.5", "time >= 2026-11-21T19:35:07.5+02:00"),
        ('time >= "2026-07-21 19:35"', 'time >= "2026-07-21 19:35+03:00"'),
        ("time >= 2026-11-21", "time >= 2026-11-21T00:00+02:00"),
        ("time >= 17:35Z", "time >= 17:35Z"),
        ("time >= 17:35+01:00", "time >= 17:35+01:00"),
        ("time in (19:34:50, 19:35:00)", "time in (19:34:50+02:00, 19:35:00+02:00)"),
        ("time >= 19:35&&error", "time >= 19:35+02:00&&error"),
        ('value.time == "2026-11-21"', 'value.time == "2026-11-21"'),
        ('header.time == "12:30"', 'header.time == "12:30"'),
        ('key == "time = 12:30 x"', 'key == "time = 12:30 x"'),
        ("(time>17:35) or value == 17:35", "(time>17:35+02:00) or value == 17:35"),
    ],
)
def test_times_without_a_zone_are_of_the_zone_that_is_shown(typed: str, read: str) -> None:
    assert write_offsets_at_times(typed, find_zone("Europe/Helsinki"), FIRST_NS) == read
    assert write_offsets_at_times(typed, find_zone(""), FIRST_NS) == typed
    parse(read)


def test_a_time_off_the_screen_finds_the_rows_that_show_it() -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        await press(browsing, pilot, "Z", *"Europe/Helsinki", "enter")
        assert "19:34:43" in browsing.screen_text
        assert "in the zone that is shown: time>=19:35:07+02:00" in await press(browsing, pilot, "f", *"time>=19:35:07")
        await press(browsing, pilot, "enter")
        assert 0 < browsing.app.list_pane.count_lines() == count_matches("time>=17:35:07") < 193

    run_steps(Browsing(), steps, SIZE)


def test_a_time_means_the_same_while_it_is_typed_and_where_nothing_is_listed() -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        browsing.app._set_zone("Europe/London")  # it had +01:00 all through 1970
        for _ in range(2):
            assert browsing.app._put_zone_offsets_in_filter("time >= 23:59") == "time >= 23:59+00:00"
            browsing.app.filter_by("client_id == nobody")
            await browsing.settle(pilot)

    run_steps(Browsing(), steps, SIZE)


@pytest.mark.parametrize(
    ("text", "joined"),
    [
        ("a == 1 || b == 2", "(a == 1 || b == 2) and c"),
        ("(a == 1) or (b == 2)", "((a == 1) or (b == 2)) and c"),
        ("(a == 1 or b == 2)", "(a == 1 or b == 2) and c"),
        ("a == 1", "a == 1 and c"),
    ],
)
def test_a_filter_with_or_is_put_in_brackets_where_more_is_asked(text: str, joined: str) -> None:
    assert join_with_filter(text, "c") == joined


def test_keys_are_done_after_the_terminal_lost_the_focus() -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        app = browsing.app
        app.post_message(Key("j", None))
        app.post_message(AppBlur())
        await pilot.pause()
        await pilot.pause()
        assert not app.waiting_keys.is_busy
        await press(browsing, pilot, "j", "j")
        assert app.list_pane.cursor >= 2  # the one that came with the loss of the focus may be lost

    run_steps(Browsing(), steps, SIZE)


def test_a_time_behind_the_last_one_that_can_be_written_is_late() -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        browsing.app._set_zone("America/New_York")
        browsing.app._go_to_typed_time("9999-12-31 23:59")
        await browsing.settle(pilot)
        assert "no row is as late as" in browsing.screen_text

    run_steps(Browsing(), steps, SIZE)


@pytest.mark.parametrize("word", ["billing-2", "/ledger", "506", "order 5", "LEADER", "Fetch", "a.b[c", "client.id"])
def test_a_word_that_is_no_filter_is_searched_in_what_rows_show(word: str) -> None:
    parse(make_text_filter(word))


@pytest.mark.parametrize("text", ["error and topc", "topic ==", "", "not x", "client_id in (a", "(a"])
def test_what_is_a_filter_with_an_error_is_none(text: str) -> None:
    assert make_text_filter(text) == ""


@pytest.mark.long
def test_enter_searches_a_word_and_says_so_before() -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        app = browsing.app
        assert "Enter searches billing-2: client_id ~ billing-2 or" in await press(browsing, pilot, "f", *"billing-2")
        await press(browsing, pilot, "enter")
        assert app.row_filter.text == make_text_filter("billing-2")
        assert app.list_pane.count_lines() == count_matches("client_id ~ billing-2 or value ~ billing-2")
        await press(browsing, pilot, "F", "f", *"illing-2", "tab")
        assert app.filter_bar.line.value == "client_id == billing-2 "

    run_steps(Browsing(), steps, SIZE)


def test_words_are_offered_by_the_last_part_of_a_field_and_by_names_that_have_them() -> None:
    found = [each for each, _ in list_words_of_filters("error and isol", {})]
    assert found[0] == "error and request.isolation_level"
    names = {"client_id": {"billing-1", "web"}, "topic": {"billing.eu"}}
    assert [each for each, _ in list_words_of_filters("billing", names)] == [
        "client_id == billing-1",
        'topic == "billing.eu"',
    ]
    assert list(list_words_of_filters("topic == bill", names)) == []


@pytest.mark.long
def test_the_line_for_a_zone_completes_cities_and_keeps_what_is_none() -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        app = browsing.app
        assert "nowhere is no time zone" in await press(browsing, pilot, "Z", *"nowhere", "enter")
        assert app.filter_bar.is_open
        app.filter_bar.line.value = "helsin"
        await press(browsing, pilot, "tab")
        assert app.filter_bar.line.value == "Europe/Helsinki"
        assert "times in Europe/Helsinki" in await press(browsing, pilot, "enter")
        app.filter_bar.open("zone")
        app.filter_bar.line.value = "new york"
        assert "times in America/New_York" in await press(browsing, pilot, "enter")

    run_steps(Browsing(), steps, SIZE)


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("time", "seen"),
    [("19:35:07", "19:35:07.114"), ("2026-11-21T17:35:07Z", "19:35:07.114"), ("23:00", "no row is as late as 23:00")],
)
def test_a_time_is_gone_to(time: str, seen: str) -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        app = browsing.app
        app._set_zone("Europe/Helsinki")
        await press(browsing, pilot, "T", *"soon", "enter")
        assert "soon is no time" in browsing.screen_text
        app.filter_bar.line.value = time
        text = await press(browsing, pilot, "enter")
        assert seen in app.list_pane.make_line(app.list_pane.cursor).text or seen in text

    run_steps(Browsing(), steps, SIZE)


def test_the_longest_silence_is_the_first_row_by_gap() -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        pane = browsing.app.list_pane
        text = await press(browsing, pilot, "S", "S", "S", "S")
        assert text.startswith("gap before")
        gaps = [float(pane.make_line(at).text[:12]) for at in range(pane.count_lines())]
        assert gaps == sorted(gaps, reverse=True)
        assert gaps[0] > 1

    run_steps(Browsing(), steps, SIZE)


@pytest.mark.long
def test_a_ladder_has_outcomes_and_the_time_between_arrows() -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        pane = browsing.app.ladder_pane
        await press(browsing, pilot, "R")
        lines = [pane.make_line(at).text for at in range(pane.count_lines())]
        assert any("◀───" in line and "JoinGroup → gen 1 199B" in line for line in lines)
        assert any("◀───" in line and "OffsetCommit payments[0]@2" in line for line in lines)
        assert any("◀───" in line and "LeaveGroup ok" in line for line in lines)
        text = await press(browsing, pilot, "g", "m", "j")
        assert "since the arrow before" in text.splitlines()[0]
        assert "since the mark" in text.splitlines()[0]
        assert "since the mark" not in (await press(browsing, pilot, "k", "m")).splitlines()[0]

    run_steps(Browsing(text="group == audit"), steps, (130, 30))
