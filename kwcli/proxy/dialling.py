"""A broker's address in, a connected transport out; every failure is one line that says what to look at."""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Callable
from typing import Final

from kwcli.exits import Exit, Failure
from kwcli.net.core.addresses import shown
from kwcli.net.core.config import Address, ClientConfig

_REASONS: Final = {
    errno.ECONNREFUSED: "refused the connection",
    errno.EHOSTUNREACH: "is unreachable: no route to the host",
    errno.ENETUNREACH: "is unreachable: no route to its network",
    errno.EMFILE: "cannot be reached: too many files are open (ulimit -n)",
}


class Dialler:
    """The way from here to brokers: names that stand for other addresses, and how long to wait."""

    def __init__(self, config: ClientConfig) -> None:
        self._config = config

    async def dial(self, address: Address, factory: Callable[[], asyncio.Protocol]) -> asyncio.Transport:
        """A transport whose protocol comes from `factory`. Raises Failure."""
        host, port = self._config.dial_map.get(address, address)
        loop = asyncio.get_running_loop()
        text = shown(address) if (host, port) == address else f"{shown(address)} (dialled {shown((host, port))})"
        seconds = self._config.connect_timeout_s
        try:
            async with asyncio.timeout(seconds):
                transport, _ = await loop.create_connection(factory, host, port)
        except TimeoutError:
            raise Failure(f"{text} did not take the connection within {seconds:.3g} s", Exit.TIMEOUT) from None
        except (socket.gaierror, UnicodeError):
            raise Failure(f"{text}: no address for {host!r} (--dial-map tells where it is)", Exit.UNREACHABLE) from None
        except OSError as error:
            reason = _REASONS.get(error.errno or 0) or f"cannot be reached: {error.strerror or error}"
            raise Failure(f"{text} {reason}", Exit.UNREACHABLE) from None
        return transport
