"""Frames sent and received on kw's own connections in, exchanges out: through the same engine that reads captures.

Each connection enters as one whose first byte was seen and whose peer is known to be a broker. A frame is split into
two chunks if its first and last byte have different times, so that latencies are those of the socket.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, Protocol

from decoders.exchanges.exchange import Exchange
from decoders.exchanges.pairer import Pairer
from decoders.tcp.chunks import Chunk, Close
from decoders.tcp.connections import Connection, Half

if TYPE_CHECKING:
    from uuid import UUID

    from decoders.exchanges.api_versions import Needs

# Stands for the addresses of a request that was not sent; shown as null.
NOWHERE: Final = ""


class Frames(Protocol):
    """One request on a connection: both frames with their size fields, times in nanoseconds since 1970."""

    @property
    def request_frame(self) -> bytes: ...
    @property
    def response_frame(self) -> bytes | None: ...
    @property
    def begun_ns(self) -> int: ...
    @property
    def sent_ns(self) -> int: ...
    @property
    def first_ns(self) -> int | None: ...
    @property
    def last_ns(self) -> int | None: ...


class Tape:
    """The exchanges of one run; connections are numbered in the order in which they are first used."""

    def __init__(self, needs: Needs | None = None) -> None:
        """`needs`: the parts of bodies that are read besides the exchanges' own attributes."""
        self._pairer = Pairer(needs=needs)
        self._connections: dict[tuple[str, str], Connection] = {}

    def play(self, local: str, peer: str, frames: Frames) -> Exchange:
        """The exchange of a request on the connection between `local` and `peer` (host:port).

        Without a response the exchange is unanswered; how the connection ended, if it did, is left out.
        """
        connection = self._connection(local, peer, frames.begun_ns)
        chunks = _spread(connection.first, frames.request_frame, frames.begun_ns, frames.sent_ns)
        if frames.response_frame is not None and frames.first_ns is not None and frames.last_ns is not None:
            chunks += _spread(connection.second, frames.response_frame, frames.first_ns, frames.last_ns)
        settled = self._pairer.feed(chunks)
        if not settled:
            del self._connections[local, peer]
            settled = self._pairer.feed([(connection.first, frames.sent_ns, 0, Close("fin"))])
        exchange = settled[-1]
        assert isinstance(exchange, Exchange)
        if exchange.outcome == "unanswered":
            exchange.extra = None
        return exchange

    def forget(self, local: str, peer: str) -> None:
        """End a connection that is over; its addresses may be used again."""
        connection = self._connections.pop((local, peer), None)
        if connection is not None:
            self._pairer.feed([(connection.first, 0, 0, Close("fin"))])

    def name(self, topics: Mapping[UUID, str]) -> None:
        """Add names of topic ids that were looked up."""
        for identity, name in topics.items():
            if identity not in self._pairer.context.topics.names:
                self._pairer.context.topics.add(identity, name)

    def _connection(self, local: str, peer: str, now_ns: int) -> Connection:
        found = self._connections.get((local, peer))
        if found is None:
            number = self._pairer.summary.connections + 1
            found = self._connections[local, peer] = Connection(number, local, peer, now_ns, opened=True)
            self._pairer.context.brokers.setdefault(peer, 0)
        return found


def _spread(half: Half, frame: bytes, first_ns: int, last_ns: int) -> list[Chunk]:
    """A frame in one chunk, or in two where its ends have different times. Packet number 0: there is no capture."""
    if first_ns == last_ns or len(frame) < 2:
        return [(half, last_ns, 0, frame)]
    return [(half, first_ns, 0, frame[:1]), (half, last_ns, 0, frame[1:])]
