"""Columns of a batch in, numbers of groups and dimensions out, computed once for all folds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from decoders.analysis.read_dimension_values import client_of, host_of, software_of
from decoders.named_tuple import NamedTuple

Numbers = npt.NDArray[np.int64]

# Up to this many possible numbers a table of all of them is faster than sorting.
_TABLE_MAX: Final = 1 << 21


class CodedColumn(NamedTuple):
    """`numbers[row]` is the place of the row's value in `values`."""

    numbers: Numbers
    values: list[Any]

    def select_rows(self, rows: Numbers) -> CodedColumn:
        """The column of some of the rows."""
        return CodedColumn(self.numbers[rows], self.values)


def make_coded_column(column: pa.Array) -> CodedColumn:
    """A column as a CodedColumn; null is among its values where a row has none."""
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode(null_encoding="encode")
    values = column.dictionary.to_pylist()
    numbers = column.indices
    if numbers.null_count:
        numbers = pc.fill_null(numbers, len(values))
        values.append(None)
    return CodedColumn(numbers.to_numpy(zero_copy_only=False).astype(np.int64), values)


def replace_column_values(found: CodedColumn, values: Sequence[Any]) -> CodedColumn:
    """A column with `values` in place of its own, in the same order; equal values become one."""
    places: dict[Any, int] = {}
    moved = [places.setdefault(value, len(places)) for value in values]
    return CodedColumn(np.array(moved, np.int64)[found.numbers] if moved else found.numbers, list(places))


def number_distinct_values(numbers: Numbers, size: int) -> tuple[Numbers, Numbers]:
    """The distinct `numbers` (all below `size`), ascending, and for each row the place of its number among them."""
    if size <= max(_TABLE_MAX, 4 * len(numbers)):
        seen = np.zeros(size, np.bool_)
        seen[numbers] = True
        present = np.flatnonzero(seen)
        places = np.empty(size, np.int64)
        places[present] = np.arange(len(present))
        return present, places[numbers]
    present, inverse = np.unique(numbers, return_inverse=True)
    return present, inverse.astype(np.int64, copy=False)


def combine_columns_to_tuples(parts: Sequence[CodedColumn], rows: int) -> CodedColumn:
    """A column of the tuples of several columns' values; without any column the empty tuple."""
    numbers, keys = np.zeros(rows, np.int64), [()] if rows else []
    for part in parts:
        size = max(len(part.values), 1)
        present, numbers = number_distinct_values(numbers * size + part.numbers, max(len(keys), 1) * size)
        keys = [(*keys[number // size], part.values[number % size]) for number in present.tolist()]
    return CodedColumn(numbers, keys)


def convert_to_integers(column: pa.Array) -> Numbers:
    """A column of integers, null as 0."""
    values: Numbers = pc.fill_null(column, 0).to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
    return values


def mask_present(column: pa.Array) -> npt.NDArray[np.bool_]:
    """Where a column is not null."""
    known: npt.NDArray[np.bool_] = pc.is_valid(column).to_numpy(zero_copy_only=False)
    return known


def count_by_group(numbers: Numbers, groups: int) -> list[int]:
    """How many rows each group has."""
    return list(np.bincount(numbers, minlength=groups).tolist())


def sum_by_group(numbers: Numbers, values: Numbers, groups: int) -> list[int]:
    """The sum of each group's values, exact for any int64: their low and high halves are added up apart."""
    low = np.zeros(groups, np.int64)
    high = np.zeros(groups, np.int64)
    np.add.at(low, numbers, values & 0xFFFFFFFF)
    np.add.at(high, numbers, values >> 32)
    return [(above << 32) + below for above, below in zip(high.tolist(), low.tolist(), strict=True)]


def least_by_group(numbers: Numbers, values: Numbers, groups: int) -> list[int]:
    """The least of each group's values; the greatest int64 for a group without values."""
    found = np.full(groups, np.iinfo(np.int64).max)
    np.minimum.at(found, numbers, values)
    return list(found.tolist())


def greatest_by_group(numbers: Numbers, values: Numbers, groups: int) -> list[int]:
    """The greatest of each group's values; the least int64 for a group without values."""
    found = np.full(groups, np.iinfo(np.int64).min)
    np.maximum.at(found, numbers, values)
    return list(found.tolist())


# Batches by column


class BatchColumns:
    """One batch of a table: its columns as numbers, codes and dimensions (those of `kw stats`), each computed once."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self.size: int = batch.num_rows
        self._batch = batch
        self._known: dict[tuple[str, str], Any] = {}

    def column(self, name: str) -> pa.Array:
        """A column as it is; lists of error codes, of their names and topics without the errors that are expected."""
        if name in ERRORS:
            return self._get_or_make("errors", name, lambda: _drop_expected_errors(self._batch, name))
        return self._batch.column(name)

    def convert_to_integers(self, name: str) -> Numbers:
        """A column of integers, null as 0."""
        return self._get_or_make("convert_to_integers", name, lambda: convert_to_integers(self.column(name)))  # type: ignore[no-any-return]

    def mask_present(self, name: str) -> Any:
        """Where a column is not null."""
        return self._get_or_make("known", name, lambda: mask_present(self.column(name)))

    def get_coded_column(self, name: str) -> CodedColumn:
        """A column as a CodedColumn."""
        return self._get_or_make("coded", name, lambda: make_coded_column(self.column(name)))  # type: ignore[no-any-return]

    def make_dimension_column(self, name: str) -> CodedColumn:
        """The column of a dimension that has one value a row."""
        make = DIMENSIONS.get(name)
        return self._get_or_make("dimension", name, partial(make, self)) if make else self.get_coded_column(name)

    def count_list_elements(self, name: str) -> Numbers:
        """How many elements a column of lists has in each row."""
        return self._get_or_make("lengths", name, lambda: convert_to_integers(pc.list_value_length(self.column(name))))  # type: ignore[no-any-return]

    def flatten_lists(self, name: str) -> tuple[Numbers, CodedColumn]:
        """The rows and the values of a column of lists; a row without elements has None."""
        return self._get_or_make("elements", name, lambda: _flatten_list_column(self.column(name)))  # type: ignore[no-any-return]

    def mask_value(self, name: str, value: str) -> Any:
        """Where a column has this value."""
        found = self.get_coded_column(name)
        wanted = np.array([each == value for each in found.values] or [False])
        return wanted[found.numbers]

    def _get_or_make(self, kind: str, name: str, make: Callable[[], Any]) -> Any:
        key = (kind, name)
        if key not in self._known:
            self._known[key] = make()
        return self._known[key]


def _make_host_column(rows: BatchColumns) -> CodedColumn:
    found = rows.get_coded_column("client")
    return replace_column_values(found, [host_of(value) for value in found.values])


def _make_client_column(rows: BatchColumns) -> CodedColumn:
    found = combine_columns_to_tuples([rows.get_coded_column("client_id"), rows.get_coded_column("client")], rows.size)
    return replace_column_values(found, [client_of(*names) for names in found.values])


def _make_software_column(rows: BatchColumns) -> CodedColumn:
    parts = [rows.get_coded_column("client_software_name"), rows.get_coded_column("client_software_version")]
    found = combine_columns_to_tuples(parts, rows.size)
    return replace_column_values(found, [software_of(*names) for names in found.values])


DIMENSIONS: Final[dict[str, Callable[[BatchColumns], CodedColumn]]] = {
    "address": _make_host_column,
    "client": _make_client_column,
    "software": _make_software_column,
    "version": lambda rows: rows.get_coded_column("api_version"),
}
# Dimensions that an exchange has several values of, and their columns.
LISTS: Final = {"topic": "topics", "group": "groups", "error": "error_names"}


# Lists with an element for each error code, as `error_expected` has.
ERRORS: Final = frozenset({"error_codes", "error_names", "error_topics"})


def _drop_expected_errors(batch: pa.RecordBatch, name: str) -> pa.Array:
    """A column of lists about error codes, without the elements for errors that are expected."""
    column, expected = batch.column(name), batch.column("error_expected")
    kept = pc.invert(pc.list_flatten(expected))
    if pc.all(kept).as_py():
        return column
    parents = pc.list_parent_indices(expected).filter(kept).to_numpy(zero_copy_only=False)
    offsets = np.concatenate([[0], np.cumsum(np.bincount(parents, minlength=len(column)))])
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pc.list_flatten(column).filter(kept))


def _flatten_list_column(column: pa.Array) -> tuple[Numbers, CodedColumn]:
    lengths = convert_to_integers(pc.list_value_length(column))
    found = make_coded_column(pc.list_flatten(column))
    parents = np.repeat(np.arange(len(lengths), dtype=np.int64), lengths)
    width = max(len(found.values), 1)
    different, places = number_distinct_values(parents * width + found.numbers, len(lengths) * width)
    if len(different) != len(parents):  # a value counts once a row
        first = np.full(len(different), len(parents), np.int64)
        np.minimum.at(first, places, np.arange(len(parents), dtype=np.int64))
        first.sort()
        parents, found = parents[first], found.select_rows(first)
    empty = np.flatnonzero(lengths == 0)
    if len(empty):
        values = [*found.values, None]
        numbers = np.concatenate([found.numbers, np.full(len(empty), len(values) - 1, np.int64)])
        parents = np.concatenate([parents, empty])
        found = replace_column_values(CodedColumn(numbers, values), values)
    return parents, found
