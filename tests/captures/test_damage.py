"""The captures that ship with packets dropped, swapped, doubled, cut or missing at the start.

Only exchanges of the whole capture may come out, and only those with a touched packet may be lost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cache
from random import Random
from typing import Any

import pytest

from decoders.exchanges.exchange import Exchange, Settled, Skipped
from decoders.exchanges.segments_to_exchanges import Engine
from decoders.tcp.stream_chunks import Segment
from tests.captures.shipped import CLEAN, segments

_RST = 4
_SEEDS = range(3)
Essence = tuple[Any, ...]


def _run(every: Iterable[Segment]) -> list[Settled]:
    rows = list(every)
    engine = Engine()
    found: list[Settled] = []
    for at in range(0, len(rows), 500):
        found += engine.feed(rows[at : at + 500])
    return found + engine.finish()


@cache
def _clean(name: str) -> list[Exchange]:
    return [each for each in _run(segments(name)) if isinstance(each, Exchange)]


def _is_whole(exchange: Exchange) -> bool:
    return exchange.status in ("complete", "no_response_expected", "token") and not exchange.failures


def _essence(each: Exchange) -> Essence:
    head = (each.client, each.broker, each.api_key, each.api_version, each.correlation_id, each.client_id)
    return (*head, each.request_raw, each.response_raw)


def _head(each: Exchange) -> Essence:
    return _essence(each)[:6]


def _packets(exchange: Exchange) -> set[int]:
    spans = [span for span in exchange.packets.values() if isinstance(span, list)]
    return {number for first, last in spans for number in range(first, last + 1)}


def _judge(name: str, damaged: list[Settled], touched: set[int]) -> None:
    """No exchange is wrong, and only exchanges of which a packet was touched are lost."""
    clean = [each for each in _clean(name) if _is_whole(each)]
    have = Counter(_essence(each) for each in clean)
    # A token without an answer still counts as a token.
    have.update((*_essence(each)[:7], None) for each in clean if each.status == "token" and each.response_raw)
    got = Counter(_essence(each) for each in damaged if isinstance(each, Exchange) and _is_whole(each))
    assert got - have == Counter()
    lost = Counter(_essence(each) for each in clean if each.status != "token") - got
    must = Counter(_essence(each) for each in clean if _packets(each) & touched)
    assert lost - must == Counter()


@pytest.mark.one_in(5)
@pytest.mark.parametrize("seed", _SEEDS)
@pytest.mark.parametrize("name", CLEAN)
def test_dropped_segments_cost_their_own_exchanges(name: str, seed: int) -> None:
    dice = Random(seed)
    gone = {packet for _, _, packet, _, _, _, payload, _ in segments(name) if payload and dice.random() < 0.03}
    damaged = _run(each for each in segments(name) if each[2] not in gone)
    _judge(name, damaged, gone)
    assert any(isinstance(each, Skipped) and each.reason == "lost" for each in damaged)


@pytest.mark.one_in(5)
@pytest.mark.parametrize("seed", _SEEDS)
@pytest.mark.parametrize("name", CLEAN)
def test_doubled_and_swapped_segments_change_nothing(name: str, seed: int) -> None:
    dice = Random(seed)
    every: list[Segment] = []
    for each in segments(name):
        every.append(each)
        if dice.random() < 0.05:
            every.append(each)
        # Packets behind a reset do not belong to the connection.
        elif len(every) > 1 and not (every[-1][5] | every[-2][5]) & _RST and dice.random() < 0.05:
            every[-2], every[-1] = every[-1], every[-2]
    damaged = _run(every)
    _judge(name, damaged, set())
    assert len(damaged) == len(_clean(name))


@pytest.mark.one_in(5)
@pytest.mark.parametrize("seed", _SEEDS)
@pytest.mark.parametrize("name", CLEAN)
def test_a_start_in_the_middle_costs_what_was_before(name: str, seed: int) -> None:
    every = segments(name)
    at = Random(seed).randrange(len(every) // 10, len(every) * 9 // 10)
    _judge(name, _run(every[at:]), {each[2] for each in every[:at]})


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", CLEAN)
def test_a_snapshot_length_of_128_keeps_every_head(name: str) -> None:
    shown = 128 - (86 if name == "share-groups.pcapng" else 66)
    touched: set[int] = set()
    every: list[Segment] = []
    for key, time_ns, packet, seq, ack, flags, payload, cut in segments(name):
        left = payload[:shown]
        if len(left) < len(payload):
            touched.add(packet)
        every.append((key, time_ns, packet, seq, ack, flags, left, cut + len(payload) - len(left)))
    damaged = _run(every)
    # Requests inside an Envelope that is cut are unknown.
    heads = [each for each in damaged if isinstance(each, Exchange) and not each.envelope]
    assert Counter(map(_head, heads)) == Counter(_head(each) for each in _clean(name) if not each.envelope)
    whole = Counter(_head(each) for each in heads if _is_whole(each) and each.status != "token")
    untouched = [
        each for each in _clean(name) if not _packets(each) & touched and _is_whole(each) and not each.envelope
    ]
    assert Counter(_head(each) for each in untouched if each.status != "token") == whole
