"""A command line in, its CPU seconds, wall seconds and peak memory out, as the operating system accounts them."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

_UNUSUAL: Final = ("PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED")


@dataclass(frozen=True, slots=True)
class Cost:
    """`cpu_s` is user plus system time of the process and its children, `peak_mb` the largest resident set in MB.

    The system counts the memory of the starting process too, so the process that measures must be small.
    """

    cpu_s: float
    wall_s: float
    peak_mb: float
    exit_code: int


def run(
    command: Sequence[str], *, output: str = os.devnull, env: dict[str, str] | None = None, folder: str | None = None
) -> Cost:
    """Run a command once, in the `folder`, its stdout into the file `output`, its stderr thrown away.

    The environment variables that change how Python writes bytecode and output are removed.
    """
    usual = {name: value for name, value in os.environ.items() if name not in _UNUSUAL}
    began = time.perf_counter()
    with open(output, "wb") as sink:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.DEVNULL,
            env={**usual, **(env or {})},
            cwd=folder,
        )
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - began
    return Cost(usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss / 1024, process.returncode)


def best(command: Sequence[str], *, runs: int = 1, output: str = os.devnull) -> Cost:
    """The run with the least CPU time of `runs`: noise only ever adds."""
    return min((run(command, output=output) for _ in range(runs)), key=lambda cost: cost.cpu_s)
