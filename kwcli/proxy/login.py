"""The proxy's own login on the way to one broker: what its core (core/upstream_auth.py) asks for is done here."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol

from kwcli import VERSION
from kwcli.exits import Failure
from kwcli.net.core.addresses import shown
from kwcli.proxy.core.commands import CLOSE, NOTE, SEND_CLIENT, SEND_SERVER, Command
from kwcli.proxy.core.upstream_auth import CREDENTIALS, HOLD, READY, UpstreamLogin

if TYPE_CHECKING:
    from kwcli.net.aio import Logins
    from kwcli.net.core.config import Address, ClientConfig
    from kwcli.proxy.pauses import Pauses


class Between(Protocol):
    """The connection of a client that the login stands in, as it sees it."""

    def now_ns(self) -> int:
        """The time, as it goes with bytes."""

    def write(self, data: bytes) -> None:
        """Send to the broker."""

    def answered(self, data: bytes) -> None:
        """The broker's bytes, without those that are about the proxy itself."""

    def wait_for_login(self, waiting: bool) -> None:
        """Read nothing from the client while the proxy logs in; `waiting` False: go on."""

    def note(self, text: str) -> None:
        """People should know this, once."""

    def end_server(self) -> None:
        """Tell the broker that there will be no more."""

    def end(self, reason: str, *, loud: bool = False) -> None:
        """Close both sides; `reason` is for people."""


class BrokerLogin:
    """Stands between a client's connection and the socket to its broker, once that is connected."""

    def __init__(
        self, session: Between, address: Address, config: ClientConfig, logins: Logins, pauses: Pauses
    ) -> None:
        self._session = session
        self._address = address
        self._timeout_s = config.timeout_s
        self._logins = logins
        self._pauses = pauses
        self._through = False  # there was a login already
        self._core = UpstreamLogin(client_id=config.client_id, software=("kw", VERSION), tls="SSL" in config.protocol)
        self._asking: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """The broker is connected."""
        self._run(self._core.begin())

    def to_server(self, data: bytes) -> None:
        """What the client has for the broker."""
        self._run(self._core.to_server(data, self._session.now_ns()))

    def from_server(self, data: bytes) -> None:
        """What the broker sent."""
        self._run(self._core.from_server(data, self._session.now_ns()))

    def end(self) -> None:
        """The client will send nothing more."""
        self._run(self._core.end())

    def server_eof(self) -> None:
        """The broker has closed."""
        self._run(self._core.server_eof())

    def stop(self) -> None:
        """The session is over."""
        if self._asking is not None:
            self._asking.cancel()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _run(self, commands: list[Command]) -> None:
        session = self._session
        for command in commands:
            what = command[0]
            if what == SEND_SERVER:
                session.write(command[1])
            elif what == SEND_CLIENT:
                session.answered(command[1])
            elif what == CREDENTIALS:
                self._ask()
            elif what == HOLD:
                session.wait_for_login(True)
            elif what == READY:
                self._ready()
            elif what == NOTE:
                session.note(command[1])
            elif what == CLOSE:
                self._close(command[1])
            else:
                session.end_server()

    def _ask(self) -> None:
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(self._timeout_s, self._late)
        self._asking = loop.create_task(self._given())

    async def _given(self) -> None:
        try:
            mechanism = await self._logins.mechanism(self._address)
        except Failure as failure:
            self._end(failure.text)
            return
        finally:
            self._asking = None
        self._run(self._core.given(mechanism, self._session.now_ns()))

    def _ready(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._through = True
        self._pauses.end(self._address)
        self._session.wait_for_login(False)

    def _late(self) -> None:
        self._close(f"did not finish the login within {self._timeout_s:.3g} s")

    def _close(self, text: str) -> None:
        self._end(f"{shown(self._address)} {text}")

    def _end(self, text: str) -> None:
        """The session is over; where nobody was let in, the next ones are not even to try for a while."""
        if self._through:
            self._session.end(text, loud=True)
            return
        pause_s = self._pauses.begin(self._address)
        if pause_s is None:
            self._session.note(text)
            self._session.end(text)
        else:
            self._session.end(
                f"{text}; it is tried again in {pause_s:.3g} s, who comes before is turned away", loud=True
            )
