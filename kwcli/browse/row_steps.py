"""Steps to the next row that a filter lets through, or to the one before: rows found in, the list's cursor moved."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kwcli.browse.background_processes.search_messages import FindRows, RowsFound
from kwcli.browse.row_filter import FoundRows
from kwcli.filter_options import WENT_WRONG

if TYPE_CHECKING:
    from kwcli.browse.panes.list_pane import ListPane

__all__ = ["RowSteps", "make_error_and_record_steps"]


class RowSteps:
    """The rows of one filter, asked for at the first step; and the step that is still to be done.

    `name`: what such a row is called, as in "no further error"; `actions`: those whose keys go on with the steps that
    are still to be done, where any other key gives them up.
    """

    def __init__(
        self, ask: Callable[[Any], None], next_number: Callable[[], int], text: str, name: str, actions: tuple[str, ...]
    ) -> None:
        self._ask, self._next_number = ask, next_number
        self._text, self._name, self._actions = text, name, actions
        self._found: FoundRows | None = None
        self._step = 0
        self._from_here = False  # the row at the cursor may be the next one
        # The rows of the list and the one at the cursor → the number from which the next row is still to be looked for.
        self._looked: tuple[array[int] | None, int, int] | None = None

    def begin_step(self, step: int, *, from_here: bool = False) -> None:
        """Begin a step: 1 for the next row, -1 for the one before. Steps in one direction are all done.

        `from_here`: the row at the cursor may be the next one.
        """
        self._step = self._step + step if self._step * step > 0 else step
        self._from_here = from_here and self._step == 1
        self._looked = None
        if self._found is None:
            self._found = FoundRows(self._next_number(), self._text)
            self._ask(FindRows(self._found.number, self._text))

    def give_up(self, action: str = "") -> None:
        """Give up what is still to be done, unless the action that a key stands for goes on with it."""
        if action not in self._actions:
            self._step = 0

    @property
    def pending(self) -> int:
        """How many steps are still to be done: forwards, or below 0 backwards."""
        return self._step

    def take_answer_part(self, part: RowsFound) -> bool:
        """Take a part of the answer; False for that to another question."""
        if self._found is None or part.number != self._found.number:
            return False
        self._found.add_answer_part(part)
        return True

    def go_on(self, pane: ListPane, listed: int, end: int) -> tuple[int, str]:
        """Do the steps whose rows are found; returns how many, and why one cannot be done, where so.

        `listed`: the number of the first row of which it is not known whether the list has it; `end`: how many there
        are in all.
        """
        done = 0
        while self._found is not None and self._step:
            step = 1 if self._step > 0 else -1
            known = min(self._found.until, listed)
            needed = end if step > 0 or pane.is_sorted or not pane.count_lines() else pane.number_at(pane.cursor)
            line = self._find_line(pane, self._found, step, known, needed)
            if line is not None:
                self._step -= step
                self._from_here = False
                done += 1
                pane.move_to(line)
            elif known < needed:
                break
            else:
                self._step = 0
                return done, f"no {'further' if step > 0 else 'earlier'} {self._name}"
        return done, ""

    def _find_line(self, pane: ListPane, found: FoundRows, step: int, known: int, needed: int) -> int | None:
        """The line of the next row, of those before `known`; None where there is none."""
        if not pane.count_lines():
            return None
        if pane.is_sorted:  # any row may be the next one in the order
            return self._find_line_in_order(pane, found, step) if known >= needed else None
        here = pane.number_at(pane.cursor)
        if step > 0:
            return self._find_line_below(pane, found, here, known)
        if known < here:  # a later part may have one that is nearer
            return None
        numbers = range(bisect_left(found.rows, here) - 1, -1, -1)
        return next(
            (line for at in numbers if (line := _find_line_of_listed_row(pane, found.rows[at])) is not None), None
        )

    def _find_line_below(self, pane: ListPane, found: FoundRows, here: int, known: int) -> int | None:
        """The line of the next row below the one with this number; rows that were looked at before are left out."""
        begin = here if self._from_here else here + 1
        if self._looked is not None and self._looked[0] is pane.numbers and self._looked[1] == here:
            begin = self._looked[2]
        for at in range(bisect_left(found.rows, begin), bisect_left(found.rows, known)):
            line = _find_line_of_listed_row(pane, found.rows[at])
            if line is not None:
                return line
        self._looked = pane.numbers, here, max(begin, known)
        return None

    def _find_line_in_order(self, pane: ListPane, found: FoundRows, step: int) -> int | None:
        """The next of these lines in a list that is sorted; None where none is known."""
        rows = frozenset(found.rows)
        begin = pane.cursor if self._from_here else pane.cursor + step
        lines = range(begin, pane.count_lines() if step > 0 else -1, step)
        return next((line for line in lines if pane.number_at(line) in rows), None)


def make_error_and_record_steps(
    ask: Callable[[Any], None], next_number: Callable[[], int]
) -> tuple[RowSteps, RowSteps]:
    """The steps to errors, and those to rows with records."""
    return (
        RowSteps(ask, next_number, WENT_WRONG, "error", ("next_error", "earlier_error")),
        RowSteps(
            *(ask, next_number, "records > 0", "row with records"),
            ("next_records", "earlier_records", "next_record", "earlier_record"),
        ),
    )


def _find_line_of_listed_row(pane: ListPane, number: int) -> int | None:
    """The line of a row; None where the list has it not."""
    line = pane.find_line_of(number)
    return line if 0 <= line < pane.count_lines() and pane.number_at(line) == number else None
