"""A TLS server on loopback for one client: the broker's side of a handshake with `make_client_context`."""

from __future__ import annotations

import socket
import ssl
import threading
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from kwcli.net.config.client_config import TlsSettings
from kwcli.net.explain_connection_end import ConnectionStop, make_tls_stop
from kwcli.net.tls_connect import make_client_context


def server_context(chain: Path, authorities: Path | None = None) -> ssl.SSLContext:
    """A server's context; with `authorities` a client must show a certificate of theirs."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain)
    if authorities is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(authorities)
    return context


class TlsServer:
    """Answers one byte with the name in the client's certificate, then closes; without a context it uses no TLS."""

    def __init__(self, context: ssl.SSLContext | None, plain_answer: bytes = b"") -> None:
        self._context = context
        self._plain_answer = plain_answer
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.server_name: str | None = None
        if context is not None:
            context.sni_callback = self._named
        self._thread = threading.Thread(target=self._serve)

    def __enter__(self) -> TlsServer:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with suppress(OSError):
            socket.create_connection(("127.0.0.1", self.port), 1).close()  # so that accept() ends
        self._thread.join(5)
        self._listener.close()

    def _named(self, _link: ssl.SSLObject, name: str | None, _context: ssl.SSLContext) -> None:
        self.server_name = name

    def _serve(self) -> None:
        link, _ = self._listener.accept()
        link.settimeout(5)
        try:
            if self._context is None:
                link.recv(4096)
                link.sendall(self._plain_answer)
                return
            link = self._context.wrap_socket(link, server_side=True)
            link.recv(1)
            shown: Any = link.getpeercert() or {}
            subject = dict(pair[0] for pair in shown.get("subject", ()))
            link.sendall(subject.get("commonName", "nobody").encode())
        except OSError:
            pass
        finally:
            link.close()


def connect(port: int, tls: TlsSettings, host: str = "localhost") -> str:
    """The name by which the server knows us. Raises OSError as in the driver."""
    with (
        socket.create_connection(("127.0.0.1", port), 5) as link,
        make_client_context(tls).wrap_socket(link, server_hostname=tls.server_name or host) as wrapped,
    ):
        with suppress(OSError):  # a server that refuses us may have closed already; reading tells why
            wrapped.sendall(b"?")
        return wrapped.recv(100).decode()


def stop(port: int, tls: TlsSettings, host: str = "localhost") -> ConnectionStop:
    """The error of a connection that must fail."""
    try:
        said = connect(port, tls, host)
    except OSError as error:
        return make_tls_stop(error, tls, host)
    raise AssertionError(f"it does work: {said}")
