"""One of the two sockets of a client's connection: read unless there is a reason not to; it tells its owner all.

The problem. A client that sends thousands of requests in one piece, or gets as many answers, would have the loop for as
long as all of that takes, and many such clients together for seconds.

The idea. A connection does a bounded piece of work when its bytes come. What is left waits in `Turns`, and so does
reading on from its socket. In every turn of the loop one piece is done, that which waited longest, between the bytes of
everybody else. Where nobody else has anything to do, turns follow each other at once.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections import deque
from collections.abc import Callable
from typing import Final, Protocol, cast

from kwcli.net.addresses import shown

# Pieces of one turn, of half a millisecond or less: what everybody else waits, however many wait here.
PIECES: Final = 1


class Turns:
    """`later` is to be called in the running loop."""

    __slots__ = ("_asked", "waiting")

    def __init__(self) -> None:
        self.waiting: deque[Callable[[], None]] = deque()  # not empty while some have more to do than they may
        self._asked = False  # the loop knows that there is work

    def later(self, work: Callable[[], None]) -> None:
        """Call it, after all that waits already."""
        self.waiting.append(work)
        self._ask()

    def _ask(self) -> None:
        if not self._asked:
            self._asked = True
            asyncio.get_running_loop().call_soon(self._take)

    def _take(self) -> None:
        """One turn: nothing that is left meanwhile."""
        self._asked = False
        try:
            for _ in range(min(len(self.waiting), PIECES)):
                self.waiting.popleft()()
        finally:
            if self.waiting:
                self._ask()


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
LOGIN: Final = 32
LOG: Final = 64
TURN: Final = 128
LATER: Final = 256
DECIDING: Final = 512
MUTED: Final = 1024
# While connections wait for their turn, more bytes than this at once wait for theirs as well; fewer do not take long.
LIGHT: Final = 4096
_RESET: Final = struct.pack("ii", 1, 0)


class SocketOwner(Protocol):
    """The connection that two sockets belong to, as they see it."""

    @property
    def over(self) -> bool:
        """Whether nothing that comes is of use any more."""

    @property
    def received(self) -> tuple[Callable[[bytes], None], Callable[[bytes], None]]:
        """What takes the bytes of the client's socket, and those of the broker's."""

    def made(self, side: SocketHalf) -> None:
        """A socket is connected."""

    def full(self, side: SocketHalf) -> None:
        """The buffer towards this side is full."""

    def drained(self, side: SocketHalf) -> None:
        """There is room in it again."""

    def ended(self, side: SocketHalf) -> bool:
        """A side sends no more; whether its socket stays open for what it still gets."""

    def gone(self, side: SocketHalf, error: Exception | None) -> None:
        """A socket is closed."""


class SocketHalf(asyncio.Protocol):
    """One of the two sockets."""

    __slots__ = ("_late", "_turns", "holds", "lost", "owner", "side", "transport")

    def __init__(self, owner: SocketOwner, side: int, turns: Turns) -> None:
        self.owner = owner
        self._turns = turns
        self._late: list[bytes] = []  # came while others waited for their turn
        self.side = side
        self.transport: asyncio.Transport | None = None
        self.holds = 0
        self.lost = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.transport.set_write_buffer_limits(high=BUFFER)
        self.owner.made(self)

    def data_received(self, data: bytes) -> None:
        if self._late or (len(data) > LIGHT and self._turns.waiting):
            self._later(data)
        else:
            self.owner.received[self.side](data)

    def _later(self, data: bytes) -> None:
        self._late.append(data)
        if len(self._late) == 1:
            self.hold(LATER)
            self._turns.later(self._go_on)

    def _go_on(self) -> None:
        """With what waited for its turn, or because no more will come."""
        if self._late:
            data, self._late = b"".join(self._late), []
            if not self.owner.over:
                self.owner.received[self.side](data)
            self.free(LATER)

    def eof_received(self) -> bool:
        self._go_on()
        stays = self.owner.ended(self)
        return stays and self.transport is not None and self.transport.can_write_eof()  # TLS ends both ways at once

    def connection_lost(self, exc: Exception | None) -> None:
        self._go_on()
        self.lost = True
        self.owner.gone(self, exc)

    def pause_writing(self) -> None:
        self.owner.full(self)

    def resume_writing(self) -> None:
        self.owner.drained(self)

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

    def still(self) -> None:
        """Read nothing as long as there is a reason."""
        if self.holds and self.transport is not None and not self.transport.is_closing():
            self.transport.pause_reading()

    @property
    def local(self) -> str:
        """Our own address of this socket, which is not always the one that clients are told."""
        ours = self.transport.get_extra_info("sockname") if self.transport is not None else None
        return shown(ours[:2]) if ours else ""

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
