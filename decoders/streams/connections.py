"""The table of TCP connections: which are open, which ended lately, which have been silent for too long."""

from __future__ import annotations

from collections import OrderedDict
from functools import lru_cache
from typing import Final

from decoders.errors import Malformed
from decoders.limits import CLOSED_MAX, CONNECTIONS_MAX, IDLE_NS
from decoders.streams.chunks import Connection, Segment
from decoders.streams.flow import MASK, PATIENCE_NS, UNSEEN, WAITING, Flow, ahead
from decoders.wire.state import fields

__all__ = ["Connections", "TcpConnection"]

# Before all times.
EVER: Final = -1 << 80

# Segments this near the end of a closed connection, this soon (2 MSL), belong to it.
LATE: Final = 1 << 24
LATE_NS: Final = 120 * 10**9
# Packets of the capture, or time without any, after which a connection without SYN began with what was seen.
MET: Final = 16
MET_NS: Final = 10**8
# Connections before the first look for silent ones.
SWEEP_MIN: Final = 4096


class TcpConnection(Connection):
    """A connection put together from segments."""

    __slots__ = ("at_ns", "at_packet", "began_packet", "drowsy", "known", "over", "reset")

    half = Flow
    first: Flow
    second: Flow

    def __init__(self, number: int, first: str, second: str, began_ns: int, *, opened: bool) -> None:
        super().__init__(number, first, second, began_ns, opened=opened)
        self.over = False
        self.reset: Flow | None = None  # who sent a RST
        self.began_packet = 0
        self.at_ns, self.at_packet = began_ns, 0  # of its latest packet that took the slow path
        self.drowsy = False  # on the slow path for nothing but that
        self.known = False  # long enough for segments from before the first one to have come

    @property
    def at(self) -> tuple[int, int]:
        """Time and number of its latest packet that took the slow path."""
        return self.at_ns, self.at_packet

    @property
    def last_ns(self) -> int:
        """Time of its latest packet."""
        return max(self.first.last_ns, self.second.last_ns)

    @property
    def held_size(self) -> int:
        """What both directions hold."""
        return self.first.held_size + self.second.held_size

    @property
    def ended(self) -> bool:
        """Whether the FIN of both sides was reached."""
        return self.first.ended and self.second.ended

    def meet(self, time_ns: int, packet: int, *, idle: bool) -> None:
        """Decide whether the connection is known long enough for a beginning without SYN to be believed."""
        if abs(packet - self.began_packet) >= MET or (idle and time_ns - self.began_ns >= MET_NS):
            self.known = True
            self.began_packet = 0  # nobody asks again

    def lapsed(self, time_ns: int, packet: int, *, idle: bool) -> tuple[int, int] | None:
        """The oldest mark, of those that patience has ended with until now; None where that changes nothing."""
        flows = (self.first, self.second)
        return min((flow.since for flow in flows if flow.lapses(time_ns, packet, self.at, idle=idle)), default=None)

    def lapse(self, time_ns: int, packet: int, since: tuple[int, int], *, idle: bool) -> None:
        """Let patience end with what the marks of that time hold.

        What is known now was known since the connection's latest packet: looked at often or once, it comes to the same.
        """
        flows = (self.first, self.second)
        for flow in [flow for flow in flows if flow.lapses(time_ns, packet, self.at, idle=idle)]:
            if flow.since == since:
                flow.lapse(*self.at)

    def due_ns(self, reset: tuple[int, int] | None) -> int:
        """The time before which the passing of time does nothing to it, if nothing comes; `reset`: when a RST came."""
        if not self.known:
            return EVER  # it waits for packets of others
        due = [self.last_ns + IDLE_NS + 1]
        due += [flow.since[0] + PATIENCE_NS for flow in (self.first, self.second) if flow.may_lapse(self.at)]
        if reset is not None:
            due.append(reset[0] + PATIENCE_NS)
        return min(due)

    def early_ns(self, reset: tuple[int, int] | None) -> int:
        """A time that is not later than `due_ns`, and soon worked out."""
        if not self.known:
            return EVER
        first, second = self.first, self.second
        since_ns = min(first.mark[5], second.mark[5])
        if reset is not None and reset[0] < since_ns:
            since_ns = reset[0]
        return min(since_ns + PATIENCE_NS, max(first.last_ns, second.last_ns) + IDLE_NS)

    def park(self) -> None:
        """Send the next segment down the slow path."""
        for flow in (self.first, self.second):
            flow.sync()
            flow.next = WAITING

    def doze(self) -> None:
        """Send the next segment down the slow path, where it is seen if the connection was silent for too long."""
        if self.first.next != WAITING:
            self.park()
            self.drowsy = True

    def wake(self) -> None:
        """Go on as before."""
        self.drowsy = False
        self.settle()

    def settle(self) -> bool:
        """Decide between fast and slow path for what follows; True when something is held, or missing."""
        first, second = self.first, self.second
        waits = bool(first.held or second.held or first.hole() or second.hole())
        for flow in (first, second):
            flow.next = WAITING if waits or self.reset else flow.place & MASK if flow.started else UNSEEN
            if not waits and flow.acked is not flow.place:
                flow.share()
        return waits

    def export(self) -> object:
        """The state as built-in values."""
        reset = 0 if self.reset is None else 1 if self.reset is self.first else 2
        facts = [self.number, self.began_ns, self.opened, self.began_packet, self.known, self.drowsy, reset]
        return [*facts, self.at, self.first.export(), self.second.export()]

    @classmethod
    def resumed(cls, state: object) -> TcpConnection:
        """The connection whose `export` gave this. Raises DecodeError when it is something else."""
        number, began_ns, opened, began_packet, known, drowsy, reset, at, first, second = fields(
            state, int, int, bool, int, bool, bool, int, tuple, list, list
        )
        texts = [row[1] if len(row) > 1 else None for row in (first, second)]
        if not isinstance(texts[0], str) or not isinstance(texts[1], str):
            raise Malformed("a saved connection without addresses")
        connection = cls(number, texts[0], texts[1], began_ns, opened=opened)
        connection.began_packet, connection.known, connection.drowsy = began_packet, known, drowsy
        connection.at_ns, connection.at_packet = fields(at, int, int)
        connection.reset = {1: connection.first, 2: connection.second}.get(reset)
        connection.first.resume(first)
        connection.second.resume(second)
        return connection


class Connections:
    """All connections of a capture. `flows` has both directions of the open ones, by key."""

    def __init__(self) -> None:
        self.flows: dict[bytes, Flow] = {}
        self.count = 0
        # Key → first and next raw number, time of the end; ordered, for the oldest are taken from the front.
        self._ended: OrderedDict[bytes, tuple[int, int, int]] = OrderedDict()
        self._sweep_at = SWEEP_MIN

    def by_number(self) -> dict[int, TcpConnection]:
        """The open connections in order of appearance."""
        known = {flow.connection.number: flow.connection for flow in self.flows.values()}
        numbers = sorted(known)
        return known if numbers == list(known) else {number: known[number] for number in numbers}

    def open(self, key: bytes, time_ns: int, packet: int, *, initiator: bool) -> Flow:
        """A new connection; gives the flow with this key, which is `first` if it is the initiator."""
        self.count += 1
        source, target = endpoints(key)
        if initiator:
            connection = TcpConnection(self.count, source, target, time_ns, opened=False)
            flow = connection.first
        else:
            connection = TcpConnection(self.count, target, source, time_ns, opened=False)
            flow = connection.second
        connection.began_packet = connection.at_packet = packet
        flow.key, flow.peer.key = key, turned(key)
        for half in (flow, flow.peer):
            self.flows[half.key] = half
            self._ended.pop(half.key, None)
        return flow

    def end(self, connection: TcpConnection, *, remembered: bool = True) -> None:
        """A connection is over: remember it for a while, if anything may follow."""
        connection.over = True
        time_ns = connection.last_ns
        for flow in (connection.first, connection.second):
            self.flows.pop(flow.key, None)  # both have the same key where an endpoint talks to itself
            if flow.place and remembered:
                self._ended[flow.key] = (flow.first & MASK, flow.place & MASK, time_ns)
        while len(self._ended) > CLOSED_MAX:
            self._ended.popitem(last=False)

    def memory(self, key: bytes) -> tuple[int, int, int] | None:
        """What is known of the connection of this key that is over."""
        return self._ended.get(key)

    def remember(self, key: bytes, memory: tuple[int, int, int] | None) -> None:
        """Take over what `memory` gave elsewhere."""
        self._ended.pop(key, None)
        if memory is not None:
            self._ended[key] = memory

    def repeats(self, key: bytes, first: int) -> bool:
        """Whether a SYN is a copy of the one that began a connection that is over."""
        return key in self._ended and self._ended[key][0] == first

    def late(self, segment: Segment) -> int | None:
        """New bytes that a segment without SYN adds to a connection that is over; None if it belongs to no such."""
        key, time_ns, _, seq, _, _, data, cut = segment
        if key not in self._ended:
            return None
        _, after, ended_ns = self._ended[key]
        if abs(ahead(seq, after)) >= LATE or time_ns - ended_ns >= LATE_NS:
            return None
        size = len(data) + cut
        return max(min(ahead(seq, after) + size, size), 0)

    def drowsy(self, now_ns: int) -> list[TcpConnection]:
        """Connections that have been silent for half the time after which they are over."""
        known = {id(flow.connection): flow.connection for flow in self.flows.values()}
        return [connection for connection in known.values() if connection.last_ns < now_ns - IDLE_NS // 2]

    def silent(self, now_ns: int) -> list[TcpConnection]:
        """Connections to end before the next is opened, looked for at ever larger numbers of them.

        Those that were silent for too long, and the longest silent tenth when there are too many.
        """
        if len(self.flows) < 2 * self._sweep_at:
            return []
        known = sorted(self.by_number().values(), key=lambda connection: (connection.last_ns, connection.number))
        surplus = len(known) - CONNECTIONS_MAX * 9 // 10 if len(known) >= CONNECTIONS_MAX else 0
        gone = [
            connection
            for index, connection in enumerate(known)
            if index < surplus or connection.last_ns < now_ns - IDLE_NS
        ]
        self._sweep_at = min(max(SWEEP_MIN, 2 * (len(known) - len(gone))), CONNECTIONS_MAX)
        return gone

    def export_one(self, connection: TcpConnection) -> object:
        """The state of an open connection, and which direction takes the segments: where an endpoint talks to itself
        both have one key.
        """
        return [connection.export(), self.flows[connection.first.key] is connection.first]

    def resume_one(self, state: object, number: int | None = None) -> TcpConnection:
        """Take over what `export_one` gave, with a number of its own or another. Raises DecodeError."""
        row, first_takes = fields(state, list, bool)
        connection = TcpConnection.resumed(row if number is None else [number, *row[1:]])
        first, second = connection.first, connection.second
        if turned(first.key) != second.key or first.key in self.flows or second.key in self.flows:
            raise Malformed("a saved state with a connection twice")
        for flow in (second, first) if first_takes else (first, second):
            self.flows[flow.key] = flow
        return connection

    def export(self) -> object:
        """The state as built-in values."""
        connections = [self.export_one(connection) for connection in self.by_number().values()]
        return [connections, self.count, [[key, *row] for key, row in self._ended.items()], self._sweep_at]

    def resume(self, state: object) -> None:
        """Take over what `export` gave. Raises DecodeError when it is something else."""
        rows, self.count, ended, self._sweep_at = fields(state, list, int, list, int)
        self.flows = {}
        for row in rows:
            self.resume_one(row)
        if len(self.by_number()) < len(rows):
            raise Malformed("a saved state with a connection twice")
        self._ended = OrderedDict()
        for row in ended:
            key, first, after, ended_ns = fields(row, bytes, int, int, int)
            self._ended[key] = (first, after, ended_ns)


def endpoints(key: bytes) -> tuple[str, str]:
    """Source and target of a key as text: `10.0.0.1:9092`, `[::1]:9092`."""
    size = (len(key) - 4) // 2
    return _endpoint(key[:size], key[-4:-2]), _endpoint(key[size:-4], key[-2:])


@lru_cache(1024)  # one text for all connections of a broker
def _endpoint(address: bytes, port: bytes) -> str:
    return f"{_address(address)}:{int.from_bytes(port, 'big')}"


def _address(data: bytes) -> str:
    if len(data) == 4:
        return ".".join(map(str, data))
    from ipaddress import IPv6Address  # only where there is one: it costs start-up time

    return f"[{IPv6Address(data)}]"


def turned(key: bytes) -> bytes:
    """The key of the other direction."""
    size = (len(key) - 4) // 2
    return key[size:-4] + key[:size] + key[-2:] + key[-4:-2]
