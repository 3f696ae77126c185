"""Addresses and settings in, connected asyncio transports and mechanisms to log in by out: the proxy's way to brokers.

Every failure is a Failure of one line that begins with the address, in the words of `kw call`. What may take its time
and cannot be asked to stop (name servers, token endpoints, Kerberos) runs in threads, bounded by a deadline.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, cast

from kwcli.exits import Exit, Failure
from kwcli.net.core.config import Address, ClientConfig, Tls
from kwcli.net.deadline import Deadline
from kwcli.net.dialling import Place, resolve, unreachable
from kwcli.net.way import Way

if TYPE_CHECKING:
    import ssl

    from kwcli.net.core.sasl.mechanism import Mechanism

# These need nothing but what is known already.
_AT_ONCE: Final = frozenset({"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"})

Factory = Callable[[], asyncio.Protocol]


class Dialler:
    """The way to the brokers of one cluster. Failure (usage) at once where the TLS settings make no sense."""

    def __init__(self, config: ClientConfig) -> None:
        self._config = config
        self._tls = config.tls or Tls()
        self._context: ssl.SSLContext | None = None
        if "SSL" in config.protocol:
            from kwcli.net.tls import client_context

            self._context = client_context(self._tls)

    async def dial(self, address: Address, factory: Factory) -> asyncio.Transport:
        """A transport whose protocol comes from `factory`, speaking TLS where that is wanted. Raises Failure.

        The broker's certificate is held against the host of `address`, wherever --dial-map leads.
        """
        way = Way(address, self._config)
        deadline = Deadline(self._config.connect_timeout_s, time.monotonic)
        link = await self._connected(way, deadline)
        loop = asyncio.get_running_loop()
        if self._context is None:
            transport, _ = await loop.create_connection(factory, sock=link)
            return transport
        name = self._tls.server_name or address[0]
        try:
            async with asyncio.timeout(max(deadline.left(), 0.001)):
                transport, _ = await loop.create_connection(factory, sock=link, ssl=self._context, server_hostname=name)
        except TimeoutError:
            text = f"{way.text} did not finish the TLS handshake within {deadline.seconds:.3g} s"
            raise Failure(f"{text}; does it speak TLS?", Exit.TIMEOUT) from None
        except OSError as error:
            from kwcli.net.securing import explained

            raise way.failure(explained(error, self._tls, name)) from None
        return transport

    def alerted(self, address: Address, error: BaseException | None) -> str | None:
        """With TLS 1.3 a broker's verdict on our certificate comes in answer to our first bytes: what it is."""
        if not isinstance(error, OSError):
            return None
        way = Way(address, self._config)
        stop = way.alerted(error)
        return None if stop is None else stop.line(way.text)

    async def _connected(self, way: Way, deadline: Deadline) -> socket.socket:
        target = self._config.dial_map.get(way.address, way.address)
        loop = asyncio.get_running_loop()
        if _is_literal(target[0]):
            places = resolve(target, way.text, deadline)
        else:
            places = await loop.run_in_executor(None, resolve, target, way.text, deadline)
        failures: list[OSError] = []
        for left_over, place in zip(range(len(places), 0, -1), places, strict=True):
            try:
                async with asyncio.timeout(max(deadline.left() / left_over, 0.001)):
                    return await _connect(place)
            except OSError as error:  # TimeoutError is one
                failures.append(error)
        raise unreachable(way.text, failures, deadline)


class Logins:
    """Fresh mechanisms for the connections of one cluster; tokens are shared while they are good."""

    def __init__(self, config: ClientConfig) -> None:
        from kwcli.net.login import credentials_of

        assert config.sasl is not None
        self._config = config
        self._sasl = config.sasl
        self._credentials = credentials_of(config)

    async def mechanism(self, address: Address) -> Mechanism:
        """One for one login to the broker at `address`; its first message is made already. Raises Failure."""
        if self._sasl.mechanism in _AT_ONCE:
            return self._make(address)
        return await asyncio.get_running_loop().run_in_executor(None, self._make, address)

    def _make(self, address: Address) -> Mechanism:
        from kwcli.net.core.authentication import failed
        from kwcli.net.core.sasl.mechanism import SaslRefused
        from kwcli.net.login import Login

        deadline = Deadline(self._config.timeout_s, time.monotonic)
        made = Login(self._sasl, address, deadline, self._credentials)()
        try:
            return _Begun(made)
        except SaslRefused as refused:
            stop = failed(self._sasl.mechanism, refused)
            raise Failure(stop.line(Way(address, self._config).text), stop.code) from None


class _Begun:
    """A mechanism whose first message, for which a KDC may have to be asked, is there."""

    def __init__(self, inner: Mechanism) -> None:
        self._inner = inner
        self._first = inner.first()
        self.name = inner.name

    @property
    def done(self) -> bool:
        return self._inner.done

    @property
    def reason(self) -> str | None:
        return self._inner.reason

    def first(self) -> bytes:
        return self._first

    def answer(self, challenge: bytes) -> bytes | None:
        return self._inner.answer(challenge)


class Greeting(asyncio.Protocol):
    """A connection that was accepted, until TLS is spoken on it.

    Then `greeted` gets the transport, and what the client sent meanwhile; or `failed` the client's address and why.
    """

    def __init__(
        self,
        context: ssl.SSLContext,
        greeted: Callable[[asyncio.Transport, bytes], None],
        failed: Callable[[str, BaseException], None],
        *,
        timeout_s: float,
    ) -> None:
        self._context = context
        self._greeted = greeted
        self._failed = failed
        self._timeout_s = timeout_s
        self._task: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        plain = cast(asyncio.Transport, transport)
        plain.pause_reading()
        self._task = asyncio.get_running_loop().create_task(self._shake(plain))

    async def _shake(self, plain: asyncio.Transport) -> None:
        from kwcli.net.dialling import text_of

        peer = plain.get_extra_info("peername")
        loop = asyncio.get_running_loop()
        early = _Early()
        try:
            secured = await loop.start_tls(
                plain, early, self._context, server_side=True, ssl_handshake_timeout=self._timeout_s
            )
        except OSError as error:
            plain.abort()
            self._failed(text_of(peer[:2]) if peer else "?", error)
            return
        if early.lost or secured is None:
            return
        self._greeted(secured, bytes(early.data))


class _Early(asyncio.Protocol):
    """What came with the end of the handshake, before the transport is in anybody's hands."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.lost = False

    def data_received(self, data: bytes) -> None:
        self.data += data

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002  # asyncio calls it so
        self.lost = True


def _is_literal(host: str) -> bool:
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            socket.inet_pton(family, host)
        except (OSError, ValueError):
            continue
        return True
    return False


async def _connect(place: Place) -> socket.socket:
    family, where = place
    link = socket.socket(family, socket.SOCK_STREAM)
    try:
        link.setblocking(False)
        await asyncio.get_running_loop().sock_connect(link, where)
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except BaseException:
        link.close()
        raise
    return link
