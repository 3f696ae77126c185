"""Questions for Kafka's own record classes in, their answers out: one JVM for all questions."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from tests.broker.jars import Missing, client_jars, explain_missing_tools

ROOT: Final = Path(__file__).parents[2]
# The last release that writes all three formats.
RELEASE: Final = "3.9.2"


def ask(questions: list[list[Any]]) -> list[Any]:
    """The answers to the questions, in order; skips the test without Java or the jars."""
    problem = explain_missing_tools()
    if problem:
        pytest.skip(problem)
    try:
        jars = [str(path) for path in client_jars(RELEASE)]
    except Missing as missing:
        pytest.skip(str(missing))
    lines = "".join(json.dumps(question) + "\n" for question in questions)
    command = [sys.executable, "-m", "tests.oracle.java_records", *jars]
    done = subprocess.run(command, input=lines, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answers) == len(questions), done.stderr[-3000:]
    return answers
