"""What is no broker, or a bad one: each its own line, its own exit code, in time. Real sockets, scripted servers."""

from __future__ import annotations

import errno
import re
import socket
import struct
import time
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import decoders
from decoders.limits import FRAME_MAX
from kwcli.exits import Exit, Failure
from kwcli.net.blocking import Connection, Reply
from kwcli.net.core.config import Address, ClientConfig, Protocol, Tls
from kwcli.net.core.session import OPENING_FRAME_MAX
from kwcli.net.deadline import Deadline
from kwcli.net.way import Way
from tests.net.playbook import MODERN, offers
from tests.net.responder import Responder, Script, each_request, framed, read_frame, sends

CONFIG = ClientConfig(servers=(), connect_timeout_s=0.4)
# A machine under load may take a little longer than it should.
GRACE_S = 2.0


def open_connection(address: Address, seconds: float = 5.0, config: ClientConfig = CONFIG) -> Connection:
    return Connection.open(address, config, Deadline(seconds, time.monotonic))


def failure(action: Callable[[], object], seconds: float) -> Failure:
    """The Failure that `action` ends in, in time."""
    begun = time.monotonic()
    with pytest.raises(Failure) as caught:
        action()
    assert time.monotonic() - begun < seconds + GRACE_S
    assert "\n" not in caught.value.text
    return caught.value


def answers(request: bytes) -> bytes:
    """A broker of today, as far as these plays go; Metadata it answers with bytes that say nothing."""
    key, correlation_id = int.from_bytes(request[:2], "big"), int.from_bytes(request[4:8], "big")
    if key == 18:
        return framed(decoders.encode_response(18, 4, offers(MODERN), correlation_id=correlation_id))
    return framed(correlation_id.to_bytes(4, "big") + b"answer")


def then(*pieces: bytes, close: bool = True) -> Script:
    """A broker that says its versions, and gives these bytes for an answer to what is asked then."""

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
    """A server that speaks first."""

    def play(link: socket.socket) -> None:
        link.sendall(data)
        silent(link)

    return play


def drips(data: bytes) -> Script:
    """A server that sends a byte now and then, for ever."""

    def play(link: socket.socket) -> None:
        read_frame(link)
        while True:
            for byte in data:
                link.sendall(bytes([byte]))
                time.sleep(0.02)

    return play


def pours(head: bytes, piece: bytes) -> Script:
    """A server that sends as much as it can, for ever."""

    def play(link: socket.socket) -> None:
        read_frame(link)
        link.sendall(head)
        while True:
            link.sendall(piece)

    return play


# Names and addresses


def unresolvable(code: int) -> Callable[..., Any]:
    def look_up(*_: object, **__: object) -> Any:
        raise socket.gaierror(code, "as the resolver says")

    return look_up


@pytest.mark.parametrize(
    ("code", "says"),
    [
        (socket.EAI_NONAME, "is it spelt right? (containers and port-forwards: --dial-map)"),
        (socket.EAI_AGAIN, "the name server cannot be asked now: is the network up?"),
    ],
)
def test_a_name_without_address(code: int, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kwcli.net.dialling.socket.getaddrinfo", unresolvable(code))
    found = failure(lambda: open_connection(("no.such.host", 9092)), 0)
    assert (found.text, found.code) == (f"no.such.host:9092: no address for 'no.such.host'; {says}", Exit.UNREACHABLE)


def test_a_name_that_cannot_be_one() -> None:
    found = failure(lambda: open_connection(("a" * 70 + "é.example", 9092)), 0)
    assert found.code is Exit.UNREACHABLE
    assert found.text.endswith("it cannot be a host name")


def test_a_name_server_that_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(*_: object, **__: object) -> list[Any]:
        time.sleep(1.0)
        return []

    monkeypatch.setattr("kwcli.net.dialling.socket.getaddrinfo", slow)
    found = failure(lambda: open_connection(("slow.example", 9092), 0.2), 0.2)
    assert found.text == "slow.example:9092: the name server did not answer within 0.2 s"
    assert found.code is Exit.TIMEOUT
    time.sleep(0.9)  # until the resolver's thread is over


def test_all_addresses_of_a_name_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    with Responder(each_request(answers)) as broker:
        places: list[tuple[int, tuple[Any, ...]]] = [
            (socket.AF_APPLETALK, ("nobody speaks it", 1)),
            (socket.AF_INET6, ("::1", 1, 0, 0)),
            (socket.AF_INET, ("127.0.0.1", 1)),
            (socket.AF_INET, broker.address),
        ]
        rows = [(family, socket.SOCK_STREAM, 6, "", place) for family, place in places]
        monkeypatch.setattr("kwcli.net.dialling.socket.getaddrinfo", lambda *_, **__: rows)
        with open_connection(("many.example", 9092)) as connection:
            assert connection.address == ("many.example", 9092)
            assert connection.peer == f"127.0.0.1:{broker.address[1]}"


@pytest.mark.parametrize(
    ("code", "says"),
    [
        (errno.ECONNREFUSED, "refused the connection; is the broker running, and is it the right port?"),
        (errno.EHOSTUNREACH, "is unreachable; no route to the host: VPN, firewall or wrong address?"),
        (errno.ENETUNREACH, "is unreachable; no route to its network: VPN, firewall or wrong address?"),
        (errno.EPERM, "is unreachable; a firewall of this machine forbids it"),
        (errno.EADDRNOTAVAIL, "cannot be reached: as the system says"),
    ],
)
def test_an_address_that_cannot_be_reached(code: int, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Refusing(socket.socket):
        def connect(self, _address: Any) -> None:
            raise OSError(code, "as the system says")

    monkeypatch.setattr("kwcli.net.dialling.socket.socket", Refusing)
    found = failure(lambda: open_connection(("127.0.0.1", 9092)), 0)
    assert (found.text, found.code) == (f"127.0.0.1:9092 {says}", Exit.UNREACHABLE)


def test_a_port_where_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = listener.getsockname()
    found = failure(lambda: open_connection(address), 0)
    assert found.text.startswith(f"127.0.0.1:{address[1]} refused the connection; ")
    assert found.code is Exit.UNREACHABLE


def test_a_host_that_drops_what_it_is_sent() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener:
        full = [socket.socket() for _ in range(3)]
        try:
            for each in full:
                each.setblocking(False)
                each.connect_ex(listener.getsockname())
            found = failure(lambda: open_connection(listener.getsockname()), 0.4)
        finally:
            for each in full:
                each.close()
    assert "did not take the connection within 0.4 s" in found.text
    assert found.code is Exit.TIMEOUT


def test_a_dial_map_says_where_to_go_instead() -> None:
    with Responder(each_request(answers)) as broker:
        asked = ("broker.inside", 9092)
        config = ClientConfig(servers=(), dial_map={asked: broker.address})
        with open_connection(asked, config=config) as connection:
            assert connection.address == asked
    found = failure(lambda: open_connection(asked, config=config), 0)
    assert found.text.startswith(f"broker.inside:9092 (dialled 127.0.0.1:{broker.address[1]}) refused the connection")


def test_ipv6() -> None:
    try:
        broker = Responder(each_request(answers), host="::1")
    except OSError:
        pytest.skip("this machine has no IPv6")
    with broker, open_connection(broker.address) as connection:
        assert connection.peer == f"[::1]:{broker.address[1]}"


# Who answers, and how

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
    "half a frame": (sends([bytes.fromhex("00000100 00000001 0000")]), 5, "does not speak Kafka: it sent 00 00 01 00"),
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
    "silent": (silent, 124, "accepted the connection but says nothing within 0.5 s; "),
    "a slow drip": (drips(b"\xfe\xed\xfa\xce"), 5, "does not speak Kafka: it sent fe ed fa ce"),
    "a slow large frame": (drips(bytes.fromhex("00010000 00000001") + bytes(4096)), 124, r"sent \d+ of 65,540 bytes"),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_what_is_no_broker(name: str) -> None:
    script, code, says = ROWS[name]
    seconds = 0.5 if code == Exit.TIMEOUT else 5.0
    with Responder(script) as server:
        found = failure(lambda: open_connection(server.address, seconds), seconds)
    assert re.match(rf"127\.0\.0\.1:{server.address[1]} ({says})", found.text), found.text
    assert found.code == code


def test_a_tls_listener_that_closes_without_a_word_is_asked_again() -> None:
    with Responder(closes, greets(bytes.fromhex("16030300 5a"))) as server:
        found = failure(lambda: open_connection(server.address), 5.0)
    assert found.text.endswith(" closed the connection after ApiVersions: it speaks TLS; try -X security.protocol=SSL")
    assert found.code is Exit.UNREACHABLE


def test_zookeeper_is_asked_in_its_own_words() -> None:
    def words(link: socket.socket) -> None:
        if link.recv(4) == b"srvr":
            link.sendall(b"Zookeeper version: 3.8.4-9316c2a7a97e1666d8f4593f34dd6fc36ecc436c, built on 2024\n")

    with Responder(words) as server:
        found = failure(lambda: open_connection(server.address), 5.0)
    assert "speaks ZooKeeper (" in found.text
    assert found.text.endswith("), not Kafka; check host and port")


@pytest.mark.parametrize("protocol", ["PLAINTEXT", "SSL"])
def test_a_connection_that_is_reset_before_anything_is_said(
    protocol: Protocol, monkeypatch: pytest.MonkeyPatch
) -> None:
    dialled = Way.dial

    def slowly(self: Way, deadline: Deadline) -> socket.socket:
        link = dialled(self, deadline)
        time.sleep(0.05)  # until the reset has come
        return link

    monkeypatch.setattr(Way, "dial", slowly)
    with Responder(resets) as server:
        config = ClientConfig(servers=(), protocol=protocol, tls=Tls(verify=False))
        found = failure(lambda: open_connection(server.address, config=config), 5.0)
    assert found.code is Exit.UNREACHABLE
    assert re.search(r" closed the connection at once| ended the TLS handshake ", found.text)


# Old brokers


def of_0_9(request: bytes) -> bytes | None:
    """Knows nothing above ListGroups, and closes when asked."""
    key, version = struct.unpack(">hh", request[:4])
    if key > 16:
        return None
    return framed(decoders.encode_response(key, version, {}, correlation_id=int.from_bytes(request[4:8], "big")))


def test_a_broker_of_before_0_10() -> None:
    replies: list[Reply] = []
    with Responder(each_request(of_0_9)) as broker:
        deadline = Deadline(5.0, time.monotonic)
        with Connection.open(broker.address, CONFIG, deadline, record=replies.append) as connection:
            assert connection.offer.assumed == "0.9.0"
            assert str(connection.versions[3]) == "0"
            assert connection.remarks == [
                f"127.0.0.1:{broker.address[1]} knows no ApiVersions: taken for a broker of before 0.10, "
                "with the versions of 0.9.0"
            ]
            reply = connection.request(3, 0, decoders.encode_message(3, 0, "request", {"topics": []}))
    assert reply.response_frame is not None
    assert [(each.api_key, each.version) for each in replies] == [(9, 0), (3, 0)]


def test_a_broker_of_0_10() -> None:
    def of_0_10(request: bytes) -> bytes:
        key, version, correlation_id = struct.unpack(">hhi", request[:8])
        value = offers({3: (0, 1), 18: (0, 0)}) if version == 0 else offers({}, error=35)
        return framed(decoders.encode_response(key, 0, value, correlation_id=correlation_id))

    with Responder(each_request(of_0_10)) as broker, open_connection(broker.address) as connection:
        assert {key: str(each) for key, each in connection.versions.items()} == {3: "0-1", 18: "0"}
        assert connection.remarks == []


# After a good beginning


def ask(server: Responder, seconds: float = 5.0) -> Failure:
    with open_connection(server.address, seconds) as connection:
        return failure(lambda: connection.request(3, 13, b"body"), seconds)


REQUEST_ROWS = {
    "closes": (then(), 5, "closed the connection instead of answering Metadata 13; the broker's log says why"),
    "half an answer": (
        then(bytes.fromhex("00000064 00000002 00")),
        5,
        "closed the connection after 9 of 104 bytes of the answer to Metadata 13",
    ),
    "silent": (then(close=False), 124, "did not answer Metadata 13 within 0.5 s"),
    "half, then silent": (
        then(b"\0\0\0\x64\0", close=False),
        124,
        "sent 5 of 104 bytes of the answer to Metadata 13, and no more within 0.5 s",
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


@pytest.mark.parametrize("name", REQUEST_ROWS)
def test_a_broker_that_goes_wrong(name: str) -> None:
    script, code, says = REQUEST_ROWS[name]
    with Responder(script) as server:
        found = ask(server, 0.5 if code == Exit.TIMEOUT else 5.0)
    assert re.match(rf"127\.0\.0\.1:{server.address[1]} {says}", found.text), found.text
    assert found.code == code


def test_a_close_says_when_the_version_is_not_offered() -> None:
    with Responder(then()) as server, open_connection(server.address) as connection:
        found = failure(lambda: connection.request(3, 14, b""), 5.0)
    assert found.text.endswith("instead of answering Metadata 14; it offers versions 0-13 of this API")


def test_an_answer_too_many_is_not_taken_for_the_next() -> None:
    with Responder(then(bytes.fromhex("00000004 00000002 00000004 00000003"), close=False)) as server:
        found = ask(server)
    assert found.text.endswith("sent 8 bytes that answer nothing")


def test_a_broker_that_takes_nothing() -> None:
    def play(link: socket.socket) -> None:
        link.sendall(answers(read_frame(link)))
        time.sleep(1.0)

    with Responder(play) as server, open_connection(server.address, 0.5) as connection:
        found = failure(lambda: connection.request(0, 9, bytes(64 << 20)), 0.5)
    assert found.text.endswith("did not take all of Produce 9 within 0.5 s")
    assert found.code is Exit.TIMEOUT


def test_a_request_without_answer_waits_for_none() -> None:
    with Responder(then(close=False)) as server, open_connection(server.address) as connection:
        reply = connection.request(0, 9, b"", respond=False)
    assert reply.response_frame is None
    assert reply.sent_ns > 0
    assert reply.first_ns == reply.last_ns == 0


def test_raw_bytes_are_answered_by_whatever_comes() -> None:
    with Responder(each_request(answers)) as server, open_connection(server.address) as connection:
        reply = connection.raw(bytes.fromhex("0000000a 0003 0000 0000abcd 0000"))
        assert reply.response_frame == framed(bytes.fromhex("0000abcd") + b"answer")
        assert reply.api_key is None
        assert connection.request(3, 0, b"").correlation_id == 2


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


# Memory


@pytest.fixture
def traced() -> Iterator[Callable[[], int]]:
    """The most that Python held at one time since the test began, in bytes."""
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
        failure(lambda: open_connection(server.address), 5.0)
    assert traced() < most


def test_memory_grows_with_what_came_not_with_what_is_claimed(traced: Callable[[], int]) -> None:
    came = 4 << 20
    pieces = [FRAME_MAX.to_bytes(4, "big"), bytes(came)]
    with Responder(then(*pieces)) as server:
        found = ask(server)
    assert "closed the connection after 4,194,308 of 134,217,732 bytes" in found.text
    assert traced() < 4 * came
