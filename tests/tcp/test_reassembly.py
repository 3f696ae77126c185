"""Reassembly by rows: packets on the wire, and the chunks that must come out."""

from __future__ import annotations

import pytest

from decoders.limits import IDLE_NS
from decoders.tcp.connection_table import LATE_NS
from decoders.tcp.reassembly import Reassembly
from decoders.tcp.stream_chunks import Close, Gap, Segment
from tests.tcp.conversations import ACK, BROKER, CLIENT, FIN, MS, RST, SYN, numbered, play, streams, told

A, B = "client", "broker"
OPEN = [(A, 99, None, SYN, b""), (B, 499, 100, SYN, b""), (A, 100, 500, 0, b"")]
CLOSE = (A, "close capture_end")

ROWS: dict[str, tuple[list[tuple[object, ...]], list[tuple[object, ...]]]] = {
    "request and answer, closed by both": (
        [
            *OPEN,
            (A, 100, 500, 0, b"ask"),
            (B, 500, 103, 0, b"tell"),
            (A, 103, 504, FIN, b""),
            (B, 504, 104, FIN, b""),
            (A, 104, 505, 0, b""),
        ],
        [(A, 4, b"ask"), (B, 5, b"tell"), (A, 7, "close fin")],
    ),
    "bytes with the FIN": (
        [*OPEN, (A, 100, 500, FIN, b"ask"), (B, 500, 104, FIN, b"tell")],
        [(A, 4, b"ask"), (B, 5, b"tell"), (A, 5, "close fin")],
    ),
    "two segments swapped": (
        [*OPEN, (A, 103, 500, 0, b"two"), (A, 100, 500, 0, b"one")],
        [(A, 5, b"one"), (A, 4, b"two"), (A, 5, "close capture_end")],
    ),
    "a segment twice, later than the capture would": (
        [*OPEN, (A, 100, 500, 0, b"one"), (B, 500, 100, 0, b""), (B, 500, 100, 0, b""), (A, 100, 500, 0, b"one")],
        [(A, 4, b"one"), (A, 7, "again 0+3"), (A, 7, "close capture_end")],
    ),
    "a retransmission with new bytes": (
        [*OPEN, (A, 100, 500, 0, b"one"), (A, 100, 500, 0, b"oneTWO")],
        [(A, 4, b"one"), (A, 5, "again 0+3"), (A, 5, b"TWO"), (A, 5, "close capture_end")],
    ),
    "first copy of a byte wins, given or held": (
        [*OPEN, (A, 106, 500, 0, b"333"), (A, 103, 500, 0, b"22XX"), (A, 100, 500, 0, b"111YYYYYYY4")],
        [
            (A, 6, b"111"),
            (A, 5, b"22X"),
            (A, 4, b"333"),
            (A, 6, b"Y4"),
            (A, 6, "close capture_end"),
        ],
    ),
    "keep-alives and window probes": (
        [
            *OPEN,
            (A, 100, 500, 0, b"one"),
            (A, 102, 500, 0, b"\0"),
            (B, 500, 103, 0, b""),
            (A, 102, 500, 0, b""),
            (A, 103, 500, 0, b"two"),
        ],
        [(A, 4, b"one"), (A, 8, b"two"), (A, 8, "close capture_end")],
    ),
    "an answer that overtakes its request": (
        [*OPEN, (B, 500, 103, 0, b"tell"), (A, 100, 500, 0, b"ask"), (A, 103, 504, 0, b"more")],
        [(A, 5, b"ask"), (B, 4, b"tell"), (A, 6, b"more"), (A, 6, "close capture_end")],
    ),
    "an answer to a request that is not there": (
        [*OPEN, (B, 500, 103, 0, b"tell")],
        [(A, 4, "gap 3 lost"), (B, 4, b"tell"), (A, 4, "close capture_end")],
    ),
    "a FIN before what it ends": (
        [*OPEN, (A, 103, 500, FIN, b""), (B, 500, 100, FIN, b""), (A, 100, 501, 0, b"one")],
        [(A, 6, b"one"), (A, 6, "close fin")],
    ),
    "a reset in the middle": (
        [*OPEN, (A, 100, 500, 0, b"ask"), (B, 500, 103, RST, b"go away"), (A, 103, 500, 0, b"more")],
        [(A, 4, b"ask"), (A, 6, b"more"), (A, 6, "close rst")],
    ),
    "a reset before a FIN": (
        [*OPEN, (A, 104, 500, RST, b""), (A, 100, 500, 0, b"ask")],
        [(A, 5, b"ask"), (A, 5, "close rst")],
    ),
    "somebody else's reset": (
        [*OPEN, (A, 100, 500, RST, b""), (B, 500, 100, 0, b"tell"), (A, 100, 504, 0, b"ask"), (B, 504, 103, 0, b"me")],
        [(B, 5, b"tell"), (A, 6, b"ask"), (B, 7, b"me"), (A, 7, "close capture_end")],
    ),
    "refused, the ports used again": (
        [(A, 99, None, SYN, b""), (B, 0, 100, RST, b""), (A, 299, None, SYN, b"")],
        [(A, 3, "close rst"), (A, 3, "close capture_end")],
    ),
    "a reset behind a hole": (
        [*OPEN, (A, 103, 500, 0, b"two"), (A, 106, 500, RST, b"")],
        [(A, 4, "gap 3 lost"), (A, 4, b"two"), (A, 5, "close rst")],
    ),
    "refused": (
        [(A, 99, None, SYN, b""), (B, 0, 100, RST, b"")],
        [(A, 2, "close rst")],
    ),
    "the ports used again": (
        [
            *OPEN,
            (A, 100, 500, 0, b"old"),
            (A, 70000, None, SYN, b""),
            (B, 90000, 70001, SYN, b""),
            (A, 70001, 90001, 0, b"new"),
        ],
        [(A, 4, b"old"), (A, 5, "close idle"), (A, 7, b"new"), (A, 7, "close capture_end")],
    ),
    "the ports used again after one FIN": (
        [*OPEN, (A, 100, 500, FIN, b"old"), (A, 70000, None, SYN, b""), (A, 70001, None, 0, b"new")],
        [(A, 4, b"old"), (A, 5, "close fin"), (A, 6, b"new"), (A, 6, "close capture_end")],
    ),
    "a SYN sent again, and bytes with it": (
        [(A, 99, None, SYN, b"fast"), (A, 99, None, SYN, b"fast"), (B, 499, 100, SYN, b""), (A, 104, 500, 0, b"er")],
        [(A, 1, b"fast"), (A, 4, b"er"), (A, 4, "close capture_end")],
    ),
    "sequence numbers wrap around": (
        [
            (A, -4, None, SYN, b""),
            (B, -2, -3, SYN, b""),
            (A, -3, -1, 0, b"12"),
            (A, -1, -1, 0, b"34"),
            (B, -1, 1, 0, b"56"),
            (A, 1, 1, 0, b"78"),
        ],
        [(A, 3, b"12"), (A, 4, b"34"), (B, 5, b"56"), (A, 6, b"78"), (A, 6, "close capture_end")],
    ),
    "wrap around inside a hole": (
        [(A, -4, None, SYN, b""), (A, 1, None, 0, b"56"), (A, -3, None, 0, b"1234")],
        [(A, 3, b"1234"), (A, 2, b"56"), (A, 3, "close capture_end")],
    ),
    "started in the middle": (
        [(A, 5000, 700, 0, b"ask"), (B, 700, 5003, 0, b"tell"), (A, 5003, 704, 0, b"more")],
        [(A, 1, b"ask"), (B, 2, b"tell"), (A, 3, b"more"), (A, 3, "close capture_end")],
    ),
    "started in the middle, two segments swapped": (
        [(A, 5003, 700, 0, b"two"), (A, 5000, 700, 0, b"one"), (B, 700, 5006, 0, b"tell")],
        [(A, 2, b"one"), (A, 1, b"two"), (B, 3, b"tell"), (A, 3, "close capture_end")],
    ),
    "started in the middle with a bare acknowledgement": (
        [(A, 5000, 700, 0, b""), (A, 5000, 700, 0, b"ask")],
        [(A, 2, b"ask"), (A, 2, "close capture_end")],
    ),
    "started in the middle with a keep-alive": (
        [(A, 4999, 700, 0, b"\0"), (B, 700, 5000, 0, b""), (A, 5000, 700, 0, b"ask"), (B, 700, 5003, 0, b"tell")],
        [(A, 3, b"ask"), (B, 4, b"tell"), (A, 4, "close capture_end")],
    ),
    "the handshake after the first request and answer": (
        [
            (A, 100, 500, 0, b"ask"),
            (B, 500, 103, 0, b"tell"),
            (B, 499, 100, SYN, b""),
            (A, 99, None, SYN, b""),
            (A, 103, 504, 0, b"more"),
        ],
        [(A, 1, b"ask"), (B, 2, b"tell"), (A, 5, b"more"), (A, 5, "close capture_end")],
    ),
    "one direction only": (
        [(B, 700, 5000, 0, b"11"), (B, 702, 5000, 0, b"2"), (B, 703, 5000, 0, b"3"), (B, 704, 5000, 0, b"4")],
        [(B, 1, b"11"), (B, 2, b"2"), (B, 3, b"3"), (B, 4, b"4"), (B, 4, "close capture_end")],
    ),
    "cut by snaplen": (
        [*OPEN, (A, 100, 500, 0, b"on", 3), (A, 105, 500, 0, b"e")],
        [(A, 4, b"on"), (A, 4, "gap 3 snaplen"), (A, 5, b"e"), (A, 5, "close capture_end")],
    ),
    "cut to nothing": (
        [*OPEN, (A, 100, 500, 0, b"", 3), (A, 103, 500, 0, b"e")],
        [(A, 4, "gap 3 snaplen"), (A, 5, b"e"), (A, 5, "close capture_end")],
    ),
    "cut, then sent again": (
        [*OPEN, (A, 100, 500, 0, b"on", 3), (A, 102, 500, 0, b"eeeTWO")],
        [
            (A, 4, b"on"),
            (A, 4, "gap 3 snaplen"),
            (A, 5, "again 2+3"),
            (A, 5, b"TWO"),
            (A, 5, "close capture_end"),
        ],
    ),
    "one segment astray": (
        [*OPEN, (A, 100, 500, 0, b"one"), (A, 2_000_000_000, 500, 0, b"bad"), (A, 103, 500, 0, b"two")],
        [(A, 4, b"one"), (A, 6, b"two"), (A, 6, "close capture_end")],
    ),
    "a run of segments elsewhere": (
        [
            *OPEN,
            (A, 100, 500, 0, b"one"),
            (A, 2_000_000_103, 500, 0, b"5"),
            (A, 2_000_000_104, 500, 0, b"6"),
            (A, 2_000_000_105, 500, 0, b"7"),
        ],
        [
            (A, 4, b"one"),
            (A, 5, "gap 0 jump"),
            (A, 5, b"5"),
            (A, 6, b"6"),
            (A, 7, b"7"),
            (A, 7, "close capture_end"),
        ],
    ),
    "the ports used again, the handshake not captured": (
        [
            *OPEN,
            (A, 100, 500, 0, b"one"),
            (A, 2_000_000_000, 1_000_000_000, 0, b"5"),
            (A, 2_000_000_001, 1_000_000_000, 0, b"6"),
            (A, 2_000_000_002, 1_000_000_000, 0, b"7"),
            (B, 1_000_000_000, 2_000_000_003, 0, b"88"),
        ],
        [
            (A, 4, b"one"),
            (A, 7, "close idle"),
            (A, 5, b"5"),
            (A, 6, b"6"),
            (A, 7, b"7"),
            (B, 8, b"88"),
            (A, 8, "close capture_end"),
        ],
    ),
    "what follows the end": (
        [
            *OPEN,
            (A, 100, 500, FIN, b"one"),
            (B, 500, 104, FIN, b""),
            (A, 104, 501, 0, b""),
            (A, 100, 501, FIN, b"one"),
            (B, 501, 104, RST, b""),
        ],
        [(A, 4, b"one"), (A, 5, "close fin")],
    ),
    "deadlock of acknowledgements, which no TCP makes": (
        [*OPEN, (A, 100, 504, 0, b"ask"), (B, 500, 103, 0, b"tell")],
        [(A, 4, b"ask"), (B, 5, b"tell"), (A, 5, "close capture_end")],
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_segments_become_chunks(name: str) -> None:
    rows, wanted = ROWS[name]
    assert told(play(numbered(rows))) == wanted


@pytest.mark.parametrize("name", ROWS)
def test_any_cut_into_batches_and_any_hand_over_give_the_same(name: str) -> None:
    rows, wanted = ROWS[name]
    segments = numbered(rows)
    for cut in range(len(segments) + 1):
        stage, other = Reassembly(), Reassembly()
        chunks = stage.feed(segments[:cut])
        other.resume(stage.export())
        assert other.export() == stage.export()
        chunks += stage.feed([]) + other.feed(segments[cut:]) + other.finish()
        assert told(chunks) == wanted


def lossy(count: int, hole: int, after: int) -> list[Segment]:
    """A conversation without segment `hole`, which the other side acknowledges from `after` segments later on."""
    rows: list[tuple[object, ...]] = list(OPEN)
    for number in range(count):
        if number != hole:
            rows.append((A, 100 + 10 * number, 500, 0, b"%10d" % number))
        rows.append((B, 500, 100 + 10 * (number + 1 if number >= hole + after else min(hole, number + 1)), 0, b""))
    return numbered(rows)


def test_a_hole_that_is_acknowledged_is_lost_after_a_while() -> None:
    chunks = play(lossy(60, 5, 3), finish=False)
    whole = b"".join(b"%10d" % number if number != 5 else b"?" * 10 for number in range(60))
    assert streams(chunks)["client"] == whole
    # After the packets that could have been swapped with it, and before the end.
    given = next(packet for _, packet, data in told(chunks) if data == "gap 10 lost")
    assert given == 3 + 2 * 5 + 2  # the packet behind the lost one


def test_a_hole_that_is_not_acknowledged_is_waited_for() -> None:
    chunks = play(lossy(60, 5, 100), finish=False)
    assert streams(chunks)["client"] == b"".join(b"%10d" % number for number in range(5))


def test_every_hole_of_a_lossy_capture_costs_the_same_patience() -> None:
    segments = [segment for segment in lossy(1000, 2000, 1) if segment[2] % 9 or not segment[6]]
    stage = Reassembly()
    stage.feed(segments)
    half = stage.connections()[1].first
    assert len(half.held) < 40
    assert half.gaps > 100


def test_time_that_passes_without_segments_ends_waiting() -> None:
    stage = Reassembly()
    rows = numbered([*OPEN, (A, 103, 500, 0, b"two"), (B, 500, 106, RST, b"")])
    assert stage.feed(rows) == []
    assert stage.feed([], rows[-1][1] + 1) == []
    chunks = stage.feed([], 10**10) + stage.feed([], 2 * 10**10) + stage.feed([], 3 * 10**10)
    assert told(chunks) == [(A, 4, "gap 3 lost"), (A, 4, b"two"), (A, 5, "close rst")]


def test_a_connection_that_was_open_before_is_shown_when_it_falls_silent() -> None:
    stage = Reassembly()
    rows = numbered([(A, 5000, 700, 0, b"ask"), (B, 700, 5003, 0, b"tell")])
    assert stage.feed(rows) == []
    assert stage.feed([], 5 * MS) == []
    assert told(stage.feed([], 150 * MS)) == [(A, 1, b"ask"), (B, 2, b"tell")]


@pytest.mark.plain
def test_what_waits_is_bounded_for_a_direction(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("decoders.tcp.reassembly.OUT_OF_ORDER_MAX", 4 * 1256)
    stage = Reassembly()
    rows = [*OPEN, *((A, 200 + 1000 * number, 500, 0, bytes(1000)) for number in range(5))]
    assert stage.feed(numbered(rows[:-1])) == []
    assert [what if isinstance(what, str) else len(what) for _, _, what in told(stage.feed(numbered(rows)[-1:]))] == [  # type: ignore[arg-type]
        "gap 100 lost",
        *[1000] * 5,
    ]


@pytest.mark.plain
def test_what_waits_is_bounded_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("decoders.tcp.reassembly.HELD_MAX", 10 * 1256)
    stage = Reassembly()
    out = []
    for number in range(50):
        key = CLIENT[:8] + bytes([7, number]) + CLIENT[10:]
        opening = (key, number, number, 99, 0, SYN, b"", 0)
        out += stage.feed([opening, (key, number, number, 110, 0, 0, bytes(1000), 0)])
        assert stage._delivery.held <= 10 * 1256
    gaps = [half.connection.number for half, _, _, data in out if isinstance(data, Gap)]
    assert gaps == list(range(1, len(gaps) + 1))  # the connections that waited longest
    assert len(gaps) in (40, 41)


@pytest.mark.plain
def test_connections_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("decoders.tcp.connection_table.CONNECTIONS_MAX", 100)
    monkeypatch.setattr("decoders.tcp.connection_table.SWEEP_MIN", 10)
    stage = Reassembly()
    out = []
    for number in range(1000):
        key = CLIENT[:8] + number.to_bytes(2, "big") + CLIENT[10:]
        out += stage.feed([(key, number, number, 99, 0, SYN, b"", 0)])
        assert len(stage.connections()) <= 100
    assert [(half.connection.number, data) for half, _, _, data in out] == [
        (number, Close("idle")) for number in range(1, len(out) + 1)
    ]
    assert len(out) + len(stage.connections()) == 1000


@pytest.mark.plain
def test_silent_connections_are_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("decoders.tcp.connection_table.SWEEP_MIN", 10)
    stage = Reassembly()
    out = []
    for number in range(1000):
        key = CLIENT[:8] + number.to_bytes(2, "big") + CLIENT[10:]
        out += stage.feed([(key, number * IDLE_NS // 5, number, 99, 0, SYN, b"", 0)])
        assert len(stage.connections()) <= 20
    assert {data for _, _, _, data in out} == {Close("idle")}


def closed(key_end: int, time_ns: int) -> list[Segment]:
    """A connection from the client's port that opens, and ends with the FIN of both sides."""
    client = CLIENT[:8] + key_end.to_bytes(2, "big") + CLIENT[10:]
    broker = BROKER[:10] + key_end.to_bytes(2, "big")
    return [
        (client, time_ns, 1, 99, 0, SYN, b"", 0),
        (broker, time_ns, 2, 499, 100, SYN | ACK, b"", 0),
        (client, time_ns, 3, 100, 500, FIN | ACK, b"", 0),
        (broker, time_ns, 4, 500, 101, FIN | ACK, b"", 0),
        (client, time_ns, 5, 101, 501, ACK, b"", 0),
    ]


@pytest.mark.parametrize(("later_ns", "count"), [(LATE_NS - 1, 1), (LATE_NS, 2)])
def test_a_syn_is_a_copy_of_one_that_was_seen_for_as_long_as_late_bytes_may_come(later_ns: int, count: int) -> None:
    stage = Reassembly()
    stage.feed(closed(1, MS))
    stage.feed(closed(1, MS + later_ns)[:1])
    assert stage.connection_count == count


@pytest.mark.long
def test_what_has_ended_is_forgotten() -> None:
    """A watch sees connections come and go for days: its state holds only those of the last minutes."""
    stage = Reassembly()
    sizes = []
    for number in range(2000):
        stage.feed(closed(number, number * 10**9))
        sizes.append(len(stage.export()))
    assert stage.connection_count == 2000
    assert max(sizes) < 1.1 * sizes[300]


def test_time_that_jumps_makes_no_endless_work() -> None:
    """Many waiting connections, and hours between packets: each packet looks at some of them only."""
    stage = Reassembly()
    segments: list[Segment] = []
    for number in range(3000):
        key = CLIENT[:8] + number.to_bytes(2, "big") + CLIENT[10:]
        segments += [(key, number, number, 99, 0, SYN, b"", 0), (key, number, number, 110, 0, 0, b"late", 0)]
    stage.feed(segments)
    assert len(stage._waiting) == 3000
    gaps = 0
    for number in range(40):
        key = CLIENT[:8] + bytes([255, number]) + CLIENT[10:]
        out = stage.feed([(key, 10**13 * (1 + number), 3000 + 99 * number, 99, 0, SYN, b"", 0)])
        found = sum(isinstance(data, Gap) for _, _, _, data in out)
        assert found <= 256
        gaps += found
    assert gaps == 3000
