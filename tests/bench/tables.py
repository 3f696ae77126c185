"""`python -m tests.bench.tables`: what the tables of a capture cost beside reading and decoding it, in one process.

The engine alone, with rows in batches, and with Parquet files: CPU seconds for the same capture, the best of some runs,
and the time per exchange.
"""

from __future__ import annotations

import argparse
import gc
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from decoders.exchanges.segments_to_exchanges import Engine
from kwcli.pipeline.plan_splits import SplitPlan, plan_splits
from kwcli.pipeline.read.find_captures import find_captures
from kwcli.pipeline.read.read_split_segments import SplitReader
from kwcli.pipeline.tables.connection_columns import ConnectionColumns
from kwcli.pipeline.tables.exchange_columns import ExchangeColumns
from kwcli.pipeline.tables.table_columns import TABLES
from kwcli.pipeline.tables.topic_partition_rows import TableNeeds
from kwcli.pipeline.tables.write_parquet import TableWriter

PROFILES = ("small", "mixed", "big")
WEIGHT = 16_384


def engine_alone(made: SplitPlan, tables: tuple[str, ...], folder: Path) -> int:  # noqa: ARG001  # as all of them
    """Run the engine; the settled rows are dropped."""
    return _run(made, tables, None, rows=False)


def batches(made: SplitPlan, tables: tuple[str, ...], folder: Path) -> int:  # noqa: ARG001  # as all of them
    """Run the engine and make record batches of the rows."""
    return _run(made, tables, None, rows=True)


def files(made: SplitPlan, tables: tuple[str, ...], folder: Path) -> int:
    """Run the engine, make record batches and write them as Parquet files."""

    def open_file(path: str):  # type: ignore[no-untyped-def]
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        return place.open("wb")

    with TableWriter(open_file, tables) as writer:
        count = _run(made, tables, writer, rows=True)
        writer.close()
    return count


def _run(made: SplitPlan, tables: tuple[str, ...], writer: TableWriter | None, *, rows: bool) -> int:
    engine = Engine(needs=TableNeeds(tables), connections=True)
    columns, connections = ExchangeColumns("", ["a.pcap"], tables), ConnectionColumns("")
    count = 0

    def take(settled) -> None:  # type: ignore[no-untyped-def]
        nonlocal count
        count += len(settled)
        if not rows:
            return
        for row in settled:
            if row.kind == "connection":
                connections.add_connection(row)
            else:
                columns.add_row(row)
                if columns.weight >= WEIGHT:
                    give()

    def give() -> None:
        batch = columns.take_batch()
        if writer is not None:
            writer.write(batch)

    for split in made.splits:
        for segments in SplitReader(split):
            take(engine.feed(segments))
    take(engine.finish())
    give()
    return count


def _best(
    work: Callable[[SplitPlan, tuple[str, ...], Path], int], made: SplitPlan, folder: Path, runs: int
) -> tuple[float, int]:
    least, count = float("inf"), 0
    for _ in range(runs):
        begun = time.process_time()
        count = work(made, tuple(TABLES), folder)
        least = min(least, time.process_time() - begun)
    return least, count


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=80, metavar="MB")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--profile", action="append", choices=PROFILES)
    options = parser.parse_args()
    gc.set_threshold(100_000, 50, 100)  # as main does
    with tempfile.TemporaryDirectory(prefix="kw-bench-") as folder:
        for profile in options.profile or PROFILES:
            path = Path(folder) / f"{profile}.pcap"
            asked = [sys.executable, "-m", "tests.bench.traffic", profile, str(path), str(options.size << 20)]
            subprocess.run(asked, check=True, capture_output=True)
            made = plan_splits(find_captures([str(path)]).files)
            size = path.stat().st_size
            print(f"{profile}: {size / 1e6:,.0f} MB")
            alone = 0.0
            for work in (engine_alone, batches, files):
                seconds, count = _best(work, made, Path(folder) / "out", options.runs)
                alone = alone or seconds
                each = (seconds - alone) * 1e6 / max(count, 1)
                print(
                    f"  {work.__name__:14} {seconds:6.2f} s CPU  {size / seconds / 1e6:6.0f} MB/s"
                    f"  {count / seconds:9,.0f} rows/s  {seconds / alone:5.2f}x  +{each:.1f} µs a row"
                )
            path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
