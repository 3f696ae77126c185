"""three-nodes.pcapng.zst: a KRaft quorum from its first vote: replication, one node stopped, one crashed, both back."""

from __future__ import annotations

from captures.make.stage import record
from tests.broker.options import Options
from tests.broker.plays import nodes_come_and_go

if __name__ == "__main__":
    options = Options(nodes=3, first_port=9092, quorum="dynamic")
    record("three-nodes.pcapng.zst", options, nodes_come_and_go)
