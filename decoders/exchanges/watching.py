"""Reassembly that asks before it does anything unusual to a connection, and tells after it."""

from __future__ import annotations

from typing import Protocol

from decoders.streams.chunks import Chunk, How, Segment
from decoders.streams.flow import MASK, Flow, TcpConnection
from decoders.streams.reassembly import RST, SYN, Reassembly, replaces

__all__ = ["Watched"]


class Watcher(Protocol):
    """Who is asked and told."""

    def flush(self) -> None:
        """What was given so far has to be taken (`Watched.given`) before more is."""

    def before(self, flow: Flow | None, segment: Segment) -> None:
        """A segment comes that the fast path does not take."""

    def after(self, segment: Segment) -> None:
        """It was taken."""

    def closing(self, connection: TcpConnection, packet: int) -> None:
        """A connection is over, maybe for what happens elsewhere, at this packet."""


class Watched(Reassembly):
    """All TCP connections of a split."""

    def __init__(self, watcher: Watcher) -> None:
        super().__init__()
        self._watcher = watcher

    def given(self) -> list[Chunk]:
        """What was given so far by the feed at hand, and is not given again."""
        out = self._delivery.out[:]
        self._delivery.out.clear()
        return out

    def is_long(self, segments: list[Segment]) -> bool:
        """Whether these go in one by one, so that `given` has all that was given."""
        return segments[-1][1] >= self._drowsy_ns

    def begins(self, flow: Flow | None, segment: Segment) -> bool:
        """Whether a segment is the SYN of a new connection."""
        if not segment[5] & SYN:
            return False
        first = segment[3] + 1 & MASK
        return not self._connections.repeats(segment[0], first) if flow is None else replaces(flow, first)

    def is_nothing(self, segment: Segment) -> bool:
        """Whether a segment of no open connection, which begins none, is dropped."""
        return bool(segment[5] & (SYN | RST)) or self._connections.late(segment) is not None

    def _slow(self, flow: Flow | None, segment: Segment) -> None:
        if flow is not None and flow.connection.drowsy:
            self._watcher.flush()
        super()._slow(flow, segment)

    def _unusual(self, flow: Flow | None, segment: Segment) -> None:
        self._watcher.before(flow, segment)
        super()._unusual(flow, segment)
        self._watcher.after(segment)

    def _close(self, connection: TcpConnection, how: How) -> None:
        self._watcher.closing(connection, self._delivery.packet)
        super()._close(connection, how)
