"""Fetched and written batches in; findings about those with a wrong checksum, and where they were damaged, out.

Bytes that were damaged on the way differ each time. A batch that a broker sends on several connections with the same
wrong bytes was damaged before it was sent: where the broker keeps it. One that comes from two addresses may have come
through one of them, a proxy, so that it was damaged once on the way.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from decoders.analysis.doctor.diagnosis_input import (
    LISTED,
    Case,
    Found,
    escape_for_sentence,
    format_clock,
    merge_observations,
)
from decoders.analysis.doctor.observations import Observation, sort_names_by_count
from decoders.records.batch_layout import CRC_START
from decoders.records.summarize_records import BatchHead, load_crc32c

if TYPE_CHECKING:
    from decoders.analysis.doctor.observations import Observations
    from decoders.exchanges.exchange import Exchange

__all__ = ["DAMAGED_BATCHES", "observe_damaged_batch"]


def observe_damaged_batch(
    seen: Observations, exchange: Exchange, client: str, place: tuple[str | None, Any], head: BatchHead
) -> None:
    """Observe a batch that a Fetch got, and that has another checksum than its bytes."""
    topic, number = place
    its = seen.get_or_make("crc", client, topic, "fetched")
    its.count_exchange(exchange)
    its.count_name("brokers", exchange.connection_info.broker)
    raw = exchange.response_raw
    if head.at >= 0 and raw is not None:
        found = load_crc32c()(raw[head.at + CRC_START : head.at + head.size])
        batch = f"{number} {head.base_offset} {head.last_offset} {head.crc} {found}"
        its.count_name("batches", batch)
        its.count_name("links", f"{batch} {exchange.connection_info.broker} {exchange.connection_info.client}")


def _find_damaged_batches(case: Case) -> Iterator[Found]:
    """Batches with a wrong checksum: a finding for each producer and topic, and one for all readers of a topic."""
    fetched: dict[str | None, dict[str, Observation]] = defaultdict(dict)
    for (client, topic, how), seen in case.seen.items_of_kind("crc"):
        if how == "fetched":
            fetched[topic][client] = seen
            continue
        about = {"client": client, "client_id": client, "topic": topic, "how": how}
        why, remedy = _OF_PRODUCER
        yield case.make_finding("records-corrupt", seen, meaning=why, remedy=remedy, **about)
    for topic, some in fetched.items():
        whole = merge_observations(some.values())
        clients = sorted(some, key=lambda client: (-some[client].count, client))
        about = {"client": clients, "clients": clients[:LISTED], "topic": topic, "how": "fetched"}
        about["client_id"] = clients[0] if len(clients) == 1 else None
        brokers = sort_names_by_count(whole.names.get("brokers", {}))
        about["broker"] = brokers[0] if len(brokers) == 1 else None
        yield case.make_finding("records-corrupt", whole, **about, **_explain_damage(case, topic, whole))


def _explain_damage(case: Case, topic: str | None, seen: Observation) -> dict[str, str]:
    """Words for which batches are damaged, and for where, by how often and where their bytes came."""
    batches = seen.names.get("batches", {})
    why, remedy = _LIKELY
    if not batches:
        return {"meaning": why, "remedy": remedy}
    links = _count_links_of_broker(seen.names["links"])
    batch = min(batches, key=lambda name: (-links[name], -batches[name], name))
    number, first, last, stored, _ = map(int, batch.split())
    details = f": {escape_for_sentence(topic)}-{number} offsets {first:,} to {last:,}"
    others = len({tuple(name.split()[:2]) for name in batches}) - 1
    details += f" and {others:,} more" if others else ""
    if links[batch] == 1 and any(name != batch and name.split()[:4] == batch.split()[:4] for name in batches):
        why, remedy = _ON_THE_WAY
        details += ", with other bytes from one time to the next"
    elif links[batch] > 1:
        why, remedy = _ON_BROKER
        details += f", the same bytes each time ({batches[batch]:,}), on {links[batch]:,} connections"
        written = case.seen.sent.find_accepted_batch((topic, number), first, stored)
        if written is not None:
            time_ns, client, alike = written
            same = "with this checksum, which was right then" if alike else "with another checksum"
            details += f"; {escape_for_sentence(client)} wrote it at {format_clock(time_ns)} {same}"
        remedy = remedy.format(after=f"{last + 1:,}")
    return {"meaning": why, "remedy": remedy, "details": details}


def _count_links_of_broker(names: Iterable[str]) -> dict[str, int]:
    """Batch → the connections on which it came from one broker, the most of any."""
    counts: dict[tuple[str, str], int] = defaultdict(int)
    for name in names:
        batch, broker, _ = name.rsplit(" ", 2)
        counts[batch, broker] += 1
    links: dict[str, int] = defaultdict(int)
    for (batch, _), count in counts.items():
        links[batch] = max(links[batch], count)
    return links


_SHOWN: Final = "`kw sniff --records` shows these batches with crc bad"
_OF_PRODUCER: Final = (
    "bytes changed after the checksum was computed: memory, network cards, a proxy, or the producer's own fault; a"
    " broker refuses such batches (CORRUPT_MESSAGE)",
    f"look for this error in the producer's log, and at what lies between it and the broker; {_SHOWN}",
)
_LIKELY: Final = (
    "bytes changed after the checksum was computed: a disk or memory of the broker, network cards, a proxy, or the"
    " producer's own fault; a broker checks batches when they are written, so of those fetched its log is the likeliest"
    " place",
    f"look for this error in logs of brokers and consumers, and at the disks of the partition's leader; {_SHOWN}",
)
_ON_THE_WAY: Final = (
    "bytes of one batch that are wrong in another manner each time are likely changed on the way: network cards, a"
    " proxy, or memory of a machine between; those on a broker's disk stay as they are",
    f"look at network cards, proxies and memory between the broker and its readers; {_SHOWN}",
)
_ON_BROKER: Final = (
    "it was damaged where the broker keeps it, on its disk or in its memory: on the way bytes do not change in the same"
    " manner on each connection, and a broker takes no batch with a wrong checksum; consumers that check it (Java) stop"
    " there, others may read garbage",
    "look at disks and memory of that broker; take the partition from a replica whose copy is sound (have it lead, stop"
    " this broker and delete its copy); else have consumers go on at offset {after}; " + _SHOWN,
)

DAMAGED_BATCHES: Final[tuple[Callable[[Case], Iterator[Found]], ...]] = (_find_damaged_batches,)
