"""A host and a port in, a socket that listens there out; and connections for one request, which end in time."""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import os
import socket
from typing import Final, cast

from kwcli.net.parse_addresses import format_address
from kwcli.run_environment import Exit, Failure

# Connections that wait to be accepted.
BACKLOG: Final = 4096
# A connection for one request that has not got its answer after so long is cut off.
PATIENCE_S: Final = 10.0


class OneRequest(asyncio.Protocol):
    """A connection for one request, which ends after `PATIENCE_S` at the latest; `transport` is set when it is made."""

    transport: asyncio.Transport
    _timer: asyncio.TimerHandle

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self._timer = asyncio.get_running_loop().call_later(PATIENCE_S, self.transport.abort)

    def connection_lost(self, _error: Exception | None) -> None:
        self._timer.cancel()


def choose_advertised_host(bind: str, advertise: str | None) -> str:
    """The host that clients are told. Raises Failure (usage) where `bind` alone does not say it."""
    if advertise is None and _is_wildcard_address(bind):
        raise Failure(f"--bind {bind} listens on every address: --advertise HOST says which clients use", Exit.USAGE)
    return advertise or bind


def _is_wildcard_address(bind: str) -> bool:
    try:
        return ipaddress.ip_address(bind).is_unspecified
    except ValueError:
        return not bind


def is_loopback(bind: str) -> bool:
    """Whether only this machine reaches a listener on this address."""
    try:
        return ipaddress.ip_address(bind).is_loopback
    except ValueError:
        return bind == "localhost"


def open_listener(host: str, port: int, option: str = "--port-base") -> socket.socket:
    """A socket that listens on this host and port. Raises Failure, which names the option that sets them."""
    try:
        family, _, _, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    except (OSError, UnicodeError):
        raise Failure(f"{_find_name_of_host_option(host, option)}: this machine knows no such address") from None
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(place)
        sock.listen(BACKLOG)
        sock.setblocking(False)
    except OSError as error:
        sock.close()
        raise _make_bind_failure(host, port, error, option) from None
    return sock


def _make_bind_failure(host: str, port: int, error: OSError, option: str) -> Failure:
    where = format_address((host, port))
    if error.errno == errno.EADDRINUSE:
        return Failure(f"{where} is taken by another program: give another {option}")
    if error.errno == errno.EACCES:
        return Failure(f"{where}: ports below 1024 are for root: give another {option}")
    if error.errno == errno.EADDRNOTAVAIL:
        return Failure(f"{_find_name_of_host_option(host, option)}: it is no address of this machine")
    return Failure(f"{where}: cannot listen there: {os.strerror(error.errno or 0)}")


def _find_name_of_host_option(host: str, option: str) -> str:
    """The option that names the host: `--bind` where `option` names a port alone."""
    return f"--bind {host}" if option in ("--port-base", "--port") else f"{option} {host}"
