"""The cost of new clients: many connect and ask a few times, straight to a broker, through a relay, by `kw proxy`.

`python -m tests.bench.newcomers [--clients 500] [--asks 20] [-- OPTIONS OF kw proxy]`. The broker is fair_broker.py;
every client asks for ApiVersions, the answer to which is capped by the proxy, or for Metadata, which is rewritten. Some
clients are connected at a time, and new ones take the place of those that leave. Ways take turns, several rounds; a
line is the best round of its way. "CPU ms" is the time of the processes between client and broker for each request.
Ends with the promise and whether it was kept; exit code 1 if not.
"""

from __future__ import annotations

import argparse
import select
import socket
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from tests.bench.processes import Proxied, child, first_port, spent
from tests.bench.proxy import MOST_TIMES, Promise, Way
from tests.proxy.stage import API_VERSIONS, METADATA, request

AT_ONCE: Final = 20
# A multiple of the time of a relay that does not look at the bytes. As a multiple of the direct way it is more, since
# this broker answers faster than a relay forwards; with a Java broker, ten times slower, it is less.
PROMISED: Final = 1.5
ASKED: Final = {
    "ApiVersions": request(API_VERSIONS, 3, {"client_software_name": "kw", "client_software_version": "1"}),
    "Metadata": request(METADATA, 12, {"topics": None}),
}


class Found(NamedTuple):
    """Wall seconds, and seconds of processor time between client and broker."""

    took_s: float
    cpu_s: float


def come(port: int, asked: bytes, clients: int, asks: int) -> float:
    """Seconds until every client has connected, sent its requests and left."""
    poll = select.epoll()
    links: dict[int, socket.socket] = {}
    due: dict[int, int] = {}
    got: dict[int, bytes] = {}
    begun = time.perf_counter()
    while clients or links:
        while clients and len(links) < AT_ONCE:
            link = socket.create_connection(("127.0.0.1", port), timeout=20)
            link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            number = link.fileno()
            links[number], due[number], got[number] = link, asks, b""
            poll.register(number, select.EPOLLIN)
            link.sendall(asked)
            clients -= 1
        for number, _ in poll.poll(20):
            data = links[number].recv(1 << 16)
            if not data:
                raise EOFError("closed")
            got[number] += data
            if len(got[number]) < 4 or len(got[number]) < 4 + int.from_bytes(got[number][:4], "big"):
                continue
            got[number] = b""
            due[number] -= 1
            if due[number]:
                links[number].sendall(asked)
            else:
                poll.unregister(number)
                links.pop(number).close()
    return time.perf_counter() - begun


def _measure(way: Way, asked: bytes, given: argparse.Namespace) -> Found:
    before = sum(spent(pid) for pid in way.pids)
    took = come(way.port, asked, given.clients, given.asks)
    return Found(took, sum(spent(pid) for pid in way.pids) - before)


def _best(ways: Sequence[Way], asked: bytes, given: argparse.Namespace) -> dict[str, Found]:
    """The best round of each way; while that of the proxy is not as promised, there are more rounds."""
    rounds: list[dict[str, Found]] = []
    while True:
        rounds.append({way.name: _measure(way, asked, given) for way in ways})
        best = {way.name: min(each[way.name] for each in rounds) for way in ways}
        kept = best["proxy"].took_s <= PROMISED * best["relay"].took_s
        if len(rounds) >= given.rounds * (1 if kept else MOST_TIMES):
            return best


def _show(title: str, best: Mapping[str, Found], count: int) -> None:
    for name, each in best.items():
        ratio = each.took_s / best["direct"].took_s
        print(f"{title:14}{name:9}{each.took_s:9.2f}{each.cpu_s / count * 1e3:9.3f}{ratio:11.2f}", flush=True)
        title = ""


def main() -> int:
    """Measure and print; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=500)
    parser.add_argument("--asks", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("words", nargs="*", help="more options for kw proxy, after --")
    given = parser.parse_args()
    count = given.clients * given.asks
    promises = []
    print(f"{'asked':14}{'way':9}{'seconds':>9}{'CPU ms':>9}{'of direct':>11}")
    with tempfile.TemporaryDirectory() as name, child(["tests.bench.fair_broker"]) as broker:
        port = first_port(broker)
        with child(["tests.bench.relay", str(port)]) as relay:
            proxy = Proxied(Path(name), "new", port, given.words or ["--no-log"])
            try:
                ways = [
                    Way("direct", port, []),
                    Way("relay", first_port(relay), [relay.pid]),
                    Way("proxy", proxy.port, proxy.pids[:1]),
                ]
                for title, asked in ASKED.items():
                    best = _best(ways, asked, given)
                    _show(title, best, count)
                    ratio = best["proxy"].took_s / best["relay"].took_s
                    promises.append(Promise(f"% of a relay's time, {title}", ratio * 100, PROMISED * 100, most=True))
            finally:
                proxy.close()
    for promise in promises:
        print(promise)
    return 0 if all(promise.kept for promise in promises) else 1


if __name__ == "__main__":
    sys.exit(main())
