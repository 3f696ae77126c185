"""OffsetCommit and OffsetFetch, of groups of both kinds and of consumers without one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final
from uuid import UUID

from decoders.errors import strip_traceback
from decoders.mocking.build_response_bodies import RequestRow, ResponseBody, ResponseRow
from decoders.mocking.cluster_state import Call, Committed, MockCluster, TopicPartition
from decoders.mocking.refusal_error import Refusal

__all__ = [
    "check_group_member",
    "commit_offsets_of_request",
    "handle_offset_commit",
    "handle_offset_fetch",
    "require_small_metadata",
]

UNSTABLE_OFFSET_COMMIT: Final = 88
_METADATA_MAX: Final = 4096


def check_group_member(cluster: MockCluster, group: str, member: str, generation: int, instance: str | None) -> None:
    """Raises Refusal where a group has members, and `member` is none of them, or of another generation."""
    found = cluster.groups.get(group)
    if found is not None:
        found.check_may_commit(member, generation, instance)
    elif generation >= 0:
        raise Refusal("ILLEGAL_GENERATION")


def require_small_metadata(metadata: str | None) -> str | None:
    """The metadata of an offset as it is. Raises Refusal where it is too large."""
    if metadata is not None and len(metadata) > _METADATA_MAX:
        raise Refusal("OFFSET_METADATA_TOO_LARGE")
    return metadata


def handle_offset_commit(cluster: MockCluster, call: Call) -> ResponseBody:
    """OffsetCommit: keep the offsets of a group."""
    body = call.body
    group = body["group_id"]
    problem: Refusal | None = None
    try:
        cluster.check_coordinator(call, 0, group)
        check_group_member(
            cluster,
            group,
            body.get("member_id", ""),
            body.get("generation_id_or_member_epoch", -1),
            body.get("group_instance_id"),
        )
    except Refusal as refusal:
        problem = strip_traceback(refusal)
    return commit_offsets_of_request(
        cluster, call, problem, lambda place, committed: cluster.commit_offset(group, place, committed)
    )


def commit_offsets_of_request(
    cluster: MockCluster, call: Call, problem: Refusal | None, keep_offset: Callable[[TopicPartition, Committed], None]
) -> ResponseBody:
    """Call `keep_offset` for each offset of a request, unless `problem` refuses all; returns the response's body."""
    rows = []
    for topic in call.body["topics"]:
        partitions = []
        for row in topic["partitions"]:
            number = row["partition_index"]
            code = 0
            try:
                if problem is not None:
                    raise problem
                found = cluster.find_topic(topic)
                cluster.find_log(found, number)
                cluster.raise_recorded_error(call, found.name, number)
                epoch = row.get("committed_leader_epoch", -1)
                metadata = require_small_metadata(row["committed_metadata"])
                keep_offset((found.name, number), Committed(row["committed_offset"], epoch, metadata))
            except Refusal as refusal:
                code = refusal.code
            partitions.append({"partition_index": number, "error_code": code})
        named = {key: topic[key] for key in ("name", "topic_id") if key in topic}
        rows.append({**named, "partitions": partitions})
    return {"topics": rows}


def handle_offset_fetch(cluster: MockCluster, call: Call) -> ResponseBody:
    """OffsetFetch: the committed offsets of groups; -1 where there is none."""
    body = call.body
    groups = body.get("groups")
    if groups is None:
        row = _build_offsets_of_group(cluster, call, body)
        return {**row, "error_code": row["error_code"]}
    return {"groups": [_build_offsets_of_group(cluster, call, group) for group in groups]}


def _build_offsets_of_group(cluster: MockCluster, call: Call, asked_group: RequestRow) -> ResponseRow:
    group = asked_group["group_id"]
    topics = asked_group["topics"]
    code = 0
    try:
        cluster.check_coordinator(call, 0, group)
        if asked_group.get("member_id") is not None and asked_group.get("member_epoch", -1) >= 0:
            check_group_member(cluster, group, asked_group["member_id"], asked_group["member_epoch"], None)
    except Refusal as refusal:
        code = refusal.code
    known = cluster.offsets.get(group, {})
    if topics is None:
        names = dict.fromkeys(name for name, _ in known)
        topics = [
            {"name": name, "partition_indexes": [number for other, number in known if other == name]} for name in names
        ]
        by_id = call.version >= 10
        for each in topics:
            found = cluster.topics.get(each["name"])
            each["topic_id"] = found.id if found else UUID(int=0)
    else:
        by_id = bool(topics) and "topic_id" in topics[0]
    rows = []
    for topic in topics:
        found = cluster.topics_by_id.get(topic["topic_id"]) if by_id else None
        name = found.name if found is not None else topic.get("name", "")
        missing = by_id and found is None
        partitions = [
            _build_offset_row(cluster, call, group, (name, number), 100 if missing else code)
            for number in topic["partition_indexes"]
        ]
        rows.append({"name": name, "topic_id": topic.get("topic_id"), "partitions": partitions})
        if not by_id:
            del rows[-1]["topic_id"]
    return {"group_id": group, "topics": rows, "error_code": code}


def _build_offset_row(cluster: MockCluster, call: Call, group: str, place: TopicPartition, code: int) -> ResponseRow:
    committed = cluster.offsets.get(group, {}).get(place)
    if not code and call.body.get("require_stable") and cluster.pending.get(group, {}).get(place):
        code = UNSTABLE_OFFSET_COMMIT
    if committed is None or code:
        committed = Committed(-1)
    return {
        "partition_index": place[1],
        "committed_offset": committed.offset,
        "committed_leader_epoch": committed.leader_epoch,
        "metadata": committed.metadata,
        "error_code": code,
    }
