"""The counts of a replay's requests."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from decoders.replaying.id_map import NotReplayable
from kwcli.replay.replay_requests_in_time import ReplayCounts


def outcome(verdict: str | None = None, problem: NotReplayable | None = None) -> Any:
    return SimpleNamespace(verdict=verdict, problem=problem)


def test_requests_are_asked_or_not() -> None:
    counts = ReplayCounts()
    for verdict in ("same", "same", None, "different"):
        counts.count_outcome(outcome(verdict))
    counts.count_outcome(outcome(problem=NotReplayable("login", "first")))
    counts.count_unsent(NotReplayable("login", "second"))
    counts.count_unsent(NotReplayable("ids", "third"))
    assert (counts.asked, counts.verdicts) == (4, {"same": 2, "": 1, "different": 1})
    assert counts.problems == {"login": 2, "ids": 1}
    assert counts.texts == {"login": "first", "ids": "third"}


@pytest.mark.parametrize(
    ("verdicts", "differ"),
    [([], False), (["same"], False), (["same", "different"], True), (["refused"], True), (["other"], False)],
)
def test_a_replay_differs_where_an_answer_does(verdicts: list[str], differ: bool) -> None:
    counts = ReplayCounts()
    for verdict in verdicts:
        counts.count_outcome(outcome(verdict))
    assert counts.has_differences is differ
