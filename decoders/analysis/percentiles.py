"""Values in, percentiles out: the sketch of all folds.

It is a DDSketch whose bins never collapse, so that merging loses nothing: percentiles are within 1 %.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from math import ceil, log, log1p
from typing import Final

from ddsketch.mapping import LogarithmicMapping

__all__ = [
    "ACCURACY",
    "BINS_PER_E",
    "VALUE_MAX",
    "bin_edges",
    "bin_number_of",
    "count_by_bin",
    "percentile",
    "value_of_bin",
]

ACCURACY: Final = 0.01
# The greatest value of a column of tables.
VALUE_MAX: Final = (1 << 63) - 1
_MAPPING: Final = LogarithmicMapping(ACCURACY)
_key: Final = _MAPPING.key
# How many bins there are until values are e times as large: the bin of a value is its natural logarithm times this,
# rounded up, plus 1.
BINS_PER_E: Final = 1 / log(_MAPPING.gamma)
# How many bins there are until values are twice as large, to the last bit as the mapping computes it.
_BINS_PER_DOUBLING: Final = 1 / log1p(2 * ACCURACY / (1 - ACCURACY)) * log(2)


def bin_number_of(value: int) -> int:
    """The bin of a value; bins are in the order of their values."""
    if value > 0:
        return _key(value) + 1
    return -_key(-value) - 1 if value else 0


@cache
def value_of_bin(number: int) -> int:
    """The value that stands for a bin: values in the bin differ from it by no more than 1 % and half a unit."""
    if number > 0:
        return round(_MAPPING.value(number - 1))
    return -round(_MAPPING.value(-number - 1)) if number else 0


@cache
def bin_edges() -> tuple[int, ...]:
    """The least value of bin 1, of bin 2 and so on, for values below 2^63; an empty bin has that of the next bin.

    So the bin of a positive value is the number of edges that are not above it, which sorts whole columns into bins.
    """
    found = [1]
    for number in range(2, bin_number_of(VALUE_MAX) + 1):
        low = found[-1]
        found.append(bisect_left(range(VALUE_MAX), number, low, min(low * 21 // 20 + 2, VALUE_MAX), key=bin_number_of))
    return tuple(found)


def count_by_bin(values: Iterable[int]) -> Counter[int]:
    """How many of the values are in each bin."""
    # bin_of() spelt out: most values are positive, and calls of Python cost more than logarithms.
    by = _BINS_PER_DOUBLING
    return Counter([ceil(log(value, 2) * by) + 1 if value > 0 else bin_number_of(value) for value in values])


def percentile(bins: Mapping[int, int], percent: int, low: int, high: int) -> int:
    """The smallest value that at least `percent` % of all values do not exceed; all are from `low` to `high`."""
    count = sum(bins.values())
    rank = (count * percent + 99) // 100
    if rank >= count:
        return high
    seen = 0
    for number in sorted(bins):
        seen += bins[number]
        if seen >= rank:
            return min(max(value_of_bin(number), low), high)
    return high
