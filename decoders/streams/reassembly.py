"""TCP segments in, in the order of the capture; chunks (`chunks.py`) out: each direction's bytes in stream order.

A segment that continues its direction and acknowledges nothing unseen takes the fast path of `feed`
(`python -m tests.bench.capture`). All else goes through `_slow`, which holds segments back in two cases: bytes before
them are missing, or the sender has acknowledged bytes of the other direction that are not given yet (so a response
never overtakes its request). The connection stays on the slow path until nothing of it is held. What it decides
depends on the segments alone, never on how they came in batches.

- First copy of a byte wins. A keep-alive or window probe (one byte that was already given) is nothing.
- A hole is lost when the peer has acknowledged past it, or is not heard at all, and PATIENCE further segments of the
  connection or PATIENCE_NS have passed; at OUT_OF_ORDER_MAX or HELD_MAX; and at the connection's end.
- Without a SYN a direction begins at its first segment once it is sure that none precedes it: the first
  acknowledgement of it says so, or a few segments have come, or the patience is at its end.
- A FIN waits for what is missing before it. A RST ends the connection at once; its payload, if any, is a message to
  people (RFC 9293 3.5.3) and no part of the stream. What comes after the end is counted in `counts`.
- A segment far outside every window is believed when others continue it; then the stream has a gap up to there.
"""

from __future__ import annotations

from typing import Final

from decoders.errors import Malformed
from decoders.limits import HELD_MAX, OUT_OF_ORDER_MAX, SEGMENT_COST
from decoders.streams.chunks import Again, Chunk, Close, Gap, How, Segment, Why
from decoders.streams.connections import LATE, Connections, TcpConnection
from decoders.streams.flow import (
    ENDS,
    FAR,
    MASK,
    PATIENCE_NS,
    PLAIN,
    RESETS,
    UNSEEN,
    Flow,
    ahead,
    deadlocked,
)
from decoders.wire.state import fields, pack, unpack

__all__ = ["Reassembly"]

FIN: Final = 1
SYN: Final = 2
RST: Final = 4
ACK: Final = 16

# Two copies of a packet so close together (ns) are one packet captured twice; retransmission takes longer.
TWICE_NS: Final = 10**6


class Reassembly:
    """All TCP connections of one capture.

    `counts`: `stray` segments that fit nowhere, `after_close` bytes behind a connection's end. `connection_count` is
    the number of connections so far.
    """

    def __init__(self) -> None:
        self.counts = {"stray": 0, "after_close": 0}
        self._connections = Connections()
        self._waiting: dict[TcpConnection, None] = {}
        self._look_ns = 0  # when to look for holes that nobody will fill
        self._held = 0
        self._time_ns = 0
        self._packet = 0

    def feed(self, segments: list[Segment], now_ns: int = 0) -> list[Chunk]:  # noqa: ARG002 - one protocol for all stages
        """The chunks that are sure with these segments."""
        out: list[Chunk] = []
        append, flows, slow = out.append, self._connections.flows, self._slow
        for key, time_ns, packet, seq, ack, flags, data, cut in segments:
            try:
                flow = flows[key]
            except KeyError:
                slow(None, (key, time_ns, packet, seq, ack, flags, data, cut), out)
                continue
            if seq == flow.next and ack <= flow.peer.next and not (flags & 7 or cut):
                if data:
                    after = seq + len(data)
                    if after > MASK:
                        slow(flow, (key, time_ns, packet, seq, ack, flags, data, cut), out)
                        continue
                    flow.next = after
                    append((flow, time_ns, packet, data))
                flow.last_ns = time_ns
                flow.packets += 1
            else:
                slow(flow, (key, time_ns, packet, seq, ack, flags, data, cut), out)
        if segments:
            self._time_ns, self._packet = segments[-1][1:3]
        return out

    def finish(self) -> list[Chunk]:
        """No segment follows: what is held comes out with its gaps, and every connection is closed."""
        out: list[Chunk] = []
        for connection in self.connections().values():
            self._close(connection, "capture_end", out)
        return out

    @property
    def connection_count(self) -> int:
        """Connections so far, open or not."""
        return self._connections.count

    def connections(self) -> dict[int, TcpConnection]:
        """The connections that are open now, by number, in order of appearance."""
        return self._connections.by_number()

    def _slow(self, flow: Flow | None, segment: Segment, out: list[Chunk]) -> None:
        """Any segment; the fast path is a short cut for some."""
        _, time_ns, packet, _, ack, flags, _, _ = segment
        self._time_ns, self._packet = time_ns, packet
        flow = self._synchronize(flow, segment, out) if flags & SYN else flow or self._join(segment, out)
        if flow is None:
            return
        connection, peer = flow.connection, flow.peer
        flow.sync()
        peer.sync()
        if flags & ACK:
            place = peer.long(ack)
            if abs(place - peer.place) < FAR:
                peer.acked = max(peer.acked, place)
                peer.heard = peer.heard or place
        self._take(flow, segment, out)
        flow.last_ns = time_ns
        flow.packets += 1
        if not connection.over:
            self._advance(connection, out)
        if self._held > HELD_MAX:
            for waiting in list(self._waiting):
                self._flush(waiting, out)
                if self._held <= HELD_MAX:
                    break
        if time_ns >= self._look_ns:
            self._look_ns = time_ns + PATIENCE_NS
            for waiting in list(self._waiting):
                self._advance(waiting, out)

    def _advance(self, connection: TcpConnection, out: list[Chunk]) -> None:
        """Give all that can be given of a connection, holes that are lost included; then decide on its path."""
        self._release(connection, out)
        if not connection.over and connection in self._waiting:
            for flow in (connection.first, connection.second):
                flow.watch(self._time_ns)
            while not connection.over and self._lose(connection, out):
                self._release(connection, out)
        if not connection.over:
            self._settle(connection)

    def _settle(self, connection: TcpConnection) -> None:
        if not connection.settle():
            self._waiting.pop(connection, None)
        elif connection not in self._waiting:
            self._waiting[connection] = None
            for flow in (connection.first, connection.second):
                flow.sure = 0
                flow.remember(self._time_ns)

    # What a segment brings, and what can be given

    def _take(self, flow: Flow, segment: Segment, out: list[Chunk]) -> None:
        """Hold what a segment brings; `_release` gives it."""
        _, time_ns, packet, seq, ack, flags, data, cut = segment
        size = len(data) + cut
        role = RESETS if flags & RST else ENDS if flags & FIN else PLAIN
        start = flow.long(seq + (flags & SYN == SYN) & MASK)
        if role == RESETS:
            data, size = b"", 0
            if not flow.started and not flow.held:
                flow.begin(start)
            if start > flow.place - FAR:
                start = max(start, flow.held[-1][1] if flow.held else flow.place)
        elif not size and not role:
            if not (flow.started or flow.held or flow.sent):
                flow.sent = start
            return
        if abs(start - flow.place) >= FAR:
            self._stray(flow, segment, out)
            return
        end = start + size
        ack = ack if flags & ACK else -1
        if flow.started and start < flow.place:
            if size > 1 or end != flow.place:
                self._again(flow, start, min(end, flow.place), time_ns, packet, out)
            data = data[flow.place - start :]
            start = flow.place
        before = flow.held_size
        if start < end:
            flow.hold((start, end, time_ns, packet, ack, data, PLAIN))
        if role == RESETS or (role == ENDS and end >= start and not flow.ended):
            flow.hold((end, end, time_ns, packet, ack, b"", role))
        self._held += flow.held_size - before
        while flow.held_size > OUT_OF_ORDER_MAX and self._force(flow.connection, out):
            self._release(flow.connection, out)

    def _again(self, flow: Flow, start: int, end: int, time_ns: int, packet: int, out: list[Chunk]) -> None:
        """Bytes of which the first copy was given: nothing, or worth an event."""
        start = max(start, flow.first)
        if start < end and not (end == flow.place and time_ns - flow.last_ns < TWICE_NS):
            flow.again += 1
            out.append((flow, time_ns, packet, Again(start - flow.first, end - start)))

    def _release(self, connection: TcpConnection, out: list[Chunk]) -> None:
        """Give what can be given, in the order in which it was captured."""
        first, second = connection.first, connection.second
        while not connection.over:
            entry, other = first.ready(), second.ready()
            if entry is None and other is None:
                entry, other = deadlocked(first, second)
            if entry is None and other is None:
                return
            if other is None or (entry is not None and entry[3] <= other[3]):
                self._give(first, out)
            else:
                self._give(second, out)

    def _give(self, flow: Flow, out: list[Chunk]) -> None:
        """Give the first held segment of a flow."""
        start, end, time_ns, packet, _, data, role = flow.held.pop(0)
        flow.held_size -= len(data) + SEGMENT_COST
        self._held -= len(data) + SEGMENT_COST
        flow.place = end
        if data:
            out.append((flow, time_ns, packet, data))
        if end - start > len(data):
            self._gap(flow, end - start - len(data), "snaplen", time_ns, packet, out)
        if role == ENDS:
            flow.ended = True
            flow.place += 1
        if role == RESETS:
            self._close(flow.connection, "rst", out)
        elif flow.ended and flow.peer.ended:
            self._close(flow.connection, "fin", out)

    def _gap(self, flow: Flow, size: int, why: Why, time_ns: int, packet: int, out: list[Chunk]) -> None:
        flow.gaps += 1
        flow.missing += size
        out.append((flow, time_ns, packet, Gap(size, why)))

    def _lose(self, connection: TcpConnection, out: list[Chunk]) -> bool:
        """Give up one hole that nobody will fill; False if there is none."""
        for flow in (connection.first, connection.second):
            end = flow.hole()
            if not flow.held:
                end = min(end, flow.sure)
            if flow.place < end <= flow.sure:
                self._skip(flow, end, out)
                return True
        return False

    def _skip(self, flow: Flow, end: int, out: list[Chunk]) -> None:
        """The bytes up to number `end` are lost."""
        _, _, time_ns, packet, *_ = flow.held[0] if flow.held else (0, 0, self._time_ns, self._packet)
        self._gap(flow, end - flow.place, "lost", time_ns, packet, out)
        flow.place = end

    def _force(self, connection: TcpConnection, out: list[Chunk]) -> bool:
        """Give up whatever is waited for first; False if it is nothing."""
        for flow in (connection.first, connection.second):
            if flow.held and not flow.started:
                flow.begin(flow.held[0][0])
                return True
        for flow in (connection.first, connection.second):
            end = flow.hole()
            if end:
                self._skip(flow, end, out)
                return True
        return False

    def _flush(self, connection: TcpConnection, out: list[Chunk]) -> None:
        """Wait for nothing any more."""
        self._release(connection, out)
        while not connection.over and self._force(connection, out):
            self._release(connection, out)
        if not connection.over:
            self._settle(connection)

    def _stray(self, flow: Flow, segment: Segment, out: list[Chunk]) -> None:
        """A segment far from where the stream is: believed, with those before it, when it is one of a run."""
        _, time_ns, packet, seq, ack, flags, data, cut = segment
        self.counts["stray"] += 1
        size = len(data) + cut
        if not size or flags & (SYN | RST):
            return
        run = flow.stray((UNSEEN | seq, time_ns, packet, ack if flags & ACK else -1, data, size))
        if not run:
            return
        self.counts["stray"] -= len(run)
        connection, place = flow.connection, run[0][0]
        if flow.peer.place and flags & ACK and abs(ahead(ack, flow.peer.place)) >= FAR:
            # Both directions are elsewhere: the ports serve a new connection, whose SYN was not captured.
            self._close(connection, "idle", out)
            flow = self._open(segment, out, initiator=True)
            flow.packets, flow.last_ns = len(run), time_ns
            connection = flow.connection
        else:
            self._flush(connection, out)
            if connection.over:
                return
            if flow.started:
                self._gap(flow, place - flow.place & MASK, "lost", *run[0][2:4], out)
        flow.begin_again(place)
        for entry in run:
            flow.hold(entry)
        self._held += flow.held_size
        self._advance(connection, out)

    # Beginning and end of connections

    def _synchronize(self, flow: Flow | None, segment: Segment, out: list[Chunk]) -> Flow | None:
        """A SYN: the flow it begins, or None when it is a copy of one that was seen."""
        key, _, _, seq, _, flags, _, _ = segment
        first = seq + 1 & MASK
        if flow is None:
            if self._connections.repeats(key, first):
                return None
        else:
            flow.sync()
            behind = flow.behind(first)
            if flow.syn and behind == 0:
                return None
            if flow.syn or not 0 <= behind < LATE:
                self._close(flow.connection, "idle", out)
                flow = None
            elif flow.started and flow.place > flow.first:
                flow.syn = True  # it comes after the first bytes
                return None
        if flow is None:
            flow = self._open(segment, out, initiator=not flags & ACK)
        connection = flow.connection
        connection.opened = True
        fresh = not (flow.started or flow.peer.started)
        if fresh and (flow is connection.second) != bool(flags & ACK):
            connection.first, connection.second = connection.second, connection.first
        flow.begin(flow.long(first))
        flow.syn = True
        if flags & ACK and not flow.peer.started and not flow.peer.held:
            flow.peer.begin(flow.peer.long(segment[4]))
        return flow

    def _join(self, segment: Segment, out: list[Chunk]) -> Flow | None:
        """A segment of no open connection, without SYN: a new connection, or None if it belongs to one that is over."""
        late = self._connections.late(segment)
        if late is not None:
            self.counts["after_close"] += late
            return None
        if segment[5] & RST:
            self.counts["stray"] += 1
            return None
        return self._open(segment, out, initiator=True)

    def _open(self, segment: Segment, out: list[Chunk], *, initiator: bool) -> Flow:
        for silent in self._connections.silent(segment[1]):
            self._close(silent, "idle", out)
        return self._connections.open(segment[0], segment[1], initiator=initiator)

    def _close(self, connection: TcpConnection, how: How, out: list[Chunk]) -> None:
        """The end of a connection: what is held comes first."""
        self._flush(connection, out)
        if connection.over:
            return
        self._waiting.pop(connection, None)
        if how == "idle" and (connection.first.ended or connection.second.ended):
            how = "fin"
        out.append((connection.first, self._time_ns, self._packet, Close(how)))
        for flow in (connection.first, connection.second):
            self._held -= flow.held_size
            flow.held, flow.held_size, flow.far = [], 0, []
        self._connections.end(connection, self._time_ns)

    # Handing over

    def export(self) -> bytes:
        """The state between two feeds, for `resume`."""
        waiting = [connection.number for connection in self._waiting]
        place = [self._look_ns, self._time_ns, self._packet]
        return pack([dict(self.counts), self._connections.export(), waiting, place])

    def resume(self, state: bytes) -> None:
        """Go on where `export` was called, maybe in another process. Raises DecodeError when the state is none.

        The connections are new objects; `connections()` has them by number for the stages behind.
        """
        counts, table, waiting, place = fields(unpack(state), dict, list, list, list)
        if counts.keys() != self.counts.keys() or not all(isinstance(count, int) for count in counts.values()):
            raise Malformed("a saved state with other counts")
        self.counts = counts
        self._look_ns, self._time_ns, self._packet = fields(place, int, int, int)
        self._connections.resume(table)
        known = self.connections()
        if not all(isinstance(number, int) and number in known for number in waiting):
            raise Malformed("a saved state of unknown connections")
        self._waiting = dict.fromkeys(known[number] for number in waiting)
        self._held = sum(flow.held_size for flow in self._connections.flows.values())
