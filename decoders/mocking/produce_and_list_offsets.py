"""Produce, and questions about offsets: ListOffsets, OffsetForLeaderEpoch."""

from __future__ import annotations

from typing import Any

from decoders.mocking.build_response_bodies import Outcome, ResponseBody
from decoders.mocking.cluster_state import Call, MockCluster, TopicPartition, find_partitions_of_topic
from decoders.mocking.handle_transaction_requests import add_partition_on_write
from decoders.mocking.partition_log import PartitionLog
from decoders.mocking.refusal_error import Refusal
from decoders.mocking.split_records_field_into_batches import split_records_field_into_batches

__all__ = ["handle_list_offsets", "handle_offset_for_leader_epoch", "handle_produce"]

_LATEST, _EARLIEST, _GREATEST_TIME, _EARLIEST_LOCAL, _LATEST_TIERED = range(-1, -6, -1)


def handle_produce(cluster: MockCluster, call: Call) -> ResponseBody | Outcome:
    """Produce: write batches, kept in memory; with acks=0 there is no response, and an error closes the connection."""
    acks = call.body["acks"]
    refused = False
    rows = []
    for topic in call.body["topic_data"]:
        partitions = []
        for asked, found, log, problem in find_partitions_of_topic(cluster, call, topic, "partition_data", call.node):
            row = {"index": asked["index"], "error_code": 0, "base_offset": -1, "log_start_offset": -1}
            row["record_errors"] = []
            try:
                if problem is not None:
                    raise problem
                if acks not in (-1, 0, 1):
                    raise Refusal("INVALID_REQUIRED_ACKS")
                assert log is not None
                assert found is not None
                place = (found.name, asked["index"])
                row["base_offset"] = _append_records_to_log(cluster, call, place, log, asked["records"])
                row["log_start_offset"] = log.start
            except Refusal as refusal:
                refused = True
                row |= {"error_code": refusal.code, "error_message": refusal.text}
            partitions.append(row)
        rows.append({**_copy_topic_name_fields(topic), "partition_responses": partitions})
    if acks == 0:
        return Outcome.CLOSE if refused else Outcome.NO_ANSWER
    return {"responses": rows}


def _copy_topic_name_fields(topic: dict[str, Any]) -> dict[str, Any]:
    """The fields that name a topic in a request, for its response."""
    return {key: topic[key] for key in ("name", "topic", "topic_id") if key in topic}


def _append_records_to_log(
    cluster: MockCluster, call: Call, place: TopicPartition, log: PartitionLog, data: bytes | None
) -> int:
    """Write the batches of a partition; returns the offset of the first. Raises Refusal."""
    batches = split_records_field_into_batches(data or b"")
    if not batches:
        raise Refusal("INVALID_RECORD", "no records")
    first = -1
    for batch in batches:
        if batch.control:
            raise Refusal("INVALID_RECORD", "clients write no control batches")
        known = log.find_offset_of_duplicate(batch)
        if known is None:
            if batch.transactional:
                add_partition_on_write(cluster, call, place, batch)
            cluster.reserve_memory(len(batch.data))
            known = log.append_batch(batch)
        if first < 0:
            first = known
    cluster.notify_append_watchers(place)
    return first


def handle_list_offsets(cluster: MockCluster, call: Call) -> ResponseBody:
    """ListOffsets: the first or last offset, the first that is not older than a time, or that of the greatest time."""
    committed_only = call.body.get("isolation_level", 0) == 1
    rows = []
    for topic in call.body["topics"]:
        partitions = []
        for asked, _, log, problem in find_partitions_of_topic(cluster, call, topic, "partitions", call.node):
            row = {"partition_index": asked["partition_index"], "error_code": 0, "timestamp": -1, "offset": -1}
            row |= {"leader_epoch": -1, "old_style_offsets": []}
            if log is None:
                assert problem is not None
                row["error_code"] = problem.code
            else:
                row |= _find_listed_offset(log, asked["timestamp"], committed_only=committed_only)
                if row["offset"] >= 0:
                    row |= {"leader_epoch": 0, "old_style_offsets": [row["offset"]]}
            partitions.append(row)
        rows.append({"name": topic["name"], "partitions": partitions})
    return {"topics": rows}


def _find_listed_offset(log: PartitionLog, timestamp: int, *, committed_only: bool) -> dict[str, Any]:
    end = log.last_stable_offset if committed_only else log.end
    if timestamp == _LATEST:
        return {"offset": end}
    if timestamp in (_EARLIEST, _EARLIEST_LOCAL):
        return {"offset": log.start}
    if timestamp == _LATEST_TIERED:
        return {}
    found = log.find_offset_of_greatest_time() if timestamp == _GREATEST_TIME else log.find_offset_by_time(timestamp)
    if found is None or found.offset >= end:
        return {}
    return found._asdict()


def handle_offset_for_leader_epoch(cluster: MockCluster, call: Call) -> ResponseBody:
    """OffsetForLeaderEpoch: the end offset of epoch 0, which is the only one."""
    rows = []
    for topic in call.body["topics"]:
        partitions = []
        for asked, _, log, problem in find_partitions_of_topic(cluster, call, topic, "partitions", call.node):
            row = {"partition": asked["partition"], "error_code": 0, "leader_epoch": -1, "end_offset": -1}
            if problem is not None:
                row["error_code"] = problem.code
            elif log is not None and asked["leader_epoch"] >= 0:
                row |= {"leader_epoch": 0, "end_offset": log.end}
            partitions.append(row)
        rows.append({"topic": topic["topic"], "partitions": partitions})
    return {"topics": rows}
