"""Exchanges in; counts, and at the end what folds make of them, out: the renderer of commands that show no rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Self

from decoders.errors import LimitExceeded
from kwcli.reading.run_coverage import RunCoverage
from kwcli.run_environment import Failure

if TYPE_CHECKING:
    from decoders.analysis.fold_interface import Fold
    from decoders.exchanges.exchange import Settled


class FoldRenderer:
    """Counts exchanges and gives them to folds; subclasses write the results in `close`.

    `remedy` is added to the error that there are too many groups. `coverage` says how much of the inputs was read, once
    that is known: when `close` is called.
    """

    shows_skipped = False

    def __init__(self, folds: Sequence[Fold], remedy: str) -> None:
        self.errors = self.expected = self.undecoded = self.remarks = 0
        self.folded = folds
        self._adds: list[Callable[[Any], None]] = [fold.add for fold in folds]
        self._remedy = remedy
        self.coverage = RunCoverage()

    def make_empty_copy(self) -> FoldRenderer:
        """A renderer like this one at its beginning, whose folds have seen nothing: what --jobs needs of a subclass.

        It is made anew, never copied: `copy.deepcopy` leaves bound methods of compiled classes bound to the folds of
        the original.
        """
        raise NotImplementedError(f"{type(self).__name__} works in one process")

    def set_coverage(self, coverage: RunCoverage) -> None:
        """Take what the answer covers of the inputs; called before `close`."""
        self.coverage = coverage

    def write(self, rows: list[Settled]) -> None:
        """Give the exchanges to the folds."""
        adds = self._adds
        try:
            for row in rows:
                if row.kind == "exchange":
                    for add in adds:
                        add(row)
                    if not row._looked:
                        row._read_sides()
                    if row._error_codes:
                        unexpected = row.unexpected
                        self.errors += bool(unexpected)
                        self.expected += not unexpected
                    if row._failed and row.outcome == "complete":
                        self.undecoded += 1
                    if row._error_codes or row.extra is not None:
                        self.remarks += len(row.remarks)
        except LimitExceeded as problem:
            raise Failure(f"{problem.text}: {self._remedy}") from None

    def merge(self, other: Self) -> None:
        """Merge the folds of a renderer like this one; its counts are not merged."""
        try:
            for fold, more in zip(self.folded, other.folded, strict=True):
                fold.merge(more)
        except LimitExceeded as problem:
            raise Failure(f"{problem.text}: {self._remedy}") from None

    def learn_from_unshown_rows(self, rows: list[Settled]) -> None:
        """Take rows that the filters have left out; a subclass may learn from them."""

    def close(self) -> None:
        """Write the results, in a subclass."""
