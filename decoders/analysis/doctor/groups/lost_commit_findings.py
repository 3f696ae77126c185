"""Observations in, findings about groups that had committed offsets, and have none any more, out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, Final

from decoders.analysis.doctor.diagnosis_input import (
    LISTED,
    MS,
    NS,
    Case,
    Found,
    escape_for_sentence,
    format_clock,
    most_frequent_clients,
)
from decoders.analysis.doctor.observations import Observation
from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.api_keys import DELETE_GROUPS, OFFSET_DELETE
from decoders.wire.format_and_escape_text import describe_duration

__all__ = ["LOST_COMMITS"]

# The least that brokers take for offsets.retention.minutes.
_RETENTION_LEAST_NS: Final = 60 * NS
_NAMED: Final = 3


class _LostCommit(NamedTuple):
    """An offset of a partition that was committed at a time, and the answers after it that have none.

    `is_last`: no other one was committed in between.
    """

    place: str
    offset: int
    committed_ns: int
    seen: Observation
    is_last: bool


def _find_lost_commits(case: Case) -> Iterator[Found]:
    """Groups that had committed offsets, and have none any more: one finding for each group."""
    found: dict[str, list[_LostCommit]] = defaultdict(list)
    for (group, topic, number), seen in case.seen.items_of_kind("committed"):
        if seen.count and "offset" in seen.edges and seen.last > seen.edges["offset"][0][0]:
            found[str(group)].append(_find_lost_commit(f"{topic}-{number}", seen))
    for group, some in found.items():
        yield _make_finding(case, group, sorted(some, key=lambda its: its.place))


def _find_lost_commit(place: str, seen: Observation) -> _LostCommit:
    """The answers without an offset that came behind the first commit, and the last known commit before them."""
    (first_ns, offset), (last_ns, last_offset) = seen.edges["offset"]
    after = sorted(time_ns for time_ns in map(int, seen.names.get("without", ())) if time_ns > first_ns)
    whole = Observation()
    for time_ns in after or [seen.last]:
        whole.count_occurrence_at(time_ns)
    whole.names["clients"] = seen.names.get("clients", {})
    whole.evidence = [each for each in seen.evidence if each[0] > first_ns] or seen.evidence[-1:]
    if last_ns < whole.first:
        return _LostCommit(place, last_offset, last_ns, whole, is_last=True)
    return _LostCommit(place, offset, first_ns, whole, is_last=False)


def _make_finding(case: Case, group: str, some: list[_LostCommit]) -> Found:
    whole = Observation()
    for its in some:
        whole.merge(its.seen)
    committed_ns = max(its.committed_ns for its in some)
    named = [f"{its.offset:,} of {escape_for_sentence(its.place)}" for its in some[:_NAMED]]
    more = f" and {len(some) - _NAMED:,} more" if len(some) > _NAMED else ""
    about: dict[str, Any] = {"group": group, "clients": most_frequent_clients(whole)[:LISTED]}
    about |= {"offset": f"{', '.join(named)}{more}", "several": "s" if len(some) > 1 else None}
    about["topics"] = sorted({its.place.rpartition("-")[0] for its in some})
    about["at"] = format_clock(committed_ns)
    away = _find_longest_absence(case, group, committed_ns, whole.first)
    if away is None and all(its.is_last for its in some):
        away = whole.first - committed_ns
    about["why"], about["remedy"] = _explain_deleted_topics(case, about["topics"], whole.first) or _explain_loss(
        case, group, whole.first - committed_ns, away
    )
    return case.make_finding("commit-lost", whole, **about)


def _find_longest_absence(case: Case, group: str, begin_ns: int, end_ns: int) -> int | None:
    """The longest time between two in which no member of a group is heard; None where none is heard at all.

    A group expires after it has had no member for as long as its commits are kept.
    """
    members = [seen for _, seen in case.find_matching_observations("alive", (0,), (group,))]
    seconds = {second for seen in members for second in seen.list_marked_seconds()}
    heard = sorted(second * NS for second in seconds if begin_ns < second * NS < end_ns)
    if not members:
        return None
    return max(after - before for before, after in pairwise([begin_ns, *heard, end_ns]))


def _explain_deleted_topics(case: Case, topics: list[str], until_ns: int) -> tuple[str, str] | None:
    """Words for why commits are gone with their topics, and what to do; None where a topic was not deleted."""
    deleted = [case.seen.get_observation("deleted", topic) for topic in topics]
    if not all(seen is not None and seen.first < until_ns for seen in deleted):
        return None
    who = sorted({client for seen in deleted if seen is not None for client in seen.names["clients"]})
    what = "its topic" if len(topics) == 1 else "its topics"
    return f"{escape_for_sentence(who)} deleted {what}, and commits go with them", (
        "none for these commits: the records that they were of are gone; ask why the topic was deleted"
    )


def _explain_loss(case: Case, group: str, lasted_ns: int, away_ns: int | None) -> tuple[str, str]:
    """Words for why commits are gone, and what to do.

    `lasted_ns`: how long the last of them was there at most; `away_ns`: how long the group had no member.
    """
    deleted = [client for client, key, name in case.done if name == group and key in (DELETE_GROUPS, OFFSET_DELETE)]
    again = "set the group back to these offsets (kafka-consumer-groups --reset-offsets) if what it left out matters"
    if deleted:
        return f"{escape_for_sentence(deleted)} deleted it", f"{again}; find out why it was deleted"
    if lasted_ns < _RETENTION_LEAST_NS:
        return (
            "no retention is that short (offsets.retention.minutes): it was deleted, with its topic or group, or the"
            " coordinator lost its log",
            f"{again}; look who deleted the group or the topic, and at the log of the coordinator",
        )
    raised = "raise offsets.retention.minutes of the brokers above the time that a group may be away"
    if case.holes or case.lacks_nodes or away_ns is None or away_ns < _RETENTION_LEAST_NS:
        return "it expired (offsets.retention.minutes), or was deleted", f"{again}; {raised}"
    return (
        f"likely it expired while the group was away for {describe_duration(round(away_ns / MS, -3))}"
        " (offsets.retention.minutes), as no request in the capture deletes it",
        f"{again}; {raised}",
    )


LOST_COMMITS: Final[tuple[Callable[[Case], Iterator[Found]], ...]] = (_find_lost_commits,)
