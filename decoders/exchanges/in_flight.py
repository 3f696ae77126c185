"""Requests that wait for their response.

Who only watches a connection (`InFlight`: pairing, the proxy's log) has a table by correlation id: an id that is in
flight twice is first in, first out, and answers may come in any order. The loop reads and writes the plain dict;
everything unusual goes through the methods. Who takes part (`InOrder`: the relay, a client) needs no table, since
brokers answer in the order of the requests: an answer that is not to the oldest one is the end of the connection.
"""

from __future__ import annotations

from collections import deque
from typing import Any, TypeVar

T = TypeVar("T")


class InOrder(deque[T]):
    """Requests of one connection, oldest first."""

    @property
    def due(self) -> T | None:
        """What has to be answered next."""
        return self[0] if self else None


class Queue(deque[T]):
    """Requests in flight with one correlation id, oldest first."""


class InFlight(dict[int, T | Queue[T]]):
    """Correlation id → the request that waits, or several of them."""

    __slots__ = ("doubled",)

    def __init__(self) -> None:
        super().__init__()
        self.doubled = 0  # requests that wait behind another one with the same id

    def add(self, correlation_id: int, request: T) -> None:
        """Put a request behind those with its id."""
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
        """The request that an answer with this id would belong to."""
        waiting = self.get(correlation_id)
        return waiting[0] if isinstance(waiting, Queue) else waiting

    def take(self, correlation_id: int) -> T | None:
        """Remove and give the request that an answer with this id belongs to."""
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
        """Remove and give the request that was sent first, of those whose id came first."""
        correlation_id = next(iter(self))
        request = self.take(correlation_id)
        assert request is not None
        return request

    def drain(self) -> list[T]:
        """Remove and give all requests that wait, in the order in which they were sent."""
        every = self.waiting()
        self.clear()
        self.doubled = 0
        return every


def _sent(exchange: Any) -> int:
    return exchange.request_packet_end or 0
