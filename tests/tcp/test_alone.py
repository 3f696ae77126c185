"""The chunks of a connection depend on its own packets only: alone they are the same as among others in a capture."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import assume, given, note, settings
from hypothesis import strategies as st

from decoders.limits import IDLE_NS
from decoders.tcp.connection_and_halves import reverse_key
from decoders.tcp.reassembly import Reassembly
from decoders.tcp.stream_chunks import Chunk, Close, Segment
from tests.tcp.conversations import ACK, FIN, RST, SYN
from tests.tcp.test_reassembly_properties import EXAMPLES

Told = list[tuple[object, ...]]
HOSTS = bytes([10, 0, 0, 1, 10, 0, 0, 2])
SECOND = 10**9


def capture(rng: Random) -> list[Segment]:
    """Packets of some connections with losses, repetitions, resets, port reuse and pauses of all lengths."""
    ports = range(50000, 50000 + rng.randint(2, 4))
    keys = {port: HOSTS + port.to_bytes(2, "big") + b"\x23\x84" for port in ports}
    place: dict[tuple[int, bool], int] = {}
    out: list[Segment] = []
    time_ns, packet = SECOND, 0
    pauses = rng.choice([(1, 10**6), (10**6, SECOND, 4 * SECOND), (1, 4 * SECOND, IDLE_NS // 3, IDLE_NS + SECOND)])
    loss = rng.choice([0.0, 0.1, 0.4])
    for _ in range(rng.randint(10, 250)):
        port, client = rng.choice(ports), rng.random() < 0.6
        seq = place.setdefault((port, client), rng.choice([100, 2**32 - 20, 5 * 2**28]))
        ack = place.setdefault((port, not client), 100)
        flags = rng.choice([ACK] * 30 + [SYN, SYN | ACK, FIN | ACK, RST, RST | ACK])
        size = rng.choice([0, 1, 2, 7, 7, 7]) if not flags & (SYN | RST) else 0
        if flags & SYN:
            seq = rng.randrange(2**32)
        at = seq - rng.choice([0] * 12 + [1, 7, 9, -9, 2**29])
        place[port, client] = (seq + size + bool(flags & (SYN | FIN))) % 2**32
        packet += rng.choice([1, 1, 1, 40])
        time_ns += rng.choice(pauses) if rng.random() < 0.3 else rng.choice([0, 1, 10**6])
        if rng.random() >= loss:
            key = keys[port] if client else reverse_key(keys[port])
            ack = (ack - rng.choice([0] * 9 + [7])) % 2**32 if flags & ACK else 0
            data = bytes(rng.randrange(256) for _ in range(size))
            out.append((key, time_ns, packet, at % 2**32, ack, flags, data, 0))
    return out


def told(chunks: list[Chunk]) -> dict[str, Told]:
    """The chunks of each pair of ports; of the end of a connection only how it ended."""
    out: dict[str, Told] = {}
    for half, time_ns, packet, data in chunks:
        pair = min(half.source, half.target)
        what = data if isinstance(data, Close) else (time_ns, packet, data)
        out.setdefault(pair, []).append((half.source, half.connection.began_ns, what))
    return out


@pytest.mark.long
@given(st.integers(0, 2**48))
@settings(max_examples=EXAMPLES, deadline=None)
def test_a_connection_alone_is_the_same(seed: int) -> None:
    every = capture(Random(seed))
    assume(every)
    stage = Reassembly()
    together = told(stage.feed(every) + stage.finish())
    alone: dict[str, Told] = {}
    for key in {min(segment[0], reverse_key(segment[0])) for segment in every}:
        stage = Reassembly()
        chunks = stage.feed([segment for segment in every if segment[0] in (key, reverse_key(key))])
        stage.advance_time(*every[-1][1:3])
        alone |= told(chunks + stage.finish())
    note("\n".join(f"{segment[0][-4:-2].hex()} {segment[1:]}" for segment in every))
    assert alone == together
