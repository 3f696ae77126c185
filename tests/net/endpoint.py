"""A token endpoint on loopback, with or without TLS, that gives a prepared answer and records its requests."""

from __future__ import annotations

import base64
import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, ClassVar

GOOD = (200, {"access_token": "abc.def", "expires_in": 100})


class Endpoint(BaseHTTPRequestHandler):
    """A request handler that gives a prepared answer, and records the requests."""

    answer: ClassVar[tuple[int, Any]] = GOOD
    asked: ClassVar[list[tuple[str, str, str]]] = []

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        who = base64.b64decode(self.headers["Authorization"].removeprefix("Basic ")).decode()
        self.asked.append((self.path, who, body))
        status, value = self.answer
        content = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_words: object) -> None:
        pass


class Quiet(HTTPServer):
    """An HTTP server that prints nothing about a client's errors."""

    def handle_error(self, *_words: object) -> None:
        pass


@contextmanager
def endpoint(answer: tuple[int, Any] = GOOD, certificate: Path | None = None) -> Iterator[tuple[str, list[Any]]]:
    """The URL of a token endpoint, and the requests that it has got."""
    handler = type("Told", (Endpoint,), {"answer": answer, "asked": []})
    with Quiet(("127.0.0.1", 0), handler) as server:
        scheme = "http"
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            server.socket = context.wrap_socket(server.socket, server_side=True)
            scheme = "https"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"{scheme}://localhost:{server.server_port}/token?x=1", handler.asked  # type: ignore[attr-defined]  # made above
        finally:
            server.shutdown()
            thread.join()
