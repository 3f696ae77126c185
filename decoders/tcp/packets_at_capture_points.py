"""Segments of several capture points by time in; each packet once out, and when each point has seen it.

The problem. Two points on the way of a connection see the same packets, by clocks that may differ by more than a
retransmission takes, and not always cut alike: a host that leaves segmentation to its network card sees one long
segment where the other side sees forty. To the reassembly a copy is a retransmission.

The idea. Of each direction it is known which bytes each point has seen, and which have been given. Bytes that are new
to a point, and not new to what was given, are copies. Bytes that are not new to a point were sent again, and as often
as the point that has seen that most often says. Segments without payload are told apart by their numbers and flags.

    b1   ──[0..100]──[100..200]──────────────[100..200]──     given: 0..100, 100..200, and 100..200 once again
    b2   ─────[0..100]──[100..200]──────────────[100..200]─   all of them copies

What always holds: bytes that only one point has are given, in whatever order. What is given up: which of two points saw
a packet that ended more than SEEN_MAX packets before.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import Final

from decoders.capture.merge_captures import file_index_of_packet
from decoders.limits import CONNECTIONS_MAX
from decoders.tcp.connection_and_halves import MASK, sequence_difference
from decoders.tcp.reassembly import SYN, TWICE_NS
from decoders.tcp.stream_chunks import Segment

__all__ = ["PacketsAtPoints", "Sightings"]

# Packets with payload of which it is known which points have seen them.
SEEN_MAX: Final = 1 << 15
# Holes of a direction that are remembered.
_HOLES_MAX: Final = 64
# Bytes this far before the first that were seen are believed to be of the same direction.
_BEFORE: Final = 1 << 30

# Point → time (ns) and number of the packet.
Sightings = dict[int, tuple[int, int]]


class _SeenBytes:
    """Which bytes of a direction were seen, by unwrapped sequence numbers: all before `end` but those in `holes`."""

    __slots__ = ("end", "holes")

    def __init__(self, start: int) -> None:
        self.end = start
        self.holes = [(start - _BEFORE, start)]

    def add_bytes(self, start: int, end: int) -> list[tuple[int, int]]:
        """Note that the bytes from `start` to before `end` were seen; gives the runs of them that are new."""
        found: list[tuple[int, int]] = []
        if start > self.end:
            self.holes.append((self.end, start))
            del self.holes[:-_HOLES_MAX]
        elif start < self.holes[-1][1]:
            left: list[tuple[int, int]] = []
            for first, after in self.holes:
                if start < after and end > first:
                    found.append((max(start, first), min(end, after)))
                    left += [part for part in ((first, start), (end, after)) if part[0] < part[1]]
                else:
                    left.append((first, after))
            self.holes = left or [(start - _BEFORE, start - _BEFORE)]
        if end > self.end:
            found.append((max(start, self.end), end))
            self.end = end
        return found


class _Direction:
    """One direction of a connection: which bytes were given, which each point has seen, and its latest segment."""

    __slots__ = ("began_ns", "first", "given", "latest", "seen")

    def __init__(self, first: int, time_ns: int) -> None:
        self.first = first  # raw number of its first byte
        self.began_ns = time_ns
        self.given = _SeenBytes(first)
        self.seen: dict[int, _SeenBytes] = {}
        self.latest: dict[int, tuple[int, int, int]] = {}


class PacketsAtPoints:
    """The packets of one run. `copies`: how many packets with payload were seen before, at another point."""

    def __init__(self) -> None:
        self.copies = 0
        self._directions: OrderedDict[bytes, _Direction] = OrderedDict()
        # By the raw number of the first byte, and of the byte behind the last.
        self._first_bytes: OrderedDict[tuple[bytes, int], Sightings] = OrderedDict()
        self._last_bytes: OrderedDict[tuple[bytes, int], Sightings] = OrderedDict()
        self._given: OrderedDict[int, tuple[bytes, int, int]] = OrderedDict()  # packet → key, first byte, byte behind
        self._counts: OrderedDict[object, dict[int, int]] = OrderedDict()  # of what has no bytes of its own, by point

    def leave_out_copies(self, segments: Iterable[Segment]) -> list[Segment]:
        """The segments that are no copies of earlier ones; of one that is partly a copy, the new bytes."""
        out: list[Segment] = []
        for segment in segments:
            out += self._cut_out_copied_bytes(segment)
        return out

    def sightings_of_packet(self, packet: int | None, *, last: bool) -> Sightings:
        """When the points saw the first or the last byte of a packet that was given."""
        known = self._given.get(packet or 0)
        if known is None:
            return {}
        key, start, after = known
        return (self._last_bytes if last else self._first_bytes).get((key, after if last else start), {})

    def points_of_connection(self, packet: int | None) -> tuple[set[int], int]:
        """The points that have seen its connection's direction so far, and when that began (ns)."""
        known = self._given.get(packet or 0)
        direction = None if known is None else self._directions.get(known[0])
        return (set(), 0) if direction is None else (set(direction.seen), direction.began_ns)

    def _cut_out_copied_bytes(self, segment: Segment) -> list[Segment]:
        key, time_ns, packet, seq, ack, flags, payload, cut = segment
        size = len(payload) + cut
        begin = (seq + 1) & MASK if flags & SYN else seq
        direction = self._directions.get(key)
        if direction is None or (flags & SYN and direction.first & MASK != begin):
            direction = self._begin_direction(key, begin, time_ns)
        if not size:
            return [segment] if self._is_new_sighting((key, seq, ack, flags), file_index_of_packet(packet)) else []
        point = file_index_of_packet(packet)
        start = direction.given.end + sequence_difference(begin, direction.given.end & MASK)
        latest, direction.latest[point] = direction.latest.get(point), (start, size, time_ns)
        if latest is not None and latest[:2] == (start, size) and 0 <= time_ns - latest[2] < TWICE_NS:
            self.copies += 1
            return []
        seen = direction.seen.get(point)
        if seen is None:
            seen = direction.seen[point] = _SeenBytes(start)
        end = start + size
        if not seen.add_bytes(start, end):  # sent again
            return [segment] if self._is_new_sighting((key, seq, size), point) else []
        _note_sighting(self._first_bytes, (key, begin), point, time_ns, packet)
        _note_sighting(self._last_bytes, (key, (begin + size) & MASK), point, time_ns, packet)
        new = direction.given.add_bytes(start, end)
        if not new:
            self.copies += 1
            return []
        self._given[packet] = (key, begin, (begin + size) & MASK)
        if len(self._given) > SEEN_MAX:
            self._given.popitem(last=False)
        if new == [(start, end)] or cut or flags & SYN:
            return [segment]
        return [
            (key, time_ns, packet, (seq + first - start) & MASK, ack, flags, payload[first - start : after - start], 0)
            for first, after in new
        ]

    def _begin_direction(self, key: bytes, first: int, time_ns: int) -> _Direction:
        self._directions.pop(key, None)
        direction = self._directions[key] = _Direction(first, time_ns)
        if len(self._directions) > CONNECTIONS_MAX:
            self._directions.popitem(last=False)
        return direction

    def _is_new_sighting(self, sighted: object, point: int) -> bool:
        """Whether a point sees this for a time that no other point has seen it yet."""
        counts = self._counts.get(sighted)
        if counts is None:
            counts = self._counts[sighted] = {}
            if len(self._counts) > SEEN_MAX:
                self._counts.popitem(last=False)
        most = max(counts.values(), default=0)
        counts[point] = counts.get(point, 0) + 1
        return counts[point] > most


def _note_sighting(
    table: OrderedDict[tuple[bytes, int], Sightings], what: tuple[bytes, int], point: int, time_ns: int, packet: int
) -> None:
    known = table.get(what)
    if known is None:
        known = table[what] = {}
        if len(table) > SEEN_MAX:
            table.popitem(last=False)
    known.setdefault(point, (time_ns, packet))
