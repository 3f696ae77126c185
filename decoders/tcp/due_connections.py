"""The connections that wait for something in, the connections out whose time has come.

The problem. Packets come by the thousand a second and so do losses, while the time for most of the connections that
wait has not come. To look at all of them with each packet costs quadratic time in a busy capture.

The idea. A heap has each connection under a time before which a look at it changes nothing, and a look takes the
connections whose time has come:

```
early_ns  (cheap lower bound, noted with every packet)  ≤  due_ns  (exact, worked out when the bound is reached)
heap: [(t1, connection), (t2, connection), …]     now ≥ t1 → due? yes: take it; no: back into the heap under due_ns
```

An entry is out of date when its connection was noted again under an earlier time; such entries are dropped when they
are met, and the heap is built anew before they are the most (`_drop_stale`).

What always holds: the connections' own states decide which of them are taken, never the past of the heap. So export and
resume need not save it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from heapq import heapify, heappop, heappush
from typing import Final

from decoders.tcp.connections import Connection

__all__ = ["Resets", "Waiting"]

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
        """Add a connection that begins to wait; call `note` for it then."""
        self._count += 1
        self._rows[connection] = self._count, _NEVER

    def discard(self, connection: Connection) -> None:
        """Remove a connection that waits no more."""
        self._rows.pop(connection, None)
        self._drop_stale()

    def note(self, connection: Connection, reset: tuple[int, int] | None) -> None:
        """Note the time of a connection that waits, after segments came or something was done to it."""
        number, noted_ns = self._rows[connection]
        due_ns = connection.early_ns(reset)
        if due_ns < noted_ns:
            self._put(connection, number, due_ns)

    def take_due(self, time_ns: int, resets: Resets, most: int) -> list[Connection]:
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
                self._put(connection, number, due_ns)
            else:
                self._rows[connection] = number, _NEVER
                found.append((number, connection))
        return [connection for _, connection in sorted(found)]

    def _put(self, connection: Connection, number: int, due_ns: int) -> None:
        self._rows[connection] = number, due_ns
        heappush(self._heap, (due_ns, number, connection))
        self._drop_stale()

    def _drop_stale(self) -> None:
        """Let go of entries that are out of date, and of connections that are over, before they are the most."""
        if len(self._heap) > 2 * len(self._rows) + STALE_MAX:
            self._heap[:] = [(due_ns, number, its) for its, (number, due_ns) in self._rows.items() if due_ns != _NEVER]
            heapify(self._heap)
