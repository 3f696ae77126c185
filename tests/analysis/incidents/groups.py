"""Incidents of groups: foreign commits and offsets, a shared id, slow members, positions that are not there."""

from __future__ import annotations

import time
from contextlib import suppress
from threading import Thread
from typing import Any, Final

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaException, TopicPartition

from tests.analysis.faults.actors import rd
from tests.analysis.incidents.incident import HURRY, Incident, IncidentActor

__all__ = ["GROUP_INCIDENTS"]


def _poll(consumer: Consumer, seconds: float, *, work_s: float = 0) -> None:
    """Poll for so long; with `work_s` each record takes so many seconds, and every tenth is committed."""
    end, handled = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        with suppress(KafkaException):
            record = consumer.poll(0.1)
            if work_s and record is not None and record.error() is None:
                handled += 1
                time.sleep(work_s)
                if handled % 10 == 0:
                    consumer.commit(asynchronous=False)


def _read(actor: IncidentActor, seconds: float, settings: dict[str, Any], topic: str | None = None) -> None:
    """A consumer that reads for so long, and leaves."""
    consumer = actor.consumer(**settings)
    consumer.subscribe([topic or actor.topic])
    _poll(consumer, seconds)
    consumer.close()


def _foreign_commits(actor: IncidentActor) -> None:
    """A tool that assigns partitions itself commits for a group that has a member."""
    actor.write(50)
    member = Thread(target=_read, args=(actor, 14, {"client.id": "mail-1"}))
    member.start()
    time.sleep(4)
    tool = actor.consumer(**{"client.id": "replay", "enable.auto.commit": False})
    tool.assign([TopicPartition(actor.topic, 0, 0)])
    for number in range(5):
        tool.poll(1)
        with suppress(KafkaException):
            tool.commit(offsets=[TopicPartition(actor.topic, 0, 5 + number)], asynchronous=False)
        time.sleep(1)
    tool.close()
    member.join()


def _session_timeout_too_long(actor: IncidentActor) -> None:
    """A consumer comes back with a session time-out that the broker does not allow."""
    _read(actor, 5, {"client.id": "invoicing", "session.timeout.ms": 6000})
    too_long: dict[str, Any] = {"session.timeout.ms": 3_000_000, "max.poll.interval.ms": 3_000_000}
    _read(actor, 13, {"client.id": "invoicing"} | too_long)


def _group_of_two_programs(actor: IncidentActor) -> None:
    """Two programs that read different topics have one group.id."""
    other = f"{actor.topic}-other"
    actor.create(name=other)
    actor.write(50)
    shared = {"group.id": "workers"}
    first = Thread(target=_read, args=(actor, 12, {"client.id": "billing"} | shared))
    first.start()
    time.sleep(2)
    _read(actor, 4, {"client.id": "mailer"} | shared, other)
    first.join()


def _offsets_set_back(actor: IncidentActor) -> None:
    """Somebody sets a group's offset back while its consumer is away."""
    actor.write(500)
    _read(actor, 6, {"client.id": "orders-mail"})
    asking = rd.AdminClient({"bootstrap.servers": actor.place, "client.id": "ops-laptop"})
    wanted = ConsumerGroupTopicPartitions(f"readers-of-{actor.topic}", [TopicPartition(actor.topic, 0, 50)])
    for changed in asking.alter_consumer_group_offsets([wanted]).values():
        changed.result(20)
    _read(actor, 6, {"client.id": "orders-mail"})


def _no_position(actor: IncidentActor) -> None:
    """The records at a group's position are deleted, and its consumer is to look for no other (none)."""
    actor.write(100)
    settings: dict[str, Any] = {"client.id": "strict", "enable.auto.commit": False}
    reader = actor.consumer(**settings)
    reader.subscribe([actor.topic])
    _poll(reader, 5)
    reader.commit(offsets=[TopicPartition(actor.topic, 0, 10)], asynchronous=False)
    reader.close()
    asking = rd.AdminClient({"bootstrap.servers": actor.place, "client.id": "gdpr"})
    for deleted in asking.delete_records([TopicPartition(actor.topic, 0, 60)]).values():
        deleted.result(20)
    _read(actor, 11, settings | {"auto.offset.reset": "error"})


def _reads_too_slowly(actor: IncidentActor) -> None:
    """A consumer takes longer for its records than its producer."""
    with actor.writing(every_s=0.3, count=30, **{"client.id": "feed"}):
        reader = actor.consumer(**{"client.id": "slow", "enable.auto.commit": False})
        reader.subscribe([actor.topic])
        _poll(reader, 25, work_s=0.05)
        reader.close()


def _topic_made_again(actor: IncidentActor) -> None:
    """A topic is deleted and made again while it is written and read."""
    asking = rd.AdminClient({"bootstrap.servers": actor.place, "client.id": "tidy"})
    reader = actor.consumer(**{"client.id": "reader"})
    reader.subscribe([actor.topic])
    with actor.writing(count=2, **HURRY | {"client.id": "feed"}):
        _poll(reader, 5)
        asking.delete_topics([actor.topic])[actor.topic].result(20)
        time.sleep(2)
        actor.create()
        _poll(reader, 8)
    reader.close()


def _right_for_transactions(actor: IncidentActor) -> None:
    """The right for its transactional id is taken from a producer."""
    asking = rd.AdminClient({"bootstrap.servers": actor.place, "client.id": "security"})
    producer = actor.producer(**{"transactional.id": "pay-tx", "client.id": "pay"})
    producer.init_transactions(10)
    names = (rd.ResourceType.TRANSACTIONAL_ID, "pay-tx", rd.ResourcePatternType.LITERAL)
    denial = rd.AclBinding(*names, "User:ANONYMOUS", "*", rd.AclOperation.ALL, rd.AclPermissionType.DENY)
    for number in range(4):
        if number == 2:
            for made in asking.create_acls([denial]).values():
                made.result(20)
            time.sleep(1)
        with suppress(KafkaException):
            producer.begin_transaction()
            producer.produce(actor.topic, b"x")
            producer.commit_transaction(5)
    producer.purge()


GROUP_INCIDENTS: Final = (
    Incident("foreign-commits", "not-a-member", "replay cannot commit for group", _foreign_commits),
    Incident(
        "session-timeout-too-long", "answered-with-error", "session.timeout.ms=3000000", _session_timeout_too_long
    ),
    Incident("group-of-two-programs", "group-mixed", "billing (topic group-of", _group_of_two_programs),
    Incident("offsets-set-back", "offsets-set", "ops-laptop set the offset of offsets-set-back-0", _offsets_set_back),
    Incident("no-position", "position-missing", "gdpr deleted records before 60", _no_position),
    Incident("reads-too-slowly", "group-behind", "readers-of-reads-too-slowly falls behind", _reads_too_slowly),
    Incident("topic-made-again", "topic-unknown", "and it was made again", _topic_made_again),
    Incident("right-for-transactions", "access-denied", "transactional id pay-tx is denied", _right_for_transactions),
)
