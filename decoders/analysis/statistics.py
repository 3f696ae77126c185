"""Exchanges in, one row for each group of them out: how many, how they went, and how one metric is distributed.

Where there are more groups than KEYS_SHOWN_MAX, the heaviest have rows and all others together one (heavy_keys.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from decoders.analysis.dimension_and_metric_table import METRICS, PERCENTS
from decoders.analysis.exchange_facts import (
    WAITING,
    WAITS,
    Partition,
    RecordTotals,
    error_codes_about,
    error_codes_by_partition,
    record_totals_by_partition,
    record_totals_of_exchange,
    waited_ns,
)
from decoders.analysis.fold_interface import Row, sort_by_key
from decoders.analysis.heavy_keys import (
    DistinctCount,
    HeavyKeys,
    fits_row_limit,
    has_too_many_keys,
    split_by_weight,
)
from decoders.analysis.percentiles import count_by_bin, percentile
from decoders.analysis.read_dimension_values import Key, make_key_reader, paths_of_dimensions
from decoders.analysis.time_slices import (
    SHIFT_MIN,
    SLICES_MAX,
    Join,
    add_amounts,
    find_slice_shift,
    join_slices,
    merge_slices,
)
from decoders.errors import LimitExceeded, Malformed
from decoders.limits import TIMED_GROUPS_MAX
from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.errors.error_codes import error_name
from decoders.wire.format_and_escape_text import format_rfc3339
from decoders.wire.state_serialization import pack, state_fields, unpack

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange
    from decoders.messages.decode_record_values import RecordValueReader
    from decoders.schema.api_declaration import Side

# Values that wait to be sorted into bins together, which is faster than one by one.
WAITING_MAX: Final = 256

_SUMS: Final = (
    *("count", "failed", "unanswered", "undecoded", "request_bytes", "response_bytes"),
    *("waited", "waited_ns", "batches", "record_bytes", "values", "total", "unsized"),
)


class GroupStatistics:
    """Counts of exchanges; `values`, `total`, `low`, `high` of the metric; error codes; the metric by time slice."""

    __slots__ = (*_SUMS, "_bins", "_waiting", "codes", "high", "low", "slices")

    count: int
    failed: int
    unanswered: int
    undecoded: int
    request_bytes: int
    response_bytes: int
    waited: int
    waited_ns: int
    batches: int
    record_bytes: int
    values: int
    total: int
    unsized: int

    def __init__(self) -> None:
        self.count = self.failed = self.unanswered = self.undecoded = self.request_bytes = self.response_bytes = 0
        self.waited = self.waited_ns = self.batches = self.record_bytes = self.values = self.total = self.unsized = 0
        self.low = self.high = 0
        # Without Counter's own __init__, which takes half the time that making a group does.
        self.codes: Counter[int] = Counter.__new__(Counter)
        self.slices: dict[int, int] = {}
        self._bins: Counter[int] = Counter.__new__(Counter)
        self._waiting: list[int] = []

    @property
    def has_known_sizes(self) -> bool:
        """Whether sizes are known: a broker's log has none."""
        return self.unsized < self.count or not self.count

    def weight(self, amounts: bool) -> int:
        """How much it weighs: its exchanges, or where values are `amounts` their sum, and its exchanges a little."""
        return (self.total << 10) + self.count if amounts else self.count

    def add_value(self, value: int) -> None:
        """Take a value of the metric."""
        if not self.values:
            self.low = self.high = value
        elif value < self.low:
            self.low = value
        elif value > self.high:
            self.high = value
        self.values += 1
        self.total += value
        self._waiting.append(value)
        if len(self._waiting) >= WAITING_MAX:
            self.value_bins()

    def add_values(self, values: Sequence[int]) -> None:
        """Take several values of the metric, one at least."""
        low, high = min(values), max(values)
        self.low, self.high = (min(low, self.low), max(high, self.high)) if self.values else (low, high)
        self.values += len(values)
        self.total += sum(values)
        self._waiting += values
        if len(self._waiting) >= WAITING_MAX:
            self.value_bins()

    def add_binned_values(self, bins: Mapping[int, int], total: int, low: int, high: int) -> None:
        """Take values that are in bins already, with their sum, the least and the greatest of them."""
        self.low, self.high = (min(low, self.low), max(high, self.high)) if self.values else (low, high)
        self.values += sum(bins.values())
        self.total += total
        self._bins.update(bins)

    def add_to_slice(self, number: int, value: int, join: Join) -> None:
        """Take a value into a time slice."""
        slices = self.slices
        slices[number] = join(slices[number], value) if number in slices else value

    def value_bins(self) -> Counter[int]:
        """The sketch of all values."""
        if self._waiting:
            self._bins.update(count_by_bin(self._waiting))
            self._waiting = []
        return self._bins

    def percentiles(self) -> dict[str, int]:
        """The percentiles that are shown, `p50` and so on, of at least one value."""
        bins = self.value_bins()
        return {f"p{percent}": percentile(bins, percent, self.low, self.high) for percent in PERCENTS}

    def widen_slices(self, by: int, join: Join) -> None:
        """Make the time slices 2^by times as wide."""
        self.slices = join_slices(self.slices, by, join)

    def merge(self, other: GroupStatistics, by: int, join: Join) -> None:
        """Add the counts of `other`, whose time slices are 2^by times narrower."""
        if other.values:
            self.low = min(self.low, other.low) if self.values else other.low
            self.high = max(self.high, other.high) if self.values else other.high
        for name in _SUMS:
            more = getattr(other, name)
            if more:
                setattr(self, name, getattr(self, name) + more)
        if other.codes:
            self.codes.update(other.codes)
        if other._bins:
            self._bins.update(other._bins)
        if other._waiting:
            self._waiting += other._waiting
            if len(self._waiting) >= WAITING_MAX:
                self.value_bins()
        if other.slices:
            merge_slices(self.slices, join_slices(other.slices, by, join), join)

    def state(self) -> list[object]:
        """The state as built-in values, for `make_resumed`."""
        sums = [getattr(self, name) for name in _SUMS]
        return [sums, self.low, self.high, dict(self.codes), dict(self.value_bins()), dict(self.slices)]

    @classmethod
    def make_resumed(cls, state: object) -> GroupStatistics:
        """Statistics from their `state`. Raises DecodeError."""
        group = cls()
        sums, group.low, group.high, error_codes_about, bins, slices = state_fields(
            state, list, int, int, dict, dict, dict
        )
        for name, value in zip(_SUMS, state_fields(sums, *(int for _ in _SUMS)), strict=True):
            setattr(group, name, value)
        for counts in (error_codes_about, bins, slices):
            for item in counts.items():
                state_fields(item, int, int)
        group.codes, group._bins, group.slices = Counter(error_codes_about), Counter(bins), slices
        return group


NS: Final = 10**9


class _CodesAndRecords(NamedTuple):
    """The error codes and records of an exchange, by topic and partition."""

    error_codes_about: dict[Partition, list[int]]
    records: dict[Partition, RecordTotals]

    def codes_of(self, partition: Partition) -> list[int]:
        """The error codes of a partition, of its topic alone, and of no topic; for (None, None) all error codes."""
        if partition == (None, None):
            return [code for found in self.error_codes_about.values() for code in found]
        places = dict.fromkeys((partition, (partition[0], None), (None, partition[1]), (None, None)))
        return [code for place in places for code in self.error_codes_about.get(place, ())]


class _SplitGroups(NamedTuple):
    """The groups that have a row each, the sums of the others by time, and how many different ones those are."""

    with_rows: Mapping[Key, GroupStatistics]
    others: dict[int | None, GroupStatistics]
    left_out: DistinctCount


class Statistics:
    """Groups of exchanges by any dimensions, with one metric (both in dimension_and_metric_table.py).

    `bucket_ns` is the width of the dimension `time`. An exchange that is about several topics counts for each of them;
    its records and error codes count for their own topic and partition (a dimension that goes with `topic`).
    `over_time` keeps how each group went in time slices.
    The time that a fetch waited for records that did not come, or a member for its group, is no latency: it is counted
    apart.
    The weight of a group, by which it is kept or left out, is its sum of the metric where that is an amount (bytes,
    errors, records), and its exchanges. Over time it is the weight at all times, and the others have a row each time.
    """

    def __init__(
        self,
        by: Sequence[str],
        metric: str,
        *,
        bucket_ns: int = 10 * NS,
        over_time: bool = False,
        values: RecordValueReader | None = None,
    ) -> None:
        self.by = tuple(by)
        self.metric = metric
        self.bucket_ns = bucket_ns
        self.over_time = over_time
        self.first_ns = self.last_ns = 0  # of all time looked at
        self._begun = False  # whether any time was looked at
        self._row = METRICS[metric]
        self._shift = SHIFT_MIN
        self._groups: dict[Key, GroupStatistics] = {}
        self._heavy = HeavyKeys()
        self._others: dict[int | None, GroupStatistics] = {}  # by time, with the dimension `time`; else under None
        self._time = self.by.index("time") if "time" in self.by else None
        self._lines: Counter[Key] = Counter()  # with the dimension `time`: groups by their other dimensions
        self._keys = make_key_reader(self.by, bucket_ns, values)
        self._topic = self.by.index("topic") if "topic" in self.by else None
        self._partition = self.by.index("partition") if "partition" in self.by else None
        if self._partition is not None and self._topic is None:
            raise ValueError("a partition is one of a topic: statistics by partition are by topic too")
        self._error = self.by.index("error") if "error" in self.by else None

    def needs(self, api_key: int, side: Side) -> frozenset[str]:
        """The paths read of a side of an API."""
        waits = WAITS.needed_paths(api_key, side) if self.metric == "latency" else frozenset()
        return paths_of_dimensions(self.by, api_key, side) | self._row.needs(api_key, side) | waits

    def slice_span(self) -> tuple[int, int, int]:
        """The first and the last time slice, and the width of one in ns."""
        return self.first_ns >> self._shift, self.last_ns >> self._shift, 1 << self._shift

    def add(self, exchange: Exchange) -> None:
        """Count an exchange. Raises LimitExceeded when there are too many groups."""
        time_ns = exchange.time_ns
        if not self._begun or time_ns < self.first_ns:
            self._extend_time_and_slices(time_ns, time_ns)
        elif time_ns > self.last_ns:
            self.last_ns = time_ns
            if (time_ns >> self._shift) - (self.first_ns >> self._shift) >= SLICES_MAX and self.over_time:
                self._extend_time_and_slices(time_ns, time_ns)
        exchange._read_sides()
        waited = waited_ns(exchange) if exchange.api_key in WAITING and self.metric == "latency" else None
        parts = None if self._partition is None else self._find_codes_and_records(exchange)
        for key in self._keys(exchange):
            group = self._groups.get(key) or self._choose_group_of_new_key(key)
            group.count += 1
            if exchange.outcome == "unanswered":
                group.unanswered += 1
            elif exchange._failed and exchange.outcome == "complete":
                group.undecoded += 1
            asked, answered = exchange.request_size, exchange.response_size
            if not exchange.envelope:
                group.request_bytes += asked or 0
                group.response_bytes += answered or 0
            if asked is None and answered is None:
                group.unsized += 1
            found = self._count_errors(group, exchange, key, parts) if exchange._error_codes else 0
            if waited is not None:
                group.waited += 1
                group.waited_ns += waited
                continue
            if self.metric == "errors":
                value = found or None
            elif self.metric == "records":
                value = self._count_records(group, exchange, key, parts)
            else:
                value = self._row.measure(exchange)
            if value is not None:
                group.add_value(value)
                if self.over_time:
                    group.add_to_slice(time_ns >> self._shift, value, self._row.join)

    def extend_time(self, first_ns: int, last_ns: int) -> None:
        """Take time that was looked at, even if no exchange of it was added: rates are over all time looked at."""
        self._extend_time_and_slices(first_ns, last_ns)

    def _find_codes_and_records(self, exchange: Exchange) -> _CodesAndRecords:
        """Error codes and records of an exchange by partition: looked for once for all of its groups."""
        records = record_totals_by_partition(exchange) if self.metric == "records" else {}
        return _CodesAndRecords(error_codes_by_partition(exchange) if exchange._error_codes else {}, records)

    def _partition_of(self, key: Key) -> Partition:
        topic = None if self._topic is None else key[self._topic]
        return topic, None if self._partition is None else key[self._partition]

    def _count_errors(
        self, group: GroupStatistics, exchange: Exchange, key: Key, parts: _CodesAndRecords | None
    ) -> int:
        about = self._partition_of(key)
        found = error_codes_about(exchange, about[0]) if parts is None else parts.codes_of(about)
        if self._error is not None:
            found = [code for code in found if error_name(code) == key[self._error]]
        if found:
            group.failed += 1
            group.codes.update(found)
        return len(found)

    def _count_records(
        self, group: GroupStatistics, exchange: Exchange, key: Key, parts: _CodesAndRecords | None
    ) -> int | None:
        about = self._partition_of(key)
        contents = record_totals_of_exchange(exchange, about[0]) if parts is None else parts.records.get(about)
        if contents is None:
            return None
        group.batches += contents.batches
        group.record_bytes += contents.size
        return contents.records

    def _choose_group_of_new_key(self, key: Key, weight: int = 1) -> GroupStatistics:
        """The group to count a new key in, which may be that of the others."""
        if self._time is None:
            if has_too_many_keys(len(self._groups), 1):
                self._leave_out_light_lines()
            if not self._heavy.admit_key(key, weight):
                return self._group_of_others(self._others, key)
        else:
            line = self._key_without_time(key)
            if line not in self._lines:
                if has_too_many_keys(len(self._lines), 1):
                    self._leave_out_light_lines()
                if not self._heavy.admit_key(line, weight):
                    return self._group_of_others(self._others, key)
            self._leave_out_lines_for_groups(1)
            self._lines[line] += 1
        group = self._groups[key] = GroupStatistics()
        return group

    def _leave_out_lines_for_groups(self, more: int) -> None:
        """Leave out lines until there is room for so many more groups over time."""
        while len(self._groups) + len(self._others) + more > TIMED_GROUPS_MAX:
            if len(self._lines) < 2:
                raise LimitExceeded(f"more than {TIMED_GROUPS_MAX:,} groups by {', '.join(self.by)}")
            self._leave_out_light_lines(len(self._lines) // 2)

    def _key_without_time(self, key: Key) -> Key:
        """A key without its time."""
        at = self._time
        return key if at is None else key[:at] + key[at + 1 :]

    def _weights_of_lines(self) -> Mapping[Key, int]:
        """The weight of each line, which is a group, or with the dimension `time` its groups at all times."""
        amounts = self._row.join is add_amounts
        if self._time is None:
            return {key: group.weight(amounts) for key, group in self._groups.items()}
        weights: Counter[Key] = Counter()
        for key, group in self._groups.items():
            weights[self._key_without_time(key)] += group.weight(amounts)
        return weights

    def _leave_out_light_lines(self, most: int | None = None) -> None:
        """Keep the `most` heaviest lines (None: as many as have rows), and add up the groups of all others."""
        light = self._heavy.leave_out_light_keys(self._weights_of_lines().items(), most)
        if self._time is None:
            for key in light:
                self._add_to_others(self._others, key, self._groups.pop(key))
            return
        left_out = set(light)
        for key in [key for key in self._groups if self._key_without_time(key) in left_out]:
            self._add_to_others(self._others, key, self._groups.pop(key))
        for line in light:
            del self._lines[line]

    def _group_of_others(self, others: dict[int | None, GroupStatistics], key: Key) -> GroupStatistics:
        """The group among `others` for what is left out of a key."""
        time = None if self._time is None else key[self._time]
        group = others.get(time)
        if group is None:
            if self._time is not None and others is self._others:
                self._leave_out_lines_for_groups(1)
            group = others.setdefault(time, GroupStatistics())
        return group

    def _add_to_others(self, others: dict[int | None, GroupStatistics], key: Key, group: GroupStatistics) -> None:
        self._group_of_others(others, key).merge(group, 0, self._row.join)

    def _extend_time_and_slices(self, first_ns: int, last_ns: int) -> None:
        """Extend the time looked at to these times; the slices of all groups become wider where they must."""
        self.first_ns = min(first_ns, self.first_ns) if self._begun else first_ns
        self.last_ns = max(last_ns, self.last_ns) if self._begun else last_ns
        self._begun = True
        if self.over_time:
            self._widen_slices_of_groups(find_slice_shift(self.first_ns, self.last_ns, self._shift))

    def _widen_slices_of_groups(self, shift: int) -> None:
        by, self._shift = shift - self._shift, shift
        if by:
            for group in (*self._groups.values(), *self._others.values()):
                group.widen_slices(by, self._row.join)

    def merge(self, other: Statistics) -> None:
        """Add the counts of `other`, which stays unchanged. Raises LimitExceeded and ValueError."""
        if self._list_parameters() != other._list_parameters():
            raise ValueError("statistics of different dimensions or metrics do not merge")
        if not other._begun:
            return
        by = self._extend_time_to_slices(other.first_ns, other.last_ns, other._shift)
        self._heavy.merge(
            other._heavy, map(self._key_without_time, self._groups), map(self._key_without_time, other._groups)
        )
        join = self._row.join
        for key, group in other._groups.items():
            if key not in self._groups:
                self._groups[key] = GroupStatistics()
                if self._time is not None:
                    self._lines[self._key_without_time(key)] += 1
            self._groups[key].merge(group, by, join)
        for time, group in other._others.items():
            self._others.setdefault(time, GroupStatistics()).merge(group, by, join)
        if has_too_many_keys(len(self._groups if self._time is None else self._lines), 1):
            self._leave_out_light_lines()
        if self._time is not None:
            self._leave_out_lines_for_groups(0)

    def _extend_time_to_slices(self, first_ns: int, last_ns: int, shift: int) -> int:
        """Extend the time by one with slices of 2^shift ns; the result says by how much these have to be widened."""
        self._extend_time_and_slices(first_ns, last_ns)
        if shift > self._shift:
            self._widen_slices_of_groups(shift)
        return self._shift - shift

    def add_groups(
        self, groups: Iterable[tuple[Key, GroupStatistics]], first_ns: int, last_ns: int, shift: int = SHIFT_MIN
    ) -> None:
        """Add groups that were counted elsewhere in this time; their time slices are 2^shift ns wide.

        Raises LimitExceeded when there are too many groups over time.
        """
        by = self._extend_time_to_slices(first_ns, last_ns, shift)
        for key, group in groups:
            (self._groups.get(key) or self._choose_group_of_new_key(key, group.count)).merge(group, by, self._row.join)

    def add_regrouped(self, other: Statistics, key_of: Callable[[Key], Key]) -> None:
        """Add the groups of `other`, which are without slices, under other keys; its others stay others.

        Statistics by no dimension but `time` have no others: all groups count.
        """
        if self.by == other.by:
            self._heavy.merge(
                other._heavy, map(self._key_without_time, self._groups), map(self._key_without_time, other._groups)
            )
        else:
            self._heavy.left_out.merge(other._heavy.left_out)
        groups = [(key_of(key), group) for key, group in sort_by_key(other._groups)]
        for time, group in other._others.items():
            key = key_of(tuple([time if at == other._time else None for at in range(len(other.by))]))
            if self._key_without_time(key):
                self._add_to_others(self._others, key, group)
            else:
                groups.append((key, group))
        if groups or other._others:  # without groups there is no time to add either
            self.add_groups(groups, other.first_ns, other.last_ns)

    def _list_parameters(self) -> list[object]:
        return [list(self.by), self.metric, self.bucket_ns, self.over_time]

    def export(self) -> bytes:
        """The state, for `resume`."""
        groups = [[list(key), group.state()] for key, group in self._groups.items()]
        others = [[time, group.state()] for time, group in self._others.items()]
        times = [self._begun, self.first_ns, self.last_ns, self._shift]
        return pack([self._list_parameters(), *times, groups, others, self._heavy.state()])

    def resume(self, state: bytes) -> None:
        """Restore the state that `export` gave. Raises DecodeError."""
        kinds = (list, bool, int, int, int, list, list, list)
        parameters, begun, first_ns, last_ns, shift, groups, others, heavy = state_fields(unpack(state), *kinds)
        if parameters != self._list_parameters():
            raise Malformed("the state of statistics of other dimensions or another metric")
        self._begun, self.first_ns, self.last_ns, self._shift = begun, first_ns, last_ns, shift
        for item in groups:
            parts, group = state_fields(item, list, list)
            key = tuple(state_fields(parts, *(str | int | None for _ in self.by)))
            self._groups[key] = GroupStatistics.make_resumed(group)
            if self._time is not None:
                self._lines[self._key_without_time(key)] += 1
        for item in others:
            time, group = state_fields(item, int | None, list)
            self._others[time] = GroupStatistics.make_resumed(group)
        self._heavy = HeavyKeys.make_resumed(heavy)

    def rows(self) -> list[Row]:
        """A row for each group, in the order of their keys: the dimensions, then the same numbers for every group.

        Others have a row at the end, over time one for each time: no dimensions, and `others`, about how many they are.
        """
        return [row for row, _ in self.rows_of_groups()]

    def rows_of_groups(self) -> list[tuple[Row, GroupStatistics]]:
        """The rows with their groups."""
        groups, others, left_out = self._split_groups_with_rows()
        found = [(self._make_statistics_row(key, group), group) for key, group in sort_by_key(groups)]
        for time in sorted(others, key=lambda each: each or 0):
            key = tuple([time if at == self._time else None for at in range(len(self.by))])
            found.append(
                (self._make_statistics_row(key, others[time]) | {"others": left_out.estimate_count()}, others[time])
            )
        return found

    def _split_groups_with_rows(self) -> _SplitGroups:
        """The groups that have rows, and the others."""
        if fits_row_limit(len(self._groups if self._time is None else self._lines)):
            return _SplitGroups(self._groups, self._others, self._heavy.left_out)
        kept, light = split_by_weight(self._weights_of_lines().items())
        left_out, others = DistinctCount(), dict[int | None, GroupStatistics]()
        left_out.merge(self._heavy.left_out)
        for key in light:
            left_out.add(key)
        for time, group in self._others.items():
            others.setdefault(time, GroupStatistics()).merge(group, 0, self._row.join)
        shown, lines = {}, set(kept)
        for key, group in self._groups.items():
            if self._key_without_time(key) in lines:
                shown[key] = group
            else:
                self._add_to_others(others, key, group)
        return _SplitGroups(shown, others, left_out)

    def _make_statistics_row(self, key: Key, group: GroupStatistics) -> Row:
        row: Row = dict(zip(self.by, key, strict=True))
        timed = "time" in row
        if timed:
            row["time"] = format_rfc3339(row["time"])
        span = self.bucket_ns if timed else self.last_ns - self.first_ns
        row |= {
            "count": group.count,
            "rate": group.count * NS / span if span else None,
            "errors": group.failed,
            "error_codes": count_errors_by_name(group.codes),
            "unanswered": group.unanswered,
            "undecoded": group.undecoded,
            "request_bytes": group.request_bytes if group.has_known_sizes else None,
            "response_bytes": group.response_bytes if group.has_known_sizes else None,
            "metric": self.metric,
            "unit": self._row.unit,
        }
        row |= self._distribution_columns(group)
        if self.metric == "latency":
            row |= {"waited": group.waited, "waited_ms": group.waited_ns / 10**6}
        if self.metric == "records":
            row |= {"batches": group.batches, "record_bytes": group.record_bytes}
        return row

    def _distribution_columns(self, group: GroupStatistics) -> dict[str, Any]:
        per = self._row.per_unit

        def scale_value(value: int) -> int | float:
            return value if per == 1 else value / per

        out: dict[str, Any] = {"values": group.values, "sum": scale_value(group.total)}
        if not group.values:
            return out | dict.fromkeys(("min", *(f"p{percent}" for percent in PERCENTS), "max"))
        found = {"min": group.low, **group.percentiles(), "max": group.high}
        return out | {name: scale_value(value) for name, value in found.items()}


def count_errors_by_name(found: Counter[int]) -> dict[str, int]:
    """Error codes by name, the most frequent first."""
    ordered = sorted(found.items(), key=lambda item: (-item[1], item[0]))
    return {error_name(code): count for code, count in ordered}
