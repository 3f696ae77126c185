"""Segments of several places as they come, merged by time with a bounded delay."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoders.capture.merge_live_captures import LatePackets, LiveMerger
from decoders.tcp.stream_chunks import Segment

S = 10**9


def segment(time_s: float, number: int = 0) -> Segment:
    return (b"key", int(time_s * S), number, 0, 0, 0, b"", 0)


def times(segments: list[Segment]) -> list[float]:
    return [each[1] / S for each in segments]


def merger(*live: bool, delay_s: float = 1.0) -> LiveMerger:
    made = LiveMerger(delay_s)
    for each in live:
        made.add_place(0.0, is_live=each)
    return made


def test_a_segment_waits_for_the_other_place() -> None:
    made = merger(True, True)
    made.add_segments(0, [segment(12), segment(15)], 0.1)
    assert made.take_due_segments(0.2) == []
    made.add_segments(1, [segment(13)], 0.3)
    assert times(made.take_due_segments(0.3)) == [12, 13]
    assert made.count_waiting_segments(0) == 1


def test_of_a_live_place_nothing_is_waited_for_longer_than_the_delay() -> None:
    made = merger(True, True)
    made.add_segments(0, [segment(12)], 5.0)
    made.add_segments(1, [segment(11)], 5.5)
    made.add_segments(1, [], 5.9)
    assert times(made.take_due_segments(5.9)) == [11]
    assert times(made.take_due_segments(6.0)) == [12]


def test_an_older_capture_is_waited_for_while_bytes_of_it_come() -> None:
    made = merger(True, False)
    made.add_segments(0, [segment(100)], 0.0)
    for number in range(50):
        made.add_segments(1, [segment(number)], number * 0.5)
        assert times(made.take_due_segments(number * 0.5)) == [number]
    assert times(made.take_due_segments(24.5 + 0.9)) == []
    assert times(made.take_due_segments(24.5 + 1.0)) == [100]


def test_bytes_without_segments_are_waited_for_ten_delays() -> None:
    """A place may give packets of other protocols for ever; those of the others go on."""
    made = merger(False, False)
    made.add_segments(0, [segment(100)], 0.0)
    for number in range(100):
        made.add_segments(1, [], number * 0.5)
        assert times(made.take_due_segments(number * 0.5)) == ([100] if number == 22 else [])
    made.add_segments(0, [segment(200)], 60.0)
    made.add_segments(1, [segment(150)], 60.5)
    assert times(made.take_due_segments(60.5)) == [150]


def test_a_place_that_has_ended_is_not_waited_for_until_it_comes_back() -> None:
    made = merger(True, True)
    made.stop_waiting_for_place(1)
    made.add_segments(0, [segment(1)], 0.0)
    assert times(made.take_due_segments(0.0)) == [1]
    made.reopen_place(1, 0.1)
    made.add_segments(0, [segment(2)], 0.2)
    assert made.take_due_segments(0.2) == []


def test_what_comes_too_late_is_given_at_once_and_counted() -> None:
    made = merger(True, True)
    made.add_segments(0, [segment(20)], 0.0)
    assert times(made.take_due_segments(1.0)) == [20]
    made.add_segments(1, [segment(17), segment(18)], 1.1)
    assert times(made.take_due_segments(1.1)) == [17, 18]
    assert made.late_packets(1) == LatePackets(2, 3 * S)
    assert made.late_packets(0) == LatePackets(0, 0)


def test_a_clock_that_goes_back_leaves_the_order_of_its_place() -> None:
    made = merger(True, True)
    made.add_segments(0, [segment(10, 1), segment(8, 2), segment(12, 3)], 0.0)
    made.add_segments(1, [segment(9, 4), segment(13, 5)], 0.0)
    assert [each[2] for each in made.take_due_segments(0.0)] == [4, 1, 2, 3]


def test_one_place_alone_never_waits() -> None:
    made = merger(True)
    made.add_segments(0, [segment(3), segment(2)], 0.0)
    assert times(made.take_due_segments(0.0)) == [3, 2]
    assert made.late_packets(0).packets == 0


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 40), st.integers(0, 3)), max_size=60),
    st.tuples(st.booleans(), st.booleans(), st.booleans()),
)
def test_nothing_is_lost_or_doubled_and_each_place_keeps_its_order(
    come: list[tuple[int, int, int]], live: tuple[bool, bool, bool]
) -> None:
    """Segments come in any order of places and times, with pauses; all of them go out."""
    made, out = merger(*live), []
    now_s, given_of = 0.0, ([], [], [])  # type: ignore[var-annotated]
    for number, (place, time_s, pause) in enumerate(come):
        now_s += pause * 0.4
        one = segment(time_s, number)
        given_of[place].append(one)
        made.add_segments(place, [one], now_s)
        out += made.take_due_segments(now_s)
    out += made.take_all_segments()
    assert sorted(each[2] for each in out) == list(range(len(come)))
    place_of = {number: place for number, (place, _, _) in enumerate(come)}
    for place in range(3):
        assert [each for each in out if place_of[each[2]] == place] == given_of[place]


@pytest.mark.parametrize("live", [True, False])
@given(st.lists(st.lists(st.integers(0, 30), max_size=20), min_size=2, max_size=4), st.randoms(use_true_random=False))
def test_places_that_come_within_the_delay_give_one_sequence_by_time(
    live: bool, places: list[list[int]], rng: object
) -> None:
    made = merger(*[live for _ in places])
    waiting = [(number, [segment(each) for each in sorted(place)]) for number, place in enumerate(places)]
    out: list[Segment] = []
    while any(segments for _, segments in waiting):
        number, segments = rng.choice([each for each in waiting if each[1]])  # type: ignore[attr-defined]
        made.add_segments(number, [segments.pop(0)], 0.0)
        if not segments:
            made.stop_waiting_for_place(number)
        out += made.take_due_segments(0.0)
    out += made.take_all_segments()
    found = times(out)
    if all(places):
        assert all(one <= other for one, other in pairwise(found))
    assert sorted(found) == sorted(each for place in places for each in place)
