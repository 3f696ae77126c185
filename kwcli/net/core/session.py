"""One connection to a broker, without a socket or a clock: bytes in, events and bytes to send out.

    session = Session(client_id="kw")
    session.open()                               # queues ApiVersions
    while True: send(session.outgoing()); session.receive(data, now_ns) → [Opened(), Answer(…), …]

`receive` and `end` raise Stop where the connection cannot go on. Answers come in the order of the requests, as brokers
give them; anything else is such an end.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from enum import Enum, auto
from typing import Any, Final

from decoders.apis import NAMES, api
from decoders.apis.headers import request_header_plan, request_header_version
from decoders.limits import FRAME_MAX, MIB
from decoders.schema.message import encode
from decoders.schema.model import Versions
from kwcli.net.core.foreign import not_kafka
from kwcli.net.core.framing import BadSize, Frame, FrameReader
from kwcli.net.core.negotiation import Offer, Steps, Token, negotiate
from kwcli.net.core.stops import Stop, broken, closed

# ApiVersions of 100 APIs take 2 KiB, SASL tokens with a whole Kerberos ticket 64 KiB.
OPENING_FRAME_MAX: Final = MIB
_CORRELATION_IDS: Final = 1 << 31


class Phase(Enum):
    """How far a connection has come."""

    NEW = auto()
    OPENING = auto()
    READY = auto()
    AUTHENTICATING_AGAIN = auto()
    OVER = auto()


class Outgoing:
    """Something to send, and what is known of it: a request's frame or a bare token's, both with their size fields.

    `api_key` is None for a token. Drivers stamp `begun_ns` and `sent_ns` when they have written it.
    """

    __slots__ = ("api_key", "begun_ns", "correlation_id", "frame", "own", "respond", "sent_ns", "version")

    def __init__(
        self, api_key: int | None, version: int, correlation_id: int, frame: bytes, *, respond: bool, own: bool
    ) -> None:
        self.api_key = api_key
        self.version = version
        self.correlation_id = correlation_id
        self.frame = frame
        self.respond = respond
        self.own = own  # part of the session's own conversation, not the caller's
        self.begun_ns = 0
        self.sent_ns = 0

    def __str__(self) -> str:
        if self.api_key is None:
            return "a SASL token" if self.own else "these bytes"
        name = api(self.api_key).name if self.api_key in NAMES else f"API {self.api_key}"
        return f"{name} {self.version}"


class Opened:
    """Versions are known and the client is authenticated, for the first time or again."""

    __slots__ = ()


class Answer:
    """A frame that answers `request`. `own` ones belong to the session's own conversation."""

    __slots__ = ("frame", "request")

    def __init__(self, request: Outgoing, frame: Frame) -> None:
        self.request = request
        self.frame = frame


Event = Opened | Answer


class Session:
    """The state of one connection. `offer` is what the broker said it speaks."""

    __slots__ = (
        "_client_id",
        "_correlation_id",
        "_identity",
        "_in_flight",
        "_outgoing",
        "_reader",
        "_software",
        "_steps",
        "offer",
        "phase",
    )

    def __init__(
        self,
        *,
        client_id: str | None,
        software: tuple[str, str] = ("kw", "0"),
        cluster_id: str | None = None,
        node_id: int | None = None,
        assumed: Offer | None = None,
    ) -> None:
        """With `assumed` versions the broker is not asked: it is too old to know the question."""
        self._client_id = client_id
        self._software = software
        self._identity = (cluster_id, node_id)
        self._reader = FrameReader(OPENING_FRAME_MAX)
        self._in_flight: deque[Outgoing] = deque()
        self._outgoing: deque[Outgoing] = deque()
        self._correlation_id = 0
        self._steps: Steps | None = None
        self.offer = assumed
        self.phase = Phase.NEW

    @property
    def versions(self) -> Mapping[int, Versions]:
        """API key → the versions that the broker takes; empty before they are known."""
        return self.offer.versions if self.offer else {}

    def open(self) -> list[Event]:
        """Begin: queue the first request of the opening; where there is nothing to ask the session is open at once."""
        self.phase = Phase.OPENING
        self._steps = self._opening()
        events: list[Event] = []
        self._advance(None, events)
        return events

    def outgoing(self) -> Outgoing | None:
        """The next thing to send, if there is any."""
        return self._outgoing.popleft() if self._outgoing else None

    def request(
        self,
        api_key: int,
        version: int,
        body: bytes,
        *,
        respond: bool = True,
        header_tags: Mapping[int, bytes] | None = None,
    ) -> Outgoing:
        """Queue a request; without `respond` no answer is expected (Produce with acks=0)."""
        return self._queue(api_key, version, body, respond=respond, header_tags=header_tags)

    def raw(self, frame: bytes, *, respond: bool = True) -> Outgoing:
        """Queue bytes as they are, with whatever size field they have; the next frame, whatever it is, answers them."""
        out = Outgoing(None, 0, -1, frame, respond=respond, own=False)
        self._put(out)
        return out

    def receive(self, data: bytes, now_ns: int) -> list[Event]:
        """What these bytes, which came at `now_ns`, bring. Raises Stop."""
        events: list[Event] = []
        try:
            for frame in self._reader.feed(data, now_ns):
                self._take(frame, events)
        except BadSize as error:
            raise self._over(self._bad_size(error)) from None
        return events

    def end(self) -> None:
        """The peer has closed. Raises Stop where something was due; else the connection is simply over."""
        opening, due = self.phase is Phase.OPENING, self._in_flight[0] if self._in_flight else None
        self.phase = Phase.OVER
        if due is None:
            return
        have, size = self._reader.missing
        if have:
            sizes = f"{have:,} of {size:,} bytes" if size > 4 else f"{have} bytes"
            raise broken(f"closed the connection after {sizes} of the answer to {due}", "see the broker's log")
        if opening:
            raise closed(f"closed the connection after {str(due).partition(' ')[0]}")
        raise closed(f"closed the connection instead of answering {due}", "the broker's log says why")

    def silence(self) -> str:
        """What is being waited for, in words that follow the address: for a driver whose time is up."""
        if not self._in_flight:
            return "did not take the request"
        due = self._in_flight[0]
        have, size = self._reader.missing
        if have:
            total = f" of {size:,}" if size > 4 else ""
            return f"sent {have:,}{total} bytes of the answer to {due}"
        return f"accepted the connection but did not answer {due}"

    # The session's own conversation

    def _opening(self) -> Steps:
        if self.offer is None:
            self.offer = yield from negotiate(self._software, *self._identity)

    def _advance(self, answer: bytes | None, events: list[Event]) -> None:
        """Go on with the session's own conversation."""
        steps = self._steps
        assert steps is not None
        try:
            step = next(steps) if answer is None else steps.send(answer)
        except StopIteration:
            self._steps = None
            self.phase = Phase.READY
            self._reader.least, self._reader.largest = 4, FRAME_MAX
            events.append(Opened())
            return
        if isinstance(step, Token):
            self._reader.least = 0  # a broker answers PLAIN with an empty frame
            frame = len(step.data).to_bytes(4, "big") + step.data
            self._put(Outgoing(None, 0, -1, frame, respond=True, own=True))
        else:
            self._reader.least = 4
            self._queue(step.api_key, step.version, step.body, own=True)

    def _take(self, frame: Frame, events: list[Event]) -> None:
        if not self._in_flight:
            raise self._over(broken(f"sent {len(frame.data):,} bytes that answer nothing"))
        due = self._in_flight[0]
        if due.correlation_id >= 0:
            found = int.from_bytes(frame.data[4:8], "big", signed=True)
            if found != due.correlation_id:
                foreign = not_kafka(frame.data, sure=False) if self.phase is Phase.OPENING else None
                wrong = broken(f"answered {due} with correlation id {found}, not {due.correlation_id}")
                raise self._over(foreign or wrong)
        self._in_flight.popleft()
        events.append(Answer(due, frame))
        if due.own:
            self._advance(frame.data[4:], events)

    def _bad_size(self, error: BadSize) -> Stop:
        if self.phase is Phase.OPENING:
            return not_kafka(error.head)
        limit = f"; kw takes {self._reader.largest:,}" if error.size > 0 else ""
        return not_kafka(error.head, sure=False) or broken(f"sent a frame of {error.size:,} bytes{limit}")

    def _over(self, stop: Stop) -> Stop:
        self.phase = Phase.OVER
        return stop

    def _queue(
        self,
        api_key: int,
        version: int,
        body: bytes,
        *,
        respond: bool = True,
        own: bool = False,
        header_tags: Mapping[int, bytes] | None = None,
    ) -> Outgoing:
        self._correlation_id = (self._correlation_id + 1) % _CORRELATION_IDS
        header_version = request_header_version(api_key, version)
        header: dict[str, Any] = {
            "request_api_key": api_key,
            "request_api_version": version,
            "correlation_id": self._correlation_id,
        }
        if header_version:  # the oldest header has no place for it
            header["client_id"] = self._client_id
        if header_tags:
            header["_tagged_fields"] = header_tags
        head = encode(request_header_plan(header_version), header)
        frame = b"".join(((len(head) + len(body)).to_bytes(4, "big"), head, body))
        out = Outgoing(api_key, version, self._correlation_id, frame, respond=respond, own=own)
        self._put(out)
        return out

    def _put(self, out: Outgoing) -> None:
        self._outgoing.append(out)
        if out.respond:
            self._in_flight.append(out)
