"""The segments of several captures in, one sequence by packet time out.

Each capture keeps its own order, whatever its clock does: of the captures' next segments the earliest goes first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from decoders.streams.chunks import Segment

__all__ = ["merged"]

_TIME: Final = 1  # of a segment


class _Feed:
    """One capture: its batches, the one at hand and the place in it."""

    __slots__ = ("_batches", "at", "batch")

    def __init__(self, batches: Iterable[list[Segment]]) -> None:
        self._batches = iter(batches)
        self.batch: list[Segment] = []
        self.at = 0

    def ready(self) -> bool:
        """Whether a next segment is at hand; reads on until one is."""
        while self.at == len(self.batch):
            found = next(self._batches, None)
            if found is None:
                return False
            self.batch, self.at = found, 0
        return True

    def take(self, until: int | None) -> list[Segment]:
        """The next segment and those behind it that are not later than `until`."""
        batch, at = self.batch, self.at
        if until is None:
            end = len(batch)
        else:
            end = at + 1
            while end < len(batch) and batch[end][_TIME] <= until:
                end += 1
        self.at = end
        return batch[at:end]


def merged(captures: Sequence[Iterable[list[Segment]]]) -> Iterator[list[Segment]]:
    """The segments of all captures by time, in batches. A capture is read as far as is needed, and no further."""
    feeds = [feed for capture in captures if (feed := _Feed(capture)).ready()]
    while feeds:
        times = [feed.batch[feed.at][_TIME] for feed in feeds]
        first = times.index(min(times))
        feed = feeds[first]
        del times[first]
        yield feed.take(min(times) if times else None)
        if not feed.ready():
            feeds.remove(feed)
