"""faults/NAME.pcap.zst: one capture a finding, of a fault made on purpose; names as arguments, else all that ship."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Collection
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

from captures.make.pcapfile import ship
from captures.make.stage import FOLDER
from tests.analysis.faults.actors import Fault
from tests.analysis.faults.clients import CLIENT_FAULTS
from tests.analysis.faults.links import LINK_FAULTS
from tests.analysis.faults.nodes import NODE_FAULTS
from tests.analysis.faults.recording import (
    one_broker,
    record_client_fault,
    record_link_fault,
    record_node_fault,
    three_brokers,
)

# Findings whose captures are small; the captures of the others are recorded by the tests only.
SHIP: Final = (
    *("advertised-elsewhere", "advertised-loopback", "advertised-wildcard", "clock-ahead", "heartbeats-late"),
    *("idle-cut", "isr-flapping", "isr-shrunk", "leaders-move", "no-connection", "producer-fenced", "records-corrupt"),
    *("retransmissions", "sent-again", "sent-twice", "slow-broker", "transactions-abort"),
    *("access-denied", "broker-failed", "member-fenced", "offset-out-of-range", "quota-exceeded", "sequence-broken"),
    *("sequence-reused", "replicas-missing", "telemetry-refused", "too-large"),
    *("fetch-sessions-lost", "metadata-storm", "partition-offline", "throttled", "transaction-hangs"),
)


def make(wanted: Collection[str]) -> None:
    """Record the faults of these names; faults that can share a cluster share one."""
    with tempfile.TemporaryDirectory(prefix="kw-faults-") as scratch:
        folder, raw = Path(scratch), Path(scratch) / "raw.pcap"

        def write(fault: Fault[Any]) -> None:
            ship(raw, FOLDER / "faults" / f"{fault.finding}.pcap.zst")

        (FOLDER / "faults").mkdir(exist_ok=True)
        for number, link in enumerate(LINK_FAULTS):
            if link.finding in wanted:
                record_link_fault(folder / f"link-{number}", link, raw)
                write(link)
        with ExitStack() as stack:
            some = [fault for fault in CLIENT_FAULTS if fault.finding in wanted]
            one = stack.enter_context(one_broker(folder / "one")) if some else None
            for fault in some:
                assert one is not None
                record_client_fault(one, fault, raw)
                write(fault)
        with ExitStack() as stack:
            several = [fault for fault in NODE_FAULTS if fault.finding in wanted]
            three = stack.enter_context(three_brokers(folder / "three")) if several else None
            for each in several:
                assert three is not None
                record_node_fault(three, each, raw)
                write(each)


if __name__ == "__main__":
    make(sys.argv[1:] or SHIP)
