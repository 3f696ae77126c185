"""Ends of every kind in; a terminal that is as it was before, a line that says why, and no process left, out."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

pytest.importorskip("textual", reason="kw browse needs textual")

from tests.browse.on_terminal import OnTerminal
from tests.waiting import until

TOUR: Final = "captures/tour.pcapng"
# An end → what brings it, and the exit code.
ENDS: Final[dict[str, tuple[Callable[[OnTerminal], Any], int]]] = {
    "ctrl-c": (lambda run: run.press(b"\x03"), 0),
    "q": (lambda run: run.press(b"q"), 0),
    "quit while a filter is typed": (lambda run: run.press(b"fapi\x11"), 0),
    "quit from the help": (lambda run: run.press(b"?\x11"), 0),
    "SIGTERM": (lambda run: os.kill(run.process.pid, signal.SIGTERM), 130),
    "SIGHUP": (lambda run: os.kill(run.process.pid, signal.SIGHUP), 130),
    "SIGTERM in 40 columns": (lambda run: end_in_40_columns(run), 130),
}


def end_in_40_columns(run: OnTerminal) -> None:
    run.resize(40, 10)
    os.kill(run.process.pid, signal.SIGTERM)


@contextmanager
def running(*words: str, **options: Any) -> Iterator[OnTerminal]:
    run = OnTerminal(*words, **options)
    try:
        yield run
    finally:
        run.close()


def children_of(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.one_in(len(ENDS))
@pytest.mark.parametrize("name", ENDS)
def test_the_terminal_is_as_it_was(name: str) -> None:
    bring, code = ENDS[name]
    with running(TOUR) as run:
        run.wait_for(b"193 rows")
        children = children_of(run.process.pid)
        assert children
        assert run.list_faults()
        bring(run)
        assert run.wait_for_end() == code
        assert run.list_faults() == []
        assert b"Traceback" not in run.seen
        until(lambda: not any(map(is_alive, children)))


@pytest.mark.long
def test_a_closed_terminal_ends_all_processes() -> None:
    with running(TOUR) as run:
        run.wait_for(b"193 rows")
        children = children_of(run.process.pid)
        run.hang_up()
        until(lambda: not any(map(is_alive, children)))


@pytest.mark.long
def test_it_is_suspended_and_comes_back() -> None:
    with running(TOUR) as run:
        run.wait_for(b"193 rows")
        run.press(b"\x1a")
        run.wait_for_stop()
        assert run.list_faults() == []
        so_far = len(run.seen)
        run.resize(60, 20, tell=False)
        os.kill(run.process.pid, signal.SIGCONT)
        run.wait_for(b"193 rows", after=so_far)
        assert run.list_faults()
        run.press(b"q")
        assert run.wait_for_end() == 0
        assert run.list_faults() == []


@pytest.mark.long
def test_a_defect_gives_the_terminal_back(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import kwcli.browse.panes.list_pane as pane\n"
        "def fail(self): raise ZeroDivisionError('on purpose')\n"
        "pane.ListPane.action_open_message = fail\n"
    )
    with running(TOUR, variables={"PYTHONPATH": f"{tmp_path}:{os.getcwd()}"}) as run:
        run.wait_for(b"193 rows")
        run.press(b"\r")
        assert run.wait_for_end() == 1
        assert run.list_faults() == []
        assert b"kw: defect: ZeroDivisionError: on purpose (--debug shows where)" in run.seen
        assert b"Traceback" not in run.seen


@pytest.mark.long
def test_a_resize_to_40_columns_is_drawn() -> None:
    with running(TOUR) as run:
        run.wait_for(b"193 rows")
        so_far = len(run.seen)
        run.resize(40, 12)
        run.wait_for(b"1 of 193", after=so_far)
        run.press(b"\rx\t")
        run.press(b"Q")
        assert run.wait_for_end() == 0
        assert run.list_faults() == []
