"""A client's bytes in as they come, the same bytes for the broker out; requests are noted as in flight.

Nothing is kept back but the first bytes of a connection, until it is clear that they may be Kafka, and bytes beyond
TURN requests at once: they wait until other connections had their turn. Bytes of a frame whose header is not whole are
sent at once; a copy of them waits for the rest. Where deciders are asked about requests (frame_decisions.py), such
bytes are not sent, and a request that may be wanted waits until it is whole and decided about.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Final

from decoders.apis import NAMES, api
from decoders.errors import DecodeError, Truncated
from decoders.exchanges.requests_in_flight_and_sasl_phase import GSSAPI, SaslPhase
from decoders.frames.frames_of_gapless_connections import SIZE, SIZE_FIELD, Framer
from decoders.frames.read_and_judge_headers import NO, judge_request
from decoders.wire.format_and_escape_text import format_bytes
from kwcli.proxy.relay import handling_by_api_version
from kwcli.proxy.relay.frame_decisions import (
    LOCAL,
    PASS,
    UNTOUCHED,
    DecidedFrames,
    Decision,
    FrameDecider,
    InterceptedExchange,
    Prefiltered,
    Then,
    WantedHandling,
)
from kwcli.proxy.relay.handling_by_api_version import (
    ACKS,
    HEAD,
    HINT,
    MECHANISM,
    REFUSE,
    TELL,
    WANTED,
    RequestHandling,
    describe_mechanism_problem,
)
from kwcli.proxy.relay.relay_responses import Responses
from kwcli.proxy.relay.relay_state import (
    CLIENT,
    END,
    MANY,
    NOTE,
    PAUSE_FOR_ANSWERS,
    PAUSE_FOR_DECISION,
    REQUEST_MAX,
    RESUME_AFTER_ANSWERS,
    RESUME_AFTER_DECISION,
    SEND_SERVER,
    SERVER,
    YIELD,
    Command,
    RelayState,
    describe_unexpected_bytes,
)
from kwcli.proxy.relay.rewrite_addresses import find_highest_rewritable_version

if TYPE_CHECKING:
    from decoders.filters.prefilter import Possible

# Size, API key and version, correlation id: the shortest request.
_HEAD: Final = Struct(">iIi")
_SHORTEST: Final = _HEAD.size
_unpack: Final = _HEAD.unpack_from
# Every frame asks, and a class is slower to ask than a module.
_KAFKA: Final = SaslPhase.KAFKA
_HANDSHAKE: Final = SaslPhase.HANDSHAKE
_TOKEN: Final = 0x60  # of GSSAPI: no API key is so high
# A client id and a transactional id are strings of 32 KiB at most; tags before them are not believed to be longer.
_DEEP_MAX: Final = 256 * 1024
# This much of a frame decides whether it is a request or one more token.
_JUDGED_MAX: Final = 64 * 1024
# How many requests are read before other connections have their turn: a quarter of a millisecond. One read of a socket
# can bring ten thousand (tests/bench/fairness.py).
TURN: Final = 128
# A request that is decided about counts as this many of them.
DECIDED: Final = 16
# For an API and version that `prefilter_by_header` was not asked about yet.
_NOTHING: Final = Prefiltered(None, b"", 0, True)


class Requests(DecidedFrames):
    """The direction from client to broker of one connection; `responses` is the other direction."""

    __slots__ = (
        "_begun",
        "_blocked",
        "_ended",
        "_frame_decider",
        "_framer",
        "_handling_table",
        "_late",
        "_prefiltered",
        "_responses",
        "_sent",
        "_state",
        "_strange",
        "_waiting",
        "_wanted",
    )

    _side = CLIENT

    def __init__(self, state: RelayState, responses: Responses, frame_decider: FrameDecider | None = None) -> None:
        super().__init__()
        self._state = state
        self._responses = responses
        self._frame_decider = frame_decider
        self._handling_table = UNTOUCHED if frame_decider is None else frame_decider.handling_table
        self._prefiltered: dict[int, Prefiltered] = {}  # by API key and version, in one number
        self._sent = 0  # how many of the bytes at hand were sent to the broker
        self._wanted: tuple[WantedHandling, int] | None = (
            None  # handling and correlation id of the request that is collected
        )
        self._blocked = False  # a request waits for a decision, or for its time
        self._ended = False  # the client has ended its side while `_blocked`
        self._strange = True  # nothing is known of this connection yet
        self._framer = Framer()
        self._begun: tuple[int, RequestHandling] | None = None  # the incomplete request, if it will be answered
        self._waiting: list[bytes] = []  # bytes that wait for the answer to SaslHandshake 0
        self._late: tuple[bytes, int] | None = None  # bytes for a later turn, and where to go on

    def feed(self, data: bytes, now_ns: int) -> list[Command]:
        """Take the client's next bytes."""
        state = self._state
        if state.closed:
            return []
        framer = self._framer
        out: list[Command] = []
        if self._late is not None:
            late, at = self._late
            self._late = (late[at:] + data, 0)
        elif framer.left:
            at = framer.skip_rest_of_frame(data)
            if framer.left:
                return [(SEND_SERVER, data)]
            if self._begun is not None:
                state.in_flight.append((*self._begun, now_ns))
                self._begun = None
            self._read_frames(data, at, 0, now_ns, out)
        elif framer.wanted:
            self._collect_intercepted(data, now_ns, out)
        elif state.sasl.phase == _HANDSHAKE:
            self._waiting.append(data)
        elif self._strange:
            self._read_first_bytes(data, now_ns, out)
        elif framer.kept:
            # The bytes that were kept have been sent already, unless deciders are asked.
            sent = framer.kept if self._frame_decider is None else 0
            self._read_frames(framer.prepend_kept_bytes(data), 0, sent, now_ns, out)
        else:
            self._read_frames(data, 0, 0, now_ns, out)
        return out

    def resume_turn(self, now_ns: int) -> list[Command]:
        """Handle the bytes that had to wait for their turn."""
        out: list[Command] = []
        if self._late is not None and not self._blocked and not self._state.closed:
            (data, at), self._late = self._late, None
            self._read_frames(data, at, at, now_ns, out)
        return out

    def apply_decision(self, exchange: InterceptedExchange, decision: Decision, now_ns: int) -> list[Command]:
        """Carry out the awaited decision about a request."""
        out: list[Command] = []
        if not self._state.closed:
            self._apply_or_wait(exchange, decision, now_ns, out)
            self._resume_behind_request(now_ns, out)
        return out

    def resume_after_delay(self, now_ns: int) -> list[Command]:
        """Send a delayed request: its time has come."""
        out: list[Command] = []
        if self._due is not None and not self._state.closed:
            self._apply_delayed_decision(now_ns, out)
            self._resume_behind_request(now_ns, out)
        return out

    def resume_after_login(self, now_ns: int) -> list[Command]:
        """Go on with the client's bytes: SaslHandshake 0 has been answered."""
        waiting, self._waiting = b"".join(self._waiting), []
        out = self.feed(waiting, now_ns) if waiting else []
        return out if self._state.crowded else [*out, (RESUME_AFTER_ANSWERS, CLIENT)]

    @property
    def is_inside_request(self) -> bool:
        """Whether the end of a request is still to come."""
        return self._framer.is_inside_frame

    @property
    def is_blocked(self) -> bool:
        """Whether a request waits for a decision, or for its time."""
        return self._blocked

    def finish(self, now_ns: int) -> list[Command]:
        """Handle the client's end: send what was kept back, note an incomplete request, end the broker's side."""
        out: list[Command] = []
        if self._blocked:
            self._ended = True
            return out
        while self._late is not None and not self._blocked and not self._state.closed:
            out += (command for command in self.resume_turn(now_ns) if command[0] != YIELD)
        if self._blocked:
            self._ended = True
        if self._state.closed or self._blocked:
            return out
        kept = self._strange or self._frame_decider is not None
        rest = b"".join([self._framer.join_held_bytes() if kept else b"", *self._waiting])
        self._waiting.clear()
        if rest:
            out.append((SEND_SERVER, rest))
        if self.is_inside_request:
            out.append((NOTE, "the client closed the connection inside a request"))
        return [*out, (END, SERVER)]

    def _read_first_bytes(self, data: bytes, now_ns: int, out: list[Command]) -> None:
        """Read the first bytes of the connection, or refuse them, or keep them until there are enough."""
        data = self._framer.prepend_kept_bytes(data)
        if len(data) >= SIZE_FIELD and not 8 <= SIZE.unpack_from(data)[0] <= REQUEST_MAX:
            self._close_for_wrong_size(data, 0, out)
        elif len(data) < _SHORTEST:
            self._framer.keep_rest(data, 0)
        else:
            self._strange = False
            if data[4] == _TOKEN:
                self._state.sasl.follow_first_token()
                self._note_mechanism_hint(GSSAPI, out)
            self._read_frames(data, 0, 0, now_ns, out)

    def _read_frames(self, data: bytes, at: int, sent: int, now_ns: int, out: list[Command]) -> None:
        """Read the frames from `at` on; the first `sent` bytes were sent to the broker before."""
        state = self._state
        sasl = state.sasl
        self._sent = sent
        while True:
            phase = sasl.phase
            at = (
                self._read_requests(data, at, now_ns, out)
                if phase == _KAFKA
                else self._read_tokens(data, at, now_ns, out)
            )
            if state.closed:
                return
            if self._late is not None:
                if at > self._sent:
                    out.append((SEND_SERVER, data[self._sent : at]))
                if not self._blocked:
                    out.append((YIELD, CLIENT))
                if len(state.in_flight) >= MANY:
                    self._pause_crowded_client(out)
                return
            if sasl.phase == phase:
                break
            if sasl.phase == _HANDSHAKE:
                out.append((SEND_SERVER, data[self._sent : at]))
                if at < len(data):
                    self._waiting.append(data[at:])
                out.append((PAUSE_FOR_ANSWERS, CLIENT))
                return
        sent = self._sent
        end = len(data) - (self._framer.kept if self._frame_decider is not None else 0)
        if end > sent:
            out.append((SEND_SERVER, data[sent:end] if sent or end < len(data) else data))
        if len(state.in_flight) >= MANY:
            self._pause_crowded_client(out)

    def _pause_crowded_client(self, out: list[Command]) -> None:
        """Stop reading from the client, since too many requests are in flight."""
        if not self._state.crowded:
            self._state.crowded = True
            out.append((PAUSE_FOR_ANSWERS, CLIENT))

    def _read_requests(self, data: bytes, at: int, now_ns: int, out: list[Command]) -> int:
        """Note the requests from `at` on as in flight; where the last request that was understood ends."""
        state = self._state
        in_flight = state.in_flight
        end = len(data)
        known = self._handling_table.known
        left = TURN
        while end - at >= _SHORTEST:
            if left <= 0:
                self._late = (data, at)
                return at
            left -= 1
            size, number, correlation_id = _unpack(data, at)
            if not 8 <= size <= REQUEST_MAX:
                self._close_for_wrong_size(data, at, out)
                return at
            handling = known.get(number) or self._handling_table.find_handling(number)
            stop = at + SIZE_FIELD + size
            answered: bool | None = True
            reads = handling.reads
            if reads >= WANTED:
                if TYPE_CHECKING:
                    assert isinstance(handling, WantedHandling)
                # Inline, since this is all that a handling costs that does not match (tests.bench.proxy --faults).
                asked, head, least, possible = self._prefiltered.get(number, _NOTHING)
                if asked is not handling or size < least or not data.startswith(head, at + HEAD):
                    possible = self._prefilter_request(handling, number, data, at, min(stop, end))
                wanted = possible and (possible is True or stop > end or possible(data, at, stop))
                if wanted and self._reserve_bytes(handling, size, out):
                    left -= DECIDED
                    at = self._intercept_request(handling, correlation_id, data, at, now_ns, out)
                    if state.closed or self._blocked or self._framer.wanted:
                        return at
                    in_flight = state.in_flight
                    continue
                handling = handling.base
                reads = handling.reads
            if reads:
                answered = self._read_request_as_handling_says(handling, data, at, stop, out)
                if answered is None:
                    self._framer.keep_rest(data, at)
                    return at
            state.silent = not answered
            if stop > end:
                self._begun = (correlation_id, handling) if answered else None
            elif answered:
                in_flight.append((correlation_id, handling, now_ns))
            at = stop
            if reads == MECHANISM:
                return at
        if at != end:
            self._keep_rest(data, at, out)
        return at

    def _keep_rest(self, data: bytes, at: int, out: list[Command]) -> None:
        """Keep the bytes behind the last request whose header is whole, or refuse them."""
        if len(data) - at >= SIZE_FIELD and not 8 <= SIZE.unpack_from(data, at)[0] <= REQUEST_MAX:
            self._close_for_wrong_size(data, at, out)
        else:
            self._framer.keep_from_next_frame(data, at)

    def _read_request_as_handling_says(
        self, handling: RequestHandling, data: bytes, at: int, stop: int, out: list[Command]
    ) -> bool | None:
        """Read more of a request than its header; whether it is answered, None: not known yet, or refused."""
        if handling.reads == ACKS:
            return self._is_answered_by_acks(handling, data, at, stop, out)
        if handling.reads == REFUSE:
            most = find_highest_rewritable_version(handling.api_key)
            reason = (
                f"{handling} would be answered with addresses in a layout that kw does not know (it knows up to {most})"
            )
            self._close_with_reason(data, at, reason, out)
            return None
        if handling.reads == TELL:
            name = api(handling.api_key).name
            text = f"{name} carries addresses of controllers or brokers, which the proxy does not rewrite"
            out.append((NOTE, text))
            return True
        if handling.reads == HINT:
            self._note_mechanism_hint(handling_by_api_version.read_mechanism(data, at, min(stop, len(data))), out)
            return True
        assert handling.reads == MECHANISM
        if stop > len(data):
            if stop - at > _JUDGED_MAX:
                self._close_with_reason(data, at, f"a {handling} of {format_bytes(stop - at)}", out)
            return None
        mechanism = handling_by_api_version.read_mechanism(data, at, stop)
        self._state.sasl.follow_handshake_request(mechanism)
        self._note_mechanism_hint(mechanism, out)
        return True

    def _note_mechanism_hint(self, mechanism: str, out: list[Command]) -> None:
        hint = describe_mechanism_problem(mechanism)
        if hint is not None:
            out.append((NOTE, hint))

    def _is_answered_by_acks(
        self, handling: RequestHandling, data: bytes, at: int, stop: int, out: list[Command]
    ) -> bool | None:
        end = min(stop, len(data))
        try:
            return handling_by_api_version.read_acks(handling.version, data, at, end) != 0
        except (Truncated, IndexError):
            if end == stop:
                return True  # the request is broken: the broker will say so, or close
            if end - at > _DEEP_MAX:
                self._close_with_reason(data, at, f"a {handling} with a header of more than {_DEEP_MAX} bytes", out)
            return None
        except DecodeError:
            return True

    # Requests that a decider may want

    def _prefilter_request(self, handling: WantedHandling, number: int, data: bytes, at: int, end: int) -> Possible:
        """Ask which requests deciders may want that have the same header as the request at `at`."""
        assert self._frame_decider is not None
        found = handling_by_api_version.read_client_id(handling.api_key, handling.version, data, at, end)
        if found is None:
            return True
        head, client_id = found
        possible = self._frame_decider.prefilter_by_header(handling.api_key, handling.version, client_id)
        if self._handling_table.known.get(number) is handling:  # a client that makes up numbers fills no memory
            self._prefiltered[number] = Prefiltered(handling, head, HEAD - SIZE_FIELD + len(head), possible)
        return possible

    def _reserve_bytes(self, handling: WantedHandling, size: int, out: list[Command]) -> bool:
        """Whether there is room to keep a request of this size; where not, a note says so."""
        assert self._frame_decider is not None
        if self._frame_decider.reserve_bytes(SIZE_FIELD + size):
            return True
        text = f"a {handling.base} passed unchecked: too many bytes of requests are held (--fault, --script)"
        out.append((NOTE, text))
        return False

    def _intercept_request(
        self, handling: WantedHandling, correlation_id: int, data: bytes, at: int, now_ns: int, out: list[Command]
    ) -> int:
        """Intercept the request at `at` and ask deciders about it; where the request or `data` ends."""
        size = int(SIZE.unpack_from(data, at)[0])
        stop = at + SIZE_FIELD + size
        end = len(data)
        if stop > end:
            self._send_bytes_before(data, at, out)
            self._framer.expect_frame(size)
            self._framer.collect_frame(data, at)
            self._wanted = (handling, correlation_id)
            self._sent = end
            return end
        exchange = self._make_exchange(
            handling, correlation_id, data[at:stop] if at or stop < end else data, now_ns, out
        )
        assert self._frame_decider is not None
        decision = self._frame_decider.decide_request(exchange, now_ns)
        if decision is not None and decision[:-1] == PASS[:-1]:
            self._note_in_flight(exchange, decision, now_ns)  # its bytes are sent with those around it
            return stop
        self._send_bytes_before(data, at, out)
        self._sent = stop
        self._apply_or_wait(exchange, decision, now_ns, out)
        if self._blocked:
            self._late = (data, stop)
        return stop

    def _send_bytes_before(self, data: bytes, at: int, out: list[Command]) -> None:
        """Send the bytes before a request that is intercepted."""
        if at > self._sent:
            out.append((SEND_SERVER, data[self._sent : at]))

    def _collect_intercepted(self, data: bytes, now_ns: int, out: list[Command]) -> None:
        """Take more of a request that is intercepted; ask deciders about it once it is whole."""
        frame, at = self._framer.collect_frame(data)
        if frame is None:
            return
        assert self._wanted is not None
        assert self._frame_decider is not None
        (handling, correlation_id), self._wanted = self._wanted, None
        self._sent = 0
        exchange = self._make_exchange(handling, correlation_id, frame, now_ns, out)
        self._apply_or_wait(exchange, self._frame_decider.decide_request(exchange, now_ns), now_ns, out)
        if self._state.closed:
            return
        if self._blocked:
            self._late = (data, at)
        elif at < len(data):
            self._read_frames(data, at, at, now_ns, out)

    def _make_exchange(
        self, handling: WantedHandling, correlation_id: int, frame: bytes, now_ns: int, out: list[Command]
    ) -> InterceptedExchange:
        """The exchange that an intercepted request begins."""
        base = handling.base
        answered = self._read_request_as_handling_says(base, frame, 0, len(frame), out) if base.reads else True
        return InterceptedExchange(base, correlation_id, frame, now_ns, answered=answered is not False)

    def _block_direction(self, out: list[Command]) -> None:
        if not self._blocked:
            self._blocked = True
            out.append((PAUSE_FOR_DECISION, CLIENT))

    def _resume_behind_request(self, now_ns: int, out: list[Command]) -> None:
        """Go on with the bytes behind a request that was decided about."""
        state = self._state
        if state.closed or self._due is not None:
            return
        self._blocked = False
        out += self.resume_turn(now_ns)
        if state.closed or self._blocked:
            return
        out.append((RESUME_AFTER_DECISION, CLIENT))
        if self._ended:
            out += self.finish(now_ns)

    def _apply_decision(
        self, exchange: InterceptedExchange, decision: Decision, now_ns: int, out: list[Command]
    ) -> None:
        state = self._state
        if decision.reply is not None:
            exchange.answer = LOCAL
            exchange.response = decision.reply
            exchange.decision = decision
            self._release_kept_bytes(exchange)
            if exchange.answered and not state.withheld:
                state.in_flight.append((exchange.correlation_id, exchange, now_ns))
                state.local += 1
                self._responses.send_own_answers(now_ns, out)
            return
        frame = exchange.request if decision.frame is None else decision.frame
        if frame:
            out.append((SEND_SERVER, frame))
            self._note_in_flight(exchange, decision, now_ns)
        else:
            self._release_kept_bytes(exchange)
        if decision.then is not Then.GO_ON:
            self._responses.end_by_decision(decision, out)

    def _note_in_flight(self, exchange: InterceptedExchange, decision: Decision, now_ns: int) -> None:
        """Note a request that was decided about as in flight."""
        state = self._state
        state.silent = not exchange.answered
        show_answer = decision.show_answer and exchange.answered and not state.withheld
        if exchange.answered:
            state.in_flight.append((exchange.correlation_id, exchange if show_answer else exchange.base, now_ns))
        if not show_answer:
            self._release_kept_bytes(exchange)

    def _release_kept_bytes(self, exchange: InterceptedExchange) -> None:
        assert self._frame_decider is not None
        self._frame_decider.release_bytes(exchange.kept)

    def _read_tokens(self, data: bytes, begin: int, now_ns: int, out: list[Command]) -> int:
        """Note the bare SASL tokens from `begin` on as in flight; where the last frame known to be a token ends."""
        state = self._state
        sasl = state.sasl
        end = len(data)
        left = TURN
        for at, size in self._framer.cut_whole_frames(data, begin):
            if sasl.phase != SaslPhase.TOKENS:
                return at
            if not left:
                self._late = (data, at)
                return at
            left -= 1
            if not 0 <= size <= REQUEST_MAX:
                self._close_for_wrong_size(data, at, out)
                return at
            stop = at + SIZE_FIELD + size
            if not sasl.left:
                shown = min(stop, at + _JUDGED_MAX)
                if end < shown and (end - at < 6 or int.from_bytes(data[at + 4 : at + 6], "big") in NAMES):
                    self._framer.keep_rest(data, at)
                    return at
                if judge_request(data[at:shown], 0) != NO:
                    self._end_login()
                    return at
            sasl.follow_token_answer()
            if stop > end:
                self._begun = (0, handling_by_api_version.TOKENS)
            else:
                state.in_flight.append((0, handling_by_api_version.TOKENS, now_ns))
        return end

    def _end_login(self) -> None:
        """End the login, since a request came in place of a token: the last token of GSSAPI has no answer."""
        state = self._state
        state.sasl.phase = SaslPhase.KAFKA
        while state.in_flight and state.in_flight[-1][1] is handling_by_api_version.TOKENS:
            state.in_flight.pop()

    def _close_for_wrong_size(self, data: bytes, at: int, out: list[Command]) -> None:
        """Close the connection: the bytes at `at` cannot be a size field."""
        (size,) = SIZE.unpack_from(data, at)
        self._close_with_reason(
            data,
            at,
            f"the client sent no Kafka request, but a size of {size}{describe_unexpected_bytes(data[at:])}",
            out,
        )

    def _close_with_reason(self, data: bytes, at: int, reason: str, out: list[Command]) -> None:
        if at > self._sent:
            out.append((SEND_SERVER, data[self._sent : at]))
        out.append(self._state.make_close_command(reason))
