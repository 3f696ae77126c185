"""What the data path tells whoever logs: the traffic as the client saw it. It is told only, and never waits."""

from __future__ import annotations

import asyncio
from typing import Literal, Protocol

# How a connection ended: as captures say it, or the proxy closed it.
How = Literal["fin", "rst", "proxy"]


class Feed(Protocol):
    """`connection` counts from 1; `side` is CLIENT or SERVER of core/commands.py, whose bytes they are; times in ns."""

    def opened(self, connection: int, client: str, listener: str, upstream: str, time_ns: int) -> None:
        """A client connected to a listener, which leads to `upstream`; all `host:port`."""

    def chunk(self, connection: int, side: int, time_ns: int, data: bytes) -> None:
        """Bytes from the client as they came, or bytes for the client as it gets them."""

    def upstream(self, connection: int, correlation_id: int, sent_ns: int, first_ns: int) -> None:
        """When the broker got the end of a request, and when the first byte of its answer came."""

    def dialled(self, connection: int, local: str, upstream: str, time_ns: int) -> None:
        """Between which addresses the connection to the broker is; before `raw`."""

    def raw(self, connection: int, side: int, time_ns: int, data: bytes) -> None:
        """Bytes for the broker as it gets them, or from the broker as it sent them."""

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        """The loop that runs the proxy."""

    def closed(self, connection: int, how: How, time_ns: int) -> None:
        """The connection is over."""
