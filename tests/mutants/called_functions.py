"""A plugin of pytest (`-p tests.mutants.called_functions`): notes which functions of the program each test calls.

At the end, a file of the folder KW_CALLS_TO gets a line of JSON for each test: its name, and `path:line` of functions.
Processes that tests start are not followed.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Generator
from pathlib import Path
from types import CodeType, FrameType
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[2]
PROGRAM: Final = tuple(str(ROOT / package) + os.sep for package in ("decoders", "kwcli"))

_called: set[CodeType] = set()
_lines: list[str] = []


def _note(frame: FrameType, _event: str, _argument: object) -> None:
    _called.add(frame.f_code)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Note the functions that a test, its fixtures included, calls."""
    _called.clear()
    threading.settrace(_note)
    sys.settrace(_note)
    try:
        return (yield)
    finally:
        sys.settrace(None)
        threading.settrace(None)
        here = {
            f"{os.path.relpath(code.co_filename, ROOT)}:{code.co_firstlineno}"
            for code in _called
            if code.co_filename.startswith(PROGRAM)
        }
        _lines.append(json.dumps([item.nodeid, sorted(here)]))


def pytest_sessionfinish() -> None:
    """Write what was noted in this process."""
    if _lines:
        name = f"{os.environ.get('PYTEST_XDIST_WORKER', 'alone')}-{os.getpid()}.ndjson"
        Path(os.environ["KW_CALLS_TO"], name).write_text("".join(f"{line}\n" for line in _lines))
