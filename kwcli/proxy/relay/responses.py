"""A broker's bytes in as they come, bytes for the client out: rewritten where a frame names brokers, else unchanged.

Answers come in the order of the requests, and their correlation ids are held against it: one slip, and nothing could be
rewritten any more. Of a frame that is held, room for all of it is asked for before its body is read; one that came
whole needs none. No more than the seven bytes before a correlation id is known are kept back of any other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from struct import Struct
from typing import Final

from decoders.exchanges.sasl_phase import SaslPhase
from decoders.frames.live_framing import SIZE, SIZE_FIELD, Framer
from decoders.limits import FRAME_MAX, MIB
from decoders.wire.text import in_bytes
from kwcli.proxy.relay.request_rules import CAP, LOGIN, REWRITE, STREAM, TOKEN, RequestRule
from kwcli.proxy.relay.rewrite import Address, RewriteFailed
from kwcli.proxy.relay.rewritten_answers import ReadAnswer, Remembered
from kwcli.proxy.relay.state import (
    ANSWERED,
    CLIENT,
    FEWER,
    NOTE,
    RELEASE,
    RESERVE,
    RESOLVE,
    RESUME,
    SEND_CLIENT,
    SERVER,
    YIELD,
    Command,
    State,
    describe_bytes,
)

_HEAD: Final = Struct(">ii")  # size, correlation id
# Consumers may ask for more than a frame's usual limit; what is beyond this is no size.
STREAMED_MAX: Final = 1024 * MIB
# So much is done before other connections have their turn, less than half a millisecond: an answer that streams
# through counts as one, one that is held as HELD of them (tests/bench/fairness.py).
TURN: Final = 1024
HELD: Final = 128
# By what is done about an answer: a bare token may be empty.
_LEAST: Final = {STREAM: 4, REWRITE: 4, CAP: 4, LOGIN: 10, TOKEN: 0}
_MOST: Final = {STREAM: STREAMED_MAX, REWRITE: FRAME_MAX, CAP: FRAME_MAX, LOGIN: FRAME_MAX, TOKEN: FRAME_MAX}


class Responses:
    """One direction of one connection; `after_login` is called when SaslHandshake 0 has been answered."""

    __slots__ = (
        "_after_login",
        "_at",
        "_blocked",
        "_ended",
        "_framer",
        "_held",
        "_last",
        "_remembered",
        "_reserved",
        "_state",
        "_ticket",
        "_timed",
        "_turn",
        "_waiting",
        "_yielded",
    )

    def __init__(
        self, state: State, after_login: Callable[[int], list[Command]], remembered: Remembered, *, timed: bool
    ) -> None:
        self._state = state
        self._after_login = after_login
        self._timed = timed
        self._framer = Framer()
        self._reserved = 0
        self._held: tuple[RequestRule, bytes, ReadAnswer | None] | None = None  # waits for its rest, or for listeners
        self._remembered = remembered
        self._ticket = 0
        self._blocked = False  # until there is room, or listeners, or others have had their turn
        self._waiting: list[bytes] = []
        self._at = 0  # of the first of these: what is before has been read
        self._turn = TURN  # what may still be done before others have theirs
        self._yielded = False
        self._ended = False
        self._last: int | None = None

    @property
    def busy(self) -> bool:
        """Whether there are bytes of an answer in here."""
        return self._blocked or self._framer.inside

    def feed(self, data: bytes, now_ns: int) -> list[Command]:
        """The broker's next bytes."""
        if self._state.closed:
            return []
        if self._blocked:
            self._waiting.append(data)
            return []
        self._turn = TURN
        out: list[Command] = []
        framer = self._framer
        if framer.left:
            at = framer.skip(data)
            if at == len(data):
                return [(SEND_CLIENT, data)]
            self._read(data, at, 0, now_ns, out)
        elif framer.wanted:
            self._collect(data, now_ns, out)
        else:
            self._read(framer.join(data) if framer.kept else data, 0, 0, now_ns, out)
        return self._relieved(out) if self._state.crowded else out

    def reserved(self, now_ns: int) -> list[Command]:
        """There is room for the frame that begins with the bytes that wait."""
        self._blocked = False
        return self._resume(now_ns)

    def go_on(self, now_ns: int) -> list[Command]:
        """Others have had their turn."""
        if not self._yielded or self._state.closed:
            return []
        self._yielded = self._blocked = False
        self._turn = TURN
        return self._resume(now_ns)

    def resolved(self, ticket: int, where: Mapping[int, Address], now_ns: int) -> list[Command]:
        """Listeners for the nodes that the frame with this ticket names; what is not in `where` has none."""
        if self._held is None or ticket != self._ticket or self._state.closed:
            return []
        route, frame, reading = self._held
        assert reading is not None
        self._held = None
        self._blocked = False
        try:
            rewritten = self._remembered.rewritten(reading, frame, where)
        except RewriteFailed as failure:
            return [*self._freed(), self._state.close(f"{route} cannot be passed on: {failure.text}")]
        out: list[Command] = [(SEND_CLIENT, rewritten.frame), *self._freed()]
        if rewritten.stripped:
            out.append((NOTE, f"places of new leaders were left out of a {route}: a node has no listener"))
        return out + self._resume(now_ns)

    def finish(self) -> list[Command]:
        """The broker ended its side."""
        if self._blocked:
            self._ended = True
            return []
        waiting = self._state.in_flight
        part = b"" if self._framer.wanted else self._framer.held()
        if part and (what := describe_bytes(part)).startswith(":"):  # a TLS alert has seven bytes
            return [*self._freed(), self._state.close(f"the broker sent what is no Kafka response{what}")]
        streamed = bool(waiting) and waiting[0][1].answer in (STREAM, TOKEN)
        out: list[Command] = [(SEND_CLIENT, part)] if part and streamed else []
        out += self._freed()
        text = "the broker closed the connection"
        if self.busy:
            text += " inside an answer"
        if waiting:
            text += f" with {len(waiting)} unanswered, {waiting[0][1]} first"
        elif self._state.silent and not self.busy:
            text += " after a Produce with acks=0: if that failed, this is how it says so"
        loud = bool(waiting) or self.busy or self._state.silent
        if self._state.gone:  # nobody waits for these answers
            text = "the client closed the connection" + (f" with {len(waiting)} unanswered" if waiting else "")
            loud = False
        return [*out, self._state.close(text, loud=loud)]

    def _resume(self, now_ns: int) -> list[Command]:
        if self._state.closed:
            return []
        waiting, self._waiting = self._waiting, []
        at, self._at = self._at, 0
        out: list[Command] = []
        if waiting:
            data = waiting[0] if len(waiting) == 1 else b"".join(waiting)
            if at:
                self._read(data, at, at, now_ns, out)
                if self._state.crowded:
                    self._relieved(out)
            else:
                out = self.feed(data, now_ns)
        if self._ended and not self._blocked and not self._state.closed:
            out += self.finish()
        return out

    def _read(self, data: bytes, at: int, start: int, now_ns: int, out: list[Command]) -> None:
        """Frames from `at` on; bytes from `start` on have not been given on yet."""
        state = self._state
        in_flight = state.in_flight
        end = len(data)
        turn = self._turn
        unpack = _HEAD.unpack_from
        while at < end:
            if turn <= 0:
                self._yield(data, at, start, out)
                return
            if not in_flight:
                self._unasked(data, at, start, out)
                return
            correlation_id, route, sent_ns = in_flight[0]
            answer = route.answer
            if end - at < (SIZE_FIELD if answer == TOKEN else _HEAD.size):
                break
            size, got = (SIZE.unpack_from(data, at)[0], correlation_id) if answer == TOKEN else unpack(data, at)
            if got != correlation_id or not _LEAST[answer] <= size <= _MOST[answer]:
                self._out_of_step(data, at, start, out)
                return
            in_flight.popleft()
            self._last = correlation_id
            if self._timed and answer != TOKEN:
                out.append((ANSWERED, correlation_id, sent_ns, now_ns, route.api_key))
            stop = at + SIZE_FIELD + size
            if answer in (STREAM, TOKEN):
                at = stop
                turn -= 1
                continue
            self._turn = turn = turn - HELD
            if at > start:
                out.append((SEND_CLIENT, data[start:at]))
            if stop > end:
                self._begin(route, data[at:], size, out)
                return
            self._whole(route, data[at:stop] if at or stop < end else data, now_ns, out)
            start = at = stop
            if self._blocked or state.closed:
                if at < end:
                    self._wait(data, at)
                return
        if at != end:
            self._framer.leave(data, at)
            at = min(at, end)
        if at > start:
            out.append((SEND_CLIENT, data[start:at] if start or at < end else data))

    def _yield(self, data: bytes, at: int, start: int, out: list[Command]) -> None:
        """Enough for now."""
        if at > start:
            out.append((SEND_CLIENT, data[start:at]))
        self._wait(data, at)
        self._blocked = self._yielded = True
        out.append((YIELD, SERVER))

    def _wait(self, data: bytes, at: int) -> None:
        """What is from `at` on is read later; it is not copied, since there may be thousands of frames in it."""
        self._waiting.append(data)
        self._at = at

    def _relieved(self, out: list[Command]) -> list[Command]:
        """The client is read again when few enough requests are in flight."""
        state = self._state
        if len(state.in_flight) < FEWER:
            state.crowded = False
            if state.sasl.phase is not SaslPhase.HANDSHAKE:
                out.append((RESUME, CLIENT))
        return out

    # Frames that are held

    def _begin(self, route: RequestRule, data: bytes, size: int, out: list[Command]) -> None:
        """A frame of which `data` is the beginning has to be held: ask for room."""
        self._held = (route, b"", None)
        self._framer.want(size)
        self._reserved = self._framer.wanted
        self._blocked = True
        self._waiting.append(data)
        out.append((RESERVE, self._reserved))

    def _collect(self, data: bytes, now_ns: int, out: list[Command]) -> None:
        frame, at = self._framer.collect(data)
        if frame is None:
            return
        assert self._held is not None
        route = self._held[0]
        self._held = None
        self._whole(route, frame, now_ns, out)
        if at < len(data) and not self._state.closed:
            if self._blocked:
                self._wait(data, at)
            else:
                self._read(data, at, at, now_ns, out)

    def _whole(self, route: RequestRule, frame: bytes, now_ns: int, out: list[Command]) -> None:
        """A held frame is here."""
        if route.answer == REWRITE:
            try:
                reading = self._remembered.reading(route.api_key, route.version, frame)
            except RewriteFailed as failure:
                out += self._freed()
                out.append(self._state.close(f"{route} cannot be passed on: {failure.text}"))
                return
            if reading.found:
                self._held = (route, frame, reading)
                self._ticket += 1
                self._blocked = True
                out.append((RESOLVE, self._ticket, reading.found))
                return
        elif route.answer == CAP:
            frame, commands = self._remembered.capped(route.version, frame)
            out += commands
        out.append((SEND_CLIENT, frame))
        out += self._freed()
        if route.answer == LOGIN:
            self._state.sasl.answered(int.from_bytes(frame[8:10], "big"))
            out += self._after_login(now_ns)

    def _freed(self) -> list[Command]:
        size, self._reserved = self._reserved, 0
        return [(RELEASE, size)] if size else []

    # Answers that are none

    def _unasked(self, data: bytes, at: int, start: int, out: list[Command]) -> None:
        got = _HEAD.unpack_from(data, at)[1] if len(data) - at >= _HEAD.size else None
        if got is not None and got == self._last:
            reason = f"the broker answered twice, with correlation id {got}"
        else:
            reason = f"the broker sent {in_bytes(len(data) - at)} that nobody asked for{describe_bytes(data[at:])}"
        self._stop(data, at, start, reason, out)

    def _out_of_step(self, data: bytes, at: int, start: int, out: list[Command]) -> None:
        size, got = _HEAD.unpack_from(data.ljust(at + _HEAD.size, b"\0"), at)
        in_flight = self._state.in_flight
        due, route, _ = in_flight[0]
        if route.answer == TOKEN or not 4 <= size <= FRAME_MAX:
            reason = f"the broker sent what is no Kafka response, a size of {size}{describe_bytes(data[at:])}"
        elif any(got == each for each, _, _ in in_flight):
            reason = f"the broker answered out of order: correlation id {got} came before {due} ({route})"
        elif got == self._last:
            reason = f"the broker answered twice, with correlation id {got}"
        else:
            reason = f"the broker answered with correlation id {got} where {due} ({route}) was due"
            reason += describe_bytes(data[at:])
        self._stop(data, at, start, f"{reason}; nothing can be rewritten after that", out)

    def _stop(self, data: bytes, at: int, start: int, reason: str, out: list[Command]) -> None:
        if at > start:
            out.append((SEND_CLIENT, data[start:at]))
        out.append(self._state.close(reason))
