"""A command line in, the cost of its whole process tree out: wall and CPU seconds, and peak memory by role.

The operating system adds up the CPU time of children only if they are waited for, which Spark does not do. So the tree
is read from /proc again and again, and the figures of a process when it was last seen count.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

PERIOD_S: Final = 0.05
TICKS: Final = os.sysconf("SC_CLK_TCK")
# A word in a command line → the role of its process; without any of them the role is the parent's.
ROLES: Final = (("pyspark.daemon", "worker"), ("java", "jvm"))


class TreeCost(NamedTuple):
    """By role (`kw`: what was started; `jvm`; `worker`): CPU seconds of all, largest resident set of one in MB."""

    wall_s: float
    cpu_s: dict[str, float]
    peak_mb: dict[str, float]
    exit_code: int
    said: str


def run(command: Sequence[str], *, env: Mapping[str, str] | None = None, limit_s: float = 3600) -> TreeCost:
    """Run a command; its standard error is kept, its standard output is not."""
    began = time.perf_counter()
    seen: dict[tuple[int, int], tuple[str, float, float]] = {}
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, **(env or {})},
    )
    try:
        assert process.stderr is not None
        os.set_blocking(process.stderr.fileno(), False)
        said = b""
        while process.poll() is None:
            if time.perf_counter() - began > limit_s:
                raise TimeoutError(f"{command[-1]}: not done after {limit_s:.0f} s")
            _look(process.pid, seen)
            said += process.stderr.read() or b""
            time.sleep(PERIOD_S)
        said += process.stderr.read() or b""
    finally:
        process.kill()
        process.wait()
    peaks: dict[str, float] = {}
    for role, _, peak in seen.values():
        peaks[role] = max(peak, peaks.get(role, 0.0))
    cpu: dict[str, float] = {}
    for role, used, _ in seen.values():
        cpu[role] = cpu.get(role, 0.0) + used
    return TreeCost(time.perf_counter() - began, cpu, peaks, process.returncode, said.decode(errors="replace"))


def _look(root: int, seen: dict[tuple[int, int], tuple[str, float, float]]) -> None:
    """Record what each process of the tree has used until now."""
    left = [(root, "kw")]
    while left:
        pid, parent = left.pop()
        try:
            place = Path(f"/proc/{pid}")
            fields = (place / "stat").read_text().rpartition(") ")[2].split()
            words = (place / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            role = next((role for word, role in ROLES if word in words and pid != root), parent)
            peak = _peak_mb((place / "status").read_text())
            for thread in (place / "task").iterdir():
                left += [(int(child), role) for child in (thread / "children").read_text().split()]
        except (FileNotFoundError, ProcessLookupError):
            continue  # it ended meanwhile
        key = pid, int(fields[19])  # a process id may be used again: with its start time it is unique
        before = seen.get(key)
        if before is not None and before[0] == role:  # a process starts as a copy of its parent
            peak = max(peak, before[2])
        seen[key] = (role, (int(fields[11]) + int(fields[12])) / TICKS, peak)


def _peak_mb(status: str) -> float:
    """VmHWM of a process; 0 for one that is ending."""
    for line in status.splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return 0.0
