"""`python -m tests.bench.pipeline [--gb 1,4,8]`: `kw pipeline run` on Spark, with `--jobs 2`, and in one process.

Makes its own captures in a temporary folder, one at a time, and removes them. Prints wall and CPU seconds of the whole
process tree, also by role of its processes, with the peak memory of one. Ends with 1 when a requirement is missed: on
two cores stitch is ahead of one process with the largest capture, a Python worker has at most 300 MB, bytes a second
and core do not fall from the smallest capture to the largest, and every exchange that was put in is in the tables.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from tests.bench.tree import TreeCost, run

KW: Final = [sys.executable, "-m", "kwcli.main"]
WORKER_MB: Final = 300
# Throughput a core of the largest capture against that of the smallest: the start of Spark counts less and less.
FLAT: Final = 0.85


class Shape(NamedTuple):
    """How the traffic of a capture is spread over connections."""

    name: str
    connections: int
    hot: float = 0.0


class Way(NamedTuple):
    """One set of options for the same work, with the cores that it may use."""

    name: str
    words: tuple[str, ...]
    cores: int


SHAPES: Final = (Shape("40 connections", 40), Shape("500 connections", 500), Shape("95 % in one", 40, 0.95))
ONE: Final = Way("one process", ("--engine", "local", "--jobs", "1"), 1)
TWO: Final = Way("local --jobs 2", ("--engine", "local", "--jobs", "2"), 2)
WAYS: Final = (
    ONE,
    TWO,
    Way("stitch local[1]", ("--engine", "stitch", "--master", "local[1]"), 1),
    Way("stitch local[2]", ("--engine", "stitch", "--master", "local[2]"), 2),
)
SPARK: Final = WAYS[3]


class Figure(NamedTuple):
    """The cost of one run."""

    shape: Shape
    gb: float
    way: Way
    size: int
    cost: TreeCost

    @property
    def rate(self) -> float:
        """MB a second and core."""
        return self.size / 1e6 / self.cost.wall_s / self.way.cores


def captures(options: argparse.Namespace, folder: Path) -> Iterator[tuple[Shape, float, Path, int]]:
    """The captures one after the other, each with its number of exchanges and the size asked for, removed after use."""
    for gb in options.gb:
        for shape in SHAPES:
            if shape.connections not in options.connections or (shape.hot and not options.hot):
                continue
            path = folder / "capture.pcap"
            size = int(gb * 1e9)
            free = shutil.disk_usage(folder).free
            if free < 1.3 * size:
                raise SystemExit(f"{folder}: {free / 1e9:.1f} GB free, {gb:g} GB and room for the tables are needed")
            words = ["--connections", str(shape.connections), "--hot", str(shape.hot), "--profile", options.profile]
            made = [sys.executable, "-m", "tests.bench.volume", str(path), str(size), *words]
            done = subprocess.run(made, check=True, capture_output=True, text=True)
            yield shape, gb, path, int(done.stdout.split()[0])
            path.unlink()


def measure(options: argparse.Namespace, folder: Path) -> tuple[list[Figure], list[str]]:
    """All figures, and the errors on the way."""
    figures: list[Figure] = []
    wrong: list[str] = []
    for shape, gb, path, exchanges in captures(options, folder):
        size = path.stat().st_size
        print(f"{gb:g} GB, {shape.name}: {exchanges:,} exchanges")
        for way in WAYS:
            out = folder / "tables"
            cost = run([*KW, "pipeline", "run", str(path), "--out", str(out), *way.words])
            figure = Figure(shape, gb, way, size, cost)
            figures.append(figure)
            roles = [f"{role} {cost.cpu_s[role]:.1f} s {cost.peak_mb[role]:.0f} MB" for role in sorted(cost.cpu_s)]
            spent = f"{cost.wall_s:8.1f} s wall {sum(cost.cpu_s.values()):8.1f} s CPU"
            print(f"  {way.name:18}{spent} {figure.rate:6.0f} MB/s/core  {', '.join(roles)}", flush=True)
            rows = _rows(out) if cost.exit_code == 0 else -1
            if rows != exchanges:
                wrong.append(
                    f"{way.name}, {gb:g} GB, {shape.name}: exit {cost.exit_code}, {rows:,} of {exchanges:,} exchanges"
                )
                print(cost.said)
            shutil.rmtree(out, ignore_errors=True)
    return figures, wrong


def _rows(out: Path) -> int:
    """The number of rows in the table of exchanges, counted by pyarrow."""
    code = "import sys, pyarrow.dataset as d; print(d.dataset(sys.argv[1], partitioning='hive').count_rows())"
    counted = [sys.executable, "-c", code, str(out / "exchanges")]
    return int(subprocess.run(counted, check=True, capture_output=True, text=True).stdout)


def judge(figures: list[Figure]) -> Iterator[str]:
    """The requirements that were missed."""
    for shape in dict.fromkeys(figure.shape for figure in figures):
        mine = [figure for figure in figures if figure.shape == shape]
        most = max(figure.gb for figure in mine)
        largest = {figure.way: figure for figure in mine if figure.gb == most}
        one, two = largest[ONE].cost.wall_s, largest[SPARK].cost.wall_s
        jobs = largest[TWO].cost.wall_s
        print(f"{shape.name}: --jobs 2 {one / jobs:.2f}x one process, {two / jobs:.2f}x Spark on two cores")
        verdict = f"{shape.name}: {most:g} GB on two cores take {two:.1f} s, one process {one:.1f} s"
        print(verdict)
        if two > one:
            yield verdict
        for way in WAYS[2:]:
            of_way = sorted((figure for figure in mine if figure.way == way), key=lambda figure: figure.gb)
            flat = of_way[-1].rate / of_way[0].rate
            verdict = (
                f"{shape.name}: {way.name}: {flat:.2f} of the throughput at {of_way[0].gb:g} GB is there at {most:g} GB"
            )
            print(verdict)
            if flat < FLAT:
                yield verdict
            worker = max(figure.cost.peak_mb.get("worker", 0.0) for figure in of_way)
            if worker > WORKER_MB:
                yield f"{shape.name}: {way.name}: a worker has {worker:.0f} MB, more than {WORKER_MB}"


def _numbers(text: str) -> list[float]:
    return [float(word) for word in text.split(",")]


def main() -> int:
    """Measure, print and judge; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gb", type=_numbers, default=[1, 4, 8], metavar="N,...")
    parser.add_argument("--connections", type=_numbers, default=[40, 500], metavar="N,...")
    parser.add_argument(
        "--no-hot", dest="hot", action="store_false", help="leave out the capture with one hot connection"
    )
    parser.add_argument("--profile", choices=("blend", "small", "mixed", "big"), default="blend")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kw-bench-") as folder:
        figures, wrong = measure(options, Path(folder))
    wrong += judge(figures)
    for line in wrong:
        print(f"MISSED  {line}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
