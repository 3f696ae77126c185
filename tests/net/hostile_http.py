"""HTTP servers that answer as no good one does: without end, dripping, cut short; what they sent is counted."""

from __future__ import annotations

import gzip
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

HEAD: Final = b"HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf\r\n"


class HostileServer:
    """A server on loopback; `behave` answers a connection whose request has been read. `sent`: bytes, of all answers.

    `asked` counts connections, `requests` are the heads of what was asked. Answers without end are given up after 64
    MiB, so that a test that fails does end.
    """

    def __init__(self, behave: Callable[[HostileServer, socket.socket], None]) -> None:
        self._behave = behave
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.sent = 0
        self.asked = 0
        self.requests: list[bytes] = []
        self.stop = threading.Event()
        self._links: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._threads.append(threading.Thread(target=self._accept))
        self._threads[0].start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def send(self, link: socket.socket, data: bytes) -> None:
        link.sendall(data)
        self.sent += len(data)

    def repeat(self, link: socket.socket, data: bytes) -> None:
        """Send the same again and again."""
        while not self.stop.is_set() and self.sent < 64 << 20:
            self.send(link, data)

    def _accept(self) -> None:
        while not self.stop.is_set():
            with suppress(OSError):
                link, _ = self._listener.accept()
                if self.stop.is_set():
                    link.close()
                    return
                self.asked += 1
                self._links.append(link)
                thread = threading.Thread(target=self._serve, args=(link,))
                thread.start()
                self._threads.append(thread)

    def _serve(self, link: socket.socket) -> None:
        with link, suppress(OSError):
            link.settimeout(10)
            self.requests.append(_read_request(link))
            self._behave(self, link)

    def close(self) -> None:
        self.stop.set()
        with suppress(OSError):
            socket.create_connection(("127.0.0.1", self.port), 5).close()
        for link in self._links:
            with suppress(OSError):
                link.shutdown(socket.SHUT_RDWR)  # one that waits for a client that reads no more
        for thread in self._threads:
            thread.join(20)
        self._listener.close()


def _read_request(link: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data:
        more = link.recv(65536)
        if not more:
            return data
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    length = next((int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0)
    while len(body) < length:
        more = link.recv(65536)
        if not more:
            break
        body += more
    return head


@contextmanager
def hostile(behave: Callable[[HostileServer, socket.socket], None]) -> Iterator[HostileServer]:
    """A server that behaves so, while the block lasts."""
    server = HostileServer(behave)
    try:
        yield server
    finally:
        server.close()


def endless_body(server: HostileServer, link: socket.socket) -> None:
    server.send(link, HEAD + b"\r\n")
    server.repeat(link, bytes(65536))


def endless_chunks(server: HostileServer, link: socket.socket) -> None:
    server.send(link, HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
    server.repeat(link, b"10000\r\n" + bytes(65536) + b"\r\n")


def endless_headers(server: HostileServer, link: socket.socket) -> None:
    server.send(link, HEAD)
    server.repeat(link, b"X-More: and more\r\n" * 1000)


def one_endless_header(server: HostileServer, link: socket.socket) -> None:
    server.send(link, HEAD + b"X-Long: ")
    server.repeat(link, b"a" * 65536)


def endless_interim(server: HostileServer, link: socket.socket) -> None:
    server.repeat(link, b"HTTP/1.1 102 Processing\r\nX: " + bytes(4000).hex().encode() + b"\r\n\r\n")


def huge_length(server: HostileServer, link: socket.socket) -> None:
    server.send(link, HEAD + b"Content-Length: 1000000000000\r\n\r\n")
    server.repeat(link, bytes(65536))


def bomb(server: HostileServer, link: socket.socket) -> None:
    body = gzip.compress(bytes(64 << 20))
    server.send(link, HEAD + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(body) + body)


def dripping_head(server: HostileServer, link: socket.socket) -> None:
    server.send(link, HEAD)
    while not server.stop.wait(0.02):
        server.send(link, b"X: y\r\n")


def dripping_body(server: HostileServer, link: socket.socket) -> None:
    server.send(link, HEAD + b"Content-Length: 100000\r\n\r\n")
    while not server.stop.wait(0.02):
        server.send(link, b"x")


def silent(server: HostileServer, _link: socket.socket) -> None:
    server.stop.wait(20)


def closed(_server: HostileServer, _link: socket.socket) -> None:
    """Close the connection without a word."""


def cut(server: HostileServer, link: socket.socket) -> None:
    server.send(link, HEAD + b"Content-Length: 100\r\n\r\n" + b"half")


def no_http(server: HostileServer, link: socket.socket) -> None:
    server.send(link, b"220 smtp.example ready\r\n")


def answering(status: bytes, *headers: bytes) -> Callable[[HostileServer, socket.socket], None]:
    """A server that answers this status, without a body."""

    def behave(server: HostileServer, link: socket.socket) -> None:
        rows = b"".join(each + b"\r\n" for each in (*headers, b"Content-Length: 0"))
        server.send(link, b"HTTP/1.1 " + status + b"\r\n" + rows + b"\r\n")

    return behave
