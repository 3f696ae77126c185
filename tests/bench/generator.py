"""The load that a proxy is measured with: requests for a broker in, the number of answers and their times out.

Frames are made beforehand, a turn is two system calls, and answers are counted by their bytes. With several requests in
flight on one connection, requests that are answered together are sent again together, as clients do.
"""

from __future__ import annotations

import select
import socket
import ssl
import time
from pathlib import Path
from typing import Final, NamedTuple

from tests.bench.fake_broker import LOADS

_READ: Final = 1 << 20
NO_LIMIT: Final = 1e9


class Figures(NamedTuple):
    """Requests a second, bytes of answers a second, and times in µs of a turn (all answers that came together)."""

    rate: float
    bytes_rate: float
    p50: float
    p99: float


class Plan(NamedTuple):
    """A load: `links` connections with `in_flight` requests on each, `most` requests a second in all."""

    title: str
    load: str
    links: int = 1
    in_flight: int = 1
    most: float = NO_LIMIT


def connect(port: int, authority: Path | None) -> socket.socket:
    """A connection, by TLS if an authority is given."""
    link = socket.create_connection(("127.0.0.1", port), timeout=20)
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if authority is None:
        return link
    return ssl.create_default_context(cafile=str(authority)).wrap_socket(link, server_hostname="127.0.0.1")


def drive(port: int, plan: Plan, seconds: float, authority: Path | None = None) -> Figures:
    """Run the load of a plan against one port."""
    links = []
    try:
        for _ in range(plan.links):
            links.append(connect(port, authority))
            _round(links[-1], plan.load)  # the connection is open through to the broker now
        return _one(links[0], plan, seconds) if plan.links == 1 else _many(links, plan, seconds)
    finally:
        for link in links:
            link.close()


def _round(link: socket.socket, load: str) -> None:
    asked, answer = LOADS[load]()
    link.sendall(asked)
    size = len(answer)
    while size:
        size -= len(link.recv(size))


def _one(link: socket.socket, plan: Plan, seconds: float) -> Figures:
    asked, answer = LOADS[plan.load]()
    size = len(answer)
    done = left = 0
    times: list[int] = []
    buffer = bytearray(_READ)
    clock = time.perf_counter_ns
    begun = sent = given = clock()
    end = begun + int(seconds * 1e9)
    link.sendall(asked * plan.in_flight)
    while sent < end:
        got = link.recv_into(buffer)
        if not got:
            raise EOFError("closed")
        count, left = divmod(left + got, size)
        if count:
            done += count
            sent = clock()
            times.append(sent - given)
            early = begun / 1e9 + done / plan.most - sent / 1e9
            if early > 0:
                time.sleep(early)
            given = clock()
            link.sendall(asked * count)
    return _figures(done, size, times, sent - begun)


def _many(links: list[socket.socket], plan: Plan, seconds: float) -> Figures:
    """Run the load on several connections, without a limit on requests a second and without TLS."""
    asked, answer = LOADS[plan.load]()
    size = len(answer)
    done = 0
    times: list[int] = []
    buffer = bytearray(_READ)
    clock = time.perf_counter_ns
    poll = select.epoll()
    by_number = {link.fileno(): link for link in links}
    for number in by_number:
        poll.register(number, select.EPOLLIN)
    begun = now = clock()
    end = begun + int(seconds * 1e9)
    given = dict.fromkeys(by_number, begun)
    left = dict.fromkeys(by_number, 0)
    for link in links:
        link.sendall(asked * plan.in_flight)
    while now < end:
        for number, _ in poll.poll(10):
            link = by_number[number]
            got = link.recv_into(buffer)
            if not got:
                raise EOFError("closed")
            count, left[number] = divmod(left[number] + got, size)
            if count:
                now = clock()
                done += count
                times.append(now - given[number])
                given[number] = now
                link.sendall(asked * count)
    poll.close()
    return _figures(done, size, times, now - begun)


def _figures(done: int, size: int, times: list[int], took_ns: int) -> Figures:
    times.sort()
    took = took_ns / 1e9
    return Figures(done / took, done * size / took, times[len(times) // 2] / 1e3, times[len(times) * 99 // 100] / 1e3)
