"""What both directions of one client's connection share: the requests in flight and where it stands in SASL."""

from __future__ import annotations

from typing import Final

from decoders.exchanges.inflight import InOrder
from decoders.exchanges.phases import Sasl
from decoders.limits import IN_FLIGHT_MAX, MIB
from decoders.streams.explain import explain
from decoders.streams.foreign import FIRST_MAX
from kwcli.proxy.core.commands import CLOSE, Command
from kwcli.proxy.core.routes import Route

# A broker's own default (socket.request.max.bytes).
REQUEST_MAX: Final = 100 * MIB
# Requests in flight at which a client is read no more, and at which it is again.
MANY: Final = IN_FLIGHT_MAX
FEWER: Final = MANY // 2

# Correlation id, what to do about the answer, when the request's last byte left (ns).
Entry = tuple[int, Route, int]


class State:
    """SaslHandshake 0 was sent (`sasl.phase` HANDSHAKE): the client's next bytes wait for its answer."""

    __slots__ = ("closed", "crowded", "gone", "in_flight", "sasl", "silent")

    def __init__(self) -> None:
        self.in_flight: InOrder[Entry] = InOrder()
        self.sasl: Sasl[None] = Sasl()
        self.closed = False
        self.crowded = False  # the client is not read, because of too many requests in flight
        self.gone = False  # the client has ended its side
        self.silent = False  # the last request was a Produce with acks=0

    def close(self, reason: str, *, loud: bool = True) -> Command:
        """The last command of this connection."""
        self.closed = True
        return (CLOSE, reason, loud)


def told(data: bytes) -> str:
    """What strange bytes are, as the end of a sentence: `: HTTP: GET /; …`; or their first bytes, in brackets."""
    found = explain(data[:FIRST_MAX])
    if not found or found[0].what.startswith("Kafka"):
        return f" ({data[:8].hex(' ')} …)"
    first = found[0]
    return f": {first.text}" + (f"; {first.remedy}" if first.remedy else "")
