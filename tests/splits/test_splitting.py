"""A capture cut anywhere gives the rows that it gives in one piece."""

from __future__ import annotations

import os
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoders.exchanges.exchange import Ended
from decoders.exchanges.segments_to_exchanges import Engine
from decoders.splits.split_parts import SEGMENTS
from tests.captures.shipped import CLEAN, NEGATIVE, segments
from tests.exchanges.mistreated import capture
from tests.exchanges.prefixes import kafka
from tests.exchanges.talks import MS, Talker, framed, interleaved, request, response
from tests.exchanges.talks import segments as spoken
from tests.exchanges.test_find_connections_captured_twice import TALK, US, together, translated
from tests.sampling import sampled
from tests.splits.cut_captures import AGAIN, RERUNS, cut, parts_of, rows, stitched, whole

# Some seconds; more with KW_EXAMPLES.
EXAMPLES = int(os.environ.get("KW_EXAMPLES", "40"))


@pytest.mark.parametrize("seed", range(6))
def test_raw_splits_of_conversations(seed: int) -> None:
    rng = Random(seed)
    talks = [spoken(Talker(rng).talk.turns, rng, port=50000 + number, most=400) for number in range(3)]
    every = interleaved(rng, *talks)
    splits = cut(every, (rng.randrange(len(every)) for _ in range(4)))
    assert stitched(splits, raw=True, ports=[9092]) == whole(every, ports=[9092])


@pytest.mark.one_in(4)
@pytest.mark.parametrize("seed", range(12))
def test_answers_out_of_order_and_twice_in_splits(seed: int) -> None:
    rng = Random(seed)
    told = {each: (False, response(3, 9, each, {"cluster_id": "c"})) for each in range(60)}
    turns = [(True, request(3, 9, 0, "app-1", {"topics": None})), told[0]]
    for at in range(1, 41, 4):
        turns += [(True, request(3, 9, each, "app-1", {"topics": None})) for each in range(at, at + 4)]
        answers = [at, at + 1, at + 2, at + 3]
        if at > 5 and rng.random() < 0.4:
            rng.shuffle(answers)
        turns += [told[each] for each in answers]
        if rng.random() < 0.3:
            turns.append(told[rng.randrange(60)])
    every = spoken(turns, rng)
    expected = whole(every)
    assert any(f"'id': '{name}'" in str(expected) for name in ("out_of_order", "answered_twice", "wrong_id"))
    for place in range(1, len(every), 5):
        splits = cut(every, (place, rng.randrange(len(every))))
        assert stitched(splits, batch=rng.choice([3, 10, 1000])) == expected


def test_the_end_of_a_connection_says_how_it_went() -> None:
    engine = Engine(connections=True)
    every = list(segments("tour.pcapng"))
    found = rows(engine.feed(every) + engine.finish())
    ended = [row for row in found if isinstance(row, Ended)]
    assert len(ended) == engine.reassembly.connection_count
    assert sum(row.exchanges for row in ended) == sum(row.kind == "exchange" for row in found)
    for row in ended:
        own = [each for each in found if each.connection_info.began_ns == row.time_ns and each.client == row.client]
        assert own[-1] is row
        assert row.exchanges == sum(each.kind == "exchange" for each in own)
    assert sum(row.client_packets + row.server_packets for row in ended) <= len(every)


@pytest.mark.parametrize("name", sampled(CLEAN, 3))
def test_raw_splits_of_captures(name: str) -> None:
    every = list(segments(name))
    splits = cut(every, (len(every) * number // 4 for number in range(1, 4)))
    assert stitched(splits, raw=True, ports=[9092, 9093, 9094]) == whole(every, ports=[9092, 9093, 9094])


@pytest.mark.long
@given(st.integers(0, 2**48))
@settings(max_examples=EXAMPLES, deadline=None)
def test_any_cut_of_any_capture(seed: int) -> None:
    rng = Random(seed)
    # Facts that connections teach about each other depend on time: so only one connection, or known ports.
    options: dict[str, Any] = rng.choice([{}, {"ports": [9092]}])
    every = capture(rng, alone=not options)
    splits = cut(every, (rng.randrange(len(every) + 1) for _ in range(rng.choice([0, 1, 1, 3, 6]))))
    batch, listed = rng.choice([1, 5, 50, 10**6]), rng.random() < 0.5
    assert stitched(splits, batch=batch, listed=listed, **options) == whole(every, **options)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", sampled(CLEAN + NEGATIVE, 2))
@pytest.mark.parametrize("count", [pytest.param(1, marks=pytest.mark.full), 7])
@pytest.mark.parametrize("listed", [False, True])
def test_splits_of_captures(name: str, count: int, listed: bool) -> None:
    every = list(segments(name))
    splits = cut(every, (len(every) * number // count for number in range(1, count)))
    assert stitched(splits, listed=listed, batch=300 if listed else 1 << 30) == whole(every)


@pytest.mark.long
def test_what_is_clean_is_not_handed_on() -> None:
    rng = Random(6)
    talks = [spoken(Talker(rng, count=400, again=0).talk.turns, rng, port=50000 + number) for number in range(4)]
    every = [segment for segment in interleaved(rng, *talks) if not segment[5] & 2]  # no SYN: nothing is fresh
    size = sum(len(segment[6]) for segment in every)
    splits = cut(every, [len(every) // 3, len(every) * 2 // 3])
    parts = parts_of(splits, batch=100, ports=[9092])
    raw = sum(len(part.blob) for each in parts for part in each if part.kind == SEGMENTS)
    assert raw < size * 0.1
    RERUNS.clear()
    assert stitched(splits, batch=100, ports=[9092]) == whole(every, ports=[9092])
    assert not RERUNS


def test_what_is_not_believed_is_read_again() -> None:
    """A splitter that keeps no segments reads some again, here for a correlation id that is used twice at once."""
    rng = Random(6)
    ask = request(18, 0, 1, "a", {})
    turns = [*Talker(rng, count=30).talk.turns]
    for _ in range(5):
        turns += [(True, ask), (True, ask), (False, response(18, 0, 1, {})), (False, response(18, 0, 1, {}))]
        turns += Talker(rng, count=20).talk.turns
    every = [segment for segment in spoken(turns, rng) if not segment[5] & 2]
    for listed in (False, True):
        AGAIN.clear()
        assert stitched([every], batch=30, listed=listed, ports=[9092]) == whole(every, ports=[9092])
        assert bool(AGAIN) == listed
    assert max(AGAIN) < len(every)


def test_a_broker_that_others_have_shown_is_one() -> None:
    rng = Random(3)
    known = spoken(Talker(rng, count=20).talk.turns, rng)
    # None of this decodes: only the broker's address tells that it is Kafka.
    strange = spoken([(True, framed(b"\3\1\0\0" + bytes(40))), (False, framed(bytes(60)))] * 3, rng, port=50001)
    every = [(*segment[:1], number * MS, number, *segment[3:]) for number, segment in enumerate([*known, *strange], 1)]
    found = whole(every)
    assert not any("not_kafka" in str(row) for row in found)
    for place in (len(known), len(known) + 4, len(known) + 6):
        RERUNS.clear()
        assert stitched(cut(every, [place])) == found
        # A split without the broker's address took the connection for another protocol.
        assert bool(RERUNS) == (place == len(known))


def test_a_frame_over_many_splits() -> None:
    rng = Random(4)
    big = request(
        0, 7, 3, "a", {"acks": 1, "topic_data": [{"name": "t", "partition_data": [{"records": bytes(300_000)}]}]}
    )
    turns = [*Talker(rng).talk.turns, (True, big), (False, response(0, 7, 3, {})), *Talker(rng).talk.turns]
    every = [segment for segment in spoken(turns, rng) if not segment[5] & 2]
    splits = cut(every, range(0, len(every), 20))
    assert stitched(splits, batch=7, ports=[9092]) == whole(every, ports=[9092])


# Without its beginning, the first bytes of a connection are held for some packets.
@pytest.mark.parametrize("begin", [0, 3])
@pytest.mark.parametrize("raw", [False, True])
def test_a_copy_of_a_connection_of_another_split(begin: int, raw: bool) -> None:
    others = spoken(kafka(), Random(5), port=50007)
    copies = [translated(TALK[begin:], client=bytes([172, 17, 0, last]), later_ns=last * US) for last in (5, 9)]
    every = together(TALK[begin:], *copies, others, translated(others))
    expected = whole(every)
    assert sum("'reason': 'copy'" in str(row) for row in expected) == 3
    for place in range(1, len(every), 2):
        assert stitched(cut(every, [place]), raw=raw) == expected, place


def test_copies_that_a_split_sees_are_not_read_again() -> None:
    known = translated(TALK, client=bytes([10, 9, 9, 9]), later_ns=10**9, shift=7)
    every = together(TALK, translated(TALK), known)
    RERUNS.clear()
    assert stitched([every[:1], every[1:]]) == whole(every)
    assert len(RERUNS) < 2
