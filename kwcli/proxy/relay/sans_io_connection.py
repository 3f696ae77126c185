"""A client's connection and the connection to its broker: bytes of both sides in, commands (relay_state.py) out.

The problem. Clients must never hear of a broker's own address, or they would go around the proxy; but looking at every
byte of every frame would make the proxy slower than the broker.

The idea. Only a request's header is read, and the request noted as in flight; its API decides how the answer passes:

```
request   ──▶ head: API, version, correlation id ──▶ handling_by_api_version.py ──▶ on to the broker as it came
response  ◀── names no broker: as it came, in the chunks in which it came
          ◀── names brokers: buffered whole (memory_share.py), then rewritten (rewrite_addresses.py)
```

Frames may also have to be changed, answered, delayed or lost on purpose: see frame_decisions.py. Without deciders that
costs nothing.

What always holds: no socket and no clock here, times come in with the bytes, in ns; any cut of the bytes gives the same
commands; a client gets the broker's bytes or a rewritten answer, never a part of both. What is given up: an answer that
cannot be rewritten ends the connection, since passing it on would tell where the broker is.
"""

from __future__ import annotations

from collections.abc import Mapping

from kwcli.proxy.relay.frame_decisions import Decision, FrameDecider, InterceptedExchange
from kwcli.proxy.relay.relay_requests import Requests
from kwcli.proxy.relay.relay_responses import Responses
from kwcli.proxy.relay.relay_state import CLIENT, Command, RelayState
from kwcli.proxy.relay.rewrite_addresses import Address
from kwcli.proxy.relay.rewrite_cache import RewrittenAnswers


class RelayCore:
    """Feed it with `client_bytes(data, now_ns)` and `server_bytes(data, now_ns)`; `timed` asks for ANSWERED commands.

    After RESERVE and RESOLVE nothing should be read from the broker until they are answered; bytes that come all the
    same are kept. After CLOSE it returns no more commands. `rewritten_answers` has answers rewritten before, for all
    connections. `frame_decider` decides about frames, if given.
    """

    __slots__ = ("_requests", "_responses", "_state", "client_bytes", "reserved", "server_bytes")

    def __init__(
        self,
        *,
        timed: bool = False,
        rewritten_answers: RewrittenAnswers | None = None,
        frame_decider: FrameDecider | None = None,
    ) -> None:
        self._state = RelayState()
        known = RewrittenAnswers() if rewritten_answers is None else rewritten_answers
        self._responses = Responses(self._state, self._resume_after_login, known, frame_decider, timed=timed)
        self._requests = Requests(self._state, self._responses, frame_decider)
        self.client_bytes = self._requests.feed
        self.server_bytes = self._responses.feed
        self.reserved = self._responses.resume_after_reservation

    @property
    def in_flight(self) -> int:
        """Requests that wait for an answer."""
        return len(self._state.in_flight)

    @property
    def is_idle(self) -> bool:
        """Whether the connection can end now without losing an answer."""
        if self._state.swallowed:
            return True
        return not self._state.in_flight and not self._responses.is_busy and not self._requests.is_blocked

    @property
    def is_inside_request(self) -> bool:
        """Whether the client has not sent all of a request."""
        return self._requests.is_inside_request

    @property
    def is_swallowed(self) -> bool:
        """Whether nothing gets through any more in either direction, on purpose."""
        return self._state.swallowed

    def _resume_after_login(self, now_ns: int) -> list[Command]:
        return self._requests.resume_after_login(now_ns)

    def apply_decision(self, exchange: InterceptedExchange, decision: Decision, now_ns: int) -> list[Command]:
        """Carry out an awaited decision: about the request, or about the answer once there is one."""
        if exchange.response is None:
            return self._requests.apply_decision(exchange, decision, now_ns)
        return self._responses.apply_decision(exchange, decision, now_ns)

    def resume_after_delay(self, side: int, now_ns: int) -> list[Command]:
        """Go on with a delayed frame: the time that TIMER asked for has passed."""
        return (
            self._requests.resume_after_delay(now_ns) if side == CLIENT else self._responses.resume_after_delay(now_ns)
        )

    def resume_after_resolution(self, ticket: int, addresses: Mapping[int, Address], now_ns: int) -> list[Command]:
        """Answer RESOLVE: `addresses`: those of listeners by node id; a node without a listener is left out."""
        return self._responses.resume_after_resolution(ticket, addresses, now_ns)

    def resume_turn(self, side: int, now_ns: int) -> list[Command]:
        """Handle the rest of a side's bytes, a turn after YIELD."""
        return self._requests.resume_turn(now_ns) if side == CLIENT else self._responses.resume_turn(now_ns)

    def handle_client_eof(self, now_ns: int) -> list[Command]:
        """Handle that the client ended its side."""
        if self._state.closed:
            return []
        self._state.gone = True
        return self._requests.finish(now_ns)

    def handle_broker_eof(self) -> list[Command]:
        """Handle that the broker ended its side."""
        return [] if self._state.closed else self._responses.finish()
