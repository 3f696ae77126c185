"""Steps of settled rows in, what a renderer or fold makes of them out: the work that render_jobs.py shares."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from decoders.exchanges.topic_and_node_names import NODE_LISTS, NodeIds
from decoders.named_tuple import NamedTuple

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Settled
    from kwcli.output.renderers import Renderer
    from kwcli.reading.sinks.fold_renderer import FoldRenderer

__all__ = ["FoldWork", "RowCounts", "RowStep", "RowWork"]


class RowStep(NamedTuple):
    """Rows of one feed of the engine: rows from which renderers only learn, rows to write, and rows to filter first."""

    unshown: list[Settled]
    to_write: list[Settled]
    to_filter: list[Settled]


class RowCounts(NamedTuple):
    """Counts of rows, made as they are written."""

    errors: int = 0
    expected: int = 0
    undecoded: int = 0
    remarks: int = 0
    chosen: int = 0  # rows that the filter wants, of those to filter
    passed_over: int = 0  # of those to filter, rows with errors that --errors leaves out

    def add(self, other: RowCounts) -> RowCounts:
        """The sums of these counts and the others."""
        return RowCounts(*map(operator.add, self, other))

    def subtract(self, before: RowCounts) -> RowCounts:
        """How much the counts have grown since `before`."""
        return RowCounts(*map(operator.sub, self, before))


FilterRows = Callable[["list[Settled]"], "tuple[list[Settled], int]"]


class RowWork:
    """The work on steps, in the reader or a worker, of a renderer that writes rows.

    `filter_rows` gives the rows that a filter wants, and how many --errors leaves out.
    """

    # Whether rows are written to the output as they come, so that its first bytes come before all parts.
    writes_rows = True

    def __init__(self, renderer: Renderer, filter_rows: FilterRows) -> None:
        self.renderer = renderer
        self.missing_schemas: Counter[str] = Counter()  # of the reader of values of this process: how many name an id
        self._chosen = self._passed_over = 0
        self._filter_rows = filter_rows
        self._nodes = NodeIds()  # the nodes that all workers know
        # Whether all rows are of the day of the latest line, where the renderer has lines between days.
        self._keeps_day: Callable[[Iterable[Settled]], bool] | None = getattr(renderer, "are_all_on_latest_day", None)

    def process_steps(self, steps: Iterable[RowStep]) -> None:
        """Learn from, filter and write the rows of steps."""
        renderer = self.renderer
        for unshown, to_write, to_filter in steps:
            if unshown:
                renderer.learn_from_unshown_rows(unshown)
            if to_filter:
                self.learn_from_unshown_rows(to_filter)
                to_write, passed_over = self._filter_rows(to_filter)
                self._chosen += len(to_write)
                self._passed_over += passed_over
            if to_write:
                renderer.write(to_write)

    def learn_from_unshown_rows(self, rows: list[Settled]) -> None:
        """Learn from rows of which a filter chooses some."""
        self.renderer.learn_from_unshown_rows(rows)

    def rows_to_learn_from(self, rows: list[Settled]) -> list[Settled]:
        """The rows, of those not shown, that workers have to learn from: answers that name nodes."""
        return [row for row in rows if row.kind == "exchange" and row.api_key in NODE_LISTS]

    def is_independent(self, step: RowStep) -> bool:
        """Whether a worker can write the step without what was written before."""
        return self._keeps_day is None or all(self._keeps_day(rows) for rows in step if rows)

    def rows_for_all_workers(self, step: RowStep) -> list[Settled]:
        """The rows that all workers have to learn from, not only the worker that writes them."""
        found: list[Settled] = []
        for rows in step:
            for row in self.rows_to_learn_from(rows):
                assert row.kind == "exchange"
                if self._nodes.add_brokers(row.view("response")):
                    found.append(row)
        return found

    def counts(self) -> RowCounts:
        """The counts of all rows so far."""
        renderer = self.renderer
        return RowCounts(
            renderer.errors, renderer.expected, renderer.undecoded, renderer.remarks, self._chosen, self._passed_over
        )

    def begin_worker(self) -> None:
        """Begin as a worker, which gathers states of its own rows only."""

    def states(self) -> tuple[bytes, ...]:
        """The states that a worker has gathered, as bytes."""
        return ()

    def merge_worker_states(self, states: tuple[bytes, ...]) -> None:
        """Merge the states that a worker has gathered."""


class FoldWork(RowWork):
    """The work on steps of folds, which write only at the end."""

    renderer: FoldRenderer
    writes_rows = False

    def __init__(self, renderer: FoldRenderer, filter_rows: FilterRows) -> None:
        super().__init__(renderer, filter_rows)
        self._whole = True

    def learn_from_unshown_rows(self, rows: list[Settled]) -> None:
        """Learn from rows, but not in a worker: the reader learns from all of them."""
        if self._whole:
            self.renderer.learn_from_unshown_rows(rows)

    def rows_to_learn_from(self, rows: list[Settled]) -> list[Settled]:
        """Let the reader learn from rows that are not shown; workers need none of them."""
        self.renderer.learn_from_unshown_rows(rows)
        return []

    def rows_for_all_workers(self, step: RowStep) -> list[Settled]:
        """Let the reader learn from rows to filter; workers need none of them."""
        if step.to_filter:
            self.renderer.learn_from_unshown_rows(step.to_filter)
        return []

    def begin_worker(self) -> None:
        """Begin as a worker, with folds that have seen nothing."""
        self.renderer, self._whole = self.renderer.make_empty_copy(), False

    def states(self) -> tuple[bytes, ...]:
        """The exported states of the folds."""
        return tuple(fold.export() for fold in self.renderer.folded)

    def merge_worker_states(self, states: tuple[bytes, ...]) -> None:
        """Merge a worker's states into the folds."""
        other = self.renderer.make_empty_copy()
        for fold, state in zip(other.folded, states, strict=True):
            fold.resume(state)
        self.renderer.merge(other)
