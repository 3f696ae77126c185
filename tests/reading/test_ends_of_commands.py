"""Every kind of end × every command that reads captures × a file, standard input, a FIFO."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from threading import Thread

import pytest

from kwcli.main import _raise_keyboard_interrupt
from kwcli.reading.capture_sources import CaptureSource
from kwcli.run_environment import Environment, Exit
from tests.captures.shipped import FOLDER
from tests.cli.worlds import Outcome, kw, world

WHOLE = (FOLDER / "tour.pcapng").read_bytes()
# More than one piece, so that a run has read a part of it when it ends.
BIG = WHOLE * 2
CUT = BIG[: len(WHOLE) - 40]  # inside a packet
STOP_AT = 1 << 16

COMMANDS: dict[str, tuple[str, ...]] = {
    "sniff": ("-o", "ndjson"),
    "stats": ("-o", "ndjson"),
    "clients": ("-o", "ndjson"),
    "groups": ("-o", "ndjson"),
    "topics": ("-o", "ndjson"),
    "brokers": ("-o", "ndjson"),
    "doctor": ("-o", "ndjson", "--fail-on", "never"),
    "audit": ("-o", "ndjson", "--target", "3.0"),
    "report": ("-o", "json"),
    "replay": ("-o", "ndjson", "--dry-run"),
}
INPUTS = ("file", "pipe", "fifo")


class ClosedPipe(BytesIO):
    """A standard output that nobody reads any more."""

    def write(self, _data: object, /) -> int:
        raise BrokenPipeError


def given(command: str, data: bytes, how: str, folder: Path, *more: str, env: Environment | None = None) -> Outcome:
    """A command that reads these bytes from a file, from standard input or from a FIFO."""
    env = env or world()
    path = folder / "tour.pcapng"
    if how == "file":
        path.write_bytes(data)
    elif how == "pipe":
        env.stdin = BytesIO(data)
    else:
        os.mkfifo(path)
        Thread(target=write_quietly, args=(path, data), daemon=True).start()
    return kw(command, "-" if how == "pipe" else str(path), *COMMANDS[command], *more, env=env)


def write_quietly(path: Path, data: bytes) -> None:
    try:
        path.write_bytes(data)
    except BrokenPipeError:
        return  # the reader has stopped, as it was to


def stop_reading(monkeypatch: pytest.MonkeyPatch, stop: Callable[[], object]) -> None:
    """Have `stop` called when STOP_AT bytes of an input were read."""
    read = CaptureSource._read_piece

    def read_piece(source: CaptureSource, size: int) -> bytes:
        if source.taken >= STOP_AT:
            stop()
        return read(source, size)

    monkeypatch.setattr(CaptureSource, "_read_piece", read_piece)


pytestmark = [pytest.mark.parametrize("how", INPUTS), pytest.mark.parametrize("command", COMMANDS)]
some = pytest.mark.one_in(4)


@some
def test_the_end_of_the_input(command: str, how: str, tmp_path: Path) -> None:
    whole = given(command, WHOLE, how, tmp_path)
    assert (whole.code, whole.out != "") == (Exit.DONE, True)
    assert "the rest is not read" not in whole.err


@some
def test_a_limit(command: str, how: str, tmp_path: Path) -> None:
    limited = given(command, BIG, how, tmp_path, "--limit", "30")
    assert limited.code == Exit.DONE
    if command != "groups":  # none of them is in the first exchanges
        assert limited.out
    if command != "replay":
        assert "--limit reached, the rest is not read" in limited.err


@some
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal(
    command: str, how: str, number: signal.Signals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = signal.signal(signal.SIGTERM, _raise_keyboard_interrupt)
    try:
        stop_reading(monkeypatch, lambda: signal.raise_signal(number))
        stopped = given(command, BIG, how, tmp_path)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert stopped.code == Exit.INTERRUPTED
    assert "Traceback" not in stopped.err
    if command != "replay":  # which sends nothing of a recording that it could not read
        assert stopped.out


@some
def test_a_closed_pipe(command: str, how: str, tmp_path: Path) -> None:
    env = world()
    env.stdout = ClosedPipe()
    closed = given(command, WHOLE, how, tmp_path, env=env)
    assert (closed.code, closed.out) == (Exit.DONE, "")
    if command != "replay":  # which has read the recording, and said so, before it writes
        assert closed.err == ""


@some
def test_a_bad_input(command: str, how: str, tmp_path: Path) -> None:
    broken = given(command, CUT, how, tmp_path)
    assert broken.code == Exit.FAILURE
    assert broken.out
    assert "cut off" in broken.err


@some
def test_no_capture_at_all(command: str, how: str, tmp_path: Path) -> None:
    nothing = given(command, b"%PDF-1.7 " * 10, how, tmp_path)
    assert nothing.code == Exit.FAILURE
    assert 'not a capture: starts with "%PDF"' in nothing.err
