"""A frame in, a decision about it out, now or later: to pass, change, answer, delay or lose it.

The problem. Faults, scripts and people want to change, answer, hold up or lose single frames; all others must pass as
fast and as unchanged as without them.

The idea. `HandlingTable` says for each API and version whether a decider has a rule for such exchanges; the relay looks
that up together with the handling that it needs anyway. Where there is a rule, `FrameDecider.prefilter_by_header` says
once for a connection and a client id whether none of them matches its filter after all, or by which bytes of a request
to tell. A frame that no filter can match streams through. Any other is intercepted: kept until it is whole, and shown
to the connection's `FrameDecider`, which returns a `Decision`, or None and decides later:

```
request ──▶ nobody wants it: as it came                answer ◀── nobody wants it: as it came
        ──▶ intercepted ──▶ request(exchange, now_ns)         ◀── response(exchange, now_ns) ◀── intercepted
                             ├─ PASS: as it came                     ├─ PASS, changed, delayed, in pieces, twice …
                             ├─ changed, delayed                     └─ lost, and then CLOSE, RESET, WITHHOLD, SWALLOW
                             ├─ `reply`: answered here, in its turn
                             └─ lost, and then CLOSE, RESET, SWALLOW
None ──▶ nothing more is read from that side ──▶ RelayCore.apply_decision(exchange, decision, now_ns)
```

What always holds:
- The order of a connection. While a decision is awaited, or delayed, everything behind it in the same direction of the
  same connection waits; the other direction and other connections go on.
- An answer is shown before its broker addresses are rewritten, so that no decision can tell a client where a broker is.
  An answer that replaces it is rewritten, too, with the listeners that there are: what a decider says of brokers and
  topics is for this client alone, and only what the broker itself said is learnt (`broker_answer`).
- A request whose answer is to be shown (`Decision.show_answer`) is kept until then: `InterceptedExchange.request`. All
  connections together keep a bounded number of bytes (`reserve_bytes`); beyond it an exchange passes as if nobody
  wanted it, with a message.
- No clock, no socket, no waiting: times come in with the bytes, delays go out as TIMER.

What is given up: SaslHandshake 0 and the bare tokens behind it are never shown, and a request whose answer could not be
rewritten still ends the connection before anybody sees it.

To add a decider, see kwcli/proxy/deciding.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol

from decoders.named_tuple import NamedTuple
from kwcli.proxy.relay import handling_by_api_version
from kwcli.proxy.relay.handling_by_api_version import MECHANISM, REFUSE, WANTED, RequestHandling
from kwcli.proxy.relay.relay_state import TIMER, Command

if TYPE_CHECKING:
    from decoders.filters.prefilter import Possible

# `RequestHandling.answer` of an intercepted exchange: deciders are shown the broker's answer; the proxy answers itself.
DECIDE: Final = 5
LOCAL: Final = 6


class Then(IntEnum):
    """What happens to the connection after a frame."""

    GO_ON = 0
    CLOSE = 1
    RESET = 2
    WITHHOLD = 3  # requests go on to the broker, no answer gets to the client any more, until it closes
    SWALLOW = 4  # nothing gets through any more in either direction, until the client closes


class AnswerDelivery(NamedTuple):
    """How an answer is sent: how many times, how many bytes of it, in pieces of which size, how many bytes a second."""

    times: int = 1
    cut: int | None = None
    piece: int = 0  # bytes; 0: all at once
    rate: float = 0.0  # bytes a second; 0: as fast as it goes

    def split_answer_into_delayed_pieces(self, frame: bytes) -> list[tuple[int, bytes]]:
        """The pieces of a frame, each with the ns to wait before it."""
        data = frame * self.times
        if self.cut is not None:
            data = data[: self.cut]
        if not self.rate:
            piece = self.piece or len(data)
            return [(0, data[at : at + piece]) for at in range(0, len(data), piece)] if data else []
        piece = self.piece or max(int(self.rate * _TICK_S), 1)
        every = int(piece / self.rate * 1e9)
        return [(every if at else 0, data[at : at + piece]) for at in range(0, len(data), piece)]


_TICK_S: Final = 0.02


class Decision(NamedTuple):
    """What is done about a frame, in this order: wait, send it on or `reply`, then `mute`, then `then`.

    `frame` replaces the frame that came; empty: the frame is lost. `reply` (requests) is an answer: nothing goes to the
    broker. Both have their size field. `delivery` and `mute_ns` are about answers, and replies. `show_answer`: the
    answer to this request is to be shown as well. `reason` says why a connection ends.
    """

    frame: bytes | None = None
    reply: bytes | None = None
    delay_ns: int = 0
    delivery: AnswerDelivery | None = None
    mute_ns: int = 0  # how long nothing more is read from the client
    then: Then = Then.GO_ON
    reason: str = ""
    show_answer: bool = False

    @property
    def is_final(self) -> bool:
        """Whether nothing is left for others to decide: the frame does not pass, or the connection ends behind it."""
        return self.reply is not None or self.frame == b"" or self.then != Then.GO_ON


PASS: Final = Decision()


class InterceptedExchange(RequestHandling):
    """A request that a decider may want, and its answer. `memo` is for deciders; `at_ns`: when the request was whole.

    While in flight, the exchange takes the place of `base`, the handling for its API and version.
    """

    __slots__ = (
        "answered",
        "at_ns",
        "base",
        "broker_answer",
        "correlation_id",
        "decision",
        "kept",
        "memo",
        "request",
        "response",
    )

    def __init__(
        self, base: RequestHandling, correlation_id: int, request: bytes, at_ns: int, *, answered: bool
    ) -> None:
        super().__init__(base.api_key, base.version, base.reads, DECIDE)
        self.base = base
        self.correlation_id = correlation_id
        self.request = request
        self.at_ns = at_ns
        self.answered = answered
        self.response: bytes | None = None
        self.broker_answer: bytes | None = None  # the answer as the broker sent it
        self.kept = len(request)
        self.decision: Decision | None = None
        self.memo: Any = None


class DecidedFrames:
    """One direction of a connection, where decisions about frames are carried out at once, or when it is time.

    `_side` is the direction (CLIENT, SERVER), `_due` a decision that waits for its time; `_block` stops reading.
    """

    __slots__ = ("_due",)

    _side: ClassVar[int]

    def __init__(self) -> None:
        self._due: tuple[InterceptedExchange, Decision] | None = None

    def _apply_or_wait(
        self, exchange: InterceptedExchange, decision: Decision | None, now_ns: int, out: list[Command]
    ) -> None:
        """Carry a decision out, or wait for it (None) or for its time."""
        if decision is None:
            self._block_direction(out)
        elif decision.delay_ns > 0:
            self._due = (exchange, decision)
            self._block_direction(out)
            out.append((TIMER, self._side, decision.delay_ns))
        else:
            self._apply_decision(exchange, decision, now_ns, out)

    def _apply_delayed_decision(self, now_ns: int, out: list[Command]) -> None:
        """Carry out the delayed decision: its time has come."""
        if self._due is not None:
            (exchange, decision), self._due = self._due, None
            self._apply_decision(exchange, decision, now_ns, out)

    def _block_direction(self, out: list[Command]) -> None:
        raise NotImplementedError

    def _apply_decision(
        self, exchange: InterceptedExchange, decision: Decision, now_ns: int, out: list[Command]
    ) -> None:
        raise NotImplementedError


class WantedHandling(RequestHandling):
    """The handling of an API and version that a decider may want; `base` is the handling if none did."""

    __slots__ = ("base",)

    def __init__(self, base: RequestHandling) -> None:
        super().__init__(base.api_key, base.version, base.reads | WANTED, base.answer)
        self.base = base


class Prefiltered(NamedTuple):
    """What `prefilter_by_header` said of requests of a handling that have `head` behind their correlation id."""

    handling: WantedHandling | None  # None: nothing was asked yet
    head: bytes  # the client id with its size, and where there are tags their count, 0
    least: int  # bytes that such a request has at least, without its size field
    possible: Possible


class HandlingTable:
    """API key and version, in one number as on the wire → the handling for such requests (`known`, `find`).

    `wants` says whether a decider may want such exchanges; call `forget` when its answers have changed.
    """

    __slots__ = ("_wants", "known")

    def __init__(self, wants: Callable[[int, int], bool] | None = None) -> None:
        self._wants = wants
        self.known: dict[int, RequestHandling] = handling_by_api_version.KNOWN if wants is None else {}

    def find_handling(self, number: int) -> RequestHandling:
        """The handling for a number that is not known yet."""
        handling = handling_by_api_version.find_handling(number)
        if self._wants is None or handling.reads in (MECHANISM, REFUSE):
            return handling
        if self._wants(handling.api_key, handling.version):
            handling = WantedHandling(handling)
        if number in handling_by_api_version.KNOWN:
            self.known[number] = handling
        return handling

    def forget_handlings(self) -> None:
        """Forget all handlings, so that `wants` is asked anew."""
        if self._wants is not None:
            self.known.clear()


UNTOUCHED: Final = HandlingTable()


class FrameDecider(Protocol):
    """The deciders of one connection, as its relay sees them."""

    handling_table: HandlingTable

    def prefilter_by_header(self, api_key: int, version: int, client_id: bytes | None) -> Possible:
        """Which requests with such a header a decider may want: False: none; True: any; else a function that tells.

        The function takes the bytes, where the request's size field begins in them, and where the request ends. The
        result is valid until `handling_table` forgets.
        """

    def reserve_bytes(self, size: int) -> bool:
        """Whether there is room to keep `size` bytes of a request; the room is taken then."""

    def release_bytes(self, size: int) -> None:
        """Give back the room of `size` bytes of a request."""

    def decide_request(self, exchange: InterceptedExchange, now_ns: int) -> Decision | None:
        """The decision about a request; None: it comes later, by `RelayCore.apply_decision`."""

    def decide_response(self, exchange: InterceptedExchange, now_ns: int) -> Decision | None:
        """The decision about the answer, `exchange.response`; None: it comes later, by `RelayCore.apply_decision`."""
