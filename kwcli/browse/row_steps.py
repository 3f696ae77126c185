"""Steps to the next row that a filter lets through, or to the one before: rows found in, the list's cursor moved."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kwcli.browse.background_processes.search_messages import FindRows, RowsFound
from kwcli.browse.row_filter import FoundRows

if TYPE_CHECKING:
    from kwcli.browse.panes.list_pane import ListPane

__all__ = ["RowSteps"]


class RowSteps:
    """The rows of one filter, asked for at the first step; and the step that is still to be done.

    `name`: what such a row is called, as in "no further error".
    """

    def __init__(self, ask: Callable[[Any], None], next_number: Callable[[], int], text: str, name: str) -> None:
        self._ask, self._next_number = ask, next_number
        self._text, self._name = text, name
        self._found: FoundRows | None = None
        self._step = 0
        self._from_here = False  # the row at the cursor may be the next one

    def begin_step(self, step: int, *, from_here: bool = False) -> None:
        """Begin a step: 1 for the next row, -1 for the one before. Steps in one direction are all done.

        `from_here`: the row at the cursor may be the next one.
        """
        self._step = self._step + step if self._step * step > 0 else step
        self._from_here = from_here and self._step == 1
        if self._found is None:
            self._found = FoundRows(self._next_number(), self._text)
            self._ask(FindRows(self._found.number, self._text))

    @property
    def pending(self) -> int:
        """How many steps are still to be done: forwards, or below 0 backwards."""
        return self._step

    def take_part(self, part: RowsFound) -> bool:
        """Take a part of the answer; False for that to another question."""
        if self._found is None or part.number != self._found.number:
            return False
        self._found.add_part(part)
        return True

    def go_on(self, pane: ListPane, end: int) -> str:
        """Do the steps whose rows are found, of `end` rows in all; returns why one cannot be done, where so."""
        while self._found is not None and self._step:
            step = 1 if self._step > 0 else -1
            line = self._find_line(pane, self._found, step, end)
            if line is not None:
                self._step -= step
                self._from_here = False
                pane.move_to(line)
            elif self._may_come(pane, self._found, step, end):
                return ""
            else:
                self._step = 0
                return f"no {'further' if step > 0 else 'earlier'} {self._name}"
        return ""

    @staticmethod
    def _may_come(pane: ListPane, found: FoundRows, step: int, end: int) -> bool:
        """Whether rows that are still to be looked at may be the one of a step."""
        if step > 0 or pane.is_sorted or not pane.count_lines():
            return found.until < end
        return found.until < pane.number_at(pane.cursor)

    def _find_line(self, pane: ListPane, found: FoundRows, step: int, end: int) -> int | None:
        """The line of the next row; None where it is not known, or there is none."""
        if not pane.count_lines():
            return None
        if pane.is_sorted:  # any row may be the next one in the order
            return self._find_line_in_order(pane, found, step) if found.until >= end else None
        here = pane.number_at(pane.cursor)
        if step < 0 and found.until < here:  # a later part may have one that is nearer
            return None
        if step > 0:
            at = (bisect_left if self._from_here else bisect_right)(found.rows, here)
        else:
            at = bisect_left(found.rows, here) - 1
        while 0 <= at < len(found.rows):
            line = pane.find_line_of(found.rows[at])
            if line < pane.count_lines() and pane.number_at(line) == found.rows[at]:
                return line
            at += step
        return None

    def _find_line_in_order(self, pane: ListPane, found: FoundRows, step: int) -> int | None:
        """The next of these lines in a list that is sorted; None where none is known."""
        rows = frozenset(found.rows)
        begin = pane.cursor if self._from_here else pane.cursor + step
        lines = range(begin, pane.count_lines() if step > 0 else -1, step)
        return next((line for line in lines if pane.number_at(line) in rows), None)
