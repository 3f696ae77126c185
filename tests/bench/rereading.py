"""`python -m tests.bench.rereading [--mb N] [--split-mb N] [--loss 0,0.001,0.003]`: what windows of rereading save.

Splits of a capture of 500 connections, which begins in their middle and lacks a share of its packets, are read and
stitched in one process: with the windows of `rereading.py`, and with all of a split read for each connection. Prints
CPU seconds of both stages and how often a part of a split was read again.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final
from unittest.mock import patch

import pyarrow as pa

from decoders.tcp.stream_chunks import Segment
from kwcli.pipeline.read.read_split_segments import SplitReader
from kwcli.pipeline.read.split_and_file_range import Split
from kwcli.pipeline.spark import stitch_stage
from kwcli.pipeline.spark.driver_task_coordination import Coordination
from kwcli.pipeline.spark.read_stage import read_split
from kwcli.pipeline.spark.spark_engine import SORT_COLUMNS
from kwcli.pipeline.spark.stage_schemas import PARTS, StageInput
from kwcli.pipeline.spark.stitch_stage import Rereader
from kwcli.pipeline.store.replace_folders_of_tables import open_store
from tests.bench.volume import write
from tests.pipeline.jobs import Job, job_of

CONNECTIONS: Final = 500
MB: Final = 10**6


class WholeSplits(Rereader):
    """Reads all of a split each time, instead of a window."""

    def _read_batches_around(self, split: Split, key: bytes, after: int, until: int | None) -> Iterable[list[Segment]]:
        del key, after, until
        return SplitReader(split)


def lossy(capture: bytes, loss: float, begin: int) -> bytes:
    """A classic capture from byte `begin` on, without a share `loss` of its packets."""
    rng = random.Random(1)
    out, at = [capture[:24]], 24
    while at < len(capture):
        end = at + 16 + int.from_bytes(capture[at + 8 : at + 12], "little")
        if rng.random() >= loss and at >= begin:
            out.append(capture[at:end])
        at = end
    return b"".join(out)


def measure(job: Job, folder: Path, kind: type[Rereader]) -> str:
    """Run both stages in this process; returns a line of figures."""
    made: list[Rereader] = []

    def rereading(splits: Sequence[Split]) -> Rereader:
        made.append(kind(splits))
        return made[-1]

    with open_store(str(folder / kind.__name__)) as store, patch.object(stitch_stage, "Rereader", rereading):
        stage_input = StageInput(job.spec, len(job.splits), store.start_staging(), raw=False)
        Coordination(stage_input.staging).write_all_splits(job.splits)
        began = time.process_time()
        parts = [batch for number in range(len(job.splits)) for batch in read_split(stage_input, number)]
        read = time.process_time()
        table = (
            pa.Table.from_batches(parts, PARTS).sort_by([(name, "ascending") for name in SORT_COLUMNS]).combine_chunks()
        )
        joining = time.process_time()
        for _ in stitch_stage.stitch_partition(stage_input, table.to_batches(max_chunksize=1000)):
            pass
        stitched = time.process_time() - joining
    return (
        f"{kind.__name__:12} read {read - began:6.1f} s  stitch {stitched:6.1f} s  {sum(r.count for r in made):,} again"
    )


def main() -> None:
    """Print a line for each share of loss and way to read again."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mb", type=int, default=400)
    parser.add_argument("--split-mb", type=int, default=200)
    parser.add_argument(
        "--loss", type=lambda text: [float(word) for word in text.split(",")], default=[0, 0.001, 0.003]
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kw-bench-") as name:
        folder, path = Path(name), Path(name, "capture.pcap")
        write(path, options.mb * MB, connections=CONNECTIONS)
        capture = path.read_bytes()
        for loss in options.loss:
            path.write_bytes(lossy(capture, loss, len(capture) // 10))
            job = job_of([str(path)], size=options.split_mb * MB)
            for kind in (Rereader, WholeSplits):
                print(f"loss {loss:<6g} {len(job.splits)} splits  {measure(job, folder / str(loss), kind)}", flush=True)


if __name__ == "__main__":
    main()
