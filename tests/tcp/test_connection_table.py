"""Connections that wait: a look takes only those that are due, with the same result as a look at all of them."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from decoders.limits import IDLE_NS
from decoders.tcp import reassembly
from decoders.tcp.connection_and_halves import PATIENCE_NS, Connection, reverse_key
from decoders.tcp.connection_table import STALE_MAX
from decoders.tcp.reassembly import Reassembly
from decoders.tcp.stream_chunks import Chunk, Close, Gap, Segment
from tests.sampling import sampled
from tests.tcp.conversations import ACK, CLIENT, MS, RST, SYN
from tests.tcp.test_alone import capture, told
from tests.tcp.test_reassembly_properties import EXAMPLES

SECOND = 10**9


class Plain(Reassembly):
    """Reassembly that looks at all waiting connections each time."""

    def _check_waiting_connections(self, *, idle: bool = False) -> None:
        self._look_ns = self._delivery.time_ns + PATIENCE_NS
        for connection in list(self._waiting):
            self._pass_time_on_connection(connection, idle=idle)
            if not connection.over:
                connection.leave_fast_path()
        for connection in list(self._resets):
            if not self._reset_is_due(connection, idle=idle):
                break
            self._pass_time_on_connection(connection, idle=idle)


class Counted(Reassembly):
    """Reassembly that counts its looks at connections."""

    def __init__(self) -> None:
        super().__init__()
        self.looks = 0

    def _pass_time_on_connection(self, connection: Connection, *, idle: bool = False) -> None:
        self.looks += 1
        super()._pass_time_on_connection(connection, idle=idle)


def shown(chunks: list[Chunk]) -> list[tuple[object, ...]]:
    return [(half.source, half.connection.number, *rest) for half, *rest in chunks]


def play(stage: Reassembly, segments: list[Segment], rng: Random) -> list[tuple[object, ...]]:
    """All chunks, with times without segments in between."""
    out: list[Chunk] = []
    for segment in segments:
        out += stage.feed([segment])
        if rng.random() < 0.1:
            out += stage.feed([], segment[1] + rng.choice([MS, 200 * MS, 4 * SECOND, IDLE_NS + SECOND]))
    return shown(out + stage.finish())


def lossy(connections: int, packets: int, loss: float, step_ns: int = MS // 9) -> list[Segment]:
    """A busy broker: a connection drawn at random asks, is answered, acknowledges; packets are dropped at random."""
    rng = Random(7)
    keys = [CLIENT[:8] + number.to_bytes(2, "big") + CLIENT[10:] for number in range(connections)]
    places = [[1000, 5000] for _ in keys]
    segments: list[Segment] = []
    for number, key in enumerate(keys):
        segments.append((key, number * step_ns, 2 * number, 999, 0, SYN, b"", 0))
        segments.append((reverse_key(key), number * step_ns, 2 * number + 1, 4999, 1000, SYN | ACK, b"", 0))
    steps = [0] * connections
    for packet in range(2 * connections, 2 * connections + packets):
        at = rng.randrange(connections)
        place, step = places[at], steps[at]
        side, size = (0, 40) if step == 0 else (1, 60) if step == 1 else (0, 0)
        if rng.random() >= loss:
            key = reverse_key(keys[at]) if side else keys[at]
            segments.append((key, packet * step_ns, packet, place[side], place[1 - side], ACK, bytes(size), 0))
        place[side] += size
        steps[at] = (step + 1) % 3
    return segments


@pytest.mark.long
@given(st.integers(0, 2**48))
@settings(max_examples=EXAMPLES, deadline=None)
def test_a_look_does_what_one_at_all_of_them_does(seed: int) -> None:
    segments = capture(Random(seed))
    note("\n".join(map(str, segments)))
    assert play(Reassembly(), segments, Random(seed)) == play(Plain(), segments, Random(seed))


def test_a_look_does_what_one_at_all_of_them_does_on_a_busy_broker() -> None:
    segments = lossy(200, 20_000, 0.05)
    chunks = play(Reassembly(), segments, Random(1))
    assert chunks == play(Plain(), segments, Random(1))
    assert sum(isinstance(chunk[-1], Gap) for chunk in chunks) > 300


@pytest.mark.long
@given(st.integers(0, 2**48))
@settings(max_examples=EXAMPLES, deadline=None)
def test_how_many_are_looked_at_in_one_go_is_no_matter_to_a_connection(seed: int) -> None:
    segments = capture(Random(seed))
    wanted = Reassembly()
    chunks = told(wanted.feed(segments) + wanted.finish())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reassembly, "LOOK_MAX", 1)
        few = Reassembly()
        assert told(few.feed(segments) + few.finish()) == chunks


@pytest.mark.one_in(2)
@pytest.mark.parametrize("look_max", [2, 256])
@pytest.mark.parametrize("seed", sampled(range(20), 10))
def test_a_state_handed_over_at_any_cut_goes_on_the_same(
    seed: int, look_max: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reassembly, "LOOK_MAX", look_max)
    segments = lossy(12, 300, 0.1, step_ns=SECOND // 9) if seed == 0 else capture(Random(seed))
    whole = Reassembly()
    wanted = shown(whole.feed(segments) + whole.finish())
    first = Reassembly()
    begun: list[Chunk] = []
    for at in range(len(segments)):
        heir = Reassembly()
        heir.resume(first.export())
        assert shown(begun + heir.feed(segments[at:]) + heir.finish()) == wanted
        begun += first.feed(segments[at : at + 1])


@pytest.mark.long
@pytest.mark.one_in(3)
@pytest.mark.parametrize("connections", [100, 1000, 3000])
def test_looks_grow_with_packets_not_with_connections_that_wait(connections: int) -> None:
    segments = lossy(connections, 60_000, 0.05)
    stage = Counted()
    chunks = stage.feed(segments)
    assert sum(isinstance(data, Gap) for _, _, _, data in chunks) > 200
    assert stage.looks < 2 * len(segments)


def test_looks_grow_with_packets_when_many_wait_for_nothing_that_comes() -> None:
    """Each connection lacks a segment, and is not due yet; another one goes on, its segments out of order."""
    stage = Counted()
    count, turns = 5000, 2500
    key = CLIENT[:8] + b"\xff\xff" + CLIENT[10:]
    segments: list[Segment] = [(key, 1, 1, 99, 0, SYN, b"", 0)]
    for number in range(count):
        its = CLIENT[:8] + number.to_bytes(2, "big") + CLIENT[10:]
        time_ns, packet = 2900 * MS + number, 2 * number
        segments += [(its, time_ns, packet + 2, 99, 0, SYN, b"", 0), (its, time_ns, packet + 3, 110, 0, 0, b"late", 0)]
    for turn in range(turns):
        time_ns, packet, seq = (3001 + turn) * MS, 3 * count + 40 * turn, 100 + 20 * turn
        segments.append((key, time_ns, packet + 1, seq + 10, 0, ACK, bytes(10), 0))
        segments.append((key, time_ns, packet + 2, seq, 0, ACK, bytes(10), 0))
    assert len(stage.feed(segments)) == 2 * turns
    assert len(stage._waiting) == count
    assert stage.looks < 2 * len(segments)


def test_connections_that_are_over_are_let_go() -> None:
    """A connection that waits no more is in no queue of waiting ones."""
    stage = Reassembly()
    for turn in range(3000):
        key = CLIENT[:8] + (turn % 1000).to_bytes(2, "big") + CLIENT[10:]
        base = 3 * turn
        stage.feed(
            [
                (key, turn, base + 1, 99 + 1000 * turn, 0, SYN, b"", 0),
                (key, turn, base + 2, 110 + 1000 * turn, 0, ACK, b"late", 0),
                (key, turn, base + 3, 100 + 1000 * turn, 0, ACK, bytes(10), 0),
            ]
        )
    assert not stage._waiting
    assert len(stage._waiting._heap) <= 2 * STALE_MAX


def test_resets_end_in_their_order() -> None:
    stage = Reassembly()
    segments: list[Segment] = []
    for number in range(1000):
        key = CLIENT[:8] + number.to_bytes(2, "big") + CLIENT[10:]
        segments.append((key, number, 2 * number + 1, 99, 0, SYN, b"", 0))
        segments.append((key, number, 2 * number + 2, 100, 0, RST, b"", 0))
    assert stage.feed(segments) == []
    key = CLIENT[:8] + b"\xff\xff" + CLIENT[10:]
    chunks = stage.feed([(key, 10 * SECOND, 9000, 99, 0, SYN, b"", 0)])
    assert [(half.connection.number, data) for half, _, _, data in chunks] == [
        (number, Close("rst")) for number in range(1, 1001)
    ]
