"""zookeeper-cluster.pcap.gz: three 3.9.1 nodes on ZooKeeper that speak the inter-broker protocol of 0.8.2."""

from __future__ import annotations

from functools import partial

from captures.make.stage import record
from tests.broker.options import Options
from tests.broker.plays import nodes_come_and_go

if __name__ == "__main__":
    old = {"inter.broker.protocol.version": "0.8.2", "log.message.format.version": "0.8.2"}
    options = Options(version="3.9.1", mode="zookeeper", nodes=3, first_port=9092, properties=old)
    record("zookeeper-cluster.pcap.gz", options, partial(nodes_come_and_go, transactions=False))
