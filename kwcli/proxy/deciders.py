"""Faults, scripts, people: who may decide about frames, one after the other; frames in, decisions out.

```
frame ──▶ Decider 1 ──▶ Decider 2 ──▶ … ──▶ one Decision for the relay (relay/intervention.py)
```

Each sees what those before it have made of the frame: a changed request is in `exchange.request`, a changed answer in
`exchange.response`. Delays add up. A decision that is final (the frame does not pass, or the connection ends) is the
last one. Who gives None answers later, by `ConnectionDeciders.later`; the others are asked then. A connection that ends
meanwhile forgets about it: `later` does nothing then.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Protocol

from decoders.filters.prefilter import Possible, some
from decoders.limits import HELD_MAX
from kwcli.proxy.relay.intervention import Decision, HeldExchange, Routes

if TYPE_CHECKING:
    from kwcli.proxy.listeners import Listener


class ClientConnection(Protocol):
    """A client's connection as deciders see it; `peer` is its address, once it is connected."""

    number: int
    listener: Listener
    peer: str
    deciding: ConnectionDeciders | None

    def decided(self, exchange: HeldExchange, decision: Decision) -> object:
        """A decision that took its time."""

    def tell_fault(self, correlation_id: int, rule: int, action: str, hit: int) -> None:
        """Have the log say that a rule of faults has done something to an exchange; rule 0: a script or a person."""

    def tell_refusal(self, correlation_id: int, by: str, reason: str) -> None:
        """Have the log say which option (`--as-kafka 2.8`) does not serve a request, and what it serves."""


class Decider(Protocol):
    """Somebody who decides about the frames of all connections."""

    def wants(self, api_key: int, version: int) -> bool:
        """Whether such exchanges are to be held and shown; `Deciders.changed` after the answer is another one."""

    def connection(self, relay: ClientConnection) -> ConnectionDecider:
        """Who decides about this connection's frames."""

    def refuses(self, relay: ClientConnection) -> bool:
        """Whether this client, which has just connected, is to be turned away."""


class ConnectionDecider(Protocol):
    """The part of a decider that is about one connection."""

    def possible(self, api_key: int, version: int, client_id: bytes | None) -> Possible:
        """Which requests with such a header it may want (see `Interventions`)."""

    def request(self, exchange: HeldExchange, now_ns: int) -> Decision | None:
        """About a request; None: later."""

    def response(self, exchange: HeldExchange, now_ns: int) -> Decision | None:
        """About an answer; None: later."""

    def leave(self) -> None:
        """The connection is over."""


class Deciders:
    """All of them, and the bytes of requests that are kept for them."""

    def __init__(self, deciders: Sequence[Decider], total: int = HELD_MAX) -> None:
        self._deciders: Final = tuple(deciders)
        self.routes = Routes(self._wants)
        self.total = total
        self.used = 0

    def _wants(self, api_key: int, version: int) -> bool:
        return any(each.wants(api_key, version) for each in self._deciders)

    def changed(self) -> None:
        """What some of them want is something else now."""
        self.routes.forget()

    def refuses(self, relay: ClientConnection) -> bool:
        """Whether a client that has just connected is to be turned away."""
        return any(each.refuses(relay) for each in self._deciders)

    def connection(self, relay: ClientConnection) -> ConnectionDeciders:
        """Who decides about this connection."""
        return ConnectionDeciders(self, relay, [each.connection(relay) for each in self._deciders])


class ConnectionDeciders:
    """Those of one connection, for its relay (`Interventions`)."""

    __slots__ = ("_all", "_deciders", "_kept", "_left", "_pending", "_relay", "routes")

    def __init__(self, all_of: Deciders, relay: ClientConnection, deciders: Sequence[ConnectionDecider]) -> None:
        self._all = all_of
        self._relay = relay
        self._deciders = deciders
        self._kept = 0
        self._left = False
        self._pending: dict[HeldExchange, tuple[int, Decision]] = {}  # whose turn it is, and what was decided before
        self.routes = all_of.routes

    def keep(self, size: int) -> bool:
        """Whether there is room to keep so many bytes of a request."""
        if self._all.used + size > self._all.total:
            return False
        self._all.used += size
        self._kept += size
        return True

    def give(self, size: int) -> None:
        """They are kept no more."""
        self._all.used -= size
        self._kept -= size

    def leave(self) -> None:
        """The connection is over."""
        self.give(self._kept)
        self._left = True
        self._pending.clear()
        for each in self._deciders:
            each.leave()

    def possible(self, api_key: int, version: int, client_id: bytes | None) -> Possible:
        """Which requests with such a header one of them may want."""
        return some(each.possible(api_key, version, client_id) for each in self._deciders)

    def request(self, exchange: HeldExchange, now_ns: int) -> Decision | None:
        """About a request; None: later."""
        return self._ask(exchange, 0, Decision(), now_ns)

    def response(self, exchange: HeldExchange, now_ns: int) -> Decision | None:
        """About its answer."""
        return self._ask(exchange, 0, Decision(), now_ns)

    def later(self, exchange: HeldExchange, decision: Decision, now_ns: int) -> None:
        """The decision of who gave None."""
        waiting = self._pending.pop(exchange, None)
        if waiting is None or self._left:
            return
        at, before = waiting
        made = together(exchange, before, decision)
        final = made if made.final else self._ask(exchange, at + 1, made, now_ns)
        if final is not None:
            self._relay.decided(exchange, final)

    def _ask(self, exchange: HeldExchange, at: int, made: Decision, now_ns: int) -> Decision | None:
        answer = exchange.response is not None
        for number in range(at, len(self._deciders)):
            each = self._deciders[number]
            decision = each.response(exchange, now_ns) if answer else each.request(exchange, now_ns)
            if decision is None:
                self._pending[exchange] = (number, made)
                return None
            made = together(exchange, made, decision)
            if made.final:
                break
        return made


def together(exchange: HeldExchange, before: Decision, now: Decision) -> Decision:
    """One decision of two; those that come next see what this one makes of the frame."""
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
        before.look or now.look,
    )
