"""HTTP requests for /metrics in, the text of the metrics out: as much of HTTP/1.1 as Prometheus and curl need."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable
from typing import Final

from kwcli.net.config.client_config import Address
from kwcli.net.listening_sockets import OneRequest, open_listener

_HEAD_MAX: Final = 16 * 1024
_CONTENT: Final = "text/plain; version=0.0.4; charset=utf-8"


def listen_for_metrics(where: Address) -> socket.socket:
    """A socket that listens for Prometheus. Raises Failure."""
    return open_listener(*where, "--metrics")


class MetricsConnection(OneRequest):
    """The connection of one HTTP request; `text` returns the text of the metrics."""

    def __init__(self, text: Callable[[], str]) -> None:
        self._text = text
        self._head = b""

    def data_received(self, data: bytes) -> None:
        if len(self._head) > _HEAD_MAX:
            return
        self._head += data
        if b"\r\n\r\n" in self._head or b"\n\n" in self._head:
            self._answer_request(self._head.split(b"\n", 1)[0].split())
            self._head = b" " * (_HEAD_MAX + 1)
        elif len(self._head) > _HEAD_MAX:
            self._send_answer(431, "Request Header Fields Too Large", "too long a request\n")

    def _answer_request(self, words: list[bytes]) -> None:
        method = words[0] if words else b""
        path = words[1].partition(b"?")[0] if len(words) > 1 else b""
        if method not in (b"GET", b"HEAD"):
            self._send_answer(405, "Method Not Allowed", "only GET\n")
        elif path != b"/metrics":
            self._send_answer(404, "Not Found", "see /metrics\n")
        else:
            self._send_answer(200, "OK", self._text(), head=method == b"HEAD")

    def _send_answer(self, status: int, reason: str, text: str, *, head: bool = False) -> None:
        body = text.encode()
        lines = f"HTTP/1.1 {status} {reason}\r\nContent-Type: {_CONTENT}\r\nContent-Length: {len(body)}\r\n"
        self.transport.write(f"{lines}Connection: close\r\n\r\n".encode() + (b"" if head else body))
        self.transport.close()


class MetricsServer:
    """Serves the metrics that `text` returns, in a thread of its own, from now until `close`. Raises Failure."""

    def __init__(self, where: Address, text: Callable[[], str]) -> None:
        self._text = text
        self._socket = listen_for_metrics(where)
        self.address: Address = self._socket.getsockname()[:2]
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve_until_closed, name="metrics", daemon=True)
        self._thread.start()

    def _serve_until_closed(self) -> None:
        self._loop.run_until_complete(
            self._loop.create_server(lambda: MetricsConnection(self._text), sock=self._socket)
        )
        self._loop.run_forever()

    def close(self) -> None:
        """Stop serving."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._socket.close()
        self._loop.close()
