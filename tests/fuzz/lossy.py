"""Busy captures that lack packets: many connections to one broker, with packets lost, doubled, swapped and cut, with
one direction only, or without their beginning; and some connections without any fault.

There is no exception; the rows of the connections without faults stay as they are; work grows with packets (calls of
functions are counted, so that the machine's load does not matter); and no more bytes are missing than were ever sent.
"""

from __future__ import annotations

from cProfile import Profile
from functools import cache
from random import Random
from typing import Any, Final, NamedTuple

from decoders.exchanges.exchange import ENDED_KEYS, Ended, Row
from decoders.exchanges.segments_to_exchanges import Engine
from decoders.messages.exchange_json import to_json_dict
from decoders.tcp.connection_and_halves import FAR
from decoders.tcp.stream_chunks import Gap, Segment
from tests.exchanges.mistreated import shaken
from tests.exchanges.talks import MS, REVEALED, Talker, Turns, segments
from tests.splits.cut_captures import rows

BATCH: Final = 1000
TALKS: Final = 24  # different conversations, each used by many connections
WHOLE: Final = 4  # connections without faults
FIRST_PORT, WHOLE_PORT = 10_000, 9_100
# Calls for a packet of a damaged capture, as a multiple of those for a packet of the clean one. Holding a segment back,
# giving up the gap and finding the next frame take a few times as many; work that grows with waiting connections takes
# hundreds of times as many.
WORK: Final = 8
# Calls besides: an undecided connection whose answers alone were captured is tried with the layouts of all APIs, once.
# In a capture of some hundred packets that is most of the work.
LOOK_FOR_ANSWERS: Final = 100_000


class Mishaps(NamedTuple):
    """The faults of a capture: shares of its packets, and the `snaplen` bytes of payload that are kept of each."""

    loss: float
    twice: float
    swap: float
    snaplen: int | None
    one_way: bool
    late: bool
    jumps: float


class Line(NamedTuple):
    """The packets between two ports in order, with the time of the first and the nanoseconds between two."""

    begins_ns: int
    step_ns: int
    segments: list[Segment]


class Read(NamedTuple):
    """The rows of an engine, its calls of functions, and the bytes that it reports as missing."""

    rows: list[Row]
    calls: int
    missing: int


class TooMuchWork(Exception):
    """More calls of functions than allowed for the capture's packets."""


def try_capture(rng: Random) -> int:
    """Read one clean capture and its faulty copy; gives the number of captures read."""
    mishaps = Mishaps(
        loss=rng.choice([0, 0.01, 0.02, 0.03, 0.05, 0.1]),
        twice=rng.choice([0, 0, 0.02]),
        swap=rng.choice([0, 0, 0.02, 0.2]),
        snaplen=rng.choice([None, None, None, 0, 40, 200]),
        one_way=rng.random() < 0.1,
        late=rng.random() < 0.3,
        jumps=rng.choice([0, 0, 0.02]),
    )
    pace_ns = rng.choice([1, 30, 300, 1000]) * MS
    whole = [line(rng, Talker(rng).talk.turns, WHOLE_PORT + number, pace_ns) for number in range(WHOLE)]
    crowd = [line(rng, rng.choice(talks()), FIRST_PORT + at, pace_ns) for at in range(rng.choice([10, 100, 500, 1500]))]
    clean = merged(whole + crowd)
    damaged = merged(whole + [mishandled(rng, each, mishaps) for each in crowd])
    before = read(clean)
    usual = before.calls / len(clean)
    try:
        after = read(damaged, most=int(WORK * usual * len(damaged)) + LOOK_FOR_ANSWERS)
    except TooMuchWork as much:
        raise AssertionError(
            f"{much}; {usual:.0f} calls a packet are usual: {len(crowd)} connections, {mishaps}"
        ) from None
    assert told(after.rows) == told(before.rows), f"a connection that is whole has other rows: {mishaps}"
    assert before.missing == 0, f"{before.missing} bytes are missing of a capture that lacks nothing"
    sent = sum(len(segment[6]) for segment in clean)
    assert after.missing <= sent, f"{after.missing} bytes are missing of {sent} that were sent: {mishaps}"
    return 2


@cache
def talks() -> list[Turns]:
    """Conversations that many connections share, the same for every seed."""
    return [Talker(Random(seed), values=10).talk.turns for seed in range(TALKS)]


def line(rng: Random, turns: Turns, port: int, pace_ns: int) -> Line:
    """One connection, or two of them on the same port, one after the other."""
    found = segments(turns, rng, port=port)
    if rng.random() < 0.1:
        found += far_from(found, rng, turns, port)
    return Line(10**18 + rng.randrange(len(found) * pace_ns), pace_ns, found)


def far_from(found: list[Segment], rng: Random, turns: Turns, port: int) -> list[Segment]:
    """Another connection whose sequence numbers do not continue those of the first."""
    while True:
        others = segments(turns, rng, port=port)
        steps = [(new[3] - old[3]) % 2**32 for new, old in zip(others[:2], found[:-3:-1], strict=True)]
        if all(2 * FAR < step < 2**32 - 2 * FAR for step in steps):
            return others


def mishandled(rng: Random, whole: Line, mishaps: Mishaps) -> Line:
    """The packets of a line that are captured."""
    found = whole.segments
    if mishaps.late:
        found = found[rng.randrange(len(found)) :]
    if rng.random() < mishaps.jumps:
        found = jumping(rng, found)
    found = shaken(rng, found, loss=mishaps.loss, twice=mishaps.twice, swap=mishaps.swap)
    if mishaps.one_way:
        found = [segment for segment in found if segment[0] == whole.segments[0][0]]
    if mishaps.snaplen is not None:
        found = [
            (*segment[:6], segment[6][: mishaps.snaplen], max(len(segment[6]) - mishaps.snaplen, 0))
            for segment in found
        ]
    return whole._replace(segments=found)


def jumping(rng: Random, found: list[Segment]) -> list[Segment]:
    """One direction jumps to sequence numbers far away, as no real one does."""
    key, begins, step = rng.choice(found)[0], rng.randrange(len(found)), rng.randrange(2 * FAR, 2**32 - 2 * FAR)
    return [
        (*segment[:3], (segment[3] + step) % 2**32, *segment[4:]) if at >= begins and segment[0] == key else segment
        for at, segment in enumerate(found)
    ]


def merged(lines: list[Line]) -> list[Segment]:
    """The packets of all lines by time, numbered."""
    timed = [
        (each.begins_ns + at * each.step_ns, segment) for each in lines for at, segment in enumerate(each.segments)
    ]
    timed.sort(key=lambda item: item[0])
    return [(segment[0], time_ns, number, *segment[3:]) for number, (time_ns, segment) in enumerate(timed, 1)]


def read(every: list[Segment], *, most: int | None = None) -> Read:
    """Read a capture by an engine. Raises TooMuchWork if that takes more than `most` calls of functions."""
    engine = Engine(connections=True)
    profile = Profile()
    found: list[Row] = []
    missing = 0
    calls = 0
    for at in range(0, len(every) + 1, BATCH):
        profile.enable()
        chunks = engine.reassembly.feed(every[at : at + BATCH])
        if at + BATCH > len(every):
            chunks += engine.reassembly.finish()
        found += rows(engine.pairer.feed(chunks))
        profile.disable()
        missing += sum(data.size for _, _, _, data in chunks if isinstance(data, Gap) and data.why == "lost")
        calls = sum(entry.callcount for entry in profile.getstats())
        if most is not None and calls > most:
            raise TooMuchWork(f"{calls:,} calls for the first {at + BATCH:,} of {len(every):,} packets")
    return Read(found + rows(engine.pairer.finish()), calls, missing)


def told(found: list[Row]) -> list[str]:
    """The rows of the connections without faults, without the numbers of packets and connections."""
    return sorted(repr(said(row)) for row in found if WHOLE_PORT <= port_of(row) < WHOLE_PORT + WHOLE)


def port_of(row: Row) -> int:
    return int(row.client.rpartition(":")[2])


def said(row: Row) -> dict[str, Any]:
    """A row without the parts that depend on the packets of others."""
    if isinstance(row, Ended):
        return dict(zip(ENDED_KEYS, row.export(), strict=True))
    record = to_json_dict(row, REVEALED)
    return {name: value for name, value in record.items() if name not in ("connection", "packets", "topic_names")}
