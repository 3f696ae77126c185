"""One of the two sockets of a client's connection: read unless there is a reason not to; events go to its owner.

The problem. A client that sends thousands of requests in one piece, or gets as many answers, would occupy the event
loop for as long as all of that takes, and many such clients together for seconds.

The idea. A connection does a bounded piece of work when its bytes come. The rest waits in `Turns`, and so does reading
on from its socket. In every turn of the loop one piece is done, the one that waited longest, between the bytes of all
other connections. Where no others have bytes, turns follow each other at once.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections import deque
from collections.abc import Callable
from typing import Final, Protocol, cast

from kwcli.net.parse_addresses import format_address

# Pieces of work in one turn, of half a millisecond or less: how long others wait, however many pieces there are.
PIECES: Final = 1


class Turns:
    """Pieces of work, for later turns of the event loop; `run_later` is to be called in the running loop."""

    __slots__ = ("_scheduled", "waiting")

    def __init__(self) -> None:
        self.waiting: deque[Callable[[], None]] = deque()  # work beyond what connections may do at once
        self._scheduled = False  # the next turn is scheduled

    def run_later(self, work: Callable[[], None]) -> None:
        """Call `work` in a later turn, after all work that waits already."""
        self.waiting.append(work)
        self._schedule_turn()

    def _schedule_turn(self) -> None:
        if not self._scheduled:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._run_turn)

    def _run_turn(self) -> None:
        """Do the work of one turn; work that is added meanwhile has to wait."""
        self._scheduled = False
        try:
            for _ in range(min(len(self.waiting), PIECES)):
                self.waiting.popleft()()
        finally:
            if self.waiting:
                self._schedule_turn()


# How many bytes may wait in a transport's write buffer; beyond that the other side is not read.
BUFFER: Final = 512 * 1024
# How long (s) a side that is to be closed may take to read what was sent to it.
LINGER_S: Final = 30.0
# Reasons not to read.
BUFFER_FULL: Final = 1
AWAITS_ANSWERS: Final = 2
AWAITS_ROOM: Final = 4
DIALLING: Final = 8
DRAINING: Final = 16
LOGIN: Final = 32
LOG: Final = 64
TURN: Final = 128
LATER: Final = 256
AWAITS_DECISION: Final = 512
MUTED: Final = 1024
# While connections wait for a turn, more bytes than this at once wait for one as well; fewer do not take long.
LIGHT: Final = 4096
_RESET: Final = struct.pack("ii", 1, 0)


class SocketOwner(Protocol):
    """The connection that two sockets belong to, as they see it."""

    @property
    def over(self) -> bool:
        """Whether the connection has ended, so that bytes that still come are dropped."""

    @property
    def receivers(self) -> tuple[Callable[[bytes], None], Callable[[bytes], None]]:
        """The functions that take the bytes of the client's socket, and of the broker's."""

    def connection_made(self, side: SocketHalf) -> None:
        """Called when a socket is connected."""

    def writing_paused(self, side: SocketHalf) -> None:
        """Called when the write buffer towards this side is full."""

    def writing_resumed(self, side: SocketHalf) -> None:
        """Called when the write buffer towards this side has room again."""

    def eof_received(self, side: SocketHalf) -> bool:
        """Called when a side sends no more; whether its socket stays open for what it still gets."""

    def connection_lost(self, side: SocketHalf, error: Exception | None) -> None:
        """Called when a socket is closed."""


class SocketHalf(asyncio.Protocol):
    """One of the two sockets of a client's connection."""

    __slots__ = ("_late", "_turns", "lost", "owner", "pause_reasons", "side", "transport")

    def __init__(self, owner: SocketOwner, side: int, turns: Turns) -> None:
        self.owner = owner
        self._turns = turns
        self._late: list[bytes] = []  # bytes that came while other work waited for its turn
        self.side = side
        self.transport: asyncio.Transport | None = None
        self.pause_reasons = 0
        self.lost = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.transport.set_write_buffer_limits(high=BUFFER)
        self.owner.connection_made(self)

    def data_received(self, data: bytes) -> None:
        if self._late or (len(data) > LIGHT and self._turns.waiting):
            self._receive_later(data)
        else:
            self.owner.receivers[self.side](data)

    def _receive_later(self, data: bytes) -> None:
        self._late.append(data)
        if len(self._late) == 1:
            self.pause_reading(LATER)
            self._turns.run_later(self._deliver_late_bytes)

    def _deliver_late_bytes(self) -> None:
        """Hand over the bytes that waited: it is their turn, or no more bytes will come."""
        if self._late:
            data, self._late = b"".join(self._late), []
            if not self.owner.over:
                self.owner.receivers[self.side](data)
            self.resume_reading(LATER)

    def eof_received(self) -> bool:
        self._deliver_late_bytes()
        stays = self.owner.eof_received(self)
        return stays and self.transport is not None and self.transport.can_write_eof()  # TLS ends both ways at once

    def connection_lost(self, exc: Exception | None) -> None:
        self._deliver_late_bytes()
        self.lost = True
        self.owner.connection_lost(self, exc)

    def pause_writing(self) -> None:
        self.owner.writing_paused(self)

    def resume_writing(self) -> None:
        self.owner.writing_resumed(self)

    def pause_reading(self, reason: int) -> None:
        """Stop reading from this socket, for one more reason."""
        if not self.pause_reasons and self.transport is not None and not self.transport.is_closing():
            self.transport.pause_reading()
        self.pause_reasons |= reason

    def resume_reading(self, reason: int) -> None:
        """Take back a reason; read from this socket again where no other reason is left."""
        if not self.pause_reasons & reason:
            return
        self.pause_reasons &= ~reason
        if not self.pause_reasons and self.transport is not None and not self.transport.is_closing():
            self.transport.resume_reading()

    def pause_again(self) -> None:
        """Pause reading, where there is a reason, although the event loop has begun to read.

        asyncio of Python 3.11.2 (Debian 12) begins to read from a new connection that is paused, and does nothing
        when it is asked to pause it again.
        """
        if self.pause_reasons and self.transport is not None and not self.transport.is_closing():
            self.transport.resume_reading()
            self.transport.pause_reading()

    @property
    def local_address(self) -> str:
        """Our own address of this socket, which is not always the one that clients are told."""
        ours = self.transport.get_extra_info("sockname") if self.transport is not None else None
        return format_address(ours[:2]) if ours else ""

    def close_after_sending(self) -> None:
        """Send what is in the buffer, then close; a side that takes nothing is cut after a while."""
        if self.transport is None or self.lost:
            return
        self.transport.close()
        if self.transport.get_write_buffer_size():
            asyncio.get_running_loop().call_later(LINGER_S, self.transport.abort)

    def reset(self) -> None:
        """Close the connection at once as a crash would: with RST."""
        if self.transport is None or self.lost:
            return
        link = self.transport.get_extra_info("socket")
        if link is not None:
            link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self.transport.abort()
