"""Metadata, FindCoordinator, DescribeCluster, CreateTopics, DeleteTopics."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from decoders.mocking.build_response_bodies import RequestRow, ResponseBody, ResponseRow, build_refused_row
from decoders.mocking.cluster_state import (
    Call,
    MockCluster,
    MockNode,
    Topic,
)
from decoders.mocking.refusal_error import Refusal

__all__ = [
    *("handle_create_topics", "handle_delete_topics", "handle_describe_cluster", "handle_find_coordinator"),
    "handle_metadata",
]

_NO_ID: Final = UUID(int=0)
_PARTITIONS_MAX: Final = 1000  # of one topic that a client makes

# The endpoint types that DescribeCluster asks for.
_BROKERS: Final = 1
_CONTROLLERS: Final = 2
NONE: Final = 0


def _build_broker_row(node: MockNode, key: str = "node_id") -> ResponseRow:
    return {key: node.id, "host": node.host, "port": node.port, "rack": node.rack}


def handle_metadata(cluster: MockCluster, call: Call) -> ResponseBody:
    """Metadata: brokers and topics; a missing topic is made where the client and the recorded cluster allow it."""
    asked = call.body["topics"]
    everything = asked is None or (call.version == 0 and not asked)
    rows = (
        [_build_topic_row(topic) for topic in cluster.topics.values()]
        if everything
        else [_find_or_create_topic_row(cluster, call, each) for each in asked]
    )
    return {
        "brokers": [_build_broker_row(node) for node in cluster.nodes.values()],
        "cluster_id": cluster.cluster_id,
        "controller_id": cluster.controller,
        "topics": rows,
    }


def _find_or_create_topic_row(cluster: MockCluster, call: Call, asked_topic: RequestRow) -> ResponseRow:
    name, topic_id = asked_topic["name"], asked_topic.get("topic_id", _NO_ID)
    try:
        if name is None:
            found = cluster.topics_by_id.get(topic_id)
            if found is None:
                raise Refusal("UNKNOWN_TOPIC_ID")
            return _build_topic_row(found)
        cluster.raise_recorded_error(call, name)
        found = cluster.topics.get(name)
        if found is None:
            if (
                name in cluster.absent
                or not cluster.auto_create
                or not call.body.get("allow_auto_topic_creation", True)
            ):
                raise Refusal("UNKNOWN_TOPIC_OR_PARTITION")
            found = cluster.create_topic(name)
        return _build_topic_row(found)
    except Refusal as refusal:
        return build_refused_row(call, refusal, "topics", asked_topic, "topics")


def _build_topic_row(topic: Topic) -> ResponseRow:
    return {
        "error_code": NONE,
        "name": topic.name,
        "topic_id": topic.id,
        "is_internal": topic.internal,
        "partitions": [
            {
                "error_code": NONE,
                "partition_index": index,
                "leader_id": leader,
                "leader_epoch": 0,
                "replica_nodes": [leader],
                "isr_nodes": [leader],
                "offline_replicas": [],
            }
            for index, leader in enumerate(topic.leaders)
        ],
    }


def handle_describe_cluster(cluster: MockCluster, call: Call) -> ResponseBody:
    """DescribeCluster: the nodes; a request for controllers is refused."""
    kind = call.body.get("endpoint_type", _BROKERS)
    if kind != _BROKERS:
        raise Refusal("MISMATCHED_ENDPOINT_TYPE" if kind == _CONTROLLERS else "UNSUPPORTED_ENDPOINT_TYPE")
    return {
        "cluster_id": cluster.cluster_id,
        "controller_id": cluster.controller,
        "brokers": [_build_broker_row(node, "broker_id") for node in cluster.nodes.values()],
    }


def handle_find_coordinator(cluster: MockCluster, call: Call) -> ResponseBody:
    """FindCoordinator: the coordinators of groups (0) or transactional ids (1)."""
    keys = call.body.get("coordinator_keys")
    if keys is None:
        return _find_coordinator_row(cluster, call, call.body["key"])
    rows = []
    for key in keys:
        try:
            rows.append(_find_coordinator_row(cluster, call, key))
        except Refusal as refusal:
            rows.append(build_refused_row(call, refusal, "coordinator_keys", key, "coordinators"))
    return {"coordinators": rows}


def _find_coordinator_row(cluster: MockCluster, call: Call, key: str) -> ResponseRow:
    """The row with the coordinator of a key. Raises Refusal."""
    cluster.raise_recorded_error(call, key)
    kind = call.body.get("key_type", 0)
    if kind not in (0, 1):
        raise Refusal("INVALID_REQUEST")
    node = cluster.nodes[cluster.find_coordinator(kind, key)]
    return {"key": key, **_build_broker_row(node), "error_code": NONE, "error_message": None}


def handle_create_topics(cluster: MockCluster, call: Call) -> ResponseBody:
    """CreateTopics: make topics, kept in memory."""
    return {"topics": [_create_asked_topic(cluster, call, asked) for asked in call.body["topics"]]}


def _create_asked_topic(cluster: MockCluster, call: Call, asked_topic: RequestRow) -> ResponseRow:
    name = asked_topic["name"]
    try:
        cluster.raise_recorded_error(call, name)
        if name in cluster.topics:
            raise Refusal("TOPIC_ALREADY_EXISTS", f"topic {name!r} already exists")
        leaders = [row["broker_ids"][0] for row in asked_topic["assignments"] if row["broker_ids"]]
        count = len(leaders) or (1 if asked_topic["num_partitions"] == -1 else asked_topic["num_partitions"])
        if not 0 < count <= _PARTITIONS_MAX:
            raise Refusal("INVALID_PARTITIONS", f"1 to {_PARTITIONS_MAX} partitions, not {count}")
        if not name:
            raise Refusal("INVALID_TOPIC_EXCEPTION", "a topic without a name")
        if call.body.get("validate_only"):
            return {"name": name, "error_code": NONE, "num_partitions": count, "replication_factor": 1, "configs": []}
        topic = cluster.create_topic(name, count)
        cluster.absent.discard(name)
    except Refusal as refusal:
        return build_refused_row(call, refusal, "topics", asked_topic, "topics")
    return {
        "name": name,
        "topic_id": topic.id,
        "error_code": NONE,
        "error_message": None,
        "num_partitions": count,
        "replication_factor": 1,
        "configs": [],
    }


def handle_delete_topics(cluster: MockCluster, call: Call) -> ResponseBody:
    """DeleteTopics: delete topics and their logs."""
    field = "topics" if "topics" in call.body else "topic_names"
    rows = []
    for asked in call.body[field]:
        name = asked["name"] if field == "topics" else asked
        try:
            topic = cluster.find_topic({"topic_id": asked["topic_id"]} if name is None else {"name": name})
            cluster.delete_topic(topic)
            rows.append({"name": topic.name, "topic_id": topic.id, "error_code": NONE})
        except Refusal as refusal:
            rows.append(build_refused_row(call, refusal, field, asked, "responses"))
    return {"responses": rows}
