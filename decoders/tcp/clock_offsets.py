"""Segments of several places as they come in; how far the clocks of two places are apart out, as bounds.

The problem. Two machines stamp a packet by clocks of their own, and it takes a while from one to the other: the
difference of its two times is both together.

The idea. It takes that while in both directions. Packets towards one end of a connection are later at the place behind
by the way, those towards the other end are earlier by the way back, and the offset of the clocks is in all differences:

    b1 ──────── way ────────► b2        t2 - t1 = offset + way         at least the offset
    b1 ◄─────── way back ──── b2        t2 - t1 = offset - way back    at most the offset

So the least difference of one direction and the greatest of the other are bounds of the offset, however unlike the two
ways are. Which of the places is nearer to which end follows from which direction has the greater differences.

What always holds: the offset is within the bounds, while it stays what it is. Clocks drift: where the bounds of a
connection contradict each other they are forgotten and begin anew. What is given up: offsets of places that see packets
of one direction only.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Collection, Iterable
from typing import Final

from decoders.named_tuple import NamedTuple
from decoders.tcp.connection_and_halves import reverse_key
from decoders.tcp.reassembly import SYN
from decoders.tcp.stream_chunks import Segment

__all__ = ["ClockOffset", "ClockOffsets"]

# Packets, and connections of two places, that are remembered.
_PACKETS_MAX: Final = 1 << 15
_CONNECTIONS_MAX: Final = 1 << 12
# Bounds that contradict each other by no more are those of time stamps taken a little out of turn.
_SLACK_NS: Final = 10**6


class ClockOffset(NamedTuple):
    """Bounds (ns) of how far a clock is ahead of another."""

    least_ns: int
    most_ns: int

    @property
    def estimate_ns(self) -> int:
        """The estimate."""
        return (self.least_ns + self.most_ns) // 2

    @property
    def error_ns(self) -> int:
        """By how much the estimate may be wrong."""
        return abs(self.most_ns - self.least_ns) // 2


class _Differences:
    """The least and the greatest difference of two places' times for a connection, in each of its directions."""

    __slots__ = ("ranges",)

    def __init__(self) -> None:
        self.ranges: list[tuple[int, int] | None] = [None, None]

    def add_difference(self, direction: int, difference_ns: int) -> ClockOffset | None:
        """Note a difference; gives the bounds of the offset where they have become narrower."""
        known = self.ranges[direction]
        if known is not None and known[0] <= difference_ns <= known[1]:
            return None
        least, most = known or (difference_ns, difference_ns)
        self.ranges[direction] = (min(least, difference_ns), max(most, difference_ns))
        there, back = self.ranges
        if there is None or back is None:
            return None
        if there[0] >= back[1] - _SLACK_NS and sum(there) >= sum(back):
            return ClockOffset(*sorted((back[1], there[0])))
        if back[0] >= there[1] - _SLACK_NS:
            return ClockOffset(*sorted((there[1], back[0])))
        self.ranges = [None, None]  # the clocks have drifted, or a point has missed a packet that was sent again
        return None


class ClockOffsets:
    """How far clocks are apart, by places; those in `same_clock` have one clock."""

    def __init__(self, same_clock: Collection[int] = ()) -> None:
        self._same_clock = frozenset(same_clock)
        self._times: OrderedDict[tuple[bytes, int, int], dict[int, int]] = OrderedDict()
        self._differences: OrderedDict[tuple[int, int, bytes], _Differences] = OrderedDict()
        self._offsets: dict[tuple[int, int], ClockOffset] = {}
        self.changes = 0  # how often an estimate was changed

    def note_segments(self, place: int, segments: Iterable[Segment]) -> None:
        """Note when a place saw these segments."""
        times = self._times
        for key, time_ns, _, seq, _, flags, payload, cut in segments:
            size = len(payload) + cut
            if not size and not flags & SYN:
                continue  # acknowledgements repeat
            packet = (key, seq, size)
            seen = times.get(packet)
            if seen is None:
                times[packet] = {place: time_ns}
                if len(times) > _PACKETS_MAX:
                    times.popitem(last=False)
            elif place not in seen:
                for other, other_ns in seen.items():
                    if other < place:
                        self._note_difference(other, place, key, time_ns - other_ns)
                    else:
                        self._note_difference(place, other, key, other_ns - time_ns)
                seen[place] = time_ns

    def find_offset(self, place: int, reference: int) -> ClockOffset | None:
        """How far a place's clock is ahead of another's, over further places where the two share no packets."""
        found = {reference: ClockOffset(0, 0)}
        reached = deque([reference])
        while reached and place not in found:
            at = reached.popleft()
            for (one, other), offset in self._offsets.items():
                if at == one:
                    step, to = offset, other
                elif at == other:
                    step, to = ClockOffset(-offset.most_ns, -offset.least_ns), one
                else:
                    continue
                if to not in found:
                    found[to] = ClockOffset(found[at].least_ns + step.least_ns, found[at].most_ns + step.most_ns)
                    reached.append(to)
        return found.get(place)

    def _note_difference(self, one: int, other: int, key: bytes, difference_ns: int) -> None:
        if one in self._same_clock and other in self._same_clock:
            return
        back = reverse_key(key)
        where = (one, other, min(key, back))
        differences = self._differences.get(where)
        if differences is None:
            differences = self._differences[where] = _Differences()
            if len(self._differences) > _CONNECTIONS_MAX:
                self._differences.popitem(last=False)
        bounds = differences.add_difference(int(key > back), difference_ns)
        if bounds is None:
            return
        known = self._offsets.get((one, other))
        if known is not None:
            both = ClockOffset(max(known.least_ns, bounds.least_ns), min(known.most_ns, bounds.most_ns))
            if both.least_ns <= both.most_ns:
                bounds = both
        if bounds != known:
            self._offsets[one, other] = bounds
            self.changes += 1
