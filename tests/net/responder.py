"""A server that plays a script for each of its connections: the other end for tests of drivers."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import Self

# The default limit of brokers (socket.request.max.bytes).
REQUEST_MAX = 100 << 20

Script = Callable[[socket.socket], None]


class Responder:
    """A server on a free port of loopback; the nth connection gets the nth script, further ones get the last script."""

    def __init__(self, *scripts: Script, host: str = "127.0.0.1") -> None:
        self._scripts = scripts
        self._open: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._listener = socket.socket(family, socket.SOCK_STREAM)
        self._listener.bind((host, 0))
        self._listener.listen(16)
        self.address: tuple[str, int] = (host, self._listener.getsockname()[1])
        self.accepted = 0

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for each in list(self._open):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(10.0)

    def _start(self, work: Callable[[], None]) -> None:
        thread = threading.Thread(target=work, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                link, _ = self._listener.accept()
            except OSError:
                return
            script = self._scripts[min(self.accepted, len(self._scripts) - 1)]
            self.accepted += 1
            self._open.append(link)
            self._start(lambda link=link, script=script: self._play(link, script))  # type: ignore[misc]  # mypy: defaults of lambdas

    @staticmethod
    def _play(link: socket.socket, script: Script) -> None:
        with link, contextlib.suppress(OSError):
            script(link)


@contextlib.contextmanager
def unheard_address() -> Iterator[tuple[str, int]]:
    """An address that refuses connections: no other program gets its port meanwhile, and nobody listens on it."""
    with socket.socket() as keeper:
        keeper.bind(("127.0.0.1", 0))
        yield keeper.getsockname()


def read_frame(link: socket.socket) -> bytes:
    """Read a frame without its size field; b"" at the end of the connection, or for a size above REQUEST_MAX."""
    head = read_exactly(link, 4)
    size = int.from_bytes(head, "big")
    return read_exactly(link, size) if len(head) == 4 and size <= REQUEST_MAX else b""


def read_exactly(link: socket.socket, size: int) -> bytes:
    """Read `size` bytes, or fewer if the connection ends."""
    data = b""
    while len(data) < size:
        more = link.recv(size - len(data))
        if not more:
            break
        data += more
    return data


def framed(data: bytes) -> bytes:
    """A frame with its size field before it."""
    return len(data).to_bytes(4, "big") + data


def each_request(answer: Callable[[bytes], bytes | None]) -> Script:
    """A script that answers every frame with the result of `answer`; None closes the connection."""

    def play(link: socket.socket) -> None:
        while request := read_frame(link):
            data = answer(request)
            if data is None:
                return
            link.sendall(data)

    return play


def sends(pieces: Iterable[bytes]) -> Script:
    """A script that reads one frame, then sends these pieces."""

    def play(link: socket.socket) -> None:
        read_frame(link)
        for piece in pieces:
            link.sendall(piece)

    return play
