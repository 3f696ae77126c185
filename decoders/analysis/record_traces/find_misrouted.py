"""The index in, batches out that went to another topic or partition than they were made for.

Theory of operation. A producer counts the records of each partition by itself: the next batch begins with the sequence
that follows the last one. A batch that begins elsewhere, while in another partition of the same producer just this
sequence is missing, was made for that partition. And a batch is made for one topic: the same producer id, epoch,
sequence and checksum under two topics is one batch that was sent to both, unless the application writes everything to
both, which makes most batches of the two topics alike.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import chain, combinations
from typing import TYPE_CHECKING, Final

from decoders.analysis.record_traces.life_of_record import LivesOfRecords
from decoders.analysis.record_traces.partition_tables import Write

if TYPE_CHECKING:
    from decoders.analysis.fold_interface import Row
    from decoders.analysis.record_traces.record_index import TopicPartition

__all__ = ["find_misrouted_batches"]

# Producer id and epoch.
Producer = tuple[int, int]
# An application that writes everything to two topics has more than this share of batches in common.
_SHARE_OF_CHANCE: Final = 0.5


def find_misrouted_batches(lives: LivesOfRecords) -> Iterator[Row]:
    """A row for each batch that was misrouted, in the order of time."""
    sent: defaultdict[Producer, dict[TopicPartition, list[Write]]] = defaultdict(dict)
    for where, several in lives.tables.items():
        writes: Iterator[Write] = chain.from_iterable(each.writes for each in several)
        for write in sorted(writes):
            if write.producer >= 0 and write.sequence >= 0:
                sent[write.producer, write.epoch].setdefault(where, []).append(write)
    found: list[tuple[int, Row]] = []
    for by_partition in sent.values():
        found += _find_batches_of_other_topics(lives, by_partition)
        found += _find_sequences_of_other_partitions(lives, by_partition)
    yield from (row for _, row in sorted(found, key=lambda pair: (pair[0], repr(pair[1]))))


def _find_batches_of_other_topics(
    lives: LivesOfRecords, by_partition: dict[TopicPartition, list[Write]]
) -> Iterator[tuple[int, Row]]:
    """Batches that are the same under two topics."""
    batches: defaultdict[tuple[int, int], dict[TopicPartition, Write]] = defaultdict(dict)
    totals: Counter[str] = Counter()
    for where, writes in by_partition.items():
        for sequence in {write.sequence: write for write in writes if write.crc >= 0}.values():
            batches[sequence.sequence, sequence.crc].setdefault(where, sequence)
            totals[where[0]] += 1
    shared: Counter[tuple[str, str]] = Counter()
    pairs: list[tuple[TopicPartition, TopicPartition, Write, Write]] = []
    for its in batches.values():
        for (one, first), (other, second) in combinations(sorted(its.items()), 2):
            if one[0] != other[0]:
                shared[one[0], other[0]] += 1
                pairs.append((one, other, first, second))
    for one, other, first, second in pairs:
        broken = [
            where for where, write in ((one, first), (other, second)) if _breaks_sequence(by_partition[where], write)
        ]
        most = max(totals[one[0]], totals[other[0]])
        few = shared[one[0], other[0]] <= _SHARE_OF_CHANCE * most and first.sequence > 0
        if not broken and not few:
            continue
        wrong, right = (
            (other, one) if broken[:1] == [other] or (not broken and second.time >= first.time) else (one, other)
        )
        write = second if wrong == other else first
        why = f"the same batch (producer id {write.producer}, sequence {write.sequence}) went to {right[0]}/{right[1]}"
        if broken:
            why += ", and its sequence does not follow here"
        yield write.time, _make_row(lives, wrong, right, write, why, sure=bool(broken))


def _find_sequences_of_other_partitions(
    lives: LivesOfRecords, by_partition: dict[TopicPartition, list[Write]]
) -> Iterator[tuple[int, Row]]:
    """Batches whose sequence does not follow in their partition, and is just the one that is missing in another."""
    missing: dict[tuple[int, int], set[TopicPartition]] = defaultdict(set)
    for where, writes in by_partition.items():
        for span in _missing_sequences(writes):
            missing[span].add(where)
    for where, writes in by_partition.items():
        told: set[int] = set()
        for write in writes:
            rightful = missing.get((write.sequence, write.sequence + write.records), set()) - {where}
            if write.sequence in told or len(rightful) != 1 or not _breaks_sequence(writes, write):
                continue
            told.add(write.sequence)
            (right,) = rightful
            why = (
                f"sequence {write.sequence} of producer id {write.producer} does not follow here, and is missing in"
                f" {right[0]}/{right[1]}"
            )
            yield write.time, _make_row(lives, where, right, write, why, sure=True)


def _breaks_sequence(writes: list[Write], write: Write) -> bool:
    """Whether a batch does not follow the batches before it in its partition; False where there are none before."""
    before = [each for each in writes if each.time < write.time and each.sequence != write.sequence]
    if not before or write.sequence == 0:
        return False
    return all(each.sequence + each.records != write.sequence for each in before)


def _missing_sequences(writes: list[Write]) -> Iterator[tuple[int, int]]:
    """The runs of sequences, as (first, end), that lie between the batches of a partition and are in none of them."""
    spans = sorted({(write.sequence, write.sequence + write.records) for write in writes})
    reached = spans[0][1]
    for first, end in spans[1:]:
        if first > reached:
            yield reached, first
        reached = max(reached, end)


def _make_row(
    lives: LivesOfRecords, where: TopicPartition, right: TopicPartition, write: Write, why: str, *, sure: bool
) -> Row:
    return {
        "topic": where[0],
        "partition": where[1],
        "offset": None if write.first < 0 else write.first,
        "records": write.records,
        "rightful_topic": right[0],
        "rightful_partition": right[1],
        "client_id": lives.client_id_of(write.sender),
        "producer_id": write.producer,
        "producer_epoch": write.epoch,
        "sequence": write.sequence,
        "time": lives.format_time(write.time),
        "sure": sure,
        "why": why,
        "evidence": [lives.evidence_of(write)],
    }
