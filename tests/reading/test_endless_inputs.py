"""How commands end that follow a file: by Ctrl-C, which is no early end there, and by a limit."""

from __future__ import annotations

from pathlib import Path
from time import monotonic
from types import SimpleNamespace

import pytest

from kwcli.reading import follow_captures
from kwcli.run_environment import Exit
from tests.captures.shipped import FOLDER
from tests.cli.worlds import kw
from tests.reading.test_ends_of_commands import COMMANDS, CUT

FOLLOWING = [command for command in COMMANDS if command != "replay"]


def stop(_seconds: float) -> None:
    raise KeyboardInterrupt


@pytest.fixture(autouse=True)
def _stop_when_nothing_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follow_captures, "time", SimpleNamespace(sleep=stop, monotonic=monotonic))


@pytest.mark.parametrize("command", FOLLOWING)
def test_ctrl_c_is_how_following_ends(command: str) -> None:
    stopped = kw(command, str(FOLDER / "tour.pcapng"), "--follow", *COMMANDS[command])
    assert (stopped.code, stopped.out != "") == (Exit.INTERRUPTED, True)
    assert "the rest is not read" not in stopped.err


@pytest.mark.parametrize("command", FOLLOWING)
def test_a_limit_ends_following_as_well(command: str) -> None:
    limited = kw(command, str(FOLDER / "tour.pcapng"), "--follow", "--limit", "5", *COMMANDS[command])
    assert limited.code == Exit.DONE
    assert "--limit reached, the rest is not read" in limited.err


@pytest.mark.parametrize("command", FOLLOWING)
def test_a_packet_that_is_not_whole_yet_is_waited_for(command: str, tmp_path: Path) -> None:
    (tmp_path / "x.pcapng").write_bytes(CUT)
    stopped = kw(command, str(tmp_path / "x.pcapng"), "--follow", *COMMANDS[command])
    assert (stopped.code, stopped.out != "") == (Exit.INTERRUPTED, True)
    assert "its last packet is not whole yet" in stopped.err
