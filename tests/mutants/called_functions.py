"""A plugin of pytest (`-p tests.mutants.called_functions`): notes which functions of the program each test calls.

A file of the folder KW_CALLS_TO gets a line of JSON for each green test: its name, its seconds, and `path:function` of
each function that it, its fixtures or programs that it starts call.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path
from time import perf_counter
from typing import Final

import pytest

from tests.mutants.noting import Calls

IN_PROGRAMS: Final = Path(__file__).parent / "in_programs"

_calls: Final = Calls()
_red: Final[set[str]] = set()


def pytest_sessionstart() -> None:
    """Let programs that tests start note their calls as well."""
    found = [str(IN_PROGRAMS), str(IN_PROGRAMS.parents[2]), os.environ.get("PYTHONPATH")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, found))
    _calls.start()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note what failed or was skipped."""
    if not report.passed:
        _red.add(report.nodeid)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Note the functions that a test calls."""
    os.environ["KW_CALLS_OF"] = item.nodeid
    _calls.take()
    began = perf_counter()
    try:
        return (yield)
    finally:
        if item.nodeid not in _red:
            _calls.write(item.nodeid, round(perf_counter() - began, 3))
