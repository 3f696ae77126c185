"""Frames of one connection in, settled exchanges out: requests and responses paired by correlation id.

The problem. A response does not say which API it answers, nor in which version: only its request knows, and it may be
missing. Ids repeat, answers come in any order, some requests have no answer (Produce with acks=0), and SASL tokens have
no header at all.

The idea. For each connection one table of requests in flight and one phase of SASL, in
requests_in_flight_and_sasl_phase.py:

```
request  ─► table[correlation id] ────────────────────┐
            acks=0: settled at once, no_response        ├─► settle: out, topic names learnt, SASL phase followed
response ─► its request is there ─────────────────────┘
            its request is still under way              → kept in `early` until that has come
            no such request                             → settled as orphan_response
token    ─► with the next token of the other side       → settled as token
end      ─► all that waits is settled as unanswered
```

chunks_to_exchanges.py does the common case in line, on the attributes of the classes here; this module does everything
unusual.

What always holds: each frame is in exactly one exchange, and each exchange is settled once. A correlation id that is in
flight twice is first in, first out. `budget.held` is the bytes of requests in flight and frames under way.

What is given up: after lost bytes, a response may answer a missing request with the same id. The request in flight is
then settled as `lost` rather than paired with a response that may not be its own. Beyond IN_FLIGHT_MAX requests the
oldest is given up. Of answered requests only the latest ids are known (AnsweredRequests).
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Any, Final

from decoders.apis import NAMES, api
from decoders.errors import DecodeError
from decoders.exchanges.body_reader import LOGGING_IN, SOFTWARE_SINCE, TELLING_OWNERS, ApiReader, ApiReaders, Needs
from decoders.exchanges.exchange import (
    ClientSoftware,
    ConnectionInfo,
    Exchange,
    Login,
    Settled,
    Skipped,
    Status,
    Summary,
    client_software,
    intern_client_id,
)
from decoders.exchanges.requests_in_flight_and_sasl_phase import AnsweredRequests, InFlight, Sasl, SaslPhase
from decoders.exchanges.topic_and_node_names import Topics
from decoders.frames.detect_kafka_connection import GSSAPI_TAG, TOKEN_MAX
from decoders.frames.find_next_frame import find_request_places, find_response_places
from decoders.frames.framing import (
    ASK,
    REQUEST,
    REQUEST_HEAD,
    RESPONSE,
    RESPONSE_HEAD,
    UNKNOWN_SIZES,
    Frame,
    FrameDirection,
    MemoryBudget,
    Reason,
    Unframed,
    close_direction,
    make_unframed_sizes,
    name_unframed_bytes,
)
from decoders.frames.read_and_judge_headers import NO, YES, judge_request, judge_response, read_request_head
from decoders.limits import FRAME_MAX, IN_FLIGHT_MAX
from decoders.protocol_facts.api_keys import API_VERSIONS, CONTROLLED_SHUTDOWN, ENVELOPE, PRODUCE, SASL_AUTHENTICATE
from decoders.schema.api_declaration import Side
from decoders.tcp.connection_and_halves import Half
from decoders.tcp.stream_chunks import How

if TYPE_CHECKING:
    from decoders.exchanges.sasl_logins import LoginAttempt

# An exchange and the frames of its sides in, its attributes set: the plain form of what the loop does in line.


def set_initial_values(exchange: Exchange, info: ConnectionInfo, api_reader: ApiReader) -> None:
    """Set the attributes of a new exchange to their initial values."""
    exchange.connection_info = info
    exchange._api_reader = api_reader
    exchange.api_key = None
    exchange.api_version = None
    exchange.client_id = None
    exchange.client_software = None
    exchange.login = None
    exchange.outcome = "complete"
    exchange.extra = None
    exchange._looked = False
    exchange.place = 0
    exchange._topics_known = 0


def make_orphan_exchange(info: ConnectionInfo, api_reader: ApiReader, frame: Frame, correlation_id: int) -> Exchange:
    """A new exchange of a response whose request is not in the capture."""
    exchange = Exchange()
    set_initial_values(exchange, info, api_reader)
    exchange.outcome = "orphan_response"
    exchange.correlation_id = correlation_id
    set_request_missing(exchange)
    set_response_of_exchange(exchange, frame)
    exchange.time_ns = frame.first_ns
    return exchange


def set_request_of_exchange(exchange: Exchange, frame: Frame) -> None:
    """Set the request's attributes from its frame."""
    exchange.time_ns = frame.first_ns
    exchange.request_end_ns = frame.last_ns
    exchange.request_packet = frame.first_packet
    exchange.request_packet_end = frame.last_packet
    exchange.request_size = frame.size
    exchange.request_raw = frame.data
    exchange.place = frame.place
    if frame.missing or frame.again:
        _set_frame_failure(exchange, frame, "request")


def set_response_of_exchange(exchange: Exchange, frame: Frame) -> None:
    """Set the response's attributes from its frame."""
    exchange.response_ns = frame.first_ns
    exchange.response_end_ns = None if frame.missing == "incomplete" else frame.last_ns
    exchange.response_packet = frame.first_packet
    exchange.response_packet_end = frame.last_packet
    exchange.response_size = frame.size
    exchange.response_raw = frame.data
    exchange.response_place = frame.place
    if frame.missing or frame.again:
        _set_frame_failure(exchange, frame, "response")


def _set_frame_failure(exchange: Exchange, frame: Frame, side: Side) -> None:
    """Note in `extra` why a part of a frame is missing, and that bytes of it were retransmitted."""
    said: dict[str, Any] = {side: frame.missing} if frame.missing else {}
    if frame.again:
        said["retransmitted"] = True
    exchange.extra = {**(exchange.extra or {}), **said}


def set_request_missing(exchange: Exchange) -> None:
    """Set the request's attributes of an exchange without a request."""
    exchange.request_end_ns = None
    exchange.request_packet = None
    exchange.request_packet_end = None
    exchange.request_size = None
    exchange.request_raw = None


def set_response_missing(exchange: Exchange) -> None:
    """Set the response's attributes of an exchange without a response."""
    exchange.response_ns = None
    exchange.response_end_ns = None
    exchange.response_packet = None
    exchange.response_packet_end = None
    exchange.response_size = None
    exchange.response_raw = None


# A direction in step may carry any API key from 0 on: Confluent's own begin at 10000. Versions stay small.
VERSION_MAX: Final = 100
# Least frame sizes: key, version and correlation id of a request; correlation id of a response.
REQUEST_LEAST: Final = 8
RESPONSE_LEAST: Final = 4

HEAD: Final = Struct(">hhi")
KEY_VERSION: Final = Struct(">hh")
LENGTH: Final = Struct(">h")
CORRELATION: Final = Struct(">i")


class PairingContext:
    """What the connections of one engine share, as far as pairing uses it."""

    __slots__ = (
        *("api_readers", "budget", "connections", "guesses", "learns_owners", "other_rows", "out", "owners", "summary"),
        "topics",
    )

    def __init__(self, needs: Needs, *, connections: bool = False) -> None:
        self.connections = connections  # give an Ended for each connection
        self.guesses = (
            False  # whether to guess the API version of a response without its request (guess_request_of_response.py)
        )
        self.api_readers = ApiReaders(needs)
        self.topics = Topics()
        # The owners of delegation tokens, by token id. Rows for tables, which may be made of a part of the capture, do
        # without them: an owner is named on one connection, the token is used on others.
        self.owners: dict[str, str] = {}
        self.learns_owners = not connections
        self.budget = MemoryBudget()
        self.summary = Summary()
        self.out: list[Settled] = []
        self.other_rows = 0  # how many rows of `out` are no exchange

    def add_skipped(self, skipped: Skipped) -> None:
        """Report bytes that are no exchange."""
        self.summary.skipped[skipped.reason] += 1
        self.summary.skipped_bytes.update(make_unframed_sizes(skipped.reason, skipped.detail, skipped.size))
        self.out.append(skipped)
        self.other_rows += 1


class Pairing:
    """One Kafka connection: its two directions, its requests in flight, its SASL phase, its client.

    A connection without bytes for a while (`rest`) drops the attributes that are in their initial state. Callers that
    need one of these attributes call `wake` first.
    """

    __slots__ = (
        *("answered", "budget", "client", "client_first", "client_id", "client_place", "client_raw", "closing"),
        *("connection_info", "context", "early", "frameless", "in_flight", "login", "opening", "requests"),
        *("responses", "resting", "sasl", "server_place", "software"),
    )
    # The attributes that `rest` deletes; compiled code has to know them.
    __deletable__ = ("early", "in_flight", "requests", "responses", "sasl")

    def __init__(self, context: PairingContext, info: ConnectionInfo, *, client_first: bool, opening: bool) -> None:
        self.context = context
        self.budget: MemoryBudget = context.budget
        self.connection_info = info
        self.client_first = client_first  # the client is the first half of the connection
        self.client: Half | None = None  # the client's half, while the halves have these directions as their state
        self.client_raw: bytes | None = None  # of the latest request
        self.client_id: str | None = None
        self.software: ClientSoftware | None = None
        self.frameless = ""  # what bytes of it are that are no frame, where that is known
        self.login: Login | None = None
        self.opening = opening  # no frame has come yet, and the next one is the first of the stream
        self.closing: How | None = None
        self.answered = AnsweredRequests()
        self.resting = False
        self.client_place = self.server_place = 0  # places of the directions that `drop_initial_state` dropped
        self._reset_in_flight_state()

    def _reset_in_flight_state(self) -> None:
        if not hasattr(self, "sasl"):
            self.sasl: Sasl[Exchange] = Sasl()
        self.in_flight: InFlight[Exchange] = InFlight()
        self.early: dict[int, Frame] = {}  # responses whose request is still under way
        self.requests = FrameDirection(self, request=True)
        self.responses = FrameDirection(self, request=False)
        self.requests.place, self.responses.place = self.client_place, self.server_place

    def drop_initial_state(self) -> bool:
        """Drop the attributes in their initial state, but keep the places of the directions; False if more goes on."""
        directions = (self.requests, self.responses)
        if self.in_flight or self.early or not all(direction.is_in_initial_state() for direction in directions):
            return False
        self.resting = True
        self.client_place, self.server_place = directions[0].place, directions[1].place
        if self.client is not None:
            self.client.state = self.client.peer.state = None
            self.client = None
        del self.in_flight, self.early, self.requests, self.responses
        if self.sasl.is_in_initial_state():
            del self.sasl
        return True

    def restore_initial_state(self) -> None:
        """Make the attributes again that `drop_initial_state` dropped."""
        if self.resting:
            self.resting = False
            self._reset_in_flight_state()

    # Called by framing.

    @property
    def last_waiting_frame(self) -> bytes:
        """The latest request that waits for an answer, with its size field; empty where none does."""
        return next((each.request_raw or b"" for each in reversed(self.in_flight.list_waiting_requests())), b"")

    def why_no_frame_head(self, direction: FrameDirection, data: bytes, at: int, size: int) -> Reason | None:
        """Why the bytes at `at`, of a direction in step, cannot be the head of such a frame; None where they can."""
        if not direction.request:
            return self._why_no_response_head(direction, data, at, size)
        if self.opening:
            self._detect_token_in_first_frame(size, data[at + 4 : at + 5])
        if self.sasl.phase != SaslPhase.KAFKA and 0 <= size <= TOKEN_MAX:
            return None
        if size < REQUEST_LEAST:
            return "garbage"
        key, version = KEY_VERSION.unpack_from(data, at + 4)
        if key < 0 or not 0 <= version < VERSION_MAX:
            return "garbage" if size <= FRAME_MAX else "oversized"
        if (key, version) != (CONTROLLED_SHUTDOWN, 0):
            length = LENGTH.unpack_from(data, at + 12)[0] if size >= REQUEST_HEAD - 4 else -2
            if not -1 <= length <= size - (REQUEST_HEAD - 4):
                return "garbage" if size <= FRAME_MAX else "oversized"
        if size > FRAME_MAX and (key not in NAMES or version not in api(key).versions):
            return "oversized"
        return None

    def _why_no_response_head(self, direction: FrameDirection, data: bytes, at: int, size: int) -> Reason | None:
        if self.sasl.tokens and 0 <= size <= TOKEN_MAX:
            return None
        if size < RESPONSE_LEAST:
            return "garbage"
        if size <= FRAME_MAX and not direction.doubt:
            return None
        if self.in_flight.first_request_with(CORRELATION.unpack_from(data, at + 4)[0]) is not None:
            return None
        return "oversized" if size > FRAME_MAX else "lost"

    def judge_frame(self, direction: FrameDirection, data: bytes, at: int) -> int:
        """A verdict whether a frame begins at `at` of a direction that has lost its step."""
        if direction.request:
            verdict = judge_request(data, at, self.client_raw)
            if verdict == NO and self.client_raw is not None:
                # Java clients have another client id in the SASL phase: then only a whole request is believed.
                verdict = YES if judge_request(data, at) == YES else NO
            return verdict
        if len(data) - at < RESPONSE_HEAD:
            return NO
        exchange = self.in_flight.first_request_with(CORRELATION.unpack_from(data, at + 4)[0])
        if exchange is None or exchange.api_key is None or exchange.api_version is None:
            return NO
        return judge_response(data, at, exchange.api_key, exchange.api_version)

    def find_frame_candidates(self, direction: FrameDirection, data: bytes, at: int) -> list[int]:
        """The offsets from `at` on at which a cheap check allows a frame."""
        if direction.request:
            return find_request_places(data, at, self.client_raw)
        return find_response_places(data, at, self.in_flight)

    def _detect_token_in_first_frame(self, size: int, tag: bytes) -> None:
        """Note the first frame of a stream: with this tag it is a token, of a client of 0.9 with GSSAPI."""
        self.opening = False
        if size > 0 and tag == GSSAPI_TAG:
            self.sasl.follow_first_token()
            self._set_framing_of_sasl_phase()

    # Frames: called by framing, and by code that has whole frames.

    def take_frame(self, direction: FrameDirection, frame: Frame) -> None:
        """Take a frame that has come to its end."""
        if direction.request:
            self._handle_request_frame(frame)
        else:
            self._handle_response_frame(frame)

    def _handle_request_frame(self, frame: Frame) -> None:
        data = frame.data
        if self.opening:
            self._detect_token_in_first_frame(frame.size, data[4:5])
        if self.sasl.phase != SaslPhase.KAFKA:
            verdict = judge_request(data, 0)
            if verdict != YES and not (verdict and frame.missing):
                self._handle_token_frame(frame)
                return
            self._end_token_phase()
        if len(data) < REQUEST_LEAST + 4:
            self._skip_frame_without_header(self.requests, frame)
            return
        exchange = self._make_exchange_of_request(frame)
        api_reader = exchange._api_reader
        if api_reader.key == PRODUCE:
            self.await_or_settle_produce_request(exchange)
            return
        if api_reader.key == API_VERSIONS and exchange.api_version >= SOFTWARE_SINCE:  # type: ignore[operator]  # a request has one
            exchange.client_software = self.software = client_software(exchange) or self.software
            self.context.summary.count_client(self.connection_info.client, exchange.client_id or "", self.software)
        elif api_reader.key in LOGGING_IN:
            self._follow_login_exchange(exchange)
        self._add_request_in_flight(exchange)

    def _make_exchange_of_request(self, frame: Frame) -> Exchange:
        """A new exchange from a request's frame."""
        data = frame.data
        key, version, correlation_id = HEAD.unpack_from(data, 4)
        exchange = Exchange()
        try:
            head = read_request_head(data, 0, len(data))
        except DecodeError:  # cut off inside the client id
            client_id = self.client_id
        else:
            client_id = None if head.client_id is None else self._read_client_id(head.client_id)
        if key != API_VERSIONS or version < SOFTWARE_SINCE:  # a newer ApiVersions names its software
            self.context.summary.count_client(self.connection_info.client, client_id or "", self.software)
        set_initial_values(exchange, self.connection_info, self.context.api_readers.get_reader(key, version))
        exchange.api_key = key
        exchange.api_version = version
        exchange.correlation_id = correlation_id
        exchange.client_id = client_id
        exchange.client_software = self.software
        exchange.login = self.login
        set_request_of_exchange(exchange, frame)
        return exchange

    def remember_new_client_id(self, raw: bytes) -> str:
        """Note a client id that differs from the previous request's; returns it as text."""
        client_id = self._read_client_id(raw)
        self.context.summary.count_client(self.connection_info.client, client_id, self.software)
        return client_id

    def _read_client_id(self, raw: bytes) -> str:
        if raw != self.client_raw:
            self.client_raw, self.client_id = intern_client_id(raw)
        assert self.client_id is not None
        return self.client_id

    def _add_request_in_flight(self, exchange: Exchange) -> None:
        """Put a request into the table of requests in flight."""
        correlation_id = exchange.correlation_id
        assert correlation_id is not None
        if self.in_flight.count_requests() >= IN_FLIGHT_MAX:
            oldest = self.in_flight.take_oldest_request()
            self.requests.lossy = True
            self._settle_unanswered(oldest, "limit")
        earlier = self.in_flight.first_request_with(correlation_id)
        if earlier is not None and self.responses.lost_packet > (earlier.request_packet_end or 0):
            # Its response was among the lost bytes; if it still came, nobody could tell which request it answers.
            self.in_flight.take_request(correlation_id)
            self._settle_unanswered(earlier, "lost")
        self.in_flight.add_request(correlation_id, exchange)
        self.budget.held += len(exchange.request_raw or b"")
        early = self.early.pop(correlation_id, None)
        if early is not None:
            self._handle_response_frame(early)

    def _settle_unanswered(self, exchange: Exchange, reason: str) -> None:
        """Settle a request, taken out of the table, that nothing can answer any more."""
        self.budget.held -= len(exchange.request_raw or b"")
        exchange.extra = {**(exchange.extra or {}), "reason": reason}
        self._settle_without_response(exchange, "unanswered")

    def _handle_response_frame(self, frame: Frame) -> None:
        data = frame.data
        while self.sasl.tokens and not self._is_handshake_response(data):
            if self._handle_token_answer(frame):
                return
        if len(data) < RESPONSE_HEAD:
            self._skip_frame_without_header(self.responses, frame)
            return
        correlation_id = CORRELATION.unpack_from(data, 4)[0]
        exchange = self.in_flight.take_request(correlation_id)
        if exchange is None:
            if self._correlation_id_of_request_under_way() == correlation_id and correlation_id not in self.early:
                self.early[correlation_id] = frame
            else:
                self.settle_response_without_request(frame, correlation_id)
            return
        self.budget.held -= len(exchange.request_raw or b"")
        set_response_of_exchange(exchange, frame)
        self.note_answer(exchange, correlation_id)
        if frame.missing == "incomplete":
            exchange.outcome = "unanswered"
            exchange.extra = {**(exchange.extra or {}), "reason": "incomplete", "closed": self.closing}
            self.context.summary.unanswered += 1
        self.settle(exchange)

    def note_answer(self, exchange: Exchange, correlation_id: int) -> None:
        """Note that a request has its answer, and say so where a later request had its answer before."""
        late = self.answered.note_answer(exchange.place, correlation_id)
        if late and self._is_connection_captured_whole() and self.in_flight.first_request_with(correlation_id) is None:
            exchange._add_remark("out_of_order", "a later request of the connection was answered before it", "response")

    def _is_connection_captured_whole(self) -> bool:
        """Whether all bytes of the connection so far are in the capture, in frames."""
        return self.connection_info.opened and not (self.requests.lossy or self.responses.lossy)

    def _correlation_id_of_request_under_way(self) -> int | None:
        """The correlation id of the request whose frame is under way; None where none is."""
        direction = self.requests
        if not direction.need or direction.doubt or not direction.parts or len(direction.parts[0]) < REQUEST_LEAST + 4:
            return None
        return int(CORRELATION.unpack_from(direction.parts[0], 8)[0])

    def settle_response_without_request(self, frame: Frame, correlation_id: int) -> None:
        """Settle a response for which no request waits."""
        from decoders.exchanges.guess_request_of_response import (  # few captures have any
            remark_unasked_answer,
            set_guessed_request,
        )

        exchange = make_orphan_exchange(self.connection_info, self.context.api_readers.unknown, frame, correlation_id)
        self.answered.note_orphan_answer()
        if self._is_connection_captured_whole():
            remark_unasked_answer(exchange, answered=self.answered.has_id(correlation_id))
        if self.context.guesses and not frame.missing:
            set_guessed_request(exchange, self.context.api_readers)
        self.settle(exchange)

    def _skip_frame_without_header(self, direction: FrameDirection, frame: Frame) -> None:
        """Skip a frame of known size, of which not even the header is there."""
        detail = {"snaplen": "cut by the snap length", "incomplete": "cut off by the end of the connection"}
        size = min(frame.size + 4, direction.place - frame.place)  # it may be shorter than its size field says
        unframed = Unframed("lost", detail.get(frame.missing, "segment lost"), frame.first_ns, frame.first_packet, size)
        direction.lossy = True
        self.report_skipped(direction, unframed, frame.last_ns)

    # SASL.

    def _follow_login_exchange(self, exchange: Exchange) -> None:
        """Follow a SaslHandshake or SaslAuthenticate request."""
        request = exchange.request
        if exchange.api_key == SASL_AUTHENTICATE:
            data = request.get("auth_bytes")
            self._get_login_attempt().add_step(exchange, data if isinstance(data, bytes) else None, self.context.owners)
            return
        mechanism = str(request.get("mechanism", ""))
        self.sasl.attempt = None
        exchange.login = self._get_login_attempt(mechanism).finished_login
        if exchange.api_version == 0:
            self.sasl.follow_handshake_request(mechanism)
            self._set_framing_of_sasl_phase()

    def _get_login_attempt(self, mechanism: str = "") -> LoginAttempt:
        """The login under way, or a new one."""
        if self.sasl.attempt is None:
            from decoders.exchanges.sasl_logins import LoginAttempt  # few captures have any

            # Where the handshake is not in the capture, or the last step was not known, the mechanism is as before.
            before = mechanism or (self.login["mechanism"] if self.login is not None else None)
            self.sasl.attempt = LoginAttempt(before, self.login)
        return self.sasl.attempt

    def _follow_login_answer(self, exchange: Exchange, data: bytes | None) -> None:
        """Follow an answer without an error to a step of a login; `data`: None where the capture lacks the answer."""
        attempt = self._get_login_attempt()
        self.login = attempt.add_answer(exchange, data)
        if attempt.over:
            self.sasl.attempt = None

    def _restore_login_before_attempt(self) -> None:
        """Follow an error in answer to a step of a login: the login from before the attempt counts again."""
        if self.sasl.attempt is not None:
            self.login, self.sasl.attempt = self.sasl.attempt.before, None

    def _set_framing_of_sasl_phase(self) -> None:
        kafka = self.sasl.phase == SaslPhase.KAFKA
        self.requests.set_mode_between_frames(REQUEST if kafka else ASK)
        self.responses.set_mode_between_frames(RESPONSE if kafka and not self.sasl.tokens else ASK)

    def _end_token_phase(self) -> None:
        """End the tokens, because a request has come: no token is answered any more."""
        while self.sasl.tokens:
            self._settle_without_response(self.sasl.take_token(), "token")
        if self.sasl.attempt is not None:  # the broker has accepted a step that it did not answer
            self.login, self.sasl.attempt = self.sasl.attempt.finished_login, None
        if self.sasl.phase == SaslPhase.TOKENS or self.responses.lossy:
            self.sasl.phase = SaslPhase.KAFKA
            self._set_framing_of_sasl_phase()

    def _handle_token_frame(self, frame: Frame) -> None:
        exchange = Exchange()
        set_initial_values(exchange, self.connection_info, self.context.api_readers.unknown)
        exchange.outcome = "token"
        exchange.correlation_id = None
        exchange.client_software = self.software
        set_request_of_exchange(exchange, frame)
        if frame.missing:
            self._get_login_attempt().add_step(exchange, None, self.context.owners)
        else:
            self._get_login_attempt().add_step(exchange, frame.data[4:], self.context.owners)
        self.sasl.add_waiting_token(exchange)
        self._set_framing_of_sasl_phase()

    def _is_handshake_response(self, data: bytes) -> bool:
        """Whether a response answers the SaslHandshake after which a token has come already."""
        if self.sasl.phase != SaslPhase.HANDSHAKE or len(data) < RESPONSE_HEAD:
            return False
        return self.in_flight.first_request_with(CORRELATION.unpack_from(data, 4)[0]) is not None

    def _handle_token_answer(self, frame: Frame) -> bool:
        exchange = self.sasl.take_token()
        if self.requests.lost_packet > (exchange.request_packet_end or 0):
            # Some tokens have no answer: this frame may answer a request among the lost bytes.
            self._settle_without_response(exchange, "token")
            return False
        set_response_of_exchange(exchange, frame)
        if frame.missing == "incomplete":
            exchange.extra = {**(exchange.extra or {}), "closed": self.closing}
        self._follow_login_answer(exchange, None if frame.missing else frame.data[4:])
        self.sasl.follow_token_answer()
        self._set_framing_of_sasl_phase()
        self.settle(exchange)
        return True

    # Settling.

    def settle(self, exchange: Exchange) -> None:
        """Settle an exchange whose two sides are there, as far as they ever will be."""
        if exchange._api_reader.read_when_settled:
            self._learn_from_settled_exchange(exchange)
        exchange._topics_known = len(self.context.topics.names)
        self.context.out.append(exchange)
        if exchange.api_key == ENVELOPE:
            self._settle_enveloped_exchange(exchange)

    def _settle_enveloped_exchange(self, envelope: Exchange) -> None:
        """Settle the exchange inside an Envelope, after the Envelope."""
        from decoders.exchanges.envelope_requests import make_exchange_inside_envelope  # few captures have any

        inner = make_exchange_inside_envelope(envelope, self.context.api_readers)
        if inner is not None:
            summary = self.context.summary
            summary.unanswered += inner.outcome == "unanswered"
            summary.count_client(self.connection_info.client, inner.client_id or "", None)
            self.settle(inner)

    def await_or_settle_produce_request(self, exchange: Exchange) -> None:
        """Take a Produce request: it waits for its response, unless it has acks=0 and is settled."""
        data = exchange.request_raw
        assert data is not None
        try:
            silent = exchange._api_reader.has_acks_zero(data, read_request_head(data, 0, len(data)).body)
        except DecodeError:
            silent = False
        if silent:
            self.answered.note_unanswerable_ids(exchange.correlation_id or 0)
            self._settle_without_response(exchange, "no_response_expected")
        else:
            self._add_request_in_flight(exchange)

    def _settle_without_response(self, exchange: Exchange, outcome: Status) -> None:
        exchange.outcome = outcome
        set_response_missing(exchange)
        if outcome == "unanswered":
            self.context.summary.unanswered += 1
        self.settle(exchange)

    def _learn_from_settled_exchange(self, exchange: Exchange) -> None:
        """Take topic names, owners of delegation tokens and the state of a login from an exchange."""
        if exchange.api_key in TELLING_OWNERS:
            if self.context.learns_owners:
                from decoders.exchanges.sasl_logins import learn_token_owners

                learn_token_owners(exchange, self.context.owners)
            return
        if exchange.api_key not in LOGGING_IN:
            exchange._api_reader.add_topic_names(exchange, self.context.topics)
            return
        response = exchange.response
        error_code = None if response is None else response.get("error_code")
        if error_code is None:
            return
        if error_code:
            self._restore_login_before_attempt()
        elif exchange.api_key == SASL_AUTHENTICATE:
            data = response.get("auth_bytes")
            self._follow_login_answer(exchange, data if isinstance(data, bytes) else None)
        if exchange.api_version == 0 and self.sasl.phase == SaslPhase.HANDSHAKE:
            self.sasl.follow_handshake_response(error_code)
            self._set_framing_of_sasl_phase()

    def mark_retransmitted(self, direction: FrameDirection, at: int, size: int) -> None:
        """Mark the frames and requests, not settled yet, of which bytes were retransmitted."""
        direction.again = direction.again or (bool(direction.need) and at + size > direction.begun)
        if not direction.request:
            return
        for exchange in (*self.in_flight.list_waiting_requests(), *self.sasl.tokens):
            if at < exchange.place + (exchange.request_size or 0) + 4 and at + size > exchange.place:
                exchange.extra = {**(exchange.extra or {}), "retransmitted": True}

    def report_skipped(self, direction: FrameDirection, unframed: Unframed, until_ns: int) -> None:
        """Report skipped bytes that are over."""
        if not unframed.size and unframed.detail not in UNKNOWN_SIZES.values():
            return
        detail = unframed.detail
        if until_ns:
            detail += f", in step again after {(until_ns - unframed.time_ns) / 1e6:.3f} ms"
        side: Side = "request" if direction.request else "response"
        size, reason, time_ns = unframed.size, unframed.reason, unframed.time_ns
        if not self.frameless:
            self.frameless = name_unframed_bytes(reason, detail)
        self.context.add_skipped(
            Skipped(self.connection_info, side, size, reason, detail, time_ns, until_ns, unframed.packet)
        )

    def close(self, how: How, reason: str | None = None) -> None:
        """End the connection: settle all that waits. `reason`: why requests were not answered, where that is known."""
        self.closing = how
        if self.resting:
            return
        close_direction(self.responses, over=how in ("fin", "rst"))
        close_direction(self.requests, over=how in ("fin", "rst"))
        for correlation_id, frame in self.early.items():
            self.settle_response_without_request(frame, correlation_id)
        self.early = {}
        for exchange in self.in_flight.take_all_requests():
            self.budget.held -= len(exchange.request_raw or b"")
            exchange.extra = {**(exchange.extra or {}), "closed": how}
            if reason is not None:
                exchange.extra["reason"] = reason
            elif self.responses.lost_packet > (exchange.request_packet_end or 0):
                exchange.extra["reason"] = "lost"
            self._settle_without_response(exchange, "unanswered")
        while self.sasl.tokens:
            exchange = self.sasl.take_token()
            exchange.extra = {**(exchange.extra or {}), "closed": how}
            self._settle_without_response(exchange, "token")
