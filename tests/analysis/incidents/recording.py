"""An incident in, its capture out: it happens to a real cluster while the loopback is recorded."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from kwcli.playground.free_ports import find_free_ports
from tests.analysis.faults.nodes import NODES, QUICK, BrokersAndController
from tests.analysis.incidents.clients import REQUEST_MAX
from tests.analysis.incidents.incident import Incident, IncidentActor
from tests.analysis.incidents.networks import ADDRESS_INCIDENTS, DISK_INCIDENT, NAT_INCIDENT, ROUTE_INCIDENT
from tests.broker.cluster import Cluster
from tests.broker.namespace import NetworkNamespace
from tests.broker.options import Options
from tests.broker.recorder import Recorder

__all__ = ["NETWORK_INCIDENTS", "one_broker", "record_incident", "record_network_incident", "three_brokers"]

NETWORK_INCIDENTS: Final = (*(its for _, its in ADDRESS_INCIDENTS), NAT_INCIDENT, ROUTE_INCIDENT, DISK_INCIDENT)
# A disk of this size is full after a few segments.
_DISK: Final = "6m"
# Listeners that clients do not use.
_HIDDEN: Final = ("CONTROLLER", "INTERNAL")


@contextmanager
def one_broker(folder: Path) -> Iterator[Cluster]:
    """The cluster for incidents of clients: TLS, logins, an authorizer, small limits, no automatic topics."""
    lines = {
        "auto.create.topics.enable": "false",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "allow.everyone.if.no.acl.found": "true",
        "group.min.session.timeout.ms": "1000",
        "socket.request.max.bytes": str(REQUEST_MAX),
        "transaction.partition.verification.enable": "false",
    }
    options = Options(listeners=("PLAINTEXT", "SSL", "SASL_PLAINTEXT"), class_archive=True, properties=lines)
    with Cluster(options, folder) as cluster:
        yield cluster


@contextmanager
def three_brokers(folder: Path) -> Iterator[Cluster]:
    """The cluster for incidents of nodes: three brokers and a controller, with one copy of groups' offsets."""
    lines = QUICK | {
        "offsets.topic.replication.factor": "1",
        "replica.socket.timeout.ms": "2000",
        "socket.connection.setup.timeout.ms": "1000",
    }
    options = Options(nodes=3, listeners=NODES.listeners, class_archive=True, roles="separate", properties=lines)
    with BrokersAndController(options, folder) as cluster:
        yield cluster


def record_incident(cluster: Cluster, incident: Incident, file: Path) -> None:
    """Record an incident of a cluster; all nodes run in the end."""
    actor = IncidentActor(cluster, incident.name)
    if incident.topic:
        actor.create(2 if incident.name == "partition-paused" else 1)
    shown = [port for node in cluster.nodes for name, port in node.ports.items() if name not in _HIDDEN]
    try:
        with Recorder(file, shown):
            incident.act(actor)
    finally:
        for node in cluster.nodes:
            cluster.unpause_node(node.id)
            if not cluster.is_node_running(node.id):
                cluster.start_node(node.id)


def record_network_incident(folder: Path, incident: Incident, file: Path) -> None:
    """Record an incident of a cluster that is made for it, in a network of its own; `folder` is the cluster's."""
    with NetworkNamespace() as network, _cluster_of(folder, incident) as cluster:
        actor = IncidentActor(cluster, incident.name, network)
        if incident.topic:
            actor.create()
        ports = [port for node in cluster.nodes for name, port in node.ports.items() if name != "CONTROLLER"]
        # A port at which nothing listens is advertised, and one more shows whoever comes there.
        advertised = [int(line.rpartition(":")[2]) for line in _advertised(cluster).splitlines()]
        with Recorder(file, {*ports, *advertised}):
            incident.act(actor)


def _advertised(cluster: Cluster) -> str:
    return cluster.options.properties.get("advertised.listeners", "")


@contextmanager
def _cluster_of(folder: Path, incident: Incident) -> Iterator[Cluster]:
    if incident is ROUTE_INCIDENT:
        with three_brokers(folder) as cluster:
            yield cluster
    elif incident is DISK_INCIDENT:
        with _full_disk(folder / "disk") as disk, _one(folder, {"log.dirs": f"{folder / 'whole'},{disk}"}) as cluster:
            yield cluster
    else:
        address = next((address for address, its in ADDRESS_INCIDENTS if its is incident), "127.0.0.1:{port}")
        with _one(folder, {"advertised.listeners": f"PLAINTEXT://{address}"}) as cluster:
            yield cluster


@contextmanager
def _one(folder: Path, lines: dict[str, str]) -> Iterator[Cluster]:
    """A broker with these properties, in which its port and a free one have their places."""
    cluster = Cluster(Options(class_archive=True), folder)
    (free,) = find_free_ports(1)
    port = cluster.nodes[0].ports["PLAINTEXT"]
    known = {name: value.format(port=port, free=free) for name, value in lines.items()}
    cluster.options = Options(
        class_archive=True,
        properties={"metadata.log.dir": str(folder / "metadata"), "log.segment.bytes": "1048576"} | known,
    )
    with cluster:
        yield cluster


@contextmanager
def _full_disk(folder: Path) -> Iterator[Path]:
    """A small disk of its own."""
    folder.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={_DISK}", "tmpfs", str(folder)], check=True)
    try:
        yield folder
    finally:
        time.sleep(0.5)
        subprocess.run(["umount", "-l", str(folder)], check=True)
