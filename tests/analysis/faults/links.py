"""Faults of a broker in its own network: lost packets, addresses that clients cannot use."""

from __future__ import annotations

import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

from decoders.protocol_facts.api_keys import METADATA
from tests.analysis.faults.actors import Actor, Fault, RawClient, rd
from tests.broker.cluster import Cluster
from tests.broker.namespace import NetworkNamespace
from tests.broker.options import Options

_DESCRIBE_DELEGATION_TOKEN: Final = 41
# The address of a client that seems to be on another machine.
ELSEWHERE: Final = "10.66.0.1"


class LinkActor(Actor):
    """Clients of a broker, and control over the packets that they send."""

    def __init__(self, network: NetworkNamespace, cluster: Cluster, topic: str) -> None:
        super().__init__(cluster.bootstrap(), topic)
        self.network = network
        self.ports = cluster.nodes[0].ports
        self.port = self.ports["PLAINTEXT"]


def reachable_everywhere(folder: Path, advertised: str) -> Cluster:
    """A broker that listens to all addresses of its machine, and advertises another one."""
    cluster = Cluster(Options(class_archive=True), folder)
    ports = cluster.nodes[0].ports
    lines = {
        "listeners": f"PLAINTEXT://0.0.0.0:{ports['PLAINTEXT']},CONTROLLER://127.0.0.1:{ports['CONTROLLER']}",
        "advertised.listeners": f"PLAINTEXT://{advertised}:{ports['PLAINTEXT']}",
    }
    cluster.options = Options(class_archive=True, properties=lines)
    return cluster


def _loses_packets(actor: LinkActor) -> None:
    actor.network.drop(actor.port, 6)
    # Few requests in flight: otherwise all data behind a lost packet would go in one large segment.
    small = {"linger.ms": 0, "batch.num.messages": 25, "max.in.flight": 5}
    actor.write(20_000, 200, **small, **{"message.timeout.ms": 60_000})


def _from_another_machine(actor: LinkActor) -> None:
    client = RawClient(f"{ELSEWHERE}:{actor.port}")
    client.ask(METADATA, 9, {"topics": []})
    client.socket.close()


def _told_of_no_address(actor: LinkActor) -> None:
    """A client that asks for topics, and then connects to the advertised address, where no broker is."""
    asking = rd.AdminClient({"bootstrap.servers": f"{ELSEWHERE}:{actor.port}", "log_level": 0})
    asking.list_topics(timeout=10)
    with suppress(TimeoutError):
        asking.create_topics([rd.NewTopic(actor.topic, 1, 1)])[actor.topic].result(3)


def _through_another_port(actor: LinkActor) -> None:
    """A client that reaches the broker through a forwarded port only, and gets no further than the first answer."""
    command = [sys.executable, "-m", "tests.bench.relay", str(actor.port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as relay:
        assert relay.stdout is not None
        client = RawClient(f"127.0.0.1:{int(relay.stdout.readline())}")
        client.ask(METADATA, 9, {"topics": []})
        client.socket.close()
        relay.kill()


def _asks_a_controller(actor: LinkActor) -> None:
    """A client asks a controller of Kafka 4.3 for an API that it offers and answers with an error."""
    client = RawClient(f"127.0.0.1:{actor.ports['CONTROLLER']}")
    assert client.ask(_DESCRIBE_DELEGATION_TOKEN, 3, {"owners": []})["error_code"] == -1
    client.socket.close()


def _not_let_through(actor: LinkActor) -> None:
    client = RawClient(actor.place)
    client.ask(METADATA, 9, {"topics": []})
    client.socket.close()
    actor.network.drop(actor.port, 100)
    for _ in range(3):
        with suppress(TimeoutError):
            socket.create_connection(("127.0.0.1", actor.port), timeout=2)


LINK_FAULTS: Final[tuple[Fault[LinkActor], ...]] = (
    Fault("retransmissions", _loses_packets),
    Fault("advertised-loopback", _from_another_machine),
    # Kafka refuses to advertise 0.0.0.0, but not this other form of it.
    Fault(
        "advertised-wildcard",
        _told_of_no_address,
        partitions=0,
        # The client tries the advertised address, asks the known one again, and so on.
        besides={"connection-churn", "metadata-storm"},
        advertised="[::]",
    ),
    Fault("advertised-elsewhere", _through_another_port, recorded="tcp and not port {port} and not port {controller}"),
    Fault("broker-failed", _asks_a_controller, partitions=0, recorded="tcp port {controller}"),
    Fault("no-connection", _not_let_through, besides={"retransmissions"}),
)
