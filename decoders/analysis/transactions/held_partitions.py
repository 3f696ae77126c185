"""Transactions and last stable offsets in, which transaction holds which partition back out, and how sure that is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from decoders.analysis.groups.partition_offsets_and_lag import NOTHING, TopicPartition
from decoders.named_tuple import NamedTuple

if TYPE_CHECKING:
    from decoders.analysis.transactions.stable_offsets import ActiveProducer, PartitionStability, StableOffsets
    from decoders.analysis.transactions.timeline import Transaction, TransactionTimeline

__all__ = ["HeldPartition", "find_held_partitions"]

_NS: Final = 1_000_000_000
# A transaction whose id is not known is told of only if it holds readers back for this long: others are under way.
_LEAST_NS: Final = 10 * _NS
# Markers follow EndTxn within this time; a Fetch this much later that still waits shows that they are missing.
_MARKERS_NS: Final = _NS


class HeldPartition(NamedTuple):
    """A partition whose last stable offset a transaction holds, or in which its leader tells an open transaction.

    `transactional_id` is None and `producer_id` -1 where they are not known. `sure`: the offset is the transaction's
    first one. `stable`, `newest`, the two times: -1 and 0 where no Fetch tells them; `coordinator_epoch`: -1 likewise.
    """

    place: TopicPartition
    transactional_id: str | None
    producer_id: int
    epoch: int
    sure: bool
    stable: int
    newest: int
    first_ns: int
    last_ns: int
    leader: str
    coordinator_epoch: int


def find_held_partitions(
    timelines: Mapping[str, TransactionTimeline], offsets: StableOffsets, names: Mapping[str, str], now_ns: int
) -> list[HeldPartition]:
    """What is held back, in the order of the partitions; transactions that are held open by it say so.

    `names`: topic names by id.
    """
    by_producer = {producer_id: name for name in sorted(timelines) for producer_id in timelines[name].producer_ids()}
    places: dict[TopicPartition, PartitionStability] = {}
    for (topic, number), its in sorted(offsets.found.items()):
        place = names.get(topic, topic), number
        before = places.get(place)
        if before is None or its.last_reported_ns() > before.last_reported_ns():
            places[place] = its
    found = [
        held for place, its in sorted(places.items()) for held in _find_holders(place, its, timelines, by_producer)
    ]
    _end_transactions_before_stable_offset(places, timelines, now_ns)
    return found


def _find_holders(
    place: TopicPartition,
    stability: PartitionStability,
    timelines: Mapping[str, TransactionTimeline],
    by_producer: Mapping[int, str],
) -> Iterator[HeldPartition]:
    told_ns, told_by, active = stability.producers
    shown: set[int] = set()
    for producer in active:
        if not stability.is_held or stability.latest[0] <= told_ns or producer.first_offset >= stability.latest[1]:
            name = by_producer.get(producer.producer_id)
            if name is not None and _has_ended_after(timelines[name], told_ns):
                continue
            shown.add(producer.producer_id)
            yield _make_held_partition(place, stability, timelines, name, producer, told_by, told_ns)
    if not stability.is_held or told_ns > stability.latest[0]:
        return
    time_ns, stable, _, leader = stability.latest
    name, producer_id, epoch, sure = _find_writer_of_offset(place, stability, timelines, by_producer)
    if producer_id in shown or (name is not None and _has_ended_after(timelines[name], time_ns - _MARKERS_NS)):
        return
    if name is None and stability.held[2] - stability.held[1] < _LEAST_NS:
        return
    if name is not None:
        latest = timelines[name].latest
        if latest is not None and sure:
            _mark_not_over(latest, place, stable)
    held = (stability.held[0], stability.latest[2], stability.held[1], stability.held[2])
    yield HeldPartition(place, name, producer_id, epoch, sure, *held, leader, NOTHING)


def _make_held_partition(
    place: TopicPartition,
    stability: PartitionStability,
    timelines: Mapping[str, TransactionTimeline],
    name: str | None,
    producer: ActiveProducer,
    leader: str,
    time_ns: int,
) -> HeldPartition:
    """The place of a transaction that the leader tells to be open."""
    if name is not None:
        latest = timelines[name].latest
        if latest is not None and latest.producer_id == producer.producer_id:
            written = latest.get_or_make_partition(place)
            if written.first_offset == NOTHING:
                written.first_offset = producer.first_offset
            _mark_not_over(latest, place, producer.first_offset)
    told = (producer.first_offset, NOTHING, time_ns, time_ns)
    if stability.is_held and stability.latest[1] == producer.first_offset:
        told = (stability.held[0], stability.latest[2], stability.held[1], max(stability.held[2], time_ns))
    return HeldPartition(
        place, name, producer.producer_id, producer.epoch, True, *told, leader, max(producer.coordinator_epoch, 0)
    )


def _mark_not_over(transaction: Transaction, place: TopicPartition, offset: int) -> None:
    where = f"{place[0]}-{place[1]} offset {offset:,}"
    if transaction.state in ("open", "timed out", "fenced", "ended"):
        transaction.mark_not_over("ongoing", f"readers of committed records wait at its first record, {where}")
    elif transaction.state in ("committed", "aborted"):
        transaction.mark_not_over("prepared", f"{transaction.why}, but its marker is not in {where} yet")


def _has_ended_after(timeline: TransactionTimeline, time_ns: int) -> bool:
    latest = timeline.latest
    return latest is None or (latest.ended_ns is not None and latest.ended_ns >= time_ns)


def _find_writer_of_offset(
    place: TopicPartition,
    stability: PartitionStability,
    timelines: Mapping[str, TransactionTimeline],
    by_producer: Mapping[int, str],
) -> tuple[str | None, int, int, bool]:
    """Whose record is at the last stable offset: transactional id, producer id, epoch, whether that is certain."""
    time_ns, stable, _, _ = stability.latest
    likely: list[tuple[int, str, Transaction]] = []
    for name, timeline in timelines.items():
        latest = timeline.latest
        written = latest.partitions.get(place) if latest is not None else None
        if latest is None or written is None:
            continue
        if written.first_offset == stable:
            return name, latest.producer_id, latest.epoch, True
        if latest.state == "open" and written.first_offset == NOTHING and (latest.began_ns or 0) <= time_ns:
            likely.append((latest.began_ns or 0, name, latest))
    batch = stability.batches.get(stable)
    if batch is not None:
        return by_producer.get(batch[0]), *batch, True
    if likely:
        _, name, latest = min(likely, key=lambda each: each[:2])
        return name, latest.producer_id, latest.epoch, False
    return None, NOTHING, NOTHING, False


def _end_transactions_before_stable_offset(
    places: Mapping[TopicPartition, PartitionStability], timelines: Mapping[str, TransactionTimeline], now_ns: int
) -> None:
    """Say of transactions without a known end that they are over, where the last stable offset is past their begin."""
    for timeline in timelines.values():
        latest = timeline.latest
        if (
            latest is None
            or latest.state not in ("open", "timed out", "fenced")
            or (latest.state != "open" and latest.sure)
        ):
            continue
        for place, written in sorted(latest.partitions.items()):
            its = places.get(place)
            if its is None or written.first_offset == NOTHING or its.latest[1] <= written.first_offset:
                continue
            overdue = latest.overdue_ns
            where = f"{place[0]}-{place[1]}"
            if overdue is not None and latest.asked_end is None and its.latest[0] >= overdue and now_ns >= overdue:
                latest.close("timed out", None, f"{where} can be read past its first record, after its timeout")
            else:
                latest.close("ended", None, f"{where} can be read past its first record; how it ended is not known")
            break
