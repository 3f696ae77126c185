"""Observations in, findings about members of share groups that hold records longer than their lock, out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, Final

from decoders.analysis.doctor.diagnosis_input import (
    MS,
    Case,
    Found,
    escape_for_sentence,
    merge_observations,
    next_less_severe,
)
from decoders.analysis.doctor.finding_kinds import FINDINGS
from decoders.analysis.doctor.groups.explain_late_acknowledgements import describe_range_of_durations
from decoders.analysis.doctor.observations import Observation, sort_names_by_count
from decoders.analysis.groups.share_deliveries import EndedLock
from decoders.wire.format_and_escape_text import describe_duration

__all__ = ["ENDED_LOCKS"]

# The evidence is a delivery at most this long after its request, which waits for records.
_WAIT_NS: Final = 5_000 * MS


def _find_ended_locks(case: Case) -> Iterator[Found]:
    """Records that others got as well, as their lock had ended: a finding for each member's client and topic.

    Where the broker refuses the acknowledgements, that is the finding.
    """
    found: dict[tuple[str, str, str], list[EndedLock]] = defaultdict(list)
    for group, topic, ended in case.seen.shared.list_ended_locks():
        client = ended.acquired.client
        if case.seen.get_observation("not-held", group, client, topic) is None:
            found[group, topic, client].append(ended)
    for (group, topic, client), some in found.items():
        whole = _gather_deliveries(case, group, topic, some)
        others = Observation()
        for each in some:
            others.count_name("clients", each.again.client, each.last - each.first + 1)
        names = sort_names_by_count(others.names["clients"])
        records = sum(others.names["clients"].values())
        who = "it" if names == [client] else escape_for_sentence(names)
        locks = [each.acquired.lock_ms for each in some]
        held = describe_range_of_durations([each.again.time_ns - each.acquired.time_ns for each in some])
        late = [each.late_ns for each in some if each.late_ns]
        about: dict[str, Any] = {"group": group, "topic": topic, "client_id": client, "clients": [client]}
        about["what"] = (
            f"holds records of {escape_for_sentence(topic)} for longer than their lock lasts,"
            f" {describe_duration(min(locks))}: {who} got {records:,} of them again, after {held}"
        )
        if late:
            about["what"] += f"; it acknowledges them {describe_range_of_durations(late)} after getting them, and"
            about["what"] += " no error says that it is too late"
        deliveries = max(each.again.deliveries for each in some)
        about["again"] = f"; records are delivered up to {deliveries:,} times" if deliveries > 2 else None
        about["twice"] = f", so that {'they are' if late else 'they may be'} handled twice"
        severity = FINDINGS["share-lock-ended"].went_on or "warning"
        if len(some) < case.limits["errors.few"]:
            severity = next_less_severe(severity)
        yield Found("share-lock-ended", severity, whole, about)


def _gather_deliveries(case: Case, group: str, topic: str, some: list[EndedLock]) -> Observation:
    """How often and when records came again, with the exchanges that brought them as evidence."""
    seen = Observation()
    for each in some:
        seen.count_occurrence_at(each.again.time_ns)
    clients = {each.again.client for each in some}
    its = merge_observations(
        observation
        for (_, client, _), observation in case.find_matching_observations("delivered-again", (0, 2), (group, topic))
        if client in clients
    )
    times = [each.again.time_ns for each in some]
    seen.evidence = [each for each in its.evidence if any(0 <= at - each[0] <= _WAIT_NS for at in times)]
    return seen


ENDED_LOCKS: Final[tuple[Callable[[Case], Iterator[Found]], ...]] = (_find_ended_locks,)
