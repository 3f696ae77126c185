"""The cost of the proxy: the same load straight to a broker, through a plain TCP relay, and through `kw proxy`.

`python -m tests.bench.proxy [--sleepy] [--faults] [--soak 600] [-- OPTIONS OF kw proxy]`. Broker and generator
(fake_broker.py, generator.py) hold ready-made frames and make two system calls a turn, each in a process of its own.
Two things show that they are not the bottleneck: the lines "direct" are far above the others, and "busy" tells how much
of one processor the generator, the broker, the processes between them (with the log), and all other programs used.

All ways take turns, several rounds; a line is the best round of its way, since other programs on the machine only take
time away. Processors are kept from going to sleep (processes.py, `awake`) unless `--sleepy` is given: a virtual one
takes longer to wake up than the turns that are measured here. Ends with the promises and whether they were kept; exit
code 1 if not. On a machine where the plain relay is slow, promises of requests and latencies are multiples of its own.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from kwcli.playground.tls_certificates import write_tls_certificates
from tests.bench.generator import Figures, Plan, drive
from tests.bench.processes import Proxied, awake, busy, child, first_port, spent
from tests.bench.soak import soak

SECONDS: Final = 2.0
ROUNDS: Final = 3
RATE: Final = 15_000

# Rules that never match, by the part that they read: an API, the header, names in bodies, a decoded body or the answer.
# Those of PROMISED cost little more than no rule.
RULES: Final = {
    "api": "close, when api == CreateTopics",
    "client": "error NOT_LEADER_OR_FOLLOWER, when client_id == nobody",
    "topic": "error NOT_LEADER_OR_FOLLOWER, when topic == nosuch",
    "number": "close, when request.timeout_ms == 1",
    "answer": "close, when error == UNKNOWN_SERVER_ERROR",
}
PROMISED: Final = ("api", "client", "topic")
LITTLE: Final = 1.1
# The most that the proxy with its log adds to a latency, as a multiple of what a plain relay adds on the same machine,
# where that is more than what is wanted.
RELAYED: Final = 4
# So many times as many rounds, at most, while a ratio is not as promised.
MOST_TIMES: Final = 4

ONE: Final = Plan("one small", "small")
FIVE: Final = Plan("5 small", "small", in_flight=5)
SEVERAL: Final = Plan("8 × 5 small", "small", links=8, in_flight=5)
HELD: Final = Plan("5 held", "held", in_flight=5)
BIG: Final = Plan("2 of 1 MiB", "big", in_flight=2)
MANY: Final = Plan("1000 × 1 small", "small", links=1000)
PACED: Final = Plan("one, 1,000/s", "small", most=1000)
KEPT: Final = Plan(f"5, {RATE:,}/s", "small", in_flight=5, most=RATE)
_HEAD: Final = (
    f"{'in flight':16}{'way':9}{'requests/s':>11}{'MB/s':>7}{'p50 µs':>8}{'p99 µs':>8}{'of direct':>11}  busy"
)


class Way(NamedTuple):
    """A port to connect to, and the processes between that port and the broker."""

    name: str
    port: int
    pids: Sequence[int]


class Measured(NamedTuple):
    """Figures of a load; `used`: shares of one processor: the generator, the broker and each process between them."""

    figures: Figures
    used: Sequence[float]
    others: float


class World(NamedTuple):
    """The process of a broker, and the ways to it, `direct` first."""

    broker: int
    ways: Sequence[Way]
    authority: Path | None
    seconds: float
    rounds: int

    def measure(self, plan: Plan) -> dict[str, Figures]:
        """Load on all ways in turn; prints the best figures of each way and gives them by its name."""
        seen: dict[str, list[Measured]] = {way.name: [] for way in self.ways}
        for _ in range(self.rounds):
            for way in self.ways:
                seen[way.name].append(self.once(plan, way))
        paced = plan.most < 1e9
        best = {}
        for name, all_of in seen.items():
            best[name] = min(all_of, key=lambda each: each.figures.p99 if paced else -each.figures.rate)
        _show(plan.title, best)
        return {name: each.figures for name, each in best.items()}

    def once(self, plan: Plan, way: Way) -> Measured:
        """Run the load of a plan on one way."""
        pids = [self.broker, *way.pids]
        every, before, begun, own = busy(), [spent(pid) for pid in pids], time.monotonic(), time.process_time()
        figures = drive(way.port, plan, self.seconds, self.authority)
        took, mine = time.monotonic() - begun, time.process_time() - own
        used = [mine / took, *((spent(pid) - at) / took for pid, at in zip(pids, before, strict=True))]
        return Measured(figures, used, max((busy() - every) / took - sum(used), 0.0))


def _show(title: str, best: Mapping[str, Measured]) -> None:
    rate = best["direct"].figures.rate
    for name, (each, used, others) in best.items():
        times = f"{each.p50:8,.0f}{each.p99:8,.0f}{each.rate / rate:11.0%}"
        shares = " + ".join(f"{share:.0%}" for share in used) + f", others {others:.0%}"
        print(f"{title:16}{name:9}{each.rate:11,.0f}{each.bytes_rate / 1e6:7,.0f}{times}  {shares}", flush=True)
        title = ""


class Promise(NamedTuple):
    """A bound on a measured figure."""

    text: str
    found: float
    bound: float
    most: bool = False

    @property
    def kept(self) -> bool:
        """Whether the figure is within the bound."""
        return self.found <= self.bound if self.most else self.found >= self.bound

    def __str__(self) -> str:
        sign = "≤" if self.most else "≥"
        return (
            f"{'kept  ' if self.kept else 'BROKEN'}  {self.text}: {self.found:,.0f}, promised {sign} {self.bound:,.0f}"
        )


def plain(world: World) -> list[Promise]:
    """Measure without TLS and without a log."""
    print(_HEAD)
    world.measure(ONE)
    five, several = world.measure(FIVE), world.measure(SEVERAL)
    world.measure(HELD)
    big, many = world.measure(BIG), world.measure(MANY)
    return [
        _rate("small requests/s, 5 in flight on one connection, no log", five, 40_000, 0.6),
        _rate("small requests/s, 5 in flight on each of 8, no log", several, 40_000, 0.45),
        _rate("answers of 1 MiB a second, held", big, 480, 0.8),
        _rate("small requests/s on 1,000 connections", many, 10_000, 0.5),
    ]


def _rate(text: str, found: Mapping[str, Figures], wanted: float, share: float) -> Promise:
    """The promise of `wanted` requests a second; of `share` of a plain relay's where that is less (a slow machine)."""
    return Promise(text, found["proxy"].rate, min(wanted, share * found["relay"].rate))


def faulty(world: World) -> list[Promise]:
    """Measure with rules of faults that never match.

    The promises are ratios of the proxy's processor time for a request; ways take turns, several rounds, and more of
    them while a promise is not kept: other programs on the machine only add time.
    """
    print(_HEAD)
    found: dict[str, float] = {}
    for plan in (FIVE, BIG):
        costs: dict[str, list[float]] = {way.name: [] for way in world.ways[1:]}
        for turn in range(world.rounds * MOST_TIMES):
            if turn >= world.rounds and all(min(costs[name]) <= LITTLE * min(costs["proxy"]) for name in PROMISED):
                break
            for way in world.ways[1:]:
                each = world.once(plan, way)
                costs[way.name].append(sum(each.used[2:]) / each.figures.rate)
        base = min(costs["proxy"])
        for name, all_of in costs.items():
            ratio = min(all_of) / base
            print(
                f"{plan.title:16}{name:9}{min(all_of) * 1e6:11,.1f} µs of processor a request{ratio:11.0%}", flush=True
            )
            found[name] = max(found.get(name, 0.0), ratio)
    text = "% of the processor time of a proxy without faults, with a rule that never matches"
    return [Promise(f"{text} ({name})", found[name] * 100, LITTLE * 100, most=True) for name in PROMISED]


def logged(world: World, proxy: Proxied) -> list[Promise]:
    """Measure with a line of NDJSON for every exchange, written to a file."""
    print(_HEAD)
    paced, one, kept = world.measure(PACED), world.measure(ONE), world.measure(KEPT)
    proxy.close()
    print(f"logged: {proxy.out.read_bytes().count(bytes([10])):,} lines; {' | '.join(proxy.said)}")
    promises = []
    for name, found in (("at 1,000/s", paced), ("as fast as it goes", one)):
        for figure, wanted in (("p50", 100), ("p99", 1000)):
            direct, relay, here = (float(getattr(found[way], figure)) for way in ("direct", "relay", "logged"))
            text = f"µs added at the {figure} with the log on, {name}"
            promises.append(Promise(text, here - direct, max(wanted, RELAYED * (relay - direct)), most=True))
    left_out = sum("left out" in line for line in proxy.said)
    promises.append(Promise("requests/s with a line for each in a file", kept["logged"].rate, RATE * 0.99))
    promises.append(Promise("lines that say that something was left out", left_out, 0, most=True))
    return promises


def secured(world: World) -> list[Promise]:
    """Measure with TLS on both sides."""
    print(_HEAD)
    world.measure(FIVE)
    return [
        Promise("MB/s of held answers of 1 MiB, TLS on both sides", world.measure(BIG)["proxy"].bytes_rate / 1e6, 300)
    ]


@contextmanager
def broker(*words: str) -> Iterator[tuple[int, int]]:
    """Port and process id of a running broker."""
    with child(["tests.bench.fake_broker", *words]) as process:
        yield first_port(process), process.pid


def measure(folder: Path, given: argparse.Namespace) -> list[Promise]:
    """Measure all: without and with rules of faults, with a log, and with TLS; gives the promises."""
    found: list[Promise] = []
    times = (given.seconds, given.rounds)
    with broker() as (port, pid), ExitStack() as stack:
        relay = stack.enter_context(child(["tests.bench.relay", str(port)]))
        direct = Way("direct", port, [])
        silent = Proxied(folder, "plain", port, ["--no-log", *given.words])
        stack.callback(silent.close)
        ways = [direct, Way("relay", first_port(relay), [relay.pid]), Way("proxy", silent.port, silent.pids)]
        if not given.faults:
            found += plain(World(pid, ways, None, *times))
        for name, rule in RULES.items():
            proxy = Proxied(folder, name, port, ["--no-log", "--fault", rule, *given.words])
            stack.callback(proxy.close)
            ways.append(Way(name, proxy.port, proxy.pids))
        found += faulty(World(pid, [ways[0], *ways[2:]], None, *times))
        if given.faults:
            return found
        telling = Proxied(folder, "logged", port, ["-o", "ndjson", *given.words])
        stack.callback(telling.close)
        ways = [direct, ways[1], Way("logged", telling.port, telling.pids)]
        found += logged(World(pid, ways, None, *times), telling)
    write_tls_certificates(folder)
    authority, certificate = folder / "ca.pem", str(folder / "broker.pem")
    words = ["--no-log", "--tls-cert", certificate, "-X", "security.protocol=SSL", "-X", f"ssl.ca.location={authority}"]
    with broker(certificate) as (port, pid), ExitStack() as stack:
        proxy = Proxied(folder, "tls", port, [*words, *given.words])
        stack.callback(proxy.close)
        ways = [Way("direct", port, []), Way("proxy", proxy.port, proxy.pids)]
        found += secured(World(pid, ways, authority, *times))
    return found


def main() -> int:
    """Measure and print; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="for each figure, a round")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--sleepy", action="store_true", help="let processors sleep when nobody needs them")
    parser.add_argument("--soak", type=float, metavar="SECONDS", help="only memory, under load for so long")
    parser.add_argument("--faults", action="store_true", help="only what rules cost that never match")
    parser.add_argument("words", nargs="*", help="more options for kw proxy, after --")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if given.soak:
            with broker() as (port, _):
                proxy = Proxied(folder, "logged", port, ["-o", "ndjson", *given.words])
                try:
                    good = soak(proxy, given.soak)
                finally:
                    proxy.close()
            print(" | ".join(proxy.said))
            return 0 if good else 1
        with awake(not given.sleepy):
            print(f"{os.cpu_count()} processors, which {'may sleep' if given.sleepy else 'are kept awake'}")
            promises = measure(folder, given)
    for promise in promises:
        print(promise)
    return 0 if all(promise.kept for promise in promises) else 1


if __name__ == "__main__":
    sys.exit(main())
