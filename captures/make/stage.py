"""Runs one cluster for one capture, recorded from its first packet to its last."""

from __future__ import annotations

import gzip
import tempfile
from collections.abc import Callable, Collection
from pathlib import Path

from captures.make.pcapfile import ship
from tests.broker.cluster import Cluster
from tests.broker.options import Options
from tests.broker.recorder import Recorder

__all__ = ["FOLDER", "record"]

FOLDER = Path(__file__).resolve().parents[1]


def record(
    name: str,
    options: Options,
    play: Callable[[Cluster], object],
    *,
    listeners: Collection[str] = (),
    from_start: bool = True,
    log: bool = False,
    before: Callable[[Cluster], object] = lambda _: None,
) -> None:
    """Play on a fresh cluster and write `captures/NAME`; `log` keeps the request log beside it (NAME.requests.log.gz).

    `listeners` keeps the traffic of these listeners only. Without `from_start` the recording begins when the cluster
    answers and `before` has been played, and ends before it stops.
    """
    with tempfile.TemporaryDirectory(prefix="kw-capture-") as scratch:
        raw = Path(scratch) / "raw.pcap"
        cluster = Cluster(options, folder=Path(scratch) / "cluster")
        recorder = Recorder(raw, cluster.ports)
        if from_start:
            with recorder, cluster:
                play(cluster)
        else:
            with cluster:
                before(cluster)
                with recorder:
                    play(cluster)
        lines = _lines(cluster)
        wanted = {port for node in cluster.nodes for place, port in node.ports.items() if place in listeners}
        ship(raw, FOLDER / name, ports=wanted)
    if log:
        (FOLDER / f"{name.split('.pcap')[0]}.requests.log.gz").write_bytes(gzip.compress(lines, mtime=0))


def _lines(cluster: Cluster) -> bytes:
    return b"".join(file.read_bytes() for file in cluster.request_logs if file.exists())
