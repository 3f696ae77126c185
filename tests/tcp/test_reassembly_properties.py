"""Random conversations with faults as in captures: the streams come out complete, or lack exactly the lost bytes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from decoders.tcp.reassembly import Reassembly
from decoders.tcp.stream_chunks import Chunk, Close, Segment
from tests.tcp.conversations import ACK, BROKER, CLIENT, FIN, MS, RST, SYN, streams, told

# Packets are swapped within this distance: less than reassembly's patience.
SHIFT = 8
# A handful of seconds; more with KW_EXAMPLES.
EXAMPLES = int(os.environ.get("KW_EXAMPLES", "200"))


@dataclass(frozen=True)
class Conversation:
    """The bytes that both sides sent, and the segments in the order sent."""

    said: dict[str, bytes]
    segments: list[Segment]


@st.composite
def conversations(draw: st.DrawFn, turns: int = 40, sizes: Sequence[int] = (0, 1, 2, 5, 30)) -> Conversation:
    """A connection from SYN to FIN, in segments of any size."""
    random = Random(draw(st.integers(0, 2**32)))
    start = {who: draw(st.sampled_from([0, 1, 77, 2**31 - 5, 2**32 - 1, 2**32 - 30])) for who in ("client", "broker")}
    keys = {"client": CLIENT, "broker": BROKER}
    other = {"client": "broker", "broker": "client"}
    said = {"client": b"", "broker": b""}
    segments: list[Segment] = []

    def send(who: str, data: bytes, flags: int, *, back: int = 0) -> None:
        shift = 0 if flags & SYN else 1
        seq = start[who] + shift + len(said[who]) - back
        ack = start[other[who]] + 1 + len(said[other[who]]) if flags & ACK else 0
        number = len(segments) + 1
        segments.append((keys[who], number * MS, number, seq % 2**32, ack % 2**32, flags, data, 0))
        said[who] += data[back:]

    send("client", b"", SYN)
    send("broker", b"", SYN | ACK)
    send("client", b"", ACK)
    for _ in range(draw(st.integers(1, turns))):
        who = random.choice(["client", "client", "broker"])
        # Now and then a segment begins with bytes that were sent before.
        back = random.choice([0, 0, 0, random.randint(0, len(said[who]))])
        size = random.choice(sizes)
        send(who, said[who][len(said[who]) - back :] + random.randbytes(size), ACK, back=back)
    send("client", b"", ACK | FIN)
    start["client"] += 1
    send("broker", b"", ACK | FIN)
    return Conversation(said, segments)


def shuffled(segments: Sequence[Segment], random: Random, first: int = 1) -> list[Segment]:
    """The segments with some of them a few places later, some of them twice; numbered from `first`."""
    places = [
        (number + random.choice([0, 0, random.random() * SHIFT]), segment) for number, segment in enumerate(segments)
    ]
    places += [(place + random.random() * SHIFT, segment) for place, segment in places if random.random() < 0.1]
    places.sort(key=lambda item: item[0])
    return [(segment[0], number * MS, number, *segment[3:]) for number, (_, segment) in enumerate(places, first)]


def shown(segments: list[Segment]) -> str:
    """Segments as a failing example should show them."""
    return "\n".join(f"{'client' if row[0] == CLIENT else 'broker'} {row[2:]}" for row in segments)


def play_in_pieces(segments: list[Segment], random: Random) -> list[Chunk]:
    """The chunks of segments fed in random batches, with random hand-overs to a new stage."""
    stage, out, at = Reassembly(), [], 0
    while at < len(segments):
        size = random.randint(0, 5)
        out += stage.feed(segments[at : at + size])
        at += size
        if random.random() < 0.3:
            heir = Reassembly()
            heir.resume(stage.export())
            stage = heir
    return out + stage.finish()


def check_order(chunks: list[Chunk]) -> None:
    """Assert that no chunk follows the close of its connection."""
    closed = set()
    for half, _, _, data in chunks:
        assert half.connection.number not in closed
        if isinstance(data, Close):
            closed.add(half.connection.number)
            assert half is half.connection.first


@given(conversations(), st.integers(0, 2**32))
@settings(max_examples=EXAMPLES, deadline=None)
def test_swapped_and_repeated_segments_give_the_streams(conversation: Conversation, seed: int) -> None:
    random = Random(seed)
    stage = Reassembly()
    # The handshake is shuffled by itself: a byte before its SYN would look like a keep-alive.
    segments = conversation.segments[:3]
    random.shuffle(segments)
    segments += shuffled(conversation.segments[3:], random, 4)
    note(shown(segments))
    chunks = stage.feed(segments) + stage.finish()
    assert streams(chunks) == conversation.said
    assert told(chunks)[-1][2] == "close fin"
    check_order(chunks)
    assert told(play_in_pieces(segments, random)) == told(chunks)


# Short enough that no second copy of a byte comes after reassembly's patience.
@given(conversations(turns=18), st.integers(0, 2**32))
@settings(max_examples=EXAMPLES, deadline=None)
def test_what_is_dropped_is_a_gap_and_nothing_else_is(conversation: Conversation, seed: int) -> None:
    random = Random(seed)
    rate = random.choice([0.05, 0.3, 0.8])
    kept = [segment for segment in conversation.segments if segment[5] & (SYN | FIN) or random.random() > rate]
    wanted = {}
    for who, key in (("client", CLIENT), ("broker", BROKER)):
        first = next(segment[3] for segment in kept if segment[0] == key) + 1
        text = bytearray(b"?" * len(conversation.said[who]))
        for segment in kept:
            if segment[0] == key and not segment[5] & SYN:
                place = (segment[3] - first) % 2**32
                text[place : place + len(segment[6])] = segment[6]
        wanted[who] = bytes(text)
    # The handshake stays first: without it, and with all else lost, the beginnings of streams are unknown.
    segments = kept[:2] + shuffled(kept[2:], random, 3)
    note(shown(segments))
    stage = Reassembly()
    chunks = stage.feed(segments) + stage.finish()
    note(str(told(chunks)))
    assert streams(chunks) == wanted
    check_order(chunks)
    assert told(play_in_pieces(segments, random)) == told(chunks)


@given(conversations(), st.integers(0, 2**32))
@settings(max_examples=EXAMPLES, deadline=None)
def test_cut_segments_are_given_as_far_as_they_go(conversation: Conversation, seed: int) -> None:
    random = Random(seed)
    snaplen = random.choice([0, 1, 4])
    segments = [
        (*segment[:6], segment[6][:snaplen], max(len(segment[6]) - snaplen, 0)) for segment in conversation.segments
    ]
    stage = Reassembly()
    chunks = stage.feed(segments) + stage.finish()
    for who, text in streams(chunks).items():
        whole = conversation.said[who]
        assert len(text) == len(whole)
        assert all(got in (ord("?"), byte) for got, byte in zip(text, whole, strict=True))
    assert told(play_in_pieces(segments, random)) == told(chunks)


# Segments of more than one byte: a first one of one byte looks like a keep-alive.
@given(conversations(sizes=(0, 2, 5, 30)), st.integers(0, 2**32))
@settings(max_examples=EXAMPLES, deadline=None)
def test_started_in_the_middle(conversation: Conversation, seed: int) -> None:
    random = Random(seed)
    segments = conversation.segments[random.randint(3, len(conversation.segments)) :]
    stage = Reassembly()
    chunks = stage.feed(segments) + stage.finish()
    sent = {
        who: {segment[2] for segment in segments if segment[0] == key and segment[6]}
        for who, key in (("client", CLIENT), ("broker", BROKER))
    }
    for who, text in streams(chunks).items():
        assert conversation.said[who].endswith(text)
        # Bytes are given if something was sent in one piece.
        assert bool(text) or not sent[who] or len(segments) < 40
    check_order(chunks)
    assert told(play_in_pieces(segments, random)) == told(chunks)


ANY = st.tuples(
    st.sampled_from([CLIENT, BROKER, CLIENT[:-1] + b"\0", BROKER[:-3] + b"\0" + BROKER[-2:]]),
    st.sampled_from([0, 1, 2, 50, 98, 99, 100, 101, 102, 103, 104, 110, 2**28, 2**31, 2**32 - 100, 2**32 - 1]),
    st.sampled_from([0, 99, 100, 101, 103, 110, 2**28 + 100, 2**31, 2**32 - 1]),
    st.sampled_from([0, ACK, ACK, ACK, ACK, ACK | FIN, FIN, SYN, SYN | ACK, RST, RST | ACK, SYN | FIN | RST, 255]),
    st.sampled_from([0, 0, 1, 2, 3, 10]),
    st.sampled_from([0, 0, 0, 3]),
    st.sampled_from([1, 1, 10**6, 10**9, 200 * 10**9]),
)


@pytest.mark.long
@given(st.lists(ANY, max_size=60), st.integers(0, 2**32))
@settings(max_examples=EXAMPLES, deadline=None)
def test_nonsense_does_no_harm(rows: list[tuple[bytes, int, int, int, int, int, int]], seed: int) -> None:
    segments: list[Segment] = []
    time_ns = 0
    for number, (key, seq, ack, flags, size, cut, step) in enumerate(rows, 1):
        time_ns += step
        segments.append((key, time_ns, number, seq, ack, flags, bytes(size), cut))
    stage = Reassembly()
    chunks = stage.feed(segments)
    assert stage._delivery.held == sum(half.held_size for half in stage._connections.halves.values())
    chunks += stage.finish()
    assert stage._delivery.held == 0
    assert not stage._connections.halves
    check_order(chunks)
    other = play_in_pieces(segments, Random(seed))
    assert [(h.source, h.connection.number, *rest) for h, *rest in other] == [
        (h.source, h.connection.number, *rest) for h, *rest in chunks
    ]
