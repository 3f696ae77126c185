"""Exchanges in, statistics out of how old records were when a group read them, or committed an offset beyond them.

Theory of operation. The index (record_index.py) has who wrote, read and committed which offsets; at the end each range
of offsets that was written meets the first answer to a Fetch of each group that had it, or the group's first commit
beyond it. All records of such a piece have the same age, so pieces are counted, and no record is looked at.

```
written     ├──── batch, at 1 s ────┤├── batch, at 2 s ──┤
read first  ├─── by billing, at 5 s ───┤├── at 9 s ──────┤
ages        4 s ····················  3 s  7 s ··········
```

An age is that of `kw trace`: from the first try to write a record to the answer that had it. A record whose Produce is
not in the capture has none: its create time is the clock of its producer, not that of the capture.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Final, Self

from decoders.analysis.percentiles import bin_number_of
from decoders.analysis.read_dimension_values import host_of
from decoders.analysis.record_traces.life_of_record import LivesOfRecords
from decoders.analysis.record_traces.partition_tables import Identity, make_batch_identity
from decoders.analysis.record_traces.record_index import KEPT_FOR_AGES, RecordIndex
from decoders.analysis.statistics import NS, GroupStatistics, Statistics
from decoders.errors import Malformed
from decoders.named_tuple import NamedTuple
from decoders.wire.state_serialization import pack, state_fields, unpack

if TYPE_CHECKING:
    from decoders.analysis.fold_interface import Row
    from decoders.analysis.read_dimension_values import Key
    from decoders.analysis.record_traces.record_index import TopicPartition
    from decoders.exchanges.exchange import Exchange
    from decoders.schema.api_declaration import Side

__all__ = ["COMMIT_AGE", "RecordAges"]

COMMIT_AGE: Final = "commit-age"
# The tables that are read for each metric. Commits tell the groups of readers, too.
_KEPT: Final = {
    "age": KEPT_FOR_AGES,
    COMMIT_AGE: frozenset({"writes", "batches", "commits"}),
}
_OF_IDENTITY: Final = ("size", "producer", "epoch", "sequence", "crc", "newest_ms")


class _WrittenRange(NamedTuple):
    """Offsets from `first` to below `end`, and when they were sent first, in ns."""

    first: int
    end: int
    time: int


class _Arrival(NamedTuple):
    """Offsets from `first` to below `end` that came to a group at a time in ns; `sender`: the connection of it."""

    time: int
    first: int
    end: int
    sender: int


class RecordAges:
    """Ages of records by any dimensions of DimensionRow.of_records; `metric`: `age`, or COMMIT_AGE."""

    def __init__(self, by: Sequence[str], metric: str, *, bucket_ns: int = 10 * NS, over_time: bool = False) -> None:
        self.by = tuple(by)
        self.metric = metric
        self.index = RecordIndex(kept=_KEPT[metric])
        self._bucket_ns = bucket_ns
        self._over_time = over_time
        self._span: tuple[int, int] | None = None  # of all time looked at

    def needs(self, api_key: int, side: Side) -> frozenset[str]:
        """The paths of records, offsets, groups and names."""
        return self.index.needs(api_key, side)

    def add(self, exchange: Exchange) -> None:
        """Add what an exchange says of offsets."""
        time_ns = exchange.time_ns
        if self._span is None or not self._span[0] <= time_ns <= self._span[1]:
            self.extend_time(time_ns, time_ns)
        self.index.add(exchange)

    def learn(self, exchange: Exchange) -> None:
        """Learn names and members of groups from an exchange, whether or not it counts."""
        self.index.learn(exchange)

    def extend_time(self, first_ns: int, last_ns: int) -> None:
        """Take time that was looked at: rates are over all of it."""
        first, last = self._span or (first_ns, last_ns)
        self._span = min(first, first_ns), max(last, last_ns)

    def merge(self, other: Self) -> None:
        """Add what `other` has seen."""
        if other._span is not None:
            self.extend_time(*other._span)
        self.index.merge(other.index)

    def _parameters(self) -> list[object]:
        return [list(self.by), self.metric, self._bucket_ns, self._over_time]

    def export(self) -> bytes:
        """The state, for `resume`."""
        return pack([self._parameters(), list(self._span or ()), self.index.state()])

    def resume(self, state: bytes) -> None:
        """Restore the state that `export` gave. Raises DecodeError."""
        parameters, span, index = state_fields(unpack(state), list, list, list)
        if parameters != self._parameters():
            raise Malformed("the state of ages by other dimensions or of another metric")
        self._span = None
        if span:
            first, last = state_fields(span, int, int)
            self._span = first, last
        self.index.resume_state(index)

    def rows(self) -> list[Row]:
        """A row for each group, as those of Statistics; `count` is of records."""
        return self.make_statistics().rows()

    def make_statistics(self) -> Statistics:
        """Statistics of the ages. Raises LimitExceeded when there are too many groups over time."""
        made = Statistics(self.by, self.metric, bucket_ns=self._bucket_ns, over_time=self._over_time)
        if self._span is None:
            return made
        made.extend_time(*self._span)
        width = made.slice_span()[2]
        groups: defaultdict[Key, GroupStatistics] = defaultdict(GroupStatistics)
        lives = LivesOfRecords(self.index)
        for where in sorted(lives.tables):
            written = _list_written_ranges(lives, where)
            by_group = _list_commits(lives, where) if self.metric == COMMIT_AGE else _list_reads(lives, where)
            for group, arrivals in by_group.items():
                pieces: dict[tuple[int, int], list[tuple[_Arrival, int, int]]] = {}
                for piece in _measure_ages(written, arrivals):
                    bucket = piece[0].time // self._bucket_ns if "time" in self.by else 0
                    pieces.setdefault((piece[0].sender, bucket), []).append(piece)
                for its in pieces.values():
                    key = self._make_key(lives, where, group, its[0][0])
                    self._count_records_with_ages(groups[key], its, width)
        made.add_groups(groups.items(), *self._span, width.bit_length() - 1)
        return made

    def _count_records_with_ages(
        self, group: GroupStatistics, pieces: list[tuple[_Arrival, int, int]], width: int
    ) -> None:
        """Count the records of pieces, each with its age, in a group; `width` of time slices is in ns."""
        bins: Counter[int] = Counter()
        total = 0
        for arrival, age, records in pieces:
            bins[bin_number_of(age)] += records
            total += age * records
            if self._over_time:
                group.add_to_slice(arrival.time // width, age, max)
        ages = [age for _, age, _ in pieces]
        count = sum(bins.values())
        group.count += count
        group.unsized += count
        group.add_binned_values(bins, total, min(ages), max(ages))

    def _make_key(self, lives: LivesOfRecords, where: TopicPartition, group: str | None, arrival: _Arrival) -> Key:
        ends = lives.connection_ends_of(arrival.sender)
        values: dict[str, str | int | None] = {
            "topic": where[0],
            "partition": where[1],
            "group": group,
            "client": lives.client_of(arrival.sender)[0],
            "client_id": ends.client_id,
            "address": host_of(ends.client),
            "broker": ends.broker,
            "time": arrival.time // self._bucket_ns * self._bucket_ns,
        }
        return tuple([values[name] for name in self.by])


def _list_written_ranges(lives: LivesOfRecords, where: TopicPartition) -> list[_WrittenRange]:
    """What was written to a partition, in the order of offsets; each offset once, as it was written first."""
    found = _list_writes_if_all_differ(lives, where)
    if found is None:
        found = _list_writes_and_their_tries(lives, where)
    apart: list[_WrittenRange] = []
    reached = 0
    for first, end, time in sorted(found):
        if end > reached:
            apart.append(_WrittenRange(max(first, reached), end, time))
            reached = end
    return apart


def _list_writes_if_all_differ(lives: LivesOfRecords, where: TopicPartition) -> list[tuple[int, int, int]] | None:
    """First offset, end and time of each write, where all have an offset and another checksum; None elsewhere."""
    found: list[tuple[int, int, int]] = []
    checksums: set[int] = set()
    for tables in lives.tables[where]:
        for first, records, time, crc in tables.writes.select_columns("first", "records", "time", "crc"):
            checksums.add(crc)
            found.append((first, first + records, time))
    alike = len(checksums) < len(found) or min(checksums, default=0) < 0
    return None if alike or min(found, default=(0,))[0] < 0 else found


def _list_writes_and_their_tries(lives: LivesOfRecords, where: TopicPartition) -> list[tuple[int, int, int]]:
    """First offset and end of what was written, and the time of the first try."""
    tables = lives.tables[where]
    sent: dict[Identity, int] = {}
    placed: list[tuple[int, int, int, Identity | None]] = []
    of_write = "time", "first", "records", *_OF_IDENTITY
    for time, first, records, *its in chain.from_iterable(each.writes.select_columns(*of_write) for each in tables):
        identity = make_batch_identity(*its)
        if identity is not None:
            sent[identity] = min(time, sent.get(identity, time))
        if first >= 0:
            placed.append((first, first + records, time, identity))
    found = [(first, end, time if its is None else sent[its]) for first, end, time, its in placed]
    known = {first for first, _, _ in found}
    of_batch = "first", "last", *_OF_IDENTITY
    for first, last, *its in chain.from_iterable(each.batches.select_columns(*of_batch) for each in tables):
        if first not in known:  # of a try whose answer had no offset
            identity = make_batch_identity(*its)
            if identity is not None and identity in sent:
                found.append((first, last + 1, sent[identity]))
    return found


def _list_reads(lives: LivesOfRecords, where: TopicPartition) -> dict[str | None, list[_Arrival]]:
    """What consumers got of a partition, by their group; what readers without a known group got is under None."""
    found: defaultdict[tuple[str | None, str], list[_Arrival]] = defaultdict(list)
    columns = "time", "answered", "first", "end", "sender", "replica"
    reads = chain.from_iterable(each.reads.select_columns(*columns) for each in lives.tables[where])
    for asked, answered, first, end, sender, replica in reads:
        if replica < 0:
            time = answered if answered >= 0 else asked
            its = lives.group_of_read(sender, where, time, asked)
            if its is not None and its.has_left:
                continue
            key = (None, lives.client_of(sender)[0]) if its is None else (its.group, "")
            found[key].append(_Arrival(time, first, end, sender))
    by_group: defaultdict[str | None, list[_Arrival]] = defaultdict(list)
    for (group, _), arrivals in found.items():
        by_group[group] += _keep_first_arrivals(arrivals)
    return by_group


def _list_commits(lives: LivesOfRecords, where: TopicPartition) -> dict[str | None, list[_Arrival]]:
    """The offsets that each group committed first at a time."""
    found: defaultdict[int, list[_Arrival]] = defaultdict(list)
    columns = "time", "answered", "offset", "code", "sender", "group"
    commits = chain.from_iterable(each.commits.select_columns(*columns) for each in lives.tables[where])
    for asked, answered, offset, code, sender, group in commits:
        if code == 0 and offset > 0:
            found[group].append(_Arrival(answered if answered >= 0 else asked, 0, offset, sender))
    return {lives.text_of_number(number): list(_keep_first_arrivals(arrivals)) for number, arrivals in found.items()}


def _keep_first_arrivals(arrivals: list[_Arrival]) -> Iterator[_Arrival]:
    """The parts of arrivals whose offsets have not come before, in the order of time."""
    firsts: list[int] = []  # of the ranges that have come, which do not touch, in order
    ends: list[int] = []
    for arrival in sorted(arrivals):
        if not ends or arrival.first > ends[-1]:
            firsts.append(arrival.first)
            ends.append(arrival.end)
            yield arrival
            continue
        if arrival.first == ends[-1]:
            ends[-1] = arrival.end
            yield arrival
            continue
        low = bisect_left(ends, arrival.first)
        high = bisect_right(firsts, arrival.end)
        at = arrival.first
        for first, end in zip(firsts[low:high], ends[low:high], strict=True):
            if at < first:
                yield arrival._replace(first=at, end=first)
            at = max(at, end)
        if at < arrival.end:
            yield arrival._replace(first=at)
        joined = firsts[low:high], ends[low:high]
        firsts[low:high] = [min([arrival.first, *joined[0]])]
        ends[low:high] = [max([arrival.end, *joined[1]])]


def _measure_ages(written: list[_WrittenRange], arrivals: list[_Arrival]) -> Iterator[tuple[_Arrival, int, int]]:
    """Each arrival with the age in ns of so many of its records."""
    firsts = [each.first for each in written]
    for arrival in arrivals:
        low, high = arrival.first, arrival.end
        for number in range(max(bisect_right(firsts, low) - 1, 0), len(written)):
            first, end, time = written[number]
            if first >= high:
                break
            records = min(end, high) - max(first, low)
            if records > 0 and time <= arrival.time:
                yield arrival, arrival.time - time, records
