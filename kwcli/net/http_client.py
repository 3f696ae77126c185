"""One HTTP request in, its answer out: the only HTTP client of kw, with limits on what a server may send and how long.

A server may be anything: it may answer without end, in headers, in interim answers (1xx) or in the body; it may send a
byte now and then, so that no time-out of a socket is ever reached; it may say `Content-Length: 10**12`. So all bytes of
an answer are counted, heads too, and one deadline holds for everything from the look-up of the name to the last byte.
Nothing is inflated: no answer is asked for in a compressed form. A redirect is an answer like any other: whoever asks
decides about its status, and nothing here sends a request, which may hold a password, to another place.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import h11

from decoders.errors import strip_traceback
from decoders.limits import HTTP_ANSWER_MAX, HTTP_ANSWER_S, HTTP_HEAD_MAX
from decoders.named_tuple import NamedTuple
from decoders.wire.format_and_escape_text import format_size
from kwcli.net.open_connections import Place, resolve_address

if TYPE_CHECKING:
    import ssl

    from kwcli.net.command_deadline import Deadline

__all__ = ["HttpAnswer", "HttpProblem", "HttpProxy", "HttpServer", "NoAnswer", "send_http_request"]

_PIECE: Final = 64 * 1024
# h11's hint for an event that is longer than the limit.
_TOO_LONG: Final = 431


class HttpProxy(NamedTuple):
    """A proxy that requests go through (RFC 9110, 9.3.6), and the value of its Proxy-Authorization, if any."""

    host: str
    port: int
    authorization: str | None = None


class HttpServer(NamedTuple):
    """Where to connect to, and with TLS if there is a context. `shown` names the server in messages."""

    host: str
    port: int
    shown: str
    tls: ssl.SSLContext | None = None
    proxy: HttpProxy | None = None


class HttpAnswer(NamedTuple):
    """A status, its reason phrase, the headers by lower-case names, and the body."""

    status: int
    reason: str
    headers: Mapping[str, str]
    body: bytes


class HttpProblem(ValueError):
    """An answer that is none, or that is not read to its end; the message is a clause: `it does not speak HTTP`."""


class NoAnswer(HttpProblem):
    """The server closed the connection without a word."""

    def __init__(self) -> None:
        super().__init__("it closed the connection without an answer")


def send_http_request(
    server: HttpServer,
    method: str,
    target: str,
    headers: Mapping[str, str],
    body: bytes,
    deadline: Deadline,
    *,
    size_max: int = HTTP_ANSWER_MAX,
) -> HttpAnswer:
    """Send a request on a connection of its own, and read the answer: `size_max` bytes in all, HTTP_ANSWER_S at most.

    Raises TimeoutError, OSError (ssl.SSLError too) where the server cannot be reached or breaks off, HttpProblem, and
    Failure where its name has no address.
    """
    deadline = deadline.limit_to(HTTP_ANSWER_S)
    proxy = server.proxy
    place = (server.host, server.port) if proxy is None else (proxy.host, proxy.port)
    link = _connect_to_first_place(resolve_address(place, server.shown, deadline), deadline)
    try:
        if proxy is not None and server.tls is not None:
            _open_proxy_tunnel(link, server, proxy, deadline)
        elif proxy is not None:
            target = f"http://{_format_server(server)}{target}"
            headers = {**headers, **_make_proxy_authorization_header(proxy)}
        if server.tls is not None:
            link.settimeout(_require_time_left(deadline))
            link = server.tls.wrap_socket(link, server_hostname=server.host)
        client = h11.Connection(h11.CLIENT, max_incomplete_event_size=HTTP_HEAD_MAX)
        unsent = _send_all_in_time(link, _format_request(client, server, method, target, headers, body), deadline)
        try:
            return _read_answer(link, client, deadline, size_max)
        except HttpProblem:
            if unsent is not None:  # a server may answer before it has read everything; this one did not answer
                raise unsent from None
            raise
    finally:
        link.close()


def _require_time_left(deadline: Deadline) -> float:
    left = deadline.left()
    if left <= 0:
        raise TimeoutError
    return left


def _connect_to_first_place(places: list[Place], deadline: Deadline) -> socket.socket:
    """A socket connected to the first of these places that accepts, the time left shared among them."""
    failed = OSError("it has no address")
    for left_over, (family, place) in zip(range(len(places), 0, -1), places, strict=True):
        link: socket.socket | None = None
        try:
            link = socket.socket(family, socket.SOCK_STREAM)
            link.settimeout(_require_time_left(deadline) / left_over)
            link.connect(place)
        except OSError as error:
            failed = strip_traceback(error)
            if link is not None:
                link.close()
        else:
            return link
    raise failed


def _format_server(server: HttpServer, *, standard: int = 0) -> str:
    """`host:port`, without the port if it is the standard one."""
    host = f"[{server.host}]" if ":" in server.host else server.host
    return host if server.port == standard else f"{host}:{server.port}"


def _make_proxy_authorization_header(proxy: HttpProxy) -> dict[str, str]:
    return {} if proxy.authorization is None else {"Proxy-Authorization": proxy.authorization}


def _open_proxy_tunnel(link: socket.socket, server: HttpServer, proxy: HttpProxy, deadline: Deadline) -> None:
    """Have the proxy connect to the server. Raises HttpProblem, OSError."""
    client = h11.Connection(h11.CLIENT, max_incomplete_event_size=HTTP_HEAD_MAX)
    address = _format_server(server)
    asked = h11.Request(
        method="CONNECT", target=address, headers=[("Host", address), *_make_proxy_authorization_header(proxy).items()]
    )
    unsent = _send_all_in_time(
        link, b"".join(client.send(each) or b"" for each in (asked, h11.EndOfMessage())), deadline
    )
    if unsent is not None:
        raise unsent
    try:
        while True:
            event = client.next_event()
            if event is h11.NEED_DATA:
                link.settimeout(_require_time_left(deadline))
                client.receive_data(link.recv(HTTP_HEAD_MAX))
            elif not isinstance(event, h11.InformationalResponse):
                break
    except h11.RemoteProtocolError:
        raise HttpProblem("its proxy does not speak HTTP") from None
    if not isinstance(event, h11.Response) or not 200 <= event.status_code < 300:
        status = f" with {event.status_code}" if isinstance(event, h11.Response) else ""
        raise HttpProblem(f"its proxy refuses the connection{status}")


def _format_request(
    client: h11.Connection, server: HttpServer, method: str, target: str, headers: Mapping[str, str], body: bytes
) -> bytes:
    """The bytes of the request. Raises HttpProblem for a header that HTTP does not allow."""
    own = {
        "Host": _format_server(server, standard=443 if server.tls is not None else 80),
        "User-Agent": "kw",
        "Connection": "close",
        "Accept-Encoding": "identity",
        **({"Content-Length": str(len(body))} if body or method != "GET" else {}),
    }
    given = {name.lower() for name in headers}
    rows = [*((name, text) for name, text in own.items() if name.lower() not in given), *headers.items()]
    try:
        asked = h11.Request(method=method, target=target, headers=rows)
        return b"".join(client.send(each) or b"" for each in (asked, h11.Data(data=body), h11.EndOfMessage()))
    except (h11.LocalProtocolError, UnicodeEncodeError):
        raise HttpProblem("the request has a header or an address that HTTP does not allow") from None


def _send_all_in_time(link: socket.socket, data: bytes, deadline: Deadline) -> OSError | None:
    """Send the request; the error where the server stops reading, as one does that has refused it."""
    left = memoryview(data)
    try:
        while left:
            link.settimeout(_require_time_left(deadline))
            left = left[link.send(left[:_PIECE]) :]
    except TimeoutError:
        raise
    except OSError as error:
        return strip_traceback(error)
    return None


def _read_answer(link: socket.socket, client: h11.Connection, deadline: Deadline, size_max: int) -> HttpAnswer:
    """Read the answer. Raises HttpProblem, OSError."""
    found: h11.Response | None = None
    body = bytearray()
    taken = 0
    try:
        while True:
            event = client.next_event()
            if event is h11.NEED_DATA:
                link.settimeout(_require_time_left(deadline))
                data = link.recv(min(_PIECE, size_max + 1 - taken))
                taken += len(data)
                if taken > size_max:
                    raise HttpProblem(f"its answer is longer than {format_size(size_max)}")
                client.receive_data(data)
            elif isinstance(event, h11.Response):
                found = event
                _refuse_too_long_answer(event, size_max)
            elif isinstance(event, h11.Data):
                body += event.data
            elif isinstance(event, h11.InformationalResponse):
                continue  # counted with the other bytes
            elif isinstance(event, h11.EndOfMessage) and found is not None:
                break
            else:
                raise NoAnswer
    except h11.RemoteProtocolError as error:
        if error.error_status_hint == _TOO_LONG:
            raise HttpProblem(f"its headers are longer than {format_size(HTTP_HEAD_MAX)}") from None
        if found is not None:
            raise HttpProblem("it broke off within its answer") from None
        raise (HttpProblem("it does not speak HTTP") if taken else NoAnswer()) from None
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in found.headers}
    with suppress(OSError):  # politely, where the server has more to say
        link.shutdown(socket.SHUT_WR)
    return HttpAnswer(found.status_code, bytes(found.reason).decode("latin-1"), headers, bytes(body))


def _refuse_too_long_answer(answer: h11.Response, size_max: int) -> None:
    """Refuse at once what says that it is too long."""
    for name, value in answer.headers:
        if name == b"content-length" and int(value) > size_max:
            raise HttpProblem(f"its answer is longer than {format_size(size_max)}")
