"""Batches of any table in, one row for each combination of values out, with counts and sums: the plainest fold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from decoders.analysis.fold import Row
from decoders.errors import LimitExceeded, Malformed
from decoders.limits import GROUPS_MAX
from decoders.wire.state import fields, pack, unpack
from kwcli.pipeline.report.coded import combined, counts, sums
from kwcli.pipeline.report.rows import Rows


class Tally:
    """How many rows have which values in the columns `by`, and the sums of the columns `sums` in them.

    Merged in any order it gives the same rows; those it is merged with were made with the same arguments.
    """

    def __init__(self, by: Sequence[str], sums: Sequence[str] = ()) -> None:
        self.by = tuple(by)
        self.sums = tuple(sums)
        self._groups: dict[tuple[Any, ...], list[int]] = {}

    def count(self, rows: Rows) -> None:
        """Count a batch. Raises LimitExceeded when there are too many combinations."""
        groups = combined([rows.dimension(name) for name in self.by], rows.size)
        size = len(groups.values)
        columns = [
            counts(groups.numbers, size),
            *(sums(groups.numbers, rows.integers(name), size) for name in self.sums),
        ]
        for key, *amounts in zip(groups.values, *columns, strict=True):
            self._take(key, amounts)

    def _take(self, key: tuple[Any, ...], amounts: Sequence[int]) -> None:
        before = self._groups.get(key)
        if before is None:
            if len(self._groups) >= GROUPS_MAX:
                raise LimitExceeded(f"more than {GROUPS_MAX:,} groups by {', '.join(self.by)}")
            self._groups[key] = list(amounts)
        else:
            for at, amount in enumerate(amounts):
                before[at] += amount

    def merge(self, other: Tally) -> None:
        """Take in what another has counted. Raises LimitExceeded."""
        for key, amounts in other._groups.items():
            self._take(key, amounts)

    def export(self) -> bytes:
        """The state, for `resume`."""
        return pack([list(self.by), list(self.sums), list(self._groups.items())])

    def resume(self, state: bytes) -> None:
        """Go on where `export` was called. Raises DecodeError."""
        by, columns, items = fields(unpack(state), list, list, list)
        if (by, columns) != (list(self.by), list(self.sums)):
            raise Malformed("the state of a tally of other columns")
        for item in items:
            key, amounts = fields(item, tuple, list)
            self._take(tuple(key), list(fields(amounts, *(int for _ in range(len(self.sums) + 1)))))

    def rows(self) -> list[Row]:
        """The columns `by`, `count`, and the sums, in the order of the former."""
        ordered = sorted(self._groups.items(), key=lambda item: [(value is not None, value) for value in item[0]])
        return [dict(zip((*self.by, "count", *self.sums), (*key, *amounts), strict=True)) for key, amounts in ordered]
