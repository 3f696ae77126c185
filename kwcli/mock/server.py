"""Mocked brokers as a running program: sockets, the clock, signals; what they say is of decoders/mocking."""

from __future__ import annotations

import asyncio
import signal
import socket
import time
from typing import TYPE_CHECKING, Any, Final, cast

from kwcli.env import Environment, Exit
from kwcli.net.addresses import shown

if TYPE_CHECKING:
    from decoders.mocking.broker import MockBrokers, MockConnection

__all__ = ["MockServer"]

# More clients than these are turned away.
_CONNECTIONS_MAX: Final = 10_000
# From so many bytes on that a client has not read, it is answered no more until it does.
_WRITTEN_MAX: Final = 1 << 20


class MockServer:
    """`serve` gives the exit code when it was told to end."""

    def __init__(
        self, env: Environment, brokers: MockBrokers, sockets: dict[int, socket.socket], *, quiet: bool
    ) -> None:
        self.brokers = brokers
        self.connections: dict[MockConnection, MockProtocol] = {}
        self._env = env
        self._sockets = sockets
        self._quiet = quiet
        self._ended: asyncio.Event | None = None
        self._timer: asyncio.TimerHandle | None = None

    def serve(self, ready: str) -> Exit:
        """Serve until a signal, after having said that it is ready."""
        try:
            return asyncio.run(self._run(ready))
        finally:
            for sock in self._sockets.values():
                sock.close()

    async def _run(self, ready: str) -> Exit:
        loop = asyncio.get_running_loop()
        self._ended = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._ended.set)
        servers = [
            await loop.create_server(lambda node=node: MockProtocol(self, node), sock=sock)  # type: ignore[misc]
            for node, sock in self._sockets.items()
        ]
        self._env.say(ready)
        await self._ended.wait()
        for server in servers:
            server.close()
        for protocol in list(self.connections.values()):
            protocol.close()
        await asyncio.sleep(0)
        return Exit.DONE

    @staticmethod
    def now_ms() -> int:
        """The time that records and markers get."""
        return time.time_ns() // 1_000_000

    def settle(self) -> None:
        """Send what is to be sent, and set the clock for what is due next."""
        brokers = self.brokers
        for connection in brokers.take_changed():
            protocol = self.connections.get(connection)
            if protocol is not None:
                protocol.settle()
        notes, brokers.cluster.notes = brokers.cluster.notes, []
        for text in notes:
            self._env.say(f"kw: {text}")
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if (due := brokers.next_ms) is not None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(max(due - self.now_ms(), 0) / 1000 + 0.001, self._tick)

    def _tick(self) -> None:
        self._timer = None
        self.brokers.tick(self.now_ms())
        self.settle()

    def tell(self, connection: MockConnection, node: int) -> None:
        """Say why a client's connection was closed, where it did not do so itself."""
        if not self._quiet:
            self._env.say(
                f"kw: connection {connection.number} of {connection.client} to node {node}: {connection.closed}"
            )


class MockProtocol(asyncio.Protocol):
    """One client."""

    def __init__(self, server: MockServer, node: int) -> None:
        self._server = server
        self._node = node
        self._transport: asyncio.Transport | None = None
        self._connection: MockConnection | None = None
        self._reading = True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client has come."""
        self._transport = cast(asyncio.Transport, transport)
        if len(self._server.connections) >= _CONNECTIONS_MAX:
            self._transport.abort()
            return
        self._transport.set_write_buffer_limits(high=_WRITTEN_MAX)
        peer: Any = self._transport.get_extra_info("peername") or ("", 0)
        self._connection = self._server.brokers.connect(self._node, shown(peer[:2]))
        self._server.connections[self._connection] = self

    def data_received(self, data: bytes) -> None:
        """Bytes of it."""
        if self._connection is not None:
            self._server.brokers.receive(self._connection, data, self._server.now_ms())
            self._server.settle()

    def settle(self) -> None:
        """Send what is to be sent, stop or go on reading, close."""
        transport, connection = self._transport, self._connection
        if transport is None or connection is None:
            return
        if connection.out and not transport.is_closing():
            transport.write(connection.take_output())
        if connection.closed is not None:
            self._server.connections.pop(connection, None)
            if not transport.is_closing():
                self._server.tell(connection, self._node)
                transport.close()
        elif connection.is_full is self._reading:
            self._reading = not connection.is_full
            (transport.resume_reading if self._reading else transport.pause_reading)()

    def pause_writing(self) -> None:
        """It does not read."""
        if self._connection is not None:
            self._connection.blocked = True

    def resume_writing(self) -> None:
        """It reads again."""
        if self._connection is not None and self._connection.closed is None:
            self._server.brokers.unblock(self._connection, self._server.now_ms())
            self._server.settle()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002  # asyncio's signature
        """It has gone."""
        connection, self._connection = self._connection, None
        if connection is not None:
            self._server.connections.pop(connection, None)
            self._server.brokers.disconnect(connection)
            self._server.settle()

    def close(self) -> None:
        """End it, as the program ends."""
        if self._transport is not None:
            self._transport.close()
