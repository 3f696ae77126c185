"""Every answer of the lists is written to the last letter as it stands there."""

from __future__ import annotations

import difflib
from pathlib import Path

import pytest

from kwcli.terminal import progress
from tests.habits.whole_answers import FOLDER, Answer, read_answers, run_line

# Files of answers that are alike, of many captures or for narrow terminals.
LONG = {"faults", "incidents", "terminals"}
ANSWERS = [
    pytest.param(answer, marks=[pytest.mark.long] if path.stem in LONG else [], id=answer.line)
    for path in sorted(FOLDER.glob("*.txt"))
    for answer in read_answers(path)
]


@pytest.mark.parametrize("answer", ANSWERS)
def test_an_answer_is_as_it_stands(answer: Answer, tmp_path: Path) -> None:
    found = run_line(answer.line, tmp_path)
    changes = list(difflib.unified_diff(answer.written.splitlines(), found.splitlines(), lineterm="", n=1))
    assert changes == [], "if that is better: python -m tests.habits.whole_answers, and look at git diff"


def test_an_answer_on_a_terminal_is_the_same_on_a_slow_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "QUIET_S", 1e-9)  # every run takes so long that a user sees a bar
    (answer,) = [each for each in read_answers(FOLDER / "exchanges.txt") if each.line.startswith("@60 ")]
    assert run_line(answer.line, tmp_path) == answer.written
