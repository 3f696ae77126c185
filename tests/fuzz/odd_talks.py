"""A connection with anything before it, in it and behind it, beside a sound one: prefixes, remarks, bytes of no frame.

The rows of the sound connection are those that it has alone, and any cut of the capture gives the same rows.
"""

from __future__ import annotations

from random import Random

from decoders.exchanges.exchange import Exchange
from decoders.exchanges.segments_to_exchanges import Engine
from decoders.tcp.stream_chunks import Segment
from tests.exchanges.prefixes import PREFIXES, REFUSED
from tests.exchanges.talks import Talker, Turns, interleaved, segments
from tests.splits.cut_captures import Shown, rows, shown, whole

ODD_PORT, SOUND_PORT = 50000, 50001


def try_talk(rng: Random) -> int:
    """Read an odd connection beside a sound one; gives the number of captures read."""
    sound = segments(Talker(rng, count=4).talk.turns, rng, port=SOUND_PORT)
    odd = segments(make_odd_turns(rng), rng, port=ODD_PORT, most=rng.choice([1448, 60]))
    every = interleaved(rng, odd, sound)
    found = whole(every, ports=[9092])
    assert rows_of(found) == rows_of(whole(sound, ports=[9092])), "another row of the connection beside it"
    detected = whole(every)
    place = rng.randrange(len(every))
    first, second = Engine(connections=True), Engine(connections=True)
    begun = rows(first.feed(every[:place]))
    second.resume(first.export())
    again = begun + rows(second.feed(every[place:]) + second.finish())
    assert sorted(map(shown, again)) == detected, f"other rows after a hand-over at {place}"
    check_remarks(every)
    return 3


def rows_of(found: list[Shown]) -> list[tuple[object, ...]]:
    """What is shown of the exchanges of the sound connection, without packets, which are counted over all."""
    sound = [row for row in found if row[0].endswith(f":{SOUND_PORT}") and row[3] == "exchange"]
    return [(row[-1].split("'request_size'")[0].split("'api_key'")[-1],) for row in sound]


def check_remarks(every: list[Segment]) -> None:
    """Assert that all remarks can be read, and that an answer in order has none on its order."""
    engine = Engine([9092])
    for row in engine.feed(every) + engine.finish():
        if isinstance(row, Exchange):
            ids = [remark["id"] for remark in row.remarks]
            assert row.is_orphan or not {"wrong_id", "answered_twice"} & {*ids}, ids
            assert not row.connection_info.client.endswith(f":{SOUND_PORT}") or "answered_twice" not in ids


def make_odd_turns(rng: Random) -> Turns:
    """A conversation with turns left out, doubled, moved and damaged, behind a prefix or other bytes."""
    turns = [*Talker(rng, count=4).talk.turns]
    for _ in range(rng.choice([0, 1, 2, 5])):
        at, to = rng.randrange(len(turns)), rng.randrange(len(turns))
        kind = rng.randrange(5)
        if kind == 0:
            turns.insert(to, turns[at])
        elif kind == 1:
            turns[at], turns[to] = turns[to], turns[at]
        elif kind == 2 and len(turns) > 2:
            del turns[at]
        elif kind == 3:
            who, data = turns[at]
            place = rng.randrange(len(data) + 1)
            turns[at] = who, data[:place] + rng.randbytes(rng.choice([0, 1, 4])) + data[place + rng.choice([0, 1, 4]) :]
        else:
            turns.insert(to, (rng.random() < 0.5, rng.randbytes(rng.choice([1, 4, 14, 200]))))
    before: Turns = []
    if rng.random() < 0.7:
        before = [*rng.choice([*PREFIXES.values(), *REFUSED.values()])[0]]
        if rng.random() < 0.3:
            who, data = before[0]
            before[0] = who, data[: rng.randrange(1, len(data) + 1)]
    return [turn for turn in (*before, *turns) if turn[1]]
