"""Names without addresses, addresses without a listener: each with its line and exit code, in time."""

from __future__ import annotations

import errno
import socket
import time
from collections.abc import Callable
from typing import Any

import pytest

from kwcli.net.config.client_config import ClientConfig
from kwcli.run_environment import Exit
from tests.net.responder import Responder, each_request, unheard_address
from tests.net.servers import (
    answers,
    failure,
    open_connection,
)


def unresolvable(code: int) -> Callable[..., Any]:
    def look_up(*_: object, **__: object) -> Any:
        raise socket.gaierror(code, "as the resolver says")

    return look_up


@pytest.mark.parametrize(
    ("code", "says"),
    [
        (socket.EAI_NONAME, "is it spelt right? (containers and port-forwards: --dial-map)"),
        (socket.EAI_AGAIN, "the name server cannot be reached: is the network up?"),
    ],
)
def test_a_name_without_address(code: int, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kwcli.net.open_connections.socket.getaddrinfo", unresolvable(code))
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

    monkeypatch.setattr("kwcli.net.open_connections.socket.getaddrinfo", slow)
    found = failure(lambda: open_connection(("slow.example", 9092), 0.2), 0.2)
    assert found.text == "slow.example:9092: the name server did not answer within 0.2 s"
    assert found.code is Exit.TIMEOUT
    time.sleep(0.9)  # until the resolver's thread has ended


def test_all_addresses_of_a_name_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    with Responder(each_request(answers)) as broker:
        places: list[tuple[int, tuple[Any, ...]]] = [
            (socket.AF_APPLETALK, ("nobody speaks it", 1)),
            (socket.AF_INET6, ("::1", 1, 0, 0)),
            (socket.AF_INET, ("127.0.0.1", 1)),
            (socket.AF_INET, broker.address),
        ]
        rows = [(family, socket.SOCK_STREAM, 6, "", place) for family, place in places]
        monkeypatch.setattr("kwcli.net.open_connections.socket.getaddrinfo", lambda *_, **__: rows)
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

    monkeypatch.setattr("kwcli.net.open_connections.socket.socket", Refusing)
    found = failure(lambda: open_connection(("127.0.0.1", 9092)), 0)
    assert (found.text, found.code) == (f"127.0.0.1:9092 {says}", Exit.UNREACHABLE)


def test_a_port_where_nobody_listens() -> None:
    with unheard_address() as address:
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
            config = ClientConfig(servers=(), connect_timeout_s=0.4)
            found = failure(lambda: open_connection(listener.getsockname(), config=config), 0.4)
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
