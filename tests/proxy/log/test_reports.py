"""Errors on their way from the log's process to the data path: none is lost, and neither side waits."""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from kwcli.proxy.log.log_queue import Errors, Reporter, Reports


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    with ours, theirs:
        yield ours, theirs


def exchange(api: str | None, *codes: int) -> Any:
    return SimpleNamespace(api=api, unexpected=[("error_code", code) for code in codes])


async def heard(ours: socket.socket, sends: list[Any]) -> tuple[Counter[tuple[str, str]], int]:
    """The sums of errors on the data path while `sends` are called, and the number of reports they came in."""
    found: Counter[tuple[str, str]] = Counter()
    pieces = 0

    def told(errors: Errors) -> None:
        nonlocal pieces
        pieces += 1
        for api, name, count in errors:
            found[api, name] += count

    reports = Reports(ours, told)
    reports.attach(asyncio.get_running_loop())
    for send in sends:
        send()
        await asyncio.sleep(0.01)
    reports.detach()
    reports.detach()
    return found, pieces


def test_errors_are_added_up(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = pair
    reporter = Reporter(theirs)
    reporter.add_exchange(exchange("Produce", 6, 6))
    reporter.add_exchange(exchange("Fetch"))

    def more() -> None:
        reporter.add_exchange(exchange(None, 777))
        reporter.send_reports()

    found, pieces = asyncio.run(heard(ours, [reporter.send_reports, reporter.send_reports, more]))
    assert found == {("Produce", "NOT_LEADER_OR_FOLLOWER"): 2, ("other", "UNKNOWN(777)"): 1}
    assert pieces == 2


def test_what_finds_no_room_is_told_later(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = pair
    reporter = Reporter(theirs)
    count = 0
    for _ in range(20_000):  # far more than the pair holds, and nothing reads it
        reporter.add_exchange(exchange("Fetch", 1000 + count % 50))
        reporter.send_reports()
        count += 1
    found, _ = asyncio.run(heard(ours, [reporter.send_reports] * 40))
    assert sum(found.values()) == count


def test_the_log_may_end(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = pair
    found, _ = asyncio.run(heard(ours, [theirs.close]))
    assert not found
    Reporter(theirs).send_reports()
