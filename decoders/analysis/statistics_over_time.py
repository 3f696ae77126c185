"""Exchanges in, statistics for each slice of time out; how much time there will be need not be known beforehand.

Slices are 2^shift ns wide, as those of time_slices.py: they start narrow, and are merged in pairs until all time seen
fits into SLICES_MAX of them. So the rows depend on the first and the last time alone, not on the order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Self

from decoders.analysis.read_dimension_values import Key
from decoders.analysis.statistics import Statistics
from decoders.analysis.time_slices import SHIFT_MIN, SLICES_MAX, find_slice_shift
from decoders.wire.state_serialization import pack, state_fields, unpack

if TYPE_CHECKING:
    from decoders.analysis.fold_interface import Row
    from decoders.exchanges.exchange import Exchange
    from decoders.schema.api_declaration import Side

__all__ = ["OverTime"]


class OverTime:
    """Latency, errors and bytes by slice of time and by further dimensions `by` of few values."""

    def __init__(self, by: Sequence[str] = ()) -> None:
        self.by = tuple(by)
        self._shift = SHIFT_MIN
        self._found = self._make_empty_statistics(self.by)

    def _make_empty_statistics(self, by: Sequence[str]) -> Statistics:
        return Statistics(("time", *by), "latency", bucket_ns=1 << self._shift)

    @property
    def bucket_ns(self) -> int:
        """The width of a slice in ns."""
        return 1 << self._shift

    def needs(self, api_key: int, side: Side) -> frozenset[str]:
        """The paths that the statistics read of a side of an API."""
        return self._found.needs(api_key, side)

    def add(self, exchange: Exchange) -> None:
        """Count an exchange. Raises LimitExceeded when there are too many groups."""
        found = self._found
        found.add(exchange)
        if (found.last_ns >> self._shift) - (found.first_ns >> self._shift) >= SLICES_MAX:
            self._widen_slices()

    def _widen_slices(self, shift: int = SHIFT_MIN) -> None:
        """Widen the slices to 2^shift ns at least, and until there are not too many of them."""
        before = self._found
        shift = find_slice_shift(before.first_ns, before.last_ns, max(shift, self._shift))
        if shift > self._shift:
            self._shift = shift
            self._found = self._make_empty_statistics(self.by)
            self._add_narrower_groups(before)

    def _add_narrower_groups(self, other: Statistics) -> None:
        """Add groups whose slices are not wider."""
        width = self.bucket_ns
        self._found.add_regrouped(other, lambda key: (key[0] // width * width, *key[1:]))

    def merge(self, other: Self) -> None:
        """Add the counts of `other`, which stays unchanged. Raises LimitExceeded."""
        self._widen_slices(other._shift)
        self._add_narrower_groups(other._found)
        self._widen_slices()

    def export(self) -> bytes:
        """The state, for `resume`."""
        return pack([self._shift, self._found.export()])

    def resume(self, state: bytes) -> None:
        """Restore the state that `export` gave. Raises DecodeError."""
        self._shift, statistics = state_fields(unpack(state), int, bytes)
        self._found = self._make_empty_statistics(self.by)
        self._found.resume(statistics)

    @property
    def statistics(self) -> Statistics:
        """The statistics by slice and further dimensions."""
        return self._found

    def regroup_by_slice(self) -> Statistics:
        """The statistics by slice alone, with all values of the further dimensions together."""
        return self._regroup_into(self._make_empty_statistics(()), lambda key: key[:1])

    def regroup_by_dimensions(self, by: Sequence[str]) -> Statistics:
        """The statistics by some of the further dimensions, with all slices together."""
        at = [1 + self.by.index(name) for name in by]
        return self._regroup_into(Statistics(by, "latency"), lambda key: tuple([key[each] for each in at]))

    def _regroup_into(self, whole: Statistics, key_of: Callable[[Key], Key]) -> Statistics:
        whole.add_regrouped(self._found, key_of)
        return whole

    def rows(self) -> list[Row]:
        """The rows of `Statistics`, one for each slice and value, in that order."""
        return self._found.rows()
