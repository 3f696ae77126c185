"""The first chunks of a connection in; out comes which side is the client, or that this is no Kafka, or nothing yet.

The problem. Ports say little: brokers listen anywhere, and other protocols use 9092. The head of a request (size, key,
version) is a weak mark, which ZooKeeper's connect request passes. A capture may begin in the middle of a connection.

The idea. The body decides. A connection is Kafka when a request, or its answer, decodes to its last byte
(read_and_judge_headers.py).

```
first bytes certainly another protocol (protocols/recognise_protocols.py) ─────────────► not Kafka, nothing is held
stream known from its SYN     follow the frames from byte 0 ──┐
stream not known              each segment may begin a frame ─┼─► a whole request decodes, or an answer to one
short snap length             no body is ever whole ──────────┘    or PAIRS pairs of matching heads → Kafka
UNDECIDED_MAX bytes held      known from its beginning → not Kafka; else the oldest bytes are let go
one side alone spoke          its bytes are a chain of answers (detect_responses_only.py) → of one direction
```

An endpoint that was recognised as a broker vouches for its later connections (exchanges/chunks_to_exchanges.py); chunks
held here are then taken as if they came now. It vouches for earlier ones too: a connection that ended undecided, such
as one that the broker closed because of its only request, waits among the `DoubtfulConnections` until its server proves
a broker.

What always holds: bytes held are bounded, and all of them are given to pairing or reported as skipped. The decision
depends on the bytes, not on how they came in chunks of time.

What is given up: a Kafka connection whose first UNDECIDED_MAX bytes have no whole message is not recognised, unless its
broker is known by then or its port was named.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from decoders.frames.detect_responses_only import Stretches, find_first_response_chain
from decoders.frames.read_and_judge_headers import (
    FITS,
    NO,
    REQUEST,
    YES,
    has_request_head_but_unreadable_body,
    judge_request,
    judge_response,
    may_begin_frame,
)
from decoders.limits import DOUBTFUL_COST, FIRST_BYTES_MAX, FRAME_MAX, UNDECIDED_MAX
from decoders.protocol_facts.api_keys import CONTROLLED_SHUTDOWN
from decoders.protocols import REFUSED_HELLO, TLS
from decoders.tcp.connection_and_halves import Connection, Half, tls_facts_of
from decoders.tcp.find_connections_captured_twice import COPY
from decoders.tcp.stream_chunks import Chunk, Close, Gap, How, Retransmission

if TYPE_CHECKING:
    from decoders.tls.tls_facts import TlsFacts

# Matching pairs of heads that prove Kafka where no body is whole (short snapshot lengths).
PAIRS: Final = 3
# The marks of other protocols are no longer than this.
MARK_MAX: Final = 64
NOTHING_DECODES: Final = "nothing in it decodes as a request or its response"
ANSWERS_ONLY: Final = "only answers of a broker, not their requests"
ASKED_MAX: Final = 1000
STARTS_MAX: Final = 64
# A GSSAPI token begins with an ASN.1 application tag (RFC 2743, 3.1); clients of 0.9 open a connection with one.
GSSAPI_TAG: Final = b"\x60"
TOKEN_MAX: Final = 1 << 20
# Later than all times: everything known at the end counts.
FOREVER: Final = 1 << 63


class UndecidedSide:
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


class UndecidedConnection:
    """A connection that is not yet known to be Kafka or another protocol, and its chunks so far."""

    __slots__ = (
        *(
            "answers",
            "chunks",
            "client",
            "connection",
            "dropped",
            "foreign",
            "held",
            "in_step",
            "sides",
            "sizes",
            "time_ns",
        ),
        "tokens",
    )

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
        self.in_step = False  # its answers begin with the first byte held
        self.answers = False  # only one side has spoken, and its bytes are answers of a broker
        opened = connection.opened
        self.sides = {
            True: UndecidedSide(connection.first, followed=opened),
            False: UndecidedSide(connection.second, followed=opened),
        }

    def feed(self, chunk: Chunk) -> bool:
        """Take a chunk; True once the connection is Kafka (`client` is then the half that asks)."""
        half, _, _, data = chunk
        if isinstance(data, Close | Retransmission):
            return False
        first = half is self.connection.first
        side = self.sides[first]
        self.sizes[first] += data.size if isinstance(data, Gap) else len(data)
        if isinstance(data, bytes) and (not side.first or (side.followed and len(side.first) < FIRST_BYTES_MAX)):
            fresh = len(side.first) < MARK_MAX
            side.first = (side.first + data)[:FIRST_BYTES_MAX]
            if fresh and side.opening and not (self.foreign or may_begin_frame(side.first)):
                from decoders.protocols.recognise_protocols import (
                    find_proven_protocol,  # no connection of Kafka comes here
                )

                self.foreign = find_proven_protocol(side.first)
                if self.foreign:
                    self._drop_held_bytes()
        if self.foreign:
            return False
        self.chunks.append(chunk)
        if isinstance(data, Gap):
            self._take_gap(side)
            return False
        self.held += len(data)
        if self._judge_data(side, self.sides[not first], data):
            return True
        if self.held > UNDECIDED_MAX:
            return self._decide_at_limit()
        return False

    def _take_gap(self, side: UndecidedSide) -> None:
        """Take a gap: no frame across it can be judged, and behind it every segment may begin a frame."""
        side.window = b""
        side.starts = []
        side.followed = False

    def _judge_data(self, side: UndecidedSide, other: UndecidedSide, data: bytes) -> bool:
        """Judge the frames that may begin in `data` or end with it; True once the client is known."""
        if side.followed:
            side.window += data
        else:
            if not side.starts:
                side.window = b""
            side.starts.append(len(side.window))
            side.window += data
            del side.starts[:-STARTS_MAX]
        waiting: list[int] = []
        for start in side.starts:
            at = start
            while at >= 0:
                after = self._judge_frame_at(side, other, at)
                if self.client is not None:
                    return True
                if after == at:
                    waiting.append(at)
                    break
                at = after if side.followed else -1
        side.starts = waiting
        return False

    def _judge_frame_at(self, side: UndecidedSide, other: UndecidedSide, at: int) -> int:
        """Judge one place: the offset after the frame there, `at` itself to wait for more, -1 when it is none."""
        data = side.window
        left = len(data) - at
        if left < 4:
            return at
        size = int.from_bytes(data[at : at + 4], "big", signed=True)
        after = at + 4 + size
        verdict = judge_request(data, at)
        if verdict == YES:
            self.client = side.half
        elif verdict != NO or (side.followed and has_request_head_but_unreadable_body(data, at)):
            _, key, version, correlation_id, _ = REQUEST.unpack_from(data, at)
            if len(side.asked) < ASKED_MAX and key != CONTROLLED_SHUTDOWN:
                side.asked[correlation_id] = key, version
        elif not self._judge_response(side, other, at) and not self._may_skip_frame(side, other, at, size):
            return at if left < 14 and left < 4 + size else -1
        return after if after <= len(data) else at

    def _judge_response(self, side: UndecidedSide, other: UndecidedSide, at: int) -> bool:
        """Whether there may be a response to a request of the other side; one that decodes decides."""
        data = side.window
        correlation_id = int.from_bytes(data[at + 4 : at + 8], "big", signed=True)
        asked = other.asked.get(correlation_id) if len(data) - at >= 8 else None
        if asked is None:
            return False
        verdict = judge_response(data, at, *asked)
        if verdict == YES or (verdict != NO and self._have_heads_matched_often_enough(other, correlation_id)):
            self.client = other.half
        return verdict != NO

    def _may_skip_frame(self, side: UndecidedSide, other: UndecidedSide, at: int, size: int) -> bool:
        """Whether a frame that says nothing may be stepped over, in a stream known from its beginning."""
        if side.followed and at == 0 and size > 4 and side.window[4:5] == GSSAPI_TAG:
            self.tokens = True
        return side.followed and (
            (4 <= size <= FRAME_MAX and bool(other.asked)) or (self.tokens and 0 <= size <= TOKEN_MAX)
        )

    def _have_heads_matched_often_enough(self, client: UndecidedSide, correlation_id: int) -> bool:
        """Whether heads have matched often enough; each request counts once."""
        client.asked.pop(correlation_id)
        client.pairs += correlation_id != 0
        return client.pairs >= PAIRS

    def _decide_at_limit(self) -> bool:
        """Too many bytes are held: decide by them (True: Kafka), or give up, or let the oldest go."""
        for side in self.sides.values():
            if any(judge_request(side.window, at) == FITS for at in side.starts):
                self.client = side.half
                return True
        if all(side.opening for side in self.sides.values()) and self.connection.opened:
            self.decide_by_answers_alone()
            self.foreign = self.name() or "no Kafka in its first bytes"
            self._drop_held_bytes()
            return False
        self.drop_oldest(UNDECIDED_MAX // 2)
        for side in self.sides.values():
            side.window = b""
            side.starts = []
            side.followed = False
        return False

    def drop_oldest(self, most: int) -> None:
        """Drop the oldest chunks until at most `most` bytes are held."""
        self.decide_by_answers_alone()
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

    def decide_by_answers_alone(self) -> None:
        """See whether the bytes held are answers whose requests are not in the capture."""
        speaker = self._find_only_sender()
        if self.answers or speaker is None:
            return
        place = 0
        pieces: list[tuple[int, bytes]] = []
        for half, _, _, data in self.chunks:
            if half is not speaker:  # gaps, of bytes that the speaker has acknowledged
                continue
            if isinstance(data, bytes):
                pieces.append((place, data))
                place += len(data)
            elif isinstance(data, Gap):
                place += data.size or 1  # a jump: the next bytes do not continue those before
        found = find_first_response_chain(Stretches(pieces))
        self.answers = found is not None
        self.in_step = found == 0

    @property
    def find_broker_half(self) -> Half | None:
        """The half that sent all bytes of a connection of which only a broker's answers are there."""
        return self._find_only_sender() if self.answers else None

    def _find_only_sender(self) -> Half | None:
        """The only half of which there are bytes; None where both or none sent any."""
        spoke = [first for first, side in self.sides.items() if side.first]
        if len(spoke) != 1:
            return None
        return self.connection.first if spoke[0] else self.connection.second

    def first_held_ns(self, half: Half) -> int:
        """The time of the first chunk held of a half."""
        return next((time_ns for its, time_ns, _, _ in self.chunks if its is half), self.time_ns)

    def _drop_held_bytes(self) -> None:
        self.chunks = []
        self.held = 0
        for side in self.sides.values():
            side.window = b""
            side.starts = []
            side.asked = {}

    def name(self) -> str:
        """What the connection looks like, when it is no Kafka."""
        from decoders.protocols.recognise_protocols import find_likely_protocol

        return (
            self.foreign
            or find_likely_protocol(self.sides[True].first)
            or find_likely_protocol(self.sides[False].first)
        )

    def detail(self) -> str:
        """What the connection looks like, with what exactly each side began with."""
        from decoders.protocols.recognise_protocols import describe_likely_protocol

        name = self.name()
        first, second = (
            describe_likely_protocol(self.sides[True].first),
            describe_likely_protocol(self.sides[False].first),
        )
        if not name or not (first.startswith(name) or second.startswith(name)):
            return name
        answer = second.removeprefix(f"{name}: ").removeprefix("answer ")
        return f"{first}, answered by {answer}" if first and answer not in ("", name) else first or second

    @property
    def reason(self) -> str:
        """The word for a connection that is over without having shown to be Kafka."""
        if self.find_broker_half is not None:
            return "one_direction"
        if self.foreign.startswith(COPY):
            return "copy"
        return "tls" if self.foreign == TLS else "not_kafka"


def is_doubtful(undecided: UndecidedConnection) -> bool:
    """Whether a connection would be Kafka, if its server proved to be a broker after the connection's end."""
    connection = undecided.connection
    if undecided.foreign or undecided.dropped or tls_facts_of(connection) is not None:
        return False
    return connection.opened and bool(undecided.sides[True].first)


def doubtful_until_ns(undecided: UndecidedConnection, *, over: bool = False) -> int:
    """The time (ns) before which a known broker would have made the connection Kafka; 0 where none would.

    `over`: the connection has ended, so that a broker known at any time makes it Kafka.
    """
    connection = undecided.connection
    if over and is_doubtful(undecided):
        return FOREVER
    if undecided.foreign == TLS or undecided.foreign.startswith(COPY) or tls_facts_of(connection) is not None:
        return 0
    return max(connection.first.last_ns, connection.second.last_ns) + 1


def describe_tls(connection: Connection, facts: TlsFacts, how: How) -> str:
    """The facts of a TLS connection in one line, which says so where its hello was refused without a byte."""
    text = facts.describe_in_one_line()
    sides = (connection.first, connection.second)
    silent = how in ("fin", "rst") and connection.opened and any(not (side.size or side.gaps) for side in sides)
    return f"{text}{REFUSED_HELLO}" if silent else text


def describe_undecided(undecided: UndecidedConnection, how: How) -> tuple[str, str, int]:
    """The reason, the detail and the number of bytes of a connection that gave no exchange."""
    facts = tls_facts_of(undecided.connection)
    broker = undecided.find_broker_half
    sizes = undecided.sizes
    size = sum(sizes.values()) if broker is None else sizes[broker is undecided.connection.first]
    if facts is not None and not facts.opened:
        return "tls", describe_tls(undecided.connection, facts, how), size + facts.size
    detail = ANSWERS_ONLY if broker is not None else undecided.detail() or NOTHING_DECODES
    return undecided.reason, detail if facts is None else f"{detail}, in {facts.version}", size


class DoubtfulConnections:
    """Connections that are over and undecided, oldest first, and how they ended."""

    __slots__ = ("ended", "held")

    def __init__(self) -> None:
        self.ended: deque[tuple[UndecidedConnection, How]] = deque()
        self.held = 0  # their bytes, and what they cost besides

    def add(self, undecided: UndecidedConnection, how: How) -> None:
        """Add a connection at its end."""
        self.ended.append((undecided, how))
        self.held += undecided.held + DOUBTFUL_COST

    def take_oldest(self) -> tuple[UndecidedConnection, How]:
        """Remove and return the connection that has been here longest; there has to be one."""
        undecided, how = self.ended.popleft()
        self.held -= undecided.held + DOUBTFUL_COST
        return undecided, how

    def take_all_to(self, broker: str) -> list[tuple[UndecidedConnection, How]]:
        """Remove and return all connections to an endpoint."""
        every = [self.take_oldest() for _ in range(len(self.ended))]
        found = []
        for undecided, how in every:
            if undecided.connection.first.target == broker:
                found.append((undecided, how))
            else:
                self.add(undecided, how)
        return found
