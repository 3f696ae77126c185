"""FaultDecider of a running proxy: real sockets and clients, its log and its last lines."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]  # it ships no types
import pytest

from kwcli.playground.run_playground import LibrdkafkaMock
from kwcli.proxy.deciding.faults.rule_files import RuleFiles
from kwcli.proxy.run_proxy import combine_deciders
from tests.cli.worlds import kw
from tests.proxy.running import (
    ANSWERS,
    ASKED,
    WAIT_S,
    Running,
    beat,
    echo,
    frame,
    in_loop,
    rest,
    running,
    standing_clock,
)
from tests.proxy.test_logged import SCHEMA, Logged


@asynccontextmanager
async def faulty(*rules: str) -> AsyncIterator[Running]:
    found = RuleFiles(rules, [], 1, time.time_ns)
    async with running(echo, deciders=combine_deciders(None, found), rules=found) as made:
        yield made


@in_loop
async def test_a_delay_holds_its_connection_and_no_other() -> None:
    async with faulty("delay 400ms, first 1") as proxy:
        slow, quick = await proxy.connect(), await proxy.connect()
        begun = time.monotonic()
        with standing_clock():
            slow[1].write(ASKED[0] + ASKED[1])
            for number in (2, 3, 4):
                await beat(quick, number)
            assert not slow[0]._buffer  # type: ignore[attr-defined]  # nothing has come yet
        assert await frame(slow[0]) == ANSWERS[0]
        assert time.monotonic() - begun >= 0.4
        assert await frame(slow[0]) == ANSWERS[1]


@in_loop
async def test_a_reset_is_one_and_a_close_is_an_end() -> None:
    async with faulty("reset, first 1", "close, first 1") as proxy:
        client = await proxy.connect()
        client[1].write(ASKED[0])
        with pytest.raises(ConnectionResetError):
            await asyncio.wait_for(client[0].readexactly(1), WAIT_S)
        other = await proxy.connect()
        other[1].write(ASKED[0])
        assert await rest(other[0]) == b""
        await beat(await proxy.connect(), 3)


@in_loop
async def test_a_client_is_refused_and_the_next_is_not() -> None:
    async with faulty("refuse, first 1") as proxy:
        client = await proxy.connect()
        with pytest.raises(ConnectionResetError):
            await asyncio.wait_for(client[0].readexactly(1), WAIT_S)
        await beat(await proxy.connect(), 1)
        assert not any(session.over for session in proxy.proxy.relays.values())


@pytest.mark.parametrize("rule", ["blackhole", "lose answer"])
def test_nothing_comes_until_the_client_closes(rule: str) -> None:
    @in_loop
    async def run() -> None:
        async with faulty(f"{rule}, first 1") as proxy:
            client = await proxy.connect()
            client[1].write(ASKED[0] + ASKED[1])
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(client[0].read(1), 0.3)
            client[1].close()
            other = await proxy.connect()
            await beat(other, 2)
            async with asyncio.timeout(WAIT_S):
                while len(proxy.proxy.relays) > 1:
                    await asyncio.sleep(0.02)

    run()


@in_loop
async def test_a_mute_is_felt_by_the_next_request() -> None:
    async with faulty("throttle 300ms mute, first 1") as proxy:
        client = await proxy.connect()
        begun = time.monotonic()
        client[1].write(ASKED[0])
        await frame(client[0])
        assert time.monotonic() - begun < 60
        client[1].write(ASKED[1])
        assert await frame(client[0]) == ANSWERS[1]
        assert time.monotonic() - begun >= 0.3


@pytest.fixture
def mock() -> Iterator[str]:
    with LibrdkafkaMock(1) as cluster:
        cluster.create_topic("orders")
        yield cluster.bootstrap()


def test_the_log_says_what_was_done_and_the_end_how_often(mock: str, tmp_path: Path) -> None:
    rules = tmp_path / "rules"
    rules.write_text("error NOT_LEADER_OR_FOLLOWER, first 2, when api == Produce\nclose, when topic == nobody\n")
    with Logged(mock, tmp_path, "-o", "ndjson", "--faults", str(rules), "--seed", "7") as proxy:
        proxy.talk(3)
        said = proxy.end()
    rows: list[dict[str, Any]] = [json.loads(line) for line in proxy.out.read_text().splitlines()]
    touched = [row for row in rows if "fault" in row]
    assert [row["fault"] for row in touched] == [
        {"rule": 1, "action": "error NOT_LEADER_OR_FOLLOWER", "hit": hit} for hit in (1, 2)
    ]
    assert {row["api"] for row in touched} == {"Produce"}
    assert {error["name"] for row in touched for error in row["errors"]} == {"NOT_LEADER_OR_FOLLOWER"}
    assert all("upstream_latency_ms" not in row for row in touched)
    assert "faults on purpose by 2 rules (--seed 7 repeats them)" in said
    assert "fault 1 (error NOT_LEADER_OR_FOLLOWER): hit 2 of 2 exchanges" in said
    assert "fault 2 (close): no exchange matched" in said
    assert "2 exchanges with a fault on purpose" in said
    text = kw("sniff", str(proxy.out), "-o", "text", "-f", "fault.hit == 2 and fault ~ NOT_LEADER").out
    assert text.count("⚡ error NOT_LEADER_OR_FOLLOWER NOT_LEADER_OR_FOLLOWER") == 1


@pytest.mark.long
def test_events_are_rows_when_they_are_asked_for(mock: str, tmp_path: Path) -> None:
    words = ("-o", "ndjson", "--events", "--fault", "reset, first 1, when api == Produce")
    with Logged(mock, tmp_path, *words) as proxy:
        proxy.talk(3)
        proxy.end()
    rows = [json.loads(line) for line in proxy.out.read_text().splitlines()]
    assert {row["kind"] for row in rows} == {"exchange", "connection", "event", "listeners"}
    valid = jsonschema.Draft202012Validator(SCHEMA)
    assert [error.message for row in rows for error in valid.iter_errors(row)] == []
    opened = [row["connection"] for row in rows if row.get("what") == "opened"]
    closed = {row["connection"]: row for row in rows if row.get("what") == "closed"}
    assert sorted(opened) == sorted(closed) == list(range(1, len(opened) + 1))
    for row in rows:
        if row["kind"] == "exchange":
            assert rows.index(row) < rows.index(closed[row["connection"]])
    (touched,) = [row for row in rows if "fault" in row]
    end = closed[touched["connection"]]
    assert (end["how"], end["reason"]) == ("rst", "fault 1 (reset)")
    assert (touched["status"], touched["closed"]) == ("unanswered", "rst")
    assert any(
        "ready" not in row["text"] and "faults on purpose" in row["text"] for row in rows if row["kind"] == "event"
    )


def test_events_need_rows_of_json() -> None:
    outcome = kw("proxy", "-b", "localhost:1", "-o", "text", "--events")
    assert (outcome.code, outcome.err) == (2, "kw: --events adds JSON lines: it needs -o ndjson\n")
