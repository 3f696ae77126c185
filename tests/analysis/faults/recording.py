"""A fault in, its capture out: the fault is played while the network is recorded."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.analysis.faults.actors import Actor, Fault
from tests.analysis.faults.links import ELSEWHERE, LinkActor, reachable_everywhere
from tests.analysis.faults.nodes import NODES, BrokersAndController, NodesActor
from tests.broker.cluster import Cluster
from tests.broker.namespace import NetworkNamespace
from tests.broker.options import Options
from tests.broker.recorder import Recorder

__all__ = ["one_broker", "record_client_fault", "record_link_fault", "record_node_fault", "three_brokers"]


@contextmanager
def one_broker(folder: Path) -> Iterator[Cluster]:
    """The cluster for faults of clients: one broker, with an authorizer and without automatic topics."""
    lines = {
        "auto.create.topics.enable": "false",
        # A client that no ACL names may do everything, except with resources that have an ACL.
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "allow.everyone.if.no.acl.found": "true",
    }
    options = Options(class_archive=True, telemetry=True, properties=lines)
    with Cluster(options, folder) as cluster:
        yield cluster


@contextmanager
def three_brokers(folder: Path) -> Iterator[Cluster]:
    """The cluster for faults of nodes: three brokers and a controller."""
    with BrokersAndController(NODES, folder) as cluster:
        yield cluster


def record_client_fault(cluster: Cluster, fault: Fault[Actor], file: Path) -> None:
    """Record a fault of clients of one broker."""
    place = cluster.bootstrap()
    actor = Actor(place, fault.finding)
    with Recorder(file, [int(place.rpartition(":")[2])]):
        if fault.partitions:
            actor.create(fault.partitions)
        fault.act(actor)


def record_node_fault(cluster: Cluster, fault: Fault[NodesActor], file: Path) -> None:
    """Record a fault of nodes, or of clients of three nodes; all nodes go on in the end."""
    actor = NodesActor(cluster, fault.finding)
    actor.create(fault.partitions, replicas=fault.replicas)
    time.sleep(2)  # until leaders are on their preferred nodes
    try:
        with Recorder(file, cluster.ports):
            fault.act(actor)
    finally:
        for node in cluster.nodes:
            cluster.unpause_node(node.id)


def record_link_fault(folder: Path, fault: Fault[LinkActor], file: Path) -> None:
    """Record a fault of the network between a client and a broker, both new; `folder` is the broker's."""
    with NetworkNamespace(ELSEWHERE) as network, reachable_everywhere(folder, fault.advertised) as cluster:
        actor = LinkActor(network, cluster, fault.finding)
        if fault.partitions:
            actor.create(fault.partitions)
        recorded = (fault.recorded or "tcp port {port}").format(port=actor.port, controller=actor.ports["CONTROLLER"])
        with Recorder(file, [], expression=recorded):
            fault.act(actor)
