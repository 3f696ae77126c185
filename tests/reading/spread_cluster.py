"""A Kafka cluster with one node on each of some hosts (hosts.py), at the same ports everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from kwcli.playground.broker_properties import ClusterOptions, NodePlan
from kwcli.playground.playground_cluster import Cluster
from tests.broker.namespace import join_network
from tests.reading.hosts import Hosts

__all__ = ["PORTS", "SpreadCluster"]

# Of a node's listener for clients and brokers, and of the one for controllers.
PORTS: Final = (19092, 19093)


class SpreadCluster(Cluster):
    """`with SpreadCluster(hosts, 3, folder) as cluster`: node 1 on host 1, and so on."""

    def __init__(self, hosts: Hosts, count: int, folder: Path) -> None:
        self._hosts = hosts
        super().__init__(ClusterOptions(nodes=count, heap="256m", start_timeout_s=180.0), folder)

    def start(self) -> None:
        """Start everything; the last host asks whether it answers."""
        with join_network(self._hosts.name(self._hosts.numbers[-1])):
            super().start()

    def _plan_nodes(self) -> list[NodePlan]:
        nodes = super()._plan_nodes()
        for node in nodes:
            node.host = self._hosts.address(node.id)
            node.ports = dict(zip(("PLAINTEXT", "CONTROLLER"), PORTS, strict=True))
        return nodes

    def _make_java_command(self, node: NodePlan) -> list[str]:
        return ["ip", "netns", "exec", self._hosts.name(node.id), *super()._make_java_command(node)]
