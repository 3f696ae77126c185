"""A broker that answers with ready-made bytes: `python -m tests.bench.fake_broker [CERTIFICATE]`.

It prints its port. ApiVersions and Metadata get a real answer, so that a proxy can start in front of it. On every other
connection all requests are taken for copies of the first one, and each gets the same bytes as its answer. So one turn
costs two system calls, whatever the number of answers. Connections with large answers, whose readers may be slow, have
a thread each.
"""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
import sys
import threading
from collections.abc import Callable
from typing import Any, Final

import decoders
from tests.proxy.stage import framed, request, response

API_VERSIONS: Final = 18
METADATA: Final = 3
CORRELATION_ID: Final = 7
_READ: Final = 1 << 18
_LARGE: Final = 1 << 16


def records(size: int) -> bytes:
    """One batch of one record with a value of `size` bytes; its checksum is not made."""
    head = bytes.fromhex("0000000000000000 %08x 00000000 02 00000000 0000 00000000" % (size + 49))
    return head + bytes(61 - len(head)) + bytes(size)


def _produce(version: int) -> tuple[bytes, bytes]:
    partition = {"index": 0, "records": records(0)}
    data = [{"name": "orders", "partition_data": [partition]}]
    asked = request(
        0, version, {"acks": -1, "timeout_ms": 30000, "topic_data": data}, id=CORRELATION_ID, client_id="checkout-7"
    )
    rows = [{"index": number, "base_offset": 5, "log_append_time_ms": -1} for number in range(5)]
    answer = response(0, version, {"responses": [{"name": "orders", "partition_responses": rows}]}, id=CORRELATION_ID)
    return asked, answer


def _fetch(size: int) -> tuple[bytes, bytes]:
    topic = {"topic_id": "AAAAAAAAAAAAAAAAAAAAAQ", "partitions": [{"partition": 0, "fetch_offset": 1}]}
    asked = request(1, 16, {"max_wait_ms": 500, "min_bytes": 1, "topics": [_id(topic)]}, id=CORRELATION_ID)
    rows = [{"partition_index": 0, "high_watermark": 9, "records": records(size)}]
    answer = response(1, 16, {"responses": [_id({"topic_id": "", "partitions": rows})]}, id=CORRELATION_ID)
    return asked, answer


def _id(topic: dict[str, Any]) -> dict[str, Any]:
    import uuid

    return {**topic, "topic_id": uuid.UUID(int=1)}


# Name → request and response: a load that streams through, that is held and fits one piece, that is held and does not.
LOADS: Final[dict[str, Callable[[], tuple[bytes, bytes]]]] = {
    "small": lambda: _produce(9),
    "held": lambda: _produce(10),
    "big": lambda: _fetch(1 << 20),
}


class _Talk:
    """One connection of the broker."""

    def __init__(self, link: socket.socket, port: int) -> None:
        self.link = link
        self._port = port
        self._rest = b""
        self._left = 0
        self._size = 0
        self._answer = b""
        self._alone = False

    def turn(self) -> bool:
        """Read once and answer; returns whether this thread should call it again."""
        try:
            data = self.link.recv(_READ)
            while isinstance(self.link, ssl.SSLSocket) and self.link.pending():
                data += self.link.recv(_READ)
            out = self.take(data)
            if len(self._answer) > _LARGE and not self._alone:
                self._alone = True
                threading.Thread(target=self._serve, args=(out,), daemon=True).start()
                return False
            self.link.sendall(out)
        except OSError:
            data = b""
        if not data:
            self.link.close()
        return bool(data)

    def _serve(self, out: bytes) -> None:
        with contextlib.suppress(OSError):
            self.link.sendall(out)
            while self.turn():
                pass

    def take(self, data: bytes) -> bytes:
        """The bytes to send in answer to these bytes."""
        if self._size:
            count, self._left = divmod(self._left + len(data), self._size)
            return self._answer * count
        data = self._rest + data
        if len(data) < 8 or len(data) < 4 + int.from_bytes(data[:4], "big"):
            self._rest = data
            return b""
        size = 4 + int.from_bytes(data[:4], "big")
        key = int.from_bytes(data[4:6], "big")
        if key in (API_VERSIONS, METADATA):
            self._rest = b""
            out = self._known(data[4:size])
            return out + (self.take(data[size:]) if data[size:] else b"")
        for make in LOADS.values():
            asked, answer = make()
            if data[:size] == asked:
                self._size, self._answer = size, answer
                return self.take(data)
        raise ValueError("a request of no load")

    def _known(self, frame: bytes) -> bytes:
        asked = decoders.decode_request(frame)
        key, version, number = asked.api_key, asked.api_version, asked.correlation_id
        if key == API_VERSIONS:
            rows = [{"api_key": key, "min_version": 0, "max_version": most} for key, most in ((18, 4), (3, 12))]
            return framed(decoders.encode_response(key, version, {"api_keys": rows}, correlation_id=number))
        nodes = [{"node_id": 1, "host": "127.0.0.1", "port": self._port}]
        return framed(decoders.encode_response(key, version, {"brokers": nodes}, correlation_id=number))


def serve(certificate: str | None) -> None:
    """Serve until killed; by TLS if there is a certificate."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH) if certificate else None
    if context is not None and certificate is not None:
        context.load_cert_chain(certificate)
    listener = socket.create_server(("127.0.0.1", 0), backlog=4096)
    port = listener.getsockname()[1]
    print(port, flush=True)
    poll = select.epoll()
    poll.register(listener, select.EPOLLIN)
    talks: dict[int, _Talk] = {}
    while True:
        for number, _ in poll.poll():
            if number == listener.fileno():
                link, _ = listener.accept()
                link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                if context is not None:
                    link = context.wrap_socket(link, server_side=True)
                talks[link.fileno()] = _Talk(link, port)
                poll.register(link, select.EPOLLIN)
                continue
            if not talks[number].turn():
                del talks[number]
                with contextlib.suppress(OSError):  # closed already
                    poll.unregister(number)


if __name__ == "__main__":
    try:
        serve(sys.argv[1] if len(sys.argv) > 1 else None)
    except KeyboardInterrupt:
        sys.exit(0)
