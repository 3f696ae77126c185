"""Filters in, the numbers of the rows that they let through out: the filter in force, and the one being typed.

A filter that is typed is tried at once. Until it has found something, the rows of the last one stay on the screen; when
the line is given up, the filter in force is shown again without a new search.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import Any, Final

from decoders.errors import FilterError
from decoders.filters import parse
from kwcli.browse.background_processes.search_messages import FindRows, Forget, RowsFound, RowsSorted, SortRows

__all__ = [
    "ORDERED_BY",
    "ORDERS",
    "ORDERS_OF_TITLES",
    "FoundRows",
    "ListFilter",
    "does_filter_decode_values",
]

Ask = Callable[[Any], None]
# The orders of the list, as a key goes through them: words of `--sort` and `gap`, empty for that of the capture. The
# time of requests is late: rows come nearly in that order, so that a key would seem to do nothing.
ORDERED_BY: Final = {
    "latency": "latency, slowest first, then what waited by design",
    "size": "size, largest first",
    "time": "the time of the request",
    "gap": "the gap before a row, longest first",
}
# The title of a column → the order by it.
ORDERS_OF_TITLES: Final = {
    **dict.fromkeys(("time", "since"), "time"),
    "gap": "gap",
    **dict.fromkeys(("took", "latency"), "latency"),
    **dict.fromkeys(("sent", "got", "size", "request_size", "response_size"), "size"),
}
ORDERS: Final = ("", *ORDERED_BY)


def does_filter_decode_values(text: str) -> bool:
    """Whether a filter looks into decoded keys or values; one that cannot be read does not."""
    try:
        return parse(text).set_value_reader(None) is not None
    except FilterError:
        return False


class FoundRows:
    """The answer to one question so far. `until`: the number of the first row that was not looked at.

    `order`: the word of `--sort` that the rows are sorted by; empty where they are in the order of their numbers.
    """

    def __init__(self, number: int, text: str, order: str = "") -> None:
        self.number = number
        self.text = text
        self.order = order
        self.rows: array[int] = array("Q")
        self.gaps: array[int] = array(
            "q"
        )  # of each row the time without any before it, in ns; where they are in that order
        self.until = 0
        self.failures: dict[str, dict[str, int]] = {}  # as RowsFound has them

    def add_answer_part(self, part: RowsFound | RowsSorted) -> None:
        """Add a part of the answer; rows that are sorted come all anew."""
        if isinstance(part, RowsSorted):
            self.rows, self.gaps = array("Q"), array("q")
            self.gaps.frombytes(part.gaps)
        elif part.failures:
            for api, names in part.failures.items():
                sums = self.failures.setdefault(api, {})
                for name, count in names.items():
                    sums[name] = sums.get(name, 0) + count
        self.rows.frombytes(part.rows)
        self.until = part.until


class ListFilter:
    """The filter of the list, and its order. Without them all rows are shown, without a question.

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
        self.order = ""

    @property
    def text(self) -> str:
        """The filter in force."""
        return "" if self.in_force is None else self.in_force.text

    def count_listed(self, end: int) -> int:
        """How many rows, of `end` in all, were looked at for the list; 0 where it is still that of another filter."""
        if self.shown is not self.in_force:
            return 0
        return end if self.shown is None else self.shown.until

    @property
    def _wanted(self) -> FoundRows | None:
        return self._tried if self._is_trying else self.in_force

    def try_filter(self, text: str) -> None:
        """Try a filter that is being typed."""
        if self._is_trying and self._tried is not None and text == self._tried.text:
            return
        self._forget_requested_rows(self._tried)
        self._is_trying = True
        self._tried = self._request_rows(text)
        self._show_requested_rows()

    def _request_rows(self, text: str) -> FoundRows | None:
        if not text and not self.order:
            return None
        found = FoundRows(self._next_number(), text, self.order)
        self._ask(SortRows(found.number, text, self.order) if self.order else FindRows(found.number, text))
        return found

    def request_rows_in_order(self, order: str) -> None:
        """Ask for the rows of the filter in force anew, in an order; the ones shown stay until others are found."""
        self.order = order
        self._forget_requested_rows(self.in_force)
        self.in_force = self._request_rows(self.text)
        self._show_requested_rows()

    def apply_text(self, text: str) -> None:
        """Put a filter in force, the one being tried if it is that one."""
        self.try_filter(text)
        self._forget_requested_rows(self.in_force)
        self.in_force, self._tried, self._is_trying = self._tried, None, False
        self._show_requested_rows()

    def give_up(self) -> None:
        """Go back to the filter in force."""
        self._forget_requested_rows(self._tried)
        self._tried, self._is_trying = None, False
        self.shown = self.in_force

    def _forget_requested_rows(self, found: FoundRows | None) -> None:
        if found is not None:
            self._ask(Forget(found.number))

    def _show_requested_rows(self, end: int = 1) -> None:
        wanted = self._wanted
        if wanted is None or wanted.rows or wanted.until >= end:
            self.shown = wanted

    def take_answer_part(self, part: RowsFound | RowsSorted, end: int) -> bool:
        """Take a part of an answer, of `end` rows in all; returns whether other rows are to be shown now."""
        before = self.shown
        for found in (self.in_force, self._tried):
            if found is not None and found.number == part.number:
                found.add_answer_part(part)
                self._show_requested_rows(end)
                return self.shown is not before or (bool(part.rows) and found is self.shown)
        return False
