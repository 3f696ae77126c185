"""A connection and a split in, the connection's segments of it out: read from the capture again.

Needed where a split decoded on an assumption that its past does not bear out, which is rare; so all of the split is
read for one connection of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from decoders.exchanges.parts import canonical
from kwcli.pipeline.reading import Reading

if TYPE_CHECKING:
    from decoders.streams.chunks import Segment
    from kwcli.pipeline.local import Job

__all__ = ["Rereading"]


class Rereading:
    """What a stitcher calls; `number` is the split that the part at hand is of."""

    def __init__(self, job: Job) -> None:
        self._splits = {(split.point, split.ord): split for split in job.splits}
        self._point = ""
        self.number = 0
        self.count = 0

    def begin(self, point: str) -> None:
        """The point of what comes."""
        self._point = point

    def __call__(self, key: bytes, packet: int, count: int | None) -> Iterator[list[Segment]]:
        """The segments of a key from the one with this packet number on, so many or all to the end of the split."""
        self.count += 1
        begun = False
        left = count
        for batch in Reading(self._splits[self._point, self.number]):
            found = [segment for segment in batch if canonical(segment[0]) == key]
            if not begun:
                at = next((at for at, segment in enumerate(found) if segment[2] == packet), None)
                if at is None:
                    continue
                begun = True
                found = found[at:]
            if left is not None:
                found = found[:left]
                left -= len(found)
            if found:
                yield found
            if left == 0:
                return
