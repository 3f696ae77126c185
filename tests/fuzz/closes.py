"""Connections that end in odd ways: any combination of flags, ends while bytes are held, reused ports, jumps.

Engines that hand their state over at every cut, or at some cuts, give the rows of a single engine; so do splits of the
capture that are stitched together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from random import Random
from typing import Final

from decoders.exchanges.segments_to_exchanges import Engine
from decoders.limits import IDLE_NS
from decoders.tcp.connection_and_halves import FAR, PATIENCE_NS
from decoders.tcp.reassembly import Reassembly
from decoders.tcp.stream_chunks import Segment
from tests.exchanges.mistreated import shaken
from tests.exchanges.talks import ACK, FIN, MS, SYN, Talker, Turns, segments
from tests.splits.cut_captures import Shown, cut, rows, shown, stitched, whole

RST: Final = 4
CHEAP: Final = 20  # captures through reassembly alone for each one through all stages: most is decided in reassembly
PORTS: Final = [9092]  # ports are given, since what connections teach about each other depends on time
STEPS_NS: Final = (1, 1000, 1000, MS, MS, MS, 900 * MS, PATIENCE_NS + 1)
PAUSES_NS: Final = (PATIENCE_NS * 2, IDLE_NS + 1)
# Flags of a packet that ends something, the distance of its number from the one that is due, and how many more or
# fewer bytes it acknowledges than were captured.
ENDS: Final = (
    *(FIN | ACK, FIN | ACK, FIN | ACK, RST | ACK, RST | ACK, RST | ACK, RST, FIN, ACK),
    *(FIN | RST, SYN | RST, SYN | FIN | ACK, SYN | FIN | RST | ACK),
)
STEPS: Final = (*[0] * 16, -1, 1, 1, -2, 2, 4, 30, -30, FAR - 1, FAR, -FAR, 2**31)
HEARD: Final = (*[0] * 6, -1, 1, 2, 4, 4, 8, 30, 60, 200, FAR, 2**31)


def try_connections(rng: Random) -> int:
    """Put captures of odd connections through reassembly, and one through all stages; gives the number read."""
    for _ in range(CHEAP):
        every = capture(rng)
        expected, found = reassembled(every, ()), reassembled(every, range(1, len(every)))
        assert found == expected, f"other chunks after a hand-over: {differ(expected, found)}"
    check_engine(rng, capture(rng))
    return CHEAP + 1


def reassembled(every: list[Segment], cuts: Iterable[int]) -> list[tuple[object, ...]]:
    """The chunks of stages that take over from each other at these cuts."""
    stage, out = Reassembly(), []
    for part in cut(every, cuts):
        out += stage.feed(part)
        heir = Reassembly()
        heir.resume(stage.export())
        stage = heir
    return [(half.source, half.connection.number, *rest) for half, *rest in out + stage.finish()]


def check_engine(rng: Random, every: list[Segment]) -> None:
    """Assert that a capture gives the same rows when it is read at once and in several cuts."""
    alone = in_feeds([every])
    places = sorted(rng.sample(range(len(every) + 1), min(len(every), rng.choice([1, 2, 5]))))
    one_by_one = in_feeds([[segment] for segment in every])
    assert one_by_one == alone, f"other rows when packets come one by one: {differ(alone, one_by_one)}"
    for cuts in (range(1, len(every)), places):
        found = handed_over(every, cuts)
        assert found == alone, f"other rows after a hand-over at {cuts}: {differ(alone, found)}"
    found_in_splits = stitched(cut(every, places), ports=PORTS)
    expected = whole(every, ports=PORTS)
    assert found_in_splits == expected, f"other rows in splits cut at {places}: {differ(expected, found_in_splits)}"


def in_feeds(parts: list[list[Segment]]) -> list[tuple[int, Shown]]:
    """The rows of one engine that is fed part by part."""
    engine, found = Engine(PORTS, connections=True), []
    for part in parts:
        found += engine.feed(part)
    return [*map(numbered, rows(found + engine.finish()))]


def handed_over(every: list[Segment], cuts: Iterable[int]) -> list[tuple[int, Shown]]:
    """The rows of engines that take over from each other at these cuts."""
    engine = Engine(PORTS, connections=True)
    found = []
    for part in cut(every, cuts):
        found += engine.feed(part)
        heir = Engine(PORTS, connections=True)
        heir.resume(engine.export())
        engine = heir
    return [*map(numbered, rows(found + engine.finish()))]


def numbered(row: object) -> tuple[int, Shown]:
    """A row with the number of its connection."""
    return row.connection_info.number, shown(row)  # type: ignore[attr-defined,arg-type]  # all rows have their ends


def differ(expected: Sequence[object], found: Sequence[object]) -> str:
    """The first difference between two lists of rows."""
    for before, after in zip(expected, found, strict=False):
        if before != after:
            return f"{before} became {after}"
    return f"{len(expected)} rows became {len(found)}"


def capture(rng: Random) -> list[Segment]:
    """One or two pairs of ports, each used once or twice, with oddities; packets numbered, by time."""
    lines = []
    for number in range(rng.choice([1, 1, 2])):
        line: list[Segment] = []
        for _ in range(rng.choice([1, 1, 1, 2])):
            its = segments(rng.choice(talks()), rng, most=rng.choice([7, 60, 400, 1448]), port=50000 + number)
            its = its[rng.choice([0, 0, 0, 3]) :]
            for _ in range(rng.choice([1, 2, 5])):
                its = rng.choice(ODDITIES)(rng, its) or its
            line += its
        lines.append(line[::-1])
    out: list[Segment] = []
    time_ns = 10**18
    while any(lines):
        key, _, _, seq, ack, flags, data, lacks = rng.choice([each for each in lines if each]).pop()
        time_ns += rng.choice(STEPS_NS) if rng.random() < 0.99 else rng.choice(PAUSES_NS)
        out.append((key, time_ns, len(out) + 1, seq % 2**32, ack % 2**32, flags, data, lacks))
    return out


@cache
def talks() -> list[Turns]:
    """Short conversations, the same for every seed."""
    return [Talker(Random(seed), count=seed % 5, values=6).talk.turns for seed in range(40)]


def ends(rng: Random, found: list[Segment]) -> list[Segment]:
    """Both sides end in any way: early, late or out of place, with bytes that were not captured, or not at all."""
    at = rng.randrange(len(found))
    begun = found[: at + 1]
    due = {segment[0]: segment[3] + len(segment[6]) for segment in begun}
    keys = [*{segment[0]: None for segment in found}]
    key = rng.choice(keys)
    for _ in range(rng.choice([1, 2, 3, 6])):
        key = key if rng.random() < 0.7 else rng.choice(keys)
        data = rng.choice([b"", b"", b"", b"gone"])
        heard = sum(due.get(other, 0) for other in keys if other != key) + rng.choice(HEARD)
        begun.append((key, 0, 0, due.get(key, 0) + rng.choice(STEPS), heard, rng.choice(ENDS), data, 0))
    return begun + found[at + rng.choice([1, 1, 2, len(found)]) :]


def flags(rng: Random, found: list[Segment]) -> list[Segment]:
    """One packet with random flags."""
    at = rng.randrange(len(found))
    return [*found[:at], (*found[at][:5], rng.randrange(256), *found[at][6:]), *found[at + 1 :]]


def loss(rng: Random, found: list[Segment]) -> list[Segment]:
    """Some packets missing, swapped or repeated."""
    share = rng.choice([0.02, 0.1, 0.4])
    return shaken(rng, found, loss=share, twice=0.05, swap=rng.choice([0, share]))


def silence(rng: Random, found: list[Segment]) -> list[Segment]:
    """One side without any packet from some place on."""
    key, begins = rng.choice(found)[0], rng.randrange(len(found))
    return [segment for at, segment in enumerate(found) if at < begins or segment[0] != key]


def cross(rng: Random, found: list[Segment]) -> list[Segment]:  # noqa: ARG001  # as the others
    """Both sides end before they have seen the other's end."""
    ends = [(*segment[:4], segment[4] - 1, *segment[5:]) for segment in found if segment[5] & FIN]
    return [segment for segment in found if not segment[5] & FIN] + ends


def jump(rng: Random, found: list[Segment]) -> list[Segment]:
    """The sequence numbers of one direction jump."""
    key, begins, step = rng.choice(found)[0], rng.randrange(len(found)), rng.choice([*STEPS, rng.randrange(2**32)])
    return [
        (*segment[:3], segment[3] + step, *segment[4:]) if at >= begins and segment[0] == key else segment
        for at, segment in enumerate(found)
    ]


def shortened(rng: Random, found: list[Segment]) -> list[Segment]:
    """All packets with only their first bytes captured."""
    kept = rng.choice([0, 1, 4, 50])
    return [(*segment[:6], segment[6][:kept], max(len(segment[6]) - kept, 0)) for segment in found]


ODDITIES: Final[tuple[Callable[[Random, list[Segment]], list[Segment]], ...]] = (
    *(ends, ends, ends, ends, flags, loss, silence, cross, jump, shortened),
)
