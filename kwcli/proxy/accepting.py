"""A listener's socket in, clients accepted out; or refused, as by the broker itself, while that does not answer.

The problem. A client that is accepted and closed at once takes that for a fault of this connection and tries again,
hundreds of times a second; one that is refused waits, longer each time.

The idea. As long as no broker of a listener can be reached, its socket does not listen, but stays bound:

```
listening ── no broker answers ──▶ refusing ── probe after 0.1 s, then longer, to 2 s ──▶ a broker answers ── listening
    └────── a login was refused ──▶ nobody tries for 1 s, then longer, to 30 s: the account may be locked otherwise
```

What always holds: no other program gets the port meanwhile.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from kwcli.env import Failure
from kwcli.net.addresses import shown
from kwcli.net.config.client_config import Address
from kwcli.net.listening import BACKLOG

if TYPE_CHECKING:
    from kwcli.net.session.aio import Dialler

BACKOFF_FIRST_S: Final = 1.0
BACKOFF_MOST_S: Final = 30.0


class LoginBackoff:
    """`now_s` is a clock that never goes back."""

    def __init__(self, now_s: Callable[[], float]) -> None:
        self._now_s = now_s
        self._known: dict[Address, tuple[float, float]] = {}  # until when, and how long that was

    def begin(self, address: Address) -> float | None:
        """A login failed: so many seconds nobody tries again; None where that is settled already."""
        until, last_s = self._known.get(address, (0.0, 0.0))
        if self._now_s() < until:
            return None
        length_s = min(max(2 * last_s, BACKOFF_FIRST_S), BACKOFF_MOST_S)
        self._known[address] = (self._now_s() + length_s, length_s)
        return length_s

    def end(self, address: Address) -> None:
        """A login was taken."""
        self._known.pop(address, None)

    def holds(self, address: Address) -> bool:
        """Whether nobody should try now."""
        return address in self._known and self._now_s() < self._known[address][0]


class Reached(NamedTuple):
    """`target` is who took it; `failures` what others said, `paused` who is not asked at the moment."""

    target: Address | None
    failures: Sequence[str]
    paused: Sequence[str]


async def dial_first(
    targets: Sequence[Address], dialler: Dialler, backoff: LoginBackoff, factory: Callable[[], asyncio.Protocol]
) -> Reached:
    """One after the other, until one takes it."""
    failures, paused = [], []
    for target in targets:
        if backoff.holds(target):
            paused.append(f"{shown(target)} did not take the proxy's login; it is not asked again for a while")
            continue
        try:
            await dialler.dial(target, factory)
        except Failure as failure:
            failures.append(failure.text)
            continue
        return Reached(target, failures, paused)
    return Reached(None, failures, paused)


# The system answers every SYN to a bound socket that does not listen with RST; without SO_REUSEADDR no other program
# can take the port. Connections that are open already go on. Where a system cannot stop a socket from listening,
# clients are accepted and reset.


FIRST_S: Final = 0.1
MOST_S: Final = 2.0


class Server(Protocol):
    """What accepts on a socket."""

    def close(self) -> None:
        """Accept no more."""


class Acceptor:
    """`serve` makes a server on a socket that listens; `answers` asks whether a broker can be reached.

    `say` gets what is to be said to people, and the details of this time; `changed` whether clients are let in.
    """

    def __init__(
        self,
        sock: socket.socket,
        serve: Callable[[socket.socket], Awaitable[Server]],
        answers: Callable[[], Awaitable[bool]],
        say: Callable[[str, str], None],
        changed: Callable[[bool], None],
    ) -> None:
        self._sock = sock
        self._serve = serve
        self._answers = answers
        self._say = say
        self._changed = changed
        self._server: Server | None = None
        self._probing: asyncio.Task[None] | None = None
        self._over = False

    async def begin(self) -> None:
        """Accept clients."""
        server = await self._serve(self._sock.dup())
        if self._over:
            server.close()
        else:
            self._server = server

    @property
    def refusing(self) -> bool:
        """Whether nobody is let in at the moment."""
        return self._probing is not None

    def refuse(self) -> bool:
        """Nobody is let in from now on, until the broker answers; False where that is so already."""
        if self._over or self._probing is not None:
            return False
        if stop_listening(self._sock) and self._server is not None:
            self._server.close()
            self._server = None
        self._changed(False)
        self._probing = asyncio.get_running_loop().create_task(self._probe())
        return True

    async def _probe(self) -> None:
        begun = asyncio.get_running_loop().time()
        pause_s = FIRST_S
        while True:
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, MOST_S)
            if await self._answers():
                try:
                    await self._again()
                except OSError as error:
                    self._say("cannot listen again, which is tried until it can", f": {error.strerror}")
                    continue
                break
        self._probing = None
        self._changed(True)
        self._say("clients are let in again", f", after {asyncio.get_running_loop().time() - begun:.1f} s")

    async def _again(self) -> None:
        if self._server is None:
            listen_again(self._sock)
            await self.begin()

    def close(self) -> None:
        """Let nobody in any more; the port is free then."""
        self._over = True
        if self._probing is not None:
            self._probing.cancel()
        if self._server is not None:
            self._server.close()
        with suppress(OSError):
            stop_listening(self._sock)
        self._sock.close()


def stop_listening(sock: socket.socket) -> bool:
    """Have connections to the socket's port refused, and the port kept; False where the system cannot."""
    try:
        sock.shutdown(socket.SHUT_RD)
    except OSError:
        return False
    # While nobody listens, a program with SO_REUSEADDR could bind the port as well if we had it too.
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 0)
    return True


def listen_again(sock: socket.socket) -> None:
    """Undo that. Raises OSError."""
    # Connections that are open keep the port in use: for those we need it.
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.listen(BACKLOG)
