"""Metadata, FindCoordinator, DescribeCluster; topics made and deleted."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from decoders.mocking.cluster import (
    INVALID_TOPIC_EXCEPTION,
    UNKNOWN_TOPIC_ID,
    UNKNOWN_TOPIC_OR_PARTITION,
    Call,
    Cluster,
    Node,
    Refusal,
    Topic,
)

__all__ = [
    *("handle_create_topics", "handle_delete_topics", "handle_describe_cluster", "handle_find_coordinator"),
    "handle_metadata",
]

_NO_ID: Final = UUID(int=0)
_PARTITIONS_MAX: Final = 1000  # of one topic that a client makes

INVALID_REQUEST: Final = 42
INVALID_PARTITIONS: Final = 37
TOPIC_ALREADY_EXISTS: Final = 36
NONE: Final = 0


def _broker(node: Node, key: str = "node_id") -> dict[str, Any]:
    return {key: node.id, "host": node.host, "port": node.port, "rack": node.rack}


def handle_metadata(cluster: Cluster, call: Call) -> dict[str, Any]:
    """Brokers and topics; one that is not there is made where the client and the recorded cluster do so."""
    asked = call.body["topics"]
    everything = asked is None or (call.version == 0 and not asked)
    rows = (
        [_topic_row(topic) for topic in cluster.topics.values()]
        if everything
        else [_asked_topic(cluster, call, each) for each in asked]
    )
    return {
        "brokers": [_broker(node) for node in cluster.nodes.values()],
        "cluster_id": cluster.cluster_id,
        "controller_id": cluster.controller,
        "topics": rows,
    }


def _asked_topic(cluster: Cluster, call: Call, asked: dict[str, Any]) -> dict[str, Any]:
    name, topic_id = asked["name"], asked.get("topic_id", _NO_ID)
    try:
        if name is None:
            found = cluster.topics_by_id.get(topic_id)
            if found is None:
                raise Refusal(UNKNOWN_TOPIC_ID)
            return _topic_row(found)
        cluster.check_error(call, name)
        found = cluster.topics.get(name)
        if found is None:
            if (
                name in cluster.absent
                or not cluster.auto_create
                or not call.body.get("allow_auto_topic_creation", True)
            ):
                raise Refusal(UNKNOWN_TOPIC_OR_PARTITION)
            found = cluster.create_topic(name)
        return _topic_row(found)
    except Refusal as refusal:
        # Before version 12 a topic has a name in every answer.
        shown = "" if name is None and call.version < 12 else name
        return {"error_code": refusal.code, "name": shown, "topic_id": topic_id, "partitions": []}


def _topic_row(topic: Topic) -> dict[str, Any]:
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


def handle_describe_cluster(cluster: Cluster, call: Call) -> dict[str, Any]:  # noqa: ARG001  # as all handlers
    """The nodes."""
    return {
        "cluster_id": cluster.cluster_id,
        "controller_id": cluster.controller,
        "brokers": [_broker(node, "broker_id") for node in cluster.nodes.values()],
    }


def handle_find_coordinator(cluster: Cluster, call: Call) -> dict[str, Any]:
    """The coordinator of groups (0) and transactional ids (1)."""
    body = call.body
    kind = body.get("key_type", 0)
    rows = [_coordinator(cluster, call, kind, key) for key in body.get("coordinator_keys", [body.get("key")])]
    return {**rows[0], "coordinators": rows} if rows else {"coordinators": []}


def _coordinator(cluster: Cluster, call: Call, kind: int, key: str) -> dict[str, Any]:
    try:
        cluster.check_error(call, key)
        if kind not in (0, 1):
            raise Refusal(INVALID_REQUEST)
        node = cluster.nodes[cluster.coordinator(kind, key)]
    except Refusal as refusal:
        nowhere = {"node_id": -1, "host": "", "port": -1}
        return {"key": key, **nowhere, "error_code": refusal.code, "error_message": refusal.text}
    return {"key": key, **_broker(node), "error_code": NONE, "error_message": None}


def handle_create_topics(cluster: Cluster, call: Call) -> dict[str, Any]:
    """Make topics, kept in memory."""
    return {"topics": [_created(cluster, call, asked) for asked in call.body["topics"]]}


def _created(cluster: Cluster, call: Call, asked: dict[str, Any]) -> dict[str, Any]:
    name = asked["name"]
    try:
        cluster.check_error(call, name)
        if name in cluster.topics:
            raise Refusal(TOPIC_ALREADY_EXISTS, f"topic {name!r} already exists")
        leaders = [row["broker_ids"][0] for row in asked["assignments"] if row["broker_ids"]]
        count = len(leaders) or (1 if asked["num_partitions"] == -1 else asked["num_partitions"])
        if not 0 < count <= _PARTITIONS_MAX:
            raise Refusal(INVALID_PARTITIONS, f"1 to {_PARTITIONS_MAX} partitions, not {count}")
        if not name:
            raise Refusal(INVALID_TOPIC_EXCEPTION, "a topic without a name")
        if call.body.get("validate_only"):
            return {"name": name, "error_code": NONE, "num_partitions": count, "replication_factor": 1, "configs": []}
        topic = cluster.create_topic(name, count)
        cluster.absent.discard(name)
    except Refusal as refusal:
        return {"name": name, "error_code": refusal.code, "error_message": refusal.text, "configs": None}
    return {
        "name": name,
        "topic_id": topic.id,
        "error_code": NONE,
        "error_message": None,
        "num_partitions": count,
        "replication_factor": 1,
        "configs": [],
    }


def handle_delete_topics(cluster: Cluster, call: Call) -> dict[str, Any]:
    """Forget topics."""
    body = call.body
    asked = body.get("topics") or [{"name": name} for name in body.get("topic_names", [])]
    rows = []
    for each in asked:
        by_name = each["name"] is not None
        try:
            topic = cluster.find_topic({"name": each["name"]} if by_name else {"topic_id": each["topic_id"]})
            cluster.delete_topic(topic)
            rows.append({"name": topic.name, "topic_id": topic.id, "error_code": NONE})
        except Refusal as refusal:
            rows.append({"name": each["name"], "error_code": refusal.code, "error_message": refusal.text})
    return {"responses": rows}
