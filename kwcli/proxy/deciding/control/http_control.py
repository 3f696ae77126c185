"""HTTP requests in, answers of the control interface out, with limits on who may ask, and how much.

The interface changes what a proxy does to other people's traffic, so:
- it listens on 127.0.0.1 only;
- each request needs the token of this run (`Authorization: Bearer …`), which is in a file that only its owner may
  read, and is compared in constant time; the token is taken from no other place (no query, no cookie);
- requests whose Host is no loopback name, or that carry an Origin, come out of a web page: they are refused, and there
  is no CORS;
- one request a connection, in 10 s (`PATIENCE_S`), with at most 16 KiB of headers and 64 KiB of body.
"""

from __future__ import annotations

import asyncio
import hmac
import os
import re
import secrets
import socket
from collections.abc import Mapping
from contextlib import suppress
from importlib import resources
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl

import h11
import orjson

from kwcli.net.listening_sockets import OneRequest, open_listener
from kwcli.private_files import open_private_file
from kwcli.proxy.deciding.control.control_operations import (
    ControlAnswer,
    ControlState,
    make_error_answer,
    run_operation,
)
from kwcli.user_folders import own_folder

__all__ = ["ControlServer", "find_token_file"]

HEAD_MAX: Final = 16 << 10
BODY_MAX: Final = 64 << 10
# What Host may be: a name of this machine, and a port (another one where the port is forwarded).
_LOOPBACK: Final = re.compile(rb"(127\.0\.0\.1|localhost|\[::1\])(:[0-9]{1,5})?", re.IGNORECASE)
_REASONS: Final = {
    200: b"OK",
    400: b"Bad Request",
    401: b"Unauthorized",
    403: b"Forbidden",
    404: b"Not Found",
    405: b"Method Not Allowed",
    413: b"Content Too Large",
    431: b"Request Header Fields Too Large",
}


def find_token_file(port: int, variables: Mapping[str, str]) -> Path:
    """The file with the token of the interface on a port: `$XDG_STATE_HOME/kw/proxy-control-PORT.token`."""
    return own_folder("state", variables) / f"proxy-control-{port}.token"


class ControlServer:
    """The HTTP server: listens after `__init__`, serves after `begin`. Raises Failure where the port is taken."""

    def __init__(self, port: int, variables: Mapping[str, str]) -> None:
        self._socket: socket.socket = open_listener("127.0.0.1", port, "--control")
        self.port: int = self._socket.getsockname()[1]
        self.token = secrets.token_urlsafe(32)
        self.file = find_token_file(self.port, variables)
        self._server: asyncio.Server | None = None
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with suppress(FileNotFoundError):
                self.file.unlink()  # of a proxy that was killed
            with open(self.file, "x", encoding="ascii", opener=open_private_file) as file:
                file.write(self.token + "\n")
        except OSError:
            self._socket.close()
            raise

    async def begin_answering(self, state: ControlState) -> None:
        """Answer requests on the running event loop."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _ControlConnection(state, self.token), sock=self._socket)

    def close(self) -> None:
        """Stop answering, and remove the token's file."""
        if self._server is not None:
            self._server.close()
        else:
            self._socket.close()
        with suppress(OSError):
            os.unlink(self.file)


class _ControlConnection(OneRequest):
    """A connection with one request."""

    def __init__(self, state: ControlState, token: str) -> None:
        self._state = state
        self._token = token
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=HEAD_MAX)
        self._request: h11.Request | None = None
        self._body = b""

    def data_received(self, data: bytes) -> None:
        if self._http.our_state is not h11.IDLE and self._http.our_state is not h11.SEND_RESPONSE:
            return
        try:
            self._http.receive_data(data)
            self._handle_http_events()
        except h11.RemoteProtocolError as error:
            self._send_and_close(make_error_answer(error.error_status_hint or 400, str(error)))

    def _handle_http_events(self) -> None:
        while True:
            event = self._http.next_event()
            if isinstance(event, h11.Request):
                self._request = event
                if sum(len(name) + len(value) for name, value in event.headers) > HEAD_MAX:
                    self._send_and_close(make_error_answer(431, f"headers have at most {HEAD_MAX} bytes"))
                    return
                refused = refuse_unauthorized_request(event, self._token)
                if refused is not None:
                    self._send_and_close(refused)
                    return
            elif isinstance(event, h11.Data):
                self._body += bytes(event.data)
                if len(self._body) > BODY_MAX:
                    self._send_and_close(make_error_answer(413, f"a body has at most {BODY_MAX} bytes"))
                    return
            elif isinstance(event, h11.EndOfMessage):
                assert self._request is not None
                self._send_and_close(self._route_request(self._request))
                return
            else:
                return

    def _route_request(self, request: h11.Request) -> ControlAnswer:
        method = request.method.decode()
        path, _, query = request.target.decode("ascii", "replace").partition("?")
        if path == "/openapi.json" and method == "GET":
            return ControlAnswer(
                200, resources.files("kwcli.proxy.deciding.control").joinpath("openapi.json").read_bytes()
            )
        fields: Any = dict(parse_qsl(query)) if method == "GET" else {}
        if method != "GET" and self._body.strip():
            try:
                fields = orjson.loads(self._body)
            except orjson.JSONDecodeError as error:
                return make_error_answer(400, f"the body is no JSON: {error}")
            if not isinstance(fields, dict):
                return make_error_answer(400, "the body is no JSON object")
        return run_operation(self._state, method, path, fields)

    def _send_and_close(self, answer: ControlAnswer) -> None:
        headers = [
            ("Content-Type", "application/json"),
            ("Content-Length", str(len(answer.body))),
            ("Cache-Control", "no-store"),
            ("X-Content-Type-Options", "nosniff"),
            ("Connection", "close"),
        ]
        reason = _REASONS.get(answer.status, b"Refused")
        with suppress(h11.LocalProtocolError):
            out = self._http.send(h11.Response(status_code=answer.status, headers=headers, reason=reason)) or b""
            out += self._http.send(h11.Data(data=answer.body)) or b""
            out += self._http.send(h11.EndOfMessage()) or b""
            self.transport.write(out)
        self.transport.close()


def refuse_unauthorized_request(request: h11.Request, token: str) -> ControlAnswer | None:
    """The error answer to a request that may not ask (Host, Origin, token); None where it may."""
    found: dict[bytes, list[bytes]] = {}
    for name, value in request.headers:
        found.setdefault(bytes(name), []).append(bytes(value))
    hosts = found.get(b"host", [])
    if len(hosts) != 1 or not _LOOPBACK.fullmatch(hosts[0]):
        return make_error_answer(403, "only for 127.0.0.1, localhost and [::1]")
    if b"origin" in found:
        return make_error_answer(403, "not for web pages")
    said = found.get(b"authorization", [b""])
    if len(said) != 1 or not hmac.compare_digest(said[0], b"Bearer " + token.encode()):
        return make_error_answer(
            401, "Authorization: Bearer TOKEN, with the token of the file that the proxy named at its start"
        )
    return None
