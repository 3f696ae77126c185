"""A capture cut anywhere gives the rows that it gives in one piece."""

from __future__ import annotations

from random import Random

import pytest

from decoders.exchanges.ended import Ended
from decoders.exchanges.engine import Engine
from tests.captures.shipped import CLEAN, segments
from tests.exchanges.splits import cut, rows, stitched, whole
from tests.exchanges.talks import Talker, interleaved
from tests.exchanges.talks import segments as spoken


@pytest.mark.parametrize("seed", range(6))
def test_raw_splits_of_conversations(seed: int) -> None:
    rng = Random(seed)
    talks = [spoken(Talker(rng).talk.turns, rng, port=50000 + number, most=400) for number in range(3)]
    every = interleaved(rng, *talks)
    splits = cut(every, (rng.randrange(len(every)) for _ in range(4)))
    assert stitched(splits, raw=True, ports=[9092]) == whole(every, ports=[9092])


def test_the_end_of_a_connection_says_how_it_went() -> None:
    engine = Engine(connections=True)
    every = list(segments("tour.pcapng"))
    found = rows(engine.feed(every) + engine.finish())
    ended = [row for row in found if isinstance(row, Ended)]
    assert len(ended) == engine.reassembly.connection_count
    assert sum(row.exchanges for row in ended) == sum(row.kind == "exchange" for row in found)
    for row in ended:
        own = [each for each in found if each.ends.began_ns == row.time_ns and each.client == row.client]
        assert own[-1] is row
        assert row.exchanges == sum(each.kind == "exchange" for each in own)
    assert sum(row.client_packets + row.server_packets for row in ended) <= len(every)


@pytest.mark.parametrize("name", CLEAN)
def test_raw_splits_of_captures(name: str) -> None:
    every = list(segments(name))
    splits = cut(every, (len(every) * number // 4 for number in range(1, 4)))
    assert stitched(splits, raw=True, ports=[9092, 9093, 9094]) == whole(every, ports=[9092, 9093, 9094])
