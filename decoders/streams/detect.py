"""The first chunks of a connection in; out comes who is the client, or that this is no Kafka, or nothing yet.

A connection is Kafka when a request, or its answer, decodes to its last byte (verdict.py). Where the stream is known
from its first byte the frames are followed from there; where it is not (the capture begins in the middle, or lost the
beginning) each segment may begin one. Undecided bytes are bounded: beyond UNDECIDED_MAX a stream known from its
beginning is not Kafka, of the others the oldest bytes are let go.
"""

from __future__ import annotations

from typing import Final

from decoders.apis.keys import CONTROLLED_SHUTDOWN
from decoders.limits import FRAME_MAX, UNDECIDED_MAX
from decoders.streams.chunks import Again, Chunk, Close, Connection, Gap, Half
from decoders.streams.foreign import FIRST_MAX, TLS, certain, described, likely
from decoders.streams.heads import REQUEST
from decoders.streams.resync import FITS, NO, YES
from decoders.streams.verdict import request_verdict, response_verdict

# Matching pairs of heads that prove Kafka where no body is whole (short snapshot lengths).
PAIRS: Final = 3
# The marks of other protocols are no longer than this.
MARK_MAX: Final = 64
ASKED_MAX: Final = 1000
STARTS_MAX: Final = 64
# A GSSAPI token begins with an ASN.1 application tag (RFC 2743, 3.1); clients of 0.9 open a connection with one.
GSSAPI_TAG: Final = b"\x60"
TOKEN_MAX: Final = 1 << 20


class Suspect:
    """One direction of an undecided connection: its last bytes and the places in them where a frame may begin."""

    __slots__ = ("asked", "first", "followed", "half", "opening", "pairs", "starts", "window")

    def __init__(self, half: Half, *, followed: bool) -> None:
        self.half = half
        self.followed = followed  # the frames are followed from the first byte of the stream
        self.window = b""
        self.starts: list[int] = [0] if followed else []
        self.asked: dict[int, tuple[int, int]] = {}  # correlation id of what may be a request → API key, version
        self.pairs = 0
        self.first = b""  # the first bytes seen
        self.opening = followed


class Undecided:
    """A connection about which it is not yet known whether it is Kafka, and its chunks so far."""

    __slots__ = ("chunks", "client", "connection", "dropped", "foreign", "held", "sides", "sizes", "time_ns", "tokens")

    def __init__(self, connection: Connection, time_ns: int) -> None:
        self.connection = connection
        self.time_ns = time_ns
        self.chunks: list[Chunk] = []
        self.held = 0
        self.sizes = {True: 0, False: 0}  # all bytes of the first, of the second half
        self.dropped: dict[bool, tuple[int, int]] = {}  # bytes no longer held of a half, and the time of the first
        self.foreign = ""  # what it is, once it is known to be no Kafka
        self.client: Half | None = None
        self.tokens = False  # it began with what may be a bare SASL token
        opened = connection.opened
        self.sides = {
            True: Suspect(connection.first, followed=opened),
            False: Suspect(connection.second, followed=opened),
        }

    def feed(self, chunk: Chunk) -> bool:
        """Take a chunk; True once the connection is Kafka (`client` is then the half that asks)."""
        half, _, _, data = chunk
        if isinstance(data, Close | Again):
            return False
        first = half is self.connection.first
        suspect = self.sides[first]
        self.sizes[first] += data.size if isinstance(data, Gap) else len(data)
        if isinstance(data, bytes) and (not suspect.first or (suspect.followed and len(suspect.first) < FIRST_MAX)):
            fresh = len(suspect.first) < MARK_MAX
            suspect.first = (suspect.first + data)[:FIRST_MAX]
            if fresh and suspect.opening and not self.foreign:
                self.foreign = certain(suspect.first)
                if self.foreign:
                    self._forget()
        if self.foreign:
            return False
        self.chunks.append(chunk)
        if isinstance(data, Gap):
            self._gap(suspect)
            return False
        self.held += len(data)
        if self._look(suspect, self.sides[not first], data):
            return True
        if self.held > UNDECIDED_MAX:
            return self._overflow()
        return False

    def _gap(self, suspect: Suspect) -> None:
        """Nothing that spans a hole can be judged; behind it every segment may begin a frame."""
        suspect.window = b""
        suspect.starts = []
        suspect.followed = False

    def _look(self, suspect: Suspect, other: Suspect, data: bytes) -> bool:
        """Judge what may begin in `data` or end with it."""
        if suspect.followed:
            suspect.window += data
        else:
            if not suspect.starts:
                suspect.window = b""
            suspect.starts.append(len(suspect.window))
            suspect.window += data
            del suspect.starts[:-STARTS_MAX]
        waiting: list[int] = []
        for start in suspect.starts:
            at = start
            while at >= 0:
                after = self._judge(suspect, other, at)
                if self.client is not None:
                    return True
                if after == at:
                    waiting.append(at)
                    break
                at = after if suspect.followed else -1
        suspect.starts = waiting
        return False

    def _judge(self, suspect: Suspect, other: Suspect, at: int) -> int:
        """Judge one place: the offset after the frame there, `at` itself to wait for more, -1 when it is none."""
        data = suspect.window
        left = len(data) - at
        if left < 4:
            return at
        size = int.from_bytes(data[at : at + 4], "big", signed=True)
        after = at + 4 + size
        verdict = request_verdict(data, at)
        if verdict == YES:
            self.client = suspect.half
        elif verdict != NO:
            _, key, version, correlation_id, _ = REQUEST.unpack_from(data, at)
            if len(suspect.asked) < ASKED_MAX and key != CONTROLLED_SHUTDOWN:
                suspect.asked[correlation_id] = key, version
        elif not self._answers(suspect, other, at) and not self._passes(suspect, other, at, size):
            return at if left < 14 and left < 4 + size else -1
        return after if after <= len(data) else at

    def _answers(self, suspect: Suspect, other: Suspect, at: int) -> bool:
        """Whether there may be a response to what the other side has asked; one that decodes decides."""
        data = suspect.window
        correlation_id = int.from_bytes(data[at + 4 : at + 8], "big", signed=True)
        asked = other.asked.get(correlation_id) if len(data) - at >= 8 else None
        if asked is None:
            return False
        verdict = response_verdict(data, at, *asked)
        if verdict == YES or (verdict != NO and self._paired(other, correlation_id)):
            self.client = other.half
        return verdict != NO

    def _passes(self, suspect: Suspect, other: Suspect, at: int, size: int) -> bool:
        """Whether a frame that says nothing may be stepped over, in a stream known from its beginning."""
        if suspect.followed and at == 0 and size > 4 and suspect.window[4:5] == GSSAPI_TAG:
            self.tokens = True
        return suspect.followed and (
            (4 <= size <= FRAME_MAX and bool(other.asked)) or (self.tokens and 0 <= size <= TOKEN_MAX)
        )

    def _paired(self, client: Suspect, correlation_id: int) -> bool:
        """Whether heads have matched often enough; each request counts once."""
        client.asked.pop(correlation_id)
        client.pairs += correlation_id != 0
        return client.pairs >= PAIRS

    def _overflow(self) -> bool:
        """Too many bytes are held: decide by what is there, or give up, or let the oldest go."""
        for suspect in self.sides.values():
            if any(request_verdict(suspect.window, at) == FITS for at in suspect.starts):
                self.client = suspect.half
                return True
        if all(suspect.opening for suspect in self.sides.values()) and self.connection.opened:
            self.foreign = self.name() or "no Kafka in its first bytes"
            self._forget()
            return False
        self.let_go(UNDECIDED_MAX // 2)
        for suspect in self.sides.values():
            suspect.window = b""
            suspect.starts = []
            suspect.followed = False
        return False

    def let_go(self, most: int) -> None:
        """Drop the oldest chunks until at most so many bytes are held."""
        count = 0
        for half, time_ns, _, data in self.chunks:
            if self.held <= most:
                break
            count += 1
            first = half is self.connection.first
            size = data.size if isinstance(data, Gap) else len(data) if isinstance(data, bytes) else 0
            self.held -= len(data) if isinstance(data, bytes) else 0
            dropped, since = self.dropped.get(first, (0, time_ns))
            self.dropped[first] = dropped + size, since
        del self.chunks[:count]

    def since(self, half: Half) -> int:
        """The time of the first chunk held of a half."""
        return next((time_ns for its, time_ns, _, _ in self.chunks if its is half), self.time_ns)

    def _forget(self) -> None:
        self.chunks = []
        self.held = 0
        for suspect in self.sides.values():
            suspect.window = b""
            suspect.starts = []
            suspect.asked = {}

    def name(self) -> str:
        """What the connection looks like, when it is no Kafka."""
        return self.foreign or likely(self.sides[True].first) or likely(self.sides[False].first)

    def detail(self) -> str:
        """The same with what exactly each side began with."""
        name = self.name()
        first, second = described(self.sides[True].first), described(self.sides[False].first)
        if not name or not (first.startswith(name) or second.startswith(name)):
            return name
        answer = second.removeprefix(f"{name}: ").removeprefix("answer ")
        return f"{first}, answered by {answer}" if first and answer not in ("", name) else first or second

    @property
    def reason(self) -> str:
        """The word for a connection that is over without having shown to be Kafka."""
        return "tls" if self.foreign == TLS else "not_kafka"
