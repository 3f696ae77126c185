"""Requests that wait for their response, by correlation id: the only place that stores correlation ids.

One table for each connection. A correlation id that is in flight twice is first in, first out; answers may come in any
order. The loop reads and writes the plain dict; everything unusual goes through the methods.
"""

from __future__ import annotations

from collections import deque

from decoders.exchanges.exchange import Exchange


class Queue(deque[Exchange]):
    """Requests in flight with one correlation id, oldest first."""


class InFlight(dict[int, Exchange | Queue]):
    """Correlation id → the request that waits, or several of them."""

    __slots__ = ("doubled",)

    def __init__(self) -> None:
        super().__init__()
        self.doubled = 0  # requests that wait behind another one with the same id

    def add(self, correlation_id: int, exchange: Exchange) -> None:
        """Put a request behind those with its id."""
        waiting = self.get(correlation_id)
        if waiting is None:
            self[correlation_id] = exchange
        elif isinstance(waiting, Queue):
            waiting.append(exchange)
            self.doubled += 1
        else:
            self[correlation_id] = Queue((waiting, exchange))
            self.doubled += 1

    def first(self, correlation_id: int) -> Exchange | None:
        """The request that an answer with this id would belong to."""
        waiting = self.get(correlation_id)
        return waiting[0] if isinstance(waiting, Queue) else waiting

    def take(self, correlation_id: int) -> Exchange | None:
        """Remove and give the request that an answer with this id belongs to."""
        waiting = self.get(correlation_id)
        if not isinstance(waiting, Queue):
            return self.pop(correlation_id, None) if waiting is not None else None  # type: ignore[return-value]  # no Queue
        exchange = waiting.popleft()
        self.doubled -= 1
        if len(waiting) == 1:
            self[correlation_id] = waiting[0]
        return exchange

    def count(self) -> int:
        """How many requests wait."""
        return len(self) + self.doubled

    def waiting(self) -> list[Exchange]:
        """All requests that wait, in the order in which they were sent."""
        every: list[Exchange] = []
        for entry in self.values():
            if isinstance(entry, Queue):
                every.extend(entry)
            else:
                every.append(entry)
        every.sort(key=_sent)
        return every

    def oldest(self) -> Exchange:
        """Remove and give the request that was sent first, of those whose id came first."""
        correlation_id = next(iter(self))
        exchange = self.take(correlation_id)
        assert exchange is not None
        return exchange

    def drain(self) -> list[Exchange]:
        """Remove and give all requests that wait, in the order in which they were sent."""
        every = self.waiting()
        self.clear()
        self.doubled = 0
        return every


def _sent(exchange: Exchange) -> int:
    return exchange.request_packet_end or 0
