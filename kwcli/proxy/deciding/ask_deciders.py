"""Frames in; decisions about them out, made by several deciders (faults, scripts, people), one after the other.

```
frame ──▶ Decider 1 ──▶ Decider 2 ──▶ … ──▶ one Decision for the relay (relay/frame_decisions.py)
```

Each decider sees the frame as those before it have left it: a changed request is in `exchange.request`, a changed
answer in `exchange.response`. Delays add up. After a final decision (the frame does not pass, or the connection ends)
no other decider is asked. A decider that returns None decides later, by `ConnectionDeciders.finish_decision`; those
behind it are asked then. If the connection has ended meanwhile, `finish_decision` does nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Protocol

from decoders.filters.prefilter import Possible, join_by_or
from decoders.limits import HELD_MAX
from kwcli.proxy.relay.frame_decisions import Decision, HandlingTable, InterceptedExchange

if TYPE_CHECKING:
    from kwcli.proxy.node_listeners import Listener


class ClientConnection(Protocol):
    """A client's connection as deciders see it; `peer` is its address, once it is connected.

    `via_address` is the address of a load balancer that names the client.
    """

    number: int
    listener: Listener
    peer: str
    via_address: str | None
    connection_deciders: ConnectionDeciders | None

    def apply_decision(self, exchange: InterceptedExchange, decision: Decision) -> object:
        """Carry out a decision that came later."""

    def log_fault(self, correlation_id: int, rule: int, action: str, hit: int) -> None:
        """Have the log say that a fault rule has done something to an exchange; rule 0: a script or a person."""

    def log_refusal(self, correlation_id: int, by: str, reason: str) -> None:
        """Have the log say which option (`--as-kafka 2.8`) does not serve a request, and what it serves."""


class Decider(Protocol):
    """An object that decides about the frames of all connections."""

    def has_rule_for(self, api_key: int, version: int) -> bool:
        """Whether exchanges of this API and version are intercepted; call `Deciders.forget_handlings` at a change."""

    def make_connection_decider(self, relay: ClientConnection) -> ConnectionDecider:
        """The decider for one connection's frames."""

    def refuses_client(self, relay: ClientConnection) -> bool:
        """Whether this client, which has just connected, is to be turned away."""


class ConnectionDecider(Protocol):
    """The part of a decider that is about one connection."""

    def prefilter_by_header(self, api_key: int, version: int, client_id: bytes | None) -> Possible:
        """Which requests with such a header the decider may want (see `FrameDecider`)."""

    def decide_request(self, exchange: InterceptedExchange, now_ns: int) -> Decision | None:
        """The decision about a request; None: it comes later."""

    def decide_response(self, exchange: InterceptedExchange, now_ns: int) -> Decision | None:
        """The decision about an answer; None: it comes later."""

    def end_connection(self) -> None:
        """Called when the connection is over."""


class Deciders:
    """All deciders of a proxy, and how many bytes of requests are kept for them."""

    def __init__(self, deciders: Sequence[Decider], total: int = HELD_MAX) -> None:
        self._deciders: Final = tuple(deciders)
        self.handling_table = HandlingTable(self._has_rule_in_any_decider)
        self.total = total
        self.used = 0

    def _has_rule_in_any_decider(self, api_key: int, version: int) -> bool:
        return any(each.has_rule_for(api_key, version) for each in self._deciders)

    def forget_handlings(self) -> None:
        """Ask the deciders anew which exchanges they want, since that has changed."""
        self.handling_table.forget_handlings()

    def refuses_client(self, relay: ClientConnection) -> bool:
        """Whether a client that has just connected is to be turned away."""
        return any(each.refuses_client(relay) for each in self._deciders)

    def make_connection_decider(self, relay: ClientConnection) -> ConnectionDeciders:
        """The deciders for one connection."""
        return ConnectionDeciders(self, relay, [each.make_connection_decider(relay) for each in self._deciders])


class ConnectionDeciders:
    """The deciders of one connection, for its relay (`FrameDecider`)."""

    __slots__ = ("_all", "_deciders", "_kept", "_left", "_pending", "_relay", "handling_table")

    def __init__(self, all_of: Deciders, relay: ClientConnection, deciders: Sequence[ConnectionDecider]) -> None:
        self._all = all_of
        self._relay = relay
        self._deciders = deciders
        self._kept = 0
        self._left = False
        self._pending: dict[
            InterceptedExchange, tuple[int, Decision]
        ] = {}  # index of the awaited decider, decision so far
        self.handling_table = all_of.handling_table

    def reserve_bytes(self, size: int) -> bool:
        """Whether there is room to keep `size` bytes of a request; the room is taken then."""
        if self._all.used + size > self._all.total:
            return False
        self._all.used += size
        self._kept += size
        return True

    def release_bytes(self, size: int) -> None:
        """Give back the room of `size` bytes of a request."""
        self._all.used -= size
        self._kept -= size

    def end_connection(self) -> None:
        """Forget the kept bytes and the awaited decisions of the connection, which is over."""
        self.release_bytes(self._kept)
        self._left = True
        self._pending.clear()
        for each in self._deciders:
            each.end_connection()

    def prefilter_by_header(self, api_key: int, version: int, client_id: bytes | None) -> Possible:
        """Which requests with such a header a decider may want."""
        return join_by_or(each.prefilter_by_header(api_key, version, client_id) for each in self._deciders)

    def decide_request(self, exchange: InterceptedExchange, now_ns: int) -> Decision | None:
        """The decision of all deciders about a request; None: it comes later."""
        return self._ask_deciders(exchange, 0, Decision(), now_ns)

    def decide_response(self, exchange: InterceptedExchange, now_ns: int) -> Decision | None:
        """The decision of all deciders about an answer; None: it comes later."""
        return self._ask_deciders(exchange, 0, Decision(), now_ns)

    def finish_decision(self, exchange: InterceptedExchange, decision: Decision, now_ns: int) -> None:
        """Take the decision of a decider that returned None, and ask those behind it."""
        waiting = self._pending.pop(exchange, None)
        if waiting is None or self._left:
            return
        at, before = waiting
        made = combine_decisions(exchange, before, decision)
        final = made if made.is_final else self._ask_deciders(exchange, at + 1, made, now_ns)
        if final is not None:
            self._relay.apply_decision(exchange, final)

    def _ask_deciders(self, exchange: InterceptedExchange, at: int, made: Decision, now_ns: int) -> Decision | None:
        answer = exchange.response is not None
        for number in range(at, len(self._deciders)):
            each = self._deciders[number]
            decision = each.decide_response(exchange, now_ns) if answer else each.decide_request(exchange, now_ns)
            if decision is None:
                self._pending[exchange] = (number, made)
                return None
            made = combine_decisions(exchange, made, decision)
            if made.is_final:
                break
        return made


def combine_decisions(exchange: InterceptedExchange, before: Decision, now: Decision) -> Decision:
    """Two decisions as one; a new frame goes into the exchange, where the next deciders see it."""
    if now.frame:
        if exchange.response is None:
            exchange.request = now.frame
        else:
            exchange.response = now.frame
    return Decision(
        before.frame if now.frame is None else now.frame,
        now.reply,
        before.delay_ns + now.delay_ns,
        now.delivery or before.delivery,
        max(before.mute_ns, now.mute_ns),
        now.then,
        now.reason,
        before.show_answer or now.show_answer,
    )
