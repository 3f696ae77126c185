"""Captures played into a queue: the chunks that a proxy would have seen of that traffic, of any size."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Container
from functools import cache
from pathlib import Path
from typing import Any, Final

from decoders.capture.read_capture import CaptureReader
from decoders.tcp.reassembly import Reassembly
from decoders.tcp.stream_chunks import Chunk, Close
from kwcli.output.output_settings import Settings
from kwcli.proxy.log.log_protocol import CLIENT, HEAD, SERVER, SIZE, LogPlan, MessageKind
from kwcli.proxy.log.log_queue import LogQueue
from kwcli.proxy.log.start_log_process import start
from tests.cli.worlds import kw

FOLDER: Final = Path(__file__).resolve().parents[3] / "captures"
# Keys that a capture and the proxy number differently, and keys that only one of them has.
OWN: Final = ("connection", "packets", "retransmitted", "via", "upstream_latency_ms")


@cache
def chunks_of(name: str) -> list[Chunk]:
    """The chunks of a capture that ships."""
    from tests.captures.shipped import capture_bytes

    reader, reassembly = CaptureReader(), Reassembly()
    return reassembly.feed(reader.feed(capture_bytes(name)) + reader.finish(), 0) + reassembly.finish()


def play(queue: LogQueue, chunks: list[Chunk], *, seed: int | None = None) -> None:
    """Give the chunks to the queue, cut at random if a seed is given."""
    cuts = random.Random(seed)
    known: set[int] = set()
    for half, time_ns, _, data in chunks:
        connection = half.connection
        number = connection.number
        if number not in known:
            known.add(number)
            queue.log_connection_opened(
                number, connection.first.source, connection.first.target, connection.first.target, time_ns
            )
        if isinstance(data, Close):
            queue.log_connection_closed(number, data.how, time_ns)
        elif isinstance(data, bytes):
            side = 0 if half is connection.first else 1
            while data:
                size = len(data) if seed is None else cuts.choice([1, 3, 14, 100, 5000, len(data)])
                queue.log_client_bytes(number, side, time_ns, data[:size])
                data = data[size:]


def play_with_gaps(queue: LogQueue, chunks: list[Chunk], lost: Container[int]) -> int:
    """Give the chunks to the queue without those of these numbers, as after an overflow; gives the number of gaps."""
    missing: Counter[tuple[int, int]] = Counter()
    known: set[int] = set()
    gaps = 0

    def declare(number: int, side: int, time_ns: int) -> int:
        size = missing.pop((number, side), 0)
        if size:
            queue.queue_packed(HEAD.pack(MessageKind.GAP + side, number, time_ns, SIZE.size) + SIZE.pack(size))
        return size > 0

    for place, (half, time_ns, _, data) in enumerate(chunks):
        connection = half.connection
        number, side = connection.number, int(half is not connection.first)
        if number not in known:
            known.add(number)
            queue.log_connection_opened(
                number, connection.first.source, connection.first.target, connection.first.target, time_ns
            )
        if isinstance(data, Close):
            gaps += declare(number, CLIENT, time_ns) + declare(number, SERVER, time_ns)
            queue.log_connection_closed(number, data.how, time_ns)
        elif isinstance(data, bytes) and place in lost:
            missing[number, side] += len(data)
        elif isinstance(data, bytes):
            gaps += declare(number, side, time_ns)
            queue.log_client_bytes(number, side, time_ns, data)
    return gaps


def logged(folder: Path, plan: LogPlan, chunks: list[Chunk], **how: Any) -> tuple[bytes, str]:
    """The log's standard output and standard error for these chunks."""
    with (folder / "out").open("w+b") as out, (folder / "err").open("w+b") as err:
        log = start(plan, stdout=out, stderr=err, most=1 << 30)
        play(log.queue, chunks, **how)
        assert log.finish()
        out.seek(0)
        err.seek(0)
        return out.read(), err.read().decode()


def records(data: bytes | str) -> list[dict[str, Any]]:
    """NDJSON as records with the keys that a capture and the proxy share, in order of time."""
    rows = [json.loads(line) for line in data.splitlines()]
    rows = [{name: value for name, value in row.items() if name not in OWN} for row in rows]
    return sorted(rows, key=lambda row: (row["time"], row["client"], json.dumps(row, sort_keys=True)))


def sniffed(name: Path | str, *options: str) -> list[dict[str, Any]]:
    """The records of `kw sniff` with the keys that a capture and the proxy share, in order of time."""
    shown = kw("sniff", str(name), "-o", "ndjson", *options)
    assert shown.code == 0, shown.err
    return records(shown.out)


NDJSON: Final = Settings(format="ndjson", quiet=True)
