"""A cluster in, its topics made and a little traffic on them out: one producer, a group of two."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Final, Self

from decoders.embedded import decode_embedded, encode_embedded
from decoders.errors import DecodeError, EncodeError
from decoders.protocol_facts.api_keys import (
    CREATE_TOPICS,
    FETCH,
    HEARTBEAT,
    JOIN_GROUP,
    LEAVE_GROUP,
    OFFSET_COMMIT,
    OFFSET_FETCH,
    PRODUCE,
    SYNC_GROUP,
)
from decoders.protocol_facts.errors.error_codes import error_name
from decoders.records.encode_batches import encode_batch
from decoders.records.read_batches import decode_records
from decoders.records.record_and_batch import Batch, Record
from kwcli.net.cluster_client import ClusterClient
from kwcli.net.command_deadline import Deadline
from kwcli.net.config.client_config import ClientConfig
from kwcli.net.parse_addresses import parse_addresses
from kwcli.net.session.blocking_connection import BrokerConnection
from kwcli.run_environment import Failure

__all__ = ["PlaygroundClient", "TrafficMaker", "create_topics"]

PATIENCE_S: Final = 10.0
# API → the highest version with topics by name and one group at a time, which mocks and old releases take as well.
_CAPS: Final = {0: 9, 1: 12, 8: 9, 9: 7, 11: 9, 14: 4, 19: 7}


class PlaygroundClient(ClusterClient):
    """A cluster client whose every request has a deadline of its own."""

    def __init__(self, bootstrap: str, client_id: str) -> None:
        super().__init__(ClientConfig(parse_addresses(bootstrap), client_id=client_id), _start_deadline())

    def copy_with_new_deadline(self) -> Self:
        """This client with a new deadline, for looking something up."""
        self.set_deadline(_start_deadline())
        return self

    def request(self, to: BrokerConnection | None, key: int, body: Mapping[str, Any]) -> dict[str, Any]:
        """Send a request to a node; returns the body of the response. Raises Failure, also where the node is None."""
        if to is None:
            raise Failure("the topic has gone")
        return self.copy_with_new_deadline().send_request(
            to, key, self.choose_version(to, key, most=_CAPS.get(key, 99)), body
        )


def _start_deadline() -> Deadline:
    return Deadline(PATIENCE_S, time.monotonic)


# Topics


_EXISTS: Final = 36
# Errors that pass soon: brokers that the controller does not know yet; a controller quorum that has no leader yet.
_SOON: Final = frozenset({5, 7, 14, 15, 38, 41})
_WAIT_S: Final = 20.0


def create_topics(bootstrap: str, topics: Sequence[tuple[str, int]], copies: int) -> None:
    """Create topics with `copies` replicas; topics that exist stay. Raises Failure with what the cluster says."""
    deadline = time.monotonic() + _WAIT_S
    left: list[tuple[str, int]] = list(topics)
    with PlaygroundClient(bootstrap, "playground") as client:
        while left:
            answer = client.request(
                client.copy_with_new_deadline().connect_to_any(), CREATE_TOPICS, _make_create_topics_body(left, copies)
            )
            bad = [row for row in answer["topics"] if row["error_code"] not in (0, _EXISTS)]
            for row in bad:
                if row["error_code"] not in _SOON or time.monotonic() > deadline:
                    raise Failure(f"topic {row['name']}: {error_name(row['error_code'])}: {row.get('error_message')}")
            left = [(name, count) for name, count in left if name in {row["name"] for row in bad}]
            if left:
                time.sleep(0.1)


def _make_create_topics_body(topics: Sequence[tuple[str, int]], copies: int) -> dict[str, Any]:
    rows = [{"name": name, "num_partitions": count, "replication_factor": copies} for name, count in topics]
    return {"topics": rows, "timeout_ms": 10_000}


# A producer and a group of two


GROUP: Final = "playground"
MEMBERS: Final = 2
PAUSE_S: Final = 0.25  # between two batches of the producer
RETRY_S: Final = 1.0
WAIT_MS: Final = 500  # of a Fetch
SESSION_MS: Final = 10_000
_WORDS: Final = ("tea", "coffee", "water", "juice", "cake", "bread", "soup", "salad")
_MEMBER_ID_REQUIRED: Final = 79


class TrafficMaker:
    """Clients in threads of their own, from the start of the `with` block to its end."""

    def __init__(self, bootstrap: str, topics: Sequence[str], *, members: int = MEMBERS) -> None:
        self._bootstrap = bootstrap
        self._topics = list(topics)
        self._over = threading.Event()
        clients = [
            ("shop", self._produce_records),
            *((f"billing-{number + 1}", self._consume_as_group_member) for number in range(members)),
        ]
        self._threads = [
            threading.Thread(target=self._repeat_until_stopped, args=client, name=client[0], daemon=True)
            for client in clients
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join(2.0)

    def _repeat_until_stopped(self, name: str, work: Any) -> None:
        """Run one client until the end; it begins again after every failure, since nodes come and go."""
        while not self._over.is_set():
            try:
                with PlaygroundClient(self._bootstrap, name) as client:
                    work(client)
            except (Failure, KeyError, IndexError, DecodeError, EncodeError):
                self._over.wait(RETRY_S)

    def _produce_records(self, client: PlaygroundClient) -> None:
        number = 0
        while not self._over.wait(PAUSE_S):
            topic = random.choice(self._topics)
            partition = random.choice(client.copy_with_new_deadline().list_partitions(topic))
            records: list[Record] = []
            for _ in range(random.randint(1, 5)):
                number += 1
                value = f'{{"order":{number},"item":"{random.choice(_WORDS)}"}}'
                stamp = int(time.time() * 1000)
                records.append(Record(len(records), stamp, b"%d" % number, value.encode()))
            data = {"index": partition, "records": encode_batch(records, Batch(codec="lz4"))}
            body = {"acks": -1, "timeout_ms": 5000, "topic_data": [{"name": topic, "partition_data": [data]}]}
            answer = client.request(client.copy_with_new_deadline().connect_to_leader(topic, partition), PRODUCE, body)
            if answer["responses"][0]["partition_responses"][0]["error_code"]:
                client.forget_looked_up_answers()

    def _consume_as_group_member(self, client: PlaygroundClient) -> None:
        coordinator = client.connect_to_coordinator("group", GROUP)
        member, generation, leader = self._join_group(client, coordinator)
        mine = self._sync_group(client, coordinator, member, generation, leader)
        at = self._fetch_committed_offsets(client, coordinator, mine)
        while not self._over.is_set():
            for (topic, partition), offset in list(at.items()):
                at[topic, partition] = self._fetch_records(client, topic, partition, offset)
            self._commit_offsets(client, coordinator, (generation, member), at)
            beat = {"group_id": GROUP, "generation_id": generation, "member_id": member}
            if client.request(coordinator, HEARTBEAT, beat)["error_code"]:
                return  # the group rebalances: begin again
            if not at:
                self._over.wait(PAUSE_S)
        client.request(coordinator, LEAVE_GROUP, {"group_id": GROUP, "members": [{"member_id": member}]})

    def _join_group(
        self, client: PlaygroundClient, coordinator: BrokerConnection
    ) -> tuple[str, int, list[dict[str, Any]]]:
        """Join the group: (member id, generation, all members where this one is the leader and assigns)."""
        subscription = {"topics": self._topics, "user_data": None}
        protocol: dict[str, Any] = {
            "name": "range",
            "metadata": encode_embedded("ConsumerProtocolSubscription", 0, subscription),
        }
        member = ""
        while True:
            body: dict[str, Any] = {"group_id": GROUP, "member_id": member, "protocol_type": "consumer"}
            body |= {"session_timeout_ms": SESSION_MS, "rebalance_timeout_ms": 3000, "protocols": [protocol]}
            answer = client.request(coordinator, JOIN_GROUP, body)
            if answer["error_code"] == _MEMBER_ID_REQUIRED:
                member = answer["member_id"]
                continue
            if answer["error_code"]:
                raise Failure("no member of the group")
            return answer["member_id"], answer["generation_id"], answer["members"]

    def _sync_group(
        self,
        client: PlaygroundClient,
        coordinator: BrokerConnection,
        member: str,
        generation: int,
        members: list[dict[str, Any]],
    ) -> list[tuple[str, int]]:
        """The partitions assigned to this member; the leader, which knows the members, assigns them."""
        every = [
            (topic, partition)
            for topic in self._topics
            for partition in client.copy_with_new_deadline().list_partitions(topic)
        ]
        rows = []
        for place, row in enumerate(members):
            share = every[place :: len(members)]
            parts = [
                {"topic": topic, "partitions": [number for name, number in share if name == topic]}
                for topic in self._topics
            ]
            value = {"assigned_partitions": [part for part in parts if part["partitions"]], "user_data": None}
            assignment = encode_embedded("ConsumerProtocolAssignment", 0, value)
            rows.append({"member_id": row["member_id"], "assignment": assignment})
        body = {"group_id": GROUP, "generation_id": generation, "member_id": member, "assignments": rows}
        answer = client.request(coordinator, SYNC_GROUP, body)
        if answer["error_code"]:
            raise Failure("no part in the group")
        return _parse_assignment(answer["assignment"])

    def _fetch_committed_offsets(
        self, client: PlaygroundClient, coordinator: BrokerConnection, mine: list[tuple[str, int]]
    ) -> dict[tuple[str, int], int]:
        names = {name for name, _ in mine}
        topics = [{"name": name, "partition_indexes": [p for of, p in mine if of == name]} for name in names]
        if not topics:
            return {}
        answer = client.request(coordinator, OFFSET_FETCH, {"group_id": GROUP, "topics": topics})
        return {
            (topic["name"], row["partition_index"]): max(row["committed_offset"], 0)
            for topic in answer["topics"]
            for row in topic["partitions"]
        }

    def _fetch_records(self, client: PlaygroundClient, topic: str, partition: int, offset: int) -> int:
        """Fetch from an offset; returns the offset after the records that were there."""
        wanted = {"partition": partition, "fetch_offset": offset, "partition_max_bytes": 1 << 16}
        body: dict[str, Any] = {"replica_id": -1, "max_wait_ms": WAIT_MS, "min_bytes": 1, "max_bytes": 1 << 20}
        body["topics"] = [{"topic": topic, "partitions": [wanted]}]
        answer = client.request(client.copy_with_new_deadline().connect_to_leader(topic, partition), FETCH, body)
        row = answer["responses"][0]["partitions"][0]
        if row["error_code"]:
            client.forget_looked_up_answers()
            return offset
        batches = decode_records(row["records"] or b"")
        return max((batch.last_offset + 1 for batch in batches if batch.last_offset is not None), default=offset)

    def _commit_offsets(
        self,
        client: PlaygroundClient,
        coordinator: BrokerConnection,
        who: tuple[int, str],
        at: dict[tuple[str, int], int],
    ) -> None:
        rows: dict[str, list[dict[str, Any]]] = {}
        for (topic, partition), offset in at.items():
            rows.setdefault(topic, []).append({"partition_index": partition, "committed_offset": offset})
        body: dict[str, Any] = {"group_id": GROUP, "generation_id_or_member_epoch": who[0], "member_id": who[1]}
        body["topics"] = [{"name": name, "partitions": parts} for name, parts in rows.items()]
        if rows:
            client.request(coordinator, OFFSET_COMMIT, body)


def _parse_assignment(assignment: bytes) -> list[tuple[str, int]]:
    """The partitions in a member's assignment."""
    if not assignment:
        return []
    value = decode_embedded("ConsumerProtocolAssignment", assignment)
    return [(row["topic"], number) for row in value["assigned_partitions"] for number in row["partitions"]]
