"""A body of one version in, the same content in the fields of another version out, for clusters with other versions.

Fields that a version renames, adds or lacks need nothing here: encoding drops those that may be dropped and refuses the
rest. This module has the versions that say the same in another shape, a function for each API and side.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from decoders.schema.api_declaration import Versions

__all__ = ["convert_answer_to_newest", "convert_request", "nearest_version"]

Body = dict[str, Any]
# The first versions that name several coordinators, groups, members; in which null means all topics of Metadata; that
# delete topics by id; that have a rebalance timeout in JoinGroup; that list one offset per partition.
_COORDINATORS: Final = 4
_GROUPS: Final = 8
_MEMBERS: Final = 3
_NO_TOPICS: Final = 1
_TOPICS_BY_ID: Final = 6
_REBALANCE: Final = 1
_ONE_OFFSET: Final = 1


def nearest_version(recorded: int, served: Versions) -> int:
    """The served version that is nearest to the recorded one."""
    return min(max(recorded, served.low), served.high)


def convert_request(api_key: int, from_version: int, to_version: int, body: Mapping[str, Any]) -> Body:
    """A request of one version in the shape of another; fields that `to_version` lacks may be left in it."""
    made = dict(body)
    convert = _REQUESTS.get(api_key)
    if convert is not None and from_version != to_version:
        convert(made, from_version, to_version)
    return made


def convert_answer_to_newest(api_key: int, body: Mapping[str, Any], request: Mapping[str, Any]) -> Body:
    """An answer of any version, in JSON form, in the newest shape; `request` is its request."""
    made = dict(body)
    convert = _ANSWERS.get(api_key)
    if convert is not None:
        convert(made, request)
    return made


def _convert_metadata(body: Body, since: int, to: int) -> None:
    if since < _NO_TOPICS <= to and not body.get("topics"):
        body["topics"] = None  # before, an empty list meant all topics


def _convert_offset_fetch(body: Body, since: int, to: int) -> None:
    if since < _GROUPS <= to:
        body["groups"] = [{"group_id": body.pop("group_id"), "topics": body.pop("topics", None)}]
    elif to < _GROUPS <= since and len(body.get("groups", ())) == 1:
        (group,) = body.pop("groups")
        body["group_id"], body["topics"] = group["group_id"], group["topics"]


def _convert_find_coordinator(body: Body, since: int, to: int) -> None:
    if since < _COORDINATORS <= to:
        body["coordinator_keys"] = [body.pop("key")]
    elif to < _COORDINATORS <= since and len(body.get("coordinator_keys", ())) == 1:
        (body["key"],) = body.pop("coordinator_keys")


def _convert_join_group(body: Body, since: int, to: int) -> None:
    if since < _REBALANCE <= to:
        body["rebalance_timeout_ms"] = body["session_timeout_ms"]


def _convert_leave_group(body: Body, since: int, to: int) -> None:
    if since < _MEMBERS <= to:
        body["members"] = [{"member_id": body.pop("member_id"), "group_instance_id": None}]
    elif to < _MEMBERS <= since and len(body.get("members", ())) == 1:
        (member,) = body["members"]
        if member.get("group_instance_id") is None:
            body["member_id"] = member["member_id"]
            del body["members"]


def _convert_delete_topics(body: Body, since: int, to: int) -> None:
    if since < _TOPICS_BY_ID <= to:
        body["topics"] = [{"name": name} for name in body.pop("topic_names", ())]
    elif to < _TOPICS_BY_ID <= since and all(topic.get("name") for topic in body["topics"]):
        body["topic_names"] = [topic["name"] for topic in body.pop("topics")]


def _convert_list_offsets(body: Body, since: int, to: int) -> None:
    if since < _ONE_OFFSET <= to:
        for topic in body["topics"]:
            for partition in topic["partitions"]:
                partition.pop("max_num_offsets", None)


_REQUESTS: Final[Mapping[int, Callable[[Body, int, int], None]]] = {
    2: _convert_list_offsets,
    3: _convert_metadata,
    9: _convert_offset_fetch,
    10: _convert_find_coordinator,
    11: _convert_join_group,
    13: _convert_leave_group,
    20: _convert_delete_topics,
}


def _wrap_coordinator_in_list(body: Body, asked: Mapping[str, Any]) -> None:
    if "coordinators" not in body and "node_id" in body:
        names = ("node_id", "host", "port", "error_code", "error_message")
        row = {name: body.pop(name) for name in names if name in body}
        body["coordinators"] = [{"key": (asked.get("coordinator_keys") or [asked.get("key")])[0], **row}]


def _wrap_group_in_list(body: Body, asked: Mapping[str, Any]) -> None:
    if "groups" not in body and "topics" in body:
        group = asked.get("group_id") or (asked.get("groups") or [{}])[0].get("group_id")
        body["groups"] = [{"group_id": group, "topics": body.pop("topics"), "error_code": body.pop("error_code", 0)}]


def _convert_old_style_offsets(body: Body, _asked: Mapping[str, Any]) -> None:
    body["topics"] = [
        {**topic, "partitions": [_convert_old_style_offset(row) for row in topic["partitions"]]}
        for topic in body["topics"]
    ]


def _convert_old_style_offset(row: Mapping[str, Any]) -> Body:
    found = dict(row)
    old = found.pop("old_style_offsets", None)
    if old is not None:
        found["offset"] = old[0] if old else -1
    return found


_ANSWERS: Final[Mapping[int, Callable[[Body, Mapping[str, Any]], None]]] = {
    2: _convert_old_style_offsets,
    9: _wrap_group_in_list,
    10: _wrap_coordinator_in_list,
}
