"""transactions/: transactions that nobody ends, with readers that wait; share groups with records at a last attempt."""

from __future__ import annotations

import tempfile
from pathlib import Path

from captures.make.pcapfile import ship
from captures.make.stage import FOLDER
from tests.analysis.hanging_transactions import (
    HUNG,
    OPTIONS,
    count_committed_records,
    give_records_back,
    leave_transactions_open,
)
from tests.broker.cluster import Cluster
from tests.broker.recorder import Recorder

__all__ = ["make"]


def make() -> None:
    """Record both captures, on one cluster."""
    target = FOLDER / "transactions"
    target.mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix="kw-transactions-") as scratch,
        Cluster(OPTIONS, Path(scratch) / "one") as one,
    ):
        raw, place = Path(scratch) / "raw.pcap", one.bootstrap()
        ports = [int(place.rpartition(":")[2])]
        with Recorder(raw, ports):
            leave_transactions_open(place)
            for topic in HUNG:
                count_committed_records(place, topic, 4)
        ship(raw, target / "hanging.pcap.zst")
        with Recorder(raw, ports):
            give_records_back(place)
        ship(raw, target / "last-attempts.pcap.zst")


if __name__ == "__main__":
    make()
