"""Batches as producers sent them in, those that went to another topic or partition than they were made for out.

Theory of operation. A producer counts the records of each partition by itself: the next batch begins with the sequence
that follows the last one. A batch that begins elsewhere, while in another partition of the same producer just this
sequence is missing, was made for that partition. And a batch is made for one topic: the same producer id, epoch,
sequence and checksum under two topics is one batch that was sent to both, unless the application writes everything to
both. Then the batches with sequence 0 are the same too, or most batches of one of the two topics.

Where the sequence follows under both topics, bytes alone do not tell. The checksum covers records, create time,
producer and sequence, so the batches are the same; but a producer that writes a text to two topics in one millisecond
makes two that are the same where it happens to count alike. What tells is what the producer sent next. It has counted
its own batch, and goes on behind it. A batch that came from elsewhere it has not counted: its next one has the same
sequence again, with other records. (A batch that was too large is split into smaller ones, the first of which has its
sequence.)
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import combinations
from operator import itemgetter
from typing import Any

from decoders.named_tuple import NamedTuple

__all__ = ["MisroutedBatch", "SentBatch", "find_misrouted_batches"]

Place = tuple[str, int]


class SentBatch(NamedTuple):
    """A batch of an idempotent producer; `time` of its first try in ns, `crc` -1 where unknown; `source`: any value."""

    time: int
    topic: str
    partition: int
    producer: int
    epoch: int
    sequence: int
    records: int
    crc: int
    source: Any


class MisroutedBatch(NamedTuple):
    """A batch, and the topic and partition that it was made for.

    `twin`: the same batch there; without one, its sequence is missing there. `sure`: its sequence does not follow, or,
    `contested`, the producer gave it to another batch too.
    """

    batch: SentBatch
    rightful: Place
    twin: SentBatch | None
    sure: bool
    contested: bool = False


def find_misrouted_batches(batches: Iterable[SentBatch], *, complete: bool = True) -> list[MisroutedBatch]:
    """The misrouted batches, in the order of time; `complete`: these are all batches, so that sequences can be told."""
    sent: defaultdict[tuple[int, int], dict[Place, list[SentBatch]]] = defaultdict(dict)
    for batch in batches:
        sent[batch.producer, batch.epoch].setdefault((batch.topic, batch.partition), []).append(batch)
    found: list[MisroutedBatch] = []
    for by_place in sent.values():
        for its in by_place.values():
            its.sort(key=_TIME_AND_SEQUENCE)
        found += _find_batches_of_other_topics(by_place, complete=complete)
        if complete and len(by_place) > 1:
            found += _find_sequences_of_other_partitions(by_place)
    return sorted(found, key=lambda each: (_key_in_order_of_time(each.batch), each.rightful))


# The order of batches of one partition.
_TIME_AND_SEQUENCE = itemgetter(0, 5)


def _key_in_order_of_time(batch: SentBatch) -> tuple[int, str, int, int]:
    return batch.time, batch.topic, batch.partition, batch.sequence


def _find_batches_of_other_topics(
    by_place: dict[Place, list[SentBatch]], *, complete: bool
) -> Iterator[MisroutedBatch]:
    """Batches that are the same under two topics."""
    if len({topic for topic, _ in by_place}) < 2 or not _have_alike_batches(by_place):
        return
    alike: defaultdict[tuple[int, int], dict[str, SentBatch]] = defaultdict(dict)
    totals: Counter[str] = Counter()
    for (topic, _), its in by_place.items():
        for batch in {each.sequence: each for each in reversed(its) if each.crc >= 0}.values():
            alike[batch.sequence, batch.crc].setdefault(topic, batch)
            totals[topic] += 1
    shared: Counter[tuple[str, ...]] = Counter()
    copied: set[tuple[str, ...]] = set()
    pairs: list[tuple[tuple[str, ...], SentBatch, SentBatch]] = []
    for (sequence, _), by_topic in alike.items():
        for one, other in combinations(sorted(by_topic.values(), key=_key_in_order_of_time), 2):
            topics = tuple(sorted((one.topic, other.topic)))
            shared[topics] += 1
            pairs.append((topics, one, other))
            if sequence == 0:
                copied.add(topics)
    for topics, one, other in pairs:
        if topics in copied or 2 * shared[topics] > max(totals[name] for name in topics):
            continue
        broken, contested = [], False
        if complete:
            places = [(by_place[each.topic, each.partition], each) for each in (one, other)]
            broken = [each for its, each in places if _breaks_sequence(its, each)]
            if all(_follows_sequence(*place) for place in places):
                broken = [each for its, each in places if _is_sequence_reused(its, each)]
                contested = len(broken) == 1
                if not contested:
                    continue
        wrong, right = (one, other) if broken == [one] else (other, one)
        yield MisroutedBatch(wrong, (right.topic, right.partition), right, bool(broken), contested)


def _have_alike_batches(by_place: dict[Place, list[SentBatch]]) -> bool:
    """Whether a sequence with a checksum is under two topics, as hardly any is."""
    first: dict[tuple[int, int], str] = {}
    return any(
        first.setdefault((sequence, crc), topic) != topic
        for (topic, _), its in by_place.items()
        for _, _, _, _, _, sequence, _, crc, _ in its
        if crc >= 0
    )


def _find_sequences_of_other_partitions(by_place: dict[Place, list[SentBatch]]) -> Iterator[MisroutedBatch]:
    """Batches whose sequence does not follow in their partition, and is just the one that is missing in another."""
    missing: dict[tuple[int, int], set[Place]] = defaultdict(set)
    for where, its in by_place.items():
        for span in _missing_sequences(its):
            missing[span].add(where)
    if not missing:
        return
    for where, its in by_place.items():
        told: set[int] = set()
        for batch in its:
            rightful = missing.get((batch.sequence, batch.sequence + batch.records), set()) - {where}
            if batch.sequence not in told and len(rightful) == 1 and _breaks_sequence(its, batch):
                told.add(batch.sequence)
                (right,) = rightful
                yield MisroutedBatch(batch, right, None, sure=True)


def _breaks_sequence(batches: list[SentBatch], batch: SentBatch) -> bool:
    """Whether a batch does not follow the batches before it in its partition; False where there are none before."""
    before = any(each.time < batch.time and each.sequence != batch.sequence for each in batches)
    return before and batch.sequence != 0 and not _follows_sequence(batches, batch)


def _follows_sequence(batches: list[SentBatch], batch: SentBatch) -> bool:
    """Whether a batch follows one before it in its partition."""
    return any(each.sequence + each.records == batch.sequence and each.time < batch.time for each in batches)


def _is_sequence_reused(batches: list[SentBatch], batch: SentBatch) -> bool:
    """Whether the producer gave the sequence of a batch to another one later, which is no piece of it."""
    return any(
        each.sequence == batch.sequence and each.crc not in (-1, batch.crc) and each.records >= batch.records
        for each in batches
        if each.time > batch.time
    )


def _missing_sequences(batches: list[SentBatch]) -> Iterator[tuple[int, int]]:
    """The runs of sequences, as (first, end), that lie between the batches of a partition and are in none of them."""
    spans = sorted({(each.sequence, each.sequence + each.records) for each in batches})
    reached = spans[0][1]
    for first, end in spans[1:]:
        if first > reached:
            yield reached, first
        reached = max(reached, end)
