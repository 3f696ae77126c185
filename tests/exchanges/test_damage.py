"""Captures with packets dropped, swapped, doubled, cut or missing at the start: no exchange is wrong, and none is lost
without need.
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from decoders.exchanges.exchange import Exchange, Settled
from decoders.messages.exchange_json import to_json_dict
from decoders.tcp.stream_chunks import Segment
from tests.exchanges.talks import REVEALED, Talk, Talker, run, segments

SEEDS = range(40)


def essence(exchange: Exchange) -> tuple[Any, ...]:
    """A complete exchange as text, without times and packet numbers."""
    record = to_json_dict(exchange, REVEALED)
    names = ("api_key", "api_version", "correlation_id", "client_id", "request_size", "response_size", "status")
    return tuple(repr(record[name]) for name in (*names, "request", "response", "errors"))


def complete(settled: list[Settled]) -> list[tuple[Any, ...]]:
    """The essence of every exchange that claims to be complete."""
    return sorted(essence(each) for each in settled if isinstance(each, Exchange) and is_whole(each))


def is_whole(exchange: Exchange) -> bool:
    """Whether an exchange claims to be complete."""
    return exchange.status in ("complete", "no_response_expected") and not exchange.failures


def packets_of(exchange: Exchange) -> set[int]:
    """The numbers of the packets that may hold parts of an exchange."""
    packets = exchange.packets
    spans = [span for span in (packets["request"], packets["response"]) if span]
    return {number for first, last in spans for number in range(first, last + 1)}


def made(seed: int, *, most: int = 1448, packed: bool = False) -> tuple[Talk, list[Segment], list[Settled], Random]:
    """A conversation, its segments and the rows of a clean run; `packed`: frames share segments."""
    rng = Random(seed)
    talk = Talker(rng, count=25, window=8 if packed else 4).talk
    turns: list[tuple[bool, bytes]] = []
    for client, data in talk.turns:
        if packed and turns and turns[-1][0] == client:
            turns[-1] = (client, turns[-1][1] + data)
        else:
            turns.append((client, data))
    every = segments(turns, rng, most=most)
    return talk, every, run(every), rng


def check(damaged: list[Settled], clean: list[Settled]) -> list[tuple[Any, ...]]:
    """The exchanges lost by damage; fails for an exchange that the clean run does not have."""
    wrong = list(complete(damaged))
    left = complete(clean)
    for each in list(left):
        if each in wrong:
            wrong.remove(each)
            left.remove(each)
    assert wrong == []
    return left


@pytest.mark.one_in(5)
@pytest.mark.parametrize("seed", SEEDS)
def test_swapped_and_doubled_segments_change_nothing(seed: int) -> None:
    _, every, clean, rng = made(seed, most=rng_most(seed))
    shuffled = list(every)
    for at in range(3, len(shuffled) - 4):
        if rng.random() < 0.2:
            shuffled[at], shuffled[at + 1] = shuffled[at + 1], shuffled[at]
        if rng.random() < 0.1:
            shuffled.insert(at + 1, shuffled[at])
    assert check(run(shuffled), clean) == []


@pytest.mark.one_in(5)
@pytest.mark.parametrize("seed", SEEDS)
def test_dropped_segments_cost_only_their_own_exchanges(seed: int) -> None:
    _, every, clean, rng = made(seed, most=rng_most(seed))
    dropped = {each[2] for each in every[3:] if each[6] and rng.random() < 0.06}
    damaged = run([each for each in every if each[2] not in dropped])
    lost = check(damaged, clean)
    must = sorted(
        essence(each)
        for each in clean
        if isinstance(each, Exchange)
        and each.status in ("complete", "no_response_expected")
        and packets_of(each) & dropped
    )
    needless = [each for each in lost if each not in must]
    assert needless == []


@pytest.mark.one_in(5)
@pytest.mark.parametrize("seed", SEEDS)
def test_dropped_segments_with_several_frames_invent_nothing(seed: int) -> None:
    _, every, clean, rng = made(seed, most=rng_most(seed), packed=True)
    chance = rng.choice([0.02, 0.1, 0.3])
    dropped = {each[2] for each in every[3:] if each[6] and rng.random() < chance}
    check(run([each for each in every if each[2] not in dropped]), clean)


@pytest.mark.one_in(5)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_short_snapshot_length_invents_nothing(seed: int) -> None:
    _, every, clean, _ = made(seed, most=rng_most(seed))
    kept = 62
    cut = [(*each[:6], each[6][:kept], len(each[6]) - len(each[6][:kept])) for each in every]
    lost = check(run(cut), clean)
    must = {each[2] for each in cut if each[7]}
    fine = sorted(
        essence(each)
        for each in clean
        if isinstance(each, Exchange)
        and each.status in ("complete", "no_response_expected")
        and not packets_of(each) & must
    )
    assert [each for each in fine if each in lost] == []


@pytest.mark.one_in(5)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_start_in_the_middle_invents_nothing(seed: int) -> None:
    _, every, clean, rng = made(seed, most=rng_most(seed))
    start = rng.randrange(4, len(every))
    check(run(every[start:]), clean)


def rng_most(seed: int) -> int:
    """The size of the largest segment for a seed."""
    return (1448, 300, 65000)[seed % 3]
