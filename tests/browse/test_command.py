"""The command line of `kw browse` in; one line where there is no screen, else a screen, and the terminal as it was."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("textual", reason="kw browse needs textual")

import kwcli.commands.browse as command_module
from tests.cli.worlds import kw, world
from tests.waiting import until

RESTORED = (b"\x1b[?1049l", b"\x1b[?25h", b"\x1b[?1000l")


def test_without_a_terminal_one_line_says_so() -> None:
    found = kw("browse", "captures/tour.pcapng")
    assert (found.code, found.out) == (2, "")
    assert found.err == "kw: kw browse needs a terminal; kw sniff prints the same rows\n"


def test_without_textual_one_line_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command_module, "find_spec", lambda _: None)
    found = kw("browse", "captures/tour.pcapng", env=world(terminal=True))
    assert found.code == 1
    assert found.err.startswith("kw: kw browse needs textual: install kafka-wire[browse]")
    assert found.err.count("\n") == 1


@pytest.mark.one_in(3)
@pytest.mark.parametrize("words", [["browse", "x.pcap"], ["browse", "--help"], ["--help"], ["sniff", "--help"]])
def test_textual_is_not_loaded_before_there_is_a_screen(words: list[str]) -> None:
    code = (
        "import sys; from kwcli.main import run; from kwcli.run_environment import Environment;"
        f"run({words!r}, Environment.of_process());"
        "print([name for name in sys.modules if name.split('.')[0] in ('textual', 'rich')], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1] == "[]"


class OnTerminal:
    """`kw browse WORDS` on a terminal of its own."""

    def __init__(self, *words: str) -> None:
        self.pid, self.terminal = pty.fork()
        if not self.pid:
            os.environ.update(TERM="xterm-256color", COLUMNS="80", LINES="24", LC_ALL="C.UTF-8")
            os.execv(sys.executable, [sys.executable, "-m", "kwcli", "browse", *words])
        self.seen = b""
        self.code: int | None = None

    def _read_what_is_there(self) -> None:
        while select.select([self.terminal], [], [], 0.02)[0]:
            try:
                data = os.read(self.terminal, 65536)
            except OSError:
                break
            if not data:
                break
            self.seen += data

    def wait_for(self, text: bytes) -> None:
        """Wait until a text was on the screen."""

        def read() -> bool:
            self._read_what_is_there()
            return text in re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b"", self.seen) or text in self.seen

        until(read)

    def press(self, keys: bytes) -> None:
        """Press keys."""
        os.write(self.terminal, keys)

    def wait_for_end(self) -> int:
        """Read to the end; returns the exit code."""

        def has_ended() -> bool:
            self._read_what_is_there()
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
            return pid != 0

        until(has_ended)
        os.close(self.terminal)
        assert self.code is not None
        return self.code


def test_a_screen_is_shown_and_the_terminal_is_as_it_was() -> None:
    run = OnTerminal("captures/tour.pcapng")
    run.wait_for(b"193 rows")
    run.press(b"q")
    assert run.wait_for_end() == 0
    assert all(code in run.seen for code in RESTORED)
    assert b"Traceback" not in run.seen


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_signals_end_it_in_an_orderly_way(number: signal.Signals) -> None:
    run = OnTerminal("captures/tour.pcapng", "-f", "error")
    run.wait_for(b"match")
    os.kill(run.pid, number)
    assert run.wait_for_end() == 130
    assert all(code in run.seen for code in RESTORED)


@pytest.mark.long
def test_a_defect_gives_the_terminal_back(tmp_path: Path) -> None:
    broken = tmp_path / "sitecustomize.py"
    broken.write_text(
        "import kwcli.browse.panes.list_pane as pane\n"
        "def fail(self): raise ZeroDivisionError('on purpose')\n"
        "pane.ListPane.action_open_message = fail\n"
    )
    os.environ["PYTHONPATH"] = f"{tmp_path}:{os.getcwd()}"
    try:
        run = OnTerminal("captures/tour.pcapng")
    finally:
        del os.environ["PYTHONPATH"]
    run.wait_for(b"193 rows")
    run.press(b"\r")
    assert run.wait_for_end() == 1
    assert all(code in run.seen for code in RESTORED)
    assert b"kw: defect: ZeroDivisionError: on purpose (--debug shows where)" in run.seen
    assert b"Traceback" not in run.seen


@pytest.mark.long
def test_an_unreadable_file_is_one_line() -> None:
    run = OnTerminal("pyproject.toml")
    assert run.wait_for_end() == 1
    assert b"kw: pyproject.toml: neither a capture nor NDJSON" in run.seen
    assert b"\x1b[?1049h" not in run.seen
