"""One connection to a broker, without a socket or a clock: bytes in, events and bytes to send out.

    session = Session(client_id="kw", mechanism=…)
    events = session.open()                      # queues ApiVersions
    until an Opened is among the events:         # send session.take_outgoing() until it is None, then
        events = session.feed(data, now_ns)

`feed` and `finish` raise ConnectionStop where the connection cannot go on. Answers come in the order of the requests,
as brokers give them; any other frame ends the connection.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, Final

from decoders.apis import NAMES, api
from decoders.exchanges.requests_in_flight_and_sasl_phase import InOrder
from decoders.frames.frames_of_gapless_connections import with_size_field
from decoders.limits import FRAME_MAX, MIB
from decoders.protocol_facts.header_versions import request_header_plan, request_header_version
from decoders.schema.api_declaration import Versions
from decoders.schema.decode_and_encode import encode
from decoders.wire.format_and_escape_text import format_bytes
from kwcli.net.explain_connection_end import (
    ConnectionStop,
    make_broken_protocol_stop,
    make_closed_stop,
    make_foreign_protocol_stop,
    make_not_kafka_stop,
)
from kwcli.net.session import BareToken, Steps, TimedFrame
from kwcli.net.session.frame_reader import BadSize, FrameReader
from kwcli.net.session.version_negotiation import HIGHEST, Offer, negotiate_versions, probe_old_broker

if TYPE_CHECKING:
    from kwcli.net.sasl.mechanism import Mechanism

# ApiVersions of 100 APIs take 2 KiB, SASL tokens with a whole Kerberos ticket 64 KiB.
OPENING_FRAME_MAX: Final = MIB
# The part of its lifetime after which a login is renewed: where Java's client does so at the earliest.
RENEW_AFTER: Final = 0.85
_LONGER: Final = "give a longer --timeout"
_CORRELATION_IDS: Final = 1 << 31


class SessionPhase(Enum):
    """How far a connection has come."""

    NEW = auto()
    OPENING = auto()
    AUTHENTICATING = auto()
    READY = auto()
    OVER = auto()


class Outgoing:
    """A frame to send, of a request or of a bare token, with its size field, and what is known of it.

    `api_key` is None where it is no request. Drivers set `begun_ns` and `sent_ns` when they have written it.
    """

    __slots__ = ("api_key", "begun_ns", "correlation_id", "frame", "own", "respond", "sent_ns", "version")

    def __init__(
        self, api_key: int | None, version: int, correlation_id: int, frame: bytes, *, respond: bool, own: bool
    ) -> None:
        self.api_key = api_key
        self.version = version
        self.correlation_id = correlation_id  # -1: the answer has none, or any
        self.frame = frame
        self.respond = respond
        self.own = own  # part of the session's own conversation, not the caller's
        self.begun_ns = 0
        self.sent_ns = 0

    @property
    def api_name(self) -> str:
        """The name of the API, `Metadata`, without its version; words where it is no request."""
        if self.api_key is None:
            return "a SASL token" if self.own else "these bytes"
        return api(self.api_key).name if self.api_key in NAMES else f"API {self.api_key}"

    def __str__(self) -> str:
        return self.api_name if self.api_key is None else f"{self.api_name} {self.version}"


class Opened:
    """Versions are known and the client is authenticated, for the first time or again."""

    __slots__ = ()


class ReceivedAnswer:
    """A frame that answers `request`."""

    __slots__ = ("frame", "request")

    def __init__(self, request: Outgoing, frame: TimedFrame) -> None:
        self.request = request
        self.frame = frame


Event = Opened | ReceivedAnswer


class Session:
    """The state of one connection.

    `offer` has the versions that the broker speaks; `renew_ns` is the time when the login must be renewed, None where
    it lasts. A broker whose offer is `assumed` is not asked for its versions, only for a sign of life.
    """

    __slots__ = (
        "_client_id",
        "_correlation_id",
        "_highest",
        "_identity",
        "_in_flight",
        "_mechanism",
        "_name",
        "_outgoing",
        "_reader",
        "_software",
        "_steps",
        "_tls",
        "authenticated",
        "heard",
        "offer",
        "phase",
        "renew_ns",
    )

    def __init__(
        self,
        *,
        client_id: str | None,
        mechanism: Callable[[], Mechanism] | None = None,
        software: tuple[str, str] = ("kw", "0"),
        cluster_id: str | None = None,
        node_id: int | None = None,
        assumed: Offer | None = None,
        highest: int = HIGHEST,
        tls: bool = False,
    ) -> None:
        """`mechanism` makes one mechanism for each login; `tls`: TLS carries the bytes, for the remedies in errors.

        `highest` is the version of ApiVersions to begin with.
        """
        self._client_id = client_id
        self._mechanism = mechanism
        self._name = ""
        self._software = software
        self._identity = (cluster_id, node_id)
        self._highest = highest
        self._tls = tls
        self._reader = FrameReader(OPENING_FRAME_MAX)
        self._in_flight: InOrder[Outgoing] = InOrder()
        self._outgoing: deque[Outgoing] = deque()
        self._correlation_id = 0
        self._steps: Steps | None = None
        self.authenticated = False
        self.heard = False  # whether the peer has said anything at all
        self.offer = assumed
        self.phase = SessionPhase.NEW
        self.renew_ns: int | None = None

    @property
    def versions(self) -> Mapping[int, Versions]:
        """API key → the versions that the broker takes; empty before they are known."""
        return self.offer.versions if self.offer else {}

    def set_correlation_id(self, correlation_id: int) -> None:
        """Number the next requests from here, where the connection also carries somebody else's requests."""
        self._correlation_id = correlation_id % _CORRELATION_IDS

    @property
    def due(self) -> Outgoing | None:
        """The request that the peer has to answer next; None where none is waiting."""
        return self._in_flight.next_due_request

    def open(self) -> list[Event]:
        """Begin: queue the first request of the opening."""
        self.phase = SessionPhase.OPENING
        return self._begin_own_conversation(self._run_opening_steps())

    def is_login_to_be_renewed(self, now_ns: int) -> bool:
        """Whether the login is to be renewed, and can be, before the next request."""
        ready = self.phase is SessionPhase.READY and not self._in_flight
        return ready and self.renew_ns is not None and now_ns >= self.renew_ns

    def authenticate_again(self) -> list[Event]:
        """Renew the login on the same connection (KIP-368); for a session that is ready and has nothing in flight."""
        if self.phase is not SessionPhase.READY or self._in_flight:
            raise ValueError("a login is renewed between requests")
        return self._begin_own_conversation(self._run_authentication_steps())

    def take_outgoing(self) -> Outgoing | None:
        """The next frame to send; None where there is none."""
        return self._outgoing.popleft() if self._outgoing else None

    def queue_request(
        self,
        api_key: int,
        version: int,
        body: bytes,
        *,
        respond: bool = True,
        header_tags: Mapping[int, bytes] | None = None,
    ) -> Outgoing:
        """Queue a request; without `respond` no answer is expected (Produce with acks=0)."""
        return self._queue_encoded_request(api_key, version, body, respond=respond, header_tags=header_tags)

    def queue_raw_bytes(self, frame: bytes, *, respond: bool) -> Outgoing:
        """Queue bytes as they are, with any size field; the next frame, whatever it is, answers them."""
        out = Outgoing(None, 0, -1, frame, respond=respond, own=False)
        self._queue_frame(out)
        return out

    def feed(self, data: bytes, now_ns: int) -> list[Event]:
        """The events from these bytes, which came at `now_ns`. Raises ConnectionStop."""
        self.heard = True
        events: list[Event] = []
        try:
            for frame in self._reader.feed(data, now_ns):
                self._match_frame_to_request(frame, events)
        except BadSize as error:
            raise self._end_session(self._make_bad_size_stop(error)) from None
        return events

    def finish(self) -> None:
        """Take note that the peer has closed. Raises ConnectionStop where an answer was due."""
        due, phase = self.due, self.phase
        self.phase = SessionPhase.OVER
        if due is None:
            return
        have, size = self._reader.missing
        if have:
            sizes = _format_received_part(have, size)
            if phase is SessionPhase.OPENING and not self._reader.whole and not self._begins_as_answer(due):
                raise make_not_kafka_stop(self._reader.pending, sasl=self._mechanism is not None)
            raise make_broken_protocol_stop(
                f"closed the connection after {sizes} of the answer to {due}", "the broker's log says why"
            )
        if phase is SessionPhase.AUTHENTICATING:
            from kwcli.net.session.sasl_authentication import make_hung_up_stop

            raise make_hung_up_stop(self._name, due.api_key)
        if phase is SessionPhase.OPENING:
            raise make_closed_stop(f"closed the connection after {due.api_name}")
        raise make_closed_stop(f"closed the connection instead of answering {due}", "the broker's log says why")

    def _begins_as_answer(self, due: Outgoing) -> bool:
        """Whether the frame that is not whole yet begins as the answer to `due`, and as no other protocol does."""
        head = self._reader.pending
        number = due.correlation_id.to_bytes(4, "big")
        return len(head) >= 4 and number.startswith(head[4:8]) and make_foreign_protocol_stop(head) is None

    def describe_silence(self) -> tuple[str, str]:
        """What was waited for, in words that follow the address, and a remedy: for a driver whose time is up."""
        due = self.due
        if due is None:
            return "was not heard", _LONGER
        have, size = self._reader.missing
        if have:
            return f"sent {_format_received_part(have, size)} of the answer to {due}, and no more", _LONGER
        if not self.heard:
            return "accepted the connection but says nothing", "is it a Kafka broker? A hanging one looks the same"
        return f"did not answer {due}", _LONGER

    # The session's own conversation

    def _run_opening_steps(self) -> Steps:
        old = self.offer is not None and not self.offer.settled
        if self.offer is None:
            self.offer = yield from negotiate_versions(self._software, *self._identity, self._highest)
        if self._mechanism is not None:
            yield from self._run_authentication_steps()
        if old:
            yield from probe_old_broker(self._client_id or "")

    def _run_authentication_steps(self) -> Steps:
        from kwcli.net.session.sasl_authentication import authenticate

        assert self._mechanism is not None
        self.phase = SessionPhase.AUTHENTICATING
        mechanism = self._mechanism()
        self._name = mechanism.name
        lifetime_ms, at_ns = yield from authenticate(mechanism, self.versions, tls=self._tls)
        self.authenticated = True
        self.renew_ns = at_ns + int(lifetime_ms * RENEW_AFTER * 1_000_000) if lifetime_ms else None

    def _begin_own_conversation(self, steps: Steps) -> list[Event]:
        events: list[Event] = []
        self._steps = steps
        self._reader.largest = OPENING_FRAME_MAX
        self._advance_own_conversation(None, events)
        return events

    def _advance_own_conversation(self, answer: TimedFrame | None, events: list[Event]) -> None:
        """Go on with the session's own conversation until it waits for an answer, or is over."""
        steps = self._steps
        assert steps is not None
        waiting = False
        while not waiting:
            try:
                step = next(steps) if answer is None else steps.send(answer)
            except StopIteration:
                self._steps = None
                self.phase = SessionPhase.READY
                self._reader.least, self._reader.largest = 4, FRAME_MAX
                events.append(Opened())
                return
            except ConnectionStop as stop:
                raise self._end_session(stop) from None
            answer = None
            if isinstance(step, BareToken):
                self._reader.least = 0  # a broker answers PLAIN with an empty frame
                frame = with_size_field(step.data)
                self._queue_frame(Outgoing(None, 0, -1, frame, respond=step.respond, own=True))
                waiting = step.respond
            else:
                self._reader.least = 4
                self._queue_encoded_request(step.api_key, step.version, step.body, own=True)
                waiting = True

    def _match_frame_to_request(self, frame: TimedFrame, events: list[Event]) -> None:
        due = self.due
        if due is None:
            raise self._end_session(make_broken_protocol_stop(f"sent {len(frame.data):,} bytes that answer no request"))
        if due.correlation_id >= 0:
            found = int.from_bytes(frame.data[4:8], "big", signed=True)
            if found != due.correlation_id:
                foreign = make_foreign_protocol_stop(frame.data) if not self.versions else None
                wrong = make_broken_protocol_stop(
                    f"answered {due} with correlation id {found}, not {due.correlation_id}", "is it Kafka?"
                )
                raise self._end_session(foreign or wrong)
        self._in_flight.popleft()
        events.append(ReceivedAnswer(due, frame))
        if due.own:
            self._advance_own_conversation(frame, events)

    def _make_bad_size_stop(self, error: BadSize) -> ConnectionStop:
        sasl = self._mechanism is not None
        if self.phase is SessionPhase.OPENING:
            return make_not_kafka_stop(error.head, sasl=sasl)
        limit = f" (kw takes {self._reader.largest:,})" if error.size > 0 else ""
        return make_foreign_protocol_stop(error.head, sasl=sasl) or make_broken_protocol_stop(
            f"sent a frame of {format_bytes(error.size)}{limit}", "is it Kafka?"
        )

    def _end_session(self, stop: ConnectionStop) -> ConnectionStop:
        self.phase = SessionPhase.OVER
        return stop

    def _queue_encoded_request(
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
        self._queue_frame(out)
        return out

    def _queue_frame(self, out: Outgoing) -> None:
        self._outgoing.append(out)
        if out.respond:
            self._in_flight.append(out)


def _format_received_part(have: int, size: int) -> str:
    """How much of an answer came, in words; its size is known once it is more than a size field's."""
    return f"{have:,} of {size:,} bytes" if size > 4 else format_bytes(have)
