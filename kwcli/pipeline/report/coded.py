"""Columns of a batch in, numbers of groups out: every row gets the number of its value, and each value appears once.

A column of few values is worked on by its numbers alone; Python sees every value once a batch, not once a row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Numbers = npt.NDArray[np.int64]

# Up to so many possible numbers a table of all of them is faster than sorting.
_TABLE_MAX: Final = 1 << 21


class Coded(NamedTuple):
    """`numbers[row]` is the place of the row's value in `values`."""

    numbers: Numbers
    values: list[Any]

    def at(self, rows: Numbers) -> Coded:
        """Those of some rows."""
        return Coded(self.numbers[rows], self.values)


def coded(column: pa.Array) -> Coded:
    """The values of a column, null among them where there is one."""
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode(null_encoding="encode")
    values = column.dictionary.to_pylist()
    numbers = column.indices
    if numbers.null_count:
        numbers = pc.fill_null(numbers, len(values))
        values.append(None)
    return Coded(numbers.to_numpy(zero_copy_only=False).astype(np.int64), values)


def mapped(found: Coded, values: Sequence[Any]) -> Coded:
    """The same rows with other values, in the same order; equal ones become one."""
    places: dict[Any, int] = {}
    moved = [places.setdefault(value, len(places)) for value in values]
    return Coded(np.array(moved, np.int64)[found.numbers] if moved else found.numbers, list(places))


def compact(numbers: Numbers, size: int) -> tuple[Numbers, Numbers]:
    """The different ones of numbers below `size`, ascending, and for each row the place of its own among them."""
    if size <= max(_TABLE_MAX, 4 * len(numbers)):
        seen = np.zeros(size, np.bool_)
        seen[numbers] = True
        present = np.flatnonzero(seen)
        places = np.empty(size, np.int64)
        places[present] = np.arange(len(present))
        return present, places[numbers]
    present, inverse = np.unique(numbers, return_inverse=True)
    return present, inverse.astype(np.int64, copy=False)


def combined(parts: Sequence[Coded], rows: int) -> Coded:
    """Tuples of several columns' values; without any column the empty tuple."""
    numbers, keys = np.zeros(rows, np.int64), [()] if rows else []
    for part in parts:
        size = max(len(part.values), 1)
        present, numbers = compact(numbers * size + part.numbers, max(len(keys), 1) * size)
        keys = [(*keys[number // size], part.values[number % size]) for number in present.tolist()]
    return Coded(numbers, keys)


def integers(column: pa.Array) -> Numbers:
    """A column of integers, null as 0."""
    values: Numbers = pc.fill_null(column, 0).to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
    return values


def present(column: pa.Array) -> npt.NDArray[np.bool_]:
    """Where a column is not null."""
    known: npt.NDArray[np.bool_] = pc.is_valid(column).to_numpy(zero_copy_only=False)
    return known


def counts(numbers: Numbers, groups: int) -> list[int]:
    """How many rows each group has."""
    return list(np.bincount(numbers, minlength=groups).tolist())


def sums(numbers: Numbers, values: Numbers, groups: int) -> list[int]:
    """The sum of each group's values, exact whatever they are: their halves are added up one by one."""
    low = np.zeros(groups, np.int64)
    high = np.zeros(groups, np.int64)
    np.add.at(low, numbers, values & 0xFFFFFFFF)
    np.add.at(high, numbers, values >> 32)
    return [(above << 32) + below for above, below in zip(high.tolist(), low.tolist(), strict=True)]


def least(numbers: Numbers, values: Numbers, groups: int) -> list[int]:
    """The least of each group's values; of none the greatest there is."""
    found = np.full(groups, np.iinfo(np.int64).max)
    np.minimum.at(found, numbers, values)
    return list(found.tolist())


def greatest(numbers: Numbers, values: Numbers, groups: int) -> list[int]:
    """The greatest of each group's values; of none the least there is."""
    found = np.full(groups, np.iinfo(np.int64).min)
    np.maximum.at(found, numbers, values)
    return list(found.tolist())
