"""Addresses and settings in, connected asyncio transports and login mechanisms out: the proxy's way to brokers.

Every failure is a Failure of one line that begins with the address, in the words of `kw call`. Calls that may take long
and cannot be interrupted (name servers, token endpoints, Kerberos) run in threads, bounded by a deadline.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Final

from decoders.errors import strip_traceback
from kwcli.net.command_deadline import Deadline
from kwcli.net.config.client_config import Address, ClientConfig, TlsSettings
from kwcli.net.open_connections import (
    Connector,
    Place,
    make_own_proxy_head,
    make_unreachable_failure,
    resolve_address,
)
from kwcli.net.parse_addresses import format_address
from kwcli.run_environment import Exit, Failure

if TYPE_CHECKING:
    import ssl

    from kwcli.net.sasl.mechanism import Mechanism

# Mechanisms that need no network.
_AT_ONCE: Final = frozenset({"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"})

_ACCEPT_AGAIN_S: Final = 0.5

Factory = Callable[[], asyncio.Protocol]
# The factory of a new connection's protocol, after what comes before its own bytes; None: nothing more will come.
Prepare = Callable[[socket.socket, Address], Awaitable[Factory | None]]


class Dialler:
    """The way to the brokers of one cluster. Failure (usage) at once where the TLS settings make no sense."""

    def __init__(self, config: ClientConfig) -> None:
        self._config = config
        self._tls = config.tls or TlsSettings()
        self._context: ssl.SSLContext | None = None
        if "SSL" in config.protocol:
            from kwcli.net.tls_connect import make_client_context

            self._context = make_client_context(self._tls)

    async def dial(self, address: Address, factory: Factory, head: bytes | None = None) -> asyncio.Transport:
        """A transport whose protocol comes from `factory`, speaking TLS where that is wanted. Raises Failure.

        `head` is the PROXY head that is sent first (empty: none); by default one that names nobody, where heads are
        sent. The broker's certificate is checked against the host of `address`, wherever --dial-map leads.
        """
        connector = Connector(address, self._config)
        deadline = Deadline(self._config.connect_timeout_s, time.monotonic)
        link = await self._connect_socket(connector, deadline)
        loop = asyncio.get_running_loop()
        head = make_own_proxy_head(self._config) if head is None else head
        if head:
            await _send_head(link, head, connector, deadline)
        if self._context is None:
            transport, _ = await loop.create_connection(factory, sock=link)
            return transport
        name = self._tls.server_name or address[0]
        try:
            async with asyncio.timeout(max(deadline.left(), 0.001)):
                transport, _ = await loop.create_connection(factory, sock=link, ssl=self._context, server_hostname=name)
        except TimeoutError:
            text = f"{connector.address_text} did not finish the TLS handshake within {deadline.seconds:.3g} s"
            raise Failure(f"{text}; does it speak TLS?", Exit.TIMEOUT) from None
        except OSError as error:
            from kwcli.net.tls_connect import explain_tls_error

            raise connector.make_failure(explain_tls_error(error, self._tls, name)) from None
        return transport

    def make_head(self, client: str, target: str) -> bytes:
        """The PROXY head of a connection for a client that had dialled `target` (host:port); empty: none is sent."""
        if self._config.send_proxy is None:
            return b""
        from decoders.protocols.make_proxy_head import make_proxy_head

        return make_proxy_head(self._config.send_proxy, client, target)

    def describe_tls_alert(self, address: Address, error: BaseException | None) -> str | None:
        """The broker's alert about our certificate, which TLS 1.3 brings only after our first bytes; else None."""
        if not isinstance(error, OSError):
            return None
        connector = Connector(address, self._config)
        stop = connector.find_tls_alert(error)
        return None if stop is None else stop.format_line(connector.address_text)

    async def _connect_socket(self, connector: Connector, deadline: Deadline) -> socket.socket:
        target = self._config.dial_map.get(connector.address, connector.address)
        loop = asyncio.get_running_loop()
        if _is_ip_address(target[0]):
            places = resolve_address(target, connector.address_text, deadline)
        else:
            places = await loop.run_in_executor(None, resolve_address, target, connector.address_text, deadline)
        failures: list[OSError] = []
        for left_over, place in zip(range(len(places), 0, -1), places, strict=True):
            try:
                async with asyncio.timeout(max(deadline.left() / left_over, 0.001)):
                    return await _connect_without_blocking(place)
            except OSError as error:  # TimeoutError is one
                failures.append(strip_traceback(error))
        raise make_unreachable_failure(connector.address_text, failures, deadline)


class Logins:
    """Fresh mechanisms for the connections of one cluster; tokens are shared while they are good."""

    def __init__(self, config: ClientConfig) -> None:
        from kwcli.net.session.mechanism_factory import make_credentials

        assert config.sasl is not None
        self._config = config
        self._sasl = config.sasl
        self._make_credentials_if_sasl = make_credentials(config)

    async def make_mechanism(self, address: Address) -> Mechanism:
        """A mechanism for one login to the broker at `address`; its first message is made already. Raises Failure."""
        if self._sasl.mechanism in _AT_ONCE:
            return self._make_mechanism(address)
        return await asyncio.get_running_loop().run_in_executor(None, self._make_mechanism, address)

    def _make_mechanism(self, address: Address) -> Mechanism:
        from kwcli.net.sasl.mechanism import SaslRefused
        from kwcli.net.session.mechanism_factory import BegunMechanism, SaslLogin
        from kwcli.net.session.sasl_authentication import make_failed_login_stop

        deadline = Deadline(self._config.timeout_s, time.monotonic)
        made = SaslLogin(self._sasl, address, deadline, self._make_credentials_if_sasl)()
        try:
            return BegunMechanism(made)
        except SaslRefused as refused:
            stop = make_failed_login_stop(self._sasl.mechanism, refused)
            raise Failure(stop.format_line(Connector(address, self._config).address_text), stop.code) from None


def make_prepare_without_head(factory: Factory) -> Prepare:
    """A `Prepare` for connections whose own bytes come first."""

    async def prepare(_link: socket.socket, _peer: Address) -> Factory:
        return factory

    return prepare


class AcceptingServer:
    """Accepts connections on a socket that listens, and does what comes first before a protocol gets them.

    That is what `prepare` takes from the socket, and the TLS handshake where `context` gives a context. asyncio's own
    servers do not report what fails in it: `failed` gets the client's address and the error.
    """

    def __init__(
        self,
        sock: socket.socket,
        context: Callable[[], ssl.SSLContext | None],
        prepare: Prepare,
        failed: Callable[[str, BaseException], None],
        *,
        timeout_s: float,
    ) -> None:
        """Begin to accept at once, in the running loop; `context` and `prepare` are called for each connection."""
        self._sock = sock
        self._context = context
        self._prepare = prepare
        self._failed = failed
        self._timeout_s = timeout_s
        self._tasks: set[asyncio.Task[None]] = set()
        self._start_task(self._accept())

    def close(self) -> None:
        """Accept no more, and give up connections that are not open yet."""
        for task in self._tasks:
            task.cancel()
        self._sock.close()

    def _start_task(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                link, peer = await loop.sock_accept(self._sock)
            except OSError as error:  # too many open files: later there may be fewer
                loop.call_exception_handler({"message": "socket.accept() failed", "exception": error})
                await asyncio.sleep(_ACCEPT_AGAIN_S)
                continue
            self._start_task(self._open_connection(link, peer[:2]))

    async def _open_connection(self, link: socket.socket, peer: Address) -> None:
        try:
            factory = await self._prepare(link, peer)
        except (OSError, Failure) as error:
            link.close()
            self._failed(format_address(peer), error)
            return
        except BaseException:
            link.close()
            raise
        if factory is None:
            link.close()
            return
        context = self._context()
        limit_s = None if context is None else self._timeout_s
        try:
            await asyncio.get_running_loop().connect_accepted_socket(
                factory, link, ssl=context, ssl_handshake_timeout=limit_s
            )
        except (OSError, Failure) as error:
            self._failed(format_address(peer), error)


def _is_ip_address(host: str) -> bool:
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            socket.inet_pton(family, host)
        except (OSError, ValueError):
            continue
        return True
    return False


async def _send_head(link: socket.socket, head: bytes, connector: Connector, deadline: Deadline) -> None:
    """Send the PROXY head of a connection. Raises Failure."""
    try:
        async with asyncio.timeout(max(deadline.left(), 0.001)):
            await asyncio.get_running_loop().sock_sendall(link, head)
    except OSError as error:  # TimeoutError is one
        link.close()
        raise make_unreachable_failure(connector.address_text, [strip_traceback(error)], deadline) from None
    except BaseException:
        link.close()
        raise


async def _connect_without_blocking(place: Place) -> socket.socket:
    family, where = place
    link = socket.socket(family, socket.SOCK_STREAM)
    try:
        link.setblocking(False)
        link.connect_ex(where)  # within one machine it is done then, and not waited for (tests/bench/fairness.py)
        await asyncio.get_running_loop().sock_connect(link, where)
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except BaseException:
        link.close()
        raise
    return link
