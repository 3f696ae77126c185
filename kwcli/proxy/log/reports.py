"""Errors that the log's process finds in answers, back to the data path: a line of JSON for each piece of traffic.

The way back is the socket pair's other direction. Neither side waits for the other: what finds no room is told with the
next piece.
"""

from __future__ import annotations

import json
import socket
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import asyncio

    from decoders.exchanges.exchange import Exchange

__all__ = ["Reporter", "Reports"]

READ: Final = 64 << 10
# No line is as long: 95 APIs with some errors each.
LINE_MOST: Final = 1 << 20

# API, error's name, how many more.
Errors = list[tuple[str, str, int]]


class Reporter:
    """The log's end."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._found: Counter[tuple[str, str]] = Counter()
        self._unsent = b""

    def add(self, exchange: Exchange) -> None:
        """Note its errors, if it has any."""
        for error in exchange.errors:
            self._found[exchange.api or "other", error.name] += 1

    def send(self) -> None:
        """Tell what was noted since, as far as it goes out at once."""
        if self._found and not self._unsent:
            rows = [(api, error, count) for (api, error), count in self._found.items()]
            self._unsent = json.dumps(rows).encode() + b"\n"
            self._found.clear()
        try:
            while self._unsent:
                self._unsent = self._unsent[self._sock.send(self._unsent, socket.MSG_DONTWAIT) :]
        except OSError:
            return  # later, or to nobody


class Reports:
    """The data path's end: `told` gets what comes."""

    def __init__(self, sock: socket.socket, told: Callable[[Errors], None]) -> None:
        self._sock = sock
        self._told = told
        self._loop: asyncio.AbstractEventLoop | None = None
        self._line = b""

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        """Listen from now on."""
        self._loop = loop
        loop.add_reader(self._sock.fileno(), self._read)

    def detach(self) -> None:
        """Listen no more: before the socket is closed."""
        loop, self._loop = self._loop, None
        if loop is not None and not loop.is_closed() and self._sock.fileno() >= 0:
            loop.remove_reader(self._sock.fileno())

    def _read(self) -> None:
        try:
            data = self._sock.recv(READ)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data or len(self._line) > LINE_MOST:
            self.detach()
            return
        *lines, self._line = (self._line + data).split(b"\n")
        for line in lines:
            self._told([(api, error, count) for api, error, count in json.loads(line)])
