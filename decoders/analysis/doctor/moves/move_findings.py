"""Observations in; findings about moves of replicas that do not end, as more is written than is copied, out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, Final

from decoders.analysis.doctor.diagnosis_input import (
    LASTING_NS,
    LISTED,
    NS,
    Case,
    Found,
    escape_for_sentence,
    format_clock,
    merge_observations,
)
from decoders.analysis.doctor.moves.fenced_brokers import FENCED_BROKERS
from decoders.analysis.doctor.moves.observe_moves import THROTTLES
from decoders.analysis.doctor.observations import Observation, sort_names_by_count
from decoders.wire.format_and_escape_text import describe_duration, format_size

__all__ = ["MOVES"]

# A move of a partition with little in it ends sooner.
_MOVE_LEAST_NS: Final = 20 * NS

_Place = tuple[str, int]


def _find_stalled_moves(case: Case) -> Iterator[Found]:
    """Moves that go on up to the last listing: one finding for all partitions that the same nodes are to get."""
    by_nodes: dict[tuple[str, ...], dict[_Place, tuple[int, Observation]]] = defaultdict(dict)
    listed = {topic: seen.last for (topic,), seen in case.seen.items_of_kind("moves-listed")}
    for (topic, number), seen in case.seen.items_of_kind("moving"):
        adding = tuple(sorted(seen.names.get("adding", ())))
        if not adding or max(listed.get(topic, 0), listed.get(None, 0)) > seen.last:
            continue  # it has ended
        begun = case.seen.get_observation("move-begun", topic, number)
        at, goes_on = begun.edges["begun"][1] if begun is not None else (seen.first, 1)
        if goes_on and seen.last - min(at, seen.last) >= _MOVE_LEAST_NS:
            by_nodes[adding][topic, number] = min(at, seen.last), seen
    for nodes, some in by_nodes.items():
        began = min(at for at, _ in some.values())
        whole = merge_observations(seen for _, seen in some.values())
        why = _explain_by_throttle(case, nodes, some, began) or _explain_by_lag(case, nodes, some)
        if why is None:
            continue
        places = [f"{topic}-{number}" for topic, number in sorted(some)]
        about: dict[str, Any] = {"places": places, "topics": sorted({topic for topic, _ in some})[:LISTED]}
        about |= {"nodes": list(nodes), "to": f"node{'s' if len(nodes) > 1 else ''} {escape_for_sentence(list(nodes))}"}
        about["lasts"] = describe_duration((whole.last - began) // NS * 1000)
        about["why"], about["remedy"] = why
        yield case.make_finding("move-stalled", whole, **about)


def _explain_by_throttle(
    case: Case, nodes: tuple[str, ...], some: dict[_Place, tuple[int, Observation]], began: int
) -> tuple[str, str] | None:
    """Words for a throttle that is lower than what is written to the partitions, and what to do; None: it is not."""
    found: list[tuple[int, int, str]] = []
    for (node, setting), seen in case.seen.items_of_kind("replication-throttle"):
        at, rate = seen.edges["rate"][1]
        # Any node may lead what is copied.
        if rate >= 0 and (setting == THROTTLES[0] or node in nodes):
            found.append((rate, at, sort_names_by_count(seen.names["clients"])[0]))
    comes = sum(_measure_inflow(case, place, began) for place in some)
    if not found or min(found)[0] >= comes:
        return None
    rate, at, who = min(found)
    words = (
        f"the replication throttle ({format_size(rate)}/s, set by {escape_for_sentence(who)} at {format_clock(at)}) is"
        f" lower than what is written there ({format_size(round(comes))}/s)"
    )
    return words, (
        "raise leader.replication.throttled.rate and follower.replication.throttled.rate of the brokers above what is"
        " written (kafka-reassign-partitions --execute --additional --throttle), and remove them when the move is done"
    )


def _measure_inflow(case: Case, place: _Place, began: int) -> float:
    """Bytes of batches a second that producers write to a partition."""
    topic, number = place
    sizes = case.seen.get_observation("skew", topic)
    writes = merge_observations(seen for (_, where), seen in case.seen.items_of_kind("produce") if where == topic)
    if sizes is None or writes.last < began or writes.last - writes.first < LASTING_NS:
        return 0
    return sizes.names.get("partitions", {}).get(str(number), 0) * NS / (writes.last - writes.first)


def _explain_by_lag(
    case: Case, nodes: tuple[str, ...], some: dict[_Place, tuple[int, Observation]]
) -> tuple[str, str] | None:
    """Words for a new replica that does not come nearer to the end of the log; None where it does, or nobody knows."""
    worst: tuple[int, int, str, int] | None = None
    for (replica, _, topic, number), seen in case.seen.items_of_kind("follower"):
        if str(replica) not in nodes or (topic, number) not in some:
            continue
        (first_ns, first), (last_ns, last) = seen.edges["behind"]
        # Before the move it was no replica: it fetches since.
        if last_ns - first_ns < LASTING_NS or last < first or last < case.limits["follower.records"]:
            return None
        worst = max(worst or (0, 0, "", 0), (last, first, f"{topic}-{number}", replica))
    if worst is None:
        return None
    last, first, place, replica = worst
    words = f"node {replica} is {last:,} records behind in {place}, and was {first:,} behind at first"
    return words, (
        "look at the disk and network of the node that copies and of the leader, and for replication throttles"
        " (kafka-configs --describe --entity-type brokers)"
    )


MOVES: Final[tuple[Callable[[Case], Iterator[Found]], ...]] = (_find_stalled_moves, *FENCED_BROKERS)
