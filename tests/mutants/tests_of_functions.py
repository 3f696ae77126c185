"""What each test calls in; for a place in the sources the tests to run, those first that do little else, out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

__all__ = ["TestsOfFunctions", "note_calls"]

# The most tests that are run for a mutant: what so many do not see, others that do the same do not either.
MOST: Final = 400


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
        self._by_function: dict[str, list[str]] = {}
        self._by_file: dict[str, list[str]] = {}
        noted: list[tuple[str, list[str]]] = []
        for path in sorted(folder.glob("*.ndjson")):
            noted += [tuple(json.loads(line)) for line in path.read_text().splitlines()]
        if not noted:
            raise FileNotFoundError(f"{folder}: no calls of tests in it")
        noted.sort(key=lambda each: (len(each[1]), each[0]))  # those that call least first
        for test, functions in noted:
            for function in functions:
                self._by_function.setdefault(function, []).append(test)
            for path_name in {function.rpartition(":")[0] for function in functions}:
                self._by_file.setdefault(path_name, []).append(test)

    def choose(self, path: str, function: int) -> list[str]:
        """The tests that call the function at this line of a file; outside of functions, those that call any of it.

        Tests in the folder that mirrors the file's come besides: they may start processes, whose calls are not known.
        """
        found = self._by_function.get(f"{path}:{function}", []) if function else self._by_file.get(path, [])
        mirror = f"tests/{'/'.join(path.split('/')[1:-1])}".rstrip("/") + "/"
        near = [test for test in self._by_file.get(path, []) if test.startswith(mirror)]
        return list(dict.fromkeys([*found, *near]))[:MOST]
