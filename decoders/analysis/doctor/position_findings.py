"""Observations in, findings about positions out: lost commits, partitions that nobody reads, records held back."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from shlex import quote
from typing import Any, Final

from decoders.analysis.doctor.diagnosis_input import (
    MS,
    NS,
    Case,
    Found,
    escape_for_sentence,
    format_advertised_address,
    merge_observations,
    most_frequent_clients,
)
from decoders.analysis.doctor.finding_kinds import FINDINGS
from decoders.analysis.doctor.groups.lost_commit_findings import LOST_COMMITS
from decoders.analysis.doctor.observations import Observation, sort_names_by_count
from decoders.analysis.transactions.abort_commands import (
    make_abort_command,
    make_describe_producers_command,
    make_marker_command,
)
from decoders.named_tuple import NamedTuple
from decoders.wire.format_and_escape_text import describe_duration

__all__ = ["POSITIONS", "describe_abort_command", "list_holding_transactions"]


def _find_unread_assignments(case: Case) -> Iterator[Found]:
    """Partitions that a member has, and never asks for, while it reads others: one finding for a client and group."""
    nodes = {format_advertised_address(host, port) for (_, _, host, port), _ in case.seen.items_of_kind("advertised")}
    if not nodes <= case.brokers:
        return  # what it asks other brokers is not in the capture
    found: dict[tuple[str, str], dict[str, Observation]] = defaultdict(dict)
    for (group, client, topic, number), seen in case.seen.items_of_kind("assigned"):
        joined, reading = (
            case.seen.get_observation("joined", group, client),
            case.seen.get_observation("reading", client),
        )
        if joined is None or reading is None or joined.most["last"] > seen.last:
            continue
        asked = case.seen.get_observation("asked", client, topic, number)
        until = max(reading.list_marked_seconds(), default=0)
        if asked is None and until * NS - seen.last >= case.limits["unread.least"] * NS:
            its = found[group, client][f"{topic}-{number}"] = merge_observations([seen])
            its.last = until * NS
    for (group, client), some in found.items():
        whole = merge_observations(some.values())
        about = {"client": client, "client_id": client, "clients": [client], "group": group, "places": sorted(some)}
        about["topics"] = sorted({place.rpartition("-")[0] for place in some})
        time = describe_duration((whole.last - whole.first) / MS)
        yield case.make_finding("assigned-unread", whole, time=time, **about)


class _Holder(NamedTuple):
    """Whose transaction holds a partition: `sure` where its last batch is the one at the last stable offset."""

    transactional_id: str
    client: str
    wrote_ns: int
    sure: bool


def _find_repeated_starts(case: Case) -> Iterator[Found]:
    """Members that begin at one committed offset on connection after connection, though records are there."""
    for (group, client, topic, number), seen in case.seen.items_of_kind("assigned"):
        committed = case.seen.get_observation("committed", group, topic, number)
        lag = case.seen.get_observation("lag", client, topic, number)
        if committed is None or lag is None or "offset" not in committed.edges:
            continue
        offset = committed.edges["offset"][1][1]
        if lag.most.get("got", 0) <= offset and not lag.edges["lag"][1][1]:
            continue
        times = len(seen.names.get(f"from {offset}", ()))
        if times >= case.limits["starts.least"]:
            about: dict[str, Any] = {"group": group, "client": client, "client_id": client, "clients": [client]}
            about |= {"topic": topic, "partition": number, "place": f"{topic}-{number}", "offset": f"{offset:,}"}
            word = quote(f"{topic}/{number}@{offset}")
            yield case.make_finding("start-repeated", seen, times=times, record=word, **about)


def _find_held_records(case: Case) -> Iterator[Found]:
    """Readers of committed records that wait at one offset: a transaction is open there."""
    limits = case.limits
    for (topic, number, stable), seen in _list_held_positions(case):
        took = seen.last - seen.first
        kind = FINDINGS["transaction-hangs"]
        long = took >= limits["transaction.open"] * NS
        about: dict[str, Any] = {"topic": topic, "partition": number, "clients": most_frequent_clients(seen)}
        where = f"{topic}-{number} offset {stable:,} for {describe_duration(took / MS)}"
        marker = _describe_marker_commands(case, str(topic), number, sort_names_by_count(seen.names["brokers"])[0])
        holder = _find_holding_transaction(case, topic, number, stable)
        if holder is None:
            about["what"] = f"readers of committed records wait at {where}"
            about["remedy"] = marker
        else:
            silent = case.last - holder.wrote_ns
            long = long or (holder.sure and silent >= limits["transaction.held"] * NS)
            about["transactional_id"] = holder.transactional_id
            name, client = map(escape_for_sentence, (holder.transactional_id, holder.client))
            about["what"] = (
                f"{'' if holder.sure else 'likely '}the open transaction of {name} holds readers of committed records"
                f" at {where}; {client}, whose it is, wrote nothing there for {describe_duration(silent / MS)}"
            )
            about["remedy"] = describe_abort_command(case, holder.transactional_id) or marker
        yield Found("transaction-hangs", kind.severity if long else kind.went_on, seen, about)


def _list_held_positions(case: Case) -> Iterator[tuple[Any, Observation]]:
    """Topic, partition and last stable offset at which readers waited longer than for a usual commit."""
    least = case.limits["transaction.held"] * NS
    return (item for item in case.seen.items_of_kind("held") if item[1].last - item[1].first >= least)


def list_holding_transactions(case: Case) -> set[str]:
    """The transactional ids of which findings say that they hold readers of committed records."""
    holders = (_find_holding_transaction(case, *position) for position, _ in _list_held_positions(case))
    return {holder.transactional_id for holder in holders if holder is not None}


def _find_holding_transaction(case: Case, topic: str | None, number: int, stable: int) -> _Holder | None:
    """The one transaction that is open by what the capture shows, and has a batch at or behind an offset."""
    found = []
    for (where, its, _), writer in case.seen.items_of_kind("transactional", "written"):
        (_, (wrote_ns, offset)), names = writer.edges["written"], sort_names_by_count(writer.names["ids"])
        ends = case.seen.get_observation("transaction", names[0])
        is_over = ends is not None and ends.most.get("ended", 0) > wrote_ns
        if (where, its) != (topic, number) or offset < stable or is_over:
            continue
        found.append(_Holder(names[0], most_frequent_clients(writer)[0], wrote_ns, offset == stable))
    return found[0] if len(found) == 1 else None


def describe_abort_command(case: Case, transactional_id: str) -> str | None:
    """How to end the transaction of an id; None where the capture does not show its coordinator."""
    seen = case.seen.get_observation("transaction", transactional_id)
    if seen is None:
        return None
    return (
        "if its producer is gone, abort it, which also fences the producer:"
        f" {make_abort_command(seen.evidence[0][3], transactional_id)} (CONCURRENT_TRANSACTIONS: it is being aborted)"
    )


def _describe_marker_commands(case: Case, topic: str, number: int, leader: str) -> str:
    """How to end a transaction of which only its place is known, as commands for the leader of the partition."""
    writers = [
        (producer_id, seen.most["epoch"])
        for (where, its, producer_id), seen in case.seen.items_of_kind("transactional")
        if (where, its) == (topic, number)
    ]
    producer = writers[0] if len(writers) == 1 else ("ID", "EPOCH")
    return (
        f"see whose it is: {make_describe_producers_command(leader, topic, number)}; abort it, if its producer is gone:"
        f" {make_marker_command(leader, [(topic, number)], producer)}"
        " (coordinator_epoch as DescribeProducers gives it, 0 for -1)"
    )


def _find_skipped_records(case: Case) -> Iterator[Found]:
    """Acknowledged records that a group passed without reading them: one finding for a group and topic.

    Members got fewer offsets than lie between the first and the last that they got, and each of these was written in
    the capture. What was read twice hides what was not read; and where the capture may lack an answer, nothing is told.
    """
    nodes = {format_advertised_address(host, port) for (_, _, host, port), _ in case.seen.items_of_kind("advertised")}
    if not nodes <= case.brokers or case.holes or case.seen.left_out:
        return
    members: defaultdict[tuple[str | None, int], defaultdict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for (group, topic, number), seen in case.seen.items_of_kind("committed"):
        members[topic, number][group].update(seen.names.get("clients", ()))
    for (group, client, topic, number), _ in case.seen.items_of_kind("assigned"):
        members[topic, number][group].add(client)
    reading: defaultdict[tuple[str | None, int], dict[str, Observation]] = defaultdict(dict)
    for (client, topic, number), seen in case.seen.items_of_kind("lag"):
        if "got" in seen.sums:
            reading[topic, number][client] = seen
    found: defaultdict[tuple[str, str | None], dict[int, tuple[int, list[Observation]]]] = defaultdict(dict)
    ranges = _find_ranges_written_once(case) if members and reading else {}
    for where, by_group in members.items():
        written = ranges.get(where)
        for group, clients in by_group.items():
            others = {each for name, its in by_group.items() if name != group for each in its} - clients
            readers = {client: seen for client, seen in reading[where].items() if client not in others}
            passed = _count_skipped_offsets(case, where, readers, written) if clients & readers.keys() else 0
            if passed > 0:
                found[group, where[0]][where[1]] = passed, list(readers.values())
    for (group, topic), by_partition in found.items():
        whole = merge_observations(seen for _, some in by_partition.values() for seen in some)
        count = whole.count = sum(passed for passed, _ in by_partition.values())
        about: dict[str, Any] = {"group": group, "topic": topic, "partitions": sorted(by_partition)}
        about |= {"records": "a record" if count == 1 else f"{count:,} records", "places": sorted(by_partition)}
        yield case.make_finding("read-past", whole, **about)


def _find_ranges_written_once(case: Case) -> dict[tuple[str | None, int], tuple[int, int]]:
    """The offsets of each partition, from and to, each of which was written once in the capture."""
    found: dict[tuple[str | None, int], tuple[int, int, int]] = {}
    for (_, topic, number, _), seen in case.seen.items_of_kind("sequence"):
        if "accepted" in seen.sums:
            first, end, count = -seen.most["accepted-from"], seen.most["accepted"], seen.sums["accepted"]
            low, high, before = found.get((topic, number), (first, end, 0))
            found[topic, number] = min(low, first), max(high, end), before + count
    return {where: (first, end) for where, (first, end, count) in found.items() if end - first == count}


def _count_skipped_offsets(
    case: Case, where: tuple[str | None, int], readers: dict[str, Observation], written: tuple[int, int] | None
) -> int:
    """How many offsets of a partition the readers of a group passed, at least; 0 where that is not known."""
    first = -max(seen.most["got-from"] for seen in readers.values())
    end = max(seen.most["got"] for seen in readers.values())
    if written is None or first < written[0] or end > written[1]:
        return 0
    for client in readers:
        if case.seen.get_observation("unseen-records", client) or case.seen.get_observation("outside", client, *where):
            return 0
    return end - first - sum(seen.sums["got"] for seen in readers.values())


POSITIONS: Final[tuple[Callable[[Case], Iterator[Found]], ...]] = (
    *LOST_COMMITS,
    _find_unread_assignments,
    _find_repeated_starts,
    _find_held_records,
    _find_skipped_records,
)
