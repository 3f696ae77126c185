"""Segments held by the two directions of a connection in, chunks out: what can be given, and what is given up."""

from __future__ import annotations

from decoders.limits import SEGMENT_COST
from decoders.streams.chunks import Chunk, Gap, Retransmission, Why
from decoders.streams.flow import ENDS, FAR, RESETS, Entry, Flow, TcpConnection, deadlocked

__all__ = ["Delivery"]


class Delivery:
    """Appends to `out`. `held` is the size of all that is held; time and packet are those of the segment at hand."""

    def __init__(self) -> None:
        self.out: list[Chunk] = []
        self.held = 0
        self.time_ns = 0
        self.packet = 0

    def hold(self, flow: Flow, entry: Entry) -> None:
        """Keep a segment until it can be given."""
        before = flow.held_size
        flow.hold(entry)
        self.held += flow.held_size - before

    def release(self, connection: TcpConnection) -> None:
        """Give what can be given, in the order in which it was captured."""
        first, second = connection.first, connection.second
        while True:
            entry, other = first.ready(), second.ready()
            if entry is None and other is None:
                entry, other = deadlocked(first, second)
                if entry is None:
                    return
            if other is None or (entry is not None and entry[3] <= other[3]):
                self._give(first)
            else:
                self._give(second)

    def lose(self, connection: TcpConnection) -> None:
        """Give up the holes that nobody will fill, and give what is behind them, and what begins for sure."""
        self.release(connection)
        pending = [connection.first, connection.second]
        while pending:
            flow = pending[0]
            end = flow.hole()
            if not flow.held:
                end = min(end, flow.sure)
            if flow.place < end <= flow.sure:
                self._skip(flow, end)
                self.release(connection)
                pending = [connection.first, connection.second]
            else:
                del pending[0]

    def force(self, connection: TcpConnection) -> bool:
        """Give up whatever is waited for first; False if it is nothing."""
        flows = (connection.first, connection.second)
        unsure = [flow for flow in flows if flow.held and not flow.started]
        if unsure:
            for flow in unsure:
                flow.begin(flow.held[0][0])
            self.release(connection)
            return True
        for flow in flows:
            end = flow.hole()
            if end:
                self._skip(flow, end)
                self.release(connection)
                return True
        for flow in flows:
            if flow.held:  # behind an acknowledgement of bytes that nobody has sent
                self._give(flow)
                self.release(connection)
                return True
        return False

    def flush(self, connection: TcpConnection) -> None:
        """Wait for nothing any more."""
        self.release(connection)
        while self.force(connection):
            pass

    def again(self, flow: Flow, start: int, end: int, *, twice: bool) -> None:
        """Bytes of which the first copy was given: an event, unless the capture has the packet `twice`."""
        start = max(start, flow.first)
        if start < end and not (twice and end == flow.place):
            flow.again += 1
            self.out.append((flow, self.time_ns, self.packet, Retransmission(start - flow.first, end - start)))

    def gap(self, flow: Flow, size: int, why: Why, time_ns: int, packet: int) -> None:
        """Bytes that are not there."""
        flow.gaps += 1
        flow.missing += size
        self.out.append((flow, time_ns, packet, Gap(size, why)))

    def jump(self, flow: Flow, place: int, time_ns: int, packet: int) -> None:
        """The stream goes on at a number farther off than any window reaches: no number of bytes lies between."""
        flow.gaps += 1
        flow.first += place - flow.place
        flow.place = place
        self.out.append((flow, time_ns, packet, Gap(0, "jump")))

    def forget(self, flow: Flow) -> None:
        """Let go of what a flow holds."""
        self.held -= flow.held_size
        flow.held, flow.held_size, flow.far = (), 0, ()

    def _give(self, flow: Flow) -> None:
        """Give the first held segment of a flow."""
        start, end, time_ns, packet, _, data, role = flow.take_first()
        flow.held_size -= len(data) + SEGMENT_COST
        self.held -= len(data) + SEGMENT_COST
        flow.place = end
        connection = flow.connection
        if data:
            self.out.append((flow, time_ns, packet, data))
        if end - start > len(data):
            self.gap(flow, end - start - len(data), "snaplen", time_ns, packet)
        if role == ENDS:
            flow.ended = True
            flow.place += 1
        elif role == RESETS:
            connection.reset = connection.reset or flow
        elif connection.reset is flow:
            connection.reset = None  # it goes on: that was somebody else's reset

    def _skip(self, flow: Flow, end: int) -> None:
        """The bytes up to number `end` are lost."""
        _, _, time_ns, packet, *_ = flow.held[0] if flow.held else (0, 0, self.time_ns, self.packet)
        if end - flow.place >= FAR:
            self.jump(flow, end, time_ns, packet)
        elif end - flow.place > 1 or not flow.held or flow.held[0][6] != RESETS:  # else it is a FIN
            self.gap(flow, end - flow.place, "lost", time_ns, packet)
        flow.place = end
