"""Logins of the proxy that brokers refuse: one line, a pause, no other connection tries; repeated messages."""

from __future__ import annotations

import asyncio

import pytest

from kwcli.net.config.client_config import SaslSettings
from kwcli.proxy.refuse_clients_while_brokers_are_down import BACKOFF_FIRST_S, BACKOFF_MOST_S, LoginBackoff
from kwcli.proxy.repeated_messages import SeenTexts
from tests.proxy.running import in_loop, rest, running
from tests.proxy.test_upstream_auth import Broker, request, response

WAY = {"protocol": "SASL_PLAINTEXT", "sasl": SaslSettings("PLAIN", "alice", "secret")}


@in_loop
async def test_a_refused_login_is_not_repeated_for_every_client() -> None:
    broker = Broker(password="another")

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        broker.drop()
        while data := await reader.read(1 << 16):
            writer.write(broker.feed(data))

    clock = [100.0]
    async with running(script, way=WAY) as proxy:
        proxy.proxy.backoff = LoginBackoff(lambda: clock[0])
        for _ in range(2):
            reader, _ = await proxy.connect()
            assert await rest(reader) == b""
        for _ in range(3):
            with pytest.raises(ConnectionRefusedError):
                await proxy.connect()
        assert [name for name, _ in broker.seen].count("SaslAuthenticate") == 1
        assert proxy.said.count("refused the PLAIN credentials") == proxy.said.count("the next try is in 1 s") == 1
        assert proxy.said.count("refused the proxy's login") == 1
        clock[0] += 1.1
        await proxy.until("a broker answers, clients are let in again")
        reader, _ = await proxy.connect()
        assert await rest(reader) == b""
        assert proxy.said.count("the next try is in 2 s") == 1
        clock[0] += 2.1
        broker.password = "secret"
        reader, writer = await proxy.connect()
        writer.write(request(3, 12, 7))
        answer = response(3, 12, 7, {"cluster_id": "cluster 7"})
        assert await reader.readexactly(len(answer)) == answer
        assert not proxy.proxy.backoff.is_paused(proxy.proxy.settings.config.servers[0])


@in_loop
async def test_clients_that_come_together_get_one_line() -> None:
    broker = Broker(password="another")
    version_decider = asyncio.Event()

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        mine = Broker(password="another")
        while data := await reader.read(1 << 16):
            out = mine.feed(data)
            if ("SaslAuthenticate", 2) in mine.seen:
                broker.seen += mine.seen
                await version_decider.wait()
            writer.write(out)

    async with running(script, way=WAY) as proxy:
        clients = [await proxy.connect() for _ in range(6)]
        while len(broker.seen) < 6 * 3:
            await asyncio.sleep(0.01)
        version_decider.set()
        for reader, _ in clients:
            assert await rest(reader) == b""
        assert proxy.said.count("the next try is in") == 1
        assert proxy.said.count("refused the PLAIN credentials") == 2  # once with the pause, once for all the others
    assert "5 times: " in proxy.said


def test_pauses_grow_to_a_bound_and_end_with_a_login() -> None:
    now = [0.0]
    backoff = LoginBackoff(lambda: now[0])
    where = ("broker", 9092)
    lengths = []
    for _ in range(8):
        length = backoff.begin_pause(where)
        assert length is not None
        assert backoff.is_paused(where)
        assert backoff.begin_pause(where) is None
        assert not backoff.is_paused(("another", 9092))
        lengths.append(length)
        now[0] += length
        assert not backoff.is_paused(where)
    assert lengths == [BACKOFF_FIRST_S, 2.0, 4.0, 8.0, 16.0, BACKOFF_MOST_S, BACKOFF_MOST_S, BACKOFF_MOST_S]
    backoff.forget_broker(where)
    assert backoff.begin_pause(where) == BACKOFF_FIRST_S


def test_notes_are_said_once_and_counted() -> None:
    notes, said = SeenTexts(), list[str]()
    assert [notes.count_text_and_check_new(text) for text in ("a", "b", "a", "a")] == [True, True, False, False]
    notes.say_repeats(said.append)
    assert said == ["3 times: a"]


def test_notes_without_end_fill_no_memory() -> None:
    notes = SeenTexts()
    assert sum(notes.count_text_and_check_new(str(number)) for number in range(5000)) == 1000
    assert not notes.count_text_and_check_new("4999")
