"""A connected socket and TLS settings in, the same socket speaking TLS out; failures become a Stop with its remedy.

Loaded only where TLS is wanted: `ssl` takes longer to import than a plain request takes as a whole.
"""

from __future__ import annotations

import socket
import ssl
from functools import lru_cache
from typing import Any, Final

from kwcli.net.core.config import Tls
from kwcli.net.core.stops import Cause, Stop
from kwcli.net.deadline import Deadline
from kwcli.net.tls import client_context

# What OpenSSL says of a peer that speaks something else.
_NOT_TLS: Final = frozenset({"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "UNKNOWN_PROTOCOL", "RECORD_LAYER_FAILURE"})


@lru_cache(maxsize=8)
def _context(tls: Tls) -> ssl.SSLContext:
    """Loading the system's authorities takes 20 ms, and a cluster has many brokers."""
    return client_context(tls)


def secure(link: socket.socket, host: str, tls: Tls, deadline: Deadline) -> ssl.SSLSocket:
    """Do the handshake. Raises TimeoutError, Failure for what is wrong with the settings, or Stop.

    Its cause is CLOSED where it may well be that the peer does not speak TLS at all.
    """
    name = tls.server_name or host
    # As bytes where that will do: for text Python loads a codec that takes 5 ms.
    wanted: str | bytes = name.encode("ascii") if name.isascii() else name
    context = _context(tls)
    secured: ssl.SSLSocket | None = None
    try:
        link.settimeout(max(deadline.left(), 0.001))
        link.getpeername()  # an OSError where it has been reset, of which wrap_socket makes a mess
        secured = context.wrap_socket(link, server_hostname=wanted, do_handshake_on_connect=False)
        secured.do_handshake()
    except BaseException as error:
        if secured is not None:
            secured.close()
        if isinstance(error, OSError) and not isinstance(error, TimeoutError):
            raise explained(error, tls, name) from None
        raise
    return secured


def explained(error: OSError, tls: Tls, name: str) -> Stop:
    """What an error of the handshake, or of the first read after it, means. `name` is whom we meant to reach."""
    from kwcli.net.core.tls_stops import tls_stop

    stop = tls_stop(error, tls, name)
    reason = getattr(error, "reason", None)
    silent = not isinstance(error, ssl.SSLError) or isinstance(error, ssl.SSLEOFError) or reason in _NOT_TLS
    if silent:
        stop.cause = Cause.CLOSED
    return stop


def names(link: socket.socket, host: str, tls: Tls, deadline: Deadline) -> list[str]:
    """The names in a broker's certificate, everything but which is right; none where it says none."""
    with secure(link, host, tls._replace(check_hostname=False), deadline) as secured:
        shown: Any = secured.getpeercert() or {}
    return [str(name) for kind, name in shown.get("subjectAltName", ()) if kind in ("DNS", "IP Address")]
