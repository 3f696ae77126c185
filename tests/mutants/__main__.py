"""Makes mutants of a random sample of the sources, runs the tests that call the changed place, and prints survivors.

    python -m tests.mutants --sample 60 [--seed N] [--calls FOLDER] [--jobs 2] [--within PATH] [--verbose] [--fast]

First the tests of `.ci/run` run once to note which functions each of them calls; FOLDER keeps that for later runs, on
a changed tree as well. Then the tests that call the changed function run, the closest few first: in forks of one
process, and where that cannot be or kills nothing, in a copy of the tree. A mutant is killed where a test goes red
that is green without it, or does not end. With --fast what is green in a fork has survived: programs that tests start
have no change.

Survivors that no input can show have a line in equivalent.tsv, which says why. Exit code 1 where fewer than 95 of 100
mutants are killed, or more than a tenth of the sample is said to be equivalent.
"""

from __future__ import annotations

import argparse
import csv
import os
import pickle
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

import pytest

from tests.mutants.changes import Mutant, find_mutants
from tests.mutants.in_forks import Change
from tests.mutants.tests_of_functions import TestsOfFunctions, note_calls

ROOT: Final = Path(__file__).resolve().parents[2]
# Declarations and tables of texts: their oracle is Kafka's own code, or nobody reads them but people.
LEFT_OUT: Final = ("decoders/apis/", "kwcli/help/", "decoders/mypyc_modules.py")
NOT_COPIED: Final = (".git", ".venv", "*_cache", ".hypothesis", "*.egg-info", "build", "dist")
KILLED_LEAST: Final = 0.95
EQUIVALENT_MOST: Final = 0.1
# So many tests run first: they kill most mutants, and fewer files are collected for them.
CLOSEST: Final = 12
# No test of a run begins after so many seconds of the processor's time; a mutant may be a loop without end.
SECONDS: Final = 40
TIMEOUT_S: Final = 300


# (path, line without its indentation, before, after) → why no input shows the change.
Known = dict[tuple[str, str, str, str], str]


class Result(NamedTuple):
    """The end of a mutant: `killed` (by a test), `survived`, `equivalent` (for a reason) or `uncalled` by any test."""

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


def equivalents() -> Known:
    """The mutants of equivalent.tsv."""
    with (Path(__file__).parent / "equivalent.tsv").open(newline="") as file:
        rows = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))[1:]
    return {(path, line, before, after): why for path, line, before, after, why in rows}


def run_tests(tree: Path, tests: Sequence[str], *options: str) -> tuple[bool, list[str]]:
    """Whether tests are green in a tree, and which are red: none if something else fails, or if they do not end."""
    with tempfile.NamedTemporaryFile("w", suffix=".tests") as names, tempfile.TemporaryFile("w+") as output:
        names.write("".join(f"{name}\n" for name in tests))
        names.flush()
        files = list(dict.fromkeys(name.partition("::")[0] for name in tests))
        plugins = ["-p", "no:cacheprovider", "-p", "tests.mutants.closest_first", "--randomly-dont-reorganize"]
        run = subprocess.Popen(
            [sys.executable, "-m", "pytest", "-n", "0", "-q", "-m", "", "-rfE", "--tb=no", *plugins, *options, *files],
            cwd=tree,
            env={**os.environ, "CI": "", "KW_TESTS": names.name, "KW_SECONDS": str(SECONDS), "PYTHONPATH": str(tree)},
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            green = run.wait(TIMEOUT_S) in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
        except subprocess.TimeoutExpired:
            return False, []
        finally:
            with suppress(ProcessLookupError):
                os.killpg(run.pid, signal.SIGKILL)
            run.wait()
        output.seek(0)
        lines = output.read().splitlines()
    reds = (line.partition(" ")[2] for line in lines if line.startswith(("FAILED ", "ERROR ")))
    return green, [red.partition(" - ")[0] for red in reds]


def judge(tree: Path, path: str, mutant: Mutant, tests: Sequence[str], *options: str) -> Result:
    """Run the tests of a mutant in a copy of the tree; the copy is as before then."""
    if not tests:
        return Result(path, mutant, "uncalled")
    changed = tree / path
    before, times = changed.read_bytes(), changed.stat()
    changed.write_text(mutant.text)
    try:
        for some in (tests[:CLOSEST], tests[CLOSEST:]):
            green, reds = run_tests(tree, some, "-x", *options) if some else (True, [])
            if not green:
                return Result(path, mutant, "killed", *reds[:1])
    finally:
        changed.write_bytes(before)
        os.utime(changed, ns=(times.st_atime_ns, times.st_mtime_ns))
    return Result(path, mutant, "survived", f"({len(tests)} tests)")


def judge_in_forks(
    drawn: list[tuple[str, Mutant]], tests: TestsOfFunctions, known: Known, *, left_undecided: bool
) -> tuple[list[Result], list[tuple[str, Mutant]]]:
    """Judge mutants of functions in forks of one process; what these cannot judge, or do not kill, is left over.

    Unless survivors are to be `left_undecided`, they are results as well, but for those of functions that no test calls
    but by the import of their module, which is over when a fork begins.
    """
    changes: dict[int, Change] = {}
    for number, (path, mutant) in enumerate(drawn):
        if mutant.function and (path, mutant.line_text, mutant.before, mutant.after) not in known:
            changes[number] = Change(path, mutant.text, mutant.function, tests.choose(path, mutant.function))
    files = sorted({name.partition("::")[0] for change in changes.values() for name in change.tests})
    with tempfile.TemporaryDirectory() as folder:
        ends, given = Path(folder, "ends"), Path(folder, "mutants")
        ends.touch()
        given.write_bytes(pickle.dumps(changes))
        # Threads and programs that a test has started do not live on in a fork.
        options = ["-n", "0", "-q", "-m", "not full and not broker and not oracle", "-p", "no:cacheprovider"]
        subprocess.run(
            [sys.executable, "-m", "pytest", *options, "-p", "tests.mutants.in_forks", *files],
            cwd=ROOT,
            env={**os.environ, "CI": "", "KW_MUTANTS": str(given), "KW_ENDS": str(ends)},
            check=True,
        )
        said = dict(line.split("\t") for line in ends.read_text().splitlines())
    results: list[Result] = []
    undecided: list[tuple[str, Mutant]] = []
    for number, (path, mutant) in enumerate(drawn):
        end = said.get(str(number))
        if end:
            results.append(Result(path, mutant, "killed", end))
        elif end is None or left_undecided or not tests.is_called(path, mutant.function):
            undecided.append((path, mutant))
        else:
            results.append(Result(path, mutant, "survived", f"({len(changes[number].tests)} tests)"))
    return results, undecided


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__.partition("\n")[0])
    parser.add_argument("--sample", type=int, default=60)
    parser.add_argument("--seed", type=int, default=SystemRandom().randrange(10**6))
    parser.add_argument("--calls", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--within", default="")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--fast", action="store_true")
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
        tests = TestsOfFunctions(ROOT, calls)
        known = equivalents()
        red_without: set[str] = set()

        def write_result(result: Result) -> None:
            if asked.verbose or result.what != "killed":
                sys.stdout.write(f"{result.line}\n")
                sys.stdout.flush()

        def judge_one(drawn: tuple[str, Mutant]) -> Result:
            path, mutant = drawn
            if why := known.get((path, mutant.line_text, mutant.before, mutant.after)):
                result = Result(path, mutant, "equivalent", why)
            else:
                chosen = tests.choose(path, mutant.function)
                tree = trees.get()
                try:
                    left_out = [f"--deselect={name}" for name in red_without]
                    result = judge(tree, path, mutant, chosen, *left_out)
                finally:
                    trees.put(tree)
            write_result(result)
            return result

        sys.stdout.write(f"seed {asked.seed}\n")
        drawn = draw(Random(asked.seed), asked.within, asked.sample)
        results, undecided = judge_in_forks(drawn, tests, known, left_undecided=not asked.fast)
        for result in results:
            write_result(result)
        with ThreadPoolExecutor(asked.jobs) as pool:
            while undecided:
                found = list(pool.map(judge_one, undecided))
                killers = {result.why for result in found if result.what == "killed" and result.why}
                if killers:
                    # What is red without a mutant as well kills none.
                    red_without |= set(run_tests(tree, sorted(killers))[1])
                undecided = [(result.path, result.mutant) for result in found if result.why in red_without]
                results += [result for result in found if result.why not in red_without]
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
