"""One client's connection and the one to its broker: bytes of both sides in, commands (see state.py) out.

The problem. Clients must never hear of a broker's own address, or they would go around the proxy; but looking at every
byte of every frame would make the proxy slower than the broker.

The idea. Only a request's head is read, and noted in flight; what its answer may say decides how that passes:

```
request   ──▶ head: API, version, correlation id ──▶ request_rules.py ──▶ on to the broker as it came
response  ◀── names no broker: as it came, in the chunks in which it came
          ◀── names brokers: held whole (memory_share.py), places replaced (rewrite.py), ApiVersions capped
```

Where frames may have to be changed, answered, held up or lost on purpose, intervention.py says how; without it nothing
of that costs anything.

What always holds: no socket and no clock here, times come in with the bytes, in ns; any cut of the bytes gives the same
commands; a client gets the broker's bytes or a rewritten answer, never a part of both. What is given up: an answer that
cannot be rewritten ends the connection, since passing it on would tell where the broker is.
"""

from __future__ import annotations

from collections.abc import Mapping

from kwcli.proxy.relay.intervention import Decision, HeldExchange, Interventions
from kwcli.proxy.relay.requests import Requests
from kwcli.proxy.relay.responses import Responses
from kwcli.proxy.relay.rewrite import Address
from kwcli.proxy.relay.rewritten_answers import Remembered
from kwcli.proxy.relay.state import CLIENT, Command, State


class RelayCore:
    """Feed it with `client_bytes(data, now_ns)` and `server_bytes(data, now_ns)`; `timed` asks for ANSWERED.

    After RESERVE and RESOLVE nothing should be read from the broker until they are answered; what comes all the same is
    kept. After CLOSE it gives nothing any more. `remembered` is what connections share: answers rewritten before.
    `interventions` is who decides about frames, if there is somebody.
    """

    __slots__ = ("_requests", "_responses", "_state", "client_bytes", "reserved", "server_bytes")

    def __init__(
        self,
        *,
        timed: bool = False,
        remembered: Remembered | None = None,
        interventions: Interventions | None = None,
    ) -> None:
        self._state = State()
        known = Remembered() if remembered is None else remembered
        self._responses = Responses(self._state, self._logged_in, known, interventions, timed=timed)
        self._requests = Requests(self._state, self._responses, interventions)
        self.client_bytes = self._requests.feed
        self.server_bytes = self._responses.feed
        self.reserved = self._responses.reserved

    @property
    def in_flight(self) -> int:
        """Requests that wait for an answer."""
        return len(self._state.in_flight)

    @property
    def idle(self) -> bool:
        """Whether ending now takes an answer from nobody."""
        if self._state.swallowed:
            return True
        return not self._state.in_flight and not self._responses.busy and not self._requests.blocked

    @property
    def inside_request(self) -> bool:
        """Whether the client has not sent all of a request."""
        return self._requests.inside

    @property
    def swallowed(self) -> bool:
        """Whether nothing gets through any more in either direction, on purpose."""
        return self._state.swallowed

    def _logged_in(self, now_ns: int) -> list[Command]:
        return self._requests.resume(now_ns)

    def decided(self, exchange: HeldExchange, decision: Decision, now_ns: int) -> list[Command]:
        """A decision that took its time: about the request, or about the answer once there is one."""
        if exchange.response is None:
            return self._requests.decided(exchange, decision, now_ns)
        return self._responses.decided(exchange, decision, now_ns)

    def timed(self, side: int, now_ns: int) -> list[Command]:
        """The time that TIMER asked for has passed."""
        return self._requests.timed(now_ns) if side == CLIENT else self._responses.timed(now_ns)

    def resolved(self, ticket: int, where: Mapping[int, Address], now_ns: int) -> list[Command]:
        """Where listeners for the nodes of RESOLVE are; a node without one is left out of `where`."""
        return self._responses.resolved(ticket, where, now_ns)

    def go_on(self, side: int, now_ns: int) -> list[Command]:
        """A turn later, after YIELD: what is left of the bytes of this side."""
        return self._requests.go_on(now_ns) if side == CLIENT else self._responses.go_on(now_ns)

    def client_eof(self, now_ns: int) -> list[Command]:
        """The client ended its side."""
        if self._state.closed:
            return []
        self._state.gone = True
        return self._requests.finish(now_ns)

    def server_eof(self) -> list[Command]:
        """The broker ended its side."""
        return [] if self._state.closed else self._responses.finish()
