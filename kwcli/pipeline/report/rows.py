"""A batch of a table in, what folds count by out: dimensions as `kw stats` has them, computed once for all folds."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from decoders.analysis.dimensions import client_of, host_of, software_of
from kwcli.pipeline.report.coded import Coded, Numbers, coded, combined, compact, integers, mapped, present


class Rows:
    """One batch. `rows` are the numbers of its rows, `parents` says which row an element of a list column is in."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self.size: int = batch.num_rows
        self._batch = batch
        self._known: dict[tuple[str, str], Any] = {}

    def column(self, name: str) -> pa.Array:
        """A column as it is."""
        return self._batch.column(name)

    def integers(self, name: str) -> Numbers:
        """A column of integers, null as 0."""
        return self._once("integers", name, lambda: integers(self.column(name)))  # type: ignore[no-any-return]

    def known(self, name: str) -> Any:
        """Where a column is not null."""
        return self._once("known", name, lambda: present(self.column(name)))

    def coded(self, name: str) -> Coded:
        """The values of a column."""
        return self._once("coded", name, lambda: coded(self.column(name)))  # type: ignore[no-any-return]

    def dimension(self, name: str) -> Coded:
        """The values of a dimension of one value a row."""
        make = DIMENSIONS.get(name)
        return self._once("dimension", name, partial(make, self)) if make else self.coded(name)

    def lengths(self, name: str) -> Numbers:
        """How many elements a column of lists has in each row."""
        return self._once("lengths", name, lambda: integers(pc.list_value_length(self.column(name))))  # type: ignore[no-any-return]

    def elements(self, name: str) -> tuple[Numbers, Coded]:
        """The rows and the values of a column of lists; a row without elements has None."""
        return self._once("elements", name, lambda: _elements(self.column(name)))  # type: ignore[no-any-return]

    def is_value(self, name: str, value: str) -> Any:
        """Where a column has this value."""
        found = self.coded(name)
        wanted = np.array([each == value for each in found.values] or [False])
        return wanted[found.numbers]

    def _once(self, kind: str, name: str, make: Callable[[], Any]) -> Any:
        key = (kind, name)
        if key not in self._known:
            self._known[key] = make()
        return self._known[key]


def _host(rows: Rows) -> Coded:
    found = rows.coded("client")
    return mapped(found, [host_of(value) for value in found.values])


def _client(rows: Rows) -> Coded:
    found = combined([rows.coded("client_id"), rows.coded("client")], rows.size)
    return mapped(found, [client_of(*names) for names in found.values])


def _software(rows: Rows) -> Coded:
    parts = [rows.coded("client_software_name"), rows.coded("client_software_version")]
    found = combined(parts, rows.size)
    return mapped(found, [software_of(*names) for names in found.values])


DIMENSIONS: Final[dict[str, Callable[[Rows], Coded]]] = {
    "address": _host,
    "client": _client,
    "software": _software,
    "version": lambda rows: rows.coded("api_version"),
}
# Dimensions that an exchange has several values of, and their columns.
LISTS: Final = {"topic": "topics", "group": "groups", "error": "error_names"}


def _elements(column: pa.Array) -> tuple[Numbers, Coded]:
    lengths = integers(pc.list_value_length(column))
    found = coded(pc.list_flatten(column))
    parents = np.repeat(np.arange(len(lengths), dtype=np.int64), lengths)
    width = max(len(found.values), 1)
    different, places = compact(parents * width + found.numbers, len(lengths) * width)
    if len(different) != len(parents):  # a value counts once a row
        first = np.full(len(different), len(parents), np.int64)
        np.minimum.at(first, places, np.arange(len(parents), dtype=np.int64))
        first.sort()
        parents, found = parents[first], found.at(first)
    empty = np.flatnonzero(lengths == 0)
    if len(empty):
        values = [*found.values, None]
        numbers = np.concatenate([found.numbers, np.full(len(empty), len(values) - 1, np.int64)])
        parents = np.concatenate([parents, empty])
        found = mapped(Coded(numbers, values), values)
    return parents, found
