"""Requests that wait for their response.

`InFlight` is a table by correlation id, for code that only watches a connection (pairing, the proxy's log). An id that
is in flight twice is first in, first out, and responses may come in any order. The pairing loop reads and writes the
plain dict; everything unusual goes through the methods. `InOrder` is a queue, for code that takes part (the relay, a
client). Brokers answer in the order of the requests: a response to any but the oldest ends the connection.
"""

from __future__ import annotations

from collections import deque
from typing import Any, TypeVar

T = TypeVar("T")


class InOrder(deque[T]):
    """Requests of one connection, oldest first."""

    @property
    def due(self) -> T | None:
        """The request that has to be answered next; None where none waits."""
        return self[0] if self else None


class Queue(deque[T]):
    """Requests in flight with one correlation id, oldest first."""


class InFlight(dict[int, T | Queue[T]]):
    """Correlation id → the request that waits, or a Queue of several."""

    __slots__ = ("doubled",)

    def __init__(self) -> None:
        super().__init__()
        self.doubled = 0  # requests that wait behind another one with the same id

    def add(self, correlation_id: int, request: T) -> None:
        """Add a request, after those that wait with the same id."""
        waiting = self.get(correlation_id)
        if waiting is None:
            self[correlation_id] = request
        elif isinstance(waiting, Queue):
            waiting.append(request)
            self.doubled += 1
        else:
            self[correlation_id] = Queue((waiting, request))
            self.doubled += 1

    def first(self, correlation_id: int) -> T | None:
        """The request that a response with this correlation id would belong to; None if there is none."""
        waiting = self.get(correlation_id)
        return waiting[0] if isinstance(waiting, Queue) else waiting

    def take(self, correlation_id: int) -> T | None:
        """Remove and return the request that a response with this correlation id belongs to; None if there is none."""
        waiting = self.get(correlation_id)
        if not isinstance(waiting, Queue):
            return self.pop(correlation_id, None) if waiting is not None else None  # type: ignore[return-value]  # no Queue
        request = waiting.popleft()
        self.doubled -= 1
        if len(waiting) == 1:
            self[correlation_id] = waiting[0]
        return request

    def count(self) -> int:
        """How many requests wait."""
        return len(self) + self.doubled

    def waiting(self) -> list[T]:
        """All requests that wait, in the order in which they were sent."""
        every: list[T] = []
        for entry in self.values():
            if isinstance(entry, Queue):
                every.extend(entry)
            else:
                every.append(entry)
        every.sort(key=_sent)
        return every

    def oldest(self) -> T:
        """Remove and return the oldest request of the correlation id that has been in the table longest."""
        correlation_id = next(iter(self))
        request = self.take(correlation_id)
        assert request is not None
        return request

    def drain(self) -> list[T]:
        """Remove and return all requests that wait, in the order in which they were sent."""
        every = self.waiting()
        self.clear()
        self.doubled = 0
        return every


def _sent(exchange: Any) -> int:
    return exchange.request_packet_end or 0
