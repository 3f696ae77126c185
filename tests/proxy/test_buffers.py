"""A side that does not read stops the side that sends, and frames held for rewriting share one budget."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any

import pytest

from kwcli.net.config.client_config import Address
from kwcli.proxy.relay.socket_half import BUFFER_FULL, DIALLING
from tests.bench.fake_broker import records
from tests.proxy.running import (
    ANSWERS,
    ASKED,
    WAIT_S,
    echo,
    frame,
    in_loop,
    running,
    settled,
    sooner_or_later,
)
from tests.proxy.stage import FETCH, HEARTBEAT, request, response


def narrow(transport: asyncio.Transport | None) -> None:
    """Give a socket a small send buffer: how much a kernel takes by itself differs from machine to machine."""
    assert transport is not None
    transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 16)


@in_loop
async def test_a_client_that_does_not_read_stops_the_broker() -> None:
    sent = 0

    async def flood(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        answer = response(HEARTBEAT, 4, id=1)
        big = (64 << 20).to_bytes(4, "big") + answer[4:8]
        await frame(reader)
        writer.write(big)
        for _ in range(64):
            writer.write(bytes(1 << 20))
            await writer.drain()
            sent += 1 << 20

    async with running(flood) as proxy:
        reader, writer = await proxy.connect()
        reader._transport.pause_reading()  # type: ignore[attr-defined]  # there is no other way to read nothing
        writer.write(ASKED[1])
        await sooner_or_later(lambda: [each for each in proxy.proxy.relays.values() if each.client.transport])
        (session,) = proxy.proxy.relays.values()
        narrow(session.client.transport)
        assert await settled(lambda: sent) > 0
        assert session.server.pause_reasons & BUFFER_FULL
        assert session.client.transport is not None
        assert session.client.transport.get_write_buffer_size() < 2 << 20
        writer.transport.abort()


def _begin_to_read(transport: Any, fd: int, callback: Callable[..., None], *words: Any) -> None:
    """What asyncio of Python 3.11.2 does with a new connection, paused or not."""
    if not transport.is_closing():
        transport._loop._add_reader(fd, callback, *words)


@pytest.mark.long
@pytest.mark.parametrize("begins", [False, True])
def test_what_comes_before_the_broker_is_there_is_bounded(begins: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if begins:
        monkeypatch.setattr("asyncio.selector_events._SelectorTransport._add_reader", _begin_to_read)
    _send_before_the_broker_is_there()


@in_loop
async def _send_before_the_broker_is_there() -> None:
    async with running(echo) as proxy:
        version_decider = asyncio.Event()
        dial = proxy.proxy.dialler.dial

        async def late(
            address: Address, factory: Callable[[], asyncio.Protocol], head: bytes | None = None
        ) -> asyncio.Transport:
            await version_decider.wait()
            return await dial(address, factory, head)

        proxy.proxy.dialler.dial = late  # type: ignore[method-assign]  # a name server that takes its time
        reader, writer = await proxy.connect()
        asked = b"".join(ASKED) * 100_000
        writer.write(asked)
        await settled(writer.transport.get_write_buffer_size)
        (session,) = proxy.proxy.relays.values()
        assert session.client.pause_reasons & DIALLING
        assert sum(map(len, session._early)) < 1 << 20
        version_decider.set()
        for _ in range(100):
            assert [await frame(reader) for _ in ANSWERS] == ANSWERS
        writer.transport.abort()


@in_loop
async def test_a_broker_that_does_not_read_stops_the_client() -> None:
    async def deaf(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        reader._transport.pause_reading()  # type: ignore[attr-defined]
        await asyncio.sleep(4 * WAIT_S)

    async with running(deaf) as proxy:
        _, writer = await proxy.connect()
        big = request(HEARTBEAT, 4, {"group_id": "g"}, id=1)
        writer.write((64 << 20).to_bytes(4, "big") + big[4:] + bytes((64 << 20) - len(big) + 4))
        await sooner_or_later(lambda: [each for each in proxy.proxy.relays.values() if each.server.transport])
        (session,) = proxy.proxy.relays.values()
        narrow(session.server.transport)
        await settled(writer.transport.get_write_buffer_size)
        assert session.client.pause_reasons & BUFFER_FULL
        assert session.server.transport is not None
        assert session.server.transport.get_write_buffer_size() < 2 << 20
        writer.transport.abort()


@in_loop
async def test_frames_that_are_held_share_one_budget_and_none_waits_for_ever() -> None:
    """Halves of three frames that do not fit together into the budget; one is larger than the whole budget."""
    sizes = {1: 700_000, 2: 700_000, 3: 3_000_000}
    halves = asyncio.Event()

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number = int.from_bytes((await frame(reader))[8:12], "big")
        rows = [{"partition_index": 0, "records": records(sizes[number])}]
        answer = response(FETCH, 16, {"responses": [{"partitions": rows}]}, id=number)
        writer.write(answer[:50_000])
        await halves.wait()
        writer.write(answer[50_000:])
        await reader.read()

    async with running(script, shared_memory_max=1 << 20) as proxy:
        clients = [await proxy.connect() for _ in sizes]
        for number, client in zip(sizes, clients, strict=True):
            client[1].write(request(FETCH, 16, id=number))
        assert 0 < await settled(lambda: proxy.proxy.shared_memory.used) < 1 << 20
        halves.set()
        got = await asyncio.gather(*(frame(client[0]) for client in clients))
        assert [len(data) > size for data, size in zip(got, sizes.values(), strict=True)] == [True] * 3
        await sooner_or_later(lambda: not proxy.proxy.shared_memory.used)


@in_loop
async def test_who_reads_nothing_takes_no_room_from_others_for_ever() -> None:
    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            number = int.from_bytes((await frame(reader))[8:12], "big")
            rows = [{"partition_index": 0, "records": records(12 << 20)}]
            writer.write(response(FETCH, 16, {"responses": [{"partitions": rows}]}, id=number))

    async with running(script, shared_memory_max=16 << 20) as proxy:
        deaf, patient, good = [await proxy.connect() for _ in range(3)]
        deaf[0]._transport.pause_reading()  # type: ignore[attr-defined]
        deaf[1].write(request(FETCH, 16, id=1))
        await sooner_or_later(lambda: proxy.proxy.shared_memory.used > 12 << 20)
        await settled(lambda: proxy.proxy.shared_memory.used)
        proxy.proxy._cut_stalled_clients()
        proxy.proxy._cut_stalled_clients()
        assert len(proxy.proxy.relays) == 3  # the waiting connection blocks no other
        patient[1].write(request(FETCH, 16, id=2))
        await sooner_or_later(lambda: proxy.proxy.shared_memory.has_waiters)
        proxy.proxy._cut_stalled_clients()
        await frame(patient[0])
        assert "the client reads nothing" in proxy.said
        good[1].write(request(FETCH, 16, id=3))
        await frame(good[0])
        await sooner_or_later(lambda: not proxy.proxy.shared_memory.used)
        deaf[1].transport.abort()


@in_loop
async def test_room_comes_back_from_clients_that_vanish() -> None:
    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await frame(reader)
        writer.write((900_000).to_bytes(4, "big") + (1).to_bytes(4, "big") + bytes(1000))
        await reader.read()

    async with running(script, shared_memory_max=1 << 20) as proxy:
        clients = [await proxy.connect() for _ in range(3)]
        for client in clients:
            client[1].write(request(FETCH, 16, id=1))
        await sooner_or_later(lambda: proxy.proxy.shared_memory.used)
        for client in clients:
            client[1].transport.abort()
        await sooner_or_later(lambda: not proxy.proxy.shared_memory.used and not proxy.proxy.relays)
