"""A broker's bytes in as they come, bytes for the client out: rewritten where a frame names brokers, else unchanged.

Answers come in the order of the requests, and their correlation ids are checked against it: after one mismatch nothing
could be rewritten any more. For a frame that is buffered, room for all of it is asked for before its body is read; a
frame that came whole needs none. Of any other frame at most seven bytes are kept back, until its correlation id is
known.

An answer that a decider wants (frame_decisions.py) is buffered as well. Answers of the proxy itself are sent once all
requests before theirs are answered.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from struct import Struct
from typing import Final

from decoders.exchanges.requests_in_flight_and_sasl_phase import SaslPhase
from decoders.frames.frames_of_gapless_connections import SIZE, SIZE_FIELD, Framer
from decoders.limits import FRAME_MAX, MIB
from decoders.wire.format_and_escape_text import format_bytes
from kwcli.proxy.relay.frame_decisions import (
    DECIDE,
    LOCAL,
    DecidedFrames,
    Decision,
    FrameDecider,
    InterceptedExchange,
    Then,
)
from kwcli.proxy.relay.handling_by_api_version import CAP, LOGIN, REWRITE, STREAM, TOKEN, RequestHandling
from kwcli.proxy.relay.relay_state import (
    ANSWERED,
    CLIENT,
    FEWER,
    MUTE,
    NOTE,
    PAUSE_FOR_DECISION,
    RELEASE,
    RESERVE,
    RESET,
    RESOLVE,
    RESUME_AFTER_ANSWERS,
    RESUME_AFTER_DECISION,
    SEND_CLIENT,
    SERVER,
    TIMER,
    YIELD,
    Command,
    RelayState,
    describe_unexpected_bytes,
)
from kwcli.proxy.relay.rewrite_addresses import Address, Endpoint, RewriteFailed
from kwcli.proxy.relay.rewrite_cache import ReadAnswer, RewrittenAnswers

_HEAD: Final = Struct(">ii")  # size, correlation id
_HEAD_SIZE: Final = _HEAD.size
_unpack: Final = _HEAD.unpack_from
# Consumers may ask for more than a frame's usual limit; a number beyond this is no size.
STREAMED_MAX: Final = 1024 * MIB
# How many answers are read before other connections have their turn, in less than half a millisecond: an answer that
# streams through counts as one, an answer that is buffered as BUFFERED of them (tests/bench/fairness.py).
TURN: Final = 1024
BUFFERED: Final = 128
# The least and largest size, by what is done about an answer: a bare token may be empty.
_SIZES: Final = {
    **dict.fromkeys((REWRITE, CAP, DECIDE), (4, FRAME_MAX)),
    STREAM: (4, STREAMED_MAX),
    LOGIN: (10, FRAME_MAX),
    TOKEN: (0, FRAME_MAX),
    LOCAL: (1 << 31, 0),
}
# What is done about answers that pass in the pieces in which they come.
_PASSING: Final = (STREAM, TOKEN)


class Responses(DecidedFrames):
    """The direction from broker to client; `after_login` is called when SaslHandshake 0 has been answered."""

    __slots__ = (
        "_after_login",
        "_asked",
        "_at",
        "_blocked",
        "_buffered",
        "_decision",
        "_ended",
        "_frame_decider",
        "_framer",
        "_last",
        "_reserved",
        "_rewritten_answers",
        "_state",
        "_steps",
        "_stopped",
        "_ticket",
        "_timed",
        "_turn",
        "_waiting",
        "_yielded",
    )

    _side = SERVER

    def __init__(
        self,
        state: RelayState,
        after_login: Callable[[int], list[Command]],
        rewritten_answers: RewrittenAnswers,
        frame_decider: FrameDecider | None = None,
        *,
        timed: bool,
    ) -> None:
        self._state = state
        self._after_login = after_login
        self._timed = timed
        self._frame_decider = frame_decider
        super().__init__()
        self._asked: InterceptedExchange | None = None  # whose answer is decided about later
        self._decision: Decision | None = None  # about the answer at hand
        self._steps: deque[tuple[int, bytes]] = deque()  # its pieces, and the ns to wait before each
        self._framer = Framer()
        self._reserved = 0
        self._buffered: tuple[RequestHandling, bytes, ReadAnswer | None] | None = (
            None  # waits for its rest, or for listeners
        )
        self._rewritten_answers = rewritten_answers
        self._ticket = 0
        self._blocked = False  # waits for room, listeners, a decision, a time or its turn
        self._waiting: list[bytes] = []
        self._at = 0  # where to go on in the first of these
        self._turn = TURN  # how many answers may still be read in this turn
        self._yielded = False
        self._stopped = False  # the broker is not read until a decision or a time has come
        self._ended = False
        self._last: int | None = None

    @property
    def is_busy(self) -> bool:
        """Whether bytes of an answer are buffered here."""
        return (self._blocked and not self._state.withheld) or self._framer.is_inside_frame

    def feed(self, data: bytes, now_ns: int) -> list[Command]:
        """Take the broker's next bytes."""
        if self._state.closed:
            return []
        if self._blocked:
            if not self._state.withheld:
                self._waiting.append(data)
            return []
        self._turn = TURN
        out: list[Command] = []
        framer = self._framer
        if framer.left:
            at = framer.skip_rest_of_frame(data)
            if at == len(data) and not self._state.local:
                return [(SEND_CLIENT, data)]
            self._read_answers(data, at, 0, now_ns, out)
        elif framer.wanted:
            self._collect_buffered(data, now_ns, out)
        else:
            self._read_answers(framer.prepend_kept_bytes(data) if framer.kept else data, 0, 0, now_ns, out)
        if self._state.local:
            self.send_own_answers(now_ns, out)
        return self._resume_client(out) if self._state.crowded else out

    def resume_after_reservation(self, now_ns: int) -> list[Command]:
        """Go on: there is room for the frame that begins with the waiting bytes."""
        self._blocked = False
        return self._resume_waiting(now_ns)

    def resume_turn(self, now_ns: int) -> list[Command]:
        """Go on with the waiting bytes: other connections have had their turn."""
        if not self._yielded or self._state.closed:
            return []
        self._yielded = self._blocked = False
        self._turn = TURN
        return self._resume_waiting(now_ns)

    def resume_after_resolution(self, ticket: int, addresses: Mapping[int, Address], now_ns: int) -> list[Command]:
        """Rewrite and send the frame with this ticket; nodes that are not in `addresses` have no listener."""
        if self._buffered is None or ticket != self._ticket or self._state.closed:
            return []
        handling, frame, reading = self._buffered
        assert reading is not None
        self._buffered = None
        self._blocked = False
        try:
            rewritten = self._rewritten_answers.rewrite_answer(reading, frame, addresses)
        except RewriteFailed as failure:
            return [
                *self._release_reserved_memory(),
                self._state.make_close_command(f"{handling} cannot be passed on: {failure.text}"),
            ]
        out: list[Command] = []
        if rewritten.stripped:
            out.append((NOTE, f"addresses of new leaders were left out of a {handling}: a node has no listener"))
        self._send_answer(rewritten.frame, out)
        return out if self._blocked else out + self._resume_waiting(now_ns)

    def finish(self) -> list[Command]:
        """Handle the broker's end: send what was kept back, and close."""
        if self._state.withheld:
            return [self._state.make_close_command("the broker closed the connection", loud=False)]
        if self._blocked:
            self._ended = True
            return []
        waiting = self._state.in_flight
        part = b"" if self._framer.wanted else self._framer.join_held_bytes()
        if part and (what := describe_unexpected_bytes(part)).startswith(":"):  # a TLS alert has seven bytes
            return [
                *self._release_reserved_memory(),
                self._state.make_close_command(f"the broker sent no Kafka response{what}"),
            ]
        streamed = bool(waiting) and waiting[0][1].answer in (STREAM, TOKEN)
        out: list[Command] = [(SEND_CLIENT, part)] if part and streamed else []
        out += self._release_reserved_memory()
        text = "the broker closed the connection"
        if self.is_busy:
            text += " inside an answer"
        if waiting:
            text += f" with {len(waiting)} unanswered, {waiting[0][1]} first"
        elif self._state.silent and not self.is_busy:
            text += " after a Produce with acks=0: brokers do so when the Produce failed"
        loud = bool(waiting) or self.is_busy or self._state.silent
        if self._state.gone:  # nobody waits for these answers
            text = "the client closed the connection" + (f" with {len(waiting)} unanswered" if waiting else "")
            loud = False
        return [*out, self._state.make_close_command(text, loud=loud)]

    def _resume_waiting(self, now_ns: int) -> list[Command]:
        if self._state.closed:
            return []
        waiting, self._waiting = self._waiting, []
        at, self._at = self._at, 0
        out: list[Command] = []
        if waiting:
            data = waiting[0] if len(waiting) == 1 else b"".join(waiting)
            if at:
                self._read_answers(data, at, at, now_ns, out)
                if self._state.crowded:
                    self._resume_client(out)
            else:
                out = self.feed(data, now_ns)
        if self._state.local:
            self.send_own_answers(now_ns, out)
        if self._blocked or self._state.closed:
            return out
        if self._stopped:
            self._stopped = False
            out.append((RESUME_AFTER_DECISION, SERVER))
        if self._ended:
            out += self.finish()
        return out

    def _read_answers(self, data: bytes, at: int, start: int, now_ns: int, out: list[Command]) -> None:
        """Read the frames from `at` on; bytes from `start` on were not sent to the client yet."""
        state = self._state
        in_flight = state.in_flight
        end = len(data)
        turn = self._turn
        timed = self._timed
        while at < end:
            if turn <= 0:
                self._stop_reading_until_next_turn(data, at, start, out)
                return
            if not in_flight:
                self._close_for_unrequested_answer(data, at, start, out)
                return
            correlation_id, handling, sent_ns = in_flight[0]
            answer = handling.answer
            if end - at < _HEAD_SIZE and (answer != TOKEN or end - at < SIZE_FIELD):
                break
            size, got = _unpack(data, at) if answer != TOKEN else (SIZE.unpack_from(data, at)[0], correlation_id)
            least, most = _SIZES[answer]
            if got != correlation_id or not least <= size <= most:
                if not self._send_own_answers_before(answer, data, at, start, now_ns, out):
                    return
                start = at
                continue
            in_flight.popleft()
            self._last = correlation_id
            if timed and answer != TOKEN:
                out.append((ANSWERED, correlation_id, sent_ns, now_ns, handling.api_key))
            stop = at + SIZE_FIELD + size
            if answer in _PASSING:
                at = stop
                turn -= 1
                continue
            self._turn = turn = turn - BUFFERED
            if at > start:
                out.append((SEND_CLIENT, data[start:at]))
            if stop > end:
                self._begin_buffering(handling, data[at:], size, out)
                return
            self._handle_whole_frame(handling, data[at:stop] if at or stop < end else data, now_ns, out)
            start = at = stop
            if self._blocked or state.closed:
                if at < end:
                    self._keep_waiting_bytes(data, at)
                return
        if at != end:
            self._framer.keep_from_next_frame(data, at)
            at = min(at, end)
        if at > start:
            out.append((SEND_CLIENT, data[start:at] if start or at < end else data))

    def _stop_reading_until_next_turn(self, data: bytes, at: int, start: int, out: list[Command]) -> None:
        """Stop reading at `at`, so that other connections have their turn."""
        if at > start:
            out.append((SEND_CLIENT, data[start:at]))
        self._keep_waiting_bytes(data, at)
        self._blocked = self._yielded = True
        out.append((YIELD, SERVER))

    def _keep_waiting_bytes(self, data: bytes, at: int) -> None:
        """Keep the bytes from `at` on for later, without a copy, since they may be thousands of frames."""
        if not self._state.withheld:
            self._waiting.append(data)
            self._at = at

    def _resume_client(self, out: list[Command]) -> list[Command]:
        """Read from the client again, if few enough requests are in flight."""
        state = self._state
        if len(state.in_flight) < FEWER:
            state.crowded = False
            if state.sasl.phase != SaslPhase.HANDSHAKE:
                out.append((RESUME_AFTER_ANSWERS, CLIENT))
        return out

    def _send_own_answers_before(
        self, answer: int, data: bytes, at: int, start: int, now_ns: int, out: list[Command]
    ) -> bool:
        """Send our own answers, if they are due instead of the answer at `at`; whether to read on at `at`."""
        if answer != LOCAL:
            self._close_for_unexpected_answer(data, at, start, out)
            return False
        if at > start:
            out.append((SEND_CLIENT, data[start:at]))
        self.send_own_answers(now_ns, out)
        if self._blocked or self._state.closed:
            self._keep_waiting_bytes(data, at)
            return False
        return True

    # Frames that are buffered

    def _begin_buffering(self, handling: RequestHandling, data: bytes, size: int, out: list[Command]) -> None:
        """Buffer a frame that begins with `data`: ask for room."""
        self._buffered = (handling, b"", None)
        self._framer.expect_frame(size)
        self._reserved = self._framer.wanted
        self._blocked = True
        self._waiting.append(data)
        out.append((RESERVE, self._reserved))

    def _collect_buffered(self, data: bytes, now_ns: int, out: list[Command]) -> None:
        frame, at = self._framer.collect_frame(data)
        if frame is None:
            return
        assert self._buffered is not None
        handling = self._buffered[0]
        self._buffered = None
        self._handle_whole_frame(handling, frame, now_ns, out)
        if at < len(data) and not self._state.closed:
            if self._blocked:
                self._keep_waiting_bytes(data, at)
            else:
                self._read_answers(data, at, at, now_ns, out)

    def _handle_whole_frame(self, handling: RequestHandling, frame: bytes, now_ns: int, out: list[Command]) -> None:
        """Ask deciders about a buffered frame that is whole now, or pass it on."""
        if isinstance(handling, InterceptedExchange):
            self._ask_deciders(handling, frame, now_ns, out)
        else:
            self._send_rewritten_answer(handling, frame, now_ns, out)

    def _send_rewritten_answer(
        self,
        handling: RequestHandling,
        frame: bytes,
        now_ns: int,
        out: list[Command],
        decided: InterceptedExchange | None = None,
    ) -> None:
        """Send an answer to the client, with the listeners' addresses and with versions capped.

        `decided`: the exchange whose answer a decider may have changed or made.
        """
        if handling.answer == REWRITE:
            try:
                reading = self._rewritten_answers.read_answer(handling.api_key, handling.version, frame)
            except RewriteFailed as failure:
                out += self._release_reserved_memory()
                out.append(self._state.make_close_command(f"{handling} cannot be passed on: {failure.text}"))
                return
            if reading.found:
                self._buffered = (handling, frame, reading)
                self._ticket += 1
                self._blocked = True
                out.append(
                    (RESOLVE, self._ticket, reading.found, self._nodes_named_by_broker(handling, frame, decided))
                )
                return
        elif handling.answer == CAP:
            frame, commands = self._rewritten_answers.cap_answer(handling.version, frame)
            out += commands
        self._send_answer(frame, out)
        if handling.answer == LOGIN and not self._state.closed:
            self._state.sasl.follow_handshake_response(int.from_bytes(frame[8:10], "big"))
            out += self._after_login(now_ns)

    def _nodes_named_by_broker(
        self, handling: RequestHandling, frame: bytes, decided: InterceptedExchange | None
    ) -> Sequence[Endpoint] | None:
        """The nodes that the broker named, where the answer is not its own."""
        if decided is None or decided.broker_answer is frame:
            return None
        if decided.broker_answer is None:
            return ()
        try:
            return self._rewritten_answers.read_answer(handling.api_key, handling.version, decided.broker_answer).found
        except RewriteFailed:
            return ()

    def _release_reserved_memory(self) -> list[Command]:
        size, self._reserved = self._reserved, 0
        return [(RELEASE, size)] if size else []

    # Answers that deciders are asked about

    def _ask_deciders(self, exchange: InterceptedExchange, frame: bytes, now_ns: int, out: list[Command]) -> None:
        """Ask the deciders about the broker's answer to a request that was kept."""
        assert self._frame_decider is not None
        self._frame_decider.release_bytes(exchange.kept)
        exchange.response = exchange.broker_answer = frame
        decision = self._frame_decider.decide_response(exchange, now_ns)
        if decision is None:
            self._asked = exchange
        self._apply_or_wait(exchange, decision, now_ns, out)

    def apply_decision(self, exchange: InterceptedExchange, decision: Decision, now_ns: int) -> list[Command]:
        """Carry out the awaited decision about an answer."""
        out: list[Command] = []
        if self._asked is exchange and not self._state.closed and not self._state.withheld:
            self._asked = None
            self._apply_or_wait(exchange, decision, now_ns, out)
            self._resume_behind_answer(now_ns, out)
        return out

    def resume_after_delay(self, now_ns: int) -> list[Command]:
        """Send a delayed answer, or the next piece of one: its time has come."""
        out: list[Command] = []
        if self._state.closed or self._state.withheld:
            return out
        self._blocked = False
        if self._due is not None:
            self._apply_delayed_decision(now_ns, out)
        else:
            self._send_due_pieces(out)
        self._resume_behind_answer(now_ns, out)
        return out

    def _block_direction(self, out: list[Command]) -> None:
        self._blocked = self._stopped = True
        out.append((PAUSE_FOR_DECISION, SERVER))

    def _resume_behind_answer(self, now_ns: int, out: list[Command]) -> None:
        """Go on with the bytes behind an answer that was decided about, if all of it was sent."""
        state = self._state
        if self._due is not None or self._steps or self._buffered is not None or state.closed or state.withheld:
            return
        self._blocked = False
        out += self._resume_waiting(now_ns)

    def _apply_decision(
        self, exchange: InterceptedExchange, decision: Decision, now_ns: int, out: list[Command]
    ) -> None:
        frame = decision.frame if decision.frame is not None else exchange.response
        self._blocked = False
        if not frame:
            out += self._release_reserved_memory()
            self.end_by_decision(decision, out)
        elif decision.delivery is None and not decision.mute_ns and decision.then is Then.GO_ON:
            self._send_rewritten_answer(exchange.base, frame, now_ns, out, exchange)
        else:
            self._decision = decision
            self._send_rewritten_answer(exchange.base, frame, now_ns, out, exchange)

    def send_own_answers(self, now_ns: int, out: list[Command]) -> None:
        """Send answers of the proxy itself, as far as no broker's answer is due before them."""
        state = self._state
        while state.local and not self._blocked and not state.closed:
            exchange = state.in_flight[0][1]
            if not isinstance(exchange, InterceptedExchange) or exchange.answer != LOCAL:
                return
            if self._framer.left or self._framer.wanted:
                return
            state.in_flight.popleft()
            state.local -= 1
            self._last = exchange.correlation_id
            decision, reply = exchange.decision, exchange.response
            assert decision is not None
            assert reply is not None
            if decision.delivery is not None or decision.mute_ns or decision.then is not Then.GO_ON:
                self._decision = decision
            self._send_rewritten_answer(exchange.base, reply, now_ns, out, exchange)

    def _send_answer(self, frame: bytes, out: list[Command]) -> None:
        """Send an answer to the client, in the way that was decided."""
        decision = self._decision
        if decision is None:
            out.append((SEND_CLIENT, frame))
            out += self._release_reserved_memory()
            return
        self._steps.extend(
            decision.delivery.split_answer_into_delayed_pieces(frame) if decision.delivery is not None else [(0, frame)]
        )
        self._send_due_pieces(out)

    def _send_due_pieces(self, out: list[Command]) -> None:
        """Send the pieces of an answer whose time has come."""
        steps = self._steps
        while steps:
            wait_ns, piece = steps[0]
            if wait_ns:
                steps[0] = (0, piece)
                self._block_direction(out)
                out.append((TIMER, SERVER, wait_ns))
                return
            steps.popleft()
            out.append((SEND_CLIENT, piece))
        out += self._release_reserved_memory()
        decision, self._decision = self._decision, None
        assert decision is not None
        if decision.mute_ns:
            out.append((MUTE, decision.mute_ns))
        self.end_by_decision(decision, out)

    def end_by_decision(self, decision: Decision, out: list[Command]) -> None:
        """Close, reset, swallow or withhold the connection after a frame, if the decision about the frame says so."""
        state = self._state
        if decision.then is Then.CLOSE:
            out.append(state.make_close_command(decision.reason, loud=False))
        elif decision.then is Then.RESET:
            state.closed = True
            out.append((RESET, decision.reason))
        elif decision.then is Then.SWALLOW:
            self._drop_buffered()
            out += state.swallow_all()
        elif decision.then is Then.WITHHOLD:
            self._drop_buffered()
            self._blocked = True
            out += state.withhold_answers()

    def _drop_buffered(self) -> None:
        """Drop all buffered and waiting bytes: no answer gets to the client any more."""
        self._waiting.clear()
        self._steps.clear()
        self._due = self._asked = self._buffered = None
        self._framer.drop_held()
        self._framer.left = 0

    # Bytes that are no answer, or not the one that is due

    def _close_for_unrequested_answer(self, data: bytes, at: int, start: int, out: list[Command]) -> None:
        got = _HEAD.unpack_from(data, at)[1] if len(data) - at >= _HEAD_SIZE else None
        if got is not None and got == self._last:
            reason = f"the broker answered twice, with correlation id {got}"
        else:
            size = format_bytes(len(data) - at)
            reason = f"the broker sent {size} that answer no request{describe_unexpected_bytes(data[at:])}"
        self._close_with_reason(data, at, start, reason, out)

    def _close_for_unexpected_answer(self, data: bytes, at: int, start: int, out: list[Command]) -> None:
        size, got = _HEAD.unpack_from(data.ljust(at + _HEAD_SIZE, b"\0"), at)
        in_flight = self._state.in_flight
        due, handling, _ = in_flight[0]
        if handling.answer == TOKEN or not 4 <= size <= FRAME_MAX:
            reason = f"the broker sent no Kafka response, but a size of {size}{describe_unexpected_bytes(data[at:])}"
        elif any(got == each for each, _, _ in in_flight):
            reason = f"the broker answered out of order: correlation id {got} came before {due} ({handling})"
        elif got == self._last:
            reason = f"the broker answered twice, with correlation id {got}"
        else:
            reason = f"the broker answered with correlation id {got} where {due} ({handling}) was due"
            reason += describe_unexpected_bytes(data[at:])
        self._close_with_reason(data, at, start, f"{reason}; nothing after that can be rewritten", out)

    def _close_with_reason(self, data: bytes, at: int, start: int, reason: str, out: list[Command]) -> None:
        if at > start:
            out.append((SEND_CLIENT, data[start:at]))
        out.append(self._state.make_close_command(reason))
