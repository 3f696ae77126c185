"""The state of a Kafka connection for all who follow one: the requests that wait for a response, the phase of SASL.

`InFlight` is a table by correlation id, for code that only watches a connection (pairing, the proxy's log). An id that
is in flight twice is first in, first out, and responses may come in any order. The pairing loop reads and writes the
plain dict; everything unusual goes through the methods. `InOrder` is a queue, for code that takes part (the relay, a
client). Brokers answer in the order of the requests: a response to any but the oldest ends the connection.

`AnsweredRequests` knows the latest requests that had their answers, for what is said of answers out of order and of
answers that no request waits for.

`Sasl` says whether the next frames are Kafka or raw tokens (KIP-43, KIP-152). Raw tokens follow a SaslHandshake 0 that
succeeded. They end after the exchanges that the mechanism has, or at a frame that decodes as a request. Clients of 0.9
with GSSAPI open a connection with a token at once.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

if TYPE_CHECKING:
    from decoders.exchanges.sasl_logins import LoginAttempt

T = TypeVar("T")


class InOrder(deque[T]):
    """Requests of one connection, oldest first."""

    __slots__ = ()

    @property
    def next_due_request(self) -> T | None:
        """The request that has to be answered next; None where none waits."""
        return self[0] if self else None


class Queue(deque[T]):
    """Requests in flight with one correlation id, oldest first."""

    __slots__ = ()


class InFlight(dict[int, T | Queue[T]]):
    """Correlation id → the request that waits, or a Queue of several."""

    __slots__ = ("doubled",)

    def __init__(self) -> None:
        super().__init__()
        self.doubled = 0  # requests that wait behind another one with the same id

    def add_request(self, correlation_id: int, request: T) -> None:
        """Add a request, after those that wait with the same id."""
        waiting = self.get(correlation_id)
        if waiting is None:
            self[correlation_id] = request
        elif isinstance(waiting, Queue):
            waiting.append(request)
            self.doubled += 1
        else:
            self[correlation_id] = Queue((waiting, request))
            self.doubled += 1

    def first_request_with(self, correlation_id: int) -> T | None:
        """The request that a response with this correlation id would belong to; None if there is none."""
        waiting = self.get(correlation_id)
        return waiting[0] if isinstance(waiting, Queue) else waiting

    def take_request(self, correlation_id: int) -> T | None:
        """Remove and return the request that a response with this correlation id belongs to; None if there is none."""
        waiting = self.get(correlation_id)
        if not isinstance(waiting, Queue):
            return self.pop(correlation_id, None) if waiting is not None else None  # type: ignore[return-value]  # no Queue
        request = waiting.popleft()
        self.doubled -= 1
        if len(waiting) == 1:
            self[correlation_id] = waiting[0]
        return request

    def count_requests(self) -> int:
        """How many requests wait."""
        return len(self) + self.doubled

    def list_waiting_requests(self) -> list[T]:
        """All requests that wait, in the order in which they were sent."""
        every: list[T] = []
        for entry in self.values():
            if isinstance(entry, Queue):
                every.extend(entry)
            else:
                every.append(entry)
        every.sort(key=last_packet_of_request)
        return every

    def take_oldest_request(self) -> T:
        """Remove and return the oldest request of the correlation id that has been in the table longest."""
        correlation_id = next(iter(self))
        request = self.take_request(correlation_id)
        assert request is not None
        return request

    def take_all_requests(self) -> list[T]:
        """Remove and return all requests that wait, in the order in which they were sent."""
        every = self.list_waiting_requests()
        self.clear()
        self.doubled = 0
        return every


def last_packet_of_request(exchange: Any) -> int:
    """The packet in which a request was sent, 0 where there is none: requests are in its order."""
    return exchange.request_packet_end or 0


# So many correlation ids, up to the highest one answered, are known as answered or not. The mask of them stays a small
# integer when it is shifted by less than that.
ANSWERED_KEPT: Final = 30
ANSWERED_MASK: Final = (1 << ANSWERED_KEPT) - 1


class AnsweredRequests:
    """The latest requests of a connection that had their answers, or asked for none.

    The pairing loop notes the common case in line: an id above the highest one, of a request behind the latest one.
    """

    __slots__ = ("disordered", "highest", "ids", "place")

    def __init__(self) -> None:
        self.highest = 0  # the highest correlation id answered
        self.ids = 0  # bit n: the id `highest - n` is answered; 0: none is so far
        self.place = -1  # in the client's stream: of the latest request that has its answer
        self.disordered = False  # whether an answer came that is told by exchanges before: out of order, or to none

    def note_answer(self, place: int, correlation_id: int) -> bool:
        """Note that the request at this place has its answer; whether a later request had its answer before."""
        late = place < self.place
        self.disordered = self.disordered or late
        self.place = max(place, self.place)
        self.note_unanswerable_ids(correlation_id)
        return late

    def note_unanswerable_ids(self, highest: int, ids: int = 1) -> None:
        """Note that no answer to requests with these ids is due any more; in `ids`, bit n is `highest - n`."""
        step = highest - self.highest
        if self.ids and -ANSWERED_KEPT < step <= 0:
            self.ids |= ids << -step & ANSWERED_MASK
            return
        self.ids = (self.ids << step | ids) & ANSWERED_MASK if 0 < step < ANSWERED_KEPT else ids
        self.highest = highest

    def note_orphan_answer(self) -> None:
        """Note that an answer came that no request waits for."""
        self.disordered = self.disordered or self.place >= 0

    def has_id(self, correlation_id: int) -> bool | None:
        """Whether a request with this id had its answer, or asked for none; None where that is not known any more."""
        back = self.highest - correlation_id
        if not self.ids or back < 0:
            return False
        return None if back >= ANSWERED_KEPT else bool(self.ids >> back & 1)


# SASL.


class SaslPhase:
    """What the next frame of the client may be: plain numbers, since every frame asks and an Enum is slow to ask."""

    KAFKA: Final = 1
    HANDSHAKE: Final = 2  # SaslHandshake 0 was sent, its answer is not known: a request, or else a token
    TOKENS: Final = 3


GSSAPI: Final = "GSSAPI"
# Pairs of tokens of the mechanisms that have a fixed number of them.
PAIRS: Final[dict[str, int]] = {"PLAIN": 1, "SCRAM-SHA-256": 2, "SCRAM-SHA-512": 2}


class Sasl(Generic[T]):
    """The SASL state of one connection: `tokens` are the client's tokens that wait for an answer."""

    __slots__ = ("attempt", "left", "mechanism", "phase", "tokens")

    def __init__(self) -> None:
        self.phase = SaslPhase.KAFKA
        self.mechanism = ""
        self.attempt: LoginAttempt | None = None  # the login under way
        self.left = 0  # pairs still to come, 0 where the mechanism does not say
        self.tokens: deque[T] | tuple[()] = ()  # an empty deque has 0.7 KiB, and few connections have tokens

    def is_in_initial_state(self) -> bool:
        """Whether nothing has happened yet."""
        return self.phase == SaslPhase.KAFKA and not (self.mechanism or self.left or self.tokens or self.attempt)

    def add_waiting_token(self, token: T) -> None:
        """Add a token of the client, which waits for its answer."""
        if isinstance(self.tokens, tuple):
            self.tokens = deque()
        self.tokens.append(token)

    def take_token(self) -> T:
        """Remove and return the token that has waited longest; there has to be one."""
        assert isinstance(self.tokens, deque)
        return self.tokens.popleft()

    def follow_handshake_request(self, mechanism: str) -> None:
        """Follow a SaslHandshake 0 request."""
        self.phase = SaslPhase.HANDSHAKE
        self.mechanism = mechanism

    def follow_handshake_response(self, error_code: int) -> None:
        """Follow the response to a SaslHandshake 0."""
        self.phase = SaslPhase.KAFKA if error_code else SaslPhase.TOKENS
        self.left = PAIRS.get(self.mechanism, 0)

    def follow_first_token(self) -> None:
        """Follow a bare GSSAPI token with which the connection began."""
        self.phase = SaslPhase.TOKENS
        self.mechanism = GSSAPI

    def follow_token_answer(self) -> None:
        """Follow the answer to a token."""
        if self.left:
            self.left -= 1
            if not self.left:
                self.phase = SaslPhase.KAFKA
