"""A client's bytes in as they come, the same bytes for the broker out; what was asked is noted in flight.

Nothing is held back but the first bytes of a connection, until it is clear that they may be Kafka, and what a client
sends beyond so many requests at once: that has its turn after others. Bytes of a frame whose header is not whole have
gone on already; a copy of them waits for the rest.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from decoders.apis import NAMES, api
from decoders.errors import DecodeError, Truncated
from decoders.exchanges.sasl_phase import GSSAPI, SaslPhase
from decoders.frames.frame_search import NO, request_verdict
from decoders.frames.live_framing import SIZE, SIZE_FIELD, Framer
from decoders.wire.text import in_bytes
from kwcli.proxy.relay import request_rules
from kwcli.proxy.relay.request_rules import ACKS, HINT, MECHANISM, REFUSE, TELL, RequestRule, about_mechanism
from kwcli.proxy.relay.rewrite import highest
from kwcli.proxy.relay.state import (
    CLIENT,
    MANY,
    NOTE,
    PAUSE,
    REQUEST_MAX,
    RESUME,
    SEND_SERVER,
    YIELD,
    Command,
    State,
    describe_bytes,
)

# Size, API key and version, correlation id: the shortest request.
_HEAD: Final = Struct(">iIi")
_SHORTEST: Final = _HEAD.size
_TOKEN: Final = 0x60  # of GSSAPI: no API has a number so high
# A client id and a transactional id are strings of 32 KiB at most; tags before them are not believed to be longer.
_DEEP_MAX: Final = 256 * 1024
# So much of a frame decides whether it is a request or one more token.
_JUDGED_MAX: Final = 64 * 1024
# So many requests are read before other connections have their turn: a quarter of a millisecond. One read of a socket
# can bring ten thousand (tests/bench/fairness.py).
TURN: Final = 128


class Requests:
    """One direction of one connection."""

    __slots__ = ("_begun", "_framer", "_late", "_state", "_strange", "_waiting")

    def __init__(self, state: State) -> None:
        self._state = state
        self._strange = True  # nothing is known of this connection yet
        self._framer = Framer()
        self._begun: tuple[int, RequestRule] | None = None  # the request whose bytes these are, if it will be answered
        self._waiting: list[bytes] = []  # until SaslHandshake 0 is answered
        self._late: tuple[bytes, int] | None = None  # has its turn later, from a place on

    def feed(self, data: bytes, now_ns: int) -> list[Command]:
        """The client's next bytes."""
        state = self._state
        if state.closed:
            return []
        framer = self._framer
        out: list[Command] = []
        if self._late is not None:
            late, at = self._late
            self._late = (late[at:] + data, 0)
        elif framer.left:
            at = framer.skip(data)
            if framer.left:
                return [(SEND_SERVER, data)]
            if self._begun is not None:
                state.in_flight.append((*self._begun, now_ns))
                self._begun = None
            self._read(data, at, 0, now_ns, out)
        elif state.sasl.phase is SaslPhase.HANDSHAKE:
            self._waiting.append(data)
        elif self._strange:
            self._open(data, now_ns, out)
        elif framer.kept:
            sent = framer.kept  # what is not understood yet has gone on all the same
            self._read(framer.join(data), 0, sent, now_ns, out)
        else:
            self._read(data, 0, 0, now_ns, out)
        return out

    def go_on(self, now_ns: int) -> list[Command]:
        """With what had to wait for its turn."""
        out: list[Command] = []
        if self._late is not None and not self._state.closed:
            (data, at), self._late = self._late, None
            self._read(data, at, at, now_ns, out)
        return out

    def resume(self, now_ns: int) -> list[Command]:
        """SaslHandshake 0 has been answered."""
        waiting, self._waiting = b"".join(self._waiting), []
        out = self.feed(waiting, now_ns) if waiting else []
        return out if self._state.crowded else [*out, (RESUME, CLIENT)]

    @property
    def inside(self) -> bool:
        """Whether the end of a request is still to come."""
        return self._framer.inside

    def finish(self, now_ns: int) -> list[Command]:
        """The client ended its side: what was held back, and what is to be said about it."""
        out: list[Command] = []
        while self._late is not None and not self._state.closed:
            out += (command for command in self.go_on(now_ns) if command[0] != YIELD)
        if self._state.closed:
            return out
        rest = b"".join([self._framer.held() if self._strange else b"", *self._waiting])
        self._waiting.clear()
        if rest:
            out.append((SEND_SERVER, rest))
        if self.inside:
            out.append((NOTE, "the client left inside a request"))
        return out

    def _open(self, data: bytes, now_ns: int, out: list[Command]) -> None:
        """The first bytes of the connection."""
        data = self._framer.join(data)
        if len(data) >= SIZE_FIELD and not 8 <= SIZE.unpack_from(data)[0] <= REQUEST_MAX:
            self._refuse(data, 0, 0, out)
        elif len(data) < _SHORTEST:
            self._framer.keep(data, 0)
        else:
            self._strange = False
            if data[4] == _TOKEN:
                self._state.sasl.opened_with_token()
                self._hint(GSSAPI, out)
            self._read(data, 0, 0, now_ns, out)

    def _read(self, data: bytes, at: int, sent: int, now_ns: int, out: list[Command]) -> None:
        """Frames from `at` on; the first `sent` bytes have been given on before."""
        state = self._state
        sasl = state.sasl
        while True:
            phase = sasl.phase
            if phase is SaslPhase.KAFKA:
                at = self._requests(data, at, sent, now_ns, out)
            else:
                at = self._tokens(data, at, sent, now_ns, out)
            if state.closed:
                return
            if self._late is not None:
                if at > sent:
                    out.append((SEND_SERVER, data[sent:at]))
                out.append((YIELD, CLIENT))
                if len(state.in_flight) >= MANY:
                    self._crowd(out)
                return
            if sasl.phase is phase:
                break
            if sasl.phase is SaslPhase.HANDSHAKE:
                out.append((SEND_SERVER, data[sent:at]))
                if at < len(data):
                    self._waiting.append(data[at:])
                out.append((PAUSE, CLIENT))
                return
        out.append((SEND_SERVER, data[sent:] if sent else data))
        if len(state.in_flight) >= MANY:
            self._crowd(out)

    def _crowd(self, out: list[Command]) -> None:
        """So many requests are in flight that the client is not read."""
        if not self._state.crowded:
            self._state.crowded = True
            out.append((PAUSE, CLIENT))

    def _requests(self, data: bytes, at: int, sent: int, now_ns: int, out: list[Command]) -> int:
        """Note the requests from `at` on; where those end that are understood."""
        state = self._state
        in_flight = state.in_flight
        end = len(data)
        known = request_rules.KNOWN
        left = TURN
        while end - at >= _SHORTEST:
            if not left:
                self._late = (data, at)
                return at
            left -= 1
            size, number, correlation_id = _HEAD.unpack_from(data, at)
            if not 8 <= size <= REQUEST_MAX:
                self._refuse(data, at, sent, out)
                return at
            route = known.get(number) or request_rules.find_rule(number)
            stop = at + SIZE_FIELD + size
            answered: bool | None = True
            if route.reads:
                answered = self._deep(route, data, at, stop, sent, out)
                if answered is None:
                    self._framer.keep(data, at)
                    return at
            state.silent = not answered
            if stop > end:
                self._begun = (correlation_id, route) if answered else None
            elif answered:
                in_flight.append((correlation_id, route, now_ns))
            at = stop
            if route.reads == MECHANISM:
                return at
        if end - at >= SIZE_FIELD and not 8 <= SIZE.unpack_from(data, at)[0] <= REQUEST_MAX:
            self._refuse(data, at, sent, out)
        elif at != end:
            self._framer.leave(data, at)
        return at

    def _deep(self, route: RequestRule, data: bytes, at: int, stop: int, sent: int, out: list[Command]) -> bool | None:
        """Whether a request of which more than the header matters is answered; None: not known yet, or refused."""
        if route.reads == ACKS:
            return self._acks(route, data, at, stop, sent, out)
        if route.reads == REFUSE:
            most = highest(route.api_key)
            reason = (
                f"{route} would be answered with addresses in a layout that kw does not know (it knows up to {most})"
            )
            self._stop(data, at, sent, reason, out)
            return None
        if route.reads == TELL:
            name = api(route.api_key).name
            text = f"{name} carries addresses of controllers or brokers, which go through as they are"
            out.append((NOTE, text))
            return True
        if route.reads == HINT:
            self._hint(request_rules.read_mechanism(data, at, min(stop, len(data))), out)
            return True
        assert route.reads == MECHANISM
        if stop > len(data):
            if stop - at > _JUDGED_MAX:
                self._stop(data, at, sent, f"a {route} of {in_bytes(stop - at)}", out)
            return None
        mechanism = request_rules.read_mechanism(data, at, stop)
        self._state.sasl.asked(mechanism)
        self._hint(mechanism, out)
        return True

    def _hint(self, mechanism: str, out: list[Command]) -> None:
        hint = about_mechanism(mechanism)
        if hint is not None:
            out.append((NOTE, hint))

    def _acks(self, route: RequestRule, data: bytes, at: int, stop: int, sent: int, out: list[Command]) -> bool | None:
        end = min(stop, len(data))
        try:
            return request_rules.read_acks(route.version, data, at, end) != 0
        except (Truncated, IndexError):
            if end == stop:
                return True  # it is broken: the broker will say so, or close
            if end - at > _DEEP_MAX:
                self._stop(data, at, sent, f"a {route} with a header of more than {_DEEP_MAX} bytes", out)
            return None
        except DecodeError:
            return True

    def _tokens(self, data: bytes, begin: int, sent: int, now_ns: int, out: list[Command]) -> int:
        """Note the bare tokens from `begin` on; where those end that are known to be some."""
        state = self._state
        sasl = state.sasl
        end = len(data)
        left = TURN
        for at, size in self._framer.frames(data, begin):
            if sasl.phase is not SaslPhase.TOKENS:
                return at
            if not left:
                self._late = (data, at)
                return at
            left -= 1
            if not 0 <= size <= REQUEST_MAX:
                self._refuse(data, at, sent, out)
                return at
            stop = at + SIZE_FIELD + size
            if not sasl.left:
                shown = min(stop, at + _JUDGED_MAX)
                if end < shown and (end - at < 6 or int.from_bytes(data[at + 4 : at + 6], "big") in NAMES):
                    self._framer.keep(data, at)
                    return at
                if request_verdict(data[at:shown], 0) != NO:
                    self._logged_in()
                    return at
            sasl.paired()
            if stop > end:
                self._begun = (0, request_rules.TOKENS)
            else:
                state.in_flight.append((0, request_rules.TOKENS, now_ns))
        return end

    def _logged_in(self) -> None:
        """A request came where a token might have: the last token of GSSAPI has no answer."""
        state = self._state
        state.sasl.phase = SaslPhase.KAFKA
        while state.in_flight and state.in_flight[-1][1] is request_rules.TOKENS:
            state.in_flight.pop()

    def _refuse(self, data: bytes, at: int, sent: int, out: list[Command]) -> None:
        """The size field at `at` cannot be one."""
        (size,) = SIZE.unpack_from(data, at)
        self._stop(
            data,
            at,
            sent,
            f"the client sent what is no Kafka request, a size of {size}{describe_bytes(data[at:])}",
            out,
        )

    def _stop(self, data: bytes, at: int, sent: int, reason: str, out: list[Command]) -> None:
        if at > sent:
            out.append((SEND_SERVER, data[sent:at]))
        out.append(self._state.close(reason))
