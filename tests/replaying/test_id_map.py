"""A recorded request in, the request for the other cluster out: names, ids, epochs, offsets, sessions; or a refusal."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

import pytest

from decoders.apis import api
from decoders.embedded import decode_embedded, encode_embedded
from decoders.exchanges.topic_and_node_names import NULL_ID
from decoders.protocol_facts.api_keys import (
    FETCH,
    FIND_COORDINATOR,
    HEARTBEAT,
    JOIN_GROUP,
    LIST_OFFSETS,
    METADATA,
    OFFSET_COMMIT,
    OFFSET_FETCH,
    PRODUCE,
    SYNC_GROUP,
)
from decoders.records.encode_batches import encode_batch
from decoders.records.read_batches import decode_records
from decoders.records.record_and_batch import Batch, Record
from decoders.replaying.id_map import AnsweringNodes, IdMap, NameMap, NotReplayable, match_nodes
from decoders.replaying.version_conversion import convert_request, nearest_version
from decoders.schema.api_declaration import Versions

OLD, NEW = UUID(int=7), UUID(int=8)
BROKER: Final = "10.0.0.1:9092"
END_TXN: Final = 26
INIT_PRODUCER_ID: Final = 22


def ids(names: NameMap | None = None) -> IdMap:
    """An id map: `orders` has the id OLD in the recording; `orders` and `copy` have NEW in the cluster."""
    known = IdMap(names or NameMap(), {1: 11, 2: 12}, "there")
    known.topic_named = {OLD: "orders"}.get
    known.topic_id = {"orders": NEW, "copy": NEW}.get
    return known


def mapped(known: IdMap, key: int, version: int, body: dict[str, Any]) -> dict[str, Any]:
    return known.map_request(key, version, body, broker=BROKER).body


def why_not(known: IdMap, key: int, version: int, body: dict[str, Any]) -> str:
    with pytest.raises(NotReplayable) as failure:
        mapped(known, key, version, body)
    return failure.value.reason


def test_metadata_never_creates() -> None:
    body = {"topics": [{"name": "orders"}], "allow_auto_topic_creation": True}
    assert mapped(ids(), METADATA, 4, body)["allow_auto_topic_creation"] is False


@pytest.mark.parametrize(
    ("version", "topic"),
    [(12, {"topic": "copy"}), (13, {"topic_id": NEW})],
)
def test_topics_are_named_as_the_version_names_them(version: int, topic: dict[str, Any]) -> None:
    known = ids(NameMap(topics={"orders": "copy"}))
    for given in ({"topic": "orders"}, {"topic_id": OLD}):
        body = {"replica_id": -1, "session_id": 0, "session_epoch": -1, "topics": [{**given, "partitions": []}]}
        (found,) = mapped(known, FETCH, version, body)["topics"]
        assert found == {**topic, "partitions": []}


def test_metadata_names_a_topic_by_its_name_or_its_id_as_it_did() -> None:
    known = ids(NameMap(topics={"orders": "copy"}))
    body = {"topics": [{"topic_id": NULL_ID, "name": "orders"}, {"topic_id": OLD, "name": None}]}
    found = mapped(known, METADATA, 12, body)["topics"]
    assert found == [{"topic_id": NULL_ID, "name": "copy"}, {"topic_id": NEW, "name": None}]


def test_a_topic_id_without_a_name_or_without_a_topic_cannot_be_asked_for() -> None:
    def body(identity: UUID) -> dict[str, Any]:
        return {"session_id": 0, "session_epoch": -1, "topics": [{"topic_id": identity, "partitions": []}]}

    assert why_not(ids(), FETCH, 13, body(UUID(int=99))) == "unnamed_topic"
    known = ids()
    known.topic_id = lambda _name: None
    assert why_not(known, FETCH, 13, body(OLD)) == "no_topic"


def test_replicas_and_leader_epochs_are_not_sent() -> None:
    partition = {"partition": 0, "current_leader_epoch": 4, "fetch_offset": 9, "last_fetched_epoch": 4}
    body = {"replica_id": -1, "session_id": 0, "topics": [{"topic": "orders", "partitions": [partition]}]}
    (topic,) = mapped(ids(), FETCH, 12, body)["topics"]
    assert topic["partitions"] == [
        {"partition": 0, "current_leader_epoch": -1, "fetch_offset": 9, "last_fetched_epoch": -1}
    ]
    assert why_not(ids(), FETCH, 12, {**body, "replica_id": 2}) == "replica"
    state = {"replica_id": 2, "replica_epoch": 1}
    assert why_not(ids(), FETCH, 15, {"session_id": 0, "replica_state": state, "topics": []}) == "replica"


def test_members_and_generations_are_those_that_joining_gave() -> None:
    known = ids(NameMap(groups={"billing": "test"}))
    beat = {"group_id": "billing", "generation_id": 3, "member_id": "old-1"}
    assert why_not(known, HEARTBEAT, 3, beat) == "member"
    known.learn_ids(
        JOIN_GROUP,
        {"group_id": "billing"},
        {"member_id": "old-1", "generation_id": 3, "error_code": 0},
        {"member_id": "new-1", "generation_id": 8, "error_code": 0},
        AnsweringNodes(BROKER, 1),
    )
    assert mapped(known, HEARTBEAT, 3, beat) == {"group_id": "test", "generation_id": 8, "member_id": "new-1"}
    sync = {**beat, "assignments": [{"member_id": "old-1", "assignment": b""}]}
    assert mapped(known, SYNC_GROUP, 3, sync)["assignments"] == [{"member_id": "new-1", "assignment": b""}]
    assert why_not(known, HEARTBEAT, 3, {**beat, "group_id": "other"}) == "member"


def test_a_simple_consumer_commits_without_a_member() -> None:
    body = {"group_id": "g", "generation_id_or_member_epoch": -1, "member_id": "", "topics": []}
    assert mapped(ids(), OFFSET_COMMIT, 7, body) == body


def test_a_read_leaves_out_a_member_that_nobody_knows() -> None:
    group = {"group_id": "g", "member_id": "old", "member_epoch": 4, "topics": None}
    (found,) = mapped(ids(), OFFSET_FETCH, 9, {"groups": [group], "require_stable": True})["groups"]
    assert found == {"group_id": "g", "member_id": None, "member_epoch": -1, "topics": None}


def test_producers_are_those_that_were_given_out_in_their_batches_too() -> None:
    known = ids()
    batch = encode_batch(
        [Record(0, 1, None, b"v", ())], Batch(producer_id=5, producer_epoch=2, base_sequence=7, transactional=True)
    )
    body = {"acks": -1, "topic_data": [{"name": "orders", "partition_data": [{"index": 0, "records": batch}]}]}
    assert why_not(known, PRODUCE, 9, body) == "producer"
    told = [{"producer_id": 5, "producer_epoch": 2}, {"producer_id": 905, "producer_epoch": 0}]
    known.learn_ids(INIT_PRODUCER_ID, {"transactional_id": "t"}, told[0], told[1], AnsweringNodes(BROKER, 1))
    (topic,) = mapped(known, PRODUCE, 9, body)["topic_data"]
    (found,) = decode_records(topic["partition_data"][0]["records"])
    assert (found.producer_id, found.producer_epoch, found.base_sequence) == (905, 0, 7)
    assert found.crc == "ok"
    assert [record.value for record in found.records or ()] == [b"v"]


def test_a_recorded_raise_of_the_epoch_is_followed_where_the_other_cluster_raises_none() -> None:
    known = ids()
    told = [{"producer_id": 5, "producer_epoch": 2}, {"producer_id": 905, "producer_epoch": 0}]
    known.learn_ids(INIT_PRODUCER_ID, {"transactional_id": "t"}, told[0], told[1], AnsweringNodes(BROKER, 1))
    asked = {"transactional_id": "t", "producer_id": 5, "producer_epoch": 2, "committed": True}
    raised = {"error_code": 0, "producer_id": 5, "producer_epoch": 3}
    known.learn_ids(END_TXN, asked, raised, {"error_code": 0}, AnsweringNodes(BROKER, 1))
    found = mapped(known, END_TXN, 4, {**asked, "producer_epoch": 3})
    assert (found["producer_id"], found["producer_epoch"]) == (905, 0)


def test_a_fetch_session_is_the_one_that_was_opened() -> None:
    known = ids()
    body = {"session_id": 77, "session_epoch": 5, "topics": []}
    assert why_not(known, FETCH, 12, body) == "session"
    opening = {"session_id": 0, "session_epoch": 0}
    known.learn_ids(FETCH, opening, {"session_id": 77}, {"session_id": 900}, AnsweringNodes(BROKER, 12))
    epochs = []
    for _ in range(2):
        found = known.map_request(FETCH, 12, body, broker=BROKER)
        assert (found.node, found.body["session_id"]) == (12, 900)
        epochs.append(found.body["session_epoch"])
    assert epochs == [1, 2]
    assert known.map_request(FETCH, 12, {**body, "session_epoch": -1}, broker=BROKER).body["session_epoch"] == -1
    with pytest.raises(NotReplayable):
        known.map_request(FETCH, 12, body, broker="10.0.0.2:9092")


def test_offsets_move_with_what_producers_got() -> None:
    known = ids()

    def produced(offset: int) -> dict[str, Any]:
        row = {"index": 1, "error_code": 0, "base_offset": offset}
        return {"responses": [{"name": "orders", "partition_responses": [row]}]}

    known.learn_ids(PRODUCE, {}, produced(100), produced(40), AnsweringNodes(BROKER, 1))
    asked = [{"partition": number, "fetch_offset": 120} for number in (0, 1)]
    body = {"session_id": 0, "topics": [{"topic": "orders", "partitions": asked}]}
    (topic,) = mapped(known, FETCH, 11, body)["topics"]
    assert [each["fetch_offset"] for each in topic["partitions"]] == [120, 60]
    listed = {"replica_id": -1, "topics": [{"name": "orders", "partitions": [{"partition_index": 1, "timestamp": 9}]}]}
    assert mapped(known, LIST_OFFSETS, 5, listed) == listed


@pytest.mark.parametrize(
    ("key_type", "key", "there"),
    [(0, "billing", "test"), (1, "billing", "billing"), (1, "ledger", "book")],
)
def test_what_a_coordinator_is_looked_for_is_known_by_its_kind(key_type: int, key: str, there: str) -> None:
    known = ids(NameMap(groups={"billing": "test"}, transactions={"ledger": "book"}))
    body = {"key_type": key_type, "coordinator_keys": [key]}
    assert mapped(known, FIND_COORDINATOR, 4, body)["coordinator_keys"] == [there]


def test_subscriptions_have_the_other_names() -> None:
    known = ids(NameMap(topics={"orders": "copy"}))
    data = encode_embedded("ConsumerProtocolSubscription", 1, {"topics": ["orders", "x"], "user_data": None})
    body = {"group_id": "g", "member_id": "", "protocols": [{"name": "range", "metadata": data}]}
    (protocol,) = mapped(known, JOIN_GROUP, 5, body)["protocols"]
    assert decode_embedded("ConsumerProtocolSubscription", protocol["metadata"])["topics"] == ["copy", "x"]


def test_configs_of_brokers_are_those_of_the_node_that_stands_for_them() -> None:
    key = api("DescribeConfigs").key
    resources = [{"resource_type": kind, "resource_name": name} for kind, name in ((4, "2"), (4, ""), (2, "orders"))]
    found = mapped(ids(NameMap(topics={"orders": "copy"})), key, 4, {"resources": resources})["resources"]
    assert [each["resource_name"] for each in found] == ["12", "", "copy"]
    body = {"resources": [{"resource_type": 4, "resource_name": "5"}]}
    assert why_not(ids(), key, 4, body) == "no_node"


@pytest.mark.parametrize(
    ("recorded", "there", "found"),
    [
        ([1, 2, 3], [1, 2, 3], {1: 1, 2: 2, 3: 3}),
        ([1001, 1002], [1, 2, 3], {1001: 1, 1002: 2}),
        ([1, 1002], [1, 2], {1: 1, 1002: 2}),
        ([1, 2, 3], [7], {1: 7, 2: 7, 3: 7}),
        ([1, 2, 3], [1], {1: 1, 2: 1, 3: 1}),
        ([1], [], {}),
    ],
)
def test_nodes_stand_for_each_other(recorded: list[int], there: list[int], found: dict[int, int]) -> None:
    assert match_nodes(recorded, there) == found


@pytest.mark.parametrize(
    ("key", "since", "to", "body", "found"),
    [
        (METADATA, 0, 4, {"topics": []}, {"topics": None}),
        (METADATA, 1, 4, {"topics": []}, {"topics": []}),
        (FIND_COORDINATOR, 0, 4, {"key": "g"}, {"coordinator_keys": ["g"]}),
        (FIND_COORDINATOR, 4, 3, {"coordinator_keys": ["g"]}, {"key": "g"}),
        (OFFSET_FETCH, 1, 8, {"group_id": "g", "topics": []}, {"groups": [{"group_id": "g", "topics": []}]}),
        (OFFSET_FETCH, 8, 7, {"groups": [{"group_id": "g", "topics": []}]}, {"group_id": "g", "topics": []}),
        (JOIN_GROUP, 0, 1, {"session_timeout_ms": 5}, {"session_timeout_ms": 5, "rebalance_timeout_ms": 5}),
        (13, 0, 3, {"member_id": "m"}, {"members": [{"member_id": "m", "group_instance_id": None}]}),
        (20, 1, 6, {"topic_names": ["a"]}, {"topics": [{"name": "a"}]}),
        (20, 6, 5, {"topics": [{"name": "a"}]}, {"topic_names": ["a"]}),
    ],
)
def test_requests_say_the_same_in_other_versions(key: int, since: int, to: int, body: Any, found: Any) -> None:
    assert convert_request(key, since, to, body) == found
    assert convert_request(key, since, since, body) == body


def test_the_nearest_version_is_served() -> None:
    assert [nearest_version(recorded, Versions(4, 12)) for recorded in (0, 4, 9, 13)] == [4, 4, 9, 12]
