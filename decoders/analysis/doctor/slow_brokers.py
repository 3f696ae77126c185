"""Latencies of brokers in, the brokers out that are slower than their peers in the same work.

Theory of operation. Medians alone accuse the innocent: one broker leads the partitions of a client that sends larger
requests, or was asked most in the seconds when the whole machine was busy. So a broker is slower only where three
comparisons agree, each of the same API:

```
all together ─► medians: `slow.factor` times the median of its peers, and `slow.least` ms more
same clients ─► what a client waits here against what it waits at the peers, weighed by how often it asked both
same time    ─► in `slow.share` of the time slices in which both were asked, `slow.slices` of them at least
```

The last two compare means of logarithms, which are sums of whole numbers: they merge in any order, and a few answers
that took seconds do not make a mean. Time slices are 8.6 s wide or more (time_slices.py). What a client asks of
one broker alone is not compared.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from math import inf, log2
from typing import TYPE_CHECKING, Final, Self

from decoders.analysis.percentiles import percentile
from decoders.analysis.statistics import GroupStatistics
from decoders.analysis.time_slices import SLICES_MAX, add_amounts, find_slice_shift
from decoders.errors import Malformed
from decoders.limits import GROUPS_MAX
from decoders.named_tuple import NamedTuple
from decoders.wire.state_serialization import state_fields

if TYPE_CHECKING:
    from decoders.analysis.doctor.thresholds import Thresholds

__all__ = ["BrokerLatencies", "SlowBroker"]

_MS: Final = 1_000_000
# Time slices start 2^33 ns wide.
_SHIFT_LEAST: Final = 33
# Logarithms are kept in steps of a thousandth of a doubling.
_STEPS: Final = 1024
# Measured latencies that wait to be counted together, about 0.5 MB: one sum of many costs a fifth of many sums.
_HELD_MAX: Final = 4096
# Broker and API key.
_Work = tuple[str, int]
# How many latencies, and the sum of their logarithms.
_Sum = tuple[int, int]
_NOTHING: Final[_Sum] = (0, 0)


class SlowBroker(NamedTuple):
    """A slow broker: the API key, the broker's median latency and that of its peers, in ms."""

    broker: str
    key: int
    ms: float
    peers_ms: float


def _sum_both(one: _Sum, other: _Sum) -> _Sum:
    return one[0] + other[0], one[1] + other[1]


def _mean_of_sum(found: _Sum) -> float:
    return found[1] / found[0]


class BrokerLatencies:
    """Latencies of all brokers that are compared; `merge` in any order gives the same."""

    def __init__(self) -> None:
        self._groups: dict[_Work, GroupStatistics] = {}
        self._clients: dict[tuple[str, int, str], _Sum] = {}
        self._slices: dict[tuple[str, int, int], _Sum] = {}
        self._shift = _SHIFT_LEAST
        self._first = self._last = 0
        # By broker, API and client: when each exchange began, and how long its answer took.
        self._waiting: dict[tuple[str, int, str], list[tuple[int, int]]] = {}
        self._held = 0

    def add_latency(self, broker: str, api_key: int, client: str, time_ns: int, took_ns: int) -> None:
        """Take one latency: when the exchange began, and how long its answer took, in ns."""
        asked = broker, api_key, client
        waiting = self._waiting.get(asked)
        if waiting is None:
            waiting = self._waiting[asked] = []
        waiting.append((time_ns, took_ns))
        self._held += 1
        if self._held >= _HELD_MAX:
            self._count_waiting_latencies()

    def _count_waiting_latencies(self) -> None:
        """Count the latencies measured since the last call."""
        waiting, self._waiting, self._held = self._waiting, {}, 0
        for asked, found in waiting.items():
            times, took = zip(*found, strict=True)
            where = broker, key = asked[:2]
            group = self._groups.get(where)
            if group is None:
                group = self._groups[where] = GroupStatistics()
            group.add_values(took)
            logs = [round(log2(value) * _STEPS) if value > 1 else 0 for value in took]
            whole = len(logs), sum(logs)
            if asked in self._clients or len(self._clients) < GROUPS_MAX:
                self._clients[asked] = _sum_both(self._clients.get(asked, _NOTHING), whole)
            first, last = min(times), max(times)
            self._extend_time(first, last)
            shift = self._shift
            parts = (
                [(first, whole)]
                if first >> shift == last >> shift
                else [(at, (1, log)) for at, log in zip(times, logs, strict=True)]
            )
            for at, each in parts:
                part = broker, key, at >> shift
                self._slices[part] = _sum_both(self._slices.get(part, _NOTHING), each)

    def _extend_time(self, first: int, last: int) -> None:
        if self._first and self._first <= first and (last >> self._shift) - (self._first >> self._shift) < SLICES_MAX:
            self._last = max(self._last, last)  # most come in order
            return
        self._first = min(self._first or first, first)
        self._last = max(self._last, last)
        shift = find_slice_shift(self._first, self._last, self._shift)
        if shift != self._shift:
            self._slices = self._slices_of_width(shift)
            self._shift = shift

    def _slices_of_width(self, shift: int) -> dict[tuple[str, int, int], _Sum]:
        wider: dict[tuple[str, int, int], _Sum] = {}
        for (broker, key, number), found in self._slices.items():
            part = broker, key, number >> (shift - self._shift)
            wider[part] = _sum_both(wider.get(part, _NOTHING), found)
        return wider

    def merge(self, other: Self) -> None:
        """Add the latencies of `other`, which stays unchanged except that it counts what it has measured."""
        self._count_waiting_latencies()
        other._count_waiting_latencies()
        for where, group in other._groups.items():
            self._groups.setdefault(where, GroupStatistics()).merge(group, 0, add_amounts)
        for asked, found in other._clients.items():
            self._clients[asked] = _sum_both(self._clients.get(asked, _NOTHING), found)
        if other._slices:
            self._extend_time(other._first, other._last)
            for part, found in other._slices_of_width(self._shift).items():
                self._slices[part] = _sum_both(self._slices.get(part, _NOTHING), found)

    def state(self) -> list[object]:
        """The state as built-in values, for `make_resumed`."""
        self._count_waiting_latencies()
        groups = [[where, group.state()] for where, group in self._groups.items()]
        sums = [[[where, found] for where, found in some.items()] for some in (self._clients, self._slices)]
        return [groups, *sums, self._shift, self._first, self._last]

    @classmethod
    def make_resumed(cls, state: object) -> BrokerLatencies:
        """Latencies from their `state`. Raises DecodeError."""
        made = cls()
        groups, clients, slices, made._shift, made._first, made._last = state_fields(
            state, list, list, list, int, int, int
        )
        if not _SHIFT_LEAST <= made._shift < 64:
            raise Malformed(f"time slices of 2^{made._shift} ns")
        for item in groups:
            where, group = state_fields(item, tuple, list)
            broker, key = state_fields(where, str, int)
            made._groups[broker, key] = GroupStatistics.make_resumed(group)
        for item in clients:
            where, found = state_fields(item, tuple, tuple)
            broker, key, client = state_fields(where, str, int, str)
            count, logs = state_fields(found, int, int)
            made._clients[broker, key, client] = count, logs
        for item in slices:
            where, found = state_fields(item, tuple, tuple)
            broker, key, number = state_fields(where, str, int, int)
            count, logs = state_fields(found, int, int)
            made._slices[broker, key, number] = count, logs
        return made

    def find_slow_brokers(self, limits: Thresholds) -> Iterator[SlowBroker]:
        """Brokers that all comparisons find slower than their peers."""
        self._count_waiting_latencies()
        medians: dict[int, dict[str, float]] = defaultdict(dict)
        for (broker, key), group in self._groups.items():
            if group.values >= limits["slow.exchanges"]:
                medians[key][broker] = percentile(group.value_bins(), 50, group.low, group.high) / _MS
        for key, some in medians.items():
            for broker, ms in some.items():
                peers = [other for name, other in some.items() if name != broker]
                if not peers:
                    continue
                from statistics import median  # with all kinds of numbers, which few captures need

                usual = median(peers)
                if ms < limits["slow.factor"] * usual or ms - usual < limits["slow.least"]:
                    continue
                if self._is_slower_for_same_clients(broker, key, limits) and self._is_slower_all_the_time(
                    broker, key, limits
                ):
                    yield SlowBroker(broker, key, ms, usual)

    def _is_slower_for_same_clients(self, broker: str, api_key: int, limits: Thresholds) -> bool:
        weight, apart = 0, 0.0
        for here, there in _pair_with_peers(self._clients, broker, api_key):
            both = min(here[0], there[0])
            weight += both
            apart += both * (_mean_of_sum(here) - _mean_of_sum(there))
        steps = _STEPS * log2(limits["slow.factor"]) if limits["slow.factor"] else -inf
        return weight >= limits["slow.exchanges"] and apart >= weight * steps

    def _is_slower_all_the_time(self, broker: str, api_key: int, limits: Thresholds) -> bool:
        compared = slower = 0
        for here, there in _pair_with_peers(self._slices, broker, api_key):
            if min(here[0], there[0]) < limits["slow.slice"]:
                continue
            compared += 1
            took, usual = (2 ** (_mean_of_sum(each) / _STEPS) / _MS for each in (here, there))
            slower += took >= limits["slow.factor"] * usual and took - usual >= limits["slow.least"]
        return compared >= limits["slow.slices"] and slower >= limits["slow.share"] * compared


def _pair_with_peers(
    some: Mapping[tuple[str, int, str], _Sum] | Mapping[tuple[str, int, int], _Sum], broker: str, api_key: int
) -> Iterator[tuple[_Sum, _Sum]]:
    """Pairs of sums with the same client or time slice: that of a broker, and that of all its peers together."""
    here: dict[object, _Sum] = {}
    there: dict[object, _Sum] = {}
    for (where, work, about), found in some.items():
        if work == api_key:
            side = here if where == broker else there
            side[about] = _sum_both(side.get(about, _NOTHING), found)
    return ((found, there[about]) for about, found in here.items() if about in there)
