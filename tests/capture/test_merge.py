"""Several captures by packet time: every segment once, each capture in its own order, the earliest first."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from decoders.capture.merge_captures import merge_segments
from decoders.tcp.stream_chunks import Segment


def segment(capture: int, number: int, time_ns: int) -> Segment:
    return (bytes([capture]), time_ns, number, 0, 0, 0, b"", 0)


def cut(segments: list[Segment], size: int) -> list[list[Segment]]:
    return [segments[at : at + size] for at in range(0, len(segments), size)] + [[]]


@given(st.lists(st.lists(st.integers(0, 50)), max_size=4), st.integers(1, 5))
def test_sorted_captures_come_out_sorted(times: list[list[int]], size: int) -> None:
    captures = [[segment(i, n, t) for n, t in enumerate(sorted(one))] for i, one in enumerate(times)]
    out = [one for batch in merge_segments([cut(capture, size) for capture in captures]) for one in batch]
    assert [one[1] for one in out] == sorted(time for one in times for time in one)
    for number, capture in enumerate(captures):
        assert [one for one in out if one[0] == bytes([number])] == capture


@given(st.lists(st.lists(st.integers(0, 50)), max_size=4), st.integers(1, 5))
def test_a_clock_that_jumps_back_loses_nothing(times: list[list[int]], size: int) -> None:
    captures = [[segment(i, n, t) for n, t in enumerate(one)] for i, one in enumerate(times)]
    out = [one for batch in merge_segments([cut(capture, size) for capture in captures]) for one in batch]
    for number, capture in enumerate(captures):
        assert [one for one in out if one[0] == bytes([number])] == capture


@given(st.lists(st.lists(st.integers(0, 9)), max_size=4), st.integers(1, 5), st.integers(1, 5))
def test_batches_make_no_difference(times: list[list[int]], size: int, other: int) -> None:
    captures = [[segment(i, n, t) for n, t in enumerate(one)] for i, one in enumerate(times)]
    one, two = ([x for batch in merge_segments([cut(c, s) for c in captures]) for x in batch] for s in (size, other))
    assert one == two


@given(st.lists(st.lists(st.integers(0, 50)), max_size=4), st.integers(1, 5), st.data())
def test_a_capture_that_begins_later_is_begun_later(times: list[list[int]], size: int, data: st.DataObject) -> None:
    captures = [[segment(i, n, t) for n, t in enumerate(one)] for i, one in enumerate(times)]
    since = [data.draw(st.integers(0, min(one, default=50))) for one in times]
    begun: list[int] = []

    def feed(number: int) -> Iterator[list[Segment]]:
        begun.append(number)
        yield from cut(captures[number], size)

    out = []
    for batch in merge_segments([feed(number) for number in range(len(times))], since):
        out += batch
        assert {one[0][0] for one in out} <= set(begun)
        late = [number for number in begun if since[number] > max(one[1] for one in out)]
        assert len(late) <= 1
    assert out == [x for batch in merge_segments([cut(c, size) for c in captures]) for x in batch]


def test_a_capture_is_not_waited_for_before_it_is_its_turn() -> None:
    def live() -> Iterator[list[Segment]]:
        yield [segment(0, 0, 5)]
        raise AssertionError("asked for more than was needed")

    captures = merge_segments([live(), [[segment(1, n, n) for n in range(4)], [segment(1, 4, 9)]]])
    assert [one[1] for one in next(captures)] == [0, 1, 2, 3]
    assert [one[1] for one in next(captures)] == [5]


def test_a_capture_alone_is_handed_on_as_it_is() -> None:
    batches = [[segment(0, n, 100 - n)] for n in range(3)]
    assert list(merge_segments([batches])) == batches
