"""Exchanges in, offsets out: ends of partitions, positions of readers, commits of groups; and the lag between them.

Theory of operation. The values that make up a lag come from different exchanges, none of which refers to the others. So
each value is kept by itself with its time, and the latest one wins:

```
Fetch, ListOffsets, Produce answered ─► end of a partition (the high watermark)      by topic, partition
Fetch asked, records answered        ─► position of a reader, ranges that it read    by client, topic, partition
OffsetCommit, OffsetFetch, …         ─► commit                                       by group, topic, partition
                                        lag = end - position, end - commit           once, in rows()
```

A Fetch does not say for which group it is. It counts for the group of which its client, by client id and host, is a
member; where the client is a member of several, for the group that has or commits the partition. A fetch session
(KIP-227) names only what has changed, so an end or a position holds until another one is told.

Lag in time: the ends of a partition are kept at up to MOMENTS_MAX moments, one in each span of equal length; spans
double when there are too many, so that merging in any order gives the same. The age of the next record follows from
the two moments between which the end went past it; without two such moments it is not known.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from decoders.analysis.exchange_facts import CONSUMER, replica_id_of_fetch, topic_named_by, topic_of_element
from decoders.analysis.read_dimension_values import client_of, host_of
from decoders.exchanges.topic_arrays import TOPIC_ARRAYS, partitions_in, structs_at, topic_array_paths
from decoders.limits import MOMENTS_MAX, PARTITIONS_KEPT_MAX, RANGES_MAX
from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.api_keys import (
    ALTER_SHARE_GROUP_OFFSETS,
    DESCRIBE_SHARE_GROUP_OFFSETS,
    END_TXN,
    FETCH,
    LIST_OFFSETS,
    OFFSET_COMMIT,
    OFFSET_DELETE,
    OFFSET_FETCH,
    PRODUCE,
    SHARE_ACKNOWLEDGE,
    SHARE_FETCH,
    TXN_OFFSET_COMMIT,
)
from decoders.records.summarize_records import read_batch_heads
from decoders.wire.state_serialization import add_fields_to_older_state, pack, state_fields, unpack

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange
    from decoders.records.summarize_records import BatchHead
    from decoders.schema.api_declaration import Side

__all__ = ["GroupOffsets", "Moments", "PartitionEnd", "ReaderPosition"]

_LATEST: Final = -1
_UNCOMMITTED: Final = 0
# APIs that tell nothing but the commits of groups.
COMMITTING: Final = frozenset({OFFSET_COMMIT, OFFSET_FETCH, TXN_OFFSET_COMMIT, OFFSET_DELETE})
# Spans of moments begin with 2^30 ns, about a second.
_SHIFT: Final = 30
# Transactional commits of a partition that are remembered until their transaction ends.
_PENDING_MAX: Final = 4
NOTHING: Final = -1

Kept = TypeVar("Kept")
# A time in ns, and the value at that time.
Point = tuple[int, int]
TopicPartition = tuple[str, int]
# Client, host, topic, partition.
Reader = tuple[str, str, str, int]


class Moments:
    """Values at times, at most MOMENTS_MAX of them: the latest of each span of `1 << shift` ns."""

    __slots__ = ("points", "shift")

    def __init__(self) -> None:
        self.shift = _SHIFT
        self.points: dict[int, Point] = {}

    def add_moment(self, point: Point) -> None:
        """Add the value of a time."""
        span = point[0] >> self.shift
        before = self.points.get(span)
        if before is None or point > before:
            self.points[span] = point
        while len(self.points) > MOMENTS_MAX:
            self.widen_spans(self.shift + 1)

    def widen_spans(self, shift: int) -> None:
        """Make spans `1 << shift` ns long."""
        points, self.points, self.shift = self.points, {}, shift
        for point in points.values():
            span = point[0] >> shift
            self.points[span] = max(self.points.get(span, point), point)

    def merge(self, other: Moments) -> None:
        """Add the moments of `other`."""
        if other.shift > self.shift:
            self.widen_spans(other.shift)
        for point in other.points.values():
            self.add_moment(point)

    def time_of_offset(self, offset: int) -> int | None:
        """When the end went past an offset, in ns, interpolated between two moments; None where no moments show it."""
        ordered = sorted(self.points.values())
        for (before_ns, before), (after_ns, after) in pairwise(ordered):
            if before <= offset < after:
                return before_ns + (after_ns - before_ns) * (offset + 1 - before) // (after - before)
        return None


class PartitionEnd:
    """The end of a partition: `seen` is the latest high watermark told, `proved` the greatest that Produce proves."""

    __slots__ = ("moments", "proved", "seen")

    def __init__(self) -> None:
        self.seen: Point = (0, NOTHING)
        self.proved: Point = (0, NOTHING)
        self.moments = Moments()

    def add_reported_end(self, point: Point) -> None:
        """Take the end that a broker tells, as (ns, offset)."""
        if point > self.seen:
            self.seen = point
        self.moments.add_moment(point)

    def add_appended_end(self, point: Point) -> None:
        """Take the end up to which a broker has appended records, as (ns, offset)."""
        self.proved = max(self.proved, point, key=lambda each: (each[1], each[0]))
        self.moments.add_moment(point)

    def last_reported_ns(self) -> int:
        """When it was told last, in ns."""
        return max(self.seen[0], self.proved[0])

    def latest_end(self) -> Point:
        """The latest end: its time, and the offset behind the last record; NOTHING: not known."""
        return self.proved if self.proved[0] > self.seen[0] and self.proved[1] > self.seen[1] else self.seen

    def merge(self, other: PartitionEnd) -> None:
        """Add what `other` has of the same partition."""
        self.seen = max(self.seen, other.seen)
        self.proved = max(self.proved, other.proved, key=lambda each: (each[1], each[0]))
        self.moments.merge(other.moments)

    def state(self) -> list[object]:
        """The state as built-in values, for `make_resumed`."""
        return [self.seen, self.proved, self.moments.shift, list(self.moments.points.values())]

    @classmethod
    def make_resumed(cls, state: object) -> PartitionEnd:
        """An end from its `state`. Raises DecodeError."""
        made = cls()
        seen, proved, made.moments.shift, points = state_fields(state, tuple, tuple, int, list)
        made.seen, made.proved = _parse_point(seen), _parse_point(proved)
        for point in points:
            made.moments.add_moment(_parse_point(point))
        return made


class ReaderPosition:
    """The position of one reader in a partition: the `latest` offset that it wants next, and what it has read.

    `lag` is the greatest seen: (records, ns). `ranges` are the offsets read as (first, end), disjoint and in order;
    `read` counts each offset as often as it was read.
    """

    __slots__ = ("lag", "latest", "ranges", "read")

    def __init__(self) -> None:
        self.latest: Point = (0, NOTHING)
        self.lag: Point = (NOTHING, 0)
        self.read = 0
        self.ranges: list[tuple[int, int]] = []

    def last_reported_ns(self) -> int:
        """When it was told last, in ns."""
        return self.latest[0]

    def count_read_range(self, start: int, end: int) -> None:
        """Count the offsets from `start` to below `end` as read."""
        self.read += end - start
        ranges = self.ranges
        if ranges and ranges[-1][0] <= start <= ranges[-1][1]:  # most go on where the last one ended
            ranges[-1] = (ranges[-1][0], max(ranges[-1][1], end))
        else:
            self.ranges = merge_ranges([*ranges, (start, end)])

    def learn_read_offsets(self, time_ns: int, position: int | None, heads: Iterable[BatchHead], newest: int) -> None:
        """Learn from batches, or none, that it got at a time, where it wanted `position` next; `newest`: the end."""
        start = end = None
        for head in heads:
            start = head.base_offset if start is None else start
            end = head.last_offset + 1
        if start is not None and end is not None:
            if position is not None and position > start:
                start = position
            if end > start:
                self.count_read_range(start, end)
                self.latest = max(self.latest, (time_ns, end))
                position = end
        if position is not None:
            self.lag = max(self.lag, (max(newest - position, 0), time_ns))

    def merge(self, other: ReaderPosition) -> None:
        """Add what `other` has of the same reader."""
        self.latest, self.lag = max(self.latest, other.latest), max(self.lag, other.lag)
        self.read += other.read
        self.ranges = merge_ranges([*self.ranges, *other.ranges])

    def state(self) -> list[object]:
        """The state as built-in values, for `make_resumed`."""
        return [self.latest, self.lag, self.read, self.ranges]

    @classmethod
    def make_resumed(cls, state: object) -> ReaderPosition:
        """A position from its `state`. Raises DecodeError."""
        made = cls()
        latest, lag, made.read, ranges = state_fields(state, tuple, tuple, int, list)
        made.latest, made.lag, made.ranges = (
            _parse_point(latest),
            _parse_point(lag),
            [_parse_point(each) for each in ranges],
        )
        return made


def merge_ranges(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The ranges as disjoint ranges in order; where there are more than RANGES_MAX, the nearest become one."""
    made: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if made and start <= made[-1][1]:
            made[-1] = (made[-1][0], max(made[-1][1], end))
        else:
            made.append((start, end))
    while len(made) > RANGES_MAX:
        at = min(range(1, len(made)), key=lambda number: made[number][0] - made[number - 1][1])
        made[at - 1 : at + 1] = [(made[at - 1][0], made[at][1])]
    return made


def _parse_point(value: object) -> tuple[int, int]:
    first, second = state_fields(value, int, int)
    return first, second


class GroupCommit:
    """How far a group has committed a partition: the `latest` commit, and `pending` ones of transactions.

    A pending commit (ns, offset, id) holds once its transaction has committed; `latest` is (ns, offset), NOTHING: none.
    """

    __slots__ = ("count", "latest", "pending")

    def __init__(self) -> None:
        self.count = 0
        self.latest: Point = (0, NOTHING)
        self.pending: list[tuple[int, int, str]] = []

    def last_reported_ns(self) -> int:
        """When it was told last, in ns."""
        return max([self.latest[0], *(pending[0] for pending in self.pending)])

    def add_commit(self, point: Point, transaction: str | None) -> None:
        """Take a commit, as (ns, offset); `transaction` is its transactional id, None without one."""
        if transaction is None:
            self.latest = max(self.latest, point)
        else:
            self.pending = sorted({*self.pending, (*point, transaction)})[-_PENDING_MAX:]

    def merge(self, other: GroupCommit) -> None:
        """Add what `other` has of the same group and partition."""
        self.count += other.count
        self.latest = max(self.latest, other.latest)
        self.pending = sorted({*self.pending, *other.pending})[-_PENDING_MAX:]

    def state(self) -> list[object]:
        """The state as built-in values, for `make_resumed`."""
        return [self.count, self.latest, self.pending]

    @classmethod
    def make_resumed(cls, state: object) -> GroupCommit:
        """A commit from its `state`. Raises DecodeError."""
        made = cls()
        made.count, latest, pending = state_fields(state, int, tuple, list)
        made.latest = _parse_point(latest)
        for each in pending:
            time_ns, offset, transaction = state_fields(each, int, int, str)
            made.pending.append((time_ns, offset, transaction))
        return made


class ShareCounts(NamedTuple):
    """Records of a share group: acquired, those not for the first time, and how they were acknowledged."""

    acquired: int = 0
    again: int = 0
    accepted: int = 0
    released: int = 0
    rejected: int = 0
    renewed: int = 0


class GroupOffsets:
    """Ends, positions and commits of all partitions; where there are too many, those told last.

    `left_out`: how many were given up.
    """

    def __init__(self) -> None:
        self.ends: dict[TopicPartition, PartitionEnd] = {}
        self.readers: dict[Reader, ReaderPosition] = {}
        self.commits: dict[tuple[str, str, int], GroupCommit] = {}
        # Transactional id → when it last committed, and last aborted.
        self.transactions: dict[str, Point] = {}
        self.shares: dict[str, ShareCounts] = {}
        self.left_out = 0

    def learn(self, exchange: Exchange) -> None:
        """Learn what an exchange says of offsets."""
        row = _APIS.get(exchange.api_key or 0)
        if row is not None:
            row(self, exchange)

    def end_of_partition(self, topic: str | None, number: Any) -> PartitionEnd:
        """The end of a partition."""
        return self._get_or_make(self.ends, (topic, number), PartitionEnd)

    def position_of_reader(self, client_and_host: tuple[str, str], topic: str | None, number: Any) -> ReaderPosition:
        """The position of a client, by its name and host, in a partition."""
        return self._get_or_make(self.readers, (*client_and_host, topic, number), ReaderPosition)

    def commit_of_group(self, group: str, topic: str | None, number: Any) -> GroupCommit:
        """The commit of a group for a partition."""
        return self._get_or_make(self.commits, (group, topic, number), GroupCommit)

    def _get_or_make(self, kept_values: dict[Any, Kept], key: tuple[Any, ...], make: Callable[[], Kept]) -> Kept:
        """The value under a key, made where missing; without a topic it is not kept."""
        before = kept_values.get(key)
        if before is not None:
            return before
        if None in key:
            return make()
        if len(kept_values) >= PARTITIONS_KEPT_MAX:
            self._drop_oldest_half(kept_values)
        made = kept_values[key] = make()
        return made

    def _drop_oldest_half(self, kept_values: dict[Any, Any]) -> None:
        """Give up the half whose latest value was told first; of equal times those that came first."""
        ranked = sorted(kept_values, key=lambda key: kept_values[key].last_reported_ns())
        gone = ranked[: (len(ranked) + 1) // 2]
        for key in gone:
            del kept_values[key]
        self.left_out += len(gone)

    def drop_commits_of_other_groups(self, groups: Container[str]) -> None:
        """Give up the commits and records of all but these groups."""
        for key in [key for key in self.commits if key[0] not in groups]:
            del self.commits[key]
        for group in [group for group in self.shares if group not in groups]:
            del self.shares[group]

    def latest_commit(self, commit: GroupCommit) -> Point:
        """The latest commit that holds; a commit of a transaction holds if the transaction has committed after it."""
        held = [
            (time_ns, offset)
            for time_ns, offset, name in commit.pending
            if self.transactions.get(name, (0, 0))[0] >= time_ns
        ]
        return max([commit.latest, *held])

    def merge(self, other: Self) -> None:
        """Add what `other` has seen; `other` stays unchanged."""
        self.left_out += other.left_out
        for mine, its in zip(self._tables_of_partitions(), other._tables_of_partitions(), strict=True):
            for key, each in its.items():
                self._get_or_make(mine, key, type(each)).merge(each)
        for name, (committed, aborted) in other.transactions.items():
            self._note_transaction_end(name, committed, aborted)
        for group, counts in other.shares.items():
            self._add_share_counts(group, counts)

    def _tables_of_partitions(self) -> tuple[dict[Any, Any], ...]:
        return self.ends, self.readers, self.commits

    def _note_transaction_end(self, name: str, committed_ns: int, aborted_ns: int) -> None:
        before = self.transactions.get(name, (0, 0))
        if name in self.transactions or len(self.transactions) < PARTITIONS_KEPT_MAX:
            self.transactions[name] = max(before[0], committed_ns), max(before[1], aborted_ns)

    def _add_share_counts(self, group: str, counts: ShareCounts) -> None:
        before = self.shares.get(group, ShareCounts())
        if group in self.shares or len(self.shares) < PARTITIONS_KEPT_MAX:
            self.shares[group] = ShareCounts(*(one + other for one, other in zip(before, counts, strict=True)))

    def export(self) -> bytes:
        """The state, for `resume`."""
        kept = [[[key, each.state()] for key, each in found.items()] for found in self._tables_of_partitions()]
        shares = [[group, tuple(counts)] for group, counts in self.shares.items()]
        return pack([self.left_out, *kept, list(self.transactions.items()), shares])

    def resume(self, state: bytes) -> None:
        """Restore the state that `export` gave. Raises DecodeError."""
        self.left_out, ends, readers, commits, transactions, shares = state_fields(unpack(state), int, *[list] * 5)
        for item in ends:
            key, its = state_fields(item, tuple, list)
            topic, number = state_fields(key, str, int)
            self.ends[topic, number] = PartitionEnd.make_resumed(its)
        for item in readers:
            key, its = state_fields(item, tuple, list)
            client, host, topic, number = state_fields(key, str, str, str, int)
            self.readers[client, host, topic, number] = ReaderPosition.make_resumed(its)
        for item in commits:
            key, its = state_fields(item, tuple, list)
            group, topic, number = state_fields(key, str, str, int)
            self.commits[group, topic, number] = GroupCommit.make_resumed(its)
        for item in transactions:
            name, times = state_fields(item, str, tuple)
            self.transactions[name] = _parse_point(times)
        for item in shares:
            group, counts = state_fields(item, str, tuple)
            counts = add_fields_to_older_state(counts, 5, 5, 0)
            self.shares[group] = ShareCounts(*state_fields(counts, *[int] * len(ShareCounts._fields)))

    # What each API says.

    def learn_ends_from_produce(self, exchange: Exchange) -> None:
        """Learn ends from a Produce: its records were appended from the offset of the answer on."""
        counts: dict[tuple[str | None, Any], int] = {}
        asked, answered = TOPIC_ARRAYS[PRODUCE]
        for element, part in partitions_in(exchange.view(asked.side), asked):
            heads = read_batch_heads(part.get(asked.records), exchange.request_raw, verify_checksums=False)
            place = topic_of_element(exchange, element), part.get(asked.number)
            counts[place] = sum(head.offset_count for head in heads)
        time_ns = exchange.response_ns or exchange.time_ns
        for element, part in partitions_in(exchange.view(answered.side), answered):
            base = part.get(answered.offset)
            place = topic_of_element(exchange, element), part.get(answered.number)
            count = counts.get(place)
            if count and base is not None and base >= 0 and not part.get(answered.error):
                self.end_of_partition(*place).add_appended_end((time_ns, base + count))

    def learn_positions_from_fetch(self, exchange: Exchange) -> None:
        """Learn ends of partitions, and positions of a consumer, from a Fetch."""
        request = exchange.view("request")
        asked_ns = exchange.time_ns
        time_ns = exchange.response_ns or asked_ns
        follows = not isinstance(request, dict) or replica_id_of_fetch(request) != CONSUMER
        asked: dict[tuple[str | None, Any], int] = {}
        wanted, given = TOPIC_ARRAYS[FETCH]
        info = exchange.connection_info
        who = client_of(exchange.client_id, info.client), host_of(info.client)
        for element in structs_at(None if follows else request, wanted.topics):
            topic = topic_of_element(exchange, element)
            for part in structs_at(element, wanted.partitions):
                number, offset = part.get(wanted.number), part.get(wanted.offset)
                if offset is not None and offset >= 0:
                    asked[topic, number] = offset
                    reader = self.position_of_reader(who, topic, number)
                    if (asked_ns, offset) > reader.latest:
                        reader.latest = asked_ns, offset
        raw = exchange.response_raw
        for element in structs_at(exchange.view("response"), given.topics):
            topic = topic_of_element(exchange, element)
            for part in structs_at(element, given.partitions):
                newest, number = part.get(given.watermark), part.get(given.number)
                if part.get(given.error) or newest is None or newest < 0:
                    continue
                self.end_of_partition(topic, number).add_reported_end((time_ns, newest))
                if not follows:
                    reader, position = self.position_of_reader(who, topic, number), asked.get((topic, number))
                    heads = read_batch_heads(part.get(given.records), raw, verify_checksums=False)
                    reader.learn_read_offsets(time_ns, position, heads, newest)

    def learn_ends_from_list_offsets(self, exchange: Exchange) -> None:
        """Learn ends from a ListOffsets that asks for the latest offset, without regard to transactions."""
        request = exchange.view("request")
        if not isinstance(request, dict) or request.get("isolation_level", _UNCOMMITTED) != _UNCOMMITTED:
            return
        asked, answered = TOPIC_ARRAYS[LIST_OFFSETS]
        wanted = {
            (element.get("name"), part.get(asked.number))
            for element, part in partitions_in(request, asked)
            if part.get("timestamp") == _LATEST
        }
        time_ns = exchange.response_ns or exchange.time_ns
        for element, part in partitions_in(exchange.view(answered.side), answered):
            topic, number, offset = element.get("name"), part.get(answered.number), part.get(answered.offset)
            if offset is None:
                offset = next(iter(part.get("old_style_offsets") or ()), None)
            if (topic, number) in wanted and offset is not None and offset >= 0 and not part.get(answered.error):
                self.end_of_partition(topic, number).add_reported_end((time_ns, offset))

    def learn_commits_from_request(self, exchange: Exchange) -> None:
        """Learn commits of OffsetCommit and TxnOffsetCommit, and deletions, that were not refused."""
        request = exchange.view("request")
        group = request.get("group_id") if isinstance(request, dict) else None
        if not group or exchange.api_key is None:
            return
        transaction = str(request.get("transactional_id") or "") if exchange.api_key == TXN_OFFSET_COMMIT else None
        asked, answered = TOPIC_ARRAYS[exchange.api_key]
        wanted = {
            (topic_of_element(exchange, element), part.get(asked.number)): part.get(asked.offset, NOTHING)
            for element, part in partitions_in(request, asked)
        }
        time_ns = exchange.response_ns or exchange.time_ns
        for element, part in partitions_in(exchange.view(answered.side), answered):
            where = topic_of_element(exchange, element), part.get(answered.number)
            if where in wanted and not part.get(answered.error):
                commit = self.commit_of_group(group, *where)
                commit.count += exchange.api_key != OFFSET_DELETE
                commit.add_commit((time_ns, wanted[where]), transaction)

    def learn_commits_from_offset_fetch(self, exchange: Exchange) -> None:
        """Learn the commits of groups that an answer to OffsetFetch tells."""
        request, answer = exchange.view("request"), exchange.view("response")
        if not isinstance(answer, dict) or not isinstance(request, dict):
            return
        time_ns = exchange.response_ns or exchange.time_ns
        answered = TOPIC_ARRAYS[OFFSET_FETCH][-1]  # the same in each group, and in an answer about one group
        whole = [{**answer, "group_id": request.get("group_id")}] if "groups" not in answer else answer["groups"] or ()
        for row in whole:
            group = row.get("group_id")
            for element, part in partitions_in(row, answered):
                offset = part.get(answered.offset, NOTHING)
                if group and not part.get(answered.error) and not row.get("error_code"):
                    commit = self.commit_of_group(group, topic_of_element(exchange, element), part.get(answered.number))
                    commit.add_commit((time_ns, max(offset, NOTHING)), None)

    def learn_transaction_end(self, exchange: Exchange) -> None:
        """Learn that a transaction has committed or aborted."""
        request, answer = exchange.view("request"), exchange.view("response")
        name = request.get("transactional_id") if isinstance(request, dict) else None
        if name and isinstance(answer, dict) and not answer.get("error_code"):
            time_ns = exchange.response_ns or exchange.time_ns
            self._note_transaction_end(name, *((time_ns, 0) if request.get("committed") else (0, time_ns)))

    def learn_share_deliveries(self, exchange: Exchange) -> None:
        """Count the records that a share group has acquired and acknowledged."""
        request = exchange.view("request")
        group = request.get("group_id") if isinstance(request, dict) else None
        if not group or exchange.api_key is None:
            return
        counts = dict.fromkeys(range(5), 0)
        asked, answered = TOPIC_ARRAYS[exchange.api_key]
        for _, part in partitions_in(request, asked):
            for batch in structs_at(part, "acknowledgement_batches"):
                kinds = batch.get("acknowledge_types") or []
                count = _count_offsets_in_row(batch)
                for kind in kinds:
                    counts[kind] = counts.get(kind, 0) + (count if len(kinds) == 1 else 1)
        acquired = again = 0
        for _, part in partitions_in(exchange.view(answered.side), answered):
            for row in structs_at(part, "acquired_records"):
                count = _count_offsets_in_row(row)
                acquired += count
                again += count if row.get("delivery_count", 0) > 1 else 0
        self._add_share_counts(group, ShareCounts(acquired, again, counts[1], counts[2], counts[3], counts[4]))

    def learn_altered_share_group_offsets(self, exchange: Exchange) -> None:
        """Learn the start offsets that AlterShareGroupOffsets sets."""
        request, answer = exchange.view("request"), exchange.view("response")
        group = request.get("group_id") if isinstance(request, dict) else None
        if not group or not isinstance(answer, dict) or answer.get("error_code"):
            return
        time_ns = exchange.response_ns or exchange.time_ns
        refused = {
            (element.get("topic_name"), part.get("partition_index"))
            for element in structs_at(answer, "responses")
            for part in structs_at(element, "partitions")
            if part.get("error_code")
        }
        for element in structs_at(request, "topics"):
            topic = topic_named_by(exchange, element.get("topic_name"))
            for part in structs_at(element, "partitions"):
                if (topic, part.get("partition_index")) not in refused:
                    commit = self.commit_of_group(str(group), topic, part.get("partition_index"))
                    commit.add_commit((time_ns, part.get("start_offset", NOTHING)), None)

    def learn_share_group_offsets(self, exchange: Exchange) -> None:
        """Learn the start offsets of share groups as commits: all records before them are done with."""
        time_ns = exchange.response_ns or exchange.time_ns
        for row in structs_at(exchange.view("response"), "groups"):
            for element in structs_at(row, "topics"):
                for part in structs_at(element, "partitions"):
                    offset = part.get("start_offset", NOTHING)
                    if offset >= 0 and not part.get("error_code") and not row.get("error_code"):
                        topic = topic_named_by(exchange, element.get("topic_name"))
                        commit = self.commit_of_group(
                            str(row.get("group_id") or ""), topic, part.get("partition_index")
                        )
                        commit.add_commit((time_ns, offset), None)


def _count_offsets_in_row(row: dict[str, Any]) -> int:
    """How many offsets a row has; none where the side ends in the middle of it."""
    first, last = row.get("first_offset"), row.get("last_offset")
    return 0 if first is None or last is None else int(last - first + 1)


_APIS: Final[dict[int, Callable[[GroupOffsets, Exchange], None]]] = {
    PRODUCE: GroupOffsets.learn_ends_from_produce,
    FETCH: GroupOffsets.learn_positions_from_fetch,
    LIST_OFFSETS: GroupOffsets.learn_ends_from_list_offsets,
    OFFSET_COMMIT: GroupOffsets.learn_commits_from_request,
    TXN_OFFSET_COMMIT: GroupOffsets.learn_commits_from_request,
    OFFSET_DELETE: GroupOffsets.learn_commits_from_request,
    OFFSET_FETCH: GroupOffsets.learn_commits_from_offset_fetch,
    END_TXN: GroupOffsets.learn_transaction_end,
    SHARE_FETCH: GroupOffsets.learn_share_deliveries,
    SHARE_ACKNOWLEDGE: GroupOffsets.learn_share_deliveries,
    DESCRIBE_SHARE_GROUP_OFFSETS: GroupOffsets.learn_share_group_offsets,
    ALTER_SHARE_GROUP_OFFSETS: GroupOffsets.learn_altered_share_group_offsets,
}
_ACKNOWLEDGED: Final = tuple(
    f"topics[].partitions[].acknowledgement_batches[].{name}"
    for name in ("first_offset", "last_offset", "acknowledge_types")
)
_ACQUIRED: Final = tuple(
    f"responses[].partitions[].acquired_records[].{name}" for name in ("first_offset", "last_offset", "delivery_count")
)
# The paths that are read beside those of topics and partitions.
_MORE: Final[dict[tuple[int, str], tuple[str, ...]]] = {
    (FETCH, "request"): ("replica_id", "replica_state"),
    (LIST_OFFSETS, "request"): ("isolation_level", "topics[].partitions[].timestamp"),
    (LIST_OFFSETS, "response"): ("topics[].partitions[].old_style_offsets",),
    (TXN_OFFSET_COMMIT, "request"): ("transactional_id",),
    (END_TXN, "request"): ("transactional_id", "committed"),
    (END_TXN, "response"): ("error_code",),
    (OFFSET_FETCH, "response"): ("error_code", "groups[].error_code"),
    (SHARE_FETCH, "request"): ("group_id", *_ACKNOWLEDGED),
    (SHARE_FETCH, "response"): _ACQUIRED,
    (SHARE_ACKNOWLEDGE, "request"): ("group_id", *_ACKNOWLEDGED),
    (DESCRIBE_SHARE_GROUP_OFFSETS, "response"): ("groups",),
    (ALTER_SHARE_GROUP_OFFSETS, "request"): ("group_id", "topics"),
    (ALTER_SHARE_GROUP_OFFSETS, "response"): ("error_code", "responses"),
}


def offset_paths(api_key: int, side: Side) -> frozenset[str]:
    """The paths that `GroupOffsets` reads of a side of an API."""
    if api_key not in _APIS:
        return frozenset()
    return topic_array_paths(api_key, side) | frozenset(_MORE.get((api_key, side), ()))
