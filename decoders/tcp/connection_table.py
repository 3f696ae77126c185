"""The tables of TCP connections: which are open, ended lately or silent for too long, and which wait for something.

The problem. Packets come by the thousand a second and so do losses, while the time for most of the connections that
wait has not come. To look at all of them with each packet costs quadratic time in a busy capture.

The idea. A heap (`Waiting`) has each connection under a time before which a look at it changes nothing, and a look
takes the connections whose time has come:

```
earliest_due_ns  (cheap lower bound, noted with every packet)  ≤  due_ns  (exact, worked out when the bound is reached)
heap: [(t1, connection), (t2, connection), …]     now ≥ t1 → due? yes: take it; no: back into the heap under due_ns
```

An entry is out of date when its connection was noted again under an earlier time; such entries are dropped when they
are met, and the heap is built anew before they are the most (`_drop_stale_due_times`).

What always holds: the connections' own states decide which of them are taken, never the past of the heap. So export and
resume need not save it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from heapq import heapify, heappop, heappush
from typing import Final

from decoders.errors import Malformed
from decoders.limits import CLOSED_MAX, CONNECTIONS_MAX, IDLE_NS
from decoders.tcp.connection_and_halves import (
    MASK,
    Connection,
    Half,
    format_endpoints,
    reverse_key,
    sequence_difference,
)
from decoders.tcp.stream_chunks import Segment
from decoders.wire.state_serialization import state_fields

__all__ = ["LATE", "LATE_NS", "STALE_MAX", "SWEEP_MIN", "Connections", "Resets", "Waiting"]

# Segments this near the end of a closed connection, this soon (2 MSL), belong to it.
LATE: Final = 1 << 24
LATE_NS: Final = 120 * 10**9
# The time after which ended connections are forgotten: more than is asked for, as packets may be out of order.
FORGOTTEN_NS: Final = 2 * LATE_NS
# Connections before the first look for silent ones.
SWEEP_MIN: Final = 4096


class Connections:
    """All connections of a capture. `halves`: both halves of the open ones, by key."""

    def __init__(self) -> None:
        self.halves: dict[bytes, Half] = {}
        self.count = 0
        # Key → first and next raw number, time of the end; ordered, for the oldest are taken from the front.
        self._ended: OrderedDict[bytes, tuple[int, int, int]] = OrderedDict()
        self._sweep_at = SWEEP_MIN

    def connections_by_number(self) -> dict[int, Connection]:
        """The open connections in order of appearance."""
        known = {half.connection.number: half.connection for half in self.halves.values()}
        numbers = sorted(known)
        return known if numbers == list(known) else {number: known[number] for number in numbers}

    def open_connection(self, key: bytes, time_ns: int, packet: int, *, initiator: bool) -> Half:
        """Add a new connection; gives the half with this key, which is `first` if it is the initiator."""
        self.count += 1
        source, target = format_endpoints(key)
        if initiator:
            connection = Connection(self.count, source, target, time_ns, opened=False)
            half = connection.first
        else:
            connection = Connection(self.count, target, source, time_ns, opened=False)
            half = connection.second
        connection.began_packet = connection.at_packet = packet
        half.key, half.peer.key = key, reverse_key(key)
        for each in (half, half.peer):
            self.halves[each.key] = each
            self._ended.pop(each.key, None)
        return half

    def end_connection(self, connection: Connection, *, remembered: bool = True) -> None:
        """Remove a connection that is over; if `remembered`, keep its end for a while, as segments may follow."""
        connection.over = True
        time_ns = connection.last_ns
        for half in (connection.first, connection.second):
            self.halves.pop(half.key, None)  # both have the same key where an endpoint talks to itself
            if half.place and remembered:
                self._ended[half.key] = (half.first & MASK, half.place & MASK, time_ns)
        while len(self._ended) > CLOSED_MAX or (
            self._ended and self._oldest_remembered_end_ns() < time_ns - FORGOTTEN_NS
        ):
            self._ended.popitem(last=False)

    def _oldest_remembered_end_ns(self) -> int:
        return next(iter(self._ended.values()))[2]

    def find_remembered_end(self, key: bytes) -> tuple[int, int, int] | None:
        """What is remembered of an ended connection of this key: first and next raw number, time of its end."""
        return self._ended.get(key)

    def set_remembered_end(self, key: bytes, memory: tuple[int, int, int] | None) -> None:
        """Set what is remembered for a key to what `find_remembered_end` gave elsewhere."""
        self._ended.pop(key, None)
        if memory is not None:
            self._ended[key] = memory

    def repeats_syn(self, key: bytes, first: int, time_ns: int) -> bool:
        """Whether a SYN is a copy of the one that began a connection that has ended less than LATE_NS ago."""
        memory = self._ended.get(key)
        return memory is not None and memory[0] == first and time_ns - memory[2] < LATE_NS

    def count_late_bytes(self, segment: Segment) -> int | None:
        """How many new bytes a segment without SYN adds to an ended connection; None if it belongs to none."""
        key, time_ns, _, seq, _, _, data, cut = segment
        if key not in self._ended:
            return None
        _, after, ended_ns = self._ended[key]
        if abs(sequence_difference(seq, after)) >= LATE or time_ns - ended_ns >= LATE_NS:
            return None
        size = len(data) + cut
        return max(min(sequence_difference(seq, after) + size, size), 0)

    def find_long_silent_connections(self, now_ns: int) -> list[Connection]:
        """Connections that have been silent for half the time after which they are over."""
        known = {id(half.connection): half.connection for half in self.halves.values()}
        return [connection for connection in known.values() if connection.last_ns < now_ns - IDLE_NS // 2]

    def find_silent_connections(self, now_ns: int) -> list[Connection]:
        """Connections to end before the next is opened, looked for at ever larger numbers of them.

        They are the connections that were silent for too long, and when there are too many, the longest silent tenth.
        """
        if len(self.halves) < 2 * self._sweep_at:
            return []
        known = sorted(
            self.connections_by_number().values(), key=lambda connection: (connection.last_ns, connection.number)
        )
        surplus = len(known) - CONNECTIONS_MAX * 9 // 10 if len(known) >= CONNECTIONS_MAX else 0
        gone = [
            connection
            for index, connection in enumerate(known)
            if index < surplus or connection.last_ns < now_ns - IDLE_NS
        ]
        self._sweep_at = min(max(SWEEP_MIN, 2 * (len(known) - len(gone))), CONNECTIONS_MAX)
        return gone

    def export_connection(self, connection: Connection) -> object:
        """The state of an open connection, and which half takes the segments: where an endpoint talks to itself
        both have one key.
        """
        return [connection.export(), self.halves[connection.first.key] is connection.first]

    def resume_connection(self, state: object, number: int | None = None) -> Connection:
        """Restore the connection that `export_connection` gave, with its own number or another. Raises DecodeError."""
        row, first_takes = state_fields(state, list, bool)
        connection = Connection.make_resumed(row if number is None else [number, *row[1:]])
        first, second = connection.first, connection.second
        if reverse_key(first.key) != second.key or first.key in self.halves or second.key in self.halves:
            raise Malformed("a saved state with a connection twice")
        for half in (second, first) if first_takes else (first, second):
            self.halves[half.key] = half
        return connection

    def export(self) -> object:
        """The state as built-in values."""
        connections = [self.export_connection(connection) for connection in self.connections_by_number().values()]
        return [connections, self.count, [[key, *row] for key, row in self._ended.items()], self._sweep_at]

    def resume(self, state: object) -> None:
        """Restore the state that `export` gave. Raises DecodeError when it is something else."""
        rows, self.count, ended, self._sweep_at = state_fields(state, list, int, list, int)
        self.halves = {}
        for row in rows:
            self.resume_connection(row)
        if len(self.connections_by_number()) < len(rows):
            raise Malformed("a saved state with a connection twice")
        self._ended = OrderedDict()
        for row in ended:
            key, first, after, ended_ns = state_fields(row, bytes, int, int, int)
            self._ended[key] = (first, after, ended_ns)


# Connections after a RST → the time and the packet number of the RST.
Resets = Mapping[Connection, tuple[int, int]]
# Entries of the heap that may be out of date, beside as many as there are connections.
STALE_MAX: Final = 64
_NEVER: Final = 1 << 80


class Waiting:
    """Connections that hold segments, or lack some, in the order in which they began to wait."""

    def __init__(self) -> None:
        # By connection: the number in that order, and the time under which the heap has it, _NEVER where it has not.
        self._rows: dict[Connection, tuple[int, int]] = {}
        self._heap: list[tuple[int, int, Connection]] = []
        self._count = 0

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Connection]:
        return iter(self._rows)

    def __contains__(self, connection: Connection) -> bool:
        return connection in self._rows

    def add(self, connection: Connection) -> None:
        """Add a connection that begins to wait; call `note_due_time` for it then."""
        self._count += 1
        self._rows[connection] = self._count, _NEVER

    def discard(self, connection: Connection) -> None:
        """Remove a connection that waits no more."""
        self._rows.pop(connection, None)
        self._drop_stale_due_times()

    def note_due_time(self, connection: Connection, reset: tuple[int, int] | None) -> None:
        """Note the time of a connection that waits, after segments came or something was done to it."""
        number, noted_ns = self._rows[connection]
        due_ns = connection.earliest_due_ns(reset)
        if due_ns < noted_ns:
            self._push_due_time(connection, number, due_ns)

    def take_due_connections(self, time_ns: int, resets: Resets, most: int) -> list[Connection]:
        """The connections whose time has come, at most `most`, in the order in which they began to wait.

        Each of them is to be noted again, or discarded.
        """
        found: list[tuple[int, Connection]] = []
        heap = self._heap
        while heap and heap[0][0] <= time_ns and len(found) < most:
            noted_ns, number, connection = heappop(heap)
            if self._rows.get(connection) != (number, noted_ns):
                continue
            due_ns = connection.due_ns(resets.get(connection))
            if due_ns > noted_ns:
                self._push_due_time(connection, number, due_ns)
            else:
                self._rows[connection] = number, _NEVER
                found.append((number, connection))
        return [connection for _, connection in sorted(found)]

    def _push_due_time(self, connection: Connection, number: int, due_ns: int) -> None:
        self._rows[connection] = number, due_ns
        heappush(self._heap, (due_ns, number, connection))
        self._drop_stale_due_times()

    def _drop_stale_due_times(self) -> None:
        """Let go of entries that are out of date, and of connections that are over, before they are the most."""
        if len(self._heap) > 2 * len(self._rows) + STALE_MAX:
            self._heap[:] = [(due_ns, number, its) for its, (number, due_ns) in self._rows.items() if due_ns != _NEVER]
            heapify(self._heap)
