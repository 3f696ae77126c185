"""What both directions of a client's connection share: requests in flight, SASL, commands to relay_connection.py."""

from __future__ import annotations

from typing import Any, Final

from decoders.exchanges.requests_in_flight_and_sasl_phase import InOrder, Sasl
from decoders.frames.explain_strange_bytes import explain_bytes
from decoders.limits import FIRST_BYTES_MAX, IN_FLIGHT_MAX, MIB
from kwcli.proxy.relay.handling_by_api_version import RequestHandling

Command = tuple[Any, ...]

SEND_SERVER: Final = 0  # data
SEND_CLIENT: Final = 1  # data
# Ticket, endpoints in an answer, None or endpoints that the broker named where a decider changed or made the answer:
# listen for the nodes that the broker named, then call `resume_after_resolution(ticket, where, now_ns)`.
RESOLVE: Final = 2
RESERVE: Final = 3  # size: call `reserved(now_ns)` when there is room for that; read nothing before
RELEASE: Final = 4  # size: what was reserved has gone to the client
# Side: read nothing more from it, until answers have come (RESUME_AFTER_ANSWERS) or a decision about a frame
# has (RESUME_AFTER_DECISION, frame_decisions.py). A side is read only while it is paused for neither.
PAUSE_FOR_ANSWERS: Final = 5
RESUME_AFTER_ANSWERS: Final = 6
END: Final = 7  # side: it gets no more bytes, but may still send
CLOSE: Final = 8  # reason, loud: send what was given, then end both; loud: people should know
NOTE: Final = 9  # text: something people should know, the connection goes on
# Correlation id, when the request's last byte left, when its answer's first byte came (ns), API key.
ANSWERED: Final = 10
CAPPED: Final = 11  # count of versions that were taken back in an answer to ApiVersions
# Side: enough was done at once for what it sent, the rest is kept; read nothing more from it, let other connections
# have their turn, then call `go_on(side, now_ns)`.
YIELD: Final = 12
PAUSE_FOR_DECISION: Final = 13
RESUME_AFTER_DECISION: Final = 14
TIMER: Final = 15  # side, ns: call `resume_after_delay(side, now_ns)` after that time
RESET: Final = 16  # reason: end both sides at once, with RST
MUTE: Final = 17  # ns: read nothing from the client for that time

CLIENT: Final = 0
SERVER: Final = 1

# The state that both directions of one client's connection share: the requests in flight and the SASL phase.


# A broker's own default (socket.request.max.bytes).
REQUEST_MAX: Final = 100 * MIB
# At how many requests in flight a client is not read any more, and below how many it is read again.
MANY: Final = IN_FLIGHT_MAX
FEWER: Final = MANY // 2

# Correlation id, what to do about the answer, when the request's last byte left (ns).
Entry = tuple[int, RequestHandling, int]


class Unanswered(InOrder[Entry]):
    """Requests in flight whose answers nobody waits for: none is kept."""

    def append(self, entry: Entry, /) -> None:
        """Drop the entry."""


class RelayState:
    """What both directions share. In `sasl.phase` HANDSHAKE the client's bytes wait for the SaslHandshake 0 answer."""

    __slots__ = ("closed", "crowded", "gone", "in_flight", "local", "sasl", "silent", "swallowed", "withheld")

    def __init__(self) -> None:
        self.in_flight: InOrder[Entry] = InOrder()
        self.sasl: Sasl[None] = Sasl()
        self.closed = False
        self.crowded = False  # the client is not read, because of too many requests in flight
        self.gone = False  # the client has ended its side
        self.silent = False  # the last request was a Produce with acks=0
        self.local = 0  # requests in flight that the proxy answers itself
        self.withheld = False  # no answer gets to the client any more
        self.swallowed = False  # nothing gets through any more

    def make_close_command(self, reason: str, *, loud: bool = True) -> Command:
        """Mark the connection as closed; its last command."""
        self.closed = True
        return (CLOSE, reason, loud)

    def withhold_answers(self) -> list[Command]:
        """Let no answer through to the client, and wait for none. The broker is read, so that its end is seen."""
        self.withheld = True
        self.local = 0
        self.in_flight = Unanswered()
        relieved: list[Command] = [(RESUME_AFTER_ANSWERS, CLIENT)] if self.crowded else []
        self.crowded = False
        return [*relieved, (RESUME_AFTER_DECISION, SERVER)]

    def swallow_all(self) -> list[Command]:
        """Let nothing through in either direction any more; both sides are read."""
        self.closed = self.swallowed = True
        return [*self.withhold_answers(), (RESUME_AFTER_DECISION, CLIENT)]


def describe_unexpected_bytes(data: bytes) -> str:
    """What unexpected bytes are, as the end of a sentence: `: HTTP: GET /; …`; or their first bytes, in brackets."""
    found = explain_bytes(data[:FIRST_BYTES_MAX])
    if not found or found[0].what.startswith("Kafka"):
        return f" ({data[:8].hex(' ')} …)"
    first = found[0]
    return f": {first.text}" + (f"; {first.remedy}" if first.remedy else "")
