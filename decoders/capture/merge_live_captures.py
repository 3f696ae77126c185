"""Segments from several places as they come, each place in its own order, in; one sequence by packet time out.

The problem. Packets of one moment come from the places at different moments, and a place may be slow, silent or gone:
a merge that waits for all of them stands still with the slowest, and one that does not wait gives answers before
their requests.

The idea. A segment waits until each other place has given one of its time or later, but not for ever:

- Of a place that is `live`, whose packets come as they are captured, nothing is waited for longer than `delay_s` after
  a segment's arrival.
- Any other place may be an older capture that is still behind: as long as bytes of it come, it is waited for; it is
  given up once nothing has come of it for `delay_s`, or bytes without a segment for ten times as long (packets of other
  protocols).

    place 1   ──12──15────────18──►    12 and 13 go, in this order; 15 waits for place 2,
    place 2   ──────13───────────►     which is at 13, at most delay_s

What always holds: segments of one place stay in their order, whatever its clock does. None is dropped: one that comes
too late, after later ones of other places were given, is given at once, and counted in `late`.

What is given up: the time is that of the packets, and the clocks of two places may differ by more than `delay_s`; then
the segments of one of them are late, by as much as `late` says.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from decoders.named_tuple import NamedTuple
from decoders.tcp.stream_chunks import Segment

__all__ = ["LatePackets", "LiveMerger", "shift_segment"]

_TIME: Final = 1  # of a segment
_PACKET: Final = 2
_NEVER: Final = 1 << 63
# Bytes without a segment are a sign of life for so many delays.
_DELAYS_WITHOUT_SEGMENT: Final = 10


class LatePackets(NamedTuple):
    """Segments of a place that came after later ones of others were given: how many, and the most by how much (ns)."""

    packets: int = 0
    most_ns: int = 0


class _MergedPlace:
    """The segments of a place that wait, each with its time in the order of its place, and when it came (s)."""

    __slots__ = ("given_s", "heard_s", "is_live", "is_open", "late", "time_ns", "waiting")

    def __init__(self, now_s: float, *, is_live: bool) -> None:
        self.is_live = is_live
        self.is_open = True
        self.heard_s = now_s  # when bytes came
        self.given_s = now_s  # when a segment came
        self.time_ns = 0  # of its latest segment
        self.waiting: deque[tuple[int, float, Segment]] = deque()
        self.late = LatePackets()


def shift_segment(segment: Segment, by_ns: int) -> Segment:
    """A segment as it was captured this much later."""
    key, time_ns, packet, seq, ack, flags, payload, cut = segment
    return (key, time_ns + by_ns, packet, seq, ack, flags, payload, cut)


class LiveMerger:
    """Segments by place in, segments by time out; no clock and no I/O of its own: callers say what time it is (s).

    `arrivals_s`: when the packets of the segments that were given last came, by their numbers.
    """

    def __init__(self, delay_s: float) -> None:
        self._delay_s = delay_s
        self._places: list[_MergedPlace] = []
        self._given_ns = 0
        self.arrivals_s: dict[int, float] = {}

    def add_place(self, now_s: float, *, is_live: bool) -> int:
        """A new place; returns its number, from 0. `is_live`: its packets come as they are captured."""
        self._places.append(_MergedPlace(now_s, is_live=is_live))
        return len(self._places) - 1

    def add_segments(self, number: int, segments: list[Segment], now_s: float) -> None:
        """Take what came of a place: segments, or bytes without a whole one (an empty list)."""
        place = self._places[number]
        if segments:
            place.given_s = now_s
        if now_s - place.given_s <= _DELAYS_WITHOUT_SEGMENT * self._delay_s:
            place.heard_s = now_s
        for segment in segments:
            if segment[_TIME] < self._given_ns and len(self._places) > 1:
                lag_ns = self._given_ns - segment[_TIME]
                place.late = LatePackets(place.late.packets + 1, max(place.late.most_ns, lag_ns))
            place.time_ns = max(place.time_ns, segment[_TIME])
            place.waiting.append((place.time_ns, now_s, segment))

    def reopen_place(self, number: int, now_s: float) -> None:
        """Wait for a place again, which was ended."""
        place = self._places[number]
        place.is_open, place.heard_s, place.given_s = True, now_s, now_s

    def shift_times_of_place(self, number: int, by_ns: int) -> None:
        """Put the times of the segments that wait of a place right, and take its time for this much later."""
        place = self._places[number]
        place.time_ns += by_ns
        place.waiting = deque(
            (time_ns + by_ns, came_s, shift_segment(segment, by_ns)) for time_ns, came_s, segment in place.waiting
        )

    def stop_waiting_for_place(self, number: int) -> None:
        """Wait for a place no longer: nothing more comes of it."""
        self._places[number].is_open = False

    def count_waiting_segments(self, number: int) -> int:
        """How many segments of a place wait."""
        return len(self._places[number].waiting)

    def late_packets(self, number: int) -> LatePackets:
        """The segments of a place that came too late so far."""
        return self._places[number].late

    def take_due_segments(self, now_s: float) -> list[Segment]:
        """The segments whose turn it is, by time."""
        out: list[Segment] = []
        self.arrivals_s = {}
        while True:
            heads = [(place.waiting[0][0], number) for number, place in enumerate(self._places) if place.waiting]
            if not heads:
                return out
            _, number = min(heads)
            if not self._take_segments_of_place(number, out, now_s):
                return out

    def take_all_segments(self) -> list[Segment]:
        """All segments that wait, by time: there will be no more."""
        for place in self._places:
            place.is_open = False
        return self.take_due_segments(0.0)

    def _take_segments_of_place(self, number: int, out: list[Segment], now_s: float) -> bool:
        """Take the segments of the place whose turn it is, up to another's turn; False where none may go yet."""
        turn_ns = free_ns = patient_ns = _NEVER
        for other, place in enumerate(self._places):
            if other == number:
                continue
            if place.waiting:  # of equal times the place with the lower number goes first
                turn_ns = min(turn_ns, place.waiting[0][0] - (other < number))
            elif place.is_open:
                free_ns = min(free_ns, place.time_ns)
                if not place.is_live and now_s - place.heard_s < self._delay_s:
                    patient_ns = min(patient_ns, place.time_ns)
        waiting = self._places[number].waiting
        taken = len(out)
        while waiting:
            time_ns, came_s, segment = waiting[0]
            if time_ns > min(turn_ns, patient_ns) or (time_ns > free_ns and now_s - came_s < self._delay_s):
                break
            waiting.popleft()
            out.append(segment)
            self.arrivals_s[segment[_PACKET]] = came_s
            self._given_ns = max(self._given_ns, time_ns)
        return len(out) > taken
