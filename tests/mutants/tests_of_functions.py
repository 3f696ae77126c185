"""What each test calls in; for a place in the sources the tests to run, the closest ones first, out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Final, NamedTuple

__all__ = ["TestsOfFunctions", "note_calls"]

# The most tests that are run for a mutant, and the most seconds that they took under the profiler: what so many do not
# see, others that do the same do not either.
MOST: Final = 400
SECONDS: Final = 90.0


class _Noted(NamedTuple):
    """What is noted of a test."""

    name: str
    seconds: float
    functions: frozenset[str]


def note_calls(tree: Path, folder: Path) -> None:
    """Run the tests of a tree, and note in a folder which functions each of them calls."""
    environment = {**os.environ, "KW_CALLS_TO": str(folder)}
    plugin = ["-p", "tests.mutants.called_functions"]
    subprocess.run([sys.executable, "-m", "pytest", *plugin], cwd=tree, env=environment, check=False)


class TestsOfFunctions:
    """Tests by the functions that they call, and by the files of these."""

    __test__ = False  # pytest takes the name for tests

    def __init__(self, folder: Path) -> None:
        """Read what `note_calls` has noted. Raises FileNotFoundError where there is nothing."""
        self._by_function: dict[str, list[_Noted]] = {}
        self._by_file: dict[str, list[_Noted]] = {}
        seconds: dict[str, float] = {}
        functions: dict[str, set[str]] = {}
        for path in sorted(folder.glob("*.ndjson")):
            for line in path.read_text().splitlines():
                test, its_seconds, called = json.loads(line)
                functions.setdefault(test, set()).update(called)
                if its_seconds is not None:  # of the test itself, no program that it started
                    seconds[test] = its_seconds
        if not seconds:
            raise FileNotFoundError(f"{folder}: no calls of tests in it")
        for test, its_seconds in seconds.items():
            noted = _Noted(test, its_seconds, frozenset(functions[test]))
            for function in noted.functions:
                self._by_function.setdefault(function, []).append(noted)
            for file in {function.partition(":")[0] for function in noted.functions}:
                self._by_file.setdefault(file, []).append(noted)

    def choose(self, path: str, function: str) -> dict[str, float]:
        """The tests that call this function of a file, with their seconds; outside of functions, those that call any.

        First come those of the folder that mirrors the file's, and of them those that call least besides. Tests in that
        folder that call other functions of the file come last: what a test got from a cache is not known.
        """
        mirror = f"tests/{'/'.join(path.split('/')[1:-1])}".rstrip("/") + "/"

        def closeness(noted: _Noted) -> tuple[bool, int, float, str]:
            return not noted.name.startswith(mirror), len(noted.functions), noted.seconds, noted.name

        by_file = sorted(self._by_file.get(path, []), key=closeness)
        found = sorted(self._by_function.get(f"{path}:{function}", []), key=closeness) if function else by_file
        chosen: dict[str, float] = {}
        left = SECONDS
        for noted in [*found, *(noted for noted in by_file if noted.name.startswith(mirror))]:
            if noted.name not in chosen and len(chosen) < MOST and noted.seconds < left:
                chosen[noted.name] = noted.seconds
                left -= noted.seconds
        return chosen
