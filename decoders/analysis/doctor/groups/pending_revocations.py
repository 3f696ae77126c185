"""Heartbeats of groups in, observations out; and these in, findings about partitions that are not given up out.

With the new group protocol (KIP-848) a coordinator takes a partition from a member by telling it a smaller assignment.
Another member gets the partition once the first one has said, in a later heartbeat, that it owns the smaller part.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from decoders.analysis.doctor.diagnosis_input import (
    LISTED,
    NS,
    Case,
    Found,
    escape_for_sentence,
    format_clock,
)
from decoders.analysis.doctor.ids_and_logins.observe_ids_and_logins import observe_group_heartbeat
from decoders.analysis.doctor.observations import Observation
from decoders.analysis.exchange_facts import topic_of_element, view_or_empty
from decoders.exchanges.topic_arrays import structs_at
from decoders.named_tuple import NamedTuple
from decoders.wire.format_and_escape_text import describe_duration
from decoders.wire.primitive_types import format_uuid

if TYPE_CHECKING:
    from decoders.analysis.doctor.observations import Observations
    from decoders.exchanges.exchange import Exchange

__all__ = ["HEARTBEAT_PATHS", "PENDING_REVOCATIONS", "observe_assigned_partitions"]

# The paths that are read of the request, and of the answer.
HEARTBEAT_PATHS: Final = (
    (
        *("group_id", "member_id", "member_epoch", "instance_id"),
        *(f"topic_partitions[].{name}" for name in ("topic_id", "partitions")),
    ),
    (
        *("error_code", "member_epoch", "member_id"),
        *(f"assignment.topic_partitions[].{name}" for name in ("topic_id", "partitions")),
    ),
)
# The most partitions of an assignment that are remembered; of one with more nothing is known.
_PARTITIONS_MAX: Final = 1000
_TOO_MANY: Final = "*"
# An id of a topic, and a partition of it.
_Place = tuple[str, int]


def observe_assigned_partitions(seen: Observations, exchange: Exchange, client: str) -> None:
    """Observe a heartbeat, the partitions that the member says it owns, and those that it is told to own."""
    observe_group_heartbeat(seen, exchange, client)
    request, answer = view_or_empty(exchange, "request"), view_or_empty(exchange, "response")
    group, member = request.get("group_id"), request.get("member_id") or answer.get("member_id")
    if not group or not member or answer.get("error_code"):
        return
    epoch = request.get("member_epoch")
    if isinstance(epoch, int) and epoch < 0:
        seen.get_or_make("part-left", group, member).count_exchange(exchange)
    if request.get("topic_partitions") is not None:
        owned = _describe_part(exchange, structs_at(request, "topic_partitions"))
        seen.get_or_make("part-owned", group, member, client, owned).count_exchange(exchange)
    if answer.get("assignment") is not None:
        told = structs_at(answer.get("assignment"), "topic_partitions")
        seen.get_or_make("part-told", group, member, client, _describe_part(exchange, told)).count_answer(exchange)


def _describe_part(exchange: Exchange, elements: Iterable[dict[str, Any]]) -> str:
    """Partitions as text: a line for each topic with its id, its name, and its partitions; `*` if they are too many."""
    lines: list[str] = []
    count = 0
    for element in elements:
        identity, numbers = element.get("topic_id"), element.get("partitions")
        some = [each for each in numbers if isinstance(each, int)] if isinstance(numbers, list) else []
        count += len(some)
        if count > _PARTITIONS_MAX:
            return _TOO_MANY
        named = format_uuid(identity.bytes) if isinstance(identity, UUID) else str(identity)
        name = str(topic_of_element(exchange, element))
        lines.append("\t".join([named, name.replace("\t", " ").replace("\n", " "), *map(str, sorted(some))]))
    return "\n".join(sorted(lines))


def _read_part(text: str, names: dict[str, str]) -> set[_Place]:
    """The partitions in such a text; names of topics that differ from their ids are put into `names`."""
    found: set[_Place] = set()
    for line in text.split("\n") if text else ():
        identity, name, *numbers = line.split("\t")
        if name != identity:
            names[identity] = name
        found.update((identity, int(number)) for number in numbers)
    return found


class _Member(NamedTuple):
    """A member that is there to the end: what it said last that it owns, and what it was told last, since when."""

    client: str
    owned: set[_Place] | None
    told: set[_Place]
    since_ns: int
    until_ns: int
    seen: Observation


def _find_members(case: Case, names: dict[str, str]) -> dict[str, list[_Member]]:
    """Group → its members at the end of the capture."""
    told: dict[tuple[str, str, str], list[tuple[str, Observation]]] = defaultdict(list)
    owned: dict[tuple[str, str, str], list[tuple[str, Observation]]] = defaultdict(list)
    for kind, by_member in (("part-told", told), ("part-owned", owned)):
        for (group, member, client, text), seen in case.seen.items_of_kind(kind):
            by_member[group, member, client].append((text, seen))
    found: dict[str, list[_Member]] = defaultdict(list)
    for (group, member, client), some in told.items():
        alive = case.seen.get_observation("alive", group, member)
        until = alive.last if alive is not None else 0
        session_ns = round(case.limits["heartbeat.session"] * NS)
        if case.seen.get_observation("part-left", group, member) is not None or until + session_ns < case.last:
            continue
        (text, seen), others = _find_latest(some)
        said = _find_latest(owned[group, member, client])[0] if owned[group, member, client] else None
        if _TOO_MANY in (text, said[0] if said is not None else None):
            continue
        since = max(seen.first, others)
        its = _read_part(said[0], names) if said is not None else None
        found[group].append(_Member(client, its, _read_part(text, names), since, until, seen))
    return found


def _find_latest(some: list[tuple[str, Observation]]) -> tuple[tuple[str, Observation], int]:
    """The text that came last, and when another one came last, in ns; 0 where there is no other."""
    ordered = sorted(some, key=lambda item: (item[1].last, item[0]))
    return ordered[-1], max((seen.last for _, seen in ordered[:-1]), default=0)


def _find_pending_revocations(case: Case) -> Iterator[Found]:
    """Members that do not confirm to the end that they have given up partitions, and who has none meanwhile."""
    if case.holes:
        return  # a heartbeat that confirms it may be lost
    least_ns = case.limits["revocation.least"] * NS
    names: dict[str, str] = {}
    for group, members in _find_members(case, names).items():
        empty = [each for each in members if not each.told and each.until_ns - each.since_ns >= least_ns]
        for its in members:
            kept = sorted((its.owned or set()) - its.told)
            waited = its.until_ns - its.since_ns
            if not kept or waited < least_ns:
                continue
            places = [f"{names.get(identity, identity)}-{number}" for identity, number in kept]
            about: dict[str, Any] = {"group": group, "client": its.client, "client_id": its.client}
            about["clients"] = [its.client, *sorted({each.client for each in empty} - {its.client})][:LISTED]
            about["topics"] = sorted({names.get(identity, identity) for identity, _ in kept})[:LISTED]
            about |= {
                "places": places,
                "at": format_clock(its.since_ns),
                "waited": describe_duration(waited // NS * 1000),
            }
            about["idle"] = _describe_idle_members(empty)
            about["silent"] = _describe_last_fetch(case, members, its)
            whole = Observation()
            whole.evidence = its.seen.evidence[:1]
            whole.count, whole.first, whole.last = 1, its.since_ns, its.until_ns
            yield Found("revocation-pending", "error" if empty else "warning", whole, about)


def _describe_idle_members(empty: list[_Member]) -> str | None:
    """Words for members without a partition meanwhile."""
    if not empty:
        return None
    clients = sorted({each.client for each in empty})
    since = format_clock(min(each.since_ns for each in empty))
    return f"; {escape_for_sentence(clients)} {'have' if len(empty) > 1 else 'has'} no partition, since {since}"


def _describe_last_fetch(case: Case, members: list[_Member], its: _Member) -> str | None:
    """Words for when a member fetched last, if it has stopped and its client is of no other member."""
    reading = case.seen.get_observation("reading", its.client)
    last = max(reading.list_marked_seconds(), default=0) if reading is not None else 0
    if sum(each.client == its.client for each in members) > 1 or not last:
        return None
    if its.until_ns - last * NS < case.limits["revocation.least"] * NS:
        return None
    return f"; it has fetched nothing since {format_clock(last * NS)}, while its heartbeats go on"


PENDING_REVOCATIONS: Final[tuple[Callable[[Case], Iterator[Found]], ...]] = (_find_pending_revocations,)
