"""Observations in; findings about topics that nobody meant to create, racks, Streams groups, and lost records, out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from difflib import get_close_matches
from typing import Any, Final

from decoders.analysis.doctor.diagnosis_input import (
    LASTING_NS,
    LISTED,
    MS,
    NS,
    Case,
    Found,
    escape_for_sentence,
    format_clock,
    merge_observations,
)
from decoders.analysis.doctor.observations import Observation, sort_names_by_count
from decoders.protocol_facts.enum_words import word_for_number
from decoders.wire.format_and_escape_text import describe_duration

__all__ = ["TOPOLOGY", "is_created_unasked"]

# A topic that Metadata create is there a moment later: one that is missing for longer was created by somebody else.
_CREATED_WITHIN_NS: Final = 5 * NS
_NEAR: Final = 0.8
# As many pairs of names are compared, those of one topic more in all: each takes some ten microseconds.
_COMPARED_MOST: Final = 10_000


def _find_automatic_creation(case: Case, topic: str) -> tuple[Observation, bool] | None:
    """The answers to Metadata that said that a topic is missing, and created it; whether a broker was seen to do so."""
    asked = case.find_matching_observations("may-create", (0,), (topic,))
    there = case.seen.get_observation("topic", topic)
    if not asked or there is None:
        return None
    missing = merge_observations(seen for _, seen in asked)
    if there.last <= missing.last or missing.last - missing.first > _CREATED_WITHIN_NS:
        return None
    if there.first < missing.first and not _is_deleted_before(case, topic, missing):
        return None  # a broker that has just started, or one of another cluster, does not know it
    made = case.find_matching_observations("created", (0,), (topic,))
    near = [(how, seen) for (_, _, how), seen in made if abs(seen.last - missing.first) < _CREATED_WITHIN_NS]
    if any(how == "asked" for how, _ in near):
        return None
    return missing, bool(near)


def _is_deleted_before(case: Case, topic: str, missing: Observation) -> bool:
    """Whether a topic was deleted before answers said that it is missing."""
    deleted = case.seen.get_observation("deleted", topic)
    return deleted is not None and deleted.first <= missing.first + NS


def is_created_unasked(case: Case, topic: str) -> bool:
    """Whether a topic that was missing came to be because a client asked for its metadata."""
    return _find_automatic_creation(case, topic) is not None


def _find_topics_created_unasked(case: Case) -> Iterator[Found]:
    """Topics that came to be because a client asked for their metadata."""
    topics = {topic for (topic, _), _ in case.seen.items_of_kind("may-create")}
    left = _COMPARED_MOST
    for topic in sorted(topics):
        found = _find_automatic_creation(case, topic)
        if found is None:
            continue
        missing, is_sure = found
        created = case.find_matching_observations("created", (0,), (topic,))
        clients = [client for (_, client, how), _ in created if how == "by-broker"] or [
            client for (_, client), _ in case.find_matching_observations("may-create", (0,), (topic,))
        ]
        about: dict[str, Any] = {"topic": topic, "clients": sorted(set(clients))[:LISTED], "refused": ""}
        about["likely"] = "" if is_sure else "likely "
        about["at"] = format_clock(missing.first)
        deleted = case.seen.get_observation("deleted", topic)
        is_back = _is_deleted_before(case, topic, missing)
        counts = {
            count: seen
            for (_, count), seen in case.find_matching_observations("partition-count", (0,), (topic,))
            if count is not None
        }
        now = [(seen.first, count) for count, seen in counts.items() if seen.last > missing.last]
        before = [count for count, seen in counts.items() if seen.first < missing.first]
        about["with_partitions"] = _describe_partitions(min(now)[1]) if now else ""
        about["compared"] = f" (before: {max(before)})" if is_back and before else ""
        near: list[str] = []
        if left > 0 and not is_back:
            left -= len(case.topics)
            near = get_close_matches(topic, sorted(_list_older_topics(case, topic, missing.first)), 1, _NEAR)
        if near:
            about["compared"] = f"; topic {escape_for_sentence(near[0])} has nearly the same name"
        about["before"] = "did not exist"
        if is_back and deleted is not None:
            who = escape_for_sentence(sort_names_by_count(deleted.names["clients"])[0])
            about["before"] = f"was deleted by {who} at {format_clock(deleted.first)}, and is there again"
        refused = case.find_matching_observations("error", (0, 3, 4), (_ALREADY_EXISTS, "topic", topic))
        if refused:
            who = escape_for_sentence(sorted({client for (_, _, client, _, _), _ in refused}))
            about["refused"] = f"; {who} could not create it as meant: TOPIC_ALREADY_EXISTS"
        about["remedy"] = _REMEDY_OF_RETURNED if is_back else _REMEDY_OF_NEW
        row = case.make_finding("topic-created-unasked", missing, **about)
        yield row if is_back or near else row._replace(severity="note")


_ALREADY_EXISTS: Final = 36
_REMEDY_OF_RETURNED: Final = (
    "set auto.create.topics.enable=false in brokers, or allow.auto.create.topics=false in these clients; then delete it"
    " once more and create it as it is meant to be"
)
_REMEDY_OF_NEW: Final = (
    "if the name is wrong, correct it in the client and delete the topic; else create topics beforehand, with the"
    " partitions and replicas that they need, and set auto.create.topics.enable=false"
)


def _describe_partitions(count: int) -> str:
    return f", with {count} partition{'' if count == 1 else 's'}"


def _list_older_topics(case: Case, topic: str, time_ns: int) -> set[str]:
    """Other topics that were there before a time."""
    return {
        name
        for (name,), seen in case.seen.items_of_kind("topic")
        if name != topic and seen.first < time_ns and not str(name).startswith("__")
    }


# Code of a state → meaning and remedy. Other states keep nobody from work.
_STATES: Final[dict[int, tuple[str, str]]] = {
    1: (
        "topics that the topology reads do not exist, so its members wait without tasks",
        "create the topics, or correct their names in the topology",
    ),
    2: (
        "topics that the topology reads together have different numbers of partitions, so its members wait without"
        " tasks: joins need the same number (co-partitioning)",
        "give the topics the same number of partitions: write one anew with repartition(), or create it again",
    ),
    3: (
        "repartition and changelog topics of the topology are not there yet: the broker creates them, if it may",
        "look whether the principal may create topics (CREATE on the cluster or topics), and at replication.factor of"
        " the application against the number of brokers",
    ),
    4: (
        "a member has asked the whole application to shut down (an uncaught exception, or a handler that says so)",
        "look at the log of the member that failed; then start the application again",
    ),
}
_SHUTDOWN: Final = 4


def _find_streams_not_ready(case: Case) -> Iterator[Found]:
    """Streams groups whose heartbeats are answered with a state that keeps them from work."""
    found: dict[tuple[str, int], list[tuple[str, Observation]]] = defaultdict(list)
    for (group, code, detail), seen in case.seen.items_of_kind("streams-status"):
        if code in _STATES:
            found[group, code].append((detail, seen))
    for (group, code), some in found.items():
        whole = merge_observations(seen for _, seen in some)
        beats = case.seen.get_observation("streams-beat", group)
        lasted = whole.last - whole.first
        is_over = beats is not None and beats.last - whole.last > _PAUSE_OF_BEATS_NS
        about: dict[str, Any] = {"group": group, "error": str(word_for_number("streams_status", code)).upper()}
        about["meaning"], about["remedy"] = _STATES[code]
        about["lasts"] = f" for {describe_duration(lasted / MS)}" if lasted >= NS else ""
        details = [detail for detail, _ in sorted(some, key=lambda each: -each[1].count) if detail]
        about["detail"] = f" ({escape_for_sentence(details[0])})" if details else ""
        about["clients"] = sort_names_by_count(whole.names["clients"])[:LISTED]
        about["went_on"] = is_over or None
        row = case.make_finding("streams-not-ready", whole, **about)
        if is_over or (code != _SHUTDOWN and lasted < LASTING_NS):
            row = row._replace(severity="note")
        yield row


# Members send heartbeats every 5 s by default.
_PAUSE_OF_BEATS_NS: Final = 6 * NS


def _find_unmatched_racks(case: Case) -> Iterator[Found]:
    """Consumers that say a rack that no broker has."""
    racks = {rack for (rack,), _ in case.seen.items_of_kind("node-rack")}
    listed = case.seen.get_observation("listing")
    by_rack: dict[str, dict[str, Observation]] = defaultdict(dict)
    answering = {broker for (broker, *_), _ in case.seen.items_of_kind("advertised")}
    for (client, rack), seen in case.seen.items_of_kind("rack"):
        used = {broker for (_, _, broker), _ in case.find_matching_observations("client", (0,), (client,))}
        if used & (answering | case.advertised.keys()):  # else the brokers of its cluster are not known
            by_rack[rack][client] = seen
    for rack, clients in by_rack.items():
        if listed is None or rack in racks:
            continue
        has = f"brokers are in {escape_for_sentence(sorted(racks))}" if racks else "no broker has a rack"
        whole = merge_observations(clients.values())
        yield case.make_finding("rack-unmatched", whole, clients=sorted(clients)[:LISTED], rack=rack, brokers=has)


def _find_lost_records(case: Case) -> Iterator[Found]:
    """Topics in which other records have offsets that had been acknowledged before."""
    clusters: dict[str, set[str]] = defaultdict(set)
    for (broker, cluster), _ in case.seen.items_of_kind("cluster"):
        clusters[broker].add(cluster)
    found: dict[str, list[Any]] = defaultdict(list)
    for first, second in case.seen.sent.find_overwritten_batches():
        topic, number = second.topic, second.place[0]
        brokers = first.last[3], second.last[3]
        ids = [clusters[broker] for broker in brokers if broker in clusters]
        is_of_two = len(set().union(*ids)) > 1 or (brokers[0] != brokers[1] and len(ids) < 2)
        if topic is None or number is None or is_of_two or _is_made_anew(case, topic):
            continue
        found[topic].append((first, second))
    for topic, pairs in found.items():
        whole = Observation()
        spans: dict[int, set[tuple[int, int]]] = defaultdict(set)
        for first, second in pairs:
            whole.count_evidence(first.last)
            whole.count_evidence(second.last)
            low, high = max(first.offsets[0], second.offsets[0]), min(_end_of(first), _end_of(second))
            spans[first.place[0]].add((low, high))
        clients = sorted({first.client for first, _ in pairs})
        since = min(second.ended or second.last[0] for _, second in pairs)
        records = sum(map(_count_offsets, spans.values()))
        places = [f"{topic}-{number} from offset {min(some)[0]:,} on" for number, some in sorted(spans.items())]
        about: dict[str, Any] = {"topic": topic, "clients": clients[:LISTED], "records": f"{records:,}"}
        about |= {"places": places, "partitions": sorted(spans)[:LISTED], "since": format_clock(since)}
        yield case.make_finding("acknowledged-lost", whole, **about)


def _count_offsets(spans: set[tuple[int, int]]) -> int:
    """How many offsets are in spans, which may overlap."""
    count, reached = 0, -1
    for low, high in sorted(spans):
        count += max(high - max(low, reached), 0)
        reached = max(reached, high)
    return count


def _end_of(batch: Any) -> int:
    end: int = batch.offsets[0] + batch.records
    return end


def _is_made_anew(case: Case, topic: str) -> bool:
    """Whether a topic was deleted or created in the capture."""
    return (
        case.seen.get_observation("deleted", topic) is not None
        or bool(case.find_matching_observations("created", (0,), (topic,)))
        or is_created_unasked(case, topic)
    )


TOPOLOGY: Final[tuple[Callable[[Case], Iterator[Found]], ...]] = (
    _find_topics_created_unasked,
    _find_streams_not_ready,
    _find_unmatched_racks,
    _find_lost_records,
)
