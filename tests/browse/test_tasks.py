"""Ten tasks for somebody who has only `?`, each with the best way: the keys, and what is on the screen at its end.

A task counts as done with at most twice the keys of its way.
"""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

import pytest

pytest.importorskip("textual", reason="kw browse needs textual")

from kwcli.browse.actions import ACTIONS, list_key_labels
from kwcli.browse.panes.help_screen import list_help_lines
from tests.browse.browsing import Browsing, run_steps


class Task(NamedTuple):
    """`keys` are those of the table; a text that is typed is one string after "type:"."""

    asked: str
    keys: tuple[str, ...]
    seen: str  # a pattern of the text on the screen


TASKS: Final = (
    Task("What was refused first, and why?", ("e",), r"15 of 193"),
    Task(
        "Which bytes hold the error of the first refused request?", ("e", "enter", "s", "type:error_code", "x"), "00 24"
    ),
    Task("What did billing-1 ask last?", ("4", "enter", "G"), r"47 of 47"),
    Task("Which request was the slowest of all?", ("S",), r"by latency[^\n]*1 of 193"),
    Task("Which client sends most?", ("4",), r"client_id +count"),
    Task("For which topic are there errors?", ("4", "b", "b"), r"topic +count +rate +errors"),
    Task("What is wrong with this cluster?", ("3",), r"findings: \d"),
    Task("Which requests show the first finding?", ("3", "enter"), r"\d+ match"),
    Task("In which order did the first connection talk?", ("L",), r"ladder of connection == 1"),
    Task("At what time of Berlin was the first request?", ("Z", "type:Europe/Berlin"), r"18:34:43\.293"),
)


@pytest.mark.one_in(len(TASKS))
@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.asked)
def test_a_task_is_done_by_keys_that_the_help_shows(task: Task) -> None:
    shown = {keys: text for keys, text in list_help_lines() if text}

    async def steps(browsing: Browsing, pilot: Any) -> None:
        for key in task.keys:
            if key.startswith("type:"):
                browsing.app.filter_bar.line.value = key.removeprefix("type:")
                await pilot.press("enter")
            else:
                (action, *_) = [each for each in ACTIONS if key in each.keys]
                assert shown["  ".join(list_key_labels(action.keys))]
                await pilot.press(key)
            await browsing.settle(pilot)
        assert re.search(task.seen, browsing.screen_text), browsing.screen_text

    run_steps(Browsing(), steps, (100, 40))
