"""Observations in; findings about groups that do not read partitions which were added to their topics out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, Final

from decoders.analysis.doctor.diagnosis_input import LISTED, NS, Case, Found, escape_for_sentence, format_clock
from decoders.analysis.doctor.observations import Evidence, Observation
from decoders.named_tuple import NamedTuple

__all__ = ["ADDED_PARTITIONS", "PartitionGrowth", "list_grown_topics"]


# Nodes may list fewer partitions for so long after others list more.
_OUTDATED_NS: Final = 30 * NS


class PartitionGrowth(NamedTuple):
    """Partitions from the number `old` on that a topic was given: since when, by whom, and the answers that show it."""

    old: int
    new: int
    since_ns: int
    who: str | None
    seen: Observation


def _find_partition_growth(case: Case, topic: str, counts: list[tuple[int, Observation]]) -> PartitionGrowth | None:
    """The first time that answers list more partitions of a topic than before; None where they never do."""
    ordered = sorted(counts, key=lambda item: (item[1].first, item[0]))
    old = ordered[0][0]
    larger = [(count, seen) for count, seen in ordered if count > old]
    if not old or not larger:
        return None
    seen = larger[0][1]
    if any(its.last > seen.first + _OUTDATED_NS for count, its in ordered if count <= old):
        return None  # topics of two clusters
    since, who = seen.first, None
    for (*_, client), change in case.find_matching_observations("changed", (0, 1, 2), ("topic", topic, "partitions")):
        if change.first <= since and change.first >= ordered[0][1].first:
            since, who = change.first, client
    return PartitionGrowth(old, max(count for count, _ in larger), since, who, seen)


def list_grown_topics(case: Case) -> list[tuple[str, PartitionGrowth]]:
    """The topics that were given partitions, with the first time that answers list more than before."""
    return case.compute_once(_list_grown_topics)


def _list_grown_topics(case: Case) -> list[tuple[str, PartitionGrowth]]:
    counts: dict[str, list[tuple[int, Observation]]] = defaultdict(list)
    for (topic, count), seen in case.seen.items_of_kind("partition-count"):
        counts[topic].append((count, seen))
    grown = [(topic, _find_partition_growth(case, topic, some)) for topic, some in counts.items() if len(some) > 1]
    return [(topic, growth) for topic, growth in grown if growth is not None]


def _find_unread_partitions(case: Case) -> Iterator[Found]:
    """Groups of which no member asks for a partition that was added to a topic that they read, and is written."""
    if case.holes or case.lacks_nodes:
        return
    for topic, growth in list_grown_topics(case):
        if case.last - growth.since_ns < case.limits["unread.least"] * NS:
            continue
        sizes = case.seen.get_observation("skew", topic)
        written = sizes.names.get("partitions", {}) if sizes is not None else {}
        added = [number for number in range(growth.old, growth.new) if str(number) in written]
        asked: dict[str, set[int]] = defaultdict(set)
        for (client, _, number), _ in case.find_matching_observations("asked", (1,), (topic,)):
            asked[client].add(number)
        for group in sorted({group for client in asked for group in case.compute_once(_list_groups).get(client, ())}):
            clients = sorted(_find_members(case, group, topic) & asked.keys())
            unread = [number for number in added if not any(number in asked[client] for client in clients)]
            if not unread or _has_rebalanced_since_growth(case, group, topic, growth, unread):
                continue
            if any(_reads_long_enough_after(case, client, growth.since_ns) for client in clients):
                yield _make_finding(case, topic, growth, unread, (group, clients))


def _list_groups(case: Case) -> dict[str, list[str]]:
    """Client → the groups that it joined."""
    found: dict[str, list[str]] = defaultdict(list)
    for (group, client), _ in case.seen.items_of_kind("joined"):
        found[client].append(group)
    return found


def _find_members(case: Case, group: str, topic: str) -> set[str]:
    """Clients that join a group, are heard as members of it, or commit its offsets of a topic."""
    joined = {client for (_, client), _ in case.find_matching_observations("joined", (0,), (group,))}
    heard = case.find_matching_observations("alive", (0,), (group,)) + case.find_matching_observations(
        "committed", (0, 1), (group, topic)
    )
    return joined.union(*(seen.names.get("clients", ()) for _, seen in heard))


def _has_rebalanced_since_growth(
    case: Case, group: str, topic: str, growth: PartitionGrowth, unread: list[int]
) -> bool:
    """Whether a group shared the partitions out again since: who has the added ones may not be captured."""
    joins = case.find_matching_observations("joined", (0,), (group,))
    if any(seen.most.get("last", 0) > growth.since_ns for _, seen in joins):
        return True
    offsets = (case.seen.get_observation("committed", group, topic, number) for number in unread)
    return any(seen is not None and "offset" in seen.edges for seen in offsets)


def _reads_long_enough_after(case: Case, client: str, since_ns: int) -> bool:
    """Whether a client fetches for long enough after that time to have asked for what was added."""
    reading = case.seen.get_observation("reading", client)
    until = reading.most.get("second", 0) if reading is not None else 0
    return until * NS - since_ns >= case.limits["unread.least"] * NS - NS


def _find_first_evidence(seen: Observation) -> list[Evidence]:
    """The evidence of the answer that came first: what is counted after it depends on how the exchanges were split."""
    first = seen.edges.get("asked")
    found = [each for each in seen.evidence if first is None or each[0] == first[0][1]]
    return (found or seen.evidence)[:1]


def _make_finding(
    case: Case, topic: str, growth: PartitionGrowth, unread: list[int], readers: tuple[str, list[str]]
) -> Found:
    group, clients = readers
    whole = Observation()
    whole.evidence = _find_first_evidence(growth.seen)
    whole.count, whole.first, whole.last = len(unread), growth.since_ns, case.last
    written = case.find_matching_observations("sequence", (1,), (topic,))
    writers = sorted({client for (client, _, number, _), _ in written if number in unread})
    about: dict[str, Any] = {"group": group, "topic": topic, "clients": sorted(clients)[:LISTED]}
    about |= {"partitions": unread[:LISTED], "places": [f"{topic}-{number}" for number in unread]}
    about["who"] = f" by {escape_for_sentence(growth.who)}" if growth.who is not None else None
    about |= {"at": format_clock(growth.since_ns), "writers": writers, "old": growth.old, "new": growth.new}
    about["verb"] = "writes" if len(writers) == 1 else "write"
    return case.make_finding("partitions-added", whole, **about)


ADDED_PARTITIONS: Final[tuple[Callable[[Case], Iterator[Found]], ...]] = (_find_unread_partitions,)
