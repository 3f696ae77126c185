"""A connection of the proxy played without a socket: bytes in, in any pieces, and the bytes to each side out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import decoders
from kwcli.proxy.relay.frame_decisions import Decision, FrameDecider, InterceptedExchange
from kwcli.proxy.relay.memory_share import SharedMemory
from kwcli.proxy.relay.relay_state import (
    ANSWERED,
    CAPPED,
    CLIENT,
    CLOSE,
    END,
    MUTE,
    NOTE,
    PAUSE_FOR_ANSWERS,
    PAUSE_FOR_DECISION,
    RELEASE,
    RESERVE,
    RESET,
    RESOLVE,
    RESUME_AFTER_ANSWERS,
    RESUME_AFTER_DECISION,
    SEND_CLIENT,
    SEND_SERVER,
    TIMER,
    YIELD,
    Command,
)
from kwcli.proxy.relay.rewrite_addresses import Endpoint
from kwcli.proxy.relay.rewrite_cache import RewrittenAnswers
from kwcli.proxy.relay.sans_io_connection import RelayCore

API_VERSIONS, METADATA, PRODUCE, FETCH, SASL_HANDSHAKE, HEARTBEAT = 18, 3, 0, 1, 17, 12
NAMES = {
    SEND_SERVER: "SEND_SERVER",
    SEND_CLIENT: "SEND_CLIENT",
    RESOLVE: "RESOLVE",
    RESERVE: "RESERVE",
    RELEASE: "RELEASE",
    PAUSE_FOR_ANSWERS: "PAUSE_FOR_ANSWERS",
    RESUME_AFTER_ANSWERS: "RESUME_AFTER_ANSWERS",
    END: "END",
    CLOSE: "CLOSE",
    NOTE: "NOTE",
    ANSWERED: "ANSWERED",
    CAPPED: "CAPPED",
    YIELD: "YIELD",
    PAUSE_FOR_DECISION: "PAUSE_FOR_DECISION",
    RESUME_AFTER_DECISION: "RESUME_AFTER_DECISION",
    TIMER: "TIMER",
    RESET: "RESET",
    MUTE: "MUTE",
}


def framed(data: bytes) -> bytes:
    """A frame with its size field."""
    return len(data).to_bytes(4, "big") + data


def request(
    key: int, version: int, value: Mapping[str, Any] | None = None, *, id: int = 1, client_id: str | None = "c"
) -> bytes:
    """A request with its size field."""
    return framed(decoders.encode_request(key, version, value or {}, correlation_id=id, client_id=client_id))


def response(key: int, version: int, value: Mapping[str, Any] | None = None, *, id: int = 1) -> bytes:
    """A response with its size field."""
    return framed(decoders.encode_response(key, version, value or {}, correlation_id=id))


def metadata(*nodes: tuple[int, str, int], version: int = 12, id: int = 1) -> bytes:
    """A Metadata response that names these nodes."""
    brokers = [{"node_id": number, "host": host, "port": port} for number, host, port in nodes]
    return response(METADATA, version, {"brokers": brokers}, id=id)


class Stage:
    """A played connection; `where` are the listeners; without `at_once` RESOLVE and RESERVE wait for `answer`."""

    def __init__(
        self,
        where: Mapping[int, tuple[str, int]] | None = None,
        *,
        at_once: bool = True,
        timed: bool = False,
        rewritten_answers: RewrittenAnswers | None = None,
        frame_decider: FrameDecider | None = None,
    ) -> None:
        self.connection = RelayCore(timed=timed, rewritten_answers=rewritten_answers, frame_decider=frame_decider)
        self.stopped = [False, False]  # sides that are not read because of a decision
        self.timers: list[tuple[int, int, int]] = []  # when, side
        self.muted_ns = 0
        self.reset: str | None = None
        self.where = where or {}
        self.at_once = at_once
        self.to_server: list[bytes] = []
        self.to_client: list[bytes] = []
        self.notes: list[str] = []
        self.closed: str | None = None
        self.loud = False
        self.done: list[str] = []  # the names of all commands, in order
        self.resolved: list[tuple[int, str, int]] = []
        self.answered: list[tuple[int, int, int, int]] = []
        self.paused = [False, False]
        self.shared_memory = SharedMemory()
        self.now_ns = 0
        self.waiting: list[Command] = []
        self.turns = 0  # how often others had a turn

    def client(self, *chunks: bytes) -> Self:
        """Take these chunks from the client."""
        for chunk in chunks:
            self.now_ns += 1
            self._do(self.connection.client_bytes(chunk, self.now_ns))
        return self

    def server(self, *chunks: bytes) -> Self:
        """Take these chunks from the broker."""
        for chunk in chunks:
            self.now_ns += 1
            self._do(self.connection.server_bytes(chunk, self.now_ns))
        return self

    def handle_client_eof(self) -> Self:
        self._do(self.connection.handle_client_eof(self.now_ns))
        return self

    def handle_broker_eof(self) -> Self:
        self._do(self.connection.handle_broker_eof())
        return self

    def advance_time(self, ns: int = 0) -> Self:
        """Let time pass, by default until the next timer; due timers fire."""
        until = self.now_ns + ns if ns else min(self.timers)[0]
        while self.timers and min(self.timers)[0] <= until:
            timer = min(self.timers)
            self.timers.remove(timer)
            self.now_ns = timer[0]
            self._do(self.connection.resume_after_delay(timer[2], self.now_ns))
        self.now_ns = until
        return self

    def apply_decision(self, exchange: InterceptedExchange, decision: Decision) -> Self:
        """Give a decision that was awaited."""
        self._do(self.connection.apply_decision(exchange, decision, self.now_ns))
        return self

    def answer(self) -> Self:
        """Answer the oldest RESOLVE or RESERVE."""
        self._do(self._reply(self.waiting.pop(0)))
        return self

    @property
    def at_server(self) -> bytes:
        return b"".join(self.to_server)

    @property
    def at_client(self) -> bytes:
        return b"".join(self.to_client)

    def _do(self, commands: Sequence[Command]) -> None:
        assert (self.closed is None and self.reset is None) or not commands
        todo = list(commands)
        for number, command in enumerate(todo):
            what = command[0]
            self.done.append(NAMES[what])
            if what == YIELD:
                self.turns += 1
                todo += self.connection.resume_turn(command[1], self.now_ns)
            elif what in (RESOLVE, RESERVE):
                assert not {SEND_CLIENT, END, CLOSE} & {each[0] for each in todo[number + 1 :]}, (
                    "it is not answered yet"
                )
                if not self.at_once:
                    self.waiting.append(command)
                else:
                    todo += self._reply(command)
            else:
                self._did(what, command)

    def _did(self, what: int, command: Command) -> None:
        if what == SEND_SERVER:
            assert command[1]
            self.to_server.append(command[1])
        elif what == SEND_CLIENT:
            assert command[1]
            self.to_client.append(command[1])
        elif what == NOTE:
            self.notes.append(command[1])
        elif what == CLOSE:
            self.closed, self.loud = command[1], command[2]
        elif what in (PAUSE_FOR_DECISION, RESUME_AFTER_DECISION):
            self.stopped[command[1]] = what == PAUSE_FOR_DECISION
        elif what == TIMER:
            self.timers.append((self.now_ns + command[2], len(self.timers), command[1]))
        elif what == MUTE:
            self.muted_ns += command[1]
        elif what == RESET:
            self.reset = command[1]
        elif what in (PAUSE_FOR_ANSWERS, RESUME_AFTER_ANSWERS):
            self.paused[command[1]] = what == PAUSE_FOR_ANSWERS
        elif what == RELEASE:
            self.shared_memory.release(command[1])
        elif what == ANSWERED:
            self.answered.append(command[1:])
        else:
            assert what in (END, CAPPED)

    def _reply(self, command: Command) -> list[Command]:
        if command[0] == RESERVE:
            assert self.shared_memory.reserve(command[1])
            return self.connection.reserved(self.now_ns)
        found: list[Endpoint] = command[2]
        self.resolved += [(each.node_id, each.host, each.port) for each in found]
        return self.connection.resume_after_resolution(command[1], self.where, self.now_ns)


def pieces(data: bytes, size: int) -> list[bytes]:
    """`data` in chunks of so many bytes."""
    return [data[at : at + size] for at in range(0, len(data), size)]


__all__ = ["CLIENT", "Stage", "framed", "metadata", "pieces", "request", "response"]
