"""`python -m tests.bench.lossy`: kw on captures that lack packets against the whole ones, CPU seconds and peak memory.

A busy broker: 3,000 connections, 9,000 packets a second, with a share of the packets dropped at random; and connections
with one gap each, all at the same time. Ends with the promise and whether it was kept; exit code 1 if not.
`--write FILE` only makes one such capture.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from tests.bench.process import Cost, best
from tests.bench.proxy import Promise
from tests.bench.traffic import Pcap, Side, connection, small

KW: Final = [sys.executable, "-m", "kwcli.main", "sniff", "-o", "ndjson"]
RATE: Final = 9000
LOSSES: Final = (0.0, 0.01, 0.02, 0.03, 0.05, 0.1)
ONE_GAP: Final = (10_000, 20_000)
# The cost of 3 % loss, at most, as a multiple of the cost of the same capture without loss.
WANTED: Final = 3.0


class LossyPcap(Pcap):
    """Writes packets at a steady rate a second, of which the share `loss` never arrives in the file."""

    def __init__(self, path: Path, rng: random.Random, rate: int = RATE) -> None:
        super().__init__(path)
        self._rng = rng
        self._step_us = 1_000_000 // rate
        self.loss = 0.0

    def packet(self, source: Side, target: Side, flags: int, data: bytes) -> None:
        until_us = self.now_us + self._step_us
        if self._rng.random() >= self.loss:
            super().packet(source, target, flags, data)
        else:
            source.sequence = (source.sequence + len(data)) & 0xFFFFFFFF
        self.now_us = until_us


def write(path: Path, *, connections: int, packets: int, loss: float) -> None:
    """Make a capture of a busy broker: a connection drawn at random goes one packet on (request, response, ACK)."""
    rng = random.Random(f"{connections} {packets}")
    kinds = [exchange for _, exchange in zip(range(1000), small(rng), strict=False)]
    exchanges = [(request, response) for _, (request, response) in kinds]
    pcap = LossyPcap(path, random.Random(f"{loss}"))
    ends = [connection(pcap, number) for number in range(connections)]
    pcap.loss = loss
    under_way: list[tuple[bytes, int]] = [(b"", 0)] * connections
    for count in range(packets):
        number = rng.randrange(connections)
        client, broker = ends[number]
        answer, step = under_way[number]
        if step == 0:
            request, response = rng.choice(exchanges)
            correlation = count.to_bytes(4, "big")
            pcap.message(client, broker, request[:4] + correlation + request[8:])
            answer = correlation + response[4:]
        elif step == 1:
            pcap.message(broker, client, answer)
        else:
            pcap.packet(client, broker, 0x10, b"")
        under_way[number] = answer, (step + 1) % 3
    pcap.close()


def write_gaps(path: Path, *, connections: int, lost: bool = True) -> None:
    """Make a capture of connections that ask twice, a packet a millisecond; the first answer of each is `lost`, or not.

    All connections ask for the first time, then all are answered, and so on: so all wait for a lost packet at once.
    """
    rng = random.Random(connections)
    exchanges = [exchange for _, (_, exchange) in zip(range(1000), small(rng), strict=False)]
    pcap = LossyPcap(path, rng, 1000)
    ends = [connection(pcap, number) for number in range(connections)]
    for _ in range(2):
        asked = [rng.choice(exchanges) for _ in ends]
        for (client, broker), (request, _) in zip(ends, asked, strict=True):
            pcap.message(client, broker, request)
        pcap.loss = float(lost)
        for (client, broker), (_, response) in zip(ends, asked, strict=True):
            pcap.message(broker, client, response)
        pcap.loss, lost = 0.0, False
    pcap.close()


def measure(name: str, path: Path, runs: int, clean: Cost | None = None) -> Cost:
    cost = best([*KW, str(path)], runs=runs)
    ratio = "" if clean is None else f"   {cost.cpu_s / clean.cpu_s:5.1f}x"
    state = "" if cost.exit_code == 0 else f"   exit {cost.exit_code}"
    print(f"{name:28} {cost.cpu_s:8.2f} s CPU {cost.peak_mb:7.0f} MB{ratio}{state}", flush=True)
    return cost


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--connections", type=int, default=3000)
    parser.add_argument("--packets", type=int, default=135_000)
    parser.add_argument("--loss", type=float, action="append", help="only these shares, such as 0.03")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--gaps", action="store_true", help="with --write: connections with one gap each, or --loss 0")
    parser.add_argument("--write", type=Path, metavar="FILE", help="make the capture of the first --loss, and end")
    options = parser.parse_args()
    losses = options.loss or list(LOSSES)
    if options.write and options.gaps:
        write_gaps(options.write, connections=options.connections, lost=losses[0] > 0)
        return 0
    if options.write:
        write(options.write, connections=options.connections, packets=options.packets, loss=losses[0])
        return 0
    with tempfile.TemporaryDirectory(prefix="kw-bench-") as folder:
        path = Path(folder) / "lossy.pcap"
        # Written by other processes: the process that measures must stay small, see process.py.
        made = [sys.executable, "-m", "tests.bench.lossy", "--write", str(path), "--connections"]
        clean: Cost | None = None
        promises = []
        for loss in losses:
            busy = [str(options.connections), "--packets", str(options.packets), "--loss", str(loss)]
            subprocess.run([*made, *busy], check=True)
            cost = measure(f"{loss:.0%} lost", path, options.runs, clean)
            clean = clean or cost
            if loss == 0.03:
                share = 100 * cost.cpu_s / clean.cpu_s
                promises.append(Promise("% of the CPU of a whole capture, 3 % lost", share, 100 * WANTED, most=True))
        for count in ONE_GAP:
            subprocess.run([*made, str(count), "--gaps", "--loss", "0"], check=True)
            clean = measure(f"{count:,} connections, whole", path, options.runs)
            subprocess.run([*made, str(count), "--gaps", "--loss", "1"], check=True)
            measure(f"{count:,} with one gap each", path, options.runs, clean)
    for promise in promises:
        print(promise)
    return 0 if all(promise.kept for promise in promises) else 1


if __name__ == "__main__":
    sys.exit(main())
