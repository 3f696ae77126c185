"""How fast records are read: `python -m tests.bench.records [SECONDS]` prints kw beside kafka-python and kio.

Each row is one batch of 500 records, read by each library in turn, again and again; the best time counts. The JSON
column is kw's JSON-ready form, which the others do not have. Ratios are to kw's Record form, as performance.md measures
them; their geometric means are printed at the end, beside the minimum and the aim.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from math import prod
from time import perf_counter_ns
from typing import Final

from kio.records.readers import read_batch

from decoders.records.codecs import NAMES
from decoders.records.encode_batches import encode_batch
from decoders.records.read_batches import batches_json, decode_records
from decoders.records.record_and_batch import Batch, Record
from decoders.records.summarize_records import summarize_records
from tests.records.others import MemoryRecords

COUNT: Final = 500
VALUE: Final = b'{"id":%d,"name":"abcdefghijkl","city":"Somewhere","amount":12.55,"note":"%s","ok":true}'
# Peer: minimum and aim of performance.md.
TARGETS: Final = {"kafka-python": (3.0, 4.0), "kio": (7.0, 10.0)}


def made(
    size: int = 100, *, key: bool = True, headers: int = 0, codec: str = "none", step_ms: int = 3, noise: int = 0
) -> bytes:
    """A batch of records whose values are JSON of about `size` bytes; timestamps `step_ms` apart and `noise` around."""
    filling = b"x" * max(size - len(VALUE % (0, b"")), 0)
    return encode_batch(
        [
            Record(
                index,
                1_700_000_000_000 + index * step_ms + (index * 7919 % (noise + 1)),
                b"key-%d" % index if key else None,
                VALUE % (index, filling[: len(filling) - index % 20]),
                tuple((f"header-{each}", b"held %d" % (each * index)) for each in range(headers)),
            )
            for index in range(COUNT)
        ],
        Batch(codec=codec),
    )


CASES: Final[dict[str, bytes]] = {
    "key, 100 B": made(),
    "no key, 100 B": made(key=False),
    "key, 1 KiB": made(1024),
    "no key, 20 B": encode_batch([Record(index, 1_700_000_000_000, None, b"%020d" % index) for index in range(COUNT)]),
    "1 header, the same": made(headers=1),
    "2 headers, one differs": made(headers=2),
    "event times": made(noise=10_000_000),
    **{f"key, 100 B, {codec}": made(codec=codec) for codec in NAMES if codec not in ("none", "snappy")},
}


def kafka_python(data: bytes) -> None:
    batches = MemoryRecords(data)
    while batches.has_next():
        batch = batches.next_batch()
        batch.validate_crc()
        list(batch)


def best(readers: list[Callable[[], object]], seconds: float) -> list[int]:
    """The shortest time in ns that each reader took, all of them running in turn."""
    found = [sys.maxsize] * len(readers)
    until = perf_counter_ns() + int(seconds * 1e9)
    while perf_counter_ns() < until:
        for index, reader in enumerate(readers):
            began = perf_counter_ns()
            reader()
            found[index] = min(found[index], perf_counter_ns() - began)
    return found


def readers_of(data: bytes) -> list[Callable[[], object]]:
    """kw, kw's JSON form, kafka-python; and kio, which reads no compressed batches."""
    readers: list[Callable[[], object]] = [
        partial(decode_records, data),
        partial(batches_json, data, records=True),
        partial(kafka_python, data),
    ]
    if decode_records(data)[0].codec == "none":
        readers.append(partial(read_batch, data, 0))
    return readers


def verdict(peer: str, ratios: list[float]) -> str:
    least, aim = TARGETS[peer]
    mean = prod(ratios) ** (1 / len(ratios))
    word = "aim reached" if mean >= aim else "minimum reached" if mean >= least else "BELOW THE MINIMUM"
    return f"{peer:14}{mean:5.1f}× in the mean, worst {min(ratios):.1f}×; minimum {least}×, aim {aim}×: {word}"


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 2.0
    ratios: dict[str, list[float]] = {peer: [] for peer in TARGETS}
    print(f"{'ns a record':24}{'kw':>8}{'kw JSON':>9}{'kafka-python':>14}{'kio':>8}{'ratios':>14}")
    for name, data in CASES.items():
        mine, json, *peers = (each / COUNT for each in best(readers_of(data), seconds))
        for peer, time in zip(TARGETS, peers, strict=False):
            ratios[peer].append(time / mine)
        times = "".join(f"{time:{width}.0f}" for time, width in zip(peers, (14, 8), strict=False))
        shown = "  ".join(f"{time / mine:.1f}×" for time in peers)
        print(f"{name:24}{mine:8.0f}{json:9.0f}{times:22}{shown:>14}")
    for peer, each in ratios.items():
        print(verdict(peer, each))
    many = encode_batch([Record(0, 0, b"key", b"v" * 100)]) * 1000
    readers: list[Callable[[], object]] = [
        partial(summarize_records, many),
        partial(batches_json, many),
        partial(batches_json, many, records=True),
    ]
    summary, head, records = (each / 1000 for each in best(readers, seconds))
    print(
        f"a batch of one record: summary {summary:.0f} ns, head and checksum {head:.0f}, with its record {records:.0f}"
    )


if __name__ == "__main__":
    main()
