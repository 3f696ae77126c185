"""`python -m tests.bench.jobs`: `--jobs` against one process and tshark on recordings of real traffic, same run.

Prints wall and CPU seconds and the memory of all processes together (shared pages once), then the ratios: wall against
one process, wall against tshark, memory against a job's limit. `--size 5` makes quick captures, `--capture FILE` takes
another capture, `--way stats` measures one way of showing it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from tests.bench.process import Cost, run
from tests.bench.real.__main__ import KW, PEERS
from tests.bench.real.plays import KINDS
from tests.bench.real.recording import capture

# Words of kw, tshark's words for the same, and how many times faster kw has to be in wall time on two cores.
WAYS: Final[dict[str, tuple[tuple[str, ...], str, float]]] = {
    "text": (("sniff", "-o", "text"), "tshark one-liners", 2.0),
    "ndjson --records": (("sniff", "-o", "ndjson", "--records"), "tshark -T json", 8.0),
    "stats": (("stats",), "", 0.0),
    "doctor": (("doctor", "--fail-on", "never"), "", 0.0),
    "tables": (("pipeline", "run", "--engine", "local"), "", 0.0),
}
PERIOD_S: Final = 0.05


class JobsCost(NamedTuple):
    """The cost of a run, and the peak memory of all its processes together."""

    cost: Cost
    memory_mb: float


class MemoryWatch(threading.Thread):
    """Adds up the memory of the processes below this one; `most` is the greatest sum, in MB."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.most = 0.0
        self.done = threading.Event()

    def run(self) -> None:
        """Look until `done` is set."""
        while not self.done.wait(PERIOD_S):
            self.most = max(self.most, sum(map(proportional_mb, children_of(os.getpid()))))


def children_of(pid: int) -> list[int]:
    """All descendants of a process."""
    found: list[int] = []
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for word in (task / "children").read_text().split():
                found += [int(word), *children_of(int(word))]
    return found


def proportional_mb(pid: int) -> float:
    """The memory of a process, with its share of the pages that it has in common with others."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) / 1024
    return 0.0


def measure(command: Sequence[str], runs: int) -> JobsCost:
    """The run with the least wall time; tables are made in a new folder each time."""
    found: list[JobsCost] = []
    for _ in range(runs):
        watch = MemoryWatch()
        watch.start()
        with tempfile.TemporaryDirectory(prefix="kw-bench-") as folder:
            cost = run([*command, "--out", f"{folder}/tables"] if "pipeline" in command else command)
        watch.done.set()
        watch.join()
        found.append(JobsCost(cost, watch.most))
    return min(found, key=lambda each: each.cost.wall_s)


def compare(path: Path, way: str, counts: Sequence[int], runs: int) -> None:
    """Print the cost of one way of showing a capture: with each number of jobs, and by tshark."""
    words, peer, wanted = WAYS[way]
    measured = {
        count: measure((sys.executable, *KW, *words, str(path), "--jobs", str(count)), runs) for count in counts
    }
    theirs = run((*PEERS[peer], str(path))) if peer and shutil.which("tshark") else None
    if theirs is not None:
        print(f"  {peer:28} {theirs.wall_s:8.2f} s wall {theirs.cpu_s:8.2f} s CPU")
    one = measured[counts[0]].cost
    for count, (cost, memory_mb) in measured.items():
        state = "" if cost.exit_code == 0 else f"   exit {cost.exit_code}"
        print(
            f"  {way} --jobs {count}".ljust(30)
            + f" {cost.wall_s:8.2f} s wall {cost.cpu_s:8.2f} s CPU {memory_mb:6.0f} MB (most {100 + 60 * count} MB)"
            f" · wall {one.wall_s / cost.wall_s:.2f}x, CPU {one.cpu_s / cost.cpu_s:.2f}x of --jobs {counts[0]}"
            + (f" · wall {theirs.wall_s / cost.wall_s:.2f}x tshark (two cores: {wanted:g}x)" if theirs else "")
            + state
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=100, metavar="MB")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--kind", action="append", choices=list(KINDS))
    parser.add_argument("--capture", type=Path, metavar="FILE")
    parser.add_argument("--way", action="append", choices=list(WAYS))
    parser.add_argument("--jobs", action="append", type=int, metavar="N")
    options = parser.parse_args()
    counts = [1, *(options.jobs or [2])]
    print(f"{os.cpu_count()} cores, {os.getloadavg()[0]:.1f} processes at work before")
    for kind in [str(options.capture)] if options.capture else options.kind or KINDS:
        path = options.capture or capture(kind, options.size)
        print(f"{kind}: {path.stat().st_size / 1e6:,.0f} MB")
        for way in options.way or WAYS:
            compare(path, way, counts, options.runs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
