"""The two streams of one connection in, the same with stars where secrets are out: what may be written to a file.

Frames of APIs that have no secrets pass as they come. Those that may have one are held until they are whole, and with
them what comes behind them on the connection, so that the order stays. What cannot be told from a secret is starred:
tokens without a frame of Kafka's, answers to requests that were not seen, bodies that cannot be read. A direction that
is out of step is left out (`cut`) until `in_step`. An error message that repeats one
of its request's is starred too.
"""

from __future__ import annotations

from collections import deque
from functools import cache
from struct import Struct
from typing import Final

from decoders.apis.keys import API_VERSIONS, FETCH, SASL_HANDSHAKE
from decoders.errors import DecodeError
from decoders.exchanges.anatomy import anatomy
from decoders.exchanges.bodies import METADATA_TOPIC, holds_secrets
from decoders.exchanges.echoes import ECHOING, echoes
from decoders.exchanges.needs import Needs
from decoders.exchanges.phases import Phase, Sasl
from decoders.exchanges.specs import Spec
from decoders.limits import FRAME_MAX, IN_FLIGHT_MAX
from decoders.messages import decode_request, decode_response
from decoders.schema.model import Side
from decoders.schema.unform import MESSAGE
from decoders.wire.hiding import concealer, spellings
from kwcli.proxy.log.courses import SIZE, Code, Course, Piece, Stage
from kwcli.proxy.log.wire import CLIENT

__all__ = ["Piece", "Seen", "Veil"]

# A frame that may hold a secret and is larger is starred from its header on.
HELD_MOST: Final = 16 << 20
# Requests whose secrets are remembered until they are answered, and bytes of each; of others all messages are starred.
REMEMBERED_MOST: Final = 256
REMEMBERED_SIZE: Final = 64 << 10
_NO_NEEDS: Final = Needs()
_METADATA_NAME: Final = METADATA_TOPIC.encode()
_METADATA_ID: Final = bytes(15) + b"\x01"
_GSSAPI_TOKEN: Final = 0x60
# Size, API key, version, correlation id, client id's length; size, correlation id.
_REQUEST: Final = Struct(">ihhih")
_RESPONSE: Final = Struct(">ii")


class Seen:
    """What all connections of the proxy share: whether somebody asked for the cluster's own state."""

    __slots__ = ("metadata",)

    def __init__(self) -> None:
        self.metadata = False


class Veil:
    """One connection. What `push`, `gap` and `end` give is in the order in which it came."""

    def __init__(self, seen: Seen) -> None:
        self._seen = seen
        self._courses = (Course(0), Course(1))
        self._queue: deque[Piece] = deque()
        self._asked: dict[int, Code | None] = {}
        self._secrets: dict[int, list[bytes]] = {}  # of requests that may be answered by repeating them
        self._sasl = Sasl()
        self._tokens = 0
        self._doubt = False  # something is missing: where the connection stands in its login is not sure

    @property
    def lost(self) -> list[int]:
        """The sides that are out of step, once all that came is given."""
        return [] if self._queue else [course.side for course in self._courses if course.lost]

    def in_step(self, side: int, left: int = 0) -> None:
        """Behind `left` more bytes of this side, which are starred, a frame begins."""
        course = self._courses[side]
        course.begin()
        course.lost = False
        course.left, course.blind = left, left > 0

    def push(self, side: int, time_ns: int, data: bytes) -> list[Piece]:
        """Bytes of a side; what may be written now."""
        piece = Piece(side, time_ns, data)
        course = self._courses[side]
        if not self._queue and self._plain(course, data):
            return [piece]
        self._queue.append(piece)
        self._follow(course, piece)
        return self._ready()

    def _plain(self, course: Course, data: bytes) -> bool:
        """The usual case in short: one frame without secrets, whole, or more of one; False decides nothing."""
        size = len(data)
        if course.left:
            if course.blind or course.lost or course.left <= size:
                return False
            course.left -= size
            return True
        if course.have or course.lost or course.first or self._tokens or self._sasl.phase is not Phase.KAFKA:
            return False
        if course.side != CLIENT:
            if size < _RESPONSE.size:
                return False
            need, correlation_id = _RESPONSE.unpack_from(data)
            code = self._asked.get(correlation_id)
            if need + SIZE != size or code is None or code[0] == SASL_HANDSHAKE:
                return False
            if self._seen.metadata if code[0] == FETCH else secretive(*code, "response"):
                return False
            del self._asked[correlation_id]
            return True
        if size < _REQUEST.size:
            return False
        need, key, version, correlation_id, _ = _REQUEST.unpack_from(data)
        if need + SIZE != size or key == SASL_HANDSHAKE:
            return False
        if key == FETCH:
            if not self._seen.metadata and (_METADATA_NAME in data or _METADATA_ID in data):
                return False
        elif secretive(key, version, "request"):
            return False
        self._register(correlation_id, (key, version))
        return True

    def gap(self, side: int, time_ns: int, size: int) -> list[Piece]:
        """As many bytes of a side are missing."""
        self._queue.append(Piece(side, time_ns, b"", size))
        course = self._courses[side]
        rest = course.left or (course.size + SIZE - course.have if course.stage != Stage.SIZE else 0)
        if not course.left and course.have:
            self._blind(course)
        if size <= rest and not course.lost:
            course.blind = course.blind or not course.left
            course.left = rest - size
            if not course.left:
                course.begin()
        else:
            course.begin()
            course.lost = self._doubt = True
        return self._ready()

    def end(self) -> list[Piece]:
        """The connection is over: what is held of unfinished frames is starred and given."""
        for course in self._courses:
            if course.have:
                self._blind(course)
        return self._ready()

    def _ready(self) -> list[Piece]:
        queue = self._queue
        out = []
        while queue and not queue[0].waits:
            out.append(queue.popleft())
        return out

    def _blind(self, course: Course) -> None:
        """Hide all of an unfinished frame but its head."""
        course.star(SIZE if course.stage == Stage.SIZE or self._tokens else _head(course.side), course.have)
        course.release()
        course.have = 0

    def _follow(self, course: Course, piece: Piece) -> None:
        """Go through the frames that a piece holds bytes of."""
        at, end = 0, len(piece.data)
        while at < end:
            if course.lost:
                piece.cut = at
                return
            if course.left:
                taken = min(course.left, end - at)
                if course.blind:
                    piece.star(at, at + taken)
                course.left -= taken
                at += taken
                if not course.left:
                    course.begin()
                continue
            taken = min(course.need - course.have, end - at)
            course.parts.append((piece, at, at + taken))
            piece.waits += 1
            course.have += taken
            at += taken
            while course.have == course.need and not course.left and not course.lost:
                if not self._decide(course):
                    break
            if course.lost:
                piece.cut = at - taken
                return

    def _decide(self, course: Course) -> bool:
        """As many bytes have come as were asked for; whether a decision about the same bytes is due."""
        data = course.bytes()
        if course.stage == Stage.SIZE:
            size = int.from_bytes(data, "big", signed=True)
            if size == 0 and course.side != CLIENT and self._tokens:
                self._answer()
                self._pass(course)
                return False
            if not 0 < size <= FRAME_MAX:
                course.release()
                course.begin()
                course.lost = self._doubt = True
                return False
            course.size = size
            course.stage = Stage.HEAD
            course.need = min(size + SIZE, _head(course.side))
            return False
        if course.stage == Stage.HEAD:
            whole = self._asks(course, data) if course.side == CLIENT else self._answers(course, data)
            if not whole:
                self._pass(course)
                return False
            if course.size > HELD_MOST:
                if course.code is None:
                    course.star(SIZE, course.have)
                course.blind = True
                self._pass(course)
                return False
            course.stage = Stage.WHOLE
            course.need = course.size + SIZE
            return course.have == course.need
        for start, stop in self._request(course, data) if course.side == CLIENT else self._response(course, data):
            course.star(start, stop)
        self._pass(course)
        return False

    def _pass(self, course: Course) -> None:
        """The rest of the frame goes as it comes."""
        course.release()
        course.first = False
        left, blind = course.size + SIZE - course.have if course.size else 0, course.blind
        course.begin()
        course.left, course.blind = left, blind

    # -- requests ------------------------------------------------------------------------------------------------------

    def _asks(self, course: Course, head: bytes) -> bool:
        """Whether a request has to be looked at as a whole."""
        if len(head) < _REQUEST.size or self._sasl.phase is not Phase.KAFKA:
            return True
        _, key, version, correlation_id, _ = _REQUEST.unpack(head)
        if course.first and head[SIZE] == _GSSAPI_TOKEN:
            return True
        if self._doubt and not Spec(key, version, _NO_NEEDS).layouts("request"):
            return True  # rather a token than a request of the future
        course.code = (key, version)
        self._register(correlation_id, course.code)
        if key == FETCH:
            return not self._seen.metadata
        return (key == SASL_HANDSHAKE and version == 0) or secretive(key, version, "request")

    def _register(self, correlation_id: int, code: Code) -> None:
        asked = self._asked
        if len(asked) >= IN_FLIGHT_MAX:
            del asked[next(iter(asked))]
        # Twice in flight: there is no telling which is answered first.
        asked[correlation_id] = None if correlation_id in asked else code

    def _request(self, course: Course, frame: bytes) -> list[tuple[int, int]]:
        """The bytes to hide of a request, or of a token."""
        code = course.code
        if code is None:
            code = _request_code(frame)
            if code is None:
                if course.first:
                    self._sasl.opened_with_token()
                self._tokens += 1
                return [(SIZE, len(frame))]
            self._sasl.phase = Phase.KAFKA
            self._register(_REQUEST.unpack_from(frame)[3], code)
        key, version = code
        if key == SASL_HANDSHAKE and version == 0:
            try:
                self._sasl.asked(str(decode_request(frame[SIZE:]).body["mechanism"]))
            except DecodeError:
                self._sasl.asked("")
            return []
        if key == FETCH:
            self._seen.metadata |= _METADATA_NAME in frame or _METADATA_ID in frame
            return []
        spans = hidden(frame, "request", code)
        if key in ECHOING:
            self._remember(_REQUEST.unpack_from(frame)[3], [frame[start:stop] for start, stop in spans])
        return spans

    def _remember(self, correlation_id: int, secrets: list[bytes]) -> None:
        known = self._secrets
        known.pop(correlation_id, None)
        if sum(map(len, secrets)) <= REMEMBERED_SIZE:
            if len(known) >= REMEMBERED_MOST:
                del known[next(iter(known))]
            known[correlation_id] = secrets

    # -- answers -------------------------------------------------------------------------------------------------------

    def _answers(self, course: Course, head: bytes) -> bool:
        """Whether an answer has to be looked at as a whole."""
        correlation_id = _RESPONSE.unpack(head)[1] if len(head) == _RESPONSE.size else None
        handshake = self._sasl.phase is Phase.HANDSHAKE and self._asked.get(correlation_id or 0) == (SASL_HANDSHAKE, 0)
        if self._tokens and not handshake:
            self._answer()
            course.star(SIZE, course.have)
            course.blind = True
            return False
        code = None if correlation_id is None else self._asked.pop(correlation_id, None)
        if code is None:
            course.blind = True
            return False
        course.code = code
        if code[0] == FETCH:
            return self._seen.metadata
        return code == (SASL_HANDSHAKE, 0) or secretive(*code, "response")

    def _answer(self) -> None:
        """A token was answered."""
        self._tokens -= 1
        self._sasl.paired()

    def _response(self, course: Course, frame: bytes) -> list[tuple[int, int]]:
        assert course.code is not None
        if course.code == (SASL_HANDSHAKE, 0):
            try:
                error_code = decode_response(frame[SIZE:], *course.code).body["error_code"]
            except DecodeError:
                error_code = 0
            if self._sasl.phase is Phase.HANDSHAKE:
                self._sasl.answered(error_code)
            return []
        key, version = course.code
        if key not in ECHOING:
            return hidden(frame, "response", course.code)
        known: list[bytes] | None = [] if not secretive(key, version, "request") else None
        secrets = self._secrets.pop(_RESPONSE.unpack_from(frame)[1], known)
        return hidden(frame, "response", course.code, secrets)


@cache
def secretive(key: int, version: int, side: Side) -> bool:
    """Whether a message of this kind may hold a secret; one that is not known may."""
    if key == API_VERSIONS:
        return False  # an unknown version of it is everyday traffic, and its answer is of version 0
    if side == "response" and key in ECHOING:
        return True
    return holds_secrets(key, tuple(Spec(key, version, _NO_NEEDS).layouts(side)))


def hidden(frame: bytes, side: Side, code: Code, told: list[bytes] | None = None) -> list[tuple[int, int]]:
    """Where the secrets of a frame are; `told` are those of its request, None where they are not known."""
    found = anatomy(frame, side, *code)
    spans = [(part.at, part.end) for part in found.body if part.secret]
    if found.rest_secret:
        spans.append((found.rest_at, len(frame)))
    if side == "response" and code[0] in ECHOING:
        secrets = [*(told or ()), *(frame[start:stop] for start, stop in spans)]
        conceal = (lambda _: "") if told is None else concealer(spellings(secrets))
        if conceal is not None:
            messages = [part for part in found.body if part.path.endswith(MESSAGE)]
            spans += [(part.at, part.end) for part in echoes(messages, conceal) if part.secret]
    return sorted(spans)


def _request_code(frame: bytes) -> Code | None:
    """Key and version of a frame that reads as a request to its last byte."""
    try:
        request = decode_request(frame[SIZE:])
    except DecodeError:
        return None
    return request.api_key, request.api_version


def _head(side: int) -> int:
    return _REQUEST.size if side == CLIENT else _RESPONSE.size
