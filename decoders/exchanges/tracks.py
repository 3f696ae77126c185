"""What a split hands on of one key: the parts in their order, segments kept until there are enough of them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from typing import Any, Final

from decoders.exchanges.ended import Ended, Row
from decoders.exchanges.exchange import ConnectionInfo, Settled
from decoders.exchanges.partial import export_pairing, export_undecided
from decoders.exchanges.parts import END, ROWS, RUN, SEGMENTS, Part, pack_segments
from decoders.exchanges.stage import Pairer, doubtful
from decoders.exchanges.stretch import Stretch
from decoders.exchanges.watching import Watched
from decoders.limits import SEGMENT_COST
from decoders.streams.chunks import Segment
from decoders.streams.flow import TcpConnection
from decoders.wire.state import pack

__all__ = ["PART_SIZE", "OpenedConnection", "Track"]

# Bytes of segments that one part has, about.
PART_SIZE: Final = 256 << 10
# Responses to requests before a stretch that wait for its first request.
ORPHANS_MAX: Final = 1000
# A correlation id behind all.
_NONE: Final = 1 << 62


class OpenedConnection:
    """A connection whose SYN is in the split: all of it is known here, and decoded here."""

    __slots__ = ("begun", "connection", "ends", "made", "numbers", "rows", "segment")

    def __init__(self, segment: Segment) -> None:
        self.segment = segment
        self.connection: TcpConnection | None = None
        self.begun = False
        self.ends: ConnectionInfo | None = None  # of the latest RUN
        self.numbers: list[int] = []  # of it, and of those that took its ports without a SYN
        self.rows: list[Row] = []
        self.made: list[Any] = []  # what the splitter made of each

    def take(self, row: Row, project: Callable[[Settled], Any]) -> None:
        """A row of the batch; of the end of a connection all is kept."""
        self.rows.append(row)
        self.made.append(row if isinstance(row, Ended) else project(row))

    def run(self, late_ns: int) -> bytes:
        """The blob of its RUN. `late_ns`: what another connection said of the broker before would change this one."""
        goes_on, self.begun = self.begun, True  # a connection that took the ports without a SYN
        assert self.connection is not None
        first, second = self.connection.first, self.connection.second
        who = [first.source, second.source, self.connection.began_ns]
        if self.ends is not None:
            who = [self.ends.client, self.ends.broker, self.ends.began_ns]
        return pack([True, goes_on, self.segment, second.source, late_ns, who])

    def tail(self, until: int | None, watched: Watched, pairer: Pairer) -> tuple[bytes, int]:
        """The blob of its END, and `late_ns` of a connection that gave no row."""
        connection = self.connection
        assert connection is not None
        pairing = pairer.context.pairings.get(connection.number)
        undecided = pairer.context.undecided.get(connection.number)
        state: list[Any] = [until, watched.export_key(self.segment[0], connection), None, None]
        late_ns = 0
        if pairing is not None:
            state[2], late_ns = export_pairing(pairing), pairing.ends.late_ns
        elif undecided is not None:
            state[3], late_ns = export_undecided(undecided), doubtful(undecided)
        return pack(state), late_ns


class Track:
    """One key of a split. While it has neither a stretch nor a fresh connection, its segments are handed on."""

    __slots__ = ("countdown", "fresh", "key", "parts", "segments", "seq", "size", "stretch", "tries")

    def __init__(self, key: bytes, parts: list[Part]) -> None:
        self.key = key
        self.parts = parts
        self.seq = 0
        self.segments: list[Segment] = []
        self.size = 0
        self.stretch: Stretch | None = None
        self.fresh: OpenedConnection | None = None
        self.tries = 1  # segments after which to look again whether a stretch may begin
        self.countdown = 1

    def add(self, segment: Segment) -> int:
        """Keep a segment; by how much more, or less, is kept now."""
        self.segments.append(segment)
        size = len(segment[6]) + SEGMENT_COST
        self.size += size
        return size - self.hand_on() if self.size >= PART_SIZE else size

    def hand_on(self) -> int:
        """Hand on the segments kept; how much they were."""
        size, self.size = self.size, 0
        if self.segments:
            self.hand(SEGMENTS, pack_segments(self.key, self.segments))
            self.segments = []
        return size

    def hand(self, kind: int, blob: bytes, rows: list[Any] | None = None) -> None:
        """The next part."""
        self.parts.append(Part(self.key, self.seq, kind, blob, rows or []))
        self.seq += 1

    def hand_rows(self, stretch: Stretch, rows: list[Any]) -> int:
        """Hand on what a stretch has believed; how much was kept of segments before it."""
        if not stretch.begun and not rows and stretch.low is None and len(stretch.orphans) < ORPHANS_MAX:
            return 0
        size = self.begin(stretch)
        if rows or stretch.orphans:
            self.hand(ROWS, stretch.take_orphans(), rows)
        return size

    def begin(self, stretch: Stretch) -> int:
        """Hand on what a stretch stands on."""
        size = 0
        if not stretch.begun:
            size = self.hand_on()
            self.hand(RUN, stretch.run())
            if stretch.low is None:
                stretch.low = _NONE
        return size

    def end(self, stretch: Stretch, until: int | None) -> int:
        """Hand on the end of a stretch, if it was one."""
        size = 0
        if stretch.begun or not stretch.empty:
            size = self.begin(stretch)
            if stretch.orphans:
                self.hand(ROWS, stretch.take_orphans())
            self.hand(END, stretch.tail(until))
        return size

    def hand_fresh(self, fresh: OpenedConnection) -> int:
        """Hand on the rows of a fresh connection."""
        size = self.hand_on()
        pairs = zip(fresh.rows, fresh.made, strict=True)
        fresh.rows, fresh.made = [], []
        for number, group in groupby(pairs, key=lambda pair: pair[0].ends.number):
            its = list(group)
            if fresh.ends is None or number != fresh.ends.number:
                fresh.ends = its[0][0].ends
                self.hand(RUN, fresh.run(fresh.ends.late_ns))
            ended = [row.export() for row, _ in its if isinstance(row, Ended)]
            made = [each for row, each in its if not isinstance(row, Ended)]
            self.hand(ROWS, pack(ended) if ended else b"", made)
        return size

    def end_fresh(self, fresh: OpenedConnection, until: int | None, watched: Watched, pairer: Pairer) -> int:
        """Hand on the rest of a fresh connection, and the state that it leaves."""
        size = self.hand_fresh(fresh) if fresh.rows else 0
        blob, late_ns = fresh.tail(until, watched, pairer)
        if not fresh.begun:
            size += self.hand_on()
            self.hand(RUN, fresh.run(late_ns))
        self.hand(END, blob)
        return size
