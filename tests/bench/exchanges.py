"""Program: how long chunks, and segments, take to become settled exchanges (`python -m tests.bench.exchanges`).

A synthetic capture of many small messages on some connections: Produce, Fetch, Metadata and Heartbeat, a frame a
segment. Printed per message (a request or a response), CPU time, beside the minimum wanted.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from random import Random
from time import process_time
from typing import Any

from decoders.exchanges.body_reader import Needs
from decoders.exchanges.chunks_to_exchanges import Pairer
from decoders.exchanges.segments_to_exchanges import Engine
from decoders.records.encode_batches import encode_batch
from decoders.records.record_and_batch import Record
from decoders.tcp.reassembly import Reassembly
from decoders.tcp.stream_chunks import Segment
from tests.exchanges.talks import request, response, segments
from tests.messages.json_lines import to_json_bytes

WANTED_US = 1.5
BATCH = encode_batch([Record(77, 1_790_000_000_000, b"order-1", b"x" * 60)])
# (API key, version, request, response): the most common requests of producers, consumers and groups.
KINDS: tuple[tuple[int, int, dict[str, Any], dict[str, Any]], ...] = (
    (
        *(
            0,
            9,
            {"acks": 1, "timeout_ms": 1500, "topic_data": [{"name": "orders", "partition_data": [{"records": BATCH}]}]},
        ),
        {"responses": [{"name": "orders", "partition_responses": [{"base_offset": 77, "log_append_time_ms": -1}]}]},
    ),
    (
        *(1, 12, {"max_wait_ms": 500, "session_id": 77, "session_epoch": 4, "rack_id": ""}),
        {"session_id": 77, "responses": [{"topic": "orders", "partitions": [{"records": BATCH}]}]},
    ),
    (12, 4, {"group_id": "billing", "generation_id": 3, "member_id": "m-1"}, {}),
    (
        *(8, 8, {"group_id": "billing", "topics": [{"name": "orders", "partitions": [{"committed_offset": 5}]}]}),
        {"topics": [{"name": "orders", "partitions": [{"partition_index": 0}]}]},
    ),
)


def traffic(connections: int = 20, exchanges: int = 5000) -> list[Segment]:
    """Segments of all connections, interleaved."""
    rng = Random(7)
    every: list[list[Segment]] = []
    for number in range(connections):
        turns = []
        for correlation_id in range(exchanges):
            key, version, value, answer = KINDS[correlation_id % len(KINDS)]
            turns.append((True, request(key, version, correlation_id, f"client-{number}", value)))
            turns.append((False, response(key, version, correlation_id, answer)))
        every.append(segments(turns, rng, port=50000 + number, most=65000))
    return [segment for row in zip(*every, strict=True) for segment in row]


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """CPU seconds of a call, and its result."""
    gc.collect()
    gc.freeze()
    begun = process_time()
    given = work()
    return process_time() - begun, given


def fed(stage: Any, items: list[Any], size: int = 20_000) -> list[Any]:
    """The output of a stage that is fed in batches of `size` items."""
    out: list[Any] = []
    for at in range(0, len(items), size):
        out += stage.feed(items[at : at + size])
    return out


def main() -> None:
    """Measure and print."""
    gc.set_threshold(50_000, 20, 100)
    every = traffic()
    _, chunks = timed(lambda: fed(Reassembly(), every))
    messages = sum(isinstance(chunk[3], bytes) for chunk in chunks)
    seconds, settled = timed(lambda: fed(Pairer(needs=Needs()), chunks))
    print(f"{len(every):,} segments, {messages:,} messages, {len(settled):,} settled")
    print(f"chunks → exchanges   {seconds * 1e6 / messages:.2f} µs a message")
    seconds, settled = timed(lambda: fed(Engine(needs=Needs()), every))
    print(f"segments → exchanges {seconds * 1e6 / messages:.2f} µs a message (wanted: {WANTED_US})")
    seconds, _ = timed(lambda: [exchange.status for exchange in settled])
    print(f"looking (no needs)   {seconds * 1e6 / len(settled):.2f} µs an exchange")
    seconds, _ = timed(lambda: [to_json_bytes(exchange) for exchange in settled])
    print(f"JSON                 {seconds * 1e6 / len(settled):.2f} µs an exchange")


if __name__ == "__main__":
    main()
