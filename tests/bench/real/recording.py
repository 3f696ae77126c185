"""A kind and a size in, a capture of that kind out: recorded once, then kept in the cache of the tests.

`python -m tests.bench.real.recording KIND [MB]` records one ahead of time; that takes minutes.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from pathlib import Path
from typing import Final

from tests.bench.real.plays import KINDS
from tests.broker.cluster import Cluster
from tests.broker.recorder import Recorder
from tests.broker.wheels import fetched_once

__all__ = ["PORTS", "capture"]

# Listeners of all nodes; the system does not assign these ports by itself.
PORTS: Final = (28092, 28191)
# A recording ends after this time, whatever its size.
MOST_MINUTES: Final = 15.0


def capture(kind: str, size_mb: int) -> Path:
    """The capture, recorded now if the cache does not have it; it may be smaller than asked for: see MOST_MINUTES."""
    return fetched_once(f"bench-real-{kind}-{size_mb}", lambda folder: _record(folder, kind, size_mb)) / "real.pcap"


def _record(folder: Path, kind: str, size_mb: int) -> None:
    began = time.monotonic()
    file = folder / "real.pcap"
    with Recorder(file, (), expression=f"tcp portrange {PORTS[0]}-{PORTS[1]}", may_drop=True):
        full = 0.0
        for stage in KINDS[kind]:
            full += stage.share * size_mb * 1e6
            number = 0
            with Cluster(stage.options, folder=folder / "cluster") as cluster:
                while file.stat().st_size < full and time.monotonic() - began < MOST_MINUTES * 60:
                    stage.play(cluster, number)
                    number += 1
                    took = time.monotonic() - began
                    print(f"{kind}: {file.stat().st_size / 1e6:.0f} MB after {took:.0f} s", file=sys.stderr)
            shutil.rmtree(folder / "cluster")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=list(KINDS))
    parser.add_argument("size", type=int, nargs="?", default=150, metavar="MB")
    options = parser.parse_args()
    print(capture(options.kind, options.size))


if __name__ == "__main__":
    main()
