"""old-clients.pcap.gz: Java clients 0.8.2.2 to 1.0.2 against one 3.9.1 node."""

from __future__ import annotations

from captures.make.stage import record
from tests.broker.options import Options
from tests.broker.plays import in_turn

if __name__ == "__main__":
    record("old-clients.pcap.gz", Options(version="3.9.1", first_port=9092), in_turn, from_start=False)
