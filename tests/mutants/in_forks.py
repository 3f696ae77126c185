"""A plugin of pytest (`-p tests.mutants.in_forks`): mutants of functions in, whether tests in this process see them.

Tests are collected once. For each mutant of the pickled list KW_MUTANTS a fork of the process gets the changed code of
one function, and runs the mutant's tests until one is red. It writes lines to KW_ENDS: the mutant's number, and the red
test, `timeout`, or nothing; no line where the function cannot be changed in place. Programs that tests start run the
code without the change.
"""

from __future__ import annotations

import gc
import importlib
import os
import pickle
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import CodeType, FunctionType
from typing import Final, NamedTuple

import pytest
from _pytest.runner import runtestprotocol

# No test of a mutant begins after so many seconds of the processor's time. A mutant is a loop without end where its
# process takes so many, and waits without end where it takes next to none for so long: a slow machine makes it neither.
SECONDS: Final = 8.0
LOOP_SECONDS: Final = 40.0
WAIT_S: Final = 120.0
WAITING_SECONDS: Final = 0.5


class Change(NamedTuple):
    """A mutant for a fork: the path of its module, the changed text, the qualified name of the function, its tests."""

    path: str
    text: str
    function: str
    tests: Sequence[str]


class _Stuck(Exception):
    """The function cannot be changed in place."""


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool:
    """Run all mutants instead of the collected tests."""
    by_name: dict[str, list[pytest.Item]] = {}
    for item in session.items:
        by_name[item.nodeid] = [item]
        by_name.setdefault(item.nodeid.partition("::")[0], []).append(item)
    changes: dict[int, Change] = pickle.loads(Path(os.environ["KW_MUTANTS"]).read_bytes())
    ends = Path(os.environ["KW_ENDS"])
    red_without: set[str] = set()
    undecided = dict(changes)
    while undecided:
        killers: dict[int, str] = {}
        for number, change in undecided.items():
            items = [item for name in change.tests for item in by_name.get(name, []) if item.nodeid not in red_without]
            end = _run_in_fork(list(dict.fromkeys(items)), change)
            if end is None:
                continue
            if end in by_name:
                killers[number] = end
            else:
                _write_end(ends, number, end)
        # What is red without a mutant as well kills none.
        names = {name for name in killers.values() if _run_in_fork(by_name[name], None) == name}
        red_without |= names
        for number, name in killers.items():
            if name not in names:
                _write_end(ends, number, name)
        undecided = {number: changes[number] for number, name in killers.items() if name in names}
    return True


def _write_end(ends: Path, number: int, end: str) -> None:
    with ends.open("a") as file:
        file.write(f"{number}\t{end}\n")


def _run_in_fork(items: list[pytest.Item], change: Change | None) -> str | None:
    """The first red test of those given, `timeout`, or "" where all are green; None if the change cannot be made."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
        try:
            if change is not None:
                _change_function(change)
            os.write(writing, f"+{_find_red(items)}".encode())
        except _Stuck:
            os.write(writing, b"-")
        finally:
            os._exit(0)
    os.close(writing)
    took_before, ends_at = 0.0, time.monotonic() + WAIT_S
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        took, is_over = _read_processor_seconds(child), time.monotonic() > ends_at
        if is_over and took > took_before + WAITING_SECONDS:
            took_before, ends_at, is_over = took, time.monotonic() + WAIT_S, False
        if is_over or took > LOOP_SECONDS:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            break
        time.sleep(0.02)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.set_blocking(reading, False)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read() or b""
    return None if said == b"-" else said[1:].decode() if said else "timeout"


def _read_processor_seconds(process: int) -> float:
    """The seconds of the processor's time that a process and its ended children took."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def _find_red(items: list[pytest.Item]) -> str:
    for item, following in zip(items, [*items[1:], None], strict=True):
        if sum(os.times()[:4]) > SECONDS:
            break
        if any(report.failed for report in runtestprotocol(item, log=False, nextitem=following)):
            return item.nodeid
    return ""


def _change_function(change: Change) -> None:
    """Give the function, or the one that makes it, the changed code."""
    gc.unfreeze()
    module = importlib.import_module(change.path.removesuffix(".py").removesuffix("/__init__").replace("/", "."))
    outer = change.function.partition(".<locals>")[0]
    file = module.__file__ or ""
    code = _find_code(compile(change.text, file, "exec", dont_inherit=True), outer)
    found = [
        each
        for each in gc.get_objects()
        if type(each) is FunctionType and each.__code__.co_filename == file and each.__code__.co_qualname == outer
    ]
    if not found or code is None or code == found[0].__code__:  # equal where a default changes
        raise _Stuck
    for function in found:
        function.__code__ = code


def _find_code(code: CodeType, name: str) -> CodeType | None:
    inner = [each for each in code.co_consts if isinstance(each, CodeType)]
    found = (each if each.co_qualname == name else _find_code(each, name) for each in inner)
    return next((each for each in found if each is not None), None)
