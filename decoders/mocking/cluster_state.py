"""The state of a mocked cluster: nodes, topics with their logs, committed offsets, timers; what all handlers share.

Nothing here reads a clock: time is `now_ms`, which comes in with the bytes of clients and with ticks. An action that is
due later is a `Timer`; a request whose client waits is a `Call` that its handler keeps and answers.
"""

from __future__ import annotations

import heapq
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Final, Protocol
from uuid import UUID
from zlib import crc32

from decoders.errors import strip_traceback
from decoders.limits import MOCK_GROUPS_MAX, MOCK_HELD_MAX, MOCK_PARTITIONS_MAX
from decoders.mocking.build_response_bodies import RequestBody, ResponseBody
from decoders.mocking.partition_log import PartitionLog
from decoders.mocking.refusal_error import Refusal
from decoders.named_tuple import NamedTuple

__all__ = [
    "PASSWORD",
    "Call",
    "Committed",
    "MockCluster",
    "MockLogin",
    "MockNode",
    "Timer",
    "Topic",
    "TopicPartition",
]

TopicPartition = tuple[str, int]
_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,249}\Z")
PARTITION_COST: Final = 1024
# The password of users for whom none was given.
PASSWORD: Final = "mock"
OFFSET_COST: Final = 256


class MockLogin(Protocol):
    """A login that proceeds token by token; `done` after the last one."""

    done: bool

    def answer_token(self, token: bytes) -> bytes:
        """The broker's answer to a client's token. Raises Refusal."""


class Call(Protocol):
    """One request that came in, and the way to answer it now or later."""

    node: int
    api_key: int
    version: int
    client_id: str | None
    client_host: str
    body: RequestBody
    login: MockLogin | None  # of the connection

    @property
    def has_client_left(self) -> bool:
        """Whether the client has closed its connection."""

    def send_late_answer(self, body: ResponseBody) -> None:
        """Send the response of a call that waited."""


class MockNode(NamedTuple):
    """One broker, with the address that clients are told."""

    id: int
    host: str
    port: int
    rack: str | None = None


class Committed(NamedTuple):
    """A committed offset."""

    offset: int
    leader_epoch: int = -1
    metadata: str | None = ""


@dataclass(slots=True)
class Topic:
    """A topic; `leaders` and `logs` by partition number."""

    name: str
    id: UUID
    leaders: list[int]
    logs: list[PartitionLog]
    internal: bool


@dataclass(slots=True, order=True)
class Timer:
    """An action at a time; `cancel` takes the action away."""

    at_ms: int
    number: int
    action: Callable[[], None] | None = field(compare=False)

    def cancel(self) -> None:
        """Take the action away, so that nothing is done."""
        self.action = None


# Client id, API key, name, partition (-1 for an error of no partition).
ErrorPlace = tuple[str | None, int, str, int]


class MockCluster:
    """The whole state; groups and transactions keep their own state in `groups` and `transactions`."""

    def __init__(self, nodes: Iterable[MockNode], cluster_id: str, controller: int, *, auto_create: bool) -> None:
        self.nodes = {node.id: node for node in nodes}
        self.cluster_id = cluster_id
        self.controller = controller
        self.auto_create = auto_create
        self.now_ms = 0
        self.topics: dict[str, Topic] = {}
        self.topics_by_id: dict[UUID, Topic] = {}
        self.absent: set[str] = set()  # topics that do not exist by the recording
        self.offsets: dict[str, dict[TopicPartition, Committed]] = {}
        # Group and partition → producer ids whose transactions will commit an offset there.
        self.pending: dict[str, dict[TopicPartition, set[int]]] = {}
        self.coordinators: dict[tuple[int, str], int] = {}
        self.mechanisms: list[str] = []
        self.passwords: dict[str, str] = {}  # by user, for mechanisms whose broker has to know them
        self.errors: dict[ErrorPlace, deque[int]] = {}
        self.groups: dict[str, Any] = {}  # by group id, of both kinds
        self.transactions: dict[str, Any] = {}  # by transactional id
        self.next_producer_id = 1000
        self.memory_used = 0  # bytes of records, topics and offsets
        self.notes: list[str] = []  # for users, each once
        self._told: set[str] = set()
        self._timers: list[Timer] = []
        self._numbers = 0
        self.append_watchers: list[Callable[[TopicPartition], None]] = []

    # time

    def schedule(self, after_ms: int, action: Callable[[], None]) -> Timer:
        """Run an action after `after_ms`; returns its timer."""
        self._numbers += 1
        timer = Timer(self.now_ms + max(after_ms, 0), self._numbers, action)
        heapq.heappush(self._timers, timer)
        return timer

    @property
    def next_ms(self) -> int | None:
        """The time at which the next timer is due; None where there is none."""
        while self._timers and self._timers[0].action is None:
            heapq.heappop(self._timers)
        return self._timers[0].at_ms if self._timers else None

    def run_due_timers(self) -> None:
        """Run the actions that are due now."""
        while (at := self.next_ms) is not None and at <= self.now_ms:
            action = heapq.heappop(self._timers).action
            if action is not None:
                action()

    def next_unique_number(self) -> int:
        """A number that nothing else in the cluster has."""
        self._numbers += 1
        return self._numbers

    def add_note_for_user(self, text: str) -> None:
        """Add a note for users, unless it has been added before."""
        if text not in self._told:
            self._told.add(text)
            self.notes.append(text)

    # limits

    def reserve_memory(self, size: int) -> None:
        """Count bytes of memory as held. Raises Refusal where there is none left."""
        if self.memory_used + size > MOCK_HELD_MAX:
            self.add_note_for_user(
                f"the mock holds {MOCK_HELD_MAX >> 20} MiB of records and offsets, its limit: it refuses more"
            )
            raise Refusal("POLICY_VIOLATION", "the mock's memory for records and offsets is full")
        self.memory_used += size

    # topics

    def add_topic(
        self, name: str, leaders: list[int], topic_id: UUID | None = None, *, internal: bool = False
    ) -> Topic:
        """Add a topic with these leaders by partition. Raises Refusal where there is no room for it."""
        partitions = sum(len(topic.logs) for topic in self.topics.values())
        if partitions + len(leaders) > MOCK_PARTITIONS_MAX:
            self.add_note_for_user(
                f"the mock has {MOCK_PARTITIONS_MAX:,} partitions, its limit: it refuses more topics"
            )
            raise Refusal("POLICY_VIOLATION", "the mock has reached its limit of partitions")
        self.reserve_memory(PARTITION_COST * len(leaders))
        if topic_id is None or topic_id in self.topics_by_id:
            topic_id = UUID(bytes=blake2b(f"{self.cluster_id} {name}".encode(), digest_size=16).digest())
        topic = Topic(name, topic_id, leaders, [PartitionLog() for _ in leaders], internal)
        self.topics[name] = topic
        self.topics_by_id[topic_id] = topic
        return topic

    def create_topic(self, name: str, partitions: int = 1) -> Topic:
        """Add a topic that a client asks for. Raises Refusal."""
        if not _NAME.match(name) or name in (".", ".."):
            raise Refusal("INVALID_TOPIC_EXCEPTION", f"{name[:249]!r} is no name of a topic")
        nodes = sorted(self.nodes)
        start = crc32(name.encode())
        return self.add_topic(name, [nodes[(start + index) % len(nodes)] for index in range(partitions)])

    def delete_topic(self, topic: Topic) -> None:
        """Delete a topic and its logs."""
        self.memory_used -= sum(log.size for log in topic.logs) + PARTITION_COST * len(topic.logs)
        del self.topics[topic.name], self.topics_by_id[topic.id]

    def find_topic(self, named: Mapping[str, Any]) -> Topic:
        """The topic of a struct with `name`, `topic` or `topic_id`. Raises Refusal."""
        topic_id = named.get("topic_id")
        if topic_id is not None:
            found = self.topics_by_id.get(topic_id)
            if found is None:
                raise Refusal("UNKNOWN_TOPIC_ID")
            return found
        found = self.topics.get(named["name"] if "name" in named else named["topic"])
        if found is None:
            raise Refusal("UNKNOWN_TOPIC_OR_PARTITION")
        return found

    def find_log(self, topic: Topic, partition: int, node: int | None = None) -> PartitionLog:
        """The log of a partition. Raises Refusal where there is none, or `node` is given and not its leader."""
        if not 0 <= partition < len(topic.logs):
            raise Refusal("UNKNOWN_TOPIC_OR_PARTITION")
        if node is not None and topic.leaders[partition] != node:
            raise Refusal("NOT_LEADER_OR_FOLLOWER")
        return topic.logs[partition]

    def notify_append_watchers(self, where: TopicPartition) -> None:
        """Tell the watchers that a partition has something new."""
        for watcher in list(self.append_watchers):
            watcher(where)

    # coordinators

    def find_coordinator(self, kind: int, key: str) -> int:
        """The node that coordinates a group (0) or transactional id (1)."""
        known = self.coordinators.get((kind, key))
        if known in self.nodes:
            assert known is not None
            return known
        nodes = sorted(self.nodes)
        return nodes[crc32(key.encode("utf-8", "surrogateescape")) % len(nodes)]

    def check_coordinator(self, call: Call, kind: int, key: str) -> None:
        """Raises Refusal if another node coordinates a group (0) or transactional id (1), or for a recorded error."""
        if kind == 0 and not key:
            raise Refusal("INVALID_GROUP_ID")
        if self.find_coordinator(kind, key) != call.node:
            raise Refusal("NOT_COORDINATOR")
        self.raise_recorded_error(call, key)

    def find_password(self, user: str) -> str:
        """The password of a user, which the broker has to know for SCRAM."""
        return self.passwords.get(user, PASSWORD)

    # offsets

    def commit_offset(self, group: str, where: TopicPartition, committed: Committed) -> None:
        """Keep a committed offset of a group. Raises Refusal where there is no room for it."""
        known = self.offsets.get(group)
        if known is None:
            if len(self.offsets) >= MOCK_GROUPS_MAX:
                self.add_note_for_user(
                    f"the mock has offsets of {MOCK_GROUPS_MAX:,} groups, its limit: it refuses more"
                )
                raise Refusal("POLICY_VIOLATION")
            known = self.offsets[group] = {}
        before = known.get(where)
        metadata_size = len(committed.metadata or "") - len((before.metadata if before else "") or "")
        if before is None:
            self.reserve_memory(OFFSET_COST + metadata_size)
        elif metadata_size > 0:
            self.reserve_memory(metadata_size)
        known[where] = committed

    # recorded errors

    def raise_recorded_error(self, call: Call, name: str, partition: int = -1) -> None:
        """Raises Refusal with the next error recorded for this client, API, name and partition, each error once."""
        if not self.errors:
            return
        codes = self.errors.get((call.client_id, call.api_key, name, partition))
        if codes:
            raise Refusal(codes.popleft(), "recorded")


class AskedPartition(NamedTuple):
    """A partition in a request: its row there, its topic, and its log or the reason why it is refused."""

    row: Mapping[str, Any]
    topic: Topic | None
    log: PartitionLog | None
    refusal: Refusal | None


def find_partitions_of_topic(
    cluster: MockCluster, call: Call, topic: Mapping[str, Any], field_name: str, node: int | None
) -> Iterator[AskedPartition]:
    """The partitions of a topic in a request, from its array `field_name`; where `node` is given, it must lead them."""
    try:
        found: Topic | None = cluster.find_topic(topic)
        problem = None
    except Refusal as refusal:
        found, problem = None, strip_traceback(refusal)
    for row in topic[field_name]:
        number = row.get("partition_index", row.get("index", row.get("partition")))
        if found is None:
            yield AskedPartition(row, None, None, problem)
            continue
        try:
            cluster.raise_recorded_error(call, found.name, number)
            yield AskedPartition(row, found, cluster.find_log(found, number, node), None)
        except Refusal as refusal:
            yield AskedPartition(row, found, None, strip_traceback(refusal))
