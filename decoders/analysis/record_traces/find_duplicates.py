"""The index in, records out that a log has twice because they were sent twice.

Theory of operation. A batch of an idempotent producer is known again by producer id, epoch, sequence and checksum: at
two offsets of a partition it was written twice. Without idempotence, producers make new batches of what they send
again, so records are compared: key, value and create time. Records that are alike by chance (a constant payload, many
in a millisecond) must not be taken for copies. A record that was sent again is told from those by its try: it came
PAUSE_NS or more after the first, or on a connection that its client opened when it had given up the first one, and
neither batch has the record twice.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Final

from decoders.analysis.record_traces.life_of_record import LivesOfRecords
from decoders.analysis.record_traces.partition_tables import LoggedBatch, PartitionTables, RecordHash, Write

if TYPE_CHECKING:
    from decoders.analysis.fold_interface import Row
    from decoders.analysis.record_traces.record_index import TopicPartition

__all__ = ["find_duplicates"]

# retry.backoff.ms of most clients.
_PAUSE_NS: Final = 100_000_000
_MS: Final = 1_000_000


def find_duplicates(lives: LivesOfRecords) -> Iterator[Row]:
    """A row for each run of records that were written twice, by topic, partition and offset."""
    for where in sorted(lives.tables):
        found = [*_find_batches_written_twice(lives, where), *_find_records_written_twice(lives, where)]
        yield from sorted(found, key=lambda row: (row["offset"], row["copy_offset"]))


def _find_batches_written_twice(lives: LivesOfRecords, where: TopicPartition) -> Iterator[Row]:
    """Batches of idempotent producers at two offsets."""
    tables = lives.tables[where]
    if not _has_batch_at_two_offsets(tables):
        return
    written: dict[tuple[int, ...], dict[int, Write | LoggedBatch]] = defaultdict(dict)
    batches: Iterator[LoggedBatch] = chain.from_iterable(each.batches for each in tables)
    writes: Iterator[Write] = chain.from_iterable(each.writes for each in tables)
    placed: list[Write | LoggedBatch] = [*(write for write in sorted(writes) if write.first >= 0), *sorted(batches)]
    for one in placed:
        if one.producer >= 0 and one.sequence >= 0:
            written[one.producer, one.epoch, one.sequence, one.crc, one.newest_ms].setdefault(one.first, one)
    for its in written.values():
        if len(its) < 2:
            continue
        first, *copies = (its[offset] for offset in sorted(its))
        for copy in copies:
            why = f"sequence {first.sequence} of producer id {first.producer} is at both offsets"
            yield _make_duplicate_row(lives, where, (first.first, copy.first, first.records), (first, copy), why)


def _has_batch_at_two_offsets(tables: list[PartitionTables]) -> bool:
    """Whether some batch of an idempotent producer is at two offsets."""
    offsets: dict[tuple[int, ...], int] = {}
    columns = "first", "producer", "epoch", "sequence", "crc"
    for each in tables:
        for first, *its in chain(each.writes.select_columns(*columns), each.batches.select_columns(*columns)):
            if first >= 0 and its[0] >= 0 and its[2] >= 0 and offsets.setdefault(tuple(its), first) != first:
                return True
    return False


def _find_records_written_twice(lives: LivesOfRecords, where: TopicPartition) -> Iterator[Row]:
    """Records of producers without idempotence that were sent again, in runs of offsets."""
    last_on_connection: dict[int, int] = {}
    by_hash: dict[int, list[RecordHash]] = defaultdict(list)
    tables = lives.tables[where]
    once: set[int] = set()
    again: set[int] = set()
    for number, time, sender in chain.from_iterable(
        each.fingerprints.select_columns("hash", "time", "sender") for each in tables
    ):
        (again if number in once else once).add(number)
        last_on_connection[sender] = max(last_on_connection.get(sender, 0), time)
    if not again:
        return
    prints: list[RecordHash] = sorted(
        (one for each in tables for one in each.fingerprints if one.hash in again),
        key=lambda one: (one.time, one.offset),
    )
    for one in prints:
        by_hash[one.hash].append(one)

    def is_sent_again(first: RecordHash, copy: RecordHash) -> bool:
        if copy.offset == first.offset or copy.time == first.time:
            return False
        if lives.client_of(first.sender) != lives.client_of(copy.sender):
            return False
        gave_up = copy.sender != first.sender and last_on_connection[first.sender] < copy.time
        return gave_up or copy.time - first.time >= _PAUSE_NS

    pairs: list[tuple[RecordHash, RecordHash]] = []
    for its in by_hash.values():
        if len(its) > 1 and _are_all_sent_again(its, is_sent_again):
            pairs += [(its[0], copy) for copy in its[1:]]
    pairs.sort(key=lambda pair: pair[1].offset)
    yield from _make_rows_of_runs(lives, where, pairs)


def _are_all_sent_again(hashes: list[RecordHash], is_sent_again: Callable[[RecordHash, RecordHash], bool]) -> bool:
    return all(is_sent_again(before, after) for before, after in pairwise(hashes))


def _make_rows_of_runs(
    lives: LivesOfRecords, where: TopicPartition, pairs: list[tuple[RecordHash, RecordHash]]
) -> Iterator[Row]:
    """A row for each run of records that follow each other in both batches."""
    run: list[tuple[RecordHash, RecordHash]] = []
    for pair in [*pairs, None]:
        follows = (
            bool(run)
            and pair is not None
            and (pair[0].offset, pair[1].offset) == (run[-1][0].offset + 1, run[-1][1].offset + 1)
            and (pair[0].time, pair[1].time) == (run[-1][0].time, run[-1][1].time)
        )
        if run and not follows:
            first, copy = run[0]
            why = "key, value and create time are the same, and it was sent again"
            yield _make_duplicate_row(lives, where, (first.offset, copy.offset, len(run)), (first, copy), why)
            run = []
        if pair is not None:
            run.append(pair)


def _make_duplicate_row(
    lives: LivesOfRecords,
    where: TopicPartition,
    span: tuple[int, int, int],
    tries: tuple[Write | LoggedBatch | RecordHash, Write | LoggedBatch | RecordHash],
    why: str,
) -> Row:
    """The row of records that were written twice; `span`: offset, offset of the copy, records."""
    offset, copy_offset, records = span
    first, copy = (None if isinstance(one, LoggedBatch) else one for one in tries)
    head = tries[0] if isinstance(tries[0], Write | LoggedBatch) else None
    apart = None if first is None or copy is None else (copy.time - first.time) / _MS
    return {
        "topic": where[0],
        "partition": where[1],
        "offset": offset,
        "last_offset": offset + records - 1,
        "copy_offset": copy_offset,
        "records": records,
        "client_id": None if first is None else lives.client_id_of(first.sender),
        "producer_id": None if head is None else head.producer,
        "sequence": None if head is None else head.sequence,
        "time": None if first is None else lives.format_time(first.time),
        "copy_time": None if copy is None else lives.format_time(copy.time),
        "apart_ms": apart,
        "why": why,
        "evidence": [lives.evidence_of(one) for one in (first, copy) if one is not None],
    }
