"""Captures played into a feed: what the proxy would have seen of that traffic, in chunks of any size."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Container
from functools import cache
from pathlib import Path
from typing import Any, Final

from decoders.capture.files import CaptureReader
from decoders.tcp.chunks import Chunk, Close
from decoders.tcp.reassembly import Reassembly
from kwcli.env import Settings
from kwcli.proxy.log.log_protocol import CLIENT, HEAD, SERVER, SIZE, LogPlan, MessageKind
from kwcli.proxy.log.log_queue import LogQueue
from kwcli.proxy.log.start_process import start
from tests.cli.worlds import kw

FOLDER: Final = Path(__file__).resolve().parents[3] / "captures"
# What a capture and the proxy number differently, and what one of them alone knows.
OWN: Final = ("connection", "packets", "retransmitted", "via", "upstream_latency_ms")


@cache
def chunks_of(name: str) -> list[Chunk]:
    """The chunks of a capture that ships."""
    from tests.captures.shipped import capture_bytes

    reader, reassembly = CaptureReader(), Reassembly()
    return reassembly.feed(reader.feed(capture_bytes(name)) + reader.finish(), 0) + reassembly.finish()


def play(feed: LogQueue, chunks: list[Chunk], *, seed: int | None = None) -> None:
    """Have the feed told of them, each cut at random where a seed is given."""
    cuts = random.Random(seed)
    known: set[int] = set()
    for half, time_ns, _, data in chunks:
        connection = half.connection
        number = connection.number
        if number not in known:
            known.add(number)
            feed.log_opened(number, connection.first.source, connection.first.target, connection.first.target, time_ns)
        if isinstance(data, Close):
            feed.log_closed(number, data.how, time_ns)
        elif isinstance(data, bytes):
            side = 0 if half is connection.first else 1
            while data:
                size = len(data) if seed is None else cuts.choice([1, 3, 14, 100, 5000, len(data)])
                feed.log_chunk(number, side, time_ns, data[:size])
                data = data[size:]


def play_with_gaps(feed: LogQueue, chunks: list[Chunk], lost: Container[int]) -> int:
    """Have it told of them but for those with these numbers, as after an overflow; how many gaps were declared."""
    missing: Counter[tuple[int, int]] = Counter()
    known: set[int] = set()
    gaps = 0

    def declare(number: int, side: int, time_ns: int) -> int:
        size = missing.pop((number, side), 0)
        if size:
            feed.tell(HEAD.pack(MessageKind.GAP + side, number, time_ns, SIZE.size) + SIZE.pack(size))
        return size > 0

    for place, (half, time_ns, _, data) in enumerate(chunks):
        connection = half.connection
        number, side = connection.number, int(half is not connection.first)
        if number not in known:
            known.add(number)
            feed.log_opened(number, connection.first.source, connection.first.target, connection.first.target, time_ns)
        if isinstance(data, Close):
            gaps += declare(number, CLIENT, time_ns) + declare(number, SERVER, time_ns)
            feed.log_closed(number, data.how, time_ns)
        elif isinstance(data, bytes) and place in lost:
            missing[number, side] += len(data)
        elif isinstance(data, bytes):
            gaps += declare(number, side, time_ns)
            feed.log_chunk(number, side, time_ns, data)
    return gaps


def logged(folder: Path, plan: LogPlan, chunks: list[Chunk], **how: Any) -> tuple[bytes, str]:
    """What the log writes of them on standard output and on standard error."""
    with (folder / "out").open("w+b") as out, (folder / "err").open("w+b") as err:
        log = start(plan, stdout=out, stderr=err, most=1 << 30)
        play(log.feed, chunks, **how)
        assert log.finish()
        out.seek(0)
        err.seek(0)
        return out.read(), err.read().decode()


def records(data: bytes | str) -> list[dict[str, Any]]:
    """NDJSON as a list of what both a capture and the proxy say, in order of time."""
    rows = [json.loads(line) for line in data.splitlines()]
    rows = [{name: value for name, value in row.items() if name not in OWN} for row in rows]
    return sorted(rows, key=lambda row: (row["time"], row["client"], json.dumps(row, sort_keys=True)))


def sniffed(name: Path | str, *options: str) -> list[dict[str, Any]]:
    """The same of a capture."""
    shown = kw("sniff", str(name), "-o", "ndjson", *options)
    assert shown.code == 0, shown.err
    return records(shown.out)


NDJSON: Final = Settings(format="ndjson", quiet=True)
