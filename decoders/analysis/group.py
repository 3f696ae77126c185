"""Values of one group in, their counts, sums and sketch out: the part of statistics that adds up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

from decoders.analysis.sketch import bins_of, percentile
from decoders.analysis.slices import Join, coarser, joined
from decoders.wire.state import fields

PERCENTS: Final = (50, 90, 99)
# Values that wait to be sorted into bins together, which is faster than one by one.
WAITING_MAX: Final = 256

_SUMS: Final = (
    *("count", "failed", "unanswered", "undecoded", "request_bytes", "response_bytes"),
    *("waited", "waited_ns", "batches", "record_bytes", "values", "total"),
)


class Group:
    """Counts of exchanges; `values`, `total`, `low`, `high` of the metric; error codes; how it went over time."""

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

    def __init__(self) -> None:
        self.count = self.failed = self.unanswered = self.undecoded = self.request_bytes = self.response_bytes = 0
        self.waited = self.waited_ns = self.batches = self.record_bytes = self.values = self.total = 0
        self.low = self.high = 0
        self.codes: Counter[int] = Counter()
        self.slices: dict[int, int] = {}
        self._bins: Counter[int] = Counter()
        self._waiting: list[int] = []

    def measure(self, value: int) -> None:
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
            self.bins()

    def gather(self, bins: Mapping[int, int], total: int, low: int, high: int) -> None:
        """Take values that are in bins already: their sum, the least and the greatest of them."""
        self.low, self.high = (min(low, self.low), max(high, self.high)) if self.values else (low, high)
        self.values += sum(bins.values())
        self.total += total
        self._bins.update(bins)

    def place(self, number: int, value: int, join: Join) -> None:
        """Take a value into a time slice."""
        slices = self.slices
        slices[number] = join(slices[number], value) if number in slices else value

    def bins(self) -> Counter[int]:
        """The sketch of all values."""
        if self._waiting:
            self._bins.update(bins_of(self._waiting))
            self._waiting = []
        return self._bins

    def percentiles(self) -> dict[str, int]:
        """The percentiles that are shown, `p50` and so on, of at least one value."""
        bins = self.bins()
        return {f"p{percent}": percentile(bins, percent, self.low, self.high) for percent in PERCENTS}

    def coarsen(self, by: int, join: Join) -> None:
        """Make the time slices 2^by as wide."""
        self.slices = coarser(self.slices, by, join)

    def merge(self, other: Group, by: int, join: Join) -> None:
        """Take in another, whose time slices are 2^by times narrower."""
        if other.values:
            self.low = min(self.low, other.low) if self.values else other.low
            self.high = max(self.high, other.high) if self.values else other.high
        for name in _SUMS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.codes.update(other.codes)
        self.bins().update(other.bins())
        joined(self.slices, coarser(other.slices, by, join), join)

    def state(self) -> list[object]:
        """What is handed over."""
        sums = [getattr(self, name) for name in _SUMS]
        return [sums, self.low, self.high, dict(self.codes), dict(self.bins()), dict(self.slices)]

    @classmethod
    def of(cls, state: object) -> Group:
        """The group of a state. Raises DecodeError."""
        group = cls()
        sums, group.low, group.high, codes, bins, slices = fields(state, list, int, int, dict, dict, dict)
        for name, value in zip(_SUMS, fields(sums, *(int for _ in _SUMS)), strict=True):
            setattr(group, name, value)
        for counts in (codes, bins, slices):
            for item in counts.items():
                fields(item, int, int)
        group.codes, group._bins, group.slices = Counter(codes), Counter(bins), slices
        return group
