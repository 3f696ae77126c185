"""The parts of one connection's key, split by split, in; the rows that the whole capture gives of it out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import cast

from decoders.errors import Malformed
from decoders.exchanges.ended import Row
from decoders.exchanges.engine import Engine
from decoders.exchanges.needs import Needs
from decoders.exchanges.parts import SEGMENTS, Facts, Part, Patch, unpack_segments
from decoders.streams.chunks import Segment

__all__ = ["Reread", "Stitcher"]

# Gives segments of a key once more: from the one with this packet number on (of the split that the part at hand is
# of), so many of them, or all to the end of the split.
Reread = Callable[[bytes, int, int | None], Iterable[list[Segment]]]


class Stitcher:
    """One canonical key of one timeline; parts come in the order of their splits and of their `seq`.

    `facts` are those of all splits. `reread` gives segments of the key from the capture again, see `Reread`.
    """

    def __init__(
        self,
        key: bytes,
        ports: Iterable[int] | None = None,
        needs: Needs | None = None,
        *,
        facts: Facts | None = None,
        reread: Reread | None = None,
    ) -> None:
        self.key = key
        self._reread = reread
        self._facts = facts or Facts()
        self._engine = Engine(ports, needs, connections=True)
        self._engine.pairer.context.brokers.update(self._facts.brokers)

    def take(self, part: Part) -> tuple[list[Row], Patch | None]:
        """What settles with a part; and, of ROWS, what makes the part's own rows true (None: they do not count)."""
        if part.kind == SEGMENTS:
            return self._feed(part.blob), None
        raise Malformed(f"no part of a connection: kind {part.kind}")

    def finish(self) -> list[Row]:
        """What the end of the capture settles."""
        last_ns, packet = self._facts.last
        if last_ns:
            self._engine.reassembly.until(last_ns, packet)
        return cast(list[Row], self._engine.finish())

    def _feed(self, blob: bytes) -> list[Row]:
        return cast(list[Row], self._engine.feed(unpack_segments(self.key, blob)))
