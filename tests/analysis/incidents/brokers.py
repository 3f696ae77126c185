"""Incidents of nodes: three brokers and a controller, of which some stop, hang or move their leaders."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Final

from confluent_kafka import KafkaException

from tests.analysis.faults.actors import RawClient, rd
from tests.analysis.incidents.changes import MOVES
from tests.analysis.incidents.incident import HURRY, Incident, IncidentActor

__all__ = ["BROKER_INCIDENTS"]

_ALTER_PARTITION_REASSIGNMENTS: Final = 45
_ELECT_LEADERS: Final = 43


def _leader_stops(actor: IncidentActor) -> None:
    """The leader is killed under load, and stays away."""
    actor.create_on(1, 2, 3)
    with actor.writing(count=5, **{"topic.metadata.refresh.interval.ms": 1000}):
        time.sleep(1.5)
        actor.cluster.kill_node(1)
        time.sleep(8)


def _killed_and_back(actor: IncidentActor) -> None:
    """An unclean restart: the leader is killed and started again."""
    actor.create_on(1, 2, 3)
    with actor.writing(count=5, **{"topic.metadata.refresh.interval.ms": 1000}):
        time.sleep(1.5)
        actor.cluster.kill_node(1)
        time.sleep(6)
        actor.cluster.start_node(1)
        time.sleep(3)


def _leader_moved(actor: IncidentActor) -> None:
    """An administrator makes another replica the preferred leader, and has it elected, under load."""
    actor.create_on(1, 2, 3)
    with actor.writing(count=5):
        time.sleep(1.5)
        admin = RawClient(actor.place.split(",")[0])
        order = {"partition_index": 0, "replicas": [2, 1, 3]}
        asked = {"timeout_ms": 5000, "topics": [{"name": actor.topic, "partitions": [order]}]}
        assert admin.ask(_ALTER_PARTITION_REASSIGNMENTS, 0, asked)["error_code"] == 0
        time.sleep(1)
        wanted = [{"topic": actor.topic, "partitions": [0]}]
        elected = {"election_type": 0, "timeout_ms": 5000, "topic_partitions": wanted}
        assert admin.ask(_ELECT_LEADERS, 1, elected)["error_code"] == 0
        time.sleep(3)
        admin.socket.close()


def _replica_hangs(actor: IncidentActor) -> None:
    """One of two replicas hangs; writes want two in sync."""
    actor.create_on(1, 2, **{"min.insync.replicas": "2"})
    with actor.writing(count=2, **{"topic.metadata.refresh.interval.ms": 1000}):
        time.sleep(1)
        actor.cluster.pause_node(2)
        time.sleep(9)


def _coordinator_gone(actor: IncidentActor) -> None:
    """The broker with the only copy of the group's offsets stops."""
    actor.create_on(1, 2, 3)
    actor.write(20)
    reader = actor.consumer(**{"client.id": "reader", "log_level": 0})
    reader.subscribe([actor.topic])
    while not reader.poll(0.2):
        pass
    # The node of __consumer_offsets-0.
    asking = actor.producer()
    home = int(asking.list_topics("__consumer_offsets", timeout=10).topics["__consumer_offsets"].partitions[0].leader)
    actor.cluster.kill_node(home)
    end = time.monotonic() + 9
    while time.monotonic() < end:
        with suppress(KafkaException):
            reader.poll(0.2)
    # A client that asks for topics, as a new one would.
    rd.AdminClient({"bootstrap.servers": actor.place, "log_level": 0}).list_topics(timeout=10)
    reader.close()


def _all_restart(actor: IncidentActor) -> None:
    """Brokers are restarted in turn, too fast: a partition with one replica is away each time."""
    actor.create_on(3)
    with actor.writing(count=2, **HURRY | {"topic.metadata.refresh.interval.ms": 500}):
        time.sleep(1)
        actor.cluster.stop_node(3)
        time.sleep(4)
        actor.cluster.start_node(3)
        time.sleep(3)


BROKER_INCIDENTS: Final = (
    Incident("leader-killed", "broker-gone", "node 1", _leader_stops, topic=False),
    Incident("killed-and-back", "broker-back", "node 1", _killed_and_back, topic=False),
    Incident("leader-moved-by-hand", "leader-moved", "leader-moved-by-hand", _leader_moved, topic=False),
    Incident("replica-hangs", "broker-gone", "node 2", _replica_hangs, topic=False),
    Incident("coordinator-gone", "broker-gone", "node", _coordinator_gone, topic=False),
    Incident("only-replica-restarted", "broker-back", "node 3", _all_restart, topic=False),
    *MOVES,
)
