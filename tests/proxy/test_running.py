"""The shell: listeners, dialling, buffers, ends; one clear line for every failure, and no other client disturbed."""

from __future__ import annotations

import asyncio
import socket
import struct
from typing import Any

import pytest

from kwcli.net.listening_sockets import open_listener
from kwcli.proxy.log.log_queue import now_ns
from kwcli.proxy.node_listeners import ProxyPorts
from kwcli.proxy.relay.relay_connection import Relay
from kwcli.proxy.relay.rewrite_addresses import Endpoint
from kwcli.run_environment import Exit, Failure
from tests.proxy.running import (
    ANSWERS,
    ASKED,
    WAIT_S,
    beat,
    echo,
    frame,
    in_loop,
    rest,
    running,
    sooner_or_later,
)
from tests.proxy.stage import METADATA, metadata, request

STRANGE = [
    (b"GET / HTTP/1.1\r\n\r\n", "HTTP"),
    (bytes.fromhex("16030100c8010000c40303") + bytes(64), "TLS"),
    (bytes.fromhex("7fffffff00030001000000010000"), "a size of 2147483647"),
    (bytes.fromhex("fffffff000030001"), "a size of -16"),
    (b"\x2a" * 64, "a size of 707406378"),
]


@pytest.mark.parametrize(("data", "reason"), STRANGE, ids=[reason for _, reason in STRANGE])
@in_loop
async def test_strangers_get_one_line_and_disturb_nobody(data: bytes, reason: str) -> None:
    async with running(echo) as proxy:
        good, bad = await proxy.connect(), await proxy.connect()
        await beat(good, 1)
        bad[1].write(data)
        assert await rest(bad[0]) == b""
        await proxy.until(reason)
        assert len([line for line in proxy.said.splitlines() if line.startswith("kw: ")]) == 1
        await beat(good, 2)


WRONG = [([2, 1], "out of order"), ([1, 1, 1], "twice"), ([9], "where 1 (Heartbeat 4) was due")]


@pytest.mark.parametrize(("order", "reason"), WRONG, ids=[reason for _, reason in WRONG])
@in_loop
async def test_a_broker_out_of_step_gets_one_line_and_disturbs_nobody(order: list[int], reason: str) -> None:
    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if await frame(reader) == ASKED[3]:
            writer.write(ANSWERS[3])
            return await echo(reader, writer)
        await frame(reader)
        for number in order:
            writer.write(ANSWERS[number])
            await writer.drain()
            await asyncio.sleep(0.02)
        return None

    async with running(script) as proxy:
        good, bad = await proxy.connect(), await proxy.connect()
        await beat(good, 3)
        bad[1].write(ASKED[1] + ASKED[2])
        await rest(bad[0])
        await proxy.until(reason)
        assert proxy.said.count("kw: ") == 1
        await beat(good, 4)


@pytest.mark.parametrize("reset", [False, True])
@in_loop
async def test_a_client_that_vanishes_inside_a_request(reset: bool) -> None:
    async with running(echo) as proxy:
        good, bad = await proxy.connect(), await proxy.connect()
        bad[1].write(ASKED[1][:-5])
        await bad[1].drain()
        await sooner_or_later(lambda: len(proxy.proxy.relays) == 2)
        await asyncio.sleep(0.05)
        if reset:
            link: socket.socket = bad[1].get_extra_info("socket")
            link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        bad[1].transport.abort()
        await proxy.until(
            "the client reset the connection inside" if reset else "the client closed the connection inside a request"
        )
        await beat(good, 2)
        await sooner_or_later(lambda: len(proxy.proxy.relays) == 1)


@in_loop
async def test_a_broker_that_is_not_there() -> None:
    async with running(None) as proxy:
        client = await proxy.connect()
        client[1].write(ASKED[1])
        assert await rest(client[0]) == b""
        await proxy.until("refused the connection")


@in_loop
async def test_a_broker_that_speaks_tls_where_it_should_not() -> None:
    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await frame(reader)
        writer.write(bytes.fromhex("15 0303 0002 0246"))  # an alert

    async with running(script) as proxy:
        client = await proxy.connect()
        client[1].write(ASKED[1])
        assert await rest(client[0]) == b""
        await proxy.until("TLS")
        assert proxy.said.count("kw: ") == 1


@in_loop
async def test_a_broker_that_speaks_no_tls_where_it_should() -> None:
    async def script(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        await reader.read(5)  # a TLS hello, which has no possible size

    async with running(script, way={"protocol": "SSL"}) as proxy:
        client = await proxy.connect()
        client[1].write(ASKED[1])
        assert await rest(client[0]) == b""
        await proxy.until("TLS")
        assert proxy.said.count("kw: ") == 1


@in_loop
async def test_only_this_machine_gets_in_unless_asked() -> None:
    async with running(echo) as proxy:
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.2", proxy.base)
        await beat(await proxy.connect(), 1)


@in_loop
async def test_the_next_server_is_tried() -> None:
    async with running(echo) as other:
        place = ("127.0.0.1", other.base)
        async with running(None, servers=[("127.0.0.1", 1), place]) as proxy:
            await beat(await proxy.connect(), 1)


@in_loop
async def test_an_answer_comes_after_the_client_ended_its_side() -> None:
    async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await frame(reader)
        assert await reader.read() == b""  # the broker sees the end too
        writer.write(ANSWERS[1])

    async with running(slow) as proxy:
        client = await proxy.connect()
        client[1].write(ASKED[1])
        client[1].write_eof()
        assert await rest(client[0]) == ANSWERS[1]


def test_nobody_is_cut_for_waiting_long() -> None:
    asyncio.run(_wait_an_hour())  # without the time limit of `in_loop`


async def _wait_an_hour() -> None:
    version_decider = asyncio.Event()

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(len(ASKED[1]))
        await version_decider.wait()
        writer.write(ANSWERS[1])

    async with running(script) as proxy:
        waiting, idle = await proxy.connect(), await proxy.connect()
        waiting[1].write(ASKED[1])
        await sooner_or_later(lambda: sum(each.core.in_flight for each in proxy.proxy.relays.values()) == 1)
        loop = asyncio.get_running_loop()
        now = loop.time
        loop.time = lambda: now() + 3600  # type: ignore[method-assign]  # every timer is due
        await asyncio.sleep(0.05)
        version_decider.set()
        assert await frame(waiting[0]) == ANSWERS[1]
        await beat(idle, 1)


@in_loop
async def test_a_reset_of_the_broker_is_one_for_the_client() -> None:
    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await frame(reader)
        link: socket.socket = writer.get_extra_info("socket")
        link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()

    async with running(script) as proxy:
        client = await proxy.connect()
        client[1].write(ASKED[1])
        with pytest.raises(ConnectionError):
            await asyncio.wait_for(client[0].read(), WAIT_S)
        await proxy.until("the broker reset the connection with 1 unanswered")


# Listeners


def test_a_port_that_is_taken_is_said() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        with pytest.raises(Failure, match="is taken by another program") as failure:
            open_listener("127.0.0.1", other.getsockname()[1])
        assert failure.value.code == Exit.FAILURE


def test_an_address_that_is_not_here_is_said() -> None:
    with pytest.raises(Failure, match="no address of this machine"):
        open_listener("192.0.2.1", 0)


@in_loop
async def test_a_port_that_is_taken_later_ends_that_connection_only() -> None:
    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked = await frame(reader)
        if asked[4:6] == METADATA.to_bytes(2, "big"):
            writer.write(metadata((1, "kafka-1.invalid", 9092), (5, "kafka-5.invalid", 9092)))
        else:
            writer.write(ANSWERS[1])
        await reader.read()

    async with running(script) as proxy:
        with socket.create_server(("127.0.0.1", proxy.base + 6)):
            good, bad = await proxy.connect(), await proxy.connect()
            bad[1].write(request(METADATA, 12))
            assert await rest(bad[0]) == b""
            await proxy.until("node 5 has no listener")
            await beat(good, 1)
        again = await proxy.connect()
        again[1].write(request(METADATA, 12))
        assert (await frame(again[0])).count(b"127.0.0.1") == 2


@in_loop
async def test_a_node_that_moves_keeps_its_listener() -> None:
    places = [("old.invalid", 1), ("new.invalid", 2)]

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for number, place in enumerate(places):
            await frame(reader)
            writer.write(metadata((3, *place), id=number))
        await reader.read()

    async with running(script) as proxy:
        client = await proxy.connect()
        seen = []
        for number in range(2):
            client[1].write(request(METADATA, 12, id=number))
            seen.append((await frame(client[0]))[8:])
        assert seen[0] == seen[1]
        assert proxy.proxy.listeners.all_listeners[1].targets == (places[1],)
        assert "node 3 is now at new.invalid:2, no longer at old.invalid:1" in proxy.said


@in_loop
async def test_who_connects_at_once_to_a_new_listener_is_let_in() -> None:
    async with running(echo) as proxy:
        target = proxy.proxy.settings.config.servers[0]
        where = proxy.proxy.listeners.open_listeners_and_find_addresses([Endpoint(7, *target, 0, 0)])
        with socket.create_connection(where[7], timeout=WAIT_S) as link:  # before the loop has had a turn
            link.setblocking(False)
            loop = asyncio.get_running_loop()
            await loop.sock_sendall(link, ASKED[4])
            assert await asyncio.wait_for(loop.sock_recv(link, 100), WAIT_S) == ANSWERS[4]


def test_ports_follow_from_ids_and_large_ones_are_kept(tmp_path: Any) -> None:
    file = str(tmp_path / "kw" / "ports.json")
    first = ProxyPorts(20000, "one", file)
    assert [first.find_port(number) for number in (0, 3, 999, 5000, 1000, 5000)] == [
        20001,
        20004,
        21000,
        21001,
        21002,
        21001,
    ]
    first.write_ports_file()
    assert ProxyPorts(20000, "one", file).find_port(1000) == 21002
    assert ProxyPorts(20000, "two", file).find_port(1000) == 21001
    assert ProxyPorts(20000, None, file).find_port(1000) == 21001
    assert ProxyPorts(65000, "one", file).find_port(700) is None
    (tmp_path / "kw" / "ports.json").write_text("{broken")
    assert ProxyPorts(20000, "one", file).find_port(1000) == 21001


# The end


@in_loop
async def test_the_first_signal_waits_for_answers() -> None:
    asked, go = asyncio.Event(), asyncio.Event()

    async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await frame(reader)
        asked.set()
        await go.wait()
        writer.write(ANSWERS[1])
        await reader.read()

    async with running(slow) as proxy:
        client, idle = await proxy.connect(), await proxy.connect()
        client[1].write(ASKED[1])
        await asked.wait()
        proxy.proxy.stop()
        assert await rest(idle[0]) == b""
        await proxy.until("waiting for answers to 1 requests")
        with pytest.raises(ConnectionRefusedError):
            await proxy.connect()
        go.set()
        assert await rest(client[0]) == ANSWERS[1]
        assert await asyncio.wait_for(proxy.task, WAIT_S) == Exit.DONE


@in_loop
async def test_the_second_signal_ends_at_once() -> None:
    asked = asyncio.Event()

    async def never(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        await frame(reader)
        asked.set()
        await reader.read()

    async with running(never) as proxy:
        client = await proxy.connect()
        client[1].write(ASKED[1])
        await asked.wait()
        proxy.proxy.stop()
        await proxy.until("waiting for answers")
        proxy.proxy.stop()
        assert await asyncio.wait_for(proxy.task, WAIT_S) == Exit.INTERRUPTED
        assert await rest(client[0]) == b""


@in_loop
async def test_waiting_ends_after_a_while() -> None:
    asked = asyncio.Event()

    async def never(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        await frame(reader)
        asked.set()
        await reader.read()

    async with running(never, drain_s=0.2) as proxy:
        client = await proxy.connect()
        client[1].write(ASKED[1])
        await asked.wait()
        proxy.proxy.stop()
        assert await asyncio.wait_for(proxy.task, WAIT_S) == Exit.DONE
        assert "gave up on 1 unanswered requests" in proxy.said


def test_the_clock_never_goes_back() -> None:
    times = [now_ns() for _ in range(1000)]
    assert times == sorted(times)


@in_loop
async def test_an_answer_comes_where_the_client_ended_its_side_while_the_broker_was_dialled() -> None:
    """What TLS has read ahead, the end included, comes while the proxy does not read on yet."""
    plain_dial = Relay._dial_broker

    async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await frame(reader)
        assert await reader.read() == b""  # the broker sees the end too
        writer.write(ANSWERS[1])

    async def dial_after_end(relay: Relay) -> None:
        relay._handle_client_bytes(ASKED[1])
        assert relay.eof_received(relay.client)
        await plain_dial(relay)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Relay, "_dial_broker", dial_after_end)
        async with running(slow) as proxy:
            client = await proxy.connect()
            assert await rest(client[0]) == ANSWERS[1]
