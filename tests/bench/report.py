"""`python -m tests.bench.report`: what a report over tables costs, here and on Spark: rows a second, CPU, memory.

Makes tables of its own (`--rows`, 10 million) and removes them. Exit code 1 when counting takes more time or memory
than our limits.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from tests.pipeline.made import make, usual

# CPU seconds for a million exchanges, and the greatest memory of the process in MiB.
CPU_S: Final = 8.0
MEMORY_MIB: Final = 700


def measure(*words: str) -> tuple[float, float, float]:
    """Wall and CPU seconds of `kw pipeline report WORDS…` with its child processes, and the peak memory in MiB."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begun = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "kwcli.main", "pipeline", "report", *words], check=True, stdout=subprocess.DEVNULL
    )
    wall = time.perf_counter() - begun
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, cpu, after.ru_maxrss / 1024


def main() -> int:
    """Measure and print; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--clients", type=int, default=2000)
    parser.add_argument("--master", help="measure on this Spark, too")
    asked = parser.parse_args()
    os.environ["PYTHONPATH"] = os.fspath(Path(__file__).resolve().parents[2])
    with tempfile.TemporaryDirectory(prefix="kw-bench-") as folder:
        tables = make(Path(folder) / "tables", asked.rows, usual(asked.clients, 50))
        size = sum(path.stat().st_size for path in tables.rglob("*.parquet"))
        print(f"{asked.rows:,} exchanges of {asked.clients:,} clients, {size / 1e6:,.0f} MB of tables")
        wall, cpu, memory = measure(os.fspath(tables), "-o", "json")
        each = asked.rows / cpu
        print(f"here:  {wall:6.1f} s, {cpu:6.1f} s of CPU, {each:9,.0f} rows a second of CPU, {memory:,.0f} MiB")
        if asked.master:
            wall_there, cpu_there, _ = measure(os.fspath(tables), "-o", "json", "--master", asked.master)
            print(f"Spark: {wall_there:6.1f} s, {cpu_there:6.1f} s of CPU ({asked.master})")
    well = cpu <= 10 + CPU_S * asked.rows / 1e6 and memory <= MEMORY_MIB
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
