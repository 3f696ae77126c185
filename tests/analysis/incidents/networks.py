"""Incidents of a cluster in a network of its own: addresses, routes, a NAT that forgets, and a disk that is full."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Final

from confluent_kafka import KafkaException

from tests.analysis.faults.actors import RawClient, rd
from tests.analysis.incidents.incident import HURRY, Incident, IncidentActor

__all__ = ["ADDRESS_INCIDENTS", "DISK_INCIDENT", "NAT_INCIDENT", "ROUTE_INCIDENT"]


def _use_what_is_advertised(actor: IncidentActor) -> None:
    """A client that reaches the broker it was given, and then follows the advertised address."""
    producer = actor.producer(**HURRY | {"topic.metadata.refresh.interval.ms": 1000})
    for _ in range(3):
        with suppress(KafkaException):
            producer.list_topics(timeout=3)
        with suppress(KafkaException):
            producer.produce(actor.topic, b"x")
        producer.flush(2)


# The advertised address of each: a name that no server knows, a port at which nothing listens.
ADDRESS_INCIDENTS: Final = (
    (
        "kafka-0.cluster.internal:{port}",
        Incident("advertised-name-unknown", "advertised-elsewhere", "kafka-0", _use_what_is_advertised, topic=False),
    ),
    (
        "127.0.0.1:{free}",
        Incident("advertised-port-closed", "no-connection", "refused", _use_what_is_advertised, topic=False),
    ),
)


def _nat_forgets(actor: IncidentActor) -> None:
    """A client is silent for a while, and then neither side's packets pass: a NAT has dropped its entry."""
    producer = actor.producer(**HURRY | {"socket.timeout.ms": 3000, "message.timeout.ms": 9000})
    producer.produce(actor.topic, b"x")
    producer.flush(5)
    time.sleep(3)
    actor.network.drop_established(int(actor.place.rpartition(":")[2]))
    producer.produce(actor.topic, b"y")
    producer.flush(9)


NAT_INCIDENT: Final = Incident("nat-forgets", "idle-dropped", "shop", _nat_forgets)


def _no_route(actor: IncidentActor) -> None:
    """No broker gets through to the listener of node 1 that brokers use; clients reach its other one."""
    actor.network.drop(actor.cluster.find_node_plan(1).ports["INTERNAL"], 100)
    actor.create_on(1, 2, 3)
    with actor.writing(count=2):
        time.sleep(9)


ROUTE_INCIDENT: Final = Incident("no-route-between-brokers", "no-connection", "not answered", _no_route, topic=False)


def _disk_full(actor: IncidentActor) -> None:
    """One of a broker's two disks is full."""
    asking = rd.AdminClient({"bootstrap.servers": actor.place, "client.id": "admin"})
    asking.create_topics([rd.NewTopic(actor.topic, 2, 1)])[actor.topic].result(20)
    client = RawClient(actor.place)
    client.socket.close()
    producer = actor.producer(**HURRY | {"compression.type": "none", "linger.ms": 5})
    for number in range(1400):
        with suppress(BufferError):
            producer.produce(actor.topic, bytes(9000), partition=number % 2)
        producer.poll(0)
        time.sleep(0.001)
    producer.flush(6)


DISK_INCIDENT: Final = Incident(
    "disk-full", "broker-failed", "KAFKA_STORAGE_ERROR for disk-full", _disk_full, topic=False
)
