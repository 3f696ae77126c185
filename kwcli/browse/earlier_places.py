"""Filters and places that a key leaves in, those that it can be gone back to out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from decoders.named_tuple import NamedTuple

if TYPE_CHECKING:
    from kwcli.browse.panes.line_pane import LinePane

__all__ = ["EarlierPlaces", "Place"]

_FILTERS_MAX: Final = 200


class Place(NamedTuple):
    """A view, the filter of the list, and the number of the row that its cursor is on; None where it has no row."""

    view: LinePane
    text: str
    row: int | None


class EarlierPlaces:
    """What was shown before. A place is left by a key that lists rows; a filter by any that changes it."""

    def __init__(self) -> None:
        self._filters: list[tuple[str, int | None]] = []
        self._places: list[tuple[str, Place]] = []  # the filter by which each was left, and the place
        self._evidence: dict[str, str] = {}  # a filter of evidence → how much of it the evidence shows

    def add_filter(self, text: str, row: int | None) -> None:
        """Note the filter that another one replaces, and the row at the cursor."""
        self._filters.append((text, row))
        del self._filters[:-_FILTERS_MAX]

    def pop_replaced_filter(self) -> tuple[str, int | None] | None:
        """The filter that was replaced last, with the row that the cursor was on; each one once."""
        return self._filters.pop() if self._filters else None

    def add_place(self, place: Place, text: str, said: str) -> None:
        """Note the place that is left to show the rows of a filter; `said`: what these rows are of a finding.

        Where the place itself shows the rows that were listed from there before, that is one step back, not two.
        """
        if said:
            self._evidence[text] = said
        if self._places and self._places[-1][1].view is place.view and self._places[-1][0] == place.text:
            place = Place(place.view, *self._places.pop()[1][1:])
        self._places.append((text, place))
        del self._places[:-_FILTERS_MAX]

    def describe_evidence_of_filter(self, text: str) -> str:
        """What the rows of a filter are of a finding, as in "3 examples of 5"; empty where they are none of any."""
        return self._evidence.get(text, "")

    @property
    def last_place(self) -> Place | None:
        """The place that was left last."""
        return self._places[-1][1] if self._places else None

    def forget_last_place(self) -> None:
        """Forget the place that was left last: it is shown again."""
        self._places.pop()

    def forget_places(self) -> None:
        """Forget all places."""
        self._places.clear()
