"""Observations in; findings about partitions without leader or with replicas that are not in sync, out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, Final

from decoders.analysis.doctor.diagnosis_input import (
    LISTED,
    Case,
    Found,
    escape_for_sentence,
    merge_observations,
)
from decoders.analysis.doctor.finding_kinds import FINDINGS, TOO_FEW_REPLICAS
from decoders.analysis.doctor.observations import Observation

__all__ = ["REPLICAS"]


def _find_unhealthy_partitions(case: Case) -> Iterator[Found]:
    refused = {topic for (code, _, _, _, topic), _ in case.seen.items_of_kind("error") if code in TOO_FEW_REPLICAS}
    for kind, what in (("offline", "partition-offline"), ("short", "under-replicated")):
        # One finding for all partitions that lack the same nodes.
        found: dict[tuple[bool, tuple[str, ...]], dict[tuple[str, int], Observation]] = defaultdict(dict)
        for (topic, number), seen in case.seen.items_of_kind(kind):
            known = case.seen.get_observation("topic", topic)
            healed = known is not None and known.most.get("whole", 0) > seen.last
            facet = "replicas" if kind == "short" else "holders"
            nodes = tuple(sorted(seen.names.get(facet, seen.names.get("replicas", {}))))
            found[healed, nodes][topic, number] = seen
        for (healed, nodes), some in found.items():
            whole = merge_observations(some.values())
            topics = sorted({topic for topic, _ in some})
            values: dict[str, Any] = {"topics": topics[:LISTED], "went_on": healed or None}
            if len(topics) == 1:
                values |= {"topic": topics[0], "partitions": sorted(number for _, number in some)[:LISTED]}
            values["places"] = [f"{topic}-{number}" for topic, number in sorted(some)]
            values["nodes"] = nodes
            values["replicas"] = _describe_replicas(kind, nodes, healed=healed)
            values["state"] = "with too few replicas in sync" if refused & set(topics) else "under-replicated"
            severity = FINDINGS[what].went_on if healed else FINDINGS[what].severity
            yield Found(what, severity, whole, values)


def _describe_replicas(kind: str, nodes: tuple[str, ...], *, healed: bool) -> str | None:
    """Words for the nodes of replicas out of sync, or of all replicas of a partition without a leader."""
    if not nodes:
        return None
    named = f"node{'s' if len(nodes) > 1 else ''} {escape_for_sentence(list(nodes))}"
    if kind == "short":
        return f": {named} {_TO_BE[len(nodes) > 1, healed]} not in sync"
    return f": its replicas are on {named}" if len(nodes) > 1 else f": its only replica is on {named}"


_TO_BE: Final = {(False, False): "is", (True, False): "are", (False, True): "was", (True, True): "were"}


def _find_replicas_out_of_sync(case: Case) -> Iterator[Found]:
    """Changes of replicas in sync, as leaders tell controllers: one finding of a kind for all partitions."""
    flapping, shrunk = {}, {}
    for (topic, number), seen in case.seen.items_of_kind("isr"):
        (_, _), (_, last) = seen.edges["size"]
        known = case.seen.get_observation("topic", topic)
        whole_size = max(seen.most["size"], known.most.get("replicas", 0) if known is not None else 0)
        if seen.count >= case.limits["isr.changes"]:
            flapping[topic, number] = seen
        elif last < whole_size and not _was_whole_topic_in_sync_later(case, topic, seen):
            shrunk[topic, number] = seen
    for what, some in (("isr-flapping", flapping), ("isr-shrunk", shrunk)):
        if some:
            whole = merge_observations(some.values())
            topics = sorted({str(topic) for topic, _ in some})[:LISTED]
            places = [f"{topic}-{number}" for topic, number in some]
            yield case.make_finding(what, whole, topics=topics, places=places, changes=f"{whole.count:,}")


def _was_whole_topic_in_sync_later(case: Case, topic: str | None, seen: Observation) -> bool:
    """Whether metadata showed the topic with all its replicas in sync later."""
    known = case.seen.get_observation("topic", topic)
    return known is not None and known.most.get("whole", 0) > seen.last


def _find_lagging_followers(case: Case) -> Iterator[Found]:
    """Followers behind the high watermark: one finding for each node."""
    found: dict[int, dict[tuple[str, int], Observation]] = defaultdict(dict)
    for (replica, _, topic, number), seen in case.seen.items_of_kind("follower"):
        if seen.most["behind"] >= case.limits["follower.records"] and seen.count >= case.limits["follower.fetches"]:
            found[replica][str(topic), number] = merge_observations(
                each for each in (found[replica].get((str(topic), number)), seen) if each is not None
            )
    for replica, some in found.items():
        whole = merge_observations(some.values())
        about = {"node_id": replica, "topics": sorted({topic for topic, _ in some})[:LISTED]}
        places = [f"{topic}-{number}" for topic, number in sorted(some)]
        yield case.make_finding("follower-behind", whole, places=places, behind=f"{whole.most['behind']:,}", **about)


REPLICAS: Final[tuple[Callable[[Case], Iterator[Found]], ...]] = (
    _find_unhealthy_partitions,
    _find_replicas_out_of_sync,
    _find_lagging_followers,
)
