"""`resume` takes the state of `export` at every cut of any traffic, and continues alike; it refuses other bytes."""

from __future__ import annotations

import os
from collections.abc import Callable
from random import Random
from typing import Any, Final

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from decoders.errors import DecodeError
from decoders.tcp.reassembly import Reassembly
from decoders.tcp.stream_chunks import Chunk, Segment
from decoders.wire.state_serialization import pack, unpack
from tests.tcp.conversations import ACK, CLIENT, FIN, RST, SYN, numbered, play, streams
from tests.tcp.odd import FAR, ITSELF, odd_segments

# Some seconds; more with KW_EXAMPLES.
EXAMPLES = int(os.environ.get("KW_EXAMPLES", "60"))


def named(chunks: list[Chunk]) -> list[tuple[object, ...]]:
    """Chunks without objects: addresses and numbers, and the size that each direction has now."""
    return [(half.source, half.connection.number, half.size, *rest) for half, *rest in chunks]


def check_every_cut(segments: list[Segment]) -> list[tuple[object, ...]]:
    """Hand over before each segment and behind the last; gives the chunks without a hand-over."""
    stage, chunks = Reassembly(), list[tuple[object, ...]]()
    states: list[tuple[int, bytes]] = []
    for segment in segments:
        states.append((len(chunks), stage.export()))
        chunks += named(stage.feed([segment]))
        halves = [half for each in stage.connections().values() for half in (each.first, each.second)]
        assert stage._delivery.held == sum(half.held_size for half in halves)
    states.append((len(chunks), stage.export()))
    chunks += named(stage.finish())
    assert stage._delivery.held == 0
    for cut, (count, state) in enumerate(states):
        heir = Reassembly()
        heir.resume(state)
        assert heir.export() == state, f"before segment {cut + 1}"
        rest = [row for segment in segments[cut:] for row in named(heir.feed([segment]))]
        assert rest + named(heir.finish()) == chunks[count:], f"before segment {cut + 1}"
    return chunks


@pytest.mark.long
@given(st.integers(0, 2**48), st.sampled_from([8, 20, 40]))
@settings(max_examples=EXAMPLES, deadline=None)
def test_every_cut_of_odd_traffic(seed: int, count: int) -> None:
    segments = odd_segments(Random(seed), count)
    note("\n".join(map(str, segments)))
    check_every_cut(segments)


OPENED: Final = (("client", 99, None, SYN, b""), ("broker", 499, 100, SYN, b""), ("client", 100, 500, 0, b"abc"))
# Ten bytes of the broker were not captured, and the client acknowledges them: its next bytes wait.
ENDING: Final = (*OPENED, ("client", 103, 510, FIN, b""))
RESUMED: Final = ("broker", 510, 104, 0, b"xyz")
ROWS: Final[dict[str, tuple[tuple[object, ...], ...]]] = {
    "a RST with the FIN's own number": (*ENDING, ("client", 103, 510, RST, b""), RESUMED),
    "a RST with the FIN's own number that waits for longer": (
        *(*ENDING, ("client", 103, 513, RST, b""), ("broker", 500, 104, 0, b"0123456789"), RESUMED),
    ),
    "a RST behind the FIN": (*ENDING, ("client", 104, 510, RST, b""), RESUMED),
    "a RST far behind the FIN": (*ENDING, ("client", 140, 510, RST, b""), RESUMED),
    "bytes between a FIN and a RST": (
        *(*ENDING, ("client", 110, 513, RST, b""), ("client", 103, 513, 0, b"late")),
        *(("broker", 500, 104, 0, b"0123456789"), RESUMED),
    ),
    "bytes over a FIN and a RST": (
        *(*ENDING, ("client", 104, 510, RST, b""), ("client", 100, 510, 0, b"abcdefgh"), RESUMED),
    ),
    "all at once": (*OPENED, ("client", 103, 510, FIN | RST | SYN, b"de"), ("client", 103, 510, 255, b"de"), RESUMED),
    "both FIN at once, then both RST": (
        *OPENED,
        *(("client", 103, 510, FIN, b""), ("broker", 510, 103, FIN, b"")),
        *(("client", 103, 510, RST, b""), ("broker", 510, 103, RST, b"")),
        *(("client", 104, 511, 0, b""), ("broker", 511, 104, 0, b"")),
    ),
    # A guessed beginning, bytes almost as far off as allowed on both sides of it, then the true beginning.
    "a SYN far before what is held": (
        *(("client", FAR, None, 0, b"abcde"), ("client", 2 * FAR - 10, None, 0, b"fghij")),
        *(("client", 10, None, 0, b"klmno"), ("client", 10 - (1 << 24) + 5, None, SYN, b""), RESUMED),
    ),
    "a segment without bytes far before what is held": (
        *(("broker", 500, 2 * FAR, 0, b""), ("client", 20, None, 0, b"")),
        *(("client", FAR + 10, None, 0, b"abcde"), ("client", 3 * FAR - 10, None, 0, b"fghij")),
        *(("broker", 500, None, 0, b"x"), ("broker", 500, None, 0, b"y")) * 10,
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_every_cut_of_rows(name: str) -> None:
    check_every_cut(numbered(ROWS[name]))


@pytest.mark.parametrize("number", [102, 103, 104])
def test_a_reset_that_waits_takes_no_byte_from_the_stream(number: int) -> None:
    chunks = play(numbered((*ENDING, ("client", number, 510, RST, b""), RESUMED)))
    assert {half.source: half.size for half, *_ in chunks} == {"10.0.0.1:50000": 3, "10.0.0.2:9092": 13}


def test_an_endpoint_that_talks_to_itself() -> None:
    rows = numbered(
        [
            *(("client", 99, None, SYN, b""), ("client", 99, 100, SYN, b""), ("client", 100, 100, 0, b"abc")),
            *(("client", 103, 103, 0, b""), ("client", 103, 103, 0, b"def"), ("client", 108, 106, 0, b"ijk")),
            *(("client", 106, 106, 0, b"gh"), ("client", 111, 111, FIN, b"")),
        ]
    )
    for begin in range(len(rows)):
        chunks = check_every_cut([(ITSELF, *segment[1:]) for segment in rows[begin:]])
        assert {row[0] for row in chunks} == {"10.0.0.1:9092"}


def test_bytes_behind_a_nonsensical_acknowledgement_are_given() -> None:
    """The acknowledgement is too far ahead when it comes, and is in reach once the peer has sent a little more."""
    ahead = ("client", 106, 500 + FAR, 0, b"ghi")
    rows = numbered((*OPENED, ahead, ("broker", 500, 103, 0, b"xyz"), ("client", 103, 500, 0, b"def")))
    assert streams(play(rows)) == {"client": b"abcdefghi", "broker": b"xyz"}
    check_every_cut(rows)


# Parts of a state that no traffic leads to, and the values in their place. Part 1 is the table of connections, with a
# mark for each whether its first direction takes segments; a connection's directions are its parts 9 and 10, and part
# 16 of a direction is what it holds.
def _set(*path: int, value: Any) -> Callable[[Any], None]:
    def change(state: Any) -> None:
        for at in path[:-1]:
            state = state[at]
        was = state[path[-1]]
        state[path[-1]] = value(was) if callable(value) else value

    return change


FIRST: Final = (1, 0, 0, 0, 9)  # the first direction of the first connection
HELD: Final = (*FIRST, 16)


def _entry(at: int, value: Any) -> Callable[[Any], None]:
    """Change the first held segment."""
    return _set(*HELD, value=lambda held: [tuple(value if n == at else v for n, v in enumerate(held[0])), *held[1:]])


FOREIGN: Final[dict[str, Callable[[Any], None]]] = {
    "counts of other names": _set(0, value={"stray": 0}),
    "counts that are none": _set(0, value={"stray": "0", "after_close": 0}),
    "a table of another form": _set(1, value=[]),
    "a connection twice": _set(1, 0, value=lambda rows: rows * 2),
    "a connection of two parts": _set(1, 0, 0, 0, value=[1, 2]),
    "a connection of addresses that are none": _set(*FIRST, 1, value=7),
    "directions of different keys": _set(*FIRST, 0, value=CLIENT[::-1]),
    "a key of another size": _set(*FIRST, 0, value=CLIENT[1:]),
    "a next number that is not the place": _set(*FIRST, 7, value=7),
    "a direction that misses a part": _set(*FIRST, value=lambda row: row[:-1]),
    "a held segment before the place": _entry(0, 5),
    "a held segment that ends before it begins": _entry(1, 5),
    "a held segment of more bytes than numbers": _entry(5, bytes(100)),
    "a held segment of an unknown role": _entry(6, 7),
    "a held FIN with bytes": _entry(6, 1),
    "held segments that overlap": _set(*HELD, value=lambda held: [held[0], *held]),
    "a held segment far from all": _set(
        *HELD, value=lambda held: [(held[0][0] + (1 << 30), held[0][1] + (1 << 30), *held[0][2:])]
    ),
    "a held segment of no bytes": _set(*HELD, value=lambda held: [(held[0][0], held[0][0], 0, 0, 0, b"", 0)]),
    "a held segment of too many bytes": _entry(1, 1 << 40),
    "a mark of another form": _set(*FIRST, 18, value=(1, 2)),
    "an ended connection of another form": _set(1, 2, value=[[b"", 1]]),
    "a connection that waits and is not there": _set(2, value=[7]),
    "a reset of a connection that is not there": _set(3, value=[[7, 0, 0]]),
    "times of another form": _set(4, value=[1]),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_what_no_traffic_leads_to_is_refused(name: str) -> None:
    stage = Reassembly()
    stage.feed(numbered((*OPENED, ("client", 110, 500, ACK, b"held"))))
    state: Any = unpack(stage.export())
    Reassembly().resume(pack(state))
    FOREIGN[name](state)
    with pytest.raises(DecodeError):
        Reassembly().resume(pack(state))
