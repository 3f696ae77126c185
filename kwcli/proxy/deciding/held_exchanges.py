"""Exchanges that a decider holds for a person in; out when the control interface releases them, or their time is up.

A held frame blocks its direction of its connection (relay/frame_decisions.py), so each has a time limit. All held
frames together have a limit in bytes: beyond it an exchange passes at once, and a message says so.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

from decoders.apis import api
from decoders.limits import HELD_MAX
from decoders.named_tuple import NamedTuple
from decoders.wire.format_and_escape_text import format_rfc3339
from kwcli.proxy.deciding.ask_deciders import ClientConnection
from kwcli.proxy.relay.frame_decisions import Decision, InterceptedExchange, Then

# Clients give up a request after 30 s (request.timeout.ms): a frame that nobody releases goes on before that.
HOLD_S: Final = 25.0
_DONE: Final = {"close": "closed", "reset": "reset"}
# What a released frame may do instead of passing on.
RELEASES: Final = {
    "pass": None,
    "close": Decision(frame=b"", then=Then.CLOSE, reason=f"{_DONE['close']} by the control interface"),
    "reset": Decision(frame=b"", then=Then.RESET, reason=f"{_DONE['reset']} by the control interface"),
}


class _Held(NamedTuple):
    exchange: InterceptedExchange
    relay: ClientConnection
    decision: Decision  # what happens to it when it goes on
    since_ns: int
    timer: asyncio.TimerHandle
    size: int


class HeldExchanges:
    """All exchanges that are held now. `now_ns` is the wall clock; `say` prints a message, each text once."""

    def __init__(
        self, now_ns: Callable[[], int], say: Callable[[str], None], timeout_s: float = HOLD_S, most: int = HELD_MAX
    ) -> None:
        self._now_ns = now_ns
        self._say = say
        self.timeout_s = timeout_s
        self._most = most
        self._size = 0
        self._count = 0
        self._held: dict[int, _Held] = {}
        self._done: Counter[str] = Counter()

    def hold_exchange(self, exchange: InterceptedExchange, relay: ClientConnection, decision: Decision) -> bool:
        """Hold an exchange, for a decider that returns None then. False: there is no room, and it must pass at once."""
        size = len(exchange.request if exchange.response is None else exchange.response)
        if self._size + size > self._most:
            self._say("held exchanges fill the memory reserved for them: further ones pass")
            return False
        self._count += 1
        number = self._count
        timer = asyncio.get_running_loop().call_later(self.timeout_s, self.release_exchange, number)
        self._size += size
        self._held[number] = _Held(exchange, relay, decision, self._now_ns(), timer, size)
        return True

    def release_exchange(self, number: int, how: str = "pass") -> bool:
        """Let a held exchange go on as `how` (a key of RELEASES) says; False when it is not held (any more)."""
        held = self._held.pop(number, None)
        if held is None:
            return False
        self._size -= held.size
        held.timer.cancel()
        decision = RELEASES[how]
        if decision is not None:
            self._done[how] += 1
            held.relay.log_fault(held.exchange.correlation_id, 0, f"control {_DONE[how]}", self._done[how])
        if held.relay.connection_deciders is not None:
            held.relay.connection_deciders.finish_decision(held.exchange, decision or held.decision, self._now_ns())
        return True

    def forget_connection(self, relay: ClientConnection) -> None:
        """Forget the held exchanges of a connection that is over."""
        for number in [number for number, held in self._held.items() if held.relay is relay]:
            held = self._held.pop(number)
            self._size -= held.size
            held.timer.cancel()

    def list_rows(self) -> list[dict[str, Any]]:
        """The held exchanges as rows of the control interface, oldest first."""
        now = self._now_ns()
        return [
            {
                "id": number,
                "side": "request" if held.exchange.response is None else "response",
                "connection": held.relay.number,
                "client": held.relay.peer,
                "listener": held.relay.listener.name,
                "api_key": held.exchange.api_key,
                "api": api(held.exchange.api_key).name,
                "api_version": held.exchange.version,
                "correlation_id": held.exchange.correlation_id,
                "size": held.size,
                "since": format_rfc3339(held.since_ns),
                "held_ms": (now - held.since_ns) / 1e6,
                "released_in_ms": max(self.timeout_s * 1e3 - (now - held.since_ns) / 1e6, 0.0),
            }
            for number, held in self._held.items()
        ]
