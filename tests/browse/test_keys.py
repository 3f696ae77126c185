"""Every key of the table in every state of the screen: what it does is seen, or a line says why it does nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("textual", reason="kw browse needs textual")

from kwcli.browse.actions import ACTIONS
from kwcli.browse.panes.help_screen import HelpScreen
from kwcli.browse.panes.line_pane import LinePane
from tests.browse.browsing import Browsing, run_steps
from tests.browse.screen_states import KEYS, STATES, ScreenState, open_screen, picture_of, reach_state
from tests.browse.test_live import release_blocks

# Keys that go on in a direction: at the end of it nothing changes, and the cursor shows why.
MOVES = {key for action in ACTIONS if action.where == "lines" for key in action.keys} | {"l", "h", "right", "left"}

# States in which a third of the keys are pressed in .ci/run.
OFTEN = ("list", "message", "findings")


def is_at_an_end(browsing: Browsing) -> bool:
    pane = browsing.app.focused
    return isinstance(pane, LinePane) and (
        pane.cursor in (0, pane.count_lines() - 1) or pane.scroll_offset.x in (0, pane.max_scroll_x)
    )


async def check_key(browsing: Browsing, pilot: Any, state: ScreenState, key: str, ended: list[str]) -> str:
    """Press a key in a state; returns what is wrong with what it did, empty for nothing."""
    app = browsing.app
    ended.clear()
    before = picture_of(browsing)
    await pilot.press(key)
    if state.coming:
        release_blocks(browsing, 1)
    await browsing.wait_for_pause(pilot)
    await browsing.settle(pilot)
    lines = browsing.screen_lines()
    if len(lines) != state.size[1] or any(len(line) > state.size[0] for line in lines):
        return "the screen is not as large as the terminal"
    if not any(line.strip() for line in lines):
        return "the screen is empty"
    if app.focused is None and not ended:
        return "no pane has the keys"
    if not (
        ended
        or app.notice
        or picture_of(browsing) != before
        or isinstance(app.screen, HelpScreen)
        or state.types
        or (key in MOVES and is_at_an_end(browsing))
    ):
        return "nothing happened, and nothing says why"
    return ""


@pytest.mark.long
@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.full) for part in (1, 2))])
@pytest.mark.parametrize("name", OFTEN)
def test_every_key_does_something_or_says_why_not(
    name: str, part: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    press_keys(name, KEYS[part::3], tmp_path, monkeypatch)


@pytest.mark.full
@pytest.mark.parametrize("name", [name for name in STATES if name not in OFTEN])
def test_every_key_in_other_states(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    press_keys(name, KEYS, tmp_path, monkeypatch)


def press_keys(name: str, keys: Sequence[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Press keys in a state, each in the state anew."""
    state = STATES[name]
    browsing = open_screen(state, tmp_path)
    ended: list[str] = []
    monkeypatch.setattr(browsing.app, "exit", lambda *_: ended.append("quit"))
    monkeypatch.setattr(browsing.app, "action_suspend_process", lambda: ended.append("suspended"))
    monkeypatch.chdir(tmp_path)

    async def steps(browsing: Browsing, pilot: Any) -> None:
        wrong = {}
        for key in keys:
            await reach_state(browsing, pilot, state)
            if fault := await check_key(browsing, pilot, state, key, ended):
                wrong[key] = fault
        assert wrong == {}

    run_steps(browsing, steps, state.size)
    assert browsing.app.defect is None
