"""Filters in, the numbers of the rows that they let through out: the filter in force, and the one being typed.

A filter that is typed is tried at once. Until it has found something, the rows of the last one stay on the screen; when
the line is given up, the filter in force is shown again without a new search.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import Any

from kwcli.browse.spooling.questions import FindRows, Forget, RowsFound

__all__ = ["FoundRows", "ListFilter"]

Ask = Callable[[Any], None]


class FoundRows:
    """The answer to one question so far. `until`: the number of the first row that was not looked at."""

    def __init__(self, number: int, text: str) -> None:
        self.number = number
        self.text = text
        self.rows: array[int] = array("Q")
        self.until = 0

    def add_part(self, part: RowsFound) -> None:
        """Add a part of the answer."""
        self.rows.frombytes(part.rows)
        self.until = part.until


class ListFilter:
    """The filter of the list. An empty text is no filter: all rows are shown, without a question.

    `shown`: the rows that are on the screen, None for all. They are those of the filter wanted as soon as it has found
    one, or has looked at all rows.
    """

    def __init__(self, ask: Ask, next_number: Callable[[], int]) -> None:
        self._ask = ask
        self._next_number = next_number
        self.in_force: FoundRows | None = None
        self._tried: FoundRows | None = None
        self._is_trying = False
        self.shown: FoundRows | None = None

    @property
    def text(self) -> str:
        """The filter in force."""
        return "" if self.in_force is None else self.in_force.text

    @property
    def _wanted(self) -> FoundRows | None:
        return self._tried if self._is_trying else self.in_force

    def try_text(self, text: str) -> None:
        """Try a filter that is being typed."""
        if self._is_trying and text == ("" if self._tried is None else self._tried.text):
            return
        self._forget(self._tried)
        self._is_trying = True
        self._tried = None
        if text:
            self._tried = FoundRows(self._next_number(), text)
            self._ask(FindRows(self._tried.number, text))
        self._show_wanted()

    def keep_text(self, text: str) -> None:
        """Put a filter in force, the one being tried if it is that one."""
        self.try_text(text)
        self._forget(self.in_force)
        self.in_force, self._tried, self._is_trying = self._tried, None, False
        self._show_wanted()

    def give_up(self) -> None:
        """Go back to the filter in force."""
        self._forget(self._tried)
        self._tried, self._is_trying = None, False
        self.shown = self.in_force

    def _forget(self, found: FoundRows | None) -> None:
        if found is not None:
            self._ask(Forget(found.number))

    def _show_wanted(self, end: int = 1) -> None:
        wanted = self._wanted
        if wanted is None or wanted.rows or wanted.until >= end:
            self.shown = wanted

    def take_part(self, part: RowsFound, end: int) -> bool:
        """Take a part of an answer, of `end` rows in all; returns whether other rows are to be shown now."""
        before = self.shown
        for found in (self.in_force, self._tried):
            if found is not None and found.number == part.number:
                found.add_part(part)
                self._show_wanted(end)
                return self.shown is not before or (bool(part.rows) and found is self.shown)
        return False
