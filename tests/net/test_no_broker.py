"""Servers that are no broker, or a very old one: each with its line and exit code, in time, in bounded memory."""

from __future__ import annotations

import re
import select
import socket
import struct
import time
import tracemalloc
from collections.abc import Callable, Iterator

import pytest

import decoders
from decoders.limits import FRAME_MAX
from kwcli.net.command_deadline import Deadline
from kwcli.net.config.client_config import ClientConfig, Protocol, TlsSettings
from kwcli.net.open_connections import Connector
from kwcli.net.session.blocking_connection import BrokerConnection, Reply
from kwcli.net.session.broker_session import OPENING_FRAME_MAX
from kwcli.run_environment import Exit
from tests.net.playbook import offers
from tests.net.responder import Responder, Script, each_request, framed, sends
from tests.net.servers import (
    CONFIG,
    ask,
    closes,
    drips,
    failure,
    greets,
    open_connection,
    pours,
    resets,
    silent,
    then,
)

ROWS = {
    "closes at once": (closes, 5, "closed the connection after ApiVersions without a word; is it a Kafka broker?"),
    "resets": (resets, 5, "closed the connection (at once|after ApiVersions) without a word; is it a Kafka broker?"),
    "TLS alert": (sends([bytes.fromhex("15030300020246")]), 5, "speaks TLS; try -X security.protocol=SSL"),
    "HTTP": (sends([b"HTTP/1.1 400 Bad Request\r\n\r\n"]), 5, r"speaks HTTP/1 \(answer 400 Bad Request\), not Kafka"),
    "SSH": (greets(b"SSH-2.0-OpenSSH_9.6\r\n"), 5, r"speaks SSH \(2.0-OpenSSH_9.6\), not Kafka; check host and port"),
    "Redis": (sends([b"-ERR unknown command 'x'\r\n"]), 5, "speaks Redis "),
    "SMTP": (greets(b"220 mail.example ESMTP\r\n"), 5, "speaks mail or FTP server "),
    "MySQL": (greets(bytes.fromhex("4a0000000a") + b"8.0.36\0" + bytes(67)), 5, "speaks MySQL "),
    "PostgreSQL": (
        sends([bytes.fromhex("450000006b") + b"SFATAL\0VFATAL\0C0A000\0Munsupported frontend protocol 18.4\0\0"]),
        5,
        r"speaks PostgreSQL \(error unsupported frontend protocol 18.4\), not Kafka",
    ),
    "random": (sends([bytes.fromhex("cafebabe00112233")]), 5, "does not speak Kafka: it sent ca fe ba be"),
    "huge size": (sends([b"\x7f\xff\xff\xff"]), 5, "does not speak Kafka: it sent 7f ff ff ff"),
    "negative size": (sends([b"\xff\xff\xff\xff"]), 5, "does not speak Kafka: it sent ff ff ff ff"),
    "half a size": (sends([b"\x00\x00"]), 5, "does not speak Kafka: it sent 00 00"),
    "half a frame": (
        sends([bytes.fromhex("00000100 00000001 0000")]),
        5,
        "closed the connection after 10 of 260 bytes of the answer to ApiVersions 4; the broker's log says why",
    ),
    "another's half frame": (
        sends([bytes.fromhex("00000100 00000009 0000")]),
        5,
        "does not speak Kafka: it sent 00 00 01 00",
    ),
    "another's answer": (
        sends([bytes.fromhex("0000000a 00000009 000000000000")]),
        5,
        "answered ApiVersions 4 with correlation id 9, not 1",
    ),
    "an endless array": (
        sends([bytes.fromhex("0000000f 00000001 0000 ffffffff0f 00000000")]),
        5,
        "answered ApiVersions 4 with ",
    ),
    "endless frames": (pours(b"", bytes.fromhex("00000004 00000001") * 1000), 5, "answered ApiVersions 4 with "),
    "endless versions": (pours((OPENING_FRAME_MAX + 1).to_bytes(4, "big"), bytes(65536)), 5, "does not speak Kafka"),
    "endless random": (pours(b"", b"\x91\x8e\x4c" * 20000), 5, "does not speak Kafka: it sent 91 8e 4c"),
    "silent": (silent, 124, "accepted the connection but says nothing within 1.5 s; "),
    "a slow drip": (drips(b"\xfe\xed\xfa\xce"), 5, "does not speak Kafka: it sent fe ed fa ce"),
    "a slow large frame": (drips(bytes.fromhex("00010000 00000001") + bytes(4096)), 124, r"sent \d+ of 65,540 bytes"),
}  # fmt: skip


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", ROWS)
def test_what_is_no_broker(name: str) -> None:
    script, code, says = ROWS[name]
    seconds = 1.5 if code == Exit.TIMEOUT else 30.0
    with Responder(script) as server:
        found = failure(lambda: open_connection(server.address, seconds), seconds)
    assert re.match(rf"127\.0\.0\.1:{server.address[1]} ({says})", found.text), found.text
    assert found.code == code


def test_a_tls_listener_that_closes_without_a_word_is_asked_again() -> None:
    with Responder(closes, greets(bytes.fromhex("16030300 5a"))) as server:
        found = failure(lambda: open_connection(server.address), 60.0)
    assert found.text.endswith(" closed the connection after ApiVersions: it speaks TLS; try -X security.protocol=SSL")
    assert found.code is Exit.UNREACHABLE


def test_zookeeper_is_asked_in_its_own_words() -> None:
    def words(link: socket.socket) -> None:
        if link.recv(4) == b"srvr":
            link.sendall(b"Zookeeper version: 3.8.4-9316c2a7a97e1666d8f4593f34dd6fc36ecc436c, built on 2024\n")

    with Responder(words) as server:
        found = failure(lambda: open_connection(server.address), 60.0)
    assert "speaks ZooKeeper (" in found.text
    assert found.text.endswith("), not Kafka; check host and port")


@pytest.mark.parametrize("protocol", ["PLAINTEXT", "SSL"])
def test_a_connection_that_is_reset_before_anything_is_said(
    protocol: Protocol, monkeypatch: pytest.MonkeyPatch
) -> None:
    dialled = Connector.dial_first_place

    def slowly(self: Connector, deadline: Deadline) -> socket.socket:
        link = dialled(self, deadline)
        select.select([link], [], [], 20)  # until the reset has arrived
        return link

    monkeypatch.setattr(Connector, "dial_first_place", slowly)
    with Responder(resets) as server:
        config = ClientConfig(servers=(), protocol=protocol, tls=TlsSettings(verify=False))
        found = failure(lambda: open_connection(server.address, config=config), 60.0)
    assert found.code is Exit.UNREACHABLE
    assert re.search(r" closed the connection at once| ended the TLS handshake ", found.text)


# Old brokers


def of_0_9(request: bytes) -> bytes | None:
    """The answers of a broker of 0.9: it knows no API above ListGroups, and closes the connection for others."""
    key, version = struct.unpack(">hh", request[:4])
    if key > 16:
        return None
    return framed(decoders.encode_response(key, version, {}, correlation_id=int.from_bytes(request[4:8], "big")))


def test_a_broker_of_before_0_10() -> None:
    replies: list[Reply] = []
    with Responder(each_request(of_0_9)) as broker:
        deadline = Deadline(60.0, time.monotonic)
        with BrokerConnection.open(broker.address, CONFIG, deadline, observe_own=replies.append) as connection:
            assert connection.offer.assumed == "0.9.0"
            assert str(connection.versions[3]) == "0"
            assert connection.remarks == [
                f"127.0.0.1:{broker.address[1]} does not know ApiVersions: kw takes it for a broker before 0.10, "
                "with the versions of 0.9.0"
            ]
            reply = connection.send_request(3, 0, decoders.encode_message(3, 0, "request", {"topics": []}))
    assert reply.response_frame is not None
    assert [(each.api_key, each.version) for each in replies] == [(9, 0)]
    assert (reply.api_key, reply.version) == (3, 0)


def test_a_broker_of_0_10() -> None:
    def of_0_10(request: bytes) -> bytes:
        key, version, correlation_id = struct.unpack(">hhi", request[:8])
        value = offers({3: (0, 1), 18: (0, 0)}) if version == 0 else offers({}, error=35)
        return framed(decoders.encode_response(key, 0, value, correlation_id=correlation_id))

    with Responder(each_request(of_0_10)) as broker, open_connection(broker.address) as connection:
        assert {key: str(each) for key, each in connection.versions.items()} == {3: "0-1", 18: "0"}
        assert connection.remarks == []


# Memory


@pytest.fixture
def traced() -> Iterator[Callable[[], int]]:
    """A function for the peak memory of Python since the test began, in bytes."""
    tracemalloc.start()
    yield lambda: tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()


@pytest.mark.parametrize(
    ("script", "most"),
    [
        pytest.param(pours(FRAME_MAX.to_bytes(4, "big"), b"\1" * 65536), 4 << 20, id="a huge frame for versions"),
        pytest.param(pours(b"", b"\x91\x8e\x4c" * 20000), 4 << 20, id="a stream of anything"),
        pytest.param(
            sends([framed(bytes.fromhex("00000001 0000") + b"\0\xff\xff\xff" * 200_000)]), 16 << 20, id="many versions"
        ),
    ],
)
def test_memory_is_bounded(script: Script, most: int, traced: Callable[[], int]) -> None:
    with Responder(script) as server:
        failure(lambda: open_connection(server.address), 60.0)
    assert traced() < most


def test_memory_grows_with_what_came_not_with_what_is_claimed(traced: Callable[[], int]) -> None:
    came = 4 << 20
    pieces = [FRAME_MAX.to_bytes(4, "big"), bytes(came)]
    with Responder(then(*pieces)) as server:
        found = ask(server)
    assert "closed the connection after 4,194,308 of 134,217,732 bytes" in found.text
    assert traced() < 4 * came
