"""One client's connection between two sockets: what the core asks for is done here, and nothing is decided.

Reading from a side stops while there is a reason for it: the other side's buffer is full, the core asks, an answer to
the core's question is missing, no broker is connected yet. Room under the budget is given back when the client's socket
has taken the bytes.
"""

from __future__ import annotations

import asyncio
import socket
import struct
import time
from typing import TYPE_CHECKING, Final, cast

from kwcli.exits import Failure
from kwcli.net.core.addresses import shown
from kwcli.proxy.core.commands import (
    ANSWERED,
    CLIENT,
    CLOSE,
    END,
    NOTE,
    PAUSE,
    RELEASE,
    RESERVE,
    RESOLVE,
    RESUME,
    SEND_CLIENT,
    SEND_SERVER,
    SERVER,
    Command,
)
from kwcli.proxy.core.connection import Connection
from kwcli.proxy.feed import How

if TYPE_CHECKING:
    from kwcli.proxy.listeners import Listener
    from kwcli.proxy.running import Proxy

# A socket's send buffer takes the rest; beyond it the other side is not read.
BUFFER: Final = 512 * 1024
# So long a side that is to be closed may take to read what was sent to it.
LINGER_S: Final = 30.0
# Reasons not to read.
FULL: Final = 1
ASKED: Final = 2
QUESTION: Final = 4
DIALLING: Final = 8
DRAINING: Final = 16
# Wall-clock nanoseconds that never go back within one process.
_EPOCH_NS: Final = time.time_ns() - time.perf_counter_ns()
_RESET: Final = struct.pack("ii", 1, 0)


def now_ns() -> int:
    """Wall-clock time in ns; differences are those of a monotonic clock."""
    return _EPOCH_NS + time.perf_counter_ns()


class Side(asyncio.Protocol):
    """One of the two sockets."""

    __slots__ = ("holds", "lost", "session", "side", "transport")

    def __init__(self, session: Session, side: int) -> None:
        self.session = session
        self.side = side
        self.transport: asyncio.Transport | None = None
        self.holds = 0
        self.lost = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.transport.set_write_buffer_limits(high=BUFFER)
        self.session.made(self)

    def data_received(self, data: bytes) -> None:
        self.session.received[self.side](data)

    def eof_received(self) -> bool:
        return self.session.ended(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost = True
        self.session.gone(self, exc)

    def pause_writing(self) -> None:
        self.session.full(self)

    def resume_writing(self) -> None:
        self.session.drained(self)

    def hold(self, reason: int) -> None:
        """Read nothing from here, for this reason."""
        if not self.holds and self.transport is not None and not self.transport.is_closing():
            self.transport.pause_reading()
        self.holds |= reason

    def free(self, reason: int) -> None:
        """This reason is gone."""
        if not self.holds & reason:
            return
        self.holds &= ~reason
        if not self.holds and self.transport is not None and not self.transport.is_closing():
            self.transport.resume_reading()

    def close(self) -> None:
        """Send what is in the buffer, then close; a side that takes nothing is cut after a while."""
        if self.transport is None or self.lost:
            return
        self.transport.close()
        if self.transport.get_write_buffer_size():
            asyncio.get_running_loop().call_later(LINGER_S, self.transport.abort)

    def reset(self) -> None:
        """End it as a crash would: with RST."""
        if self.transport is None or self.lost:
            return
        link = self.transport.get_extra_info("socket")
        if link is not None:
            link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self.transport.abort()


class Session:
    """`number` counts connections from 1."""

    def __init__(self, proxy: Proxy, listener: Listener, number: int) -> None:
        self.number = number
        self.listener = listener
        self.core = Connection(timed=proxy.feed is not None)
        self.client = Side(self, CLIENT)
        self.server = Side(self, SERVER)
        self.peer = ""
        self.upstream = shown(listener.targets[0])
        self.received = (self._from_client, self._from_server)
        self._proxy = proxy
        self._feed = proxy.feed
        self._dialling: asyncio.Task[None] | None = None
        self._reserved = 0
        self._owed = 0  # room to give back when the client's socket has taken what is in its buffer
        self._over = False

    # Beginning

    def made(self, side: Side) -> None:
        """A socket is connected."""
        if side is self.server:
            return
        assert side.transport is not None
        side.hold(DIALLING)
        peer = side.transport.get_extra_info("peername")
        self.peer = shown(peer[:2]) if peer else "?"
        self._proxy.sessions[self.number] = self
        self._dialling = asyncio.get_running_loop().create_task(self._dial())

    async def _dial(self) -> None:
        failures = []
        for target in self.listener.targets:
            try:
                await self._proxy.dialler.dial(target, lambda: self.server)
            except Failure as failure:
                failures.append(failure.text)
                continue
            self.upstream = shown(target)
            break
        self._dialling = None
        if self.server.transport is None:
            self.end("; ".join(failures), loud=True)
        elif self._over:
            self.server.close()
        else:
            if self._feed is not None:
                self._feed.opened(self.number, self.peer, shown(self.listener.address), self.upstream, now_ns())
            self._proxy.told(self, f"to {self.upstream}", loud=False)
            self.client.free(DIALLING)

    # Bytes

    def _from_client(self, data: bytes) -> None:
        now = now_ns()
        if self._feed is not None:
            self._feed.chunk(self.number, CLIENT, now, data)
        commands = self.core.client_bytes(data, now)
        if len(commands) == 1 and commands[0][0] == SEND_SERVER:
            self.server.transport.write(commands[0][1])  # type: ignore[union-attr]  # nothing is read before it is there
        else:
            self._run(commands)

    def _from_server(self, data: bytes) -> None:
        commands = self.core.server_bytes(data, now_ns())
        if len(commands) == 1 and commands[0][0] == SEND_CLIENT and self._feed is None:
            self.client.transport.write(commands[0][1])  # type: ignore[union-attr]  # the client is there first
        else:
            self._run(commands)

    def _run(self, commands: list[Command]) -> None:
        """Do them in order; what answers to questions give is done behind them."""
        for command in commands:
            what = command[0]
            if what == SEND_CLIENT:
                self._to_client(command[1])
            elif what == SEND_SERVER:
                if self.server.transport is not None:
                    self.server.transport.write(command[1])
            elif what == RESOLVE:
                where = self._proxy.listeners.where(command[2])
                commands += self.core.resolved(command[1], where, now_ns())
            elif what == RESERVE:
                if self._reserve(command[1]):
                    commands += self.core.reserved(now_ns())
            else:
                self._do(what, command)

    def _to_client(self, data: bytes) -> None:
        if self._feed is not None:
            self._feed.chunk(self.number, SERVER, now_ns(), data)
        if self.client.transport is not None:
            self.client.transport.write(data)

    def _do(self, what: int, command: Command) -> None:
        if what == RELEASE:
            self._release(command[1])
        elif what == PAUSE:
            self._side(command[1]).hold(ASKED)
        elif what == RESUME:
            self._side(command[1]).free(ASKED)
        elif what == END:
            self._end_of(self._side(command[1]))
        elif what == CLOSE:
            self.end(command[1], loud=command[2])
        elif what == NOTE:
            self._proxy.note(command[1], self)
        elif what == ANSWERED and self._feed is not None:
            self._feed.upstream(self.number, *command[1:])

    def _side(self, side: int) -> Side:
        return self.client if side == CLIENT else self.server

    # Room for frames that are held

    def _reserve(self, size: int) -> bool:
        if self._proxy.budget.take(size):
            self._reserved += size
            return True
        self.server.hold(QUESTION)
        self._proxy.budget.wait(self, size, lambda: self._granted(size))
        return False

    def _granted(self, size: int) -> None:
        self._reserved += size
        self.server.free(QUESTION)
        self._run(self.core.reserved(now_ns()))

    def _release(self, size: int) -> None:
        if self.server.holds & FULL and not self.client.lost:
            self._owed += size
            return
        self._reserved -= size
        self._proxy.budget.release(size)

    # Full and empty buffers

    def full(self, side: Side) -> None:
        """The buffer towards this side is full: the other one is not read."""
        (self.server if side is self.client else self.client).hold(FULL)

    def drained(self, side: Side) -> None:
        """There is room in it again."""
        (self.server if side is self.client else self.client).free(FULL)
        if side is self.client and self._owed:
            owed, self._owed = self._owed, 0
            self._release(owed)

    # Ends

    def ended(self, side: Side) -> bool:
        """A side sends no more; whether its socket stays open for what it still gets."""
        if self._over:
            return False
        if side is self.server:
            self._run(self.core.server_eof())
            return False
        self._run(self.core.client_eof())
        if self.core.idle and not self._over:
            self.end("the client closed the connection", how="fin")
        return not self._over

    def _end_of(self, side: Side) -> None:
        if side.transport is None or side.transport.is_closing():
            return
        if side.transport.can_write_eof():
            side.transport.write_eof()

    def gone(self, side: Side, error: Exception | None) -> None:
        """A socket is closed."""
        if not self._over:
            who = "client" if side is self.client else "broker"
            verb = "reset" if error is not None else "closed"
            waiting = f" with {self.core.in_flight} unanswered" if self.core.in_flight else ""
            other = self.server if side is self.client else self.client
            if error is not None:
                other.reset()
            self.end(f"the {who} {verb} the connection{waiting}", loud=bool(waiting), how="rst" if error else "fin")
        if self.client.lost:
            self._forget()

    def end(self, reason: str, *, loud: bool = False, how: How = "proxy") -> None:
        """Close both sides, once what they were sent is out; `reason` is for people."""
        if self._over:
            return
        self._over = True
        self._proxy.told(self, reason, loud=loud)
        if self._feed is not None:
            self._feed.closed(self.number, how, now_ns())
        self.client.close()
        self.server.close()
        self._proxy.budget.forget(self)

    def abort(self) -> None:
        """Cut both sides."""
        self.end("cut off, the proxy ends")
        for side in (self.client, self.server):
            if side.transport is not None:
                side.transport.abort()
        if self._dialling is not None:
            self._dialling.cancel()

    def drain(self) -> bool:
        """Take no more requests; whether nothing is in flight any more, and it was closed."""
        self.client.hold(DRAINING)
        if self.core.idle and self._dialling is None:
            self.end("the proxy ends")
        return self._over

    def _forget(self) -> None:
        size, self._reserved, self._owed = self._reserved, 0, 0
        if size:
            self._proxy.budget.release(size)
        self._proxy.sessions.pop(self.number, None)
