"""Scripts of servers that are no brokers, or bad ones, and helpers for tests on real sockets with time limits."""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Callable

import pytest

import decoders
from kwcli.net.command_deadline import Deadline
from kwcli.net.config.client_config import Address, ClientConfig
from kwcli.net.session.blocking_connection import BrokerConnection
from kwcli.run_environment import Failure
from tests.net.playbook import MODERN, offers
from tests.net.responder import Responder, Script, framed, read_frame

CONFIG = ClientConfig(servers=())
# A machine under load may take a little longer.
GRACE_S = 20.0


def open_connection(address: Address, seconds: float = 60.0, config: ClientConfig = CONFIG) -> BrokerConnection:
    return BrokerConnection.open(address, config, Deadline(seconds, time.monotonic))


def failure(action: Callable[[], object], seconds: float) -> Failure:
    """The Failure that `action` ends in, in time and with one line of text."""
    begun = time.monotonic()
    with pytest.raises(Failure) as caught:
        action()
    assert time.monotonic() - begun < seconds + GRACE_S
    assert "\n" not in caught.value.text
    return caught.value


def answers(request: bytes) -> bytes:
    """The answer of a current broker to ApiVersions; all other requests get an answer of nonsense bytes."""
    key, correlation_id = int.from_bytes(request[:2], "big"), int.from_bytes(request[4:8], "big")
    if key == 18:
        return framed(decoders.encode_response(18, 4, offers(MODERN), correlation_id=correlation_id))
    return framed(correlation_id.to_bytes(4, "big") + b"answer")


def then(*pieces: bytes, close: bool = True) -> Script:
    """A broker that answers ApiVersions, and sends these bytes as the answer to the next request."""

    def play(link: socket.socket) -> None:
        link.sendall(answers(read_frame(link)))
        if not read_frame(link):
            return
        for piece in pieces:
            link.sendall(piece)
        if not close:
            read_frame(link)

    return play


def silent(link: socket.socket) -> None:
    while link.recv(4096):
        pass


def closes(_link: socket.socket) -> None:
    return


def resets(link: socket.socket) -> None:
    link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def greets(data: bytes) -> Script:
    """A server that sends first."""

    def play(link: socket.socket) -> None:
        link.sendall(data)
        silent(link)

    return play


def drips(data: bytes) -> Script:
    """A server that sends a byte now and then, forever."""

    def play(link: socket.socket) -> None:
        read_frame(link)
        while True:
            for byte in data:
                link.sendall(bytes([byte]))
                time.sleep(0.02)

    return play


def pours(head: bytes, piece: bytes) -> Script:
    """A server that sends as much as it can, forever."""

    def play(link: socket.socket) -> None:
        read_frame(link)
        link.sendall(head)
        while True:
            link.sendall(piece)

    return play


def ask(server: Responder, seconds: float = 60.0) -> Failure:
    """The Failure that a request ends in; its time limit does not include the opening of the connection."""
    with open_connection(server.address) as connection:
        connection.deadline = Deadline(seconds, time.monotonic)
        return failure(lambda: connection.send_request(3, 13, b"body"), seconds)
