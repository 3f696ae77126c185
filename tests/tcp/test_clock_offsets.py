"""Times of packets at two places in, the bounds of the offset of their clocks out, to the nanosecond."""

from __future__ import annotations

import pytest

from decoders.tcp import clock_offsets
from decoders.tcp.clock_offsets import ClockOffset, ClockOffsets
from decoders.tcp.stream_chunks import Segment

CLIENT = bytes([10, 0, 0, 1, 10, 0, 0, 2, 0x9C, 0x40, 0x23, 0x84])
BROKER = bytes([10, 0, 0, 2, 10, 0, 0, 1, 0x23, 0x84, 0x9C, 0x40])
CLIENT_2, BROKER_2 = (key.replace(b"\x9c\x40", b"\x9c\x41") for key in (CLIENT, BROKER))
KEYS = {"there": CLIENT, "back": BROKER, "there2": CLIENT_2, "back2": BROKER_2}
SYN, ACK, PUSH = 2, 16, 24
BEGIN = 10**18


def segment(key: bytes, seq: int, time_ns: int, flags: int = PUSH, payload: bytes = b"x", cut: int = 0) -> Segment:
    return (key, BEGIN + time_ns, seq + 1, seq, 0, flags, payload, cut)


def note(offsets: ClockOffsets, seq: int, way: str, difference_ns: int, places: tuple[int, int] = (0, 1)) -> None:
    """Let two places see a packet; the second sees it later."""
    offsets.note_segments(places[0], [segment(KEYS[way], seq, 0)])
    offsets.note_segments(places[1], [segment(KEYS[way], seq, difference_ns)])


@pytest.mark.parametrize(
    ("differences", "bounds", "changes"),
    [
        ("there 30", None, 0),
        ("there 30, back 10", (10, 30), 1),
        ("there 10, back 30", (10, 30), 1),
        ("there 10, back 10", (10, 10), 1),
        ("there 30, back 10, there 20, back 15, there 25, back 12", (15, 20), 3),
        ("back 30, there 10, back 20, there 15, back 25, there 12", (15, 20), 3),
        # Time stamps a little out of turn: by a millionth of these units and no more.
        ("there 30, there 10, back 10.000001", (10, 10.000001), 1),
        ("there 30, there 10, back 10.000002", None, 0),
        ("back 30, back 10, there 10.000001", (10, 10.000001), 1),
        ("back 30, back 10, there 10.000002", None, 0),
        ("there 9.9999995, there 10.0000005, back 10", (9.9999995, 10), 1),
        # Bounds that contradict each other begin anew.
        ("there 30, there 10, back 20, back 5", None, 0),
        ("there 30, there 10, back 20, back 5, there 7", (5, 7), 1),
        # Each connection of two places has a say.
        ("there 20, back 10, there2 30, back2 20", (20, 20), 2),
        ("there 20, back 10, there2 30, back2 15", (15, 20), 2),
        ("there 20, back 10, there2 30, back2 21", (21, 30), 2),
        ("there 20, back 10, there2 30, back2 5", (10, 20), 1),
    ],
)
def test_the_least_of_one_direction_and_the_greatest_of_the_other_are_bounds(
    differences: str, bounds: tuple[float, float] | None, changes: int
) -> None:
    offsets = ClockOffsets()
    for seq, word in enumerate(differences.split(", ")):
        way, amount = word.split()
        note(offsets, seq, way, round(float(amount) * 10**12))
    found = offsets.find_offset(1, 0)
    assert found == (None if bounds is None else tuple(round(end * 10**12) for end in bounds))
    assert offsets.changes == changes
    if found is not None:
        least, most = found
        assert (found.estimate_ns, found.error_ns) == ((least + most) // 2, (most - least) // 2)
        assert offsets.find_offset(0, 1) == ClockOffset(-most, -least)
    assert offsets.find_offset(0, 0) == ClockOffset(0, 0)


def test_which_place_saw_a_packet_first_is_all_one() -> None:
    offsets = ClockOffsets()
    note(offsets, 1, "there", 30)
    note(offsets, 2, "back", -10, (1, 0))
    assert offsets.find_offset(1, 0) == ClockOffset(10, 30)


def test_places_are_compared_over_those_between() -> None:
    """Each step adds its bounds; the offsets of other places are passed over."""
    offsets = ClockOffsets()
    for seq, (places, there, back) in enumerate([((2, 3), 7, 5), ((1, 2), 30, 20), ((0, 1), 4, 1)]):
        note(offsets, 10 * seq, "there", there, places)
        note(offsets, 10 * seq + 1, "back", back, places)
    assert offsets.find_offset(3, 0) == ClockOffset(26, 41)
    assert offsets.find_offset(0, 3) == ClockOffset(-41, -26)
    assert offsets.find_offset(4, 0) is None


@pytest.mark.parametrize(
    ("flags", "payload", "cut", "counts"),
    [(ACK, b"", 0, False), (SYN, b"", 0, True), (SYN | ACK, b"", 0, True), (ACK, b"abc", 3, True), (ACK, b"", 1, True)],
)
def test_packets_that_can_come_again_tell_nothing(flags: int, payload: bytes, cut: int, counts: bool) -> None:
    offsets = ClockOffsets()
    for place in (0, 1):
        its = [segment(key, 0, 5 * place, flags, payload, cut) for key in (CLIENT, BROKER)]
        offsets.note_segments(place, its)
    assert (offsets.find_offset(1, 0) is not None) == counts


def test_places_of_one_clock_are_compared_with_others() -> None:
    offsets = ClockOffsets((0, 1))
    for seq, places in enumerate([(0, 1), (0, 2)]):
        note(offsets, 10 * seq, "there", 30, places)
        note(offsets, 10 * seq + 1, "back", 10, places)
    assert offsets.find_offset(1, 0) is None
    assert offsets.find_offset(2, 0) == ClockOffset(10, 30)


@pytest.mark.plain
def test_the_oldest_packets_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock_offsets, "_PACKETS_MAX", 2)
    for forgotten in ("there back", "back there"):
        offsets = ClockOffsets()
        ways = [*forgotten.split(), "there"]
        offsets.note_segments(0, [segment(KEYS[way], seq, 0) for seq, way in enumerate(ways)])
        offsets.note_segments(1, [segment(KEYS[way], seq, 10) for seq, way in reversed(list(enumerate(ways)))])
        assert (offsets.find_offset(1, 0) is None) == (forgotten == "back there")


@pytest.mark.plain
def test_the_oldest_connections_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock_offsets, "_CONNECTIONS_MAX", 1)
    offsets = ClockOffsets()
    for seq, way in enumerate(["there", "there2", "back"]):
        note(offsets, seq, way, 10)
    assert offsets.find_offset(1, 0) is None
    note(offsets, 3, "there", 10)
    assert offsets.find_offset(1, 0) == ClockOffset(10, 10)
