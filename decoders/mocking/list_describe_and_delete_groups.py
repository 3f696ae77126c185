"""Requests about whole groups: ListGroups, DescribeGroups, ConsumerGroupDescribe, DeleteGroups."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from decoders.mocking.build_response_bodies import ResponseBody, ResponseRow, build_refused_row
from decoders.mocking.classic_groups import ClassicGroup, ClassicGroupState
from decoders.mocking.cluster_state import Call, MockCluster
from decoders.mocking.consumer_groups import ConsumerGroup, TopicIdPartition
from decoders.mocking.refusal_error import Refusal
from decoders.named_tuple import NamedTuple

__all__ = [
    *("handle_consumer_group_describe", "handle_delete_groups", "handle_describe_groups", "handle_list_groups"),
]

GROUP_ID_NOT_FOUND: Final = 69
_CONSUMER: Final = "consumer"
_CLASSIC: Final = "classic"
# From this version of DescribeGroups on a group that is not there is an error (KIP-1043).
_NOT_FOUND_FROM: Final = 6


def _list_groups_of_node(cluster: MockCluster, node: int) -> list[str]:
    """The groups that a node coordinates: those that were joined, and those with offsets."""
    names = dict.fromkeys((*cluster.groups, *cluster.offsets))
    return [name for name in names if cluster.find_coordinator(0, name) == node]


class _GroupState(NamedTuple):
    kind: str
    state: str
    protocol_type: str


def _find_group_state(cluster: MockCluster, name: str) -> _GroupState:
    """The state of a group of either kind, or of one that has offsets only."""
    found = cluster.groups.get(name)
    if isinstance(found, ClassicGroup):
        return _GroupState(_CLASSIC, found.state.value, found.protocol_type or "")
    if isinstance(found, ConsumerGroup):
        return _GroupState(_CONSUMER, found.state, _CONSUMER)
    return _GroupState(_CLASSIC, ClassicGroupState.EMPTY.value, _CONSUMER)


def handle_list_groups(cluster: MockCluster, call: Call) -> ResponseBody:
    """ListGroups: the groups of the node that is asked."""
    states = {each.lower() for each in call.body.get("states_filter", ())}
    kinds = {each.lower() for each in call.body.get("types_filter", ())}
    rows = []
    for name in _list_groups_of_node(cluster, call.node):
        kind, state, protocol_type = _find_group_state(cluster, name)
        if (not states or state.lower() in states) and (not kinds or kind in kinds):
            row = {"group_id": name, "protocol_type": protocol_type, "group_state": state, "group_type": kind}
            rows.append(row)
    return {"error_code": 0, "groups": rows}


def _check_group_exists(cluster: MockCluster, call: Call, name: str) -> None:
    cluster.check_coordinator(call, 0, name)
    if name not in cluster.groups and name not in cluster.offsets:
        raise Refusal("GROUP_ID_NOT_FOUND", f"there is no group {name!r}")


def handle_describe_groups(cluster: MockCluster, call: Call) -> ResponseBody:
    """DescribeGroups: groups whose members assign partitions themselves."""
    return {"groups": [_build_classic_group_row(cluster, call, name) for name in call.body["groups"]]}


def _build_classic_group_row(cluster: MockCluster, call: Call, name: str) -> ResponseRow:
    found = cluster.groups.get(name)
    try:
        _check_group_exists(cluster, call, name)
        if isinstance(found, ConsumerGroup):
            raise Refusal("GROUP_ID_NOT_FOUND", f"{name!r} is a consumer group")
    except Refusal as refusal:
        if refusal.code != GROUP_ID_NOT_FOUND:
            return build_refused_row(call, refusal, "groups", name, "groups")
        dead = {"group_id": name, "group_state": "Dead"}
        if call.version < _NOT_FOUND_FROM:
            return dead
        return {**build_refused_row(call, refusal, "groups", name, "groups"), **dead}
    _, state, protocol_type = _find_group_state(cluster, name)
    row = {"error_code": 0, "group_id": name, "group_state": state, "protocol_type": protocol_type}
    if not isinstance(found, ClassicGroup):
        return {**row, "protocol_data": "", "members": []}
    members = [
        {
            "member_id": member.id,
            "group_instance_id": member.instance,
            "client_id": member.client_id,
            "client_host": member.host,
            "member_metadata": member.metadata_for_protocol(found.protocol),
            "member_assignment": member.assignment,
        }
        for member in found.members.values()
    ]
    return {**row, "protocol_data": found.protocol or "", "members": members}


def handle_consumer_group_describe(cluster: MockCluster, call: Call) -> ResponseBody:
    """ConsumerGroupDescribe: groups of the consumer protocol."""
    return {"groups": [_build_consumer_group_row(cluster, call, name) for name in call.body["group_ids"]]}


def _build_consumer_group_row(cluster: MockCluster, call: Call, name: str) -> ResponseRow:
    found = cluster.groups.get(name)
    try:
        cluster.check_coordinator(call, 0, name)
        if not isinstance(found, ConsumerGroup):
            raise Refusal("GROUP_ID_NOT_FOUND", f"there is no consumer group {name!r}")
    except Refusal as refusal:
        return build_refused_row(call, refusal, "group_ids", name, "groups")
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
                "assignment": _build_assignment_with_names(cluster, member.assigned),
                "target_assignment": _build_assignment_with_names(cluster, found.target.get(member.id, set())),
                "member_type": 1,
            }
            for member in found.members.values()
        ],
    }


def _build_assignment_with_names(cluster: MockCluster, places: set[TopicIdPartition]) -> dict[str, Any]:
    numbers: dict[UUID, list[int]] = {}
    for topic_id, number in sorted(places, key=lambda place: (place[0].bytes, place[1])):
        numbers.setdefault(topic_id, []).append(number)
    topics = [
        {"topic_id": each, "topic_name": cluster.topics_by_id[each].name, "partitions": partitions}
        for each, partitions in numbers.items()
        if each in cluster.topics_by_id
    ]
    return {"topic_partitions": topics}


def handle_delete_groups(cluster: MockCluster, call: Call) -> ResponseBody:
    """DeleteGroups: delete groups that have no members, and their offsets."""
    rows = []
    for name in call.body["groups_names"]:
        try:
            _check_group_exists(cluster, call, name)
            found = cluster.groups.get(name)
            if found is not None and not found.is_empty:
                raise Refusal("NON_EMPTY_GROUP", f"group {name!r} has members")
            cluster.groups.pop(name, None)
            cluster.offsets.pop(name, None)
            rows.append({"group_id": name, "error_code": 0})
        except Refusal as refusal:
            rows.append(build_refused_row(call, refusal, "groups_names", name, "results"))
    return {"results": rows}
