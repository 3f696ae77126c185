"""How long well-behaved clients wait while others take all they can: straight to a broker and through `kw proxy`.

`python -m tests.bench.fairness [--hogs 20] [--mib 50] [-- OPTIONS OF kw proxy]`. The broker (fair_broker.py) gives each
connection its turn, as Kafka does; the hogs (hogs.py) send Metadata requests without a pause, read nothing, leave, and
come again. Meanwhile a few others ask for Metadata at fixed times, and new ones connect and ask for ApiVersions. A wait
is counted from the time at which the question was due, so that a stall counts for every question in it. Ends with the
promises and whether they were kept; exit code 1 if not.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from tests.bench.processes import Proxied, child, first_port
from tests.bench.proxy import Promise
from tests.proxy.stage import API_VERSIONS, METADATA, request

OTHERS: Final = 8
EVERY_S: Final = 0.02
COMERS: Final = 2
PROMISED_MS: Final = 100.0
_ASKED: Final = request(METADATA, 12, {"topics": None}, client_id="patient")
_HELLO: Final = request(API_VERSIONS, 3, {"client_software_name": "kw", "client_software_version": "1"})


class Waits(NamedTuple):
    """Milliseconds between the time a question was due and its answer."""

    p50: float
    p99: float
    most: float
    asked: int


async def _answer(reader: asyncio.StreamReader) -> None:
    size = await reader.readexactly(4)
    await reader.readexactly(int.from_bytes(size, "big"))


async def _patient(port: int, late_s: float, seconds: float, waits: list[float]) -> None:
    """A client that stays connected and asks at fixed times."""
    loop = asyncio.get_running_loop()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    due = loop.time() + late_s
    end = due + seconds
    while due < end:
        await asyncio.sleep(due - loop.time())
        writer.write(_ASKED)
        await _answer(reader)
        waits.append(loop.time() - due)
        due += EVERY_S
    writer.close()


async def _comer(port: int, late_s: float, seconds: float, waits: list[float]) -> None:
    """New clients, one after the other, that connect, ask one question and leave."""
    loop = asyncio.get_running_loop()
    due = loop.time() + late_s
    end = due + seconds
    while due < end:
        await asyncio.sleep(due - loop.time())
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(_HELLO)
        await _answer(reader)
        waits.append(loop.time() - due)
        due += EVERY_S
        writer.close()


async def _others(port: int, seconds: float) -> tuple[list[float], list[float]]:
    stayed: list[float] = []
    came: list[float] = []
    await asyncio.gather(
        *(_patient(port, number * EVERY_S / OTHERS, seconds, stayed) for number in range(OTHERS)),
        *(_comer(port, number * EVERY_S / COMERS, seconds, came) for number in range(COMERS)),
    )
    return stayed, came


def measure(port: int, seconds: float) -> tuple[Waits, Waits]:
    """The waits of clients that stay connected, and of new ones."""
    stayed, came = (sorted(each * 1e3 for each in waits) for waits in asyncio.run(_others(port, seconds)))
    return _waits(stayed), _waits(came)


def _waits(times: Sequence[float]) -> Waits:
    return Waits(times[len(times) // 2], times[len(times) * 99 // 100], times[-1], len(times))


def _show(way: str, hogs: int, found: tuple[Waits, Waits], direct: tuple[Waits, Waits]) -> None:
    for who, each, plain in zip(("stay", "come"), found, direct, strict=True):
        times = f"{each.p50:10.2f}{each.p99:10.2f}{each.most:10.1f}{each.asked:8,}"
        print(f"{way:8}{hogs:5}  {who:6}{times}{each.p99 / plain.p99:10.1f}", flush=True)


def main() -> int:
    """Measure and print; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hogs", type=int, default=20)
    parser.add_argument("--mib", type=int, default=50, help="what each of them would send")
    parser.add_argument("--stay", type=float, default=3.0, help="seconds until they leave")
    parser.add_argument("--seconds", type=float, default=10.0, help="for each line")
    parser.add_argument("words", nargs="*", help="more options for kw proxy, after --")
    given = parser.parse_args()
    print(f"{'way':8}{'hogs':>5}  {'others':6}{'p50 ms':>10}{'p99 ms':>10}{'max ms':>10}{'asked':>8}{'of direct':>10}")
    found = {}
    with tempfile.TemporaryDirectory() as name, child(["tests.bench.fair_broker"]) as broker:
        port = first_port(broker)
        proxy = Proxied(Path(name), "fair", port, given.words or ["--no-log"])
        try:
            for way, place in (("direct", port), ("proxy", proxy.port)):
                found[way, 0] = measure(place, given.seconds)
                _show(way, 0, found[way, 0], found["direct", 0])
            # The second line shows what the broker and the machine have left for other clients.
            for way, place, taken in (
                ("direct", port, port),
                ("beside", port, proxy.port),
                ("proxy", proxy.port, proxy.port),
            ):
                with child(["tests.bench.hogs", *map(str, (taken, given.hogs, given.mib, given.stay))]):
                    found[way, given.hogs] = measure(place, given.seconds)
                _show(way, given.hogs, found[way, given.hogs], found["direct", given.hogs])
        finally:
            proxy.close()
        print(" | ".join(proxy.said))
    stayed, came = found["proxy", given.hogs]
    promises = [
        Promise("ms that clients wait at the 99th percentile, beside hogs", stayed.p99, PROMISED_MS, most=True),
        Promise("ms that new clients wait, connecting included", came.p99, PROMISED_MS, most=True),
    ]
    for promise in promises:
        print(promise)
    return 0 if all(promise.kept for promise in promises) else 1


if __name__ == "__main__":
    sys.exit(main())
