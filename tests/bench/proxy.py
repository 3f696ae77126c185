"""What the proxy costs: the same load straight to a broker, through a plain TCP relay, and through `kw proxy`.

`python -m tests.bench.proxy [--tls] [--soak 600] [-- OPTIONS OF kw proxy]`. Broker and generator (fake_broker.py, and
`drive` here) hold ready-made frames and make two system calls a turn, each in a process of its own. That they are not
the bottleneck is seen in the lines "direct": they have to be far above what the proxy does, else they would say nothing
about it. With several requests in flight on one connection, those that arrive together are answered together.
"""

from __future__ import annotations

import argparse
import select
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

from kwcli.playground.certificates import make_certificates
from tests.bench.fake_broker import LOADS
from tests.proxy.hidden import port_base

SECONDS = 3.0
RATE = 15_000


class Figures(NamedTuple):
    """Requests a second, bytes of answers a second, and times of round trips in µs (of all in flight together)."""

    rate: float
    bytes_rate: float
    p50: float
    p99: float


def connect(port: int, authority: Path | None) -> socket.socket:
    """A connection, by TLS where there is an authority."""
    link = socket.create_connection(("127.0.0.1", port), timeout=20)
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if authority is None:
        return link
    return ssl.create_default_context(cafile=str(authority)).wrap_socket(link, server_hostname="127.0.0.1")


def drive(
    port: int, load: str, in_flight: int, seconds: float, authority: Path | None = None, most: float = 1e9
) -> Figures:
    """One connection that always has `in_flight` requests under way, with `most` of them a second."""
    asked, answer = LOADS[load]()
    size = len(answer)
    done = left = 0
    times: list[int] = []
    buffer = bytearray(1 << 20)
    with connect(port, authority) as link:
        clock = time.perf_counter_ns
        _round(link, asked, size)  # the way is open now
        begun = sent = given = clock()
        end = begun + int(seconds * 1e9)
        link.sendall(asked * in_flight)
        while sent < end:
            got = link.recv_into(buffer)
            if not got:
                raise EOFError("closed")
            count, left = divmod(left + got, size)
            if count:
                done += count
                sent = clock()
                times.append(sent - given)
                early = begun / 1e9 + done / most - sent / 1e9
                if early > 0:
                    time.sleep(early)
                given = clock()
                link.sendall(asked * count)
    times.sort()
    took = (sent - begun) / 1e9
    return Figures(done / took, done * size / took, times[len(times) // 2] / 1e3, times[len(times) * 99 // 100] / 1e3)


def _round(link: socket.socket, asked: bytes, size: int) -> None:
    link.sendall(asked)
    while size:
        size -= len(link.recv(size))


def crowd(port: int, count: int, seconds: float) -> Figures:
    """So many connections, each with one small request under way; times are from request to answer."""
    asked, answer = LOADS["small"]()
    links = {}
    poll = select.epoll()
    for _ in range(count):
        link = connect(port, None)
        links[link.fileno()] = link
        poll.register(link, select.EPOLLIN)
    try:
        for link in links.values():
            _round(link, asked, len(answer))
        return _rounds(poll, links, asked, len(answer), seconds)
    finally:
        for link in links.values():
            link.close()


def _rounds(poll: select.epoll, links: dict[int, socket.socket], asked: bytes, size: int, seconds: float) -> Figures:
    begun = time.perf_counter()
    sent = dict.fromkeys(links, begun)
    for link in links.values():
        link.sendall(asked)
    times = []
    now = begun
    while now < begun + seconds:
        for number, _ in poll.poll(10):
            link = links[number]
            if len(link.recv(size)) != size:
                raise EOFError("closed, or an answer in pieces")
            now = time.perf_counter()
            times.append(now - sent[number])
            sent[number] = now
            link.sendall(asked)
    times.sort()
    took = now - begun
    p50, p99 = times[len(times) // 2], times[len(times) * 99 // 100]
    return Figures(len(times) / took, len(times) * size / took, p50 * 1e6, p99 * 1e6)


@contextmanager
def child(words: Sequence[str], stdout: IO[bytes] | int = subprocess.PIPE) -> Iterator[subprocess.Popen[bytes]]:
    """A Python module as a process that is ended at the end."""
    process = subprocess.Popen([sys.executable, "-m", *words], stdout=stdout, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=30)


def _first_port(process: subprocess.Popen[bytes]) -> int:
    assert process.stdout is not None
    return int(process.stdout.readline())


class Proxied:
    """`kw proxy` before the broker; its output and what it says go to files."""

    def __init__(self, folder: Path, name: str, broker: int, words: Sequence[str]) -> None:
        self.port = port_base(1)
        self.out, self.err = folder / f"{name}.out", folder / f"{name}.err"
        command = [sys.executable, "-m", "kwcli.main", "proxy", "-b", f"127.0.0.1:{broker}"]
        with self.out.open("wb") as out, self.err.open("wb") as err:
            self._process = subprocess.Popen([*command, "--port-base", str(self.port), *words], stdout=out, stderr=err)
        while b"ready" not in self.err.read_bytes():
            if self._process.poll() is not None:
                raise RuntimeError(self.err.read_text())
            time.sleep(0.02)

    @property
    def memory(self) -> list[int]:
        """MiB of it and of its children."""
        pid = self._process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        pages = [int(Path(f"/proc/{each}/statm").read_text().split()[1]) for each in (pid, *children)]
        return [each * 4096 >> 20 for each in pages]

    def close(self) -> None:
        """End it; what it says at the end is in its file then."""
        self._process.terminate()
        self._process.wait(60)

    @property
    def said(self) -> list[str]:
        """What it said after it was ready."""
        return self.err.read_text().rpartition("ready")[2].splitlines()[1:]


def measure(ways: dict[str, int], seconds: float, authority: Path | None) -> None:
    """All loads on all ways, way by way within a load, so that they share the machine's moods."""
    plans: list[tuple[str, str, int, float]] = [("one small", "small", 1, 1e9), ("5 small", "small", 5, 1e9)]
    plans += [("5 held", "held", 5, 1e9), ("2 of 1 MiB", "big", 2, 1e9)]
    _head()
    for title, load, in_flight, most in plans:
        _show(title, {name: drive(port, load, in_flight, seconds, authority, most) for name, port in ways.items()})
    if authority is None:
        _show("1000×1 small", {name: crowd(port, 1000, seconds) for name, port in ways.items()})


def logged(direct: int, proxy: Proxied, seconds: float, authority: Path | None) -> None:
    """With a line for every exchange, at the rate that has to be kept without leaving anything out."""
    _head()
    for title, in_flight, most in ((f"one, {RATE}/s", 1, RATE), (f"5, {RATE}/s", 5, RATE)):
        ways = {"direct": direct, "logged": proxy.port}
        _show(title, {name: drive(port, "small", in_flight, seconds, authority, most) for name, port in ways.items()})
    print(f"logged: {_mib(proxy.memory)} resident, the second is the log's")
    proxy.close()
    print(f"logged: {proxy.out.read_bytes().count(bytes([10])):,} lines; {' | '.join(proxy.said)}")


def _head() -> None:
    print(f"{'in flight':14}{'way':10}{'requests/s':>12}{'MB/s':>9}{'p50 µs':>9}{'p99 µs':>9}{'of direct':>11}")


def soak(proxy: Proxied, seconds: float) -> None:
    """Small requests, a reader that takes 1 MiB a second, a line for every exchange; memory, step by step."""
    reading = threading.Thread(target=_read_slowly, args=(proxy.port, seconds), daemon=True)
    reading.start()
    seen = []
    begun = time.monotonic()
    step = max(seconds / 10, 1)
    while time.monotonic() < begun + seconds:
        figures = drive(proxy.port, "small", 5, step, None, RATE)
        seen.append(proxy.memory)
        print(f"{time.monotonic() - begun:6.0f} s {figures.rate:10,.0f} requests/s   {_mib(seen[-1])}", flush=True)
    for name, warm in zip(("proxy", "log"), zip(*seen[1:], strict=False), strict=False):
        print(f"{name} after the first step: from {min(warm)} to {max(warm)} MiB")
    reading.join(5)


def _mib(sizes: Sequence[int]) -> str:
    return " + ".join(map(str, sizes)) + " MiB"


def _read_slowly(port: int, seconds: float) -> None:
    asked, _ = LOADS["big"]()
    end = time.monotonic() + seconds
    with connect(port, None) as link:
        link.sendall(asked * 100)
        while time.monotonic() < end:
            link.recv(1 << 18)
            time.sleep(0.25)


def _show(title: str, figures: dict[str, Figures]) -> None:
    direct = figures["direct"]
    for name, each in figures.items():
        times = f"{each.p50:9,.0f}{each.p99:9,.0f}{each.rate / direct.rate:11.0%}"
        print(f"{title:14}{name:10}{each.rate:12,.0f}{each.bytes_rate / 1e6:9,.0f}{times}")
        title = ""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--tls", action="store_true", help="TLS on both sides")
    parser.add_argument("--soak", type=float, metavar="SECONDS", help="only memory, under load for so long")
    parser.add_argument("words", nargs="*", help="more options for kw proxy, after --")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        words, broker_words, authority = list(given.words), ["tests.bench.fake_broker"], None
        if given.tls:
            make_certificates(folder)
            authority = folder / "ca.pem"
            broker_words.append(str(folder / "broker.pem"))
            words += ["--tls-cert", str(folder / "broker.pem"), "-X", "security.protocol=SSL"]
            words += ["-X", f"ssl.ca.location={authority}"]
        with child(broker_words) as broker:
            port = _first_port(broker)
            with child(["tests.bench.relay", str(port)]) as relay:
                plain = Proxied(folder, "plain", port, ["--no-log", *words])
                ways = {"direct": port, "relay": _first_port(relay), "proxy": plain.port}
                if not given.soak:
                    measure(ways, given.seconds, authority)
                    print(f"proxy: {_mib(plain.memory)} resident")
                plain.close()
            telling = Proxied(folder, "logged", port, ["-o", "ndjson", *words])
            if given.soak:
                soak(telling, given.soak)
                telling.close()
                print(" | ".join(telling.said))
            else:
                logged(port, telling, given.seconds, authority)


if __name__ == "__main__":
    main()
