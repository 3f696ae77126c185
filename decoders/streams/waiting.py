"""The connections that wait for something in, those of them that passing time may do something to out.

Packets come by the thousand a second and so do losses, while the time for most of those that wait has not come: a heap
has each of them under a time before which a look at it changes nothing (`TcpConnection.due_ns`), and a look takes those
whose time has come. The times in the heap are lower bounds that cost little (`TcpConnection.early_ns`), since they are
noted anew with every packet of a connection that waits; what is due is worked out when a bound is reached.

What is taken is decided by the connections' own states, never by what the heap was like before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from heapq import heapify, heappop, heappush
from typing import Final

from decoders.streams.flow import TcpConnection

__all__ = ["Resets", "Waiting"]

# Connections after a RST: the time and the packet number of it.
Resets = Mapping[TcpConnection, tuple[int, int]]
# Entries of the heap that may be out of date, beside as many as there are connections.
STALE_MAX: Final = 64
_NEVER: Final = 1 << 80


class Waiting:
    """Connections that hold segments, or lack some, in the order in which they began to."""

    def __init__(self) -> None:
        # By connection: the number in that order, and the time under which the heap has it, _NEVER where it has not.
        self._rows: dict[TcpConnection, tuple[int, int]] = {}
        self._heap: list[tuple[int, int, TcpConnection]] = []
        self._count = 0

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[TcpConnection]:
        return iter(self._rows)

    def __contains__(self, connection: TcpConnection) -> bool:
        return connection in self._rows

    def add(self, connection: TcpConnection) -> None:
        """A connection begins to wait; `note` it then."""
        self._count += 1
        self._rows[connection] = self._count, _NEVER

    def discard(self, connection: TcpConnection) -> None:
        """A connection waits no more."""
        self._rows.pop(connection, None)
        self._drop_stale()

    def note(self, connection: TcpConnection, reset: tuple[int, int] | None) -> None:
        """Something has come to a connection that waits, or was done to it."""
        number, noted_ns = self._rows[connection]
        due_ns = connection.early_ns(reset)
        if due_ns < noted_ns:
            self._put(connection, number, due_ns)

    def take_due(self, time_ns: int, resets: Resets, most: int) -> list[TcpConnection]:
        """The connections whose time has come, at most so many, in the order in which they began to wait.

        Each of them is to be noted again, or discarded.
        """
        found: list[tuple[int, TcpConnection]] = []
        heap = self._heap
        while heap and heap[0][0] <= time_ns and len(found) < most:
            noted_ns, number, connection = heappop(heap)
            if self._rows.get(connection) != (number, noted_ns):
                continue
            due_ns = connection.due_ns(resets.get(connection))
            if due_ns > noted_ns:
                self._put(connection, number, due_ns)
            else:
                self._rows[connection] = number, _NEVER
                found.append((number, connection))
        return [connection for _, connection in sorted(found)]

    def _put(self, connection: TcpConnection, number: int, due_ns: int) -> None:
        self._rows[connection] = number, due_ns
        heappush(self._heap, (due_ns, number, connection))
        self._drop_stale()

    def _drop_stale(self) -> None:
        """Let go of entries that are out of date, and of connections that are over, before they are the most."""
        if len(self._heap) > 2 * len(self._rows) + STALE_MAX:
            self._heap[:] = [(due_ns, number, its) for its, (number, due_ns) in self._rows.items() if due_ns != _NEVER]
            heapify(self._heap)
