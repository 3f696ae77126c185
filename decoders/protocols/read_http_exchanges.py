"""Both directions of an HTTP/1.1 connection in; its requests, each with the answer and both bodies, out.

The heads, lengths and chunks are read by h11, which is a state machine for one side of a connection. Here nobody takes
part, so each direction has one of its own, and what the other side said is told to it: a short answer to each request
ends its cycle, and each answer is read as that to the first request that waits.

What is given up: connections whose beginning was not captured, what comes behind a gap, and bodies longer than
HTTP_CAPTURED_MAX.
"""

from __future__ import annotations

import zlib
from collections import deque
from collections.abc import Iterator
from typing import Any, Final

import h11

from decoders.limits import HTTP_CAPTURED_MAX, HTTP_HEAD_MAX
from decoders.named_tuple import NamedTuple

__all__ = ["HttpConversation", "HttpExchange"]

# How many requests may wait for their answers, or answers' bytes for their requests.
_WAITING_MAX: Final = 1000
# The window of zlib for gzip's format.
_GZIP: Final = 16 + zlib.MAX_WBITS


class HttpExchange(NamedTuple):
    """A request and its answer. `host` is that of the request's header, `packet` the last one of the answer.

    A body is None where it is too long, or cannot be inflated.
    """

    method: str
    target: str
    host: str | None
    sent: bytes | None
    status: int
    received: bytes | None
    packet: int


class _HttpBody:
    """The bytes of a body as they come, up to a limit."""

    __slots__ = ("_data", "_whole")

    def __init__(self) -> None:
        self._data = bytearray()
        self._whole = True

    def add(self, data: bytes | bytearray) -> None:
        if len(self._data) + len(data) > HTTP_CAPTURED_MAX:
            self._whole = False
            self._data.clear()
        elif self._whole:
            self._data += data

    def content(self, coding: str) -> bytes | None:
        """The body without its content coding."""
        if not self._whole or coding in ("", "identity"):
            return bytes(self._data) if self._whole else None
        if coding not in ("gzip", "x-gzip", "deflate"):
            return None
        inflater = zlib.decompressobj(zlib.MAX_WBITS if coding == "deflate" else _GZIP)
        try:
            found = inflater.decompress(bytes(self._data), HTTP_CAPTURED_MAX)
        except zlib.error:
            return None
        return found if inflater.eof else None


def _header_text(headers: Any, name: bytes) -> str:
    return next((value.decode("latin-1").strip().lower() for key, value in headers if key == name), "")


class _Request(NamedTuple):
    """A request that waits for its answer."""

    method: str
    target: str
    host: str | None
    body: bytes | None


class HttpConversation:
    """One connection: give it the bytes of both directions, each in its order."""

    def __init__(self) -> None:
        self._server = h11.Connection(h11.SERVER, max_incomplete_event_size=HTTP_HEAD_MAX)
        self._client = h11.Connection(h11.CLIENT, max_incomplete_event_size=HTTP_HEAD_MAX)
        self._requests: deque[_Request] = deque()
        self._asked: _Request | None = None  # whose answer is read
        self._early: deque[tuple[bytes, int]] = deque()  # of answers whose requests have not come yet
        self._request: Any = None
        self._response: Any = None
        self._sent, self._received = _HttpBody(), _HttpBody()
        self.ended = False  # nothing more can be read of the connection

    def feed_client(self, data: bytes) -> list[HttpExchange]:
        """The exchanges that are whole with these bytes of the client."""
        try:
            self._server.receive_data(data)
            while not self.ended and self._handle_client_event(self._server.next_event()):
                pass
        except h11.ProtocolError:
            self.ended = True
        found: list[HttpExchange] = []
        while self._early and (self._requests or self._asked is not None) and not self.ended:
            found += self.feed_server(*self._early.popleft())
        return found

    def _handle_client_event(self, event: Any) -> bool:
        """Take an event; returns whether there may be another one."""
        if isinstance(event, h11.Request):
            self._request, self._sent = event, _HttpBody()
        elif isinstance(event, h11.Data):
            self._sent.add(event.data)
        elif isinstance(event, h11.EndOfMessage):
            request, headers = self._request, self._request.headers
            host = _header_text(headers, b"host") or None
            body = self._sent.content(_header_text(headers, b"content-encoding"))
            self._requests.append(_Request(request.method.decode(), request.target.decode("latin-1"), host, body))
            if len(self._requests) > _WAITING_MAX:
                self.ended = True
                return False
            self._server.send(h11.Response(status_code=200, headers=[("Content-Length", "0")]))
            self._server.send(h11.EndOfMessage())
            if self._server.our_state is not h11.DONE:
                return False  # the client has said that this request is its last
            self._server.start_next_cycle()
        else:
            return False
        return True

    def feed_server(self, data: bytes, packet: int) -> list[HttpExchange]:
        """The exchanges that are whole with these bytes of the server; empty bytes: its end."""
        if self._asked is None and not self._requests and data:
            self._early.append((data, packet))
            self.ended = self.ended or len(self._early) > _WAITING_MAX
            return []
        try:
            if self._asked is None and not self._expect_next_answer():
                return []
            self._client.receive_data(data)
            return list(self._read_answers(packet))
        except h11.ProtocolError:
            self.ended = True
            return []

    def _expect_next_answer(self) -> bool:
        """Expect the answer to the first request that waits; False where none does."""
        if not self._requests:
            return False
        self._asked = asked = self._requests.popleft()
        self._client.send(h11.Request(method=asked.method, target=asked.target, headers=[("Host", "registry")]))
        self._client.send(h11.EndOfMessage())
        return True

    def _read_answers(self, packet: int) -> Iterator[HttpExchange]:
        while True:
            event = self._client.next_event()
            if isinstance(event, h11.Response):
                self._response, self._received = event, _HttpBody()
            elif isinstance(event, h11.Data):
                self._received.add(event.data)
            elif isinstance(event, h11.EndOfMessage):
                asked, answer = self._asked, self._response
                assert asked is not None
                self._asked = None
                body = self._received.content(_header_text(answer.headers, b"content-encoding"))
                yield HttpExchange(*asked, answer.status_code, body, packet)
                if self._client.their_state is not h11.DONE:
                    self.ended = True
                    return
                left, _ = self._client.trailing_data
                self._client.start_next_cycle()
                if not self._expect_next_answer():
                    if left:
                        self._early.appendleft((bytes(left), packet))
                        self._client = h11.Connection(h11.CLIENT, max_incomplete_event_size=HTTP_HEAD_MAX)
                    return
            elif not isinstance(event, h11.InformationalResponse):
                return
