"""TCP segments in, in the order of the capture; chunks (`stream_chunks.py`) out: each half's bytes in stream order.

The problem. A capture is not what the two hosts saw. Packets are missing, doubled, out of order, cut by the snap
length; the beginning of a connection may be before the capture; ports are used again. A reader that waits for ever for
a missing packet says nothing, one that never waits cuts frames that would have been whole.

The idea. A segment that continues its half and acknowledges nothing unseen takes the fast path of `feed` (`python
-m tests.bench.capture`). All else goes through `_handle_segment_on_slow_path`, which holds segments back in two cases:
bytes before them are missing, or the sender has acknowledged bytes of the other half that are not given yet, so that a
response never overtakes its request. The connection stays on the slow path until nothing of it is held.

```
client  ──[ 1..100 ]──────────────[ 201..300 ]──►        held: 201..300
                      (101..200 missing)                 given: 1..100
broker  ◄─────────────────────────────[ ack 301 ]──      the broker has 101..200: nobody will send them again
                                       patience ends  →  Gap(100, lost), then 201..300
```

- The first copy of a byte wins. A keep-alive or window probe (one byte that was already given) is ignored.
- A hole is lost when the peer has acknowledged past it, or is not heard at all, and patience is at its end
  (`Half.advance_patience`: 32 packets of the connection, or 3 s); at OUT_OF_ORDER_MAX or HELD_MAX; and at the end of
  the connection.
- Without a SYN a half begins at its first segment once some packets have passed and none is likely to precede it
  (`Half.is_start_certain`).
- A FIN waits for what is missing before it. A RST waits for what was under way; its payload, if any, is a message to
  people (RFC 9293 3.5.3) and no part of the stream. What comes after the end is counted in `counts`.
- A segment far outside every window is believed when others continue it; then the stream goes on there, behind a gap
  without a size: the difference of two such sequence numbers says nothing of bytes that were sent.

What always holds: the chunks depend on the segments alone, never on how they came in batches, nor on when somebody
looked. At its next packet a connection is in the same state as if nobody had looked at it before: looks in between
(`_check_waiting_connections`) only give chunks earlier. A look takes the connections whose time has come (`Waiting`),
so that the work grows with the packets, not with the connections that wait. `export` and `resume` at any cut give the
same chunks.

What is given up: a packet that is late by more than the patience is reported as a gap and its bytes are dropped.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final, get_args

from decoders.errors import Malformed
from decoders.limits import HELD_MAX, IDLE_NS, OUT_OF_ORDER_MAX, SEGMENT_COST
from decoders.mypyc_modules import mypyc_attr
from decoders.tcp.connection_and_halves import (
    ENDS,
    FAR,
    MASK,
    PATIENCE,
    PATIENCE_NS,
    PLAIN,
    RESETS,
    UNSEEN,
    Connection,
    Entry,
    Half,
    find_deadlock,
    reverse_key,
    sequence_difference,
)
from decoders.tcp.connection_table import LATE, Connections, Waiting
from decoders.tcp.stream_chunks import ZERO_WINDOW, Chunk, Close, Gap, How, Retransmission, Segment, Why
from decoders.wire.state_serialization import pack, state_fields, unpack

__all__ = ["Delivery", "Reassembly"]

# What is held of a connection, given and given up


class Delivery:
    """Appends chunks to `out`. `held` is the size of all segments held; time and packet are of the segment at hand."""

    def __init__(self) -> None:
        self.out: list[Chunk] = []
        self.held = 0
        self.time_ns = 0
        self.packet = 0

    def hold_segment(self, half: Half, entry: Entry) -> None:
        """Keep a segment until it can be given."""
        before = half.held_size
        half.hold_segment(entry)
        self.held += half.held_size - before

    def deliver_ready(self, connection: Connection) -> None:
        """Give what can be given, in the order in which it was captured."""
        first, second = connection.first, connection.second
        while True:
            entry, other = first.next_deliverable_segment(), second.next_deliverable_segment()
            if entry is None and other is None:
                entry, other = find_deadlock(first, second)
                if entry is None:
                    return
            if other is None or (entry is not None and entry[3] <= other[3]):
                self._deliver_first_held(first)
            else:
                self._deliver_first_held(second)

    def give_up_holes(self, connection: Connection) -> None:
        """Give up the holes that nobody will fill, and give what is behind them, and what begins for sure."""
        self.deliver_ready(connection)
        pending = [connection.first, connection.second]
        while pending:
            half = pending[0]
            end = half.hole_end()
            if not half.held:
                end = min(end, half.sure)
            if half.place < end <= half.sure:
                self._skip_bytes_to(half, end)
                self.deliver_ready(connection)
                pending = [connection.first, connection.second]
            else:
                del pending[0]

    def give_up_first_hole(self, connection: Connection) -> bool:
        """Give up the first thing that is waited for; False if there is none."""
        halves = (connection.first, connection.second)
        unsure = [half for half in halves if half.held and not half.started]
        if unsure:
            for half in unsure:
                half.begin_stream(half.held[0][0])
            self.deliver_ready(connection)
            return True
        for half in halves:
            end = half.hole_end()
            if end:
                self._skip_bytes_to(half, end)
                self.deliver_ready(connection)
                return True
        for half in halves:
            if half.held:  # behind an acknowledgement of bytes that nobody has sent
                self._deliver_first_held(half)
                self.deliver_ready(connection)
                return True
        return False

    def deliver_all_held(self, connection: Connection) -> None:
        """Give all that is held, and give up all that is waited for."""
        self.deliver_ready(connection)
        while self.give_up_first_hole(connection):
            pass

    def report_retransmission(self, half: Half, start: int, end: int, *, twice: bool) -> bool:
        """Give an event for bytes that were sent again; True instead where the capture merely has a packet twice."""
        start = max(start, half.first)
        if start >= end or (twice and end == half.place):
            return start < end
        half.again += 1
        self.out.append((half, self.time_ns, self.packet, Retransmission(start - half.first, end - start)))
        return False

    def deliver_gap(self, half: Half, size: int, why: Why, time_ns: int, packet: int) -> None:
        """Give a gap: bytes that are not there."""
        half.gaps += 1
        half.missing += size
        self.out.append((half, time_ns, packet, Gap(size, why)))

    def deliver_jump(self, half: Half, place: int, time_ns: int, packet: int) -> None:
        """Give a jump: the stream goes on farther off than any window reaches, with no number of bytes between."""
        half.gaps += 1
        half.jumps += ((half.place - half.first - half.ended, half.first),)
        half.first += place - half.place
        half.place = place
        self.out.append((half, time_ns, packet, Gap(0, "jump")))

    def drop_held(self, half: Half) -> None:
        """Let go of what a half holds."""
        self.held -= half.held_size
        half.held, half.held_size, half.far = (), 0, ()

    def _deliver_first_held(self, half: Half) -> None:
        """Give the first held segment of a half."""
        start, end, time_ns, packet, _, data, role = half.take_first_held_segment()
        half.held_size -= len(data) + SEGMENT_COST
        self.held -= len(data) + SEGMENT_COST
        half.place = end
        connection = half.connection
        if data:
            self.out.append((half, time_ns, packet, data))
        if end - start > len(data):
            self.deliver_gap(half, end - start - len(data), "snaplen", time_ns, packet)
        if role == ENDS:
            half.ended = True
            half.place += 1
        elif role == RESETS:
            connection.reset = connection.reset or half
        elif connection.reset is half:
            connection.reset = None  # it goes on: that was somebody else's reset

    def _skip_bytes_to(self, half: Half, end: int) -> None:
        """Give up the bytes up to number `end`: they are lost."""
        _, _, time_ns, packet, *_ = half.held[0] if half.held else (0, 0, self.time_ns, self.packet)
        if end - half.place >= FAR:
            self.deliver_jump(half, end, time_ns, packet)
        elif end - half.place > 1 or not half.held or half.held[0][6] != RESETS:  # else it is a FIN
            self.deliver_gap(half, end - half.place, "lost", time_ns, packet)
        half.place = end


FIN: Final = 1
SYN: Final = 2
RST: Final = 4
ACK: Final = 16
# The flags of segments that the fast path leaves.
SPECIAL: Final = FIN | SYN | RST | ZERO_WINDOW

# Two copies of a packet so close together (ns) are one packet captured twice; retransmission takes longer.
TWICE_NS: Final = 10**6
# The time between two looks at connections that wait, when no packets come.
TICK_NS: Final = 10**8
# The most connections that one look takes: time may jump in a capture, work should not. While more of them wait, the
# next look comes after some packets, not after some seconds, so that segments are not held longer than they must.
LOOK_MAX: Final = 256
LOOK_PACKETS: Final = PATIENCE
_CLOSES: Final[dict[How, Close]] = {how: Close(how) for how in get_args(How)}


@mypyc_attr(allow_interpreted_subclasses=True)
class Reassembly:
    """All TCP connections of one capture.

    `counts`: `stray` segments that fit nowhere, `after_close` bytes behind a connection's end, `surplus` connections
    ended because too many were open, `twice` packets that the capture merely holds again. `connection_count` is the
    number of connections so far.
    """

    def __init__(self) -> None:
        self._connections = Connections()
        self._delivery = Delivery()
        self._waiting = Waiting()  # connections that hold segments, or lack some
        # Connections after a RST → its time and packet number; ordered, for those that end are taken from the front.
        self._resets: OrderedDict[Connection, tuple[int, int]] = OrderedDict()
        self._look_ns = 0  # when to look for holes that nobody will fill
        self._look_packet = 0  # the packet of the latest look
        self.counts = {"stray": 0, "after_close": 0, "surplus": 0, "twice": 0}
        self._drowsy_ns = 0  # when to look for silent connections

    def feed(self, segments: list[Segment], now_ns: int = 0) -> list[Chunk]:
        """The chunks that are sure with these segments; without segments, those that are sure because time passed."""
        if segments and segments[-1][1] >= self._drowsy_ns:
            return self._feed_after_long_silence(segments)
        out: list[Chunk] = []
        self._delivery.out = out
        append, halves, slow = out.append, self._connections.halves, self._handle_segment_on_slow_path
        for key, time_ns, packet, seq, ack, flags, data, cut in segments:
            try:
                half = halves[key]
            except KeyError:
                slow(None, (key, time_ns, packet, seq, ack, flags, data, cut))
                continue
            if seq == half.next and ack <= half.peer.next and not (flags & SPECIAL or cut):
                if data:
                    after = seq + len(data)
                    if after > MASK:
                        slow(half, (key, time_ns, packet, seq, ack, flags, data, cut))
                        continue
                    half.next = after
                    append((half, time_ns, packet, data))
                half.last_ns = time_ns
                half.packets += 1
            else:
                slow(half, (key, time_ns, packet, seq, ack, flags, data, cut))
        if segments:
            self._delivery.time_ns, self._delivery.packet = segments[-1][1:3]
        elif now_ns >= self._delivery.time_ns + TICK_NS:
            self._delivery.time_ns = now_ns
            self._check_waiting_connections(idle=True)
        return out

    def list_waiting_connections(self) -> list[Connection]:
        """The connections that hold segments, or lack some."""
        return list(self._waiting)

    def finish(self) -> list[Chunk]:
        """The chunks at the end of the capture: what is held, with its gaps, and the end of every connection."""
        out: list[Chunk] = []
        self._delivery.out = out
        for connection in self.connections().values():
            self._pass_time_on_connection(connection)
            if not connection.over:
                self._close_connection(connection, "capture_end")
        return out

    def advance_time(self, time_ns: int, packet: int) -> None:
        """Note that the capture goes on to this time and packet, without segments of these connections."""
        self._delivery.time_ns, self._delivery.packet = time_ns, packet

    def find_half(self, key: bytes) -> Half | None:
        """The half with this key of an open connection."""
        return self._connections.halves.get(key)

    def count_connection_seen_elsewhere(self) -> None:
        """Count one connection more, of which no segment comes here."""
        self._connections.count += 1

    @property
    def connection_count(self) -> int:
        """Connections so far, open or not."""
        return self._connections.count

    def connections(self) -> dict[int, Connection]:
        """The connections that are open now, by number, in order of appearance."""
        return self._connections.connections_by_number()

    def _feed_after_long_silence(self, segments: list[Segment]) -> list[Chunk]:
        """`feed` for segments among which a connection may speak again that was silent for too long."""
        out: list[Chunk] = []
        begin = 0
        for index, segment in enumerate(segments):
            if segment[1] >= self._drowsy_ns:
                # All of these are before `_drowsy_ns`, so that feed() does not call this again.
                out += self.feed(segments[begin:index])
                for connection in self._connections.find_long_silent_connections(segment[1]):
                    connection.mark_perhaps_silent()
                self._drowsy_ns = segment[1] + IDLE_NS // 2
                begin = index
        return out + self.feed(segments[begin:])

    def _handle_segment_on_slow_path(self, half: Half | None, segment: Segment) -> None:
        """Take any segment; the fast path is a short cut for some."""
        self._delivery.time_ns, self._delivery.packet = segment[1:3]
        if half is not None:
            self._pass_time_on_connection(half.connection)
            if half.connection.over:
                half = None
            elif half.connection.drowsy:
                half.connection.clear_perhaps_silent()
                out = self._delivery.out
                out += self.feed([segment])
                self._delivery.out = out
                return
        self._handle_unusual_segment(half, segment)

    def _handle_unusual_segment(self, half: Half | None, segment: Segment) -> None:
        """Take a segment that the fast path does not take, of a connection that is open or of none."""
        _, time_ns, packet, _, ack, flags, _, _ = segment
        half = (
            self._handle_syn_segment(half, segment) if flags & SYN else half or self._open_connection_midstream(segment)
        )
        if half is None:
            return
        connection, peer = half.connection, half.peer
        connection.at_ns, connection.at_packet = time_ns, packet
        connection.leave_fast_path()
        if flags & ACK:
            place = peer.extend_sequence_number(ack)
            if abs(place - peer.place) < FAR:
                peer.acked = max(peer.acked, place)
                peer.heard = peer.heard or place
        if flags & (RST | ZERO_WINDOW):
            half.note_reset_or_zero_window(time_ns, resets=bool(flags & RST))
        self._hold_segment(half, segment)
        half.last_ns = time_ns
        half.packets += 1
        if not connection.over:
            self._advance_connection(connection)
        if self._delivery.held > HELD_MAX:
            self._give_up_longest_waiting()
        if self._is_check_of_waiting_due():
            self._check_waiting_connections()

    def _hold_segment(self, half: Half, segment: Segment) -> None:
        """Hold the bytes and the end that a segment brings; `_advance_connection` gives them."""
        _, time_ns, packet, seq, ack, flags, data, cut = segment
        size = len(data) + cut
        role = RESETS if flags & RST else ENDS if flags & FIN else PLAIN
        start = half.extend_sequence_number(seq + (flags & SYN == SYN) & MASK)
        if role == RESETS:
            data, size = b"", 0
            if not half.started and not half.held:
                half.begin_stream(start)
            if start > half.place - FAR:
                start = max(start, half.end_of_held_bytes())
        elif not size and not role:
            if not (half.started or half.held or half.sent):
                half.sent = start
            return
        elif size == 1 and not (role or half.started or half.held):
            half.sent = half.sent or start  # a keep-alive that carries a byte: no Kafka message has one byte
            return
        if abs(start - half.place) >= FAR:
            self._handle_stray_segment(half, segment)
            return
        end = start + size
        ack = ack if flags & ACK else -1
        delivery = self._delivery
        if half.started and start < half.place:
            if size > 1 or end != half.place:
                twice = time_ns - half.last_ns < TWICE_NS
                self.counts["twice"] += delivery.report_retransmission(half, start, min(end, half.place), twice=twice)
            data = data[half.place - start :]
            start = half.place
        if start < end:
            delivery.hold_segment(half, (start, end, time_ns, packet, ack, data, PLAIN))
        if role == RESETS or (role == ENDS and end >= start and not half.ended):
            delivery.hold_segment(half, (end, end, time_ns, packet, ack, b"", role))

    def _handle_stray_segment(self, half: Half, segment: Segment) -> None:
        """Take a segment far from where the stream is: it is believed, with its run, once that has SURE segments."""
        _, time_ns, packet, seq, ack, flags, data, cut = segment
        self.counts["stray"] += 1
        size = len(data) + cut
        if not size or flags & (SYN | RST):
            return
        run = half.keep_stray_segment((UNSEEN | seq, time_ns, packet, ack if flags & ACK else -1, data, size))
        if not run:
            return
        self.counts["stray"] -= len(run)
        place = run[0][0]
        if half.peer.place and flags & ACK and abs(sequence_difference(ack, half.peer.place)) >= FAR:
            # Both halves are elsewhere: the ports serve a new connection, whose SYN was not captured.
            self._close_connection(half.connection, "idle")
            half = self._open_connection(segment, initiator=True)
            half.packets, half.last_ns = len(run), time_ns
        else:
            self._delivery.deliver_all_held(half.connection)
            step = sequence_difference(place, half.place) if half.started else 0
            if 0 < step < FAR:  # flush() has brought the stream near it
                self._delivery.deliver_gap(half, step, "lost", *run[0][2:4])
                half.place += step
            elif step:
                self._delivery.deliver_jump(half, half.place + step, *run[0][2:4])
        half.restart_stream(place)
        for entry in run:
            self._delivery.hold_segment(half, entry)
        self._advance_connection(half.connection)

    def _advance_connection(self, connection: Connection) -> None:
        """Give all that can be given of a connection, holes that are lost included; then decide on its path."""
        delivery, time_ns, packet = self._delivery, self._delivery.time_ns, self._delivery.packet
        connection.decide_if_known_long_enough(time_ns, packet, idle=False)
        delivery.deliver_ready(connection)
        halves = (connection.first, connection.second)
        if connection in self._waiting:
            for half in halves:
                half.advance_patience(time_ns, packet)
            delivery.give_up_holes(connection)
        while max(half.held_size for half in halves) > OUT_OF_ORDER_MAX and delivery.give_up_first_hole(connection):
            pass
        self._close_or_reschedule_connection(connection)

    # Beginning and end of connections

    def _handle_syn_segment(self, half: Half | None, segment: Segment) -> Half | None:
        """The half that a SYN begins, or None when it is a copy of one that was seen."""
        key, time_ns, _, seq, ack, flags, _, _ = segment
        first = seq + 1 & MASK
        if half is None:
            if self._connections.repeats_syn(key, first, time_ns):
                return None
        elif does_syn_replace_connection(half, first):
            self._close_connection(half.connection, "idle")
            half = None
        else:
            if half.syn:
                if time_ns - half.last_ns > TWICE_NS:  # sent again, not captured twice
                    half.packets += 1
                    half.again += 1
                    half.last_ns = time_ns
                return None
            if half.started and half.place > half.first:
                half.syn = True  # it comes after the first bytes
                return None
        if half is None:
            half = self._open_connection(segment, initiator=not flags & ACK)
        connection = half.connection
        connection.leave_fast_path()  # from now on `place` alone says where a half is
        if not (half.size or half.peer.size):
            # Once chunks were given the beginning counts as unseen, and that stays so: stages may have read it.
            connection.opened = True
        fresh = not (half.started or half.peer.started)
        if fresh and (half is connection.second) != bool(flags & ACK):
            connection.first, connection.second = connection.second, connection.first
        half.begin_stream(half.extend_sequence_number(first))
        half.syn = True
        if flags & ACK and not half.peer.started and 0 <= half.peer.distance_before_start(ack) < LATE:
            half.peer.begin_stream(half.peer.extend_sequence_number(ack))
        return half

    def _open_connection_midstream(self, segment: Segment) -> Half | None:
        """A new connection for a segment without SYN; None for a RST, or if it belongs to a connection that is over."""
        late = self._connections.count_late_bytes(segment)
        if late is not None:
            self.counts["after_close"] += late
            return None
        if segment[5] & RST:
            self.counts["stray"] += 1
            return None
        return self._open_connection(segment, initiator=True)

    def _open_connection(self, segment: Segment, *, initiator: bool) -> Half:
        key, time_ns, packet = segment[:3]
        for silent in self._connections.find_silent_connections(time_ns):
            self._pass_time_on_connection(silent)
            if not silent.over:
                self.counts["surplus"] += silent.last_ns >= time_ns - IDLE_NS
                self._close_connection(silent, "idle")
        return self._connections.open_connection(key, time_ns, packet, initiator=initiator)

    def end_connection_before_syn(self, segment: Segment) -> tuple[bool, list[Chunk]]:
        """Whether a SYN would begin a connection, and the chunks that end the connection whose ports it takes."""
        delivery = self._delivery
        delivery.time_ns, delivery.packet = segment[1:3]
        out: list[Chunk] = []
        delivery.out = out
        first = segment[3] + 1 & MASK
        half = self._connections.halves.get(segment[0])
        if half is not None:
            self._pass_time_on_connection(half.connection)
            if not half.connection.over:
                if does_syn_replace_connection(half, first):
                    self._close_connection(half.connection, "idle")
                return half.connection.over, out
        return not self._connections.repeats_syn(segment[0], first, segment[1]), out

    # What the passing of time does, and how a connection ends

    def _pass_time_on_connection(self, connection: Connection, *, idle: bool = False) -> None:
        """Do to a connection what the time does that has passed since its latest packet.

        However often this is called, and when, the connection is in the same state at its next packet.
        """
        delivery = self._delivery
        time_ns, packet = delivery.time_ns, delivery.packet
        silent = connection.last_ns < time_ns - IDLE_NS
        idle = idle or silent  # then the packets of other connections do not matter
        if connection in self._waiting:
            delivery.time_ns, delivery.packet = connection.last_time_and_packet
            connection.decide_if_known_long_enough(time_ns, packet, idle=idle)
            delivery.deliver_ready(connection)
            self._close_or_reschedule_connection(connection)
            delivery.time_ns, delivery.packet = time_ns, packet
        while connection in self._waiting:
            since = connection.oldest_expired_mark(time_ns, packet, idle=idle)
            if since is None or (self._reset_is_due(connection, idle=idle) and self._resets[connection] <= since):
                break
            delivery.time_ns, delivery.packet = connection.last_time_and_packet
            connection.end_patience(time_ns, packet, since, idle=idle)
            delivery.give_up_holes(connection)
            self._close_or_reschedule_connection(connection)
            delivery.time_ns, delivery.packet = time_ns, packet
        if self._reset_is_due(connection, idle=idle):
            self._close_connection(connection, "rst")
        elif silent and not connection.over:
            self._close_connection(connection, "idle")

    def _reset_is_due(self, connection: Connection, *, idle: bool) -> bool:
        if connection not in self._resets:
            return False
        reset_ns, packet = self._resets[connection]
        passed = abs(self._delivery.packet - packet)
        return self._delivery.time_ns >= reset_ns + PATIENCE_NS and (idle or passed >= PATIENCE)

    def _close_or_reschedule_connection(self, connection: Connection) -> None:
        """Close a connection that has ended; else decide on its path, and whether it waits."""
        if connection.has_ended:
            self._close_connection(connection, "fin")
            return
        waits = connection.choose_fast_or_slow_path()
        if not waits:
            self._waiting.discard(connection)
        elif connection not in self._waiting:
            self._waiting.add(connection)
            for half in (connection.first, connection.second):
                half.sure = 0
                half.set_patience_mark(self._delivery.time_ns, self._delivery.packet)
        if not connection.reset:
            self._resets.pop(connection, None)
        elif connection not in self._resets:
            self._resets[connection] = (self._delivery.time_ns, self._delivery.packet)
        if waits:
            self._waiting.note_due_time(connection, self._resets.get(connection))

    def _give_up_longest_waiting(self) -> None:
        """Give up what was waited for longest, until less is held."""
        for connection in list(self._waiting):
            self._delivery.deliver_all_held(connection)
            self._close_or_reschedule_connection(connection)
            if self._delivery.held <= HELD_MAX * 9 // 10:
                return

    def _is_check_of_waiting_due(self) -> bool:
        """Whether to look at connections that wait, with the present packet."""
        if self._delivery.time_ns < self._look_ns:
            return False
        return len(self._waiting) <= LOOK_MAX or abs(self._delivery.packet - self._look_packet) >= LOOK_PACKETS

    def _check_waiting_connections(self, *, idle: bool = False) -> None:
        """Do to connections that wait what the passing of time does; `idle`: it passes without packets."""
        time_ns = self._delivery.time_ns
        self._look_packet = self._delivery.packet
        if len(self._waiting) <= LOOK_MAX:
            self._look_ns = time_ns + PATIENCE_NS
        for connection in self._waiting.take_due_connections(time_ns, self._resets, LOOK_MAX):
            self._pass_time_on_connection(connection, idle=idle)
            if not connection.over:
                connection.leave_fast_path()
        while self._resets:
            connection = next(iter(self._resets))
            if not self._reset_is_due(connection, idle=idle):
                break
            self._pass_time_on_connection(connection, idle=idle)

    def _close_connection(self, connection: Connection, how: How) -> None:
        """End a connection; what it holds is given first."""
        delivery = self._delivery
        time_ns, packet = delivery.time_ns, delivery.packet
        delivery.time_ns, delivery.packet = connection.last_time_and_packet
        connection.leave_fast_path()  # from now on `place` alone says how far a half has come
        delivery.deliver_all_held(connection)
        delivery.time_ns, delivery.packet = time_ns, packet
        self._waiting.discard(connection)
        self._resets.pop(connection, None)
        if connection.reset:
            how = "rst"
        elif connection.has_ended or (how == "idle" and (connection.first.ended or connection.second.ended)):
            how = "fin"
        if how != "capture_end":
            time_ns = connection.last_ns
        delivery.out.append((connection.first, time_ns, packet, _CLOSES[how]))
        for half in (connection.first, connection.second):
            delivery.drop_held(half)
        self._connections.end_connection(connection, remembered=how != "capture_end")

    # Handing over

    def waits_for_nothing(self, connection: Connection) -> bool:
        """Whether a connection waits for nothing."""
        return connection not in self._waiting and connection not in self._resets

    def export_key(self, key: bytes, connection: Connection) -> object:
        """The state of one connection, open or over, whose one key this is, for `resume_key`."""
        memories = [self._connections.find_remembered_end(its) for its in (key, reverse_key(key))]
        if connection.over:
            return [None, False, None, memories]
        row = self._connections.export_connection(connection)
        return [row, connection in self._waiting, self._resets.get(connection), memories]

    def resume_key(self, key: bytes, state: object) -> Connection | None:
        """Restore what `export_key` gave, as the connection that was counted last; None when it is over."""
        row, waiting, reset, memories = state_fields(state, list | None, bool, tuple | None, list)
        for its, memory in zip((key, reverse_key(key)), memories, strict=True):
            self._connections.set_remembered_end(its, memory)
        if row is None:
            return None
        connection = self._connections.resume_connection(row, self._connections.count)
        self._delivery.held += connection.held_size
        if reset is not None:
            self._resets[connection] = reset
        if waiting:
            self._waiting.add(connection)
            self._waiting.note_due_time(connection, reset)
        return connection

    def export(self) -> bytes:
        """The state between two feeds, for `resume`."""
        waiting = [connection.number for connection in self._waiting]
        resets = [[connection.number, *since] for connection, since in self._resets.items()]
        place = [self._look_ns, self._look_packet, self._drowsy_ns, self._delivery.time_ns, self._delivery.packet]
        return pack([dict(self.counts), self._connections.export(), waiting, resets, place])

    def resume(self, state: bytes) -> None:
        """Restore the state that `export` gave, maybe in another process. Raises DecodeError when it is something else.

        The connections are new objects; `connections()` has them by number for the stages behind.
        """
        counts, table, waiting, resets, place = state_fields(unpack(state), dict, list, list, list, list)
        if counts.keys() != self.counts.keys() or not all(isinstance(count, int) for count in counts.values()):
            raise Malformed("a saved state with other counts")
        self.counts = counts
        self._look_ns, self._look_packet, self._drowsy_ns, *at = state_fields(place, int, int, int, int, int)
        self._delivery.time_ns, self._delivery.packet = at
        self._connections.resume(table)
        known = self.connections()
        since = [tuple(state_fields(row, int, int, int)) for row in resets]
        if not all(isinstance(number, int) and number in known for number in [*waiting, *(row[0] for row in since)]):
            raise Malformed("a saved state of unknown connections")
        self._resets.clear()
        self._resets.update((known[number], (time_ns, packet)) for number, time_ns, packet in since)
        self._waiting = Waiting()
        for connection in dict.fromkeys(known[number] for number in waiting):
            self._waiting.add(connection)
            self._waiting.note_due_time(connection, self._resets.get(connection))
        self._delivery.held = sum(connection.held_size for connection in known.values())


def does_syn_replace_connection(half: Half, first: int) -> bool:
    """Whether a SYN begins another connection than that of `half`; `first` is the raw number behind the SYN."""
    half.sync_with_fast_path()
    behind = half.distance_before_start(first)
    return behind != 0 if half.syn else not 0 <= behind < LATE
