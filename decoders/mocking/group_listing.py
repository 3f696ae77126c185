"""Requests about whole groups: ListGroups, DescribeGroups, ConsumerGroupDescribe, DeleteGroups."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from decoders.mocking.classic_groups import ClassicGroup, State
from decoders.mocking.cluster import Call, MockCluster, Refusal
from decoders.mocking.consumer_groups import ConsumerGroup, Place
from decoders.mocking.response_bodies import refusal_body

__all__ = [
    *("handle_consumer_group_describe", "handle_delete_groups", "handle_describe_groups", "handle_list_groups"),
]

NON_EMPTY_GROUP: Final = 68
GROUP_ID_NOT_FOUND: Final = 69
_CONSUMER: Final = "consumer"
_CLASSIC: Final = "classic"
# From this version of DescribeGroups on a group that is not there is an error (KIP-1043).
_NOT_FOUND_FROM: Final = 6


def _own_groups(cluster: MockCluster, node: int) -> list[str]:
    """The groups that a node coordinates: those that were joined, and those with offsets."""
    names = dict.fromkeys((*cluster.groups, *cluster.offsets))
    return [name for name in names if cluster.coordinator(0, name) == node]


def _state(cluster: MockCluster, name: str) -> tuple[str, str, str]:
    """Kind, state and protocol type of a group."""
    found = cluster.groups.get(name)
    if isinstance(found, ClassicGroup):
        return _CLASSIC, found.state.value, found.protocol_type or ""
    if isinstance(found, ConsumerGroup):
        return _CONSUMER, found.state, _CONSUMER
    return _CLASSIC, State.EMPTY.value, _CONSUMER


def handle_list_groups(cluster: MockCluster, call: Call) -> dict[str, Any]:
    """ListGroups: the groups of the node that is asked."""
    states = {each.lower() for each in call.body.get("states_filter", ())}
    kinds = {each.lower() for each in call.body.get("types_filter", ())}
    rows = []
    for name in _own_groups(cluster, call.node):
        kind, state, protocol_type = _state(cluster, name)
        if (not states or state.lower() in states) and (not kinds or kind in kinds):
            row = {"group_id": name, "protocol_type": protocol_type, "group_state": state, "group_type": kind}
            rows.append(row)
    return {"error_code": 0, "groups": rows}


def _check_known(cluster: MockCluster, call: Call, name: str) -> None:
    cluster.check_coordinator(call, 0, name)
    if name not in cluster.groups and name not in cluster.offsets:
        raise Refusal(GROUP_ID_NOT_FOUND, f"there is no group {name!r}")


def _refused_row(call: Call, refusal: Refusal, asked: str, name: str, told: str = "groups") -> dict[str, Any]:
    """The row of a group with an error; `asked` and `told` are where requests and responses have their groups."""
    row: dict[str, Any] = refusal_body(call, refusal, {asked: [name]})[told][0]
    return row


def handle_describe_groups(cluster: MockCluster, call: Call) -> dict[str, Any]:
    """DescribeGroups: groups whose members assign partitions themselves."""
    return {"groups": [_classic_row(cluster, call, name) for name in call.body["groups"]]}


def _classic_row(cluster: MockCluster, call: Call, name: str) -> dict[str, Any]:
    found = cluster.groups.get(name)
    try:
        _check_known(cluster, call, name)
        if isinstance(found, ConsumerGroup):
            raise Refusal(GROUP_ID_NOT_FOUND, f"{name!r} is a consumer group")
    except Refusal as refusal:
        if refusal.code != GROUP_ID_NOT_FOUND:
            return _refused_row(call, refusal, "groups", name)
        dead = {"group_id": name, "group_state": "Dead"}
        return dead if call.version < _NOT_FOUND_FROM else {**_refused_row(call, refusal, "groups", name), **dead}
    _, state, protocol_type = _state(cluster, name)
    row = {"error_code": 0, "group_id": name, "group_state": state, "protocol_type": protocol_type}
    if not isinstance(found, ClassicGroup):
        return {**row, "protocol_data": "", "members": []}
    members = [
        {
            "member_id": member.id,
            "group_instance_id": member.instance,
            "client_id": member.client_id,
            "client_host": member.host,
            "member_metadata": member.metadata(found.protocol),
            "member_assignment": member.assignment,
        }
        for member in found.members.values()
    ]
    return {**row, "protocol_data": found.protocol or "", "members": members}


def handle_consumer_group_describe(cluster: MockCluster, call: Call) -> dict[str, Any]:
    """ConsumerGroupDescribe: groups of the consumer protocol."""
    return {"groups": [_consumer_row(cluster, call, name) for name in call.body["group_ids"]]}


def _consumer_row(cluster: MockCluster, call: Call, name: str) -> dict[str, Any]:
    found = cluster.groups.get(name)
    try:
        cluster.check_coordinator(call, 0, name)
        if not isinstance(found, ConsumerGroup):
            raise Refusal(GROUP_ID_NOT_FOUND, f"there is no consumer group {name!r}")
    except Refusal as refusal:
        return _refused_row(call, refusal, "group_ids", name)
    return {
        "error_code": 0,
        "error_message": None,
        "group_id": name,
        "group_state": found.state,
        "group_epoch": found.epoch,
        "assignment_epoch": found.epoch,
        "assignor_name": found.assignor,
        "members": [
            {
                "member_id": member.id,
                "instance_id": member.instance,
                "rack_id": None,
                "member_epoch": member.epoch,
                "client_id": member.client_id,
                "client_host": member.host,
                "subscribed_topic_names": list(member.subscribed),
                "subscribed_topic_regex": None,
                "assignment": _assignment(cluster, member.assigned),
                "target_assignment": _assignment(cluster, found.target.get(member.id, set())),
                "member_type": 1,
            }
            for member in found.members.values()
        ],
    }


def _assignment(cluster: MockCluster, places: set[Place]) -> dict[str, Any]:
    numbers: dict[UUID, list[int]] = {}
    for topic_id, number in sorted(places, key=lambda place: (place[0].bytes, place[1])):
        numbers.setdefault(topic_id, []).append(number)
    topics = [
        {"topic_id": each, "topic_name": cluster.topics_by_id[each].name, "partitions": partitions}
        for each, partitions in numbers.items()
        if each in cluster.topics_by_id
    ]
    return {"topic_partitions": topics}


def handle_delete_groups(cluster: MockCluster, call: Call) -> dict[str, Any]:
    """DeleteGroups: delete groups that have no members, and their offsets."""
    rows = []
    for name in call.body["groups_names"]:
        try:
            _check_known(cluster, call, name)
            found = cluster.groups.get(name)
            if found is not None and not found.is_empty:
                raise Refusal(NON_EMPTY_GROUP, f"group {name!r} has members")
            cluster.groups.pop(name, None)
            cluster.offsets.pop(name, None)
            rows.append({"group_id": name, "error_code": 0})
        except Refusal as refusal:
            rows.append(_refused_row(call, refusal, "groups_names", name, "results"))
    return {"results": rows}
