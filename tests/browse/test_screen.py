"""Keys in, the text on the screen out: list, message, bytes, errors, times."""

from __future__ import annotations

import re
from typing import Any

import pytest

pytest.importorskip("textual", reason="kw browse needs textual")

from kwcli.browse.actions import ACTIONS, PLACES, list_key_labels
from kwcli.browse.app import BrowseApp
from kwcli.browse.panes.bytes_pane import BytesPane
from kwcli.browse.panes.findings_pane import FindingsPane
from kwcli.browse.panes.help_screen import list_help_lines
from kwcli.browse.panes.ladder_pane import LadderPane
from kwcli.browse.panes.line_pane import LinePane
from kwcli.browse.panes.list_pane import ListPane
from kwcli.browse.panes.message_pane import MessagePane
from kwcli.browse.panes.top_pane import TopPane
from tests.browse.browsing import Browsing, run_steps
from tests.cli.worlds import kw, world

PANES: dict[str, type] = {
    "everywhere": BrowseApp,
    "lines": LinePane,
    "list": ListPane,
    "message": MessagePane,
    "bytes": BytesPane,
    "ladder": LadderPane,
    "findings": FindingsPane,
    "top": TopPane,
}


def list_line(browsing: Browsing, at: int) -> str:
    return browsing.app.list_pane.make_line(at).text.rstrip()


# The table of actions


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: f"{action.where}-{action.name}")
def test_every_action_has_its_method(action: Any) -> None:
    assert callable(getattr(PANES[action.where], f"action_{action.name}"))
    assert action.keys
    assert action.text


def test_a_key_has_one_meaning_at_a_place() -> None:
    for place in PANES:
        keys = [key for action in ACTIONS if action.where in (place, "lines") for key in action.keys]
        assert len(keys) == len(set(keys)), place
    assert set(PLACES) == {action.where for action in ACTIONS}


def test_help_lists_every_action() -> None:
    lines = list_help_lines()
    for action in ACTIONS:
        assert ("  ".join(list_key_labels(action.keys)), action.text) in lines


@pytest.mark.long
def test_help_and_palette_open_and_close() -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        await pilot.press("question_mark")
        await pilot.pause()
        assert "Everywhere" in browsing.screen_text
        assert "Show all keys" in browsing.screen_text
        await pilot.press("q")
        await pilot.pause()
        assert "17:34:43.293" in browsing.screen_text
        named = {command.title: command for command in browsing.app.get_system_commands(browsing.app.screen)}
        assert {action.text for action in ACTIONS} == set(named)
        await named["Open the message of this row"].callback()
        await browsing.settle(pilot)
        assert browsing.app.message_pane.has_focus

    run_steps(Browsing(), steps)


# The list


def test_rows_are_those_of_sniff() -> None:
    lines = kw("sniff", "captures/tour.pcapng", "-o", "text", env=world(columns=79, terminal=True)).out.splitlines()

    async def steps(browsing: Browsing, _: Any) -> None:
        found = [list_line(browsing, at) for at in range(193)]
        whole = [line for line in map(drop_codes, lines[1:]) if re.match(r"\d\d:", line)]
        assert len(whole) == len(found)
        # Where a trouble stands on a line of its own in sniff, the list has one line all the same. The list knows nodes
        # that sniff learns later.
        signed = [mine[37] != " " for mine in found]
        for mine, its, has_sign in zip(found, whole, signed, strict=True):
            end = 52 if has_sign else None
            assert mine[:30] + mine[37:end] == its[:30] + its.rstrip()[37:end]
        assert 20 < sum(signed) < 40
        assert browsing.screen_lines()[0].rstrip() == drop_codes(lines[0]).rstrip()

    run_steps(Browsing(), steps)


def drop_codes(line: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", line)


def test_the_cursor_goes_where_keys_say() -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        pane = browsing.app.list_pane
        height = pane.size.height
        for key, expected in (
            ("j", 1),
            ("down", 2),
            ("k", 1),
            ("G", 192),
            ("down", 192),
            ("g", 0),
            ("up", 0),
            ("pagedown", height - 1),
            ("pageup", 0),
            ("ctrl+d", height // 2),
            ("end", 192),
            ("home", 0),
        ):
            await pilot.press(key)
            assert pane.cursor == expected, key
            top = pane.scroll_offset.y
            assert top <= expected < top + height

    run_steps(Browsing(), steps)


def test_errors_are_gone_to_in_their_order() -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        seen = []
        for _ in range(3):
            await pilot.press("e")
            await browsing.settle(pilot)
            seen.append(browsing.app.list_pane.cursor)
        assert seen == sorted(seen)
        assert all("✗" in list_line(browsing, at) for at in seen)
        await pilot.press("E")
        await browsing.settle(pilot)
        assert browsing.app.list_pane.cursor == seen[1]
        await pilot.press("G", "e")
        await browsing.settle(pilot)
        assert "no further error" in browsing.screen_text

    run_steps(Browsing(), steps)


def test_steps_to_errors_are_all_done_however_fast_they_are_asked_for() -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        pane = browsing.app.list_pane
        errors = [at for at in range(pane.count_lines()) if re.search(" [✗?] ", list_line(browsing, at))]
        ways = ((pane.action_next_error, 3, errors[2]), (pane.action_earlier_error, 2, errors[0]))
        for step, times, expected in ways:
            for _ in range(times):
                step()
            await browsing.settle(pilot)
            assert pane.cursor == expected

    run_steps(Browsing(), steps)


def test_the_error_before_is_gone_to_when_it_is_found() -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        await pilot.press("G", "E")
        await browsing.settle(pilot)
        assert "unanswered" in list_line(browsing, browsing.app.list_pane.cursor)
        assert not browsing.app.notice

    run_steps(Browsing(), steps)


def test_times_are_absolute_relative_and_deltas() -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        assert list_line(browsing, 1).startswith("17:34:43.299")
        await pilot.press("t")
        assert list_line(browsing, 0).startswith("   +0.000000")
        assert list_line(browsing, 192).startswith("  +49.")
        assert browsing.screen_lines()[0].startswith("since first")
        await pilot.press("t")
        assert list_line(browsing, 1).startswith("   +0.00")
        await pilot.press("t", "z")
        assert list_line(browsing, 1).startswith("23:04:43.299")
        assert "time IST" in browsing.screen_lines()[0]

    run_steps(Browsing(env=world(variables={"TZ": "Asia/Kolkata"})), steps)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("size", [(40, 12), (80, 24), (200, 50)])
def test_a_resize_keeps_the_row_at_the_cursor_on_the_screen(size: tuple[int, int]) -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        await pilot.press("G", "k")
        await pilot.resize_terminal(*size)
        await browsing.settle(pilot)
        pane = browsing.app.list_pane
        assert pane.scroll_offset.y <= pane.cursor < pane.scroll_offset.y + pane.size.height
        assert all(len(line) <= size[0] for line in browsing.screen_lines())
        assert list_line(browsing, 191)[: size[0] - 2] in browsing.screen_text

    run_steps(Browsing(), steps, (100, 30))


@pytest.mark.long
def test_an_empty_capture_has_an_empty_list() -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        for key in ("j", "G", "enter", "l", "space", "x", "tab", "s", "escape", "escape", "c", "e", "t"):
            await pilot.press(key)
        await browsing.settle(pilot)
        assert "no rows" in browsing.screen_text

    run_steps(Browsing("tests/browse/empty.pcap"), steps)


# Message and bytes


async def open_row(browsing: Browsing, pilot: Any, at: int) -> None:
    browsing.app.list_pane.move_to(at)
    await pilot.press("enter")
    await browsing.settle(pilot)


def test_a_message_in_40_columns_shows_values_beside_names() -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        await open_row(browsing, pilot, 1)
        assert "request_api_version  13" in browsing.screen_text
        assert "client_id         admin" in browsing.screen_text

    run_steps(Browsing(), steps, (40, 24))


def test_a_message_is_shown_folded_and_searched() -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        await open_row(browsing, pilot, 20)
        pane = browsing.app.message_pane
        assert "→ request" in browsing.screen_text
        lines = [pane.make_line(at).text for at in range(pane.count_lines())]
        assert any(re.search(r"\[0\] name +orders", line) for line in lines)
        assert any("crc" in line and line.rstrip().endswith("ok") for line in lines)
        count = pane.count_lines()
        await pilot.press("h")  # the side
        assert pane.count_lines() < count
        await pilot.press("l")
        assert pane.count_lines() == count
        await pilot.press("minus")
        assert 6 < pane.count_lines() < 30
        await pilot.press("s", *"records[0]", "backspace", "backspace", "backspace", "enter")
        await browsing.settle(pilot)
        assert pane.field is not None
        assert "records" in pane.field.name
        await pilot.press("n")
        await pilot.press("o")
        assert pane.field.name.startswith("← response")
        await pilot.press("J")
        assert browsing.app.list_pane.cursor == 21
        await pilot.press("escape")
        assert browsing.app.list_pane.has_focus
        await browsing.settle(pilot)
        assert "→ request" not in browsing.screen_text

    run_steps(Browsing(), steps)


def test_the_line_below_says_what_a_field_and_an_error_mean() -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        await open_row(browsing, pilot, 14)  # TOPIC_ALREADY_EXISTS
        pane = browsing.app.message_pane
        assert pane.search("num_partitions")
        await browsing.settle(pilot)
        assert browsing.app.about_bar.left.startswith("The number of partitions to create")
        assert pane.search("36 TOPIC_ALREADY")
        await browsing.settle(pilot)
        assert browsing.app.about_bar.left.startswith("TOPIC_ALREADY_EXISTS: ")
        assert pane.field is not None
        assert pane.field.paint == "bad"
        assert browsing.app.about_bar.right == "response 0x18–19, 0 is its size"
        await pilot.press("x")
        assert browsing.app.bytes_pane._lit == [(0x18, 0x1A)]

    run_steps(Browsing(), steps)


def test_bytes_of_the_selected_field_are_lit_and_a_byte_selects_its_field() -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        await open_row(browsing, pilot, 14)
        pane, dump = browsing.app.message_pane, browsing.app.bytes_pane
        await pilot.press("x")
        await browsing.settle(pilot)
        assert pane.search("client_id")
        await browsing.settle(pilot)
        assert dump.data[dump._lit[0][0] : dump._lit[-1][1]] == b"\0\5admin"
        lit = [each.text for at in (0, 1) for each in dump.make_line(at) if each.style and each.style.reverse]
        assert " ".join(lit).split() == ["00", "05", "61", "64", "..ad", "6d", "69", "6e", "min"]
        await pilot.press("tab")
        assert dump.has_focus
        await pilot.press("g")
        before = dump.byte
        for _ in range(5):
            await pilot.press("l")
        assert dump.byte == before + 5
        assert pane.field is not None
        assert any(begin <= dump.byte < end for begin, end, _ in pane.field.runs)
        await pilot.press("x")
        assert pane.has_focus

    run_steps(Browsing(), steps)


def test_records_inside_compressed_batches_are_fields() -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        await open_row(browsing, pilot, 20)
        fields = browsing.app.message_pane.message.fields
        values = [field for field in fields if field.path.endswith(".records[0].value")]
        assert values
        assert values[0].text.startswith("{")
        assert values[0].runs  # those of the compressed bytes

    run_steps(Browsing(), steps)
