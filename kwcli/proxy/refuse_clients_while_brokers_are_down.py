"""A listener's socket in; clients out, accepted, or refused as by the broker itself while no broker answers.

The problem. A client that is accepted and closed at once takes that for a fault of this connection and tries again,
hundreds of times a second; a client that is refused waits, longer each time.

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
from typing import TYPE_CHECKING, Final, Protocol

from decoders.named_tuple import NamedTuple
from kwcli.net.config.client_config import Address
from kwcli.net.listening_sockets import BACKLOG
from kwcli.net.parse_addresses import format_address
from kwcli.run_environment import Failure

if TYPE_CHECKING:
    from kwcli.net.session.open_asyncio_connections import Dialler

BACKOFF_FIRST_S: Final = 1.0
BACKOFF_MOST_S: Final = 30.0


class LoginBackoff:
    """The pauses after failed logins, by broker; `now_s` is a clock that never goes back."""

    def __init__(self, now_s: Callable[[], float]) -> None:
        self._now_s = now_s
        self._known: dict[Address, tuple[float, float]] = {}  # when the pause ends, and its length

    def begin_pause(self, address: Address) -> float | None:
        """Begin the pause after a failed login; its length in seconds, None where a pause goes on already."""
        until, last_s = self._known.get(address, (0.0, 0.0))
        if self._now_s() < until:
            return None
        length_s = min(max(2 * last_s, BACKOFF_FIRST_S), BACKOFF_MOST_S)
        self._known[address] = (self._now_s() + length_s, length_s)
        return length_s

    def forget_broker(self, address: Address) -> None:
        """Forget the pauses of a broker that took a login."""
        self._known.pop(address, None)

    def is_paused(self, address: Address) -> bool:
        """Whether the broker's pause goes on, so that nobody should try to log in."""
        return address in self._known and self._now_s() < self._known[address][0]


class Reached(NamedTuple):
    """The result of dialling. `target` took the connection; `failures` and `paused` are texts, about other targets."""

    target: Address | None
    failures: Sequence[str]
    paused: Sequence[str]


async def dial_first_reachable(
    targets: Sequence[Address],
    dialler: Dialler,
    backoff: LoginBackoff,
    factory: Callable[[], asyncio.Protocol],
    head: bytes | None = None,
) -> Reached:
    """Dial the targets one after the other, until one takes the connection, which begins with `head`."""
    failures, paused = [], []
    for target in targets:
        if backoff.is_paused(target):
            paused.append(f"{format_address(target)} refused the proxy's login; the proxy waits before it tries again")
            continue
        try:
            await dialler.dial(target, factory, head)
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
    """A server that accepts on a socket."""

    def close(self) -> None:
        """Accept no more."""


class Acceptor:
    """Accepts or refuses the clients of a listener. `serve` makes a server on a socket that listens.

    `answers` asks whether a broker can be reached. `say` gets a text for people, and its details this time; `changed`
    gets whether clients are let in.
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

    async def begin_accepting(self) -> None:
        """Begin to accept clients."""
        server = await self._serve(self._sock.dup())
        if self._over:
            server.close()
        else:
            self._server = server

    @property
    def is_refusing(self) -> bool:
        """Whether clients are refused at the moment."""
        return self._probing is not None

    def begin_refusing(self) -> bool:
        """Refuse clients from now on, until a broker answers; False where they are refused already."""
        if self._over or self._probing is not None:
            return False
        if stop_listening(self._sock) and self._server is not None:
            self._server.close()
            self._server = None
        self._changed(False)
        self._probing = asyncio.get_running_loop().create_task(self._probe_until_broker_answers())
        return True

    async def _probe_until_broker_answers(self) -> None:
        begun = asyncio.get_running_loop().time()
        pause_s = FIRST_S
        while True:
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, MOST_S)
            if await self._answers():
                try:
                    await self._accept_clients_again()
                except OSError as error:
                    self._say("cannot listen again yet; the proxy keeps trying", f": {error.strerror}")
                    continue
                break
        self._probing = None
        self._changed(True)
        self._say(
            "a broker answers, clients are let in again", f", after {asyncio.get_running_loop().time() - begun:.1f} s"
        )

    async def _accept_clients_again(self) -> None:
        if self._server is None:
            listen_again(self._sock)
            await self.begin_accepting()

    def close(self) -> None:
        """Stop accepting for good, and free the port."""
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
    """Listen again after `stop_listening`. Raises OSError."""
    # Open connections keep the port in use, so listening on it again needs this.
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.listen(BACKLOG)
