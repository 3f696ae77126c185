"""Mocked brokers as a running program: sockets, the clock, signals; their answers are made by decoders/mocking.

Every connection's bytes go to the log (kwcli/proxy/log) as they come and go, so that its rows and files are like those
of `kw proxy`: a client's bytes before the brokers see them, an answer's bytes as they are sent.
"""

from __future__ import annotations

import asyncio
import signal
import socket
import time
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

from kwcli.net.listening_sockets import BACKLOG
from kwcli.net.parse_addresses import format_address
from kwcli.net.session.open_asyncio_connections import AcceptingServer, make_prepare_without_head
from kwcli.proxy.log.log_queue import CLIENT, SERVER, LogQueue, now_ns
from kwcli.proxy.repeated_messages import RepeatFilter
from kwcli.run_environment import Environment, Exit

if TYPE_CHECKING:
    from decoders.mocking.client_connections import MockBrokers, MockConnection
    from kwcli.proxy.tls.listener_tls_contexts import Inbound

__all__ = ["MockServer"]

# More connections than this are turned away.
_CONNECTIONS_MAX: Final = 10_000
# A client with more unread bytes than this is not answered any more until it reads.
_WRITTEN_MAX: Final = 1 << 20
# Time limit of a client's TLS handshake.
_GREETING_S: Final = 10.0
# How often (s) to look for lines that came again, to be said with their count.
_FOLD_S: Final = 1.0


class MockServer:
    """Serves mocked brokers until a signal. `log_queue` logs their traffic; with `tls` listeners speak TLS."""

    def __init__(
        self,
        env: Environment,
        brokers: MockBrokers,
        sockets: dict[int, socket.socket],
        *,
        tls: Inbound | None = None,
        log_queue: LogQueue | None = None,
        verbose: int,
        quiet: bool,
    ) -> None:
        self.brokers = brokers
        self.log_queue = log_queue
        self.paused = False
        self.connections: dict[MockConnection, MockProtocol] = {}
        self._env = env
        self._sockets = sockets
        self._tls = tls
        self._verbose = verbose
        self._quiet = quiet
        self._repeats = RepeatFilter(time.monotonic, self._report_and_log)
        self._ended: asyncio.Event | None = None
        self._timer: asyncio.TimerHandle | None = None
        if log_queue is not None:
            log_queue.pause = self.pause_reading_of_all

    def serve(self, ready: str) -> Exit:
        """Say `ready`, then serve until a signal; the exit code."""
        return asyncio.run(self._serve_until_signal(ready))

    async def _serve_until_signal(self, ready: str) -> Exit:
        loop = asyncio.get_running_loop()
        self._ended = asyncio.Event()
        if self.log_queue is not None:
            self.log_queue.attach(loop)
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._ended.set)
        servers = [await self._start_server(node, sock) for node, sock in self._sockets.items()]
        self._report_repeats_every_second()
        self._env.report(ready)
        await self._ended.wait()
        for server in servers:
            server.close()
        for protocol in list(self.connections.values()):
            protocol.close()
        await asyncio.sleep(0)
        if not self._quiet:
            self._repeats.finish()
        return Exit.DONE

    async def _start_server(self, node: int, sock: socket.socket) -> asyncio.Server | AcceptingServer:
        factory = partial(MockProtocol, self, node)
        tls = self._tls
        if tls is None:
            return await asyncio.get_running_loop().create_server(factory, sock=sock, backlog=BACKLOG)
        return AcceptingServer(
            sock,
            lambda: tls.context_for_next_connection,
            make_prepare_without_head(factory),
            self._report_failed_handshake,
            timeout_s=_GREETING_S,
        )

    def _report_failed_handshake(self, peer: str, error: BaseException) -> None:
        assert self._tls is not None
        text = f"refused: the client {self._tls.explain_failed_handshake(error)}"
        self._repeats.say_unless_repeated(
            f"connection from {peer.rpartition(':')[0]} {text}", f"connection from {peer} {text}"
        )

    def _report_repeats_every_second(self) -> None:
        self._repeats.say_due_counts()
        asyncio.get_running_loop().call_later(_FOLD_S, self._report_repeats_every_second)

    @staticmethod
    def now_ms() -> int:
        """The current time in ms, which records and markers get."""
        return time.time_ns() // 1_000_000

    def send_output(self) -> None:
        """Send what the brokers have to send, and set the timer for what is due next."""
        brokers = self.brokers
        for connection in brokers.take_changed_connections():
            protocol = self.connections.get(connection)
            if protocol is not None:
                protocol.send_output()
        notes, brokers.cluster.notes = brokers.cluster.notes, []
        for text in notes:
            self._report_and_log(text)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if (due := brokers.next_ms) is not None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(max(due - self.now_ms(), 0) / 1000 + 0.001, self._run_due_timers)

    def _run_due_timers(self) -> None:
        self._timer = None
        self.brokers.tick(self.now_ms())
        self.send_output()

    def pause_reading_of_all(self, paused: bool) -> None:
        """Stop reading from all connections, or read on, as the log asks for it."""
        self.paused = paused
        for protocol in self.connections.values():
            protocol.pause_or_resume_reading()

    def report_connection(self, connection: MockConnection, text: str, *, loud: bool) -> None:
        """Say what happened to a connection; without -v only where it is `loud`."""
        line = f"connection {connection.number} of {connection.client} to node {connection.node}: {text}"
        if self._verbose:
            self._report_and_log(line)
        elif loud and not self._quiet:
            self._repeats.say_unless_repeated(f"(node {connection.node}): {text}", line)

    def _report_and_log(self, text: str) -> None:
        self._env.report(f"kw: {text}")
        if self.log_queue is not None:
            self.log_queue.log_event(0, text, now_ns())


class MockProtocol(asyncio.Protocol):
    """One client's connection to a mocked broker."""

    def __init__(self, server: MockServer, node: int) -> None:
        self._server = server
        self._log_queue = server.log_queue
        self._node = node
        self._transport: asyncio.Transport | None = None
        self._connection: MockConnection | None = None
        self._reading = True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Register a client that has connected, or turn it away."""
        self._transport = cast(asyncio.Transport, transport)
        server = self._server
        if len(server.connections) >= _CONNECTIONS_MAX:
            self._transport.abort()
            return
        self._transport.set_write_buffer_limits(high=_WRITTEN_MAX)
        connection = self._connection = server.brokers.connect(self._node, self._format_socket_address("peername"))
        server.connections[connection] = self
        server.report_connection(connection, "opened", loud=False)
        if self._log_queue is not None:
            self._log_queue.log_connection_opened(
                connection.number, connection.client, self._format_socket_address("sockname"), "", now_ns()
            )
            link: Any = transport.get_extra_info("ssl_object")
            if link is not None:
                self._log_queue.log_tls(connection.number, link.version(), link.cipher()[0], now_ns())
        self.pause_or_resume_reading()

    def _format_socket_address(self, end: str) -> str:
        assert self._transport is not None
        found: Any = self._transport.get_extra_info(end) or ("", 0)
        return format_address(found[:2])

    def data_received(self, data: bytes) -> None:
        """Hand the client's bytes to the mocked brokers."""
        if self._connection is not None:
            if self._log_queue is not None:
                self._log_queue.log_client_bytes(self._connection.number, CLIENT, now_ns(), data)
            self._server.brokers.feed(self._connection, data, self._server.now_ms())
            self._server.send_output()

    def send_output(self) -> None:
        """Send the connection's output; then stop reading, read on, or close."""
        transport, connection = self._transport, self._connection
        if transport is None or connection is None:
            return
        if connection.out and not transport.is_closing():
            data = connection.take_output()
            if self._log_queue is not None:
                self._log_queue.log_client_bytes(connection.number, SERVER, now_ns(), data)
            transport.write(data)
        if connection.closed is None:
            self.pause_or_resume_reading()
        elif not transport.is_closing():
            self._end_connection(connection, "mock", connection.closed, loud=True)
            transport.close()

    def pause_or_resume_reading(self) -> None:
        """Stop reading or read on, as the connection and the log need it."""
        transport, connection = self._transport, self._connection
        if transport is None or connection is None or transport.is_closing():
            return
        wanted = not (connection.is_full or self._server.paused)
        if wanted is not self._reading:
            self._reading = wanted
            (transport.resume_reading if wanted else transport.pause_reading)()

    def pause_writing(self) -> None:
        """Note that the client does not read its answers."""
        if self._connection is not None:
            self._connection.blocked = True

    def resume_writing(self) -> None:
        """Go on with the connection: the client reads again."""
        if self._connection is not None and self._connection.closed is None:
            self._server.brokers.unblock_connection(self._connection, self._server.now_ms())
            self._server.send_output()

    def connection_lost(self, exc: Exception | None) -> None:
        """Disconnect a client that has gone."""
        connection = self._connection
        if connection is not None:
            verb = "closed" if exc is None else "reset"
            self._end_connection(
                connection, "fin" if exc is None else "rst", f"the client {verb} the connection", loud=False
            )
            self._server.brokers.disconnect(connection)
            self._server.send_output()

    def _end_connection(self, connection: MockConnection, how: str, reason: str, *, loud: bool) -> None:
        """Forget the connection, and report its end once."""
        self._connection = None
        self._server.connections.pop(connection, None)
        self._server.report_connection(connection, reason, loud=loud)
        if self._log_queue is not None:
            self._log_queue.log_connection_closed(connection.number, how, now_ns(), reason)

    def close(self) -> None:
        """Close the connection: the mock ends."""
        if self._connection is not None:
            self._end_connection(self._connection, "mock", "the mock ends", loud=False)
        if self._transport is not None:
            self._transport.close()
