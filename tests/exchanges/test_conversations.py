"""Random conversations: every exchange comes out as it was sent, however its bytes are cut into segments."""

from __future__ import annotations

from random import Random

import pytest

from decoders.exchanges.exchange import Exchange
from decoders.exchanges.segments_to_exchanges import Engine
from tests.exchanges.talks import Talker, interleaved, records, rows, run, segments
from tests.sampling import sampled


@pytest.mark.parametrize("seed", range(40))
def test_a_conversation_comes_out_as_it_was_sent(seed: int) -> None:
    rng = Random(seed)
    talk = Talker(rng).talk
    settled = run(segments(talk.turns, rng, most=rng.choice([1448, 60, 7, 65000])))
    assert sorted(map(repr, rows(settled))) == sorted(repr(each.row()) for each in talk.expected)
    found = {(each.correlation_id, repr(each.request)): each for each in settled if isinstance(each, Exchange)}
    for expected in talk.expected:
        exchange = found[expected.correlation_id, repr(expected.request)]
        assert repr(exchange.response) == repr(expected.response)


@pytest.mark.parametrize("seed", range(20))
def test_any_cut_of_the_input_gives_the_same(seed: int) -> None:
    rng = Random(seed)
    every = segments(Talker(rng).talk.turns, rng, most=rng.choice([1448, 50]))
    whole = records(run(every))
    engine = Engine()
    settled = []
    at = 0
    while at < len(every):
        step = rng.choice([1, 1, 2, 5, 20])
        settled += engine.feed(every[at : at + step])
        at += step
    settled += engine.finish()
    assert records(settled) == whole


@pytest.mark.parametrize("seed", sampled(range(20), 5))
def test_export_and_resume_at_any_cut_gives_the_same(seed: int) -> None:
    rng = Random(seed)
    every = segments(Talker(rng).talk.turns, rng, most=rng.choice([1448, 50]))
    every = interleaved(rng, every, segments(Talker(rng).talk.turns, rng, most=200, port=50001))
    whole = records(run(every))
    engine = Engine()
    settled = []
    at = 0
    while at < len(every):
        step = rng.choice([1, 2, 3, 20])
        settled += engine.feed(every[at : at + step])
        at += step
        state = engine.export()
        engine = Engine()
        engine.resume(state)
        assert engine.export() == state
    settled += engine.finish()
    assert records(settled) == whole
