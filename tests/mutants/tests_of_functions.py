"""What each test calls in; for a place in the sources the tests to run, the closest ones first, out."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final, NamedTuple

__all__ = ["TestsOfFunctions", "note_calls"]

# The most tests that are run for a mutant, and the most seconds that they took under the profiler: what so many do not
# see, others that do the same do not either. The most files of tests that speak of its module.
MOST: Final = 400
SECONDS: Final = 90.0
FILES_MOST: Final = 6


class _Noted(NamedTuple):
    """What is noted of a test."""

    name: str
    seconds: float
    functions: frozenset[str]


def note_calls(tree: Path, folder: Path) -> None:
    """Run the tests of a tree, those that take long as well, and note in a folder which functions each of them calls.

    What `.ci/run` runs is what every change is judged by; of many rows of a rule a fifth or less run by default.
    """
    environment = {**os.environ, "KW_CALLS_TO": str(folder)}
    plugin = ["-m", "not full", "-p", "tests.mutants.called_functions"]
    subprocess.run([sys.executable, "-m", "pytest", *plugin], cwd=tree, env=environment, check=False)


class TestsOfFunctions:
    """Tests by the functions that they call, and by the files of these."""

    __test__ = False  # pytest takes the name for tests

    def __init__(self, tree: Path, folder: Path) -> None:
        """Read what `note_calls` has noted, and the tests of a tree. Raises FileNotFoundError if nothing is."""
        self._texts = {
            path.relative_to(tree).as_posix(): path.read_text() for path in sorted(tree.glob("tests/**/test_*.py"))
        }
        self._words = {path: frozenset(re.findall(r"\w{4,}", text)) for path, text in self._texts.items()}
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

    def is_called(self, path: str, function: str) -> bool:
        """Whether a test calls this function of a file, unlike one that runs only when its module is imported."""
        return f"{path}:{function}" in self._by_function

    def choose(self, path: str, function: str) -> list[str]:
        """The tests that call this function of a file; outside of functions, or if none calls it, those that call any.

        First come those of the folder that mirrors the file's, and of them those that call least besides. What a test
        got from a cache is not known, nor what is new since the notes: files of tests that speak of the file, or of the
        function, come last, by their paths.
        """
        mirror = f"tests/{'/'.join(path.split('/')[1:-1])}".rstrip("/") + "/"

        def closeness(noted: _Noted) -> tuple[bool, int, float, str]:
            return not noted.name.startswith(mirror), len(noted.functions), noted.seconds, noted.name

        found = self._by_function.get(f"{path}:{function}") or self._by_file.get(path, [])
        chosen: list[str] = []
        left = SECONDS
        for noted in sorted(found, key=closeness):
            if len(chosen) < MOST and noted.seconds < left and noted.name.partition("::")[0] in self._texts:
                chosen.append(noted.name)
                left -= noted.seconds
        return chosen + self._find_files(path, function, mirror)

    def _find_files(self, path: str, function: str, mirror: str) -> list[str]:
        """The test files that speak most of a function and its module."""
        package, _, stem = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".").rpartition(".")
        name = function.rpartition(".")[2]
        scores = {
            test: 2 * (f"{package}.{stem}" in text or (f"from {package} import" in text and stem in self._words[test]))
            + 4 * (name in self._words[test])
            + test.startswith(mirror)
            + (f"test_{stem}" in test)
            for test, text in self._texts.items()
        }
        best = sorted((-score, len(self._texts[test]), test) for test, score in scores.items() if score)
        return [test for _, _, test in best[:FILES_MOST]]
