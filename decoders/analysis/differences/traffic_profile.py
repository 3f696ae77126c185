"""Exchanges in, a profile out that another one can be compared with: who and what is there, how fast, how large.

Times are cut into slices of one width (time_slices.py), since exchanges that follow each other are not independent of
each other, and a test that took them for that would find a difference in any two halves. Each thing has the number of
its exchanges by slice; each pair of a client (or broker) and an API also has its latencies and sizes, as bins of a
sketch (percentiles.py), with the sum of the bins by slice: the bin of a value is its logarithm.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Self

from decoders.analysis.exchange_facts import FETCHES, WAITS, view_or_empty, waited_ns
from decoders.analysis.percentiles import bin_number_of
from decoders.analysis.read_dimension_values import DIMENSIONS, client_of, paths_of_dimensions, software_of
from decoders.analysis.time_slices import SHIFT_MIN, add_amounts, find_slice_shift, join_slices, merge_slices
from decoders.exchanges.topic_arrays import RECORD_ARRAYS, partitions_in
from decoders.protocol_facts.api_keys import PRODUCE
from decoders.protocol_facts.errors.error_codes import error_name
from decoders.records.summarize_records import summarize_records_of_view
from decoders.wire.state_serialization import pack, state_fields, unpack

if TYPE_CHECKING:
    from decoders.analysis.fold_interface import Row
    from decoders.exchanges.exchange import Exchange
    from decoders.schema.api_declaration import Side

__all__ = ["METRIC_UNITS", "PLACES", "MeasuredValues", "TrafficProfile"]

# Slice → an amount.
Slices = dict[int, int]
# What is measured, and its unit.
METRIC_UNITS: Final = {"latency": "ns", "request_size": "bytes", "response_size": "bytes"}
# Whose exchanges are measured, by API.
PLACES: Final = ("client", "broker")
# Things beyond this number are counted, and not kept.
_THINGS_MAX: Final = 100_000
_NAMES: Final = ("topic", "group")
# The acks of a Produce that waits for all replicas in sync, and their name in clients' settings.
_ACKS: Final = {-1: "all"}


class MeasuredValues:
    """Values of one metric: how many by bin, and by slice how many there are and the sum of their bins."""

    __slots__ = ("bins", "counts", "sums")

    def __init__(self) -> None:
        self.bins: Slices = {}
        self.counts: Slices = {}
        self.sums: Slices = {}

    def add(self, value: int, at: int) -> None:
        """Count a value in a slice."""
        number = bin_number_of(value)
        self.bins[number] = self.bins.get(number, 0) + 1
        self.counts[at] = self.counts.get(at, 0) + 1
        self.sums[at] = self.sums.get(at, 0) + number

    def widen_slices(self, by: int) -> None:
        """Make slices 2^by times as wide."""
        self.counts, self.sums = (join_slices(each, by, add_amounts) for each in (self.counts, self.sums))

    def merge(self, other: MeasuredValues) -> None:
        """Add values, whose slices have the same width."""
        merge_slices(self.bins, other.bins, add_amounts)
        merge_slices(self.counts, other.counts, add_amounts)
        merge_slices(self.sums, other.sums, add_amounts)


class TrafficProfile:
    """What the exchanges show: `things` by kind and names, `measured` by place, name, API and metric.

    Kinds of things: client, software (client, text), api (client, API), version (client, API, version), acks (client,
    API, acks), topic, group, error (client, API, error). `left_out` counts things beyond the limit.
    """

    def __init__(self) -> None:
        self.things: dict[tuple[str, ...], Slices] = {}
        self.measured: dict[tuple[str, ...], MeasuredValues] = {}
        self.first = self.last = self.count = self.left_out = 0
        self.shift = SHIFT_MIN

    def needs(self, api_key: int, side: Side) -> frozenset[str]:
        """The paths of names, of acks, and those that tell waiting from latency."""
        paths = paths_of_dimensions(_NAMES, api_key, side) | WAITS.needed_paths(api_key, side)
        if api_key == PRODUCE and side == "request":
            paths |= {"acks"}
        return paths | (_ENDS[api_key] if api_key in _ENDS and side == "response" else frozenset())

    def add(self, exchange: Exchange) -> None:
        """Count an exchange; one of no known API, or inside an Envelope, counts nowhere."""
        api, version = exchange.api, exchange.api_version
        if api is None or version is None or exchange.envelope is not None:
            return
        self._extend_time(exchange.time_ns, exchange.time_ns)
        self.count += 1
        at = exchange.time_ns >> self.shift
        client = client_of(exchange.client_id, exchange.client)
        self._count_thing(("client", client), at)
        self._count_thing(("api", client, api), at)
        self._count_thing(("version", client, api, str(version)), at)
        software = exchange.client_software
        if software is not None:
            text = software_of(software["name"], software["version"]) or ""
            self._count_thing(("software", client, text), at)
        if exchange.api_key == PRODUCE:
            acks = view_or_empty(exchange, "request").get("acks")
            if acks is not None:
                self._count_thing(("acks", client, api, _ACKS.get(acks, str(acks))), at)
        for kind in _NAMES:
            for name in DIMENSIONS[kind].get(exchange):
                if isinstance(name, str) and name:
                    self._count_thing((kind, name), at)
        for code in {code for _, code in exchange.unexpected}:
            self._count_thing(("error", client, api, error_name(code)), at)
        self._add_measured_values(exchange, client, api, at)

    def _add_measured_values(self, exchange: Exchange, client: str, api: str, at: int) -> None:
        latency = None
        if exchange.response_ns is not None and exchange.request_end_ns is not None and not _may_have_waited(exchange):
            latency = max(exchange.response_ns - exchange.request_end_ns, 0)
        values = (latency, exchange.request_size, exchange.response_size)
        for place, name in zip(PLACES, (client, exchange.connection_info.broker), strict=True):
            for metric, value in zip(METRIC_UNITS, values, strict=True):
                key = place, name, api, metric
                its = self.measured.get(key)
                if its is None:
                    if len(self.measured) >= _THINGS_MAX:
                        self.left_out += 1
                        continue
                    its = self.measured[key] = MeasuredValues()
                if value is not None:
                    its.add(value, at)

    def _count_thing(self, thing: tuple[str, ...], at: int) -> None:
        its = self.things.get(thing)
        if its is None:
            if len(self.things) >= _THINGS_MAX:
                self.left_out += 1
                return
            its = self.things[thing] = {}
        its[at] = its.get(at, 0) + 1

    def _extend_time(self, first: int, last: int) -> None:
        """Extend the time seen, and the width of slices where it does not suffice."""
        self.first, self.last = (min(self.first, first), max(self.last, last)) if self.count else (first, last)
        self.widen_slices(find_slice_shift(self.first, self.last, self.shift))

    def widen_slices(self, shift: int) -> None:
        """Make the slices 2^shift ns wide, where they are narrower."""
        by = shift - self.shift
        if by <= 0:
            return
        self.shift = shift
        for thing, its in self.things.items():
            self.things[thing] = join_slices(its, by, add_amounts)
        for values in self.measured.values():
            values.widen_slices(by)

    def span(self) -> range:
        """The slices from the first exchange to the last."""
        return range(self.first >> self.shift, (self.last >> self.shift) + 1) if self.count else range(0)

    def merge(self, other: Self) -> None:
        """Add the counts of `other`, which is not used any more."""
        if not other.count:
            return
        self._extend_time(other.first, other.last)
        other.widen_slices(self.shift)
        self.widen_slices(other.shift)
        self.count += other.count
        self.left_out += other.left_out
        for thing, slices in other.things.items():
            merge_slices(self.things.setdefault(thing, {}), slices, add_amounts)
        for key, values in other.measured.items():
            self.measured.setdefault(key, MeasuredValues()).merge(values)

    def rows(self) -> list[Row]:
        """A row for each client and API: how often it was used; comparing is compare_profiles.py."""
        return [
            {"client_id": thing[1], "api": thing[2], "count": sum(slices.values())}
            for thing, slices in sorted(self.things.items())
            if thing[0] == "api"
        ]

    def export(self) -> bytes:
        """The state, for `resume`."""
        measured = [[key, its.bins, its.counts, its.sums] for key, its in self.measured.items()]
        times = [self.first, self.last, self.count, self.left_out, self.shift]
        return pack([times, [*map(list, self.things.items())], measured])

    def resume(self, state: bytes) -> None:
        """Restore the state that `export` gave. Raises DecodeError."""
        times, things, measured = state_fields(unpack(state), list, list, list)
        self.first, self.last, self.count, self.left_out, self.shift = state_fields(times, *[int] * 5)
        for item in things:
            thing, slices = state_fields(item, tuple, dict)
            self.things[_resume_names(thing)] = _resume_slices(slices)
        for item in measured:
            key, *parts = state_fields(item, tuple, dict, dict, dict)
            values = self.measured[_resume_names(key)] = MeasuredValues()
            values.bins, values.counts, values.sums = map(_resume_slices, parts)


# API key → the paths of partitions' records, and of their ends.
_ENDS: Final = {
    key: frozenset(
        f"{array.topics}[].{array.partitions}[].{name}" for name in (array.watermark, f"{array.records}:span") if name
    )
    for key, array in RECORD_ARRAYS.items()
    if key in FETCHES
}


def _may_have_waited(exchange: Exchange) -> bool:
    """Whether an answer waits by design, or is a fetch that may have waited for the records that it brings.

    A fetch that brings the last records of its partitions came before they were written: its time is that between two
    writes. One that leaves records behind was answered at once.
    """
    if exchange.api_key not in FETCHES or exchange.api_key is None:
        return waited_ns(exchange) is not None
    array = RECORD_ARRAYS[exchange.api_key]
    for _, part in partitions_in(exchange.view("response"), array):
        end = part.get(array.watermark) if array.watermark else None
        summary = summarize_records_of_view(part.get(array.records), exchange.response_raw)
        last = None if summary is None else summary.last_offset
        if last is not None and end is not None and last + 1 < end:
            return False
    return True


def _resume_names(names: Any) -> tuple[str, ...]:
    return tuple(state_fields(names, *[str] * len(names)))


def _resume_slices(slices: Any) -> Slices:
    for item in slices.items():
        state_fields(item, int, int)
    made: Slices = slices
    return made
