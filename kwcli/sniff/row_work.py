"""Steps of settled rows in, what a renderer or a fold makes of them out: the work that `--jobs` shares (jobs.py)."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import TYPE_CHECKING, NamedTuple

from decoders.exchanges.addresses import NODE_LISTS
from kwcli.output.nodes import Nodes

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Settled
    from kwcli.output import Renderer
    from kwcli.sniff.fold_renderer import FoldRenderer

__all__ = ["FoldWork", "RowCounts", "RowStep", "RowWork"]


class RowStep(NamedTuple):
    """What one feed of the engine gave: rows that are only to be noticed, rows to write, rows to choose from first."""

    noticed: list[Settled]
    written: list[Settled]
    sifted: list[Settled]


class RowCounts(NamedTuple):
    """What is counted of rows as they are written."""

    errors: int = 0
    expected: int = 0
    undecoded: int = 0
    chosen: int = 0  # of rows to choose from
    passed_over: int = 0  # of those, with errors that --errors leaves out

    def plus(self, other: RowCounts) -> RowCounts:
        """Of both together."""
        return RowCounts(*map(operator.add, self, other))

    def since(self, before: RowCounts) -> RowCounts:
        """What has come to those of before."""
        return RowCounts(*map(operator.sub, self, before))


Sift = Callable[["list[Settled]"], "tuple[list[Settled], int]"]


class RowWork:
    """What is done with steps, here or in a worker, by a renderer that writes rows.

    `sift` gives the rows that a filter wants, and how many --errors leaves out.
    """

    # Whether rows are written to the output as they come, and its first bytes stand before those of all parts.
    writes_rows = True

    def __init__(self, renderer: Renderer, sift: Sift) -> None:
        self.renderer = renderer
        self._chosen = self._passed_over = 0
        self._sift = sift
        self._nodes = Nodes()  # those of which all workers know
        # Whether rows are all of the day that the latest line was of, where the renderer has lines between days.
        self._keeps_day: Callable[[Iterable[Settled]], bool] | None = getattr(renderer, "keeps_day", None)

    def do(self, steps: Iterable[RowStep]) -> None:
        """Write them."""
        renderer = self.renderer
        for noticed, written, sifted in steps:
            if noticed:
                renderer.notice(noticed)
            if sifted:
                self.notice(sifted)
                written, passed_over = self._sift(sifted)
                self._chosen += len(written)
                self._passed_over += passed_over
            if written:
                renderer.write(written)

    def notice(self, rows: list[Settled]) -> None:
        """Take notice of rows from which a filter chooses."""
        self.renderer.notice(rows)

    def skim(self, rows: list[Settled]) -> list[Settled]:
        """Of rows that are not shown those that workers have to notice: answers that name nodes, and no others."""
        return [row for row in rows if row.kind == "exchange" and row.api_key in NODE_LISTS]

    def is_apart(self, step: RowStep) -> bool:
        """Whether a worker can write it without what was written before."""
        return self._keeps_day is None or all(self._keeps_day(rows) for rows in step if rows)

    def news(self, step: RowStep) -> list[Settled]:
        """The rows of which all have to take notice, not only the worker that writes them."""
        said: list[Settled] = []
        for rows in step:
            for row in self.skim(rows):
                assert row.kind == "exchange"
                if self._nodes.learn(row.view("response") or {}):
                    said.append(row)
        return said

    def counts(self) -> RowCounts:
        """Of all rows so far."""
        renderer = self.renderer
        return RowCounts(renderer.errors, renderer.expected, renderer.undecoded, self._chosen, self._passed_over)

    def begin(self) -> None:
        """This is a worker now: what it gathers is its own."""

    def states(self) -> tuple[bytes, ...]:
        """What the worker has gathered."""
        return ()

    def take(self, states: tuple[bytes, ...]) -> None:
        """What a worker has gathered."""


class FoldWork(RowWork):
    """The same by folds, which say something at the end alone. `kept`: what copies of the renderer share with it."""

    renderer: FoldRenderer
    writes_rows = False

    def __init__(self, renderer: FoldRenderer, sift: Sift, kept: Iterable[object]) -> None:
        self._kept = {id(each): each for each in kept}
        super().__init__(renderer, sift)
        self._new = self._copy(renderer)
        self._whole = True

    def _copy(self, renderer: FoldRenderer) -> FoldRenderer:
        return deepcopy(renderer, {**self._kept})

    def notice(self, rows: list[Settled]) -> None:
        """In a worker nothing: the process that reads takes notice of all rows."""
        if self._whole:
            self.renderer.notice(rows)

    def skim(self, rows: list[Settled]) -> list[Settled]:
        """All are noticed here."""
        self.renderer.notice(rows)
        return []

    def news(self, step: RowStep) -> list[Settled]:
        """What is learnt of all rows is learnt here; what a worker adds it tells."""
        if step.sifted:
            self.renderer.notice(step.sifted)
        return []

    def begin(self) -> None:
        """Add to folds that have seen nothing."""
        self.renderer, self._whole = self._new, False

    def states(self) -> tuple[bytes, ...]:
        """Those of the folds."""
        return tuple(fold.export() for fold in self.renderer.folded)

    def take(self, states: tuple[bytes, ...]) -> None:
        """Merge them."""
        other = self._copy(self._new)
        for fold, state in zip(other.folded, states, strict=True):
            fold.resume(state)
        self.renderer.merge(other)
