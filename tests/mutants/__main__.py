"""Makes mutants of a random sample of the sources, runs the tests that call the changed place, and prints survivors.

    python -m tests.mutants --sample 60 [--seed N] [--calls FOLDER] [--jobs 2] [--within PATH]

First all tests run once to note which functions each of them calls; FOLDER keeps that for the next run on the same
tree. Then each mutant is written into a copy of the tree. It is killed where a test that was green goes red, or does
not end. Survivors that no input can show have a line in equivalent.tsv, which says why. Exit code 1 where fewer than
95 of 100 mutants are killed, or more than a tenth of the sample is said to be equivalent.
"""

from __future__ import annotations

import argparse
import csv
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from queue import Queue
from random import Random, SystemRandom
from typing import Final, NamedTuple

from tests.mutants.changes import Mutant, find_mutants
from tests.mutants.tests_of_functions import TestsOfFunctions, note_calls

ROOT: Final = Path(__file__).resolve().parents[2]
# Declarations and tables of texts: their oracle is Kafka's own code, or nobody reads them but people.
LEFT_OUT: Final = ("decoders/apis/", "kwcli/help/", "decoders/mypyc_modules.py")
NOT_COPIED: Final = (".git", ".venv", "*_cache", ".hypothesis", "*.egg-info", "build", "dist")
KILLED_LEAST: Final = 0.95
EQUIVALENT_MOST: Final = 0.1
# A run of tests takes at most so long, in seconds: a mutant may be a loop without end.
TIMEOUT_S: Final = 300


class Result(NamedTuple):
    """The end of a mutant: `killed`, `survived`, `equivalent` (with the reason) or `uncalled` (no test calls it)."""

    path: str
    mutant: Mutant
    what: str
    why: str = ""

    @property
    def line(self) -> str:
        """The result as a line of text."""
        before, after = (" ".join(text.split())[:60] for text in (self.mutant.before, self.mutant.after))
        return f"{self.what:10} {self.path}:{self.mutant.line} `{before}` → `{after}` {self.why}".rstrip()


def sources(within: str) -> list[str]:
    """The paths of files of which mutants are made."""
    paths = [
        path.relative_to(ROOT).as_posix()
        for package in ("decoders", "kwcli")
        for path in ROOT.glob(f"{package}/**/*.py")
    ]
    return sorted(path for path in paths if path.startswith(within) and not path.startswith(LEFT_OUT))


def draw(rng: Random, within: str, size: int) -> list[tuple[str, Mutant]]:
    """Mutants of random files, one of each draw of a file."""
    paths = sources(within)
    found: list[tuple[str, Mutant]] = []
    while len(found) < size:
        path = rng.choice(paths)
        mutants = list(find_mutants((ROOT / path).read_text()))
        if mutants:
            found.append((path, rng.choice(mutants)))
    return found


def equivalents() -> dict[tuple[str, str, str], str]:
    """(path, before, after) → why no input shows the change."""
    with (Path(__file__).parent / "equivalent.tsv").open(newline="") as file:
        rows = list(csv.reader(file, delimiter="\t"))[1:]
    return {(path, before, after): why for path, before, after, why in rows}


def run_tests(tree: Path, tests: Sequence[str]) -> bool:
    """Whether the tests are green in a tree."""
    with tempfile.NamedTemporaryFile("w", suffix=".tests") as names:
        names.write("".join(f"{name}\n" for name in tests))
        names.flush()
        files = list(dict.fromkeys(name.partition("::")[0] for name in tests))
        options = ["-n", "0", "-x", "-q", "-m", "", "-p", "no:cacheprovider", f"--only-of={names.name}"]
        environment = {key: value for key, value in os.environ.items() if key != "CI"}
        run = subprocess.Popen(
            [sys.executable, "-m", "pytest", *options, *files],
            cwd=tree,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            return run.wait(TIMEOUT_S) == 0
        except subprocess.TimeoutExpired:
            return False
        finally:
            with suppress(ProcessLookupError):
                os.killpg(run.pid, signal.SIGKILL)
            run.wait()


def judge(tree: Path, path: str, mutant: Mutant, tests: list[str], known: dict[tuple[str, str, str], str]) -> Result:
    """Run the tests of a mutant in a copy of the tree; the copy is as before then."""
    if why := known.get((path, mutant.before, mutant.after)):
        return Result(path, mutant, "equivalent", why)
    if not tests:
        return Result(path, mutant, "uncalled")
    changed = tree / path
    before, times = changed.read_bytes(), changed.stat()
    changed.write_text(mutant.text)
    try:
        if run_tests(tree, tests):
            return Result(path, mutant, "survived", f"({len(tests)} tests)")
    finally:
        changed.write_bytes(before)
        os.utime(changed, ns=(times.st_atime_ns, times.st_mtime_ns))
    return Result(path, mutant, "killed")


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__.partition("\n")[0])
    parser.add_argument("--sample", type=int, default=60)
    parser.add_argument("--seed", type=int, default=SystemRandom().randrange(10**6))
    parser.add_argument("--calls", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--within", default="")
    asked = parser.parse_args(words)
    with tempfile.TemporaryDirectory() as scratch:
        calls = asked.calls or Path(scratch, "calls")
        calls.mkdir(parents=True, exist_ok=True)
        trees: Queue[Path] = Queue()
        for number in range(asked.jobs):
            tree = Path(scratch, f"tree{number}")
            shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(*NOT_COPIED), symlinks=True)
            trees.put(tree)
        if not any(calls.iterdir()):
            note_calls(ROOT, calls)
        tests = TestsOfFunctions(calls)
        known = equivalents()

        def judge_one(drawn: tuple[str, Mutant]) -> Result:
            path, mutant = drawn
            tree = trees.get()
            try:
                result = judge(tree, path, mutant, tests.choose(path, mutant.function), known)
            finally:
                trees.put(tree)
            if result.what != "killed":
                sys.stdout.write(f"{result.line}\n")
                sys.stdout.flush()
            return result

        sys.stdout.write(f"seed {asked.seed}\n")
        with ThreadPoolExecutor(asked.jobs) as pool:
            results = list(pool.map(judge_one, draw(Random(asked.seed), asked.within, asked.sample)))
    counts = {
        what: sum(result.what == what for result in results)
        for what in ("killed", "survived", "uncalled", "equivalent")
    }
    sys.stdout.write(", ".join(f"{count} {what}" for what, count in counts.items()) + "\n")
    judged = len(results) - counts["equivalent"]
    too_few = counts["killed"] < KILLED_LEAST * judged
    return int(too_few or counts["equivalent"] > EQUIVALENT_MOST * len(results))


if __name__ == "__main__":
    sys.exit(main())
