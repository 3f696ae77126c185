"""`kw call --skeleton` and `--edit`: the request as YAML to fill in, and the body read back from it."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from kwcli.run_environment import Exit
from tests.cli.worlds import kw, world


def test_a_skeleton_can_be_sent() -> None:
    text = kw("call", "FindCoordinator", "--skeleton").out
    assert "coordinator_keys:" in text
    outcome = kw("call", "FindCoordinator", "-", "--dry-run", "-o", "ndjson", env=world(text.encode()))
    assert json.loads(outcome.out)["request"] == {"key_type": 0, "coordinator_keys": ["kw-example"]}


def test_what_the_editor_leaves_is_sent() -> None:
    env = world(variables={"EDITOR": "sed -i s/kw-example/billing/"})
    outcome = kw("call", "FindCoordinator", "--edit", "--dry-run", "-o", "ndjson", env=env)
    assert json.loads(outcome.out)["request"]["coordinator_keys"] == ["billing"]


def test_a_change_that_nobody_described_is_not_sent() -> None:
    outcome = kw("call", "DeleteTopics", "--edit", "--dry-run", env=world(variables={"EDITOR": "true"}))
    assert (outcome.code, outcome.out) == (Exit.USAGE, "")
    assert "DeleteTopics changes the cluster" in outcome.err
    env = world(variables={"EDITOR": "sed -i 's/topics: ../topics: [{name: orders}]/'"})
    outcome = kw("call", "DeleteTopics", "--edit", "--dry-run", "-o", "ndjson", env=env)
    assert json.loads(outcome.out)["request"]["topics"][0]["name"] == "orders"


@pytest.mark.parametrize("editor", ["", "vi", "/usr/bin/vim -n", "nano"])
def test_an_editor_that_draws_is_not_started_without_a_terminal(editor: str) -> None:
    """A process in its own session has no terminal; vi would wait, or take standard input for commands."""
    done = subprocess.run(
        [sys.executable, "-m", "kwcli.main", "call", "FindCoordinator", "--edit", "--dry-run"],
        env={**os.environ, "VISUAL": "", "EDITOR": editor},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        start_new_session=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (Exit.USAGE, "")
    shown = editor or "vi"
    assert done.stderr == (
        f"kw: the editor {shown} needs a terminal, and there is none; nothing is sent"
        " (set $EDITOR to an editor that needs none)\n"
    )
