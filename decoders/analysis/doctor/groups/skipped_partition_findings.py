"""Observations in; findings about groups that begin partitions, which were added, behind their first records, out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, Final

from decoders.analysis.doctor.diagnosis_input import LISTED, MS, Case, Found, escape_for_sentence, format_clock
from decoders.analysis.doctor.groups.added_partition_findings import PartitionGrowth, list_grown_topics
from decoders.analysis.doctor.observations import Observation
from decoders.named_tuple import NamedTuple
from decoders.wire.format_and_escape_text import describe_duration

__all__ = ["SKIPPED_PARTITIONS"]


class _Begin(NamedTuple):
    """Where the members of a group began to read a partition: who, the first offset that they got, their look-up."""

    client: str
    number: int
    offset: int
    looked_up: Observation


def _find_skipped_partitions(case: Case) -> Iterator[Found]:
    """Groups without a commit in a partition that was added, whose first record there is not its first one."""
    if case.holes or case.lacks_nodes:
        return  # another member may have read the first records
    for topic, growth in list_grown_topics(case):
        found: dict[str, list[_Begin]] = defaultdict(list)
        for (group, _, _, number), _ in case.find_matching_observations("assigned", (2,), (topic,)):
            if growth.old <= number < growth.new and number not in [its.number for its in found[group]]:
                begin = _find_begin(case, group, topic, number, growth)
                if begin is not None:
                    found[group].append(begin)
        for group, some in found.items():
            if some:
                yield _make_finding(case, topic, growth, group, some)


def _find_begin(case: Case, group: str, topic: str, number: int, growth: PartitionGrowth) -> _Begin | None:
    """Where a group began a partition, if it had no commit there and did not begin with its first record."""
    members = {
        client: seen
        for (_, client, *_), seen in case.find_matching_observations("assigned", (0, 2, 3), (group, topic, number))
    }
    commits = case.seen.get_observation("committed", group, topic, number)
    first: dict[str, int] = {}
    for client in members:
        its = case.seen.get_observation("lag", client, topic, number)
        if its is not None and "got" in its.sums:
            first[client] = -its.most["got-from"]
    if not first or commits is None:
        return None
    client = min(first, key=lambda its: (first[its], its))
    looked_up, offset = members[client], first[client]
    committed = commits.edges.get("offset")
    if "from -1" not in looked_up.names or looked_up.first < growth.since_ns or not offset:
        return None
    log = case.seen.get_observation("log", topic, number)
    if log is not None and any(start >= offset for _, start in log.edges.get("start", ())):
        return None  # records before it were deleted
    if committed is not None and (committed[0][0] < looked_up.first or committed[0][1] < offset):
        return None
    return _Begin(client, number, offset, looked_up)


def _make_finding(case: Case, topic: str, growth: PartitionGrowth, group: str, some: list[_Begin]) -> Found:
    whole = Observation()
    for its in some:
        whole.merge(its.looked_up)
    records = whole.count = sum(its.offset for its in some)
    ends = [
        seen.edges["end"]
        for its in some
        if (seen := case.seen.get_observation("log", topic, its.number)) is not None and "end" in seen.edges
    ]
    asked = len(ends) == len(some) and all(
        any(edge[1] == its.offset for edge in edges) for its, edges in zip(some, ends, strict=True)
    )
    numbers = sorted(its.number for its in some)
    about: dict[str, Any] = {"group": group, "topic": topic, "partitions": numbers[:LISTED]}
    about["clients"] = sorted({its.client for its in some})[:LISTED]
    about["places"] = [f"{topic}-{number}" for number in numbers]
    about["who"] = f" by {escape_for_sentence(growth.who)}" if growth.who is not None else None
    about |= {"at": format_clock(growth.since_ns), "old": growth.old, "new": growth.new}
    about["after"] = describe_duration((whole.first - growth.since_ns) / MS)
    about["records"] = "a record" if records == 1 else f"{records:,} records"
    how = " and began where ListOffsets said that they end (auto.offset.reset=latest)"
    about["how"] = how if asked else ", likely with auto.offset.reset=latest"
    return case.make_finding("added-partitions-skipped", whole, **about)


SKIPPED_PARTITIONS: Final[tuple[Callable[[Case], Iterator[Found]], ...]] = (_find_skipped_partitions,)
