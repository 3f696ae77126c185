"""Observations in; findings about groups that rebalance again and again, and about heartbeats that come late, out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Final

from decoders.analysis.doctor.diagnosis_input import (
    LISTED,
    MS,
    NS,
    Case,
    Found,
    merge_observations,
    most_frequent_clients,
)
from decoders.analysis.doctor.observations import Observation, sort_names_by_count
from decoders.wire.format_and_escape_text import describe_duration

__all__ = ["REBALANCES"]


def _find_rebalance_storms(case: Case) -> Iterator[Found]:
    generations: dict[str, list[Observation]] = defaultdict(list)
    for (group, _), seen in case.seen.items_of_kind("generation"):
        generations[group].append(seen)
    for group, some in generations.items():
        whole = merge_observations(some)
        members = len(whole.names.get("clients", ()))
        its = case.seen.get_observation("group", group)
        came = sum(its.names.get("came", {}).values()) if its is not None else 0
        least = max(case.limits["rebalance.generations"], case.limits["rebalance.per-member"] * max(members, came))
        if len(some) >= least:
            reasons = sort_names_by_count(its.names.get("reasons", {}))[:LISTED] if its is not None else []
            about = {"group": group, "clients": most_frequent_clients(whole), "reasons": reasons or None}
            if its is not None:
                about |= {"cause": _describe_frequent_cause(its), "waited": _describe_longest_wait(its)}
            yield case.make_finding("rebalance-storm", whole, generations=len(some), members=members, **about)


_CAUSES: Final = {"came": "joins", "again": "joins again", "left": "leaves"}


def _describe_frequent_cause(its: Observation) -> str | None:
    """Words for the client that made members wait most often, and how; None where no client did twice."""
    found = [(count, name, what) for facet, what in _CAUSES.items() for name, count in its.names.get(facet, {}).items()]
    count, name, what = max(found, default=(0, "", ""))
    return f"; most often {name} {what} ({count:,} times)" if count > 1 else None


def _describe_longest_wait(its: Observation) -> str | None:
    waited = its.most.get("waited", 0)
    return f"; members waited up to {describe_duration(waited / MS)}" if waited >= NS else None


def _find_missed_heartbeats(case: Case) -> Iterator[Found]:
    """Members whose heartbeats come late: one finding for all members of a client in a group."""
    found: dict[tuple[str, str], list[tuple[int, int, int, Observation]]] = defaultdict(list)
    for (group, _), seen in case.seen.items_of_kind("alive"):
        timeout = seen.most.get("timeout", round(case.limits["heartbeat.session"] * 1000))
        pause, second = seen.find_longest_pause()
        if seen.count >= case.limits["heartbeat.least"] and pause * 1000 >= case.limits["heartbeat.share"] * timeout:
            found[group, most_frequent_clients(seen)[0]].append((pause, timeout, second, seen))
    for (group, client), some in found.items():
        pause, timeout, second, _ = max(some, key=lambda its: its[:3])
        words = {"pause": describe_duration(pause * 1000), "timeout": describe_duration(timeout), "client": client}
        about = {"group": group, "client_id": client}
        yield case.make_finding("heartbeats-late", merge_observations(its for *_, its in some), **words, **about)


REBALANCES: Final[tuple[Callable[[Case], Iterator[Found]], ...]] = (_find_rebalance_storms, _find_missed_heartbeats)
