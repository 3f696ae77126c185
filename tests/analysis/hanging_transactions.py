"""Transactions that nobody ends and records that a share group gets again and again, on a real broker."""

from __future__ import annotations

import time
from typing import Any, Final

from confluent_kafka import TopicPartition

from tests.analysis.faults.actors import Actor, write_unannounced_batch
from tests.broker.clients.session import run, start
from tests.broker.options import Options
from tests.broker.plays import QUICK_SHARE

__all__ = [
    "HUNG",
    "OPTIONS",
    "check_last_attempts",
    "count_committed_records",
    "give_records_back",
    "leave_transactions_open",
]

# Topic → transactional id, and the API of the command that ends its transaction.
HUNG: Final = {
    "first-protocol": ("ledger-1", "InitProducerId"),
    "second-protocol": ("ledger-2", "InitProducerId"),
    "unknown-to-coordinators": ("ledger-3", "WriteTxnMarkers"),
}
# Without verification brokers append a batch of a transaction that its coordinator does not know, as before 3.6.
OPTIONS: Final = Options(
    class_archive=True, properties=QUICK_SHARE | {"transaction.partition.verification.enable": "false"}
)


def count_committed_records(place: str, topic: str, seconds: float) -> int:
    """How many records a reader of committed records gets in some seconds."""
    actor = Actor(place, topic)
    reader = actor.consumer(**{"client.id": "reader", "isolation.level": "read_committed"})
    reader.assign([TopicPartition(topic, 0, 0)])
    end, count = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        message = reader.poll(0.5)
        count += message is not None and not message.error()
    reader.close()
    return count


def leave_transactions_open(place: str) -> None:
    """One transaction of each kind that never ends, each in a topic of its own, with records behind it."""
    for topic in HUNG:
        Actor(place, topic).create()
    first = Actor(place, "first-protocol").producer(
        **{"client.id": "hung-1", "transactional.id": "ledger-1", "transaction.timeout.ms": 300_000}
    )
    first.init_transactions(30)
    first.begin_transaction()
    first.produce("first-protocol", b"x")
    first.flush(10)
    step = ("transact", {"topic": "second-protocol", "id": "ledger-2", "count": 2, "ends": ["commit", "leave"]})
    second = start("java-4.4.0", place, [step], {"client.id": "hung-2"})
    try:
        write_unannounced_batch(place, "unknown-to-coordinators", "ledger-3")
        time.sleep(8)
    finally:
        second.kill()
    for topic in HUNG:
        Actor(place, topic).write(5)


def give_records_back(place: str) -> None:
    """Records that are delivered five times: at last accepted by one group, given back by the other."""
    run("librdkafka", place, [("create", {"topics": {"parcels": 1}}), ("produce", {"topic": "parcels", "count": 3})])
    members = []
    for group, release in (("accepting", 12), ("returning", 15)):
        early = {"kind": "GROUP", "name": group, "values": {"share.auto.offset.reset": "earliest"}}
        run("java-4.4.0", place, [("configure", early)], {"client.id": "admin"})
        work = {"topics": ["parcels"], "group": group, "count": 3, "polls": 24, "release": release}
        members.append(start("java-4.4.0", place, [("share", work)], {"client.id": f"{group}-1"}))
    for member in members:
        member.finish()


def check_last_attempts(groups: dict[str, dict[str, Any]]) -> None:
    """Check the rows of `kw groups`, by name: brokers deliver a record five times."""
    returned: dict[int, tuple[str, int]] = {}
    for each in groups["returning"]["last_attempts"]:
        for offset in range(each["first_offset"], each["last_offset"] + 1):
            returned[offset] = each["state"], each["deliveries"]
    assert returned == dict.fromkeys((0, 1, 2), ("archived", 5))
    assert groups["returning"]["shared"]["released"] == 15
    accepting = groups["accepting"]
    assert {each["deliveries"] for each in accepting["last_attempts"]} == {5}
    assert "accepted" in {each["state"] for each in accepting["last_attempts"]}
    assert accepting["shared"]["released"] == 12
    assert [groups[name]["locks"] for name in ("accepting", "returning")] == [[], []]
