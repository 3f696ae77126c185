"""Observations in; findings about groups out: shared by programs, with idle members, behind, with foreign offsets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import combinations, pairwise
from operator import itemgetter
from typing import Any, Final

from decoders.analysis.doctor.diagnosis_input import (
    LISTED,
    MS,
    NS,
    Case,
    Found,
    escape_for_sentence,
    format_clock,
    merge_observations,
    most_frequent_clients,
)
from decoders.analysis.doctor.finding_kinds import FINDINGS
from decoders.analysis.doctor.observations import Observation, sort_names_by_count
from decoders.analysis.doctor.records.new_codecs import find_last_fetch
from decoders.analysis.doctor.refused.explain_positions_outside import explain_partition_position_outside
from decoders.analysis.doctor.refused.refused_request_findings import describe_change
from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.api_keys import HEARTBEAT, JOIN_GROUP, LIST_OFFSETS, SYNC_GROUP
from decoders.wire.format_and_escape_text import describe_duration, format_size

__all__ = ["MEMBERS", "list_stranded_members"]

# A member without partitions that is there for so long waits for no rebalance.
_IDLE_NS: Final = 10 * NS
# The least session time-out that is usual, for a member whose JoinGroup is not in the capture: the default before 3.0.
_SESSION_MS: Final = 10_000
# Commits over less time have no meaningful pace.
_SPAN_NS: Final = 10 * NS
# A group whose commits keep this share of the pace at which records are written keeps up.
_KEEPS_UP: Final = 0.67
# A client that looks for another position does so within a moment.
_STRANDED_NS: Final = 5 * NS
# So many seconds of written records are what a group has under way between two commits.
_UNDER_WAY_S: Final = 10
# So many pauses between Fetches that were given up, of about the same length, and so many of them on connections that
# have ended, are no restarts.
_ABANDONED_LEAST: Final = 3
_ENDED_LEAST: Final = 2
_SAME_GAP: Final = 1.5


def _find_shared_groups(case: Case) -> Iterator[Found]:
    """Groups with members at one time whose topics have none in common."""
    by_group: dict[str, dict[str, Observation]] = defaultdict(dict)
    for (group, client), seen in case.seen.items_of_kind("subscribed"):
        if seen.names.get("topics"):
            by_group[group][client] = seen
    for group, clients in by_group.items():
        found = _find_clients_without_common_topic(case, group, clients) if len(clients) > 1 else None
        if found is None:
            continue
        about: dict[str, Any] = {"group": group, "clients": sorted(clients)[:LISTED]}
        topics = [sorted(clients[client].names["topics"]) for client in found]
        about["topics"] = sorted({topic for some in topics for topic in some})[:LISTED]
        about["who"] = " and ".join(
            f"{escape_for_sentence(client)} (topic {escape_for_sentence(some)})"
            for client, some in zip(found, topics, strict=True)
        )
        yield case.make_finding("group-mixed", merge_observations(clients.values()), **about)


def _find_clients_without_common_topic(
    case: Case, group: str, clients: dict[str, Observation]
) -> tuple[str, str] | None:
    """The first two clients that have members in a group at one time, and have no topic in common."""
    present: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for (its, _), seen in case.seen.items_of_kind("alive"):
        seconds = list(seen.list_marked_seconds()) if its == group else []
        for client in seen.names.get("clients", ()) if seconds else ():
            present[client].append((seconds[0], seconds[-1]))
    for one, other in combinations(sorted(clients.keys() & present.keys()), 2):
        if clients[one].names["topics"].keys() & clients[other].names["topics"].keys():
            continue
        if any(first < end and begin < last for first, last in present[one] for begin, end in present[other]):
            return one, other
    return None


def _find_idle_members(case: Case) -> Iterator[Found]:
    """Members that have no partition up to the end, as others of their group have them all."""
    by_group: dict[str, list[tuple[str, int, bool, Observation]]] = defaultdict(list)
    for (group, member, client), seen in case.seen.items_of_kind("given"):
        alive = case.seen.get_observation("alive", group, member)
        until = max(alive.list_marked_seconds(), default=0) * NS if alive is not None else 0
        timeout_ms = (alive.most.get("timeout", 0) if alive is not None else 0) or _SESSION_MS
        left = case.seen.get_observation("left", group, client)
        if until + NS + timeout_ms * MS < case.last or (left is not None and left.last >= until):
            continue  # it is no member any more
        at, count = seen.edges["partitions"][1]
        by_group[group].append((client, count, until - at >= _IDLE_NS, seen))
    for group, members in by_group.items():
        idle = [(client, seen) for client, count, stays, seen in members if stays and not count]
        total = sum(count for _, count, _, _ in members)
        if not idle or not total:
            continue
        about: dict[str, Any] = {"group": group, "clients": sorted({client for client, _ in idle})[:LISTED]}
        about |= {
            "total": total,
            "members": len(members),
            "idle": len(idle),
            "verb": "has" if len(idle) == 1 else "have",
        }
        yield case.make_finding("members-idle", merge_observations(seen for _, seen in idle), **about)


def _find_groups_behind(case: Case) -> Iterator[Found]:
    """Groups that commit at a lower pace than that at which their topics are written from first to last commit."""
    written: dict[str | None, list[Observation]] = defaultdict(list)
    for (_, topic), seen in case.seen.items_of_kind("produce"):
        written[topic].append(seen)
    ends: dict[tuple[str | None, int], int] = {}
    for (_, topic, number), seen in case.seen.items_of_kind("lag"):
        if "got" in seen.most:
            ends[topic, number] = max(ends.get((topic, number), 0), seen.most["got"] + seen.edges["lag"][1][1])
    groups: dict[tuple[str, str | None], list[tuple[int, Observation]]] = defaultdict(list)
    for (group, topic, number), seen in case.seen.items_of_kind("committed"):
        if "offset" in seen.edges and topic in written and (topic, number) in ends:
            groups[group, topic].append((ends[topic, number], seen))
    for (group, topic), some in groups.items():
        first, last = (pick(seen.edges["offset"][at][0] for _, seen in some) for pick, at in ((min, 0), (max, 1)))
        records = merge_observations(written[topic])
        span, span_written = last - first, records.last - records.first
        if span < _SPAN_NS or span_written < _SPAN_NS:
            continue
        pace = sum(seen.edges["offset"][1][1] - seen.edges["offset"][0][1] for _, seen in some) * NS / span
        comes = _estimate_records(records, first, last) * NS / span
        behind = sum(max(end - seen.edges["offset"][1][1], 0) for end, seen in some)
        until_commit = behind - _estimate_records(records, last, case.last)
        if 0 <= pace < _KEEPS_UP * comes and until_commit > _UNDER_WAY_S * comes:
            whole = merge_observations(seen for _, seen in some)
            clients = most_frequent_clients(whole)
            whole = merge_observations(
                its for client in clients for _, its in case.find_matching_observations("lag", (0, 1), (client, topic))
            )
            if not whole.count:
                continue  # what its members fetch is not in the capture
            about: dict[str, Any] = {"group": group, "topic": topic, "clients": clients[:LISTED]}
            about |= {"behind": f"{behind:,}", **_describe_pace(case, topic, clients, (pace, comes))}
            yield case.make_finding("group-behind", whole, **about)


def _describe_pace(case: Case, topic: str | None, clients: list[str], paces: tuple[float, float]) -> dict[str, str]:
    """Words for a group that is behind: that it stands still, or how fast it is; why, and what to do.

    `paces`: how many records a second it commits, and how many are written.
    """
    pace, comes = paces
    named, who = escape_for_sentence(topic), escape_for_sentence(clients)
    stopped = find_last_fetch(case, clients)
    if stopped:
        does, verb = ("fetches", "is") if len(clients) == 1 else ("fetch", "are")
        return {
            "what": f"stands still on {named}: {who} {does} nothing since {format_clock(stopped)}, while"
            f" {comes:,.1f} records a second are written",
            "why": f"{who} {verb} there, and ask{'s' if len(clients) == 1 else ''} for no records: likely stuck with"
            " those that came last, or in a wait for something else",
            "remedy": f"look into the log of {who}, and at what its threads do",
        }
    return {
        "what": f"falls behind on {named}: it commits {pace:,.1f} records a second, {comes:,.1f} are written",
        "why": f"likely its members ({who}) handle records more slowly than producers write them, or one of them is"
        " stuck",
        "remedy": "do less work for each record, add members (and partitions), or find what they wait for",
    }


def _estimate_records(records: Observation, begin_ns: int, end_ns: int) -> float:
    """How many records were written between two times, if each second with writes had as many of them."""
    seconds = list(records.list_marked_seconds())
    some = sum(begin_ns // NS < second <= end_ns // NS for second in seconds)
    return records.sums.get("records", 0) * some / max(len(seconds), 1)


def _find_foreign_offsets(case: Case) -> Iterator[Found]:
    """Offsets of a group that were set by somebody who is no member, and at which its members began."""
    found: dict[tuple[str, str], list[tuple[str, int, int | None, Observation]]] = defaultdict(list)
    for (group, topic, number, client), seen in case.seen.items_of_kind("offset-set"):
        members = {who for (_, who), _ in case.find_matching_observations("joined", (0,), (group,))}
        if client in members or not members or case.seen.get_observation("reading", client) is not None:
            continue
        at, offset = seen.edges["offset"][1]
        began = any(
            f"from {offset}" in given.names and given.last > at
            for _, given in case.find_matching_observations("assigned", (0, 2, 3), (group, topic, number))
        )
        if began:
            read = [
                its.most["got"]
                for (who, _, _), its in case.find_matching_observations("lag", (1, 2), (topic, number))
                if who in members and "got" in its.most
            ]
            found[group, client].append((f"{topic}-{number}", offset, max(read, default=None), seen))
    for (group, client), some in found.items():
        whole = merge_observations(seen for *_, seen in some)
        places = [place for place, *_ in some]
        about: dict[str, Any] = {"group": group, "client": client, "client_id": client, "places": places}
        about["topics"] = sorted({place.rpartition("-")[0] for place in places})[:LISTED]
        about |= {"offset": f"{some[0][1]:,}", "at": format_clock(whole.first)}
        back = [(read, offset) for _, offset, read, _ in some if read is not None and read > offset]
        about["moved"] = f", though they have read up to {back[0][0]:,}" if back else None
        yield case.make_finding("offsets-set", whole, **about)


class _Stranded(NamedTuple):
    """A member without a position: whether it has one outside of the log, why, the partition, and what shows it."""

    is_outside: bool
    why: str
    place: str
    seen: Observation


def list_stranded_members(case: Case) -> dict[tuple[str, str], list[_Stranded]]:
    """Group and client → partitions that a member has, at a position that is not there, without looking for another."""
    found: dict[tuple[str, str], list[_Stranded]] = defaultdict(list)
    alive: dict[tuple[str, str], int] = {}
    for (group, _), seen in case.seen.items_of_kind("alive"):
        until = max(seen.list_marked_seconds(), default=0) * NS
        alive |= {
            (group, client): max(alive.get((group, client), 0), until) for client in seen.names.get("clients", ())
        }
    tried = {client for (_, key, client, _, _), _ in case.seen.items_of_kind("error") if key == LIST_OFFSETS}
    tried |= {client for (client, _, key, _, _), _ in case.seen.items_of_kind("unanswered") if key == LIST_OFFSETS}
    for (group, client, topic, number), seen in case.seen.items_of_kind("assigned"):
        if case.seen.get_observation("joined", group, client) is None or client in tried:
            continue
        outside = case.seen.get_observation("outside", client, topic, number)
        since = seen if outside is None else outside
        looked = case.done.get((client, LIST_OFFSETS, topic), 0) >= since.first
        if looked or alive.get((group, client), 0) - since.last < _STRANDED_NS:
            continue
        place = f"{topic}-{number}"
        if outside is not None:
            reading = case.seen.get_observation("reading", client)
            until = max(reading.list_marked_seconds(), default=0) if reading is not None else 0
            if until <= outside.last // NS + 1:
                its = explain_partition_position_outside(case, client, topic, number, outside)
                where = its.get("reset", ": its position is outside of the log")
                found[group, client].append(_Stranded(True, where, place, outside))
        elif (
            not case.lacks_nodes
            and {*seen.names} == {"from -1"}
            and case.seen.get_observation("asked", client, topic, number) is None
        ):
            found[group, client].append(_Stranded(False, ": the group has no committed offset there", place, seen))
    return found


def _find_stranded_members(case: Case) -> Iterator[Found]:
    for (group, client), some in case.compute_once(list_stranded_members).items():
        for is_outside in sorted({its.is_outside for its in some}):
            alike = [its for its in some if its.is_outside == is_outside]
            whole = merge_observations(its.seen for its in alike)
            topics = sorted({its.place.rpartition("-")[0] for its in alike})
            subject = "topic", topics[0]
            about: dict[str, Any] = {"group": group, "client": client, "client_id": client, "clients": [client]}
            about |= {"places": [its.place for its in alike], "topics": topics[:LISTED], "why": alike[0].why}
            about["details"] = describe_change(case, "offset-out-of-range", subject, [client], [], whole.first)
            yield case.make_finding("position-missing", whole, **about)


def list_abandoned_waits(case: Case) -> list[tuple[str, str, int, Observation, int]]:
    """Client, broker, API key, requests and least time (ns) between them, of requests given up again and again."""
    found: list[tuple[str, str, int, Observation, int]] = []
    for (client, _, broker, key), seen in case.seen.items_of_kind("wait-unheard"):
        times = sorted(map(int, seen.names["times"]))
        gaps = [after - before for before, after in pairwise(times)]
        alone = len(seen.names["connections"]) == len(times)
        if len(gaps) < _ABANDONED_LEAST or not alone or seen.sums["ended"] < _ENDED_LEAST:
            continue
        same = max(gaps) <= _SAME_GAP * min(gaps) and max(gaps) < seen.most["wait"] * MS
        if same and not _has_gone_on(case, client, key, seen):
            found.append((client, broker, key, seen, min(gaps)))
    return found


def _find_answers_broken_off(case: Case) -> Iterator[Found]:
    """Clients that close the connection inside of each large answer to a Fetch of one position: too large for them."""
    given_up = {(client, broker) for client, broker, *_ in case.compute_once(list_abandoned_waits)}
    for (client, _, broker), seen in case.seen.items_of_kind("broken-off"):
        if (client, broker) in given_up:
            continue  # it closes before the answer, which comes all the same
        position, times = max(seen.names.get("positions", {}).items(), key=itemgetter(1, 0), default=("", 0))
        answered = case.seen.get_observation("answered", broker)
        runs = answered is not None and any(seen.first // NS < at for at in answered.list_marked_seconds())
        if times < _ABANDONED_LEAST or 2 * times < seen.count or not runs or case.holes:
            continue
        topic, number, offset = position.rsplit(" ", 2)
        ends = [
            its.most["end"]
            for _, its in case.find_matching_observations("read", (0, 2, 3), (client, topic, int(number)))
            if its.last > seen.last
        ]
        went_on = max(ends, default=0) > int(offset)
        kind = FINDINGS["answer-too-large"]
        groups = sorted({str(group) for (group, who), _ in case.seen.items_of_kind("joined") if who == client})
        about: dict[str, Any] = {"client": client, "client_id": client, "clients": [client], "broker": broker}
        about |= {"topic": topic, "partition": int(number), "offset": f"{int(offset):,}", "times": f"{times:,}"}
        about |= {"group": groups[0] if len(groups) == 1 else None, "went_on": went_on or None}
        least, most = format_size(-seen.most["least"]), format_size(seen.most["most"])
        about["size"] = least if least == most else f"{least} to {most}"
        yield Found("answer-too-large", kind.went_on if went_on else kind.severity, seen, about)


def _find_abandoned_waits(case: Case) -> Iterator[Found]:
    """Consumers that give up each Fetch or JoinGroup before the time is over for which they let the broker wait.

    The next one comes on a new connection, always after the same time, and none has a whole answer in time.
    """
    for client, broker, key, seen, least_ns in case.compute_once(list_abandoned_waits):
        joined = {str(group) for (group, who), _ in case.seen.items_of_kind("joined") if who == client}
        groups = sorted(joined | seen.names.get("groups", {}).keys())
        topics = sort_names_by_count(seen.names.get("topics", {}))
        about: dict[str, Any] = {"client": client, "client_id": client, "clients": [client], "broker": broker}
        about |= {"topics": topics[:LISTED] or None, "group": groups[0] if len(groups) == 1 else None}
        about["of_group"] = f" (group {escape_for_sentence(groups)})" if groups else None
        about["places"] = topics or "its topics"
        about |= {"after": describe_duration(least_ns / MS), "wait": seen.most["wait"]}
        least = seen.most["bytes"]
        about["until"] = f" until there are {least} bytes (fetch.min.bytes)" if least > 1 else None
        about["tally"] = f"{seen.count:,}"
        yield case.make_finding("join-abandoned" if key == JOIN_GROUP else "fetch-abandoned", seen, **about)


def _has_gone_on(case: Case, client: str, key: int, abandoned: Observation) -> bool:
    """Whether a client got what it waits for since the first request that it gave up, on another connection."""
    if key == JOIN_GROUP:
        uses = ((client, its, group) for its in (SYNC_GROUP, HEARTBEAT) for group in abandoned.names.get("groups", ()))
        return any(case.done.get(use, 0) > abandoned.first for use in uses)
    read = case.find_matching_observations("read", (0,), (client,))
    return any(seen.last >= abandoned.first and its[1] not in abandoned.names["connections"] for its, seen in read)


MEMBERS: Final[tuple[Callable[[Case], Iterator[Found]], ...]] = (
    _find_shared_groups,
    _find_idle_members,
    _find_groups_behind,
    _find_foreign_offsets,
    _find_stranded_members,
    _find_answers_broken_off,
    _find_abandoned_waits,
)
