"""`python -m tests.bench.cardinality`: analyses of a capture with very many clients, topics and groups.

Each client, topic and group of the capture is there once, a few are busy, and begin in the second half; some clients
use a version that Kafka 4.0 has dropped. Every analysis is run on it once. Prints its CPU seconds against those of `kw
sniff -o text` in the same run, and its memory, beside the bounds. Exit code 1 when a bound is not held.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import decoders
from tests.bench.process import best
from tests.bench.traffic import Exchange, Pcap, Side, connection

KW: Final = [sys.executable, "-m", "kwcli.main"]
# A report is all of them in one process, with twelve kinds of portraits, statistics and findings at a time.
PEAK_MB: Final = {"report": 800}
PEAK_MB_OTHERS: Final = 500
RATIO: Final = 2.0
# Words of a command (clients break on purpose: exit code 4), and the most CPU as a multiple of that of `kw sniff -o
# text`. A report is ten analyses in one.
ASKED: Final[tuple[tuple[list[str], float], ...]] = (
    (["stats", "--by", "client"], RATIO),
    (["stats", "--by", "client,topic,group"], RATIO),
    (["stats", "--by", "topic", "--metric", "bytes"], RATIO),
    (["stats", "--by", "client", "--bucket", "10s"], RATIO),
    (["clients"], RATIO),
    (["topics"], RATIO),
    (["groups"], RATIO),
    (["brokers"], RATIO),
    (["audit", "--target", "4.0"], RATIO),
    (["doctor", "--fail-on", "never"], 3.5),
    (["report"], 8.0),
)
# Connections, over which the clients are spread.
LINES: Final = 500
BUSY: Final = 20
_WIDTH: Final = 8
_NAMES: Final = {kind: f"{kind}-{0:0{_WIDTH}d}" for kind in ("client", "topic", "group")}


def _encoded(key: int, version: int, request: dict[str, Any], response: dict[str, Any]) -> Exchange:
    return (
        decoders.encode_request(key, version, request, client_id=_NAMES["client"]),
        decoders.encode_response(key, version, response),
    )


def _commit(version: int) -> Exchange:
    partition = {"partition_index": 3, "committed_offset": 5}
    request = {
        "group_id": _NAMES["group"],
        "generation_id_or_member_epoch": 7,
        "member_id": f"{_NAMES['client']}-0b5c",
        "topics": [{"name": _NAMES["topic"], "partitions": [partition]}],
    }
    done = [{"name": _NAMES["topic"], "partitions": [{"partition_index": 3, "error_code": 0}]}]
    return _encoded(8, version, request, {"topics": done})


def write_capture(
    path: Path, keys: int, *, once: bool = True, busy: int = BUSY, every: int = 20, old: int = 1000
) -> tuple[int, int]:
    """Write a capture of `keys` clients, topics and groups; gives the numbers of exchanges and of clients that break.

    In the second half each `every`th exchange is of one of `busy` other clients, with other topics and groups. Each
    `old`th client uses OffsetCommit 1. Without `once` all is done by one client.
    """
    new, dropped = _commit(7), _commit(1)
    pcap = Pcap(path)
    lines: dict[int, tuple[Side, Side]] = {}
    count = 0

    def write(exchange: Exchange, number: int) -> None:
        nonlocal count
        count += 1
        if number % LINES not in lines:
            lines[number % LINES] = connection(pcap, number % LINES)
        client, broker = lines[number % LINES]
        correlation = (count & 0x7FFFFFFF).to_bytes(4, "big")
        request, response = (_named(frame, number, once=once) for frame in exchange)
        pcap.message(client, broker, request[:4] + correlation + request[8:])
        pcap.message(broker, client, correlation + response[4:])

    for number in range(keys):
        write(dropped if number % old == old - 1 else new, number)
        if busy and number >= keys // 2 and number % every == 0:
            write(new, keys + number // every % busy)
    pcap.close()
    return count, keys // old


def _named(frame: bytes, number: int, *, once: bool) -> bytes:
    """The frame with the number in the names of client, topic and group."""
    for kind, name in _NAMES.items():
        if once or kind != "client":
            frame = frame.replace(name.encode(), f"{kind}-{number:0{_WIDTH}d}".encode())
    return frame


def measure(path: Path, runs: int, asked: Callable[[str], bool]) -> bool:
    """Print the cost of each command; gives whether all bounds were held."""
    one = ["--jobs", "1", str(path)]
    sniff = best([*KW, "sniff", "-o", "text", *one], runs=runs)
    print(f"  {'kw sniff -o text':44} {sniff.cpu_s:7.2f} s CPU {sniff.peak_mb:5.0f} MB")
    well = True
    for words, most in ASKED:
        if not asked(words[0]):
            continue
        cost = best([*KW, *words, "-o", "text", *one], runs=runs)
        ratio = cost.cpu_s / sniff.cpu_s
        peak_mb = PEAK_MB.get(words[0], PEAK_MB_OTHERS)
        held = cost.exit_code in (0, 4) and ratio <= most and cost.peak_mb <= peak_mb
        well &= held
        said = f"{ratio:.2f}x (most {most:g}x), most {peak_mb} MB{'' if held else '   NOT HELD'}"
        state = "" if cost.exit_code in (0, 4) else f"   exit {cost.exit_code}"
        print(
            f"  {'kw ' + ' '.join(words):44} {cost.cpu_s:7.2f} s CPU {cost.peak_mb:5.0f} MB  {said}{state}", flush=True
        )
    return well


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keys", type=int, action="append", help="200,000, and 1,000,000")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--only", action="append", help="a command")
    parser.add_argument("--write", nargs=2, metavar=("FILE", "KEYS"), help="only write a capture")
    options = parser.parse_args()
    if options.write:
        print(*write_capture(Path(options.write[0]), int(options.write[1])))
        return 0
    well = True
    with tempfile.TemporaryDirectory(prefix="kw-bench-") as folder:
        for keys in options.keys or (200_000, 1_000_000):
            path = Path(folder) / "many.pcap"
            # Another process: the process that measures must stay small, see process.py.
            made = [sys.executable, "-m", "tests.bench.cardinality", "--write", str(path), str(keys)]
            subprocess.run(made, check=True, stdout=subprocess.DEVNULL)
            print(f"{keys:,} clients, topics and groups, {path.stat().st_size / 1e6:,.0f} MB")
            well &= measure(path, options.runs, lambda name: not options.only or name in options.only)
            path.unlink()
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
