"""Every kind of end × every command that reads captures × inputs without an end: a growing file, a ring, an interface.

Ctrl-C is how these end, so that it is no early end there; a limit is.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic
from types import SimpleNamespace

import pytest

from kwcli.reading import follow_captures, live_capture
from kwcli.reading.live_capture import LiveCapture
from kwcli.run_environment import Environment, Exit
from tests.cli.worlds import Outcome, kw, world
from tests.reading.test_ends_of_commands import COMMANDS, CUT, WHOLE, ClosedPipe

INPUTS = ("growing", "ring", "live")
PIECE = 1 << 16


def stop(_seconds: float = 0) -> None:
    raise KeyboardInterrupt


class DownInterface:
    """The socket of an interface that has gone down."""

    def recv_raw(self, _size: int) -> None:
        raise OSError(errno.ENETDOWN, os.strerror(errno.ENETDOWN))


@pytest.fixture(autouse=True)
def _stop_when_nothing_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follow_captures, "time", SimpleNamespace(sleep=stop, monotonic=monotonic))


Give = Callable[..., Outcome]


@pytest.fixture
def give(command: str, how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Give:
    """The command over bytes that come in a growing file, in the second file of a ring, or from an interface."""

    def run(data: bytes, *more: str, env: Environment | None = None, down: bool = False) -> Outcome:
        words = [str(tmp_path / "x.pcapng"), "--follow"]
        if how == "live":
            words = ["-i", "lo"]

            def stream_pcapng(capture: LiveCapture) -> Iterator[bytes]:
                for at in range(0, len(data), PIECE):
                    yield data[at : at + PIECE]
                if down:
                    capture._receive_packet(DownInterface(), bare=False)
                stop()

            monkeypatch.setattr(live_capture, "_open_sockets", lambda _interface, _filter: ([], [1]))
            monkeypatch.setattr(LiveCapture, "stream_pcapng", stream_pcapng)
        elif how == "ring":
            (tmp_path / "x.pcapng").write_bytes(WHOLE)
            (tmp_path / "x.pcapng1").write_bytes(data)
        else:
            (tmp_path / "x.pcapng").write_bytes(data)
        return kw(command, *words, *COMMANDS[command], *more, env=env)

    return run


pytestmark = [
    pytest.mark.parametrize("how", INPUTS),
    pytest.mark.parametrize("command", [command for command in COMMANDS if command != "replay"]),
]
some = pytest.mark.one_in(3)


@some
def test_ctrl_c_is_how_they_end(give: Give) -> None:
    stopped = give(WHOLE)
    assert (stopped.code, stopped.out != "") == (Exit.INTERRUPTED, True)
    assert "the rest is not read" not in stopped.err


@some
def test_a_limit_ends_them_as_well(give: Give, command: str) -> None:
    limited = give(WHOLE, "--limit", "30")
    assert limited.code == Exit.DONE
    assert limited.out or command == "groups"  # none of them is in the first exchanges
    assert "--limit reached, the rest is not read" in limited.err


@some
def test_a_closed_pipe(give: Give) -> None:
    env = world()
    env.stdout = ClosedPipe()
    closed = give(WHOLE, env=env)
    assert (closed.code, closed.out) == (Exit.DONE, "")
    assert "Traceback" not in closed.err


@some
def test_a_packet_that_is_not_whole_yet_is_waited_for(give: Give, how: str) -> None:
    stopped = give(CUT)
    assert (stopped.code, stopped.out != "") == (Exit.INTERRUPTED, True)
    assert ("its last packet is not whole yet" in stopped.err) == (how != "live")


@some
def test_a_bad_input(give: Give, how: str) -> None:
    """An interface goes down; in files stands something else than packets: everything before it is shown."""
    broken = give(WHOLE if how == "live" else WHOLE + b"\xff" * 64, down=how == "live")
    assert broken.code == (Exit.FAILURE if how == "live" else Exit.INTERRUPTED)
    assert broken.out
    assert ("lo: network is down" if how == "live" else "everything before it is shown") in broken.err


@some
def test_no_capture_at_all(give: Give, how: str) -> None:
    nothing = give(b"%PDF-1.7 " * 10)
    ends = {"growing": (Exit.FAILURE, 'not a capture: starts with "%PDF"'), "ring": (Exit.INTERRUPTED, "not a capture")}
    code, text = ends.get(how, (Exit.INTERRUPTED, ""))
    assert nothing.code == code
    assert text in nothing.err
