"""Observations in, findings about records that a share group was given up to the limit of deliveries, out (KIP-932)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from shlex import quote
from typing import Any, Final

from decoders.analysis.doctor.diagnosis_input import LISTED, MS, NS, Case, Found, escape_for_sentence
from decoders.analysis.doctor.finding_kinds import FINDINGS
from decoders.analysis.doctor.observations import Observation
from decoders.analysis.groups.share_deliveries import ArchivedRecords
from decoders.wire.format_and_escape_text import describe_duration

__all__ = ["ARCHIVED_RECORDS"]

# A record that is given back is delivered again at once: members ask for more all the time.
_SURE_NS: Final = 3 * NS
# The default of group.share.delivery.count.limit.
_DEFAULT_LIMIT: Final = 5
# A delivery is at most this long after its request, which waits for records.
_WAIT_NS: Final = 5 * NS
_SETTING: Final = "group.share.delivery.count.limit"


def _find_archived_records(case: Case) -> Iterator[Found]:
    """Records that were delivered up to the limit and never accepted: one finding for each share group and topic."""
    if case.holes or case.lacks_nodes:
        return  # a later delivery may not be in the capture
    found: dict[tuple[str, str], list[tuple[int, ArchivedRecords]]] = defaultdict(list)
    for group, topic, number, its in case.seen.shared.list_archived(case.last):
        if _is_group_served_after(case, group, its.ended_ns):
            found[group, topic].append((number, its))
    counts: dict[str, int] = defaultdict(int)
    for (group, _), some in found.items():
        counts[group] += sum(its.last - its.first + 1 for _, its in some)
    for (group, topic), some in found.items():
        known = case.seen.shared.known_delivery_limit(group)
        # Released records are delivered again at once, those whose lock ended may wait for a member that asks.
        alike = counts[group] >= _SEVERAL and all(its.releases >= its.deliveries for _, its in some)
        if known is not None or some[0][1].deliveries == _DEFAULT_LIMIT or alike:
            yield _make_finding(case, (group, topic), some, known)


# That one record alone was delivered most may be chance.
_SEVERAL: Final = 3


def _is_group_served_after(case: Case, group: str, ended_ns: int) -> bool:
    """Whether members got other records after a time, and the capture goes on for long enough to show these again."""
    if case.last - ended_ns < _SURE_NS:
        return False
    return any(seen.last > ended_ns for _, seen in case.find_matching_observations("acquired", (0,), (group,)))


def _make_finding(
    case: Case, where: tuple[str, str], some: list[tuple[int, ArchivedRecords]], known: int | None
) -> Found:
    group, topic = where
    records = sum(its.last - its.first + 1 for _, its in some)
    deliveries = max(its.deliveries for _, its in some)
    clients = sorted({client for _, its in some for client in its.clients})
    places = [
        f"{topic}/{number}@{offset}" for number, its in some for offset in range(its.first, its.last + 1)[:LISTED]
    ]
    about: dict[str, Any] = {
        "group": group,
        "topic": topic,
        "clients": clients[:LISTED],
        "deliveries": f"{deliveries:,}",
    }
    about["partitions"] = sorted({number for number, _ in some})
    about["client_id"] = clients[0] if len(clients) == 1 else None
    about |= {"records": "a record" if records == 1 else f"{records:,} records", "record": quote(places[0])}
    more = f" and {records - _NAMED:,} more" if records > _NAMED else ""
    about["places"] = f"{', '.join(map(escape_for_sentence, places[:_NAMED]))}{more}"
    most = max(its.ended_ns - its.began_ns for _, its in some)
    about["within"] = f" within {describe_duration(round(most / MS, -2))}" if most >= 100 * MS else " at once"
    released = all(its.releases >= its.deliveries for _, its in some)
    named = escape_for_sentence(clients)
    about["how"] = f"given back each time by {named}" if released else f"not accepted by {named}"
    about["setting"] = _SETTING if known is not None else f"{_SETTING} (5 by default)"
    same = "it gives" if len(clients) == 1 else "they give"
    about["likely"] = f"; likely {named} cannot handle them, as {same} them back each time" if released else None
    seen = _gather_evidence(case, where, some)
    seen.count = records
    seen.first, seen.last = min(its.began_ns for _, its in some), max(its.ended_ns for _, its in some)
    return Found("records-archived", FINDINGS["records-archived"].severity, seen, about)


# As many records are named in a title.
_NAMED: Final = 3


def _gather_evidence(case: Case, where: tuple[str, str], some: list[tuple[int, ArchivedRecords]]) -> Observation:
    """The exchanges that delivered these records again."""
    whole = Observation()
    for _, seen in case.find_matching_observations("delivered-again", (0, 2), where):
        whole.merge(seen)
    spans = [(its.began_ns - _WAIT_NS, its.ended_ns) for _, its in some]
    its = [each for each in whole.evidence if any(begin <= each[0] <= end for begin, end in spans)]
    whole.evidence = its or whole.evidence
    return whole


ARCHIVED_RECORDS: Final[tuple[Callable[[Case], Iterator[Found]], ...]] = (_find_archived_records,)
