"""Exchanges of several capture points in, as they are settled; out they come with the times of one point each.

An exchange is settled by the copies of its packets that came first, those of one point or of several. It waits until
the other points have shown theirs, until its packet and it have waited for as long as a packet waits for those of other
places. Then its times and packet
numbers are those of the point nearest to its client: the one with the greatest latency of those that saw both request
and response. What the latency is less at the point farthest from it has the way between them taken: `network_ms`.
Neither depends on clocks that agree. Where no point saw both sides and their clocks are not known to be one, there is
no latency.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from decoders.capture.merge_captures import file_index_of_packet
from decoders.exchanges.exchange import Exchange

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Settled
    from decoders.tcp.packets_at_capture_points import PacketsAtPoints, Sightings

__all__ = ["ExchangesAtPoints"]


class ExchangesAtPoints:
    """The exchanges of one run. Those of points in `same_clock` may have a latency of two points."""

    def __init__(self, packets: PacketsAtPoints, same_clock: Collection[int], delay_s: float) -> None:
        self._packets = packets
        self._same_clock = frozenset(same_clock)
        self._delay_s = delay_s
        self._waiting: deque[tuple[float, int, Settled]] = deque()

    def release_rows_with_times(
        self, rows: Iterable[Settled], now_s: float, packet_ns: int, arrivals_s: Mapping[int, float]
    ) -> list[Settled]:
        """The rows whose turn it is. `packet_ns`: the time of the latest packet; `arrivals_s`: when packets came."""
        waiting = self._waiting
        waiting.extend((arrivals_s.get(_find_last_packet(row), now_s), packet_ns, row) for row in rows)
        out: list[Settled] = []
        while waiting:
            came_s, came_ns, row = waiting[0]
            waited_s = max(now_s - came_s, (packet_ns - came_ns) / 1e9)
            if waited_s < self._delay_s and not self._is_seen_everywhere(row, packet_ns):
                break
            waiting.popleft()
            out.append(row)
            if isinstance(row, Exchange):
                self._set_times_of_one_point(row)
        return out

    def release_all_rows(self) -> list[Settled]:
        """The rows that wait: nothing more comes."""
        return self.release_rows_with_times((), float("inf"), 0, {})

    def _is_seen_everywhere(self, row: Settled, packet_ns: int) -> bool:
        if not isinstance(row, Exchange):
            return True
        points, began_ns = self._packets.points_of_connection(row.request_packet or row.response_packet)
        if len(points) < 2:
            return packet_ns - began_ns > self._delay_s * 1e9
        seen = self._packets.sightings_of_packet
        return all(
            points <= set(seen(packet, last=last))
            for packet, last in ((row.request_packet_end, True), (row.response_packet, False))
            if packet is not None
        )

    def _set_times_of_one_point(self, row: Exchange) -> None:
        seen = self._packets.sightings_of_packet
        asked, answered = seen(row.request_packet_end, last=True), seen(row.response_packet, last=False)
        took_ns = {point: answered[point][0] - asked[point][0] for point in asked if point in answered}
        if took_ns:
            own = file_index_of_packet(row.request_packet or 0)
            point = max(took_ns, key=lambda each: (took_ns[each], each == own, -each))
            self._set_request_times(row, point, asked)
            _set_response_times(row, point, answered, seen(row.response_packet_end, last=True))
            if len(took_ns) > 1:
                row.extra = {**(row.extra or {}), "network_ms": (took_ns[point] - min(took_ns.values())) / 1e6}
        elif asked and answered and not self._same_clock.issuperset((*asked, *answered)):
            row.response_ns = row.response_end_ns = None

    def _set_request_times(self, row: Exchange, point: int, asked: Sightings) -> None:
        later_ns = asked[point][0] - (row.request_end_ns or 0)
        begun = self._packets.sightings_of_packet(row.request_packet, last=False)
        row.request_end_ns, row.request_packet_end = asked[point]
        row.time_ns, row.request_packet = begun.get(point, (row.time_ns + later_ns, row.request_packet))


def _find_last_packet(row: Settled) -> int:
    """The number of the packet that has settled a row; 0 where that was none."""
    return (row.response_packet_end or row.request_packet_end or 0) if isinstance(row, Exchange) else 0


def _set_response_times(row: Exchange, point: int, answered: Sightings, ended: Sightings) -> None:
    later_ns = answered[point][0] - (row.response_ns or 0)
    row.response_ns, row.response_packet = answered[point]
    if row.response_end_ns is not None:
        row.response_end_ns, row.response_packet_end = ended.get(
            point, (row.response_end_ns + later_ns, row.response_packet_end)
        )
