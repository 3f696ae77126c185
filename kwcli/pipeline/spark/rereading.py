"""A connection and a split in, the connection's segments of it out: read from the capture again.

Needed where a split decoded on an assumption that its past does not bear out, which is rare; so all of the split is
read for one connection of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from decoders.exchanges.parts import canonical
from kwcli.pipeline.reading import Reading

if TYPE_CHECKING:
    from decoders.streams.chunks import Segment
    from kwcli.pipeline.pieces import Split

__all__ = ["Rereading"]


class Rereading:
    """What a stitcher calls; `number` is the split that the part at hand is of."""

    def __init__(self, splits: Sequence[Split]) -> None:
        self._splits = {(split.point, split.ord): split for split in splits}
        self._point = ""
        self.number = 0
        self.count = 0

    def begin(self, point: str) -> None:
        """The point of what comes."""
        self._point = point

    def __call__(self, key: bytes, after: int, until: int | None) -> Iterator[list[Segment]]:
        """The segments of a key behind the segment with one packet number, before that with another (None: the end)."""
        self.count += 1
        begun = False
        for batch in Reading(self._splits[self._point, self.number]):
            found: list[Segment] = []
            for segment in batch:
                if begun and segment[2] == until:
                    yield found
                    return
                if begun and canonical(segment[0]) == key:
                    found.append(segment)
                begun = begun or segment[2] == after
            if found:
                yield found
