"""Incidents that somebody's change brings: rights, limits and quotas are set, offsets and leaders are moved."""

from __future__ import annotations

import time
from contextlib import suppress
from random import Random
from typing import Any, Final

from confluent_kafka import KafkaException, TopicPartition

from tests.analysis.faults.actors import RawClient, rd
from tests.analysis.faults.refused import ALTER_CLIENT_QUOTAS
from tests.analysis.incidents.incident import HURRY, Incident, IncidentActor
from tests.waiting import until

__all__ = ["CHANGES", "MOVES"]

_ALTER_PARTITION_REASSIGNMENTS: Final = 45
_OFFSETS: Final = "__consumer_offsets"


def _group_deleted(actor: IncidentActor) -> None:
    """A group is deleted while its consumer is away: it comes back without its position."""
    actor.write(200)
    settings = {"enable.auto.commit": False, "client.id": "nightly", "auto.offset.reset": "latest"}
    reader = actor.consumer(**settings | {"auto.offset.reset": "earliest"})
    reader.subscribe([actor.topic])
    until(lambda: reader.poll(0.1))
    reader.commit(offsets=[TopicPartition(actor.topic, 0, 100)], asynchronous=False)
    reader.close()
    again = actor.consumer(**settings)  # the consumer of the next night, which finds its position
    again.subscribe([actor.topic])
    until(lambda: again.poll(0.1))
    again.close()
    asking = rd.AdminClient({"bootstrap.servers": actor.place, "client.id": "tidy"})
    (deleted,) = asking.delete_consumer_groups([f"readers-of-{actor.topic}"]).values()
    deleted.result(20)
    late = actor.consumer(**settings)
    late.subscribe([actor.topic])
    until(lambda: late.poll(0.1) or late.assignment())
    late.poll(2)
    late.close()


def _right_removed(actor: IncidentActor) -> None:
    """The right to write is taken from a client that is writing."""
    names = (rd.ResourceType.TOPIC, actor.topic, rd.ResourcePatternType.LITERAL)
    rights = [
        rd.AclBinding(*names, user, "*", rd.AclOperation.ALL, rd.AclPermissionType.ALLOW)
        for user in ("User:ANONYMOUS", "User:bob")
    ]
    asking = rd.AdminClient({"bootstrap.servers": actor.place, "client.id": "security"})
    for made in asking.create_acls(rights).values():
        made.result(20)
    time.sleep(1)  # until the broker has applied it
    with actor.writing(count=3, **HURRY | {"client.id": "till"}):
        time.sleep(2)
        mine = rd.AclBindingFilter(*names, "User:ANONYMOUS", "*", rd.AclOperation.ALL, rd.AclPermissionType.ALLOW)
        (removed,) = asking.delete_acls([mine]).values()
        removed.result(20)
        time.sleep(4)


def _group_not_allowed(actor: IncidentActor) -> None:
    """A group's name has rights for somebody else: its consumer may not join."""
    names = (rd.ResourceType.GROUP, f"readers-of-{actor.topic}", rd.ResourcePatternType.LITERAL)
    asking = rd.AdminClient({"bootstrap.servers": actor.place, "client.id": "security"})
    right = rd.AclBinding(*names, "User:bob", "*", rd.AclOperation.ALL, rd.AclPermissionType.ALLOW)
    (made,) = asking.create_acls([right]).values()
    made.result(20)
    time.sleep(1)
    actor.write(5)
    reader = actor.consumer(**{"client.id": "reader"})
    reader.subscribe([actor.topic])
    end = time.monotonic() + 5
    while time.monotonic() < end:
        with suppress(KafkaException):
            reader.poll(0.2)
    reader.close()


def _batches_too_large(actor: IncidentActor) -> None:
    """Each record is small, but their batches are larger than the topic's max.message.bytes, compressed too."""
    actor.create_on(1, **{"max.message.bytes": "20000"})
    producer = actor.producer(**HURRY | {"compression.type": "lz4", "linger.ms": 200, "client.id": "packer"})
    draw = Random(1)
    for number in range(12):
        producer.produce(actor.topic, draw.randbytes(4000), key=str(number))
    producer.flush(8)


def _reader_over_quota(actor: IncidentActor) -> None:
    """A reader that catches up is held to its quota."""
    actor.write(3000, 1000, **{"compression.type": "none"})
    client = RawClient(actor.place)
    entity = [{"entity_type": "client-id", "entity_name": "catching-up"}]
    ops = [{"key": "consumer_byte_rate", "value": 100_000.0, "remove": False}]
    asked = {"entries": [{"entity": entity, "ops": ops}], "validate_only": False}
    assert client.ask(ALTER_CLIENT_QUOTAS, 0, asked)["entries"][0]["error_code"] == 0
    client.socket.close()
    time.sleep(1)
    reader = actor.consumer(**{"client.id": "catching-up", "max.partition.fetch.bytes": 200_000})
    reader.assign([TopicPartition(actor.topic, 0, 0)])
    end = time.monotonic() + 10
    while time.monotonic() < end:
        reader.poll(0.1)
    reader.close()


def _no_keys_for_compaction(actor: IncidentActor) -> None:
    """A topic is made compacted, and its producer sends records without keys."""
    actor.create_on(1, **{"cleanup.policy": "compact"})
    producer = actor.producer(**HURRY | {"client.id": "audit"})
    for _ in range(5):
        producer.produce(actor.topic, b"no key")
        producer.flush(5)


def _transaction_too_long(actor: IncidentActor) -> None:
    """A transaction takes longer than its time-out: the coordinator aborts it, and its producer is fenced."""
    settings: dict[str, Any] = {"transactional.id": "invoices-1", "transaction.timeout.ms": 2000, "client.id": "batch"}
    producer = actor.producer(**settings)
    producer.init_transactions(20)
    producer.begin_transaction()
    producer.produce(actor.topic, b"x")
    producer.flush(10)
    time.sleep(14)  # the coordinator looks every 10 s
    with suppress(KafkaException):
        producer.produce(actor.topic, b"y")
        producer.flush(5)
        producer.commit_transaction(10)


CHANGES: Final = (
    Incident("group-deleted", "commit-lost", "readers-of-group-deleted", _group_deleted),
    Incident("right-removed", "access-denied", "topic right-removed", _right_removed),
    Incident("group-not-allowed", "access-denied", "group readers-of-group-not-allowed", _group_not_allowed),
    Incident("batches-too-large", "too-large", "batches-too-large", _batches_too_large, topic=False),
    Incident("reader-over-its-quota", "throttled", "catching-up", _reader_over_quota),
    Incident(
        "no-keys-for-compaction", "records-refused", "no-keys-for-compaction", _no_keys_for_compaction, topic=False
    ),
    Incident("transaction-too-long", "transaction-expired", "invoices-1", _transaction_too_long),
)


def _maintenance(actor: IncidentActor) -> None:
    """A node is stopped for maintenance, and a topic with two replicas wants both in sync."""
    actor.create_on(1, 2, **{"min.insync.replicas": "2"})
    with actor.writing(count=2, **HURRY | {"client.id": "orders", "topic.metadata.refresh.interval.ms": 1000}):
        time.sleep(1)
        actor.cluster.stop_node(2)
        time.sleep(8)


def _reassign(topic: str, replicas: list[int], client: RawClient) -> None:
    order = {"partition_index": 0, "replicas": replicas}
    asked = {"timeout_ms": 5000, "topics": [{"name": topic, "partitions": [order]}]}
    assert client.ask(_ALTER_PARTITION_REASSIGNMENTS, 0, asked)["error_code"] == 0


def _coordinator_moves(actor: IncidentActor) -> None:
    """The partition with a group's offsets is moved to another node while the group reads."""
    actor.create_on(1, 2, 3)
    actor.write(20)
    reader = actor.consumer(**{"client.id": "reader", "heartbeat.interval.ms": 500, "auto.commit.interval.ms": 500})
    reader.subscribe([actor.topic])
    until(lambda: reader.poll(0.1))
    known = actor.producer().list_topics(_OFFSETS, timeout=10).topics[_OFFSETS].partitions
    assert len(known) == 1
    home = int(known[0].leader)
    admin = RawClient(actor.place.split(",")[0])
    end, moved = time.monotonic() + 10, False
    with actor.writing(count=2):
        while time.monotonic() < end:
            reader.poll(0.2)
            if end - time.monotonic() < 7 and not moved:
                moved = True
                _reassign(_OFFSETS, [home % 3 + 1], admin)
    admin.socket.close()
    reader.close()


def _leader_to_and_fro(actor: IncidentActor) -> None:
    """A tool that balances the cluster moves a leader to and fro under load."""
    actor.create_on(1, 2, 3)
    admin = RawClient(actor.place.split(",")[0])
    with actor.writing(count=3, **{"topic.metadata.refresh.interval.ms": 500}):
        for turn in range(12):
            _reassign(actor.topic, [[2, 3, 1], [3, 1, 2], [1, 2, 3]][turn % 3], admin)
            time.sleep(1.5)  # until the node that is preferred now leads
    admin.socket.close()


MOVES: Final = (
    Incident("maintenance", "broker-gone", "node 2", _maintenance, topic=False),
    Incident(
        *("coordinator-moves", "coordinator-moved", "readers-of-coordinator-moves"), _coordinator_moves, topic=False
    ),
    Incident("leader-to-and-fro", "leaders-move", "leader-to-and-fro", _leader_to_and_fro, topic=False),
)
