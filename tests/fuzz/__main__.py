"""Tries random input for some time, class by class: prints what was tried, and how to repeat a failure.

    python -m tests.fuzz --seconds 60 [--class NAME]… [--seed N]

The seconds are shared out evenly among the classes, and each gets at least one seed. Exit code 1 when anything failed.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from random import Random, SystemRandom
from tempfile import TemporaryDirectory
from typing import NamedTuple
from unittest.mock import patch

from tests.fuzz.classes import CLASSES, Class

# A class ends after this many failures: more of them seldom tell more.
ENOUGH = 5


class Tried(NamedTuple):
    """The counts of a class's run."""

    seeds: int
    inputs: int
    failures: int


class Hangs(BaseException):
    """A seed takes too long. A BaseException, so that no `except Exception` stops it."""


def try_class(name: str, tried: Class, seed: int, seconds: float) -> Tried:
    """Try one seed after the other until the time is over; prints each failure with the command that repeats it."""
    until = time.monotonic() + seconds
    seeds = inputs = failures = 0
    while not seeds or (time.monotonic() < until and failures < ENOUGH):
        try:
            with in_time(tried.patience_s):
                inputs += tried.try_one(Random(seed + seeds))
        except (Exception, Hangs):
            inputs += 1
            failures += 1
            traceback.print_exc()
            again = f"python -m tests.fuzz --class {name} --seed {seed + seeds} --seconds 0"
            sys.stderr.write(f"{name} failed; to repeat it: {again}\n\n")
        seeds += 1
    return Tried(seeds, inputs, failures)


@contextmanager
def in_time(seconds: int) -> Iterator[None]:
    """Raise Hangs in a block that takes longer, again every second: one raised in a destructor is lost."""

    def ring(_number: int, _frame: object) -> None:
        raise Hangs(f"no end after {seconds} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def run(classes: Mapping[str, Class], seed: int, seconds: float) -> int:
    """Try all these classes; gives the exit code."""
    failures = 0
    for name, tried in classes.items():
        begun = time.monotonic()
        found = try_class(name, tried, seed, seconds / len(classes))
        failures += found.failures
        took = time.monotonic() - begun
        sys.stdout.write(
            f"{name:8} {found.inputs:,} inputs of {found.seeds:,} seeds from {seed} on in {took:.0f} s, "
            f"{found.failures} failures\n"
        )
        sys.stdout.flush()
    return int(failures > 0)


def main(words: Sequence[str]) -> int:
    """Run what the command line asks for; gives the exit code."""
    options = argparse.ArgumentParser(prog="python -m tests.fuzz", description=(__doc__ or "").splitlines()[0])
    options.add_argument("--seconds", type=float, default=60.0, help="for all classes together; 60 without it")
    options.add_argument("--class", dest="classes", action="append", choices=CLASSES, help="only this one; repeatable")
    options.add_argument("--seed", type=int, default=SystemRandom().randrange(2**32), help="the first; random")
    chosen = options.parse_args(words)
    wanted = {name: CLASSES[name] for name in CLASSES if not chosen.classes or name in chosen.classes}
    with TemporaryDirectory(prefix="kw-fuzz-") as folder:
        # Files that programs keep between runs are no part of the input.
        places = dict.fromkeys(("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"), folder)
        with patch.dict(os.environ, places):
            return run(wanted, chosen.seed, chosen.seconds)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
