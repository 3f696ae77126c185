"""Brokers that begin well and then fail: each with its line and its exit code, in time."""

from __future__ import annotations

import re
import socket
import threading
import time

import pytest

import decoders
from decoders.limits import FRAME_MAX
from kwcli.net.command_deadline import Deadline
from kwcli.run_environment import Exit
from tests.net.responder import Responder, each_request, framed, read_frame
from tests.net.servers import (
    answers,
    ask,
    failure,
    open_connection,
    then,
)

REQUEST_ROWS = {
    "closes": (then(), 5, "closed the connection instead of answering Metadata 13; the broker's log says why"),
    "half an answer": (
        then(bytes.fromhex("00000064 00000002 00")),
        5,
        "closed the connection after 9 of 104 bytes of the answer to Metadata 13",
    ),
    "silent": (then(close=False), 124, "did not answer Metadata 13 within 1.5 s"),
    "half, then silent": (
        then(b"\0\0\0\x64\0", close=False),
        124,
        "sent 5 of 104 bytes of the answer to Metadata 13, and no more within 1.5 s",
    ),
    "wrong id": (then(bytes.fromhex("00000004 00000063")), 5, "answered Metadata 13 with correlation id 99, not 2"),
    "too large": (
        then((FRAME_MAX + 1).to_bytes(4, "big")),
        5,
        r"sent a frame of 134,217,729 bytes \(kw takes 134,217,728\)",
    ),
    "something else": (
        then(b"HTTP/1.1 502 Bad Gateway\r\n"),
        5,
        r"speaks HTTP/1 \(answer 502 Bad Gateway\), not Kafka",
    ),
}  # fmt: skip


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", REQUEST_ROWS)
def test_a_broker_that_goes_wrong(name: str) -> None:
    script, code, says = REQUEST_ROWS[name]
    with Responder(script) as server:
        found = ask(server, 1.5 if code == Exit.TIMEOUT else 30.0)
    assert re.match(rf"127\.0\.0\.1:{server.address[1]} {says}", found.text), found.text
    assert found.code == code


def test_a_close_says_when_the_version_is_not_offered() -> None:
    with Responder(then()) as server, open_connection(server.address) as connection:
        found = failure(lambda: connection.send_request(3, 14, b""), 60.0)
    assert found.text.endswith("instead of answering Metadata 14; it offers versions 0-13 of this API")


def test_an_answer_too_many_is_not_taken_for_the_next() -> None:
    with Responder(then(bytes.fromhex("00000004 00000002 00000004 00000003"), close=False)) as server:
        found = ask(server)
    assert found.text.endswith("sent 8 bytes that answer no request")


def test_a_broker_that_takes_nothing() -> None:
    given_up = threading.Event()

    def play(link: socket.socket) -> None:
        link.sendall(answers(read_frame(link)))
        given_up.wait(30.0)

    with Responder(play) as server, open_connection(server.address) as connection:
        connection.deadline = Deadline(1.0, time.monotonic)
        found = failure(lambda: connection.send_request(0, 9, bytes(16 << 20)), 1.0)
        given_up.set()
    assert found.text.endswith("did not take all of Produce 9 within 1 s")
    assert found.code is Exit.TIMEOUT


def test_a_request_without_answer_waits_for_none() -> None:
    with Responder(then(close=False)) as server, open_connection(server.address) as connection:
        reply = connection.send_request(0, 9, b"", respond=False)
    assert reply.response_frame is None
    assert reply.sent_ns > 0
    assert reply.first_ns == reply.last_ns == 0


def test_raw_bytes_are_answered_by_whatever_comes() -> None:
    with Responder(each_request(answers)) as server, open_connection(server.address) as connection:
        reply = connection.send_raw_bytes(bytes.fromhex("0000000a 0003 0000 0000abcd 0000"))
        assert reply.response_frame == framed(bytes.fromhex("0000abcd") + b"answer")
        assert reply.api_key is None
        assert connection.send_request(3, 0, b"").correlation_id == 2


def test_a_broker_that_wants_sasl() -> None:
    def play(link: socket.socket) -> None:
        link.sendall(answers(read_frame(link)))
        request = read_frame(link)
        if int.from_bytes(request[:2], "big") == 17:
            value = {"error_code": 33, "mechanisms": ["SCRAM-SHA-512", "PLAIN"]}
            correlation_id = int.from_bytes(request[4:8], "big")
            link.sendall(framed(decoders.encode_response(17, 0, value, correlation_id=correlation_id)))

    with Responder(play) as server:
        found = ask(server)
    assert found.text.endswith(
        "instead of answering Metadata 13: it wants SASL (SCRAM-SHA-512, PLAIN); try -X "
        "security.protocol=SASL_PLAINTEXT -X sasl.mechanism=SCRAM-SHA-512 with sasl.username and sasl.password"
    )
    assert found.code is Exit.REFUSED
