"""`resume` takes the state of `export` at every cut of odd traffic, and rows stay the same; it refuses other bytes."""

from __future__ import annotations

import os
from collections.abc import Callable
from random import Random
from typing import Any, Final

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from decoders.errors import DecodeError
from decoders.exchanges.segments_to_exchanges import Engine
from decoders.tcp.stream_chunks import Segment
from decoders.wire.state_serialization import pack, unpack
from tests.exchanges.talks import API_VERSIONS, SYN, Talker, request, response
from tests.exchanges.talks import segments as spoken
from tests.splits.cut_captures import Shown, cut, rows, shown, stitched, whole
from tests.tcp.conversations import CLIENT, numbered
from tests.tcp.odd import OTHER, odd_segments

# Some seconds; more with KW_EXAMPLES.
EXAMPLES = int(os.environ.get("KW_EXAMPLES", "25"))


class Kafka:
    """Bytes of two sides: frames of conversations, whole or in parts, answers in turn or out of turn."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._left = {True: b"", False: b""}

    def __call__(self, client: bool, size: int) -> bytes:
        """The next bytes of a side, about `size`."""
        rng, left = self._rng, self._left
        if not left[client]:
            turns = Talker(rng, count=rng.choice([2, 6]), window=rng.choice([1, 4]), values=10).talk.turns
            for who, data in turns:
                left[who] += data
        frame = int.from_bytes(left[client][:4], "big") + 4
        size = frame if frame < 100_000 and rng.random() < 0.5 else rng.choice([size, 30, 200, 2000])
        data, left[client] = left[client][:size], left[client][size:]
        return data or b"\0"


def one_by_one(engine: Engine, segments: list[Segment]) -> list[Shown]:
    """The rows of an engine that is fed one segment at a time."""
    found = [row for segment in segments for row in map(shown, rows(engine.feed([segment])))]
    return found + list(map(shown, rows(engine.finish())))


def at_once(ports: tuple[int, ...] | None, segments: list[Segment]) -> list[Shown]:
    """The rows of an engine that is fed all segments at once."""
    engine = Engine(ports, connections=True)
    return [*map(shown, rows(engine.feed(segments) + engine.finish()))]


@pytest.mark.long
@given(st.integers(0, 2**48), st.sampled_from([10, 30]), st.sampled_from([None, (9092,)]))
@settings(max_examples=EXAMPLES, deadline=None)
def test_every_cut_of_odd_traffic(seed: int, count: int, ports: tuple[int, ...] | None) -> None:
    rng = Random(seed)
    segments = odd_segments(rng, count, Kafka(rng))
    engine, found = Engine(ports, connections=True), list[Shown]()
    states: list[tuple[int, bytes]] = []
    for segment in segments:
        states.append((len(found), engine.export()))
        found += map(shown, rows(engine.feed([segment])))
    states.append((len(found), engine.export()))
    found += map(shown, rows(engine.finish()))
    for at, (known, state) in enumerate(states):
        heir = Engine(ports, connections=True)
        heir.resume(state)
        assert heir.export() == state, f"before segment {at + 1}"
        assert one_by_one(heir, segments[at:]) == found[known:], f"before segment {at + 1}"


@pytest.mark.long
@given(st.integers(0, 2**48))
@settings(max_examples=EXAMPLES * 2, deadline=None)
def test_every_split_of_odd_traffic(seed: int) -> None:
    rng = Random(seed)
    segments = odd_segments(rng, rng.choice([10, 30, 60]), Kafka(rng), (CLIENT, OTHER))
    expected = whole(segments, ports=[9092])
    for _ in range(3):
        places = [rng.randrange(len(segments) + 1) for _ in range(rng.choice([1, 1, 2]))]
        batch, listed = rng.choice([1, 5, 50, 10**6]), rng.random() < 0.5
        found = stitched(cut(segments, places), batch=batch, listed=listed, ports=[9092])
        assert found == expected, places


@pytest.mark.long
@given(st.integers(0, 2**48), st.sampled_from([10, 30, 60]), st.sampled_from([None, (9092,)]))
@settings(max_examples=EXAMPLES * 4, deadline=None)
@example(6511957405403, 30, None)  # a connection to a known broker, of which it is not yet known whether it is TLS
def test_batches_of_any_size(seed: int, count: int, ports: tuple[int, ...] | None) -> None:
    rng = Random(seed)
    segments = odd_segments(rng, count, Kafka(rng), (CLIENT, OTHER))
    assert one_by_one(Engine(ports, connections=True), segments) == at_once(ports, segments)


def test_a_syn_behind_bytes_of_the_other_side() -> None:
    asked, answered = request(API_VERSIONS, 0, 8, "app", {}), response(API_VERSIONS, 0, 8, {"error_code": 35})
    early, size = response(API_VERSIONS, 0, 7, {"error_code": 35}), len(answered)
    segments = numbered(
        [
            *(("broker", 500 + size * at, 100, 0, early) for at in range(20)),
            ("client", 99, None, SYN, b""),
            ("client", 100, 500 + size * 20, 0, asked),
            ("broker", 500 + size * 20, 100 + len(asked), 0, answered),
        ]
    )
    found = at_once((9092,), segments)
    assert one_by_one(Engine((9092,), connections=True), segments) == found
    assert [row[3] for row in found] == ["skipped", "exchange", "connection"]
    assert "'opened': False" in found[-1][-1]


# Parts of a state that no traffic leads to, with one connection known as Kafka and one not known yet: the values that
# are put in the place of a part.
def _set(*path: int, value: Any) -> Callable[[Any], None]:
    def change(state: Any) -> None:
        for at in path[:-1]:
            state = state[at]
        was = state[path[-1]]
        state[path[-1]] = value(was) if callable(value) else value

    return change


FOREIGN: Final[dict[str, Callable[[Any], None]]] = {
    "parts that are missing": lambda state: state.__delitem__(slice(-3, None)),
    "a pairing of fewer parts": _set(0, 0, value=lambda row: row[:-2]),
    "ends that are none": _set(0, 0, 0, value=[1]),
    "names of another number": _set(0, 0, 1, value=lambda row: row[:-2]),
    "a request without bytes": _set(0, 0, 2, 0, 1, 0, -1, value=None),
    "a request in flight of no id": _set(0, 0, 2, 0, 0, value="7"),
    "a phase that is none": _set(0, 0, 3, 0, value=99),
    "a direction of another kind": _set(0, 0, 5, value=[]),
    "a direction whose parts are none": _set(0, 0, 5, 0, 2, value=b""),
    "an early response that is none": _set(0, 0, 4, value=[[1, []]]),
    "an unknown connection undecided": _set(1, 0, 0, value=99),
    "a connection with one side": _set(1, 0, 4, value=lambda sides: sides[:1]),
    "chunks that are none": _set(1, 0, 2, value=[[True, 1, 1, None]]),
    "a topic id of another size": _set(2, value=[[b"1", "orders"]]),
    "brokers of another kind": _set(3, value=[]),
    "counts of another number": _set(4, 0, value=[]),
    "a budget of another kind": _set(5, value=[1]),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_what_no_traffic_leads_to_is_refused(name: str) -> None:
    rng = Random(2)
    engine = Engine()
    engine.feed([segment for segment in spoken([(True, b"\0\0\0\x40")], rng, port=50001) if not segment[5] & 1])
    for segment in spoken(Talker(rng, count=8).talk.turns, rng):
        engine.feed([segment])
        if any(pairing.in_flight for pairing in engine.pairer.context.pairings.values()):
            break
    parts: Any = unpack(engine.export())
    state: Any = unpack(parts[1])
    assert len(state[0]) == len(state[1]) == len(state[0][0][2]) == 1
    Engine().resume(pack([parts[0], pack(state), *parts[2:]]))
    FOREIGN[name](state)
    with pytest.raises(DecodeError):
        Engine().resume(pack([parts[0], pack(state), *parts[2:]]))


def test_a_pairing_saved_before_answers_were_noted_goes_on() -> None:
    every = spoken(Talker(Random(3), count=6).talk.turns, Random(3))
    engine, older = Engine(), Engine()
    found = engine.feed(every[:9])
    state: Any = unpack(engine.export())
    pairer: Any = unpack(state[1])
    assert len(pairer[0][0]) == 8
    del pairer[0][0][7:]
    pairer[0][0][1].pop()  # `frameless` came later still
    older.resume(pack([state[0], pack(pairer), *state[2:]]))
    assert [*map(shown, rows([*found, *older.feed(every[9:]), *older.finish()]))] == at_once(None, every)[:-1]
