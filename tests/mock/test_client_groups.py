"""Real clients in groups at a mocked broker: partitions are divided, and the partitions of a member that leaves or dies
are taken over; transactions; incremental fetch sessions."""

from __future__ import annotations

import json
import time
from base64 import b64decode
from collections.abc import Iterator
from itertools import chain
from typing import Any, Final

import pytest
from confluent_kafka import Producer

from decoders import decode_embedded
from tests.broker.clients.session import Session, run, start
from tests.mock.running import MockedRecording, SocketClient, mocked

PARTITIONS: Final = 4
# The number of records of each write, equally many to each partition.
WRITTEN: Final = 80
WAIT_S: Final = 120.0
# Settings with which rebalances are noticed soon.
CLASSIC: Final = {"session.timeout.ms": "6000", "heartbeat.interval.ms": "500"}
CONSUMER: Final = {"group.protocol": "consumer"}

Places = set[tuple[int, int]]


def create_topic(mock: MockedRecording, name: str) -> None:
    """Create a topic, which the cluster of the tour does not do on demand."""
    node = SocketClient(mock.port)
    topic = {"name": name, "num_partitions": PARTITIONS, "replication_factor": 1}
    assert node.ask("CreateTopics", 5, {"topics": [topic], "timeout_ms": 1000})["topics"][0]["error_code"] == 0
    node.close()


class WatchedGroup:
    """A new topic and a group of two members on it; `members` are their partitions, once the group is stable."""

    def __init__(self, mock: MockedRecording, name: str, protocol: dict[str, str]) -> None:
        self.bootstrap = mock.bootstrap
        self.name = name
        self.protocol = protocol
        self.written = 0
        create_topic(mock, name)
        node = SocketClient(mock.port)
        found = node.ask("FindCoordinator", 2, {"key": name, "key_type": 0})
        node.close()
        self.coordinator = SocketClient(found["port"])

    def close(self) -> None:
        """Close the connection to the coordinator."""
        self.coordinator.close()

    def join(self, client: str, count: int) -> Session:
        """Start a member that reads `count` records and leaves."""
        step = {"topics": [self.name], "group": self.name, "count": count, "polls": 150}
        return start(client, self.bootstrap, [("consume", step)], self.protocol)

    def members(self) -> list[list[int]]:
        """The partitions of each member; an empty list while they are being divided."""
        if self.protocol is CONSUMER:
            group = self.coordinator.ask("ConsumerGroupDescribe", 1, {"group_ids": [self.name]})["groups"][0]
            said = [row["assignment"]["topic_partitions"] for row in group["members"]]
        else:
            group = self.coordinator.ask("DescribeGroups", 4, {"groups": [self.name]})["groups"][0]
            if group["group_state"] != "Stable":
                return []
            said = [
                decode_embedded("ConsumerProtocolAssignment", row["member_assignment"])["assigned_partitions"]
                for row in group["members"]
            ]
        return sorted([number for row in rows for number in row["partitions"]] for rows in said)

    def wait(self, *sizes: int) -> None:
        """Wait until the group has members with so many partitions each, and each partition has one member."""
        deadline = time.monotonic() + WAIT_S
        while True:
            found = self.members()
            if sorted(map(len, found)) == sorted(sizes) and sorted(chain(*found)) == [*range(PARTITIONS)]:
                return
            assert time.monotonic() < deadline, found
            time.sleep(0.1)

    def write(self) -> Places:
        """Write more records; gives their partitions and offsets."""
        producer = Producer({"bootstrap.servers": self.bootstrap})
        for number in range(WRITTEN):
            producer.produce(self.name, f"{self.written + number}", partition=number % PARTITIONS)
        assert producer.flush(60) == 0
        first = self.written // PARTITIONS
        self.written += WRITTEN
        return {(part, at) for part in range(PARTITIONS) for at in range(first, self.written // PARTITIONS)}


def places(session: Session) -> Places:
    """The partitions and offsets of the records that a member has read."""
    (answer,) = session.finish(WAIT_S)
    return {(row["partition"], row["offset"]) for row in answer["result"]}


@pytest.fixture(scope="module")
def mock() -> Iterator[MockedRecording]:
    with mocked() as made:
        yield made


full = pytest.mark.full
MEMBERS: Final = [
    pytest.param("librdkafka", CLASSIC, marks=pytest.mark.long),
    pytest.param("librdkafka", CONSUMER, marks=full),
    *(pytest.param(client, CLASSIC, marks=full) for client in ("aiokafka", "python", "java-4.4.0")),
    pytest.param("java-4.4.0", CONSUMER, marks=full),
]


@pytest.mark.parametrize(("client", "protocol"), MEMBERS)
def test_two_members_share_and_one_takes_over(mock: MockedRecording, client: str, protocol: dict[str, str]) -> None:
    group = WatchedGroup(mock, f"shared-{client}-{protocol is CONSUMER}", protocol)
    stays = group.join(client, WRITTEN // 2 + WRITTEN)
    try:
        group.wait(PARTITIONS)
        leaves = group.join(client, WRITTEN // 2)
        group.wait(PARTITIONS // 2, PARTITIONS // 2)
        written = group.write()
        theirs = places(leaves)
        group.wait(PARTITIONS)
        written |= group.write()
        rest = places(stays)
    finally:
        stays.kill()
        group.close()
    assert len(theirs) == WRITTEN // 2
    assert rest & theirs == set()
    assert rest | theirs == written


@full
@pytest.mark.parametrize(("client", "protocol"), [("librdkafka", CLASSIC), ("librdkafka", CONSUMER)])
def test_the_partitions_of_a_dead_member_are_taken_over(
    mock: MockedRecording, client: str, protocol: dict[str, str]
) -> None:
    group = WatchedGroup(mock, f"dead-{client}-{protocol is CONSUMER}", protocol)
    stays = group.join(client, 2 * WRITTEN)  # so that not all records are read before the group is looked at
    try:
        group.wait(PARTITIONS)
        dies = group.join(client, 10 * WRITTEN)
        group.wait(PARTITIONS // 2, PARTITIONS // 2)
        dies.kill()
        written = group.write()
        group.wait(PARTITIONS)
        written |= group.write()
        assert places(stays) == written
    finally:
        stays.kill()
        group.close()


@pytest.mark.long
def test_aborted_transactions_are_not_read_committed(mock: MockedRecording) -> None:
    topic, client = "transactions", "librdkafka"  # Java's producer does not send what was still unsent before an abort
    create_topic(mock, topic)

    def read(level: str, count: int) -> tuple[str, dict[str, Any]]:
        config = {"isolation.level": level}
        return ("consume", {"topics": [topic], "group": level, "count": count, "config": config})

    ends = ["commit", "abort", "commit"]
    steps = [("transact", {"topic": topic, "id": topic, "count": 5, "ends": ends})]
    _, committed, everything = run(
        client, mock.bootstrap, [*steps, read("read_committed", 10), read("read_uncommitted", 15)]
    )
    kept, aborted = [[row["value"] for row in each["result"]] for each in (committed, everything)]
    assert (len(kept), len(set(kept))) == (10, 10)
    assert (len(aborted), len(set(aborted))) == (15, 15)
    assert set(kept) < set(aborted)


@pytest.mark.parametrize(
    "client", [pytest.param("java-4.4.0", marks=pytest.mark.long), pytest.param("java-3.9.2", marks=full)]
)
def test_java_commits_offsets_with_a_transaction(mock: MockedRecording, client: str) -> None:
    """A committed transaction leaves records and offsets, an aborted one neither, as read_committed shows."""
    name = f"orders-{client}"
    create_topic(mock, name)

    def transact(*ends: str, group: str) -> tuple[str, dict[str, Any]]:
        return ("transact", {"topic": name, "id": f"{name}-{group}", "count": 5, "ends": list(ends), "group": group})

    read = {"topics": [name], "group": f"reads-{client}", "count": 10, "config": {"isolation.level": "read_committed"}}
    steps = [
        transact("abort", group=f"aborted-{client}"),
        transact("commit", "abort", "commit", group=f"committed-{client}"),
        ("consume", read),
    ]
    *_, committed = run(client, mock.bootstrap, steps)
    found = [json.loads(b64decode(row["value"]))["order"] for row in committed["result"]]
    assert sorted(found) == [0, 1, 2, 3, 4, 10, 11, 12, 13, 14]
    assert offset(mock, f"committed-{client}", name) == 1
    assert offset(mock, f"aborted-{client}", name) == -1


def offset(mock: MockedRecording, group: str, topic: str) -> int:
    """The offset that a group has committed for partition 0, from its coordinator."""
    node = SocketClient(mock.port)
    found = node.ask("FindCoordinator", 2, {"key": group, "key_type": 0})
    node.close()
    coordinator = SocketClient(found["port"])
    asked = [{"name": topic, "partition_indexes": [0]}]
    answer = coordinator.ask("OffsetFetch", 7, {"group_id": group, "topics": asked, "require_stable": True})
    coordinator.close()
    (row,) = answer["topics"][0]["partitions"]
    assert row["error_code"] == 0
    committed: int = row["committed_offset"]
    return committed


@full
def test_java_has_incremental_fetch_sessions() -> None:
    with mocked("-o", "ndjson", "--api", "Fetch", log=True) as mock:
        read = {"topics": ["orders"], "group": "sessions", "count": 420, "polls": 90}
        (answer,) = run("java-4.4.0", mock.bootstrap, [("consume", read)])
    assert len(answer["result"]) == 420
    sessions = [row["fetch_session"] for row in mock.rows if row.get("fetch_session") and row["status"] == "complete"]
    assert any(session["incremental"] for session in sessions)
    assert all(row["errors"] == [] for row in mock.rows)
