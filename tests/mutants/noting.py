"""The functions of the program that this process calls, noted in the folder KW_CALLS_TO as lines of JSON.

It imports nothing of the tests: programs that tests start run it as well (`in_programs/sitecustomize.py`).
"""

from __future__ import annotations

import json
import os
import threading
from _lsprof import Profiler
from types import CodeType
from typing import Any, Final

ROOT: Final = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM: Final = tuple(os.path.join(ROOT, package) + os.sep for package in ("decoders", "kwcli"))


class Calls:
    """Notes calls in all threads, by Python's profiler, which takes less time than a function for each call."""

    def __init__(self) -> None:
        self._profilers = [Profiler(builtins=False, subcalls=False)]

    def start(self) -> None:
        """Note the calls of this thread, and of those that start from now on."""
        threading.setprofile(self._enter_thread)
        self._profilers[0].enable()

    def _enter_thread(self, *_event: Any) -> None:
        profiler = Profiler(builtins=False, subcalls=False)
        self._profilers.append(profiler)
        profiler.enable()

    def take(self) -> list[str]:
        """The functions called since the last time, as `path:qualified.name`."""
        found = set()
        for profiler in self._profilers:
            for entry in profiler.getstats():
                code = entry.code
                if isinstance(code, CodeType) and code.co_filename.startswith(PROGRAM):
                    found.add(f"{os.path.relpath(code.co_filename, ROOT)}:{code.co_qualname}")
            profiler.clear()
        return sorted(found)

    def write(self, test: str, seconds: float | None = None) -> None:
        """Append a line: the test's name, its seconds (null of a program that it started), and what was called."""
        worker = os.environ.get("PYTEST_XDIST_WORKER", "alone")
        with open(os.path.join(os.environ["KW_CALLS_TO"], f"{worker}-{os.getpid()}.ndjson"), "a") as file:
            file.write(json.dumps([test, seconds, self.take()]) + "\n")
