"""incidents/NAME.pcap.zst: what happens to real clusters, one capture an incident; names as arguments, else all."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Collection
from contextlib import ExitStack
from pathlib import Path

from captures.make.pcapfile import ship
from captures.make.stage import FOLDER
from tests.analysis.incidents.brokers import BROKER_INCIDENTS
from tests.analysis.incidents.clients import CLIENT_INCIDENTS
from tests.analysis.incidents.recording import (
    NETWORK_INCIDENTS,
    one_broker,
    record_incident,
    record_network_incident,
    three_brokers,
)


def make(wanted: Collection[str]) -> None:
    """Record the incidents of these names (none: all); those that can share a cluster share one."""
    target = FOLDER / "incidents"
    target.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="kw-incidents-") as scratch:
        folder, raw = Path(scratch), Path(scratch) / "raw.pcap"
        for number, incident in enumerate(NETWORK_INCIDENTS):
            if not wanted or incident.name in wanted:
                record_network_incident(folder / f"network-{number}", incident, raw)
                ship(raw, target / f"{incident.name}.pcap.zst")
        for incidents, start in ((CLIENT_INCIDENTS, one_broker), (BROKER_INCIDENTS, three_brokers)):
            some = [incident for incident in incidents if not wanted or incident.name in wanted]
            with ExitStack() as stack:
                cluster = stack.enter_context(start(folder / start.__name__)) if some else None
                for incident in some:
                    assert cluster is not None
                    record_incident(cluster, incident, raw)
                    ship(raw, target / f"{incident.name}.pcap.zst")


if __name__ == "__main__":
    make(sys.argv[1:])
