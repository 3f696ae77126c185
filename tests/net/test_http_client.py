"""The HTTP client against servers that answer without end, drip, break off or redirect: bounded in bytes and time."""

from __future__ import annotations

import json
import socket
import ssl
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from decoders.limits import HTTP_ANSWER_MAX, HTTP_HEAD_MAX, MIB
from kwcli.net.command_deadline import Deadline
from kwcli.net.config.client_config import KeyStoreFile, OAuthSettings, TlsSettings
from kwcli.net.http_client import HttpAnswer, HttpProblem, HttpServer, send_http_request
from kwcli.net.session.oauth_tokens import fetch_token as ask_token
from kwcli.net.tls_connect import make_client_context
from kwcli.playground.tls_certificates import write_tls_certificates
from kwcli.proxy.deciding.control.control_client import send_control_request as ask_control
from kwcli.proxy.deciding.control.http_control import find_token_file
from kwcli.run_environment import Exit, Failure
from tests.net import hostile_http as servers
from tests.net.endpoint import endpoint
from tests.net.hostile_http import HostileServer, hostile
from tests.net.responder import unheard_address

Behave = Callable[[HostileServer, socket.socket], None]
# What the kernels of both sides hold of an answer that nobody reads.
BUFFERED = 16 * MIB


def ask(server: HostileServer, seconds: float = 20.0) -> HttpAnswer:
    where = HttpServer("127.0.0.1", server.port, "there")
    return send_http_request(where, "POST", "/x", {}, b"hello", Deadline(seconds, time.monotonic))


@pytest.mark.parametrize(
    ("behave", "text"),
    [
        (servers.endless_body, "its answer is longer than 1.0MB"),
        (servers.endless_chunks, "its answer is longer than 1.0MB"),
        (servers.huge_length, "its answer is longer than 1.0MB"),
        (servers.endless_interim, "its answer is longer than 1.0MB"),
        (servers.endless_headers, "its headers are longer than 65.5kB"),
        (servers.one_endless_header, "its headers are longer than 65.5kB"),
        (servers.no_http, "it does not speak HTTP"),
        (servers.closed, "it closed the connection without an answer"),
        (servers.cut, "it broke off within its answer"),
    ],
)
def test_answers_that_are_none(behave: Behave, text: str) -> None:
    with hostile(behave) as server, pytest.raises(HttpProblem) as caught:
        ask(server)
    assert str(caught.value) == text
    assert server.sent <= HTTP_ANSWER_MAX + HTTP_HEAD_MAX + BUFFERED


@pytest.mark.parametrize("behave", [servers.dripping_head, servers.dripping_body, servers.silent])
def test_one_deadline_holds_for_all_of_an_answer(behave: Behave, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kwcli.net.http_client.HTTP_ANSWER_S", 0.2)
    with hostile(behave) as server, pytest.raises(TimeoutError):
        ask(server)


def test_a_bomb_is_not_inflated() -> None:
    with hostile(servers.bomb) as server:
        answer = ask(server)
    assert answer.headers["content-encoding"] == "gzip"
    assert len(answer.body) < MIB


def test_a_redirect_is_an_answer_and_is_not_followed() -> None:
    with hostile(servers.answering(b"200 OK")) as other:
        with hostile(servers.answering(b"302 Found", b"Location: %s/" % other.url.encode())) as server:
            answer = ask(server)
        assert (answer.status, answer.reason, other.asked) == (302, "Found", 0)


def test_a_server_that_is_not_there() -> None:
    with unheard_address() as (host, port), pytest.raises(ConnectionRefusedError):
        send_http_request(HttpServer(host, port, "x"), "GET", "/", {}, b"", Deadline(60.0, time.monotonic))
    with pytest.raises(Failure, match="no address"):
        send_http_request(
            HttpServer("no.such.host.invalid", 1, "x"), "GET", "/", {}, b"", Deadline(60.0, time.monotonic)
        )


def test_tls_that_is_refused_and_that_is_trusted(tmp_path: Path) -> None:
    write_tls_certificates(tmp_path)
    with endpoint(certificate=tmp_path / "broker.pem") as (url, asked):
        port = int(url.split(":")[2].split("/")[0])
        strangers = HttpServer("localhost", port, "x", make_client_context(TlsSettings()))
        with pytest.raises(ssl.SSLCertVerificationError):
            send_http_request(strangers, "POST", "/", {}, b"", Deadline(60.0, time.monotonic))
        assert not asked
        trusted = make_client_context(TlsSettings(authorities=KeyStoreFile(str(tmp_path / "ca.pem"))))
        headers = {"Authorization": "Basic bWU6eA=="}
        server = HttpServer("localhost", port, "x", trusted)
        answer = send_http_request(server, "POST", "/", headers, b"a=b", Deadline(60.0, time.monotonic))
        assert (answer.status, json.loads(answer.body)["access_token"]) == (200, "abc.def")


def test_a_header_that_http_does_not_allow_is_not_sent() -> None:
    with hostile(servers.closed) as server:
        where = HttpServer("127.0.0.1", server.port, "x")
        with pytest.raises(HttpProblem, match="HTTP does not allow"):
            send_http_request(where, "GET", "/", {"X": "a\r\nY: b"}, b"", Deadline(60.0, time.monotonic))


# -- what asks over HTTP -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("behave", "text", "code"),
    [
        (servers.endless_body, "gives no token: its answer is longer than 1.0MB; check ", Exit.UNREACHABLE),
        (servers.endless_interim, "gives no token: its answer is longer than 1.0MB; check ", Exit.UNREACHABLE),
        (servers.one_endless_header, "gives no token: its headers are longer than 65.5kB; check ", Exit.UNREACHABLE),
        (servers.answering(b"302 Found", b"Location: /x"), "answered 302 with no JSON object; ", Exit.REFUSED),
    ],
)
def test_a_token_endpoint_that_answers_without_end(behave: Behave, text: str, code: Exit) -> None:
    with hostile(behave) as server, pytest.raises(Failure) as caught:
        ask_token(OAuthSettings(endpoint=server.url, client_id="me", client_secret="x"), Deadline(60.0, time.monotonic))
    assert caught.value.text.startswith(f"token endpoint 127.0.0.1:{server.port} {text}")
    assert caught.value.code == code
    assert server.sent <= HTTP_ANSWER_MAX + HTTP_HEAD_MAX + BUFFERED


@pytest.mark.parametrize("behave", [servers.endless_body, servers.endless_interim, servers.bomb])
def test_a_control_interface_that_answers_without_end(
    behave: Behave, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kwcli.proxy.deciding.control.control_client.CONTROL_ANSWER_MAX", MIB)
    variables = {"XDG_STATE_HOME": str(tmp_path)}
    with hostile(behave) as server:
        file = find_token_file(server.port, variables)
        file.parent.mkdir(parents=True)
        file.write_text("secret\n")
        with pytest.raises(Failure) as caught:
            ask_control(server.port, "GET", "/v1/held", {}, variables)
    assert caught.value.text.startswith(f"127.0.0.1:{server.port} is no control interface: ")
    assert "\n" not in caught.value.text
    assert server.sent <= MIB + HTTP_HEAD_MAX + BUFFERED
