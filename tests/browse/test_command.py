"""The command line of `kw browse` in; one line where there is no screen, else a screen, and the terminal as it was."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("textual", reason="kw browse needs textual")

import kwcli.commands.browse as command_module
from tests.browse.on_terminal import OnTerminal
from tests.cli.worlds import kw, world


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


@pytest.mark.long
def test_an_unreadable_file_is_one_line() -> None:
    run = OnTerminal("pyproject.toml")
    assert run.wait_for_end() == 1
    run.close()
    assert b"kw: pyproject.toml: neither a capture nor NDJSON" in run.seen
    assert b"\x1b[?1049h" not in run.seen
