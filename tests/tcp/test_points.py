"""Packets that several points see: each is given once, and the bounds of how far the clocks are apart are right."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest

from decoders.capture.merge_captures import FILE_SHIFT, merge_segments
from decoders.tcp.clock_offsets import ClockOffset, ClockOffsets
from decoders.tcp.packets_at_capture_points import PacketsAtPoints
from decoders.tcp.reassembly import Reassembly
from decoders.tcp.stream_chunks import Chunk, Gap, Retransmission, Segment
from tests.tcp.conversations import play

CLIENT = bytes([10, 0, 0, 1, 10, 0, 0, 2]) + (40000).to_bytes(2, "big") + (9092).to_bytes(2, "big")
BROKER = bytes([10, 0, 0, 2, 10, 0, 0, 1]) + (9092).to_bytes(2, "big") + (40000).to_bytes(2, "big")
MS = 10**6
BEGIN = 10**18
SYN, ACK, PUSH = 2, 16, 24


def conversation(rng: Random, turns: int) -> list[Segment]:
    """What the client and the broker say, at the times at which it passes the middle of the way."""
    seq = {CLIENT: rng.randrange(1 << 32), BROKER: rng.randrange(1 << 32)}
    out: list[Segment] = []
    at = BEGIN

    def say(key: bytes, flags: int, payload: bytes = b"") -> None:
        nonlocal at
        at += rng.randrange(50_000, 5 * MS)
        other = BROKER if key == CLIENT else CLIENT
        out.append((key, at, len(out) + 1, seq[key], seq[other], flags, payload, 0))
        seq[key] = (seq[key] + len(payload) + (flags & SYN > 0)) & 0xFFFF_FFFF

    say(CLIENT, SYN)
    say(BROKER, SYN | ACK)
    for _ in range(turns):
        for key in (CLIENT, BROKER):
            for _ in range(rng.randrange(1, 4)):
                say(key, PUSH, rng.randbytes(rng.randrange(1, 300)))
    return out


def seen_at(
    place: int, segments: list[Segment], rng: Random, way_ns: tuple[int, int], ahead_ns: int, loss: float = 0.0
) -> list[Segment]:
    """The segments as a place sees them that is this far from the middle, towards the broker and back."""
    seen: list[Segment] = []
    for key, time_ns, packet, seq, ack, flags, payload, cut in segments:
        if rng.random() >= loss:
            later = way_ns[0] if key == CLIENT else -way_ns[1]
            jitter = rng.randrange(MS) if later > 0 else -rng.randrange(MS) if later < 0 else 0
            at = (time_ns + later + jitter + ahead_ns, packet + (place << FILE_SHIFT))
            seen.append((key, *at, seq, ack, flags, payload, cut))
    return seen


@pytest.mark.parametrize("seed", range(40))
def test_the_offset_is_within_its_bounds(seed: int) -> None:
    """However unlike the ways there and back, and whatever a place has missed."""
    rng = Random(seed)
    ahead = rng.randrange(-5000 * MS, 5000 * MS)
    way = (rng.randrange(20 * MS), rng.randrange(20 * MS))
    said = conversation(rng, 30)
    near, far = (0, 1) if seed % 2 else (1, 0)  # of the client
    offsets = ClockOffsets()
    # A place sees what comes towards it later than the middle of the way, and what goes away from it earlier.
    places = {near: ((0, 0), 0 if near == 0 else ahead), far: (way, ahead if far == 1 else 0)}
    lossy = rng.randrange(2)
    seen = {
        place: seen_at(place, said, rng, way_ns, ahead_ns, 0.3 if place == lossy else 0.0)
        for place, (way_ns, ahead_ns) in places.items()
    }
    for place in rng.sample([0, 1], 2):
        offsets.note_segments(place, seen[place])
    found = offsets.find_offset(1, 0)
    assert found is not None
    assert found.least_ns <= ahead <= found.most_ns
    assert found.error_ns <= sum(way) // 2 + MS
    assert offsets.find_offset(0, 1) == ClockOffset(-found.most_ns, -found.least_ns)


def test_offsets_over_a_place_between() -> None:
    rng = Random(1)
    said = conversation(rng, 5)
    offsets = ClockOffsets()
    half = len(said) // 2
    offsets.note_segments(0, said[:half])
    offsets.note_segments(2, seen_at(2, said[half:], rng, (0, 0), 90 * MS))
    assert offsets.find_offset(2, 0) is None
    offsets.note_segments(1, seen_at(1, said, rng, (0, 0), 30 * MS))
    assert offsets.find_offset(2, 0) == ClockOffset(90 * MS, 90 * MS)


def test_places_of_one_clock_and_directions_alone_have_no_offset() -> None:
    rng = Random(2)
    said = conversation(rng, 5)
    for offsets, its in (
        (ClockOffsets((0, 1)), said),
        (ClockOffsets(), [segment for segment in said if segment[0] == CLIENT]),
    ):
        offsets.note_segments(0, its)
        offsets.note_segments(1, seen_at(1, its, rng, (0, 0), 30 * MS))
        assert offsets.find_offset(1, 0) is None


def test_a_clock_that_is_set_is_followed() -> None:
    rng = Random(3)
    said = conversation(rng, 40)
    offsets = ClockOffsets()
    half = len(said) // 2
    offsets.note_segments(0, said)
    offsets.note_segments(1, seen_at(1, said[:half], rng, (0, 0), 30 * MS))
    offsets.note_segments(1, seen_at(1, said[half:], rng, (0, 0), 80 * MS))
    assert offsets.find_offset(1, 0) == ClockOffset(80 * MS, 80 * MS)


# Copies.


def streams(chunks: list[Chunk]) -> dict[str, bytes]:
    """The bytes of each direction."""
    found: dict[str, bytes] = {}
    for half, _, _, data in chunks:
        if isinstance(data, bytes):
            found[half.source] = found.get(half.source, b"") + data
    return found


def resegment(segments: list[Segment], rng: Random) -> list[Segment]:
    """The same bytes in other segments, as a network card cuts them: neighbours become one, or one becomes two."""
    out: list[Segment] = []
    for segment in segments:
        key, time_ns, packet, seq, ack, flags, payload, cut = segment
        last = out[-1] if out else None
        goes_on = last and payload and last[0] == key and last[6] and (last[3] + len(last[6]) - seq) & 0xFFFF_FFFF == 0
        if last and goes_on and rng.random() < 0.5:
            out[-1] = (*last[:6], last[6] + payload, 0)
        elif len(payload) > 2 and rng.random() < 0.5:
            at = rng.randrange(1, len(payload))
            out.append((key, time_ns, packet, seq, ack, flags, payload[:at], 0))
            out.append((key, time_ns, packet, (seq + at) & 0xFFFF_FFFF, ack, flags, payload[at:], 0))
        else:
            out.append((key, time_ns, packet, seq, ack, flags, payload, cut))
    return out


@pytest.mark.parametrize("seed", range(40))
def test_each_byte_is_given_once(seed: int) -> None:
    """What one place has missed the other has, by a clock that is a little ahead, and cut into other segments."""
    rng = Random(seed)
    said = conversation(rng, 20)
    first = seen_at(0, said, rng, (0, 0), 0, 0.0 if seed % 2 else 0.1)
    missed = {segment[2] for segment in said} - {segment[2] for segment in first}
    # The reassembly waits for what is missing for 32 packets of the connection.
    second = seen_at(1, said, rng, (0, 0), rng.randrange(20 * MS if missed else 100 * MS))
    second = [each for each in second if each[2] & 0xFFFF in missed or rng.random() > 0.1]
    if seed % 3 == 0:
        second = resegment(second, rng)
    points = PacketsAtPoints()
    given = [each for batch in merge_segments([[first], [second]]) for each in points.leave_out_copies(batch)]
    chunks = play(given)
    assert streams(chunks) == streams(play(said))
    assert not any(isinstance(chunk[3], (Gap, Retransmission)) for chunk in chunks)
    assert points.copies


def test_what_was_sent_again_is_given_as_often_as_one_place_saw_it() -> None:
    rng = Random(5)
    said = conversation(rng, 2)
    *before, last = (segment for segment in said if segment[0] == CLIENT)
    again: list[Segment] = [
        *before,
        last,
        *((last[0], last[1] + step * 200 * MS, 90 + step, *last[3:]) for step in (1, 2)),
    ]
    second = seen_at(1, again[:-1], rng, (0, 0), 50 * MS)  # the third never came that far
    points = PacketsAtPoints()
    given = [each for batch in merge_segments([[again], [second]]) for each in points.leave_out_copies(batch)]
    assert len(given) == len(again)
    assert sum(isinstance(chunk[3], Retransmission) for chunk in play(given)) == 2


def test_a_packet_knows_when_each_point_saw_its_ends() -> None:
    key, seq = CLIENT, 1000
    whole: Segment = (key, BEGIN, 1, seq, 0, PUSH, b"x" * 300, 0)
    parts: list[Segment] = [
        (key, BEGIN + (at + 1) * MS, (1 << FILE_SHIFT) + at + 1, seq + at * 100, 0, PUSH, b"x" * 100, 0)
        for at in range(3)
    ]
    points = PacketsAtPoints()
    assert points.leave_out_copies([whole, *parts]) == [whole]
    assert points.sightings_of_packet(1, last=False) == {0: (BEGIN, 1), 1: (BEGIN + MS, (1 << FILE_SHIFT) + 1)}
    assert points.sightings_of_packet(1, last=True) == {0: (BEGIN, 1), 1: (BEGIN + 3 * MS, (1 << FILE_SHIFT) + 3)}
    assert points.sightings_of_packet(2, last=True) == {}


def test_a_connection_of_the_same_ports_begins_anew() -> None:
    rng = Random(7)
    one, two = conversation(rng, 3), conversation(rng, 3)
    later: list[Segment] = [(key, time_ns + 10**10, packet + 1000, *rest) for key, time_ns, packet, *rest in two]  # type: ignore[misc]  # segments
    points = PacketsAtPoints()
    assert points.leave_out_copies([*one, *later]) == [*one, *later]
    assert all(points.leave_out_copies([segment]) == [] for segment in seen_at(1, later, rng, (0, 0), MS) if segment[6])


def test_a_conversation_at_one_place_goes_through_unchanged() -> None:
    rng = Random(8)
    said = conversation(rng, 50)
    assert PacketsAtPoints().leave_out_copies(said) == said
    assert all(one[1] < other[1] for one, other in pairwise(said))
    assert Reassembly().feed(said)
