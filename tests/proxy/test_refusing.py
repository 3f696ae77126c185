"""No broker answers: clients are refused as by the broker itself, the port stays reserved, and recovers later."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from kwcli.net.config.client_config import Address
from kwcli.net.listening_sockets import open_listener
from kwcli.net.parse_addresses import format_address
from kwcli.playground.free_ports import find_free_ports
from kwcli.proxy import refuse_clients_while_brokers_are_down
from kwcli.proxy.relay.rewrite_addresses import Endpoint
from kwcli.proxy.repeated_messages import PAUSE_FIRST_S, RepeatFilter
from tests.proxy.running import WAIT_S, Running, beat, echo, in_loop, rest, running, sooner_or_later
from tests.proxy.test_metrics import samples

pytestmark = pytest.mark.skipif(not hasattr(socket, "SO_REUSEPORT"), reason="sockets of Unix")


@asynccontextmanager
async def broker(port: int) -> AsyncIterator[None]:
    """A broker that answers Heartbeats."""
    writers: list[asyncio.StreamWriter] = []

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        try:
            await echo(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, TimeoutError):
            return
        finally:
            writer.close()

    server = await asyncio.start_server(script, "127.0.0.1", port)
    try:
        yield
    finally:
        server.close()
        for writer in writers:
            writer.close()
        await server.wait_closed()


async def refused(proxy: Running, port: int | None = None) -> None:
    """Assert that a waiting client is reset, and that new ones are refused."""
    reader, _ = await proxy.connect(port)
    assert await rest(reader) == b""
    for _ in range(3):
        with pytest.raises(ConnectionRefusedError):
            await proxy.connect(port)


def place() -> Address:
    return ("127.0.0.1", find_free_ports(1, "127.0.0.1")[0])


def gauge(proxy: Running, node: str) -> float:
    assert proxy.proxy.metrics is not None
    return samples(proxy.proxy.metrics.format_text())["kw_proxy_listening", (("node", node),)]


@in_loop
async def test_clients_are_refused_until_the_broker_answers() -> None:
    target = place()
    (metrics,) = find_free_ports(1, "127.0.0.1")
    async with running(None, servers=[target], metrics=("127.0.0.1", metrics)) as proxy:
        for _ in range(2):  # one outage, and another
            await refused(proxy)
            assert gauge(proxy, "boot") == 0
            async with broker(target[1]):
                await sooner_or_later(lambda: gauge(proxy, "boot"))
                await beat(await proxy.connect(), 1)
    lines = [line for line in proxy.said.splitlines() if line.startswith("kw: ")]
    assert [line.partition("clients are ")[2].partition(",")[0] for line in lines] == [
        "refused until a broker answers",
        "let in again",
        "refused until a broker answers",
        "let in again",
    ]
    assert ["1 more time" in line for line in lines] == [False, False, True, True]


@in_loop
async def test_a_hundred_clients_of_a_dead_broker_are_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """On systems where listening cannot stop, clients are accepted and reset, without dialling for each."""
    monkeypatch.setattr(refuse_clients_while_brokers_are_down, "stop_listening", lambda _: False)
    monkeypatch.setattr(refuse_clients_while_brokers_are_down, "FIRST_S", 1000.0)
    async with running(None) as proxy:
        dials = 0
        dial = proxy.proxy.dialler.dial

        async def counted(
            address: Address, factory: Callable[[], asyncio.Protocol], head: bytes | None = None
        ) -> asyncio.Transport:
            nonlocal dials
            dials += 1
            return await dial(address, factory, head)

        proxy.proxy.dialler.dial = counted  # type: ignore[method-assign]
        for _ in range(100):
            reader, writer = await proxy.connect()
            assert await rest(reader) == b""
            writer.close()
        assert dials == 1
        assert not proxy.proxy.relays
        assert proxy.said.count("kw: ") == 1


@in_loop
async def test_one_broker_of_several_is_down() -> None:
    """The listener of the dead broker refuses; those of other brokers, and the bootstrap listener, accept."""
    dead = place()
    async with running(echo) as proxy:
        alive = proxy.proxy.settings.config.servers[0]
        where = proxy.proxy.listeners.open_listeners_and_find_addresses(
            [Endpoint(1, *dead, 0, 0), Endpoint(2, *alive, 0, 0)]
        )
        await refused(proxy, where[1][1])
        await beat(await proxy.connect(where[2][1]), 1)
        await beat(await proxy.connect(), 2)
        assert format_address(dead) in proxy.said


@in_loop
async def test_the_bootstrap_listener_leads_to_every_broker_that_is_known() -> None:
    dead = place()
    async with running(echo) as other:
        alive = ("127.0.0.1", other.base)
        async with running(None, servers=[dead]) as proxy:
            proxy.proxy.listeners.open_listeners_and_find_addresses(
                [Endpoint(1, *dead, 0, 0), Endpoint(2, *alive, 0, 0)]
            )
            await beat(await proxy.connect(), 1)


@in_loop
async def test_connections_that_are_open_go_on() -> None:
    target = place()
    async with running(None, servers=[target]) as proxy, broker(target[1]):
        client = await proxy.connect()
        await beat(client, 1)
        (accepted,) = proxy.proxy._accepting.values()
        assert accepted.begin_refusing()
        await beat(client, 2)
        with pytest.raises(ConnectionRefusedError):
            await proxy.connect()
        await proxy.until("let in again")
        await beat(client, 3)
        await beat(await proxy.connect(), 4)


@in_loop
async def test_a_node_that_moves_is_found_at_its_new_place() -> None:
    dead = place()
    async with running(echo) as proxy:
        alive = proxy.proxy.settings.config.servers[0]
        listeners = proxy.proxy.listeners
        port = listeners.open_listeners_and_find_addresses([Endpoint(1, *dead, 0, 0)])[1][1]
        await refused(proxy, port)
        listeners.open_listeners_and_find_addresses([Endpoint(1, *alive, 0, 0)])
        await proxy.until("let in again")
        await beat(await proxy.connect(port), 1)


@in_loop
async def test_the_end_comes_while_clients_are_refused() -> None:
    async with running(None) as proxy:
        await refused(proxy)
        proxy.proxy.stop()
        assert await asyncio.wait_for(proxy.task, WAIT_S) == 0
        with socket.create_server(("127.0.0.1", proxy.base)):  # the port is free
            pass


@pytest.mark.parametrize("reuse", [0, 1])
def test_no_other_program_can_take_the_port_meanwhile(reuse: int) -> None:
    (port,) = find_free_ports(1, "127.0.0.1")
    with open_listener("127.0.0.1", port) as ours, socket.create_connection(("127.0.0.1", port), 5):
        assert refuse_clients_while_brokers_are_down.stop_listening(ours)
        with socket.socket() as other:
            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, reuse)
            with pytest.raises(OSError, match="in use"):
                other.bind(("127.0.0.1", port))
        refuse_clients_while_brokers_are_down.listen_again(ours)
        with socket.create_connection(("127.0.0.1", port), 5):
            pass


def test_equal_lines_are_folded_and_counted() -> None:
    now, said = [0.0], list[str]()
    repeats = RepeatFilter(lambda: now[0], said.append)
    for number in range(1000):
        repeats.say_unless_repeated("(node 1): refused", f"connection {number} (node 1): refused")
    repeats.say_unless_repeated("(node 2): refused", "connection 7 (node 2): refused")
    repeats.say_due_counts()
    assert said == ["connection 0 (node 1): refused", "connection 7 (node 2): refused"]
    now[0] += PAUSE_FIRST_S
    repeats.say_due_counts()
    assert said[2:] == ["999 more times: (node 1): refused"]
    repeats.say_unless_repeated("(node 2): refused", "connection 8 (node 2): refused")  # forgotten, so it is news
    repeats.say_unless_repeated("(node 1): refused", "connection 9 (node 1): refused")
    now[0] += PAUSE_FIRST_S
    repeats.say_due_counts()
    assert said[3:] == ["connection 8 (node 2): refused"]  # pauses between lines grow with the outage
    repeats.finish()
    assert said[4:] == ["1 more time: (node 1): refused"]


def test_lines_without_end_fill_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kwcli.proxy.repeated_messages._MOST", 10)
    said = list[str]()
    repeats = RepeatFilter(lambda: 0.0, said.append)
    for number in range(100):
        repeats.say_unless_repeated(f"line-{number}", f"{number}")
        repeats.say_unless_repeated(f"line-{number}", f"{number}")
    assert len(repeats._known) == 10
    repeats.finish()
    assert len(said) == 200  # no line is lost


def test_counts_make_no_other_line() -> None:
    said: list[str] = []
    repeats = RepeatFilter(lambda: 0.0, said.append)
    for port, unanswered in ((40_001, 9_131), (40_002, 10_742), (40_003, 9_131)):
        repeats.say_unless_repeated(
            f"(bootstrap): reset with {unanswered} unanswered", f"127.0.0.1:{port} reset with {unanswered}"
        )
    repeats.say_unless_repeated("(node 2): 10.0.0.2:9092 refused", "node 2")
    repeats.say_unless_repeated("(node 2): 10.0.0.3:9092 refused", "elsewhere")
    repeats.finish()
    assert said == [
        *("127.0.0.1:40001 reset with 9131", "node 2", "elsewhere"),
        "2 more times: (bootstrap): reset with N unanswered",
    ]
