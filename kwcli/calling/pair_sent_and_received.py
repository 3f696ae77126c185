"""Frames sent and received on kw's own connections in, exchanges out: paired as frames of a capture are.

A capture has to be cut into frames first, and its connections recognised; here both frames of a request are at hand,
and the peer is a broker. Each connection counts as one whose first byte was seen. An exchange has the times of the
socket, and no packets.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, Protocol

from decoders.exchanges.body_reader import Needs
from decoders.exchanges.connection_pairing import Pairing, PairingContext
from decoders.exchanges.exchange import ConnectionInfo, Exchange
from decoders.frames.framing import Frame, FrameDirection

if TYPE_CHECKING:
    from uuid import UUID

# Stands for the addresses of a request that was not sent; shown as null.
NOWHERE: Final = ""


class RequestFrames(Protocol):
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


class ExchangeBuilder:
    """The exchanges of one run; connections are numbered in the order in which they are first used."""

    def __init__(self, needs: Needs | None = None) -> None:
        """`needs`: the parts of bodies that are read besides the exchanges' own attributes."""
        self._context = PairingContext(needs or Needs())
        self._pairings: dict[tuple[str, str], Pairing] = {}

    def build_exchange(self, local_address: str, peer_address: str, frames: RequestFrames) -> Exchange:
        """The exchange of a request on the connection between `local_address` and `peer_address` (host:port).

        Without a response the exchange is unanswered; how the connection ended, if it did, is left out.
        """
        pairing = self._find_or_begin_pairing(local_address, peer_address, frames.begun_ns)
        settled = self._context.out
        settled.clear()
        _pair_frame(pairing, pairing.requests, frames.request_frame, frames.begun_ns, frames.sent_ns)
        if frames.response_frame is not None and frames.first_ns is not None and frames.last_ns is not None:
            _pair_frame(pairing, pairing.responses, frames.response_frame, frames.first_ns, frames.last_ns)
        if not settled:
            self.end_connection(local_address, peer_address)
        exchange = settled[-1]
        assert isinstance(exchange, Exchange)
        if exchange.outcome == "unanswered":
            exchange.extra = None
        return exchange

    def end_connection(self, local: str, peer: str) -> None:
        """End a connection that is over; its addresses may be used again."""
        pairing = self._pairings.pop((local, peer), None)
        if pairing is not None:
            pairing.close("fin")

    def add_topic_names(self, topics: Mapping[UUID, str]) -> None:
        """Add names of topic ids that were looked up."""
        for identity, name in topics.items():
            if identity not in self._context.topics.names:
                self._context.topics.add(identity, name)

    def _find_or_begin_pairing(self, local: str, peer: str, now_ns: int) -> Pairing:
        found = self._pairings.get((local, peer))
        if found is None:
            self._context.summary.count_connection(peer)
            number = self._context.summary.connections
            info = ConnectionInfo(number, local, peer, now_ns, self._context.topics)
            info.opened = True
            found = Pairing(self._context, info, client_first=True, opening=True)
            self._pairings[local, peer] = found
        return found


def _pair_frame(pairing: Pairing, direction: FrameDirection, data: bytes, first_ns: int, last_ns: int) -> None:
    """Pair a frame of a direction. Packet number 0: there is no capture."""
    frame = Frame(data, len(data) - 4, (first_ns, 0), (last_ns, 0), direction.place)
    direction.place += len(data)
    pairing.take_frame(direction, frame)
