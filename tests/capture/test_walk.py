"""A walk over packet headers: counts and ends as in reading, and reading can resume at each of its marks."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoders.capture.find_cut_points import CutPoint, CutPointFinder, _PacketTimes
from decoders.capture.merge_captures import file_index_of_packet, packet_number_before_file, packet_number_in_file
from decoders.capture.pcapng_writer import PcapngWriter
from decoders.capture.read_capture import CaptureReader
from decoders.tcp.stream_chunks import Segment
from tests.capture.made import capture, damaged
from tests.captures.shipped import CLEAN, NEGATIVE, capture_bytes


def read(data: bytes, state: bytes = b"") -> tuple[CaptureReader, list[Segment]]:
    """A reader at the end of these bytes, resumed from `state` if given, and all its segments."""
    reader = CaptureReader()
    if state:
        reader.resume(state)
    segments = reader.feed(data)
    return reader, segments + reader.finish()


def walk(data: bytes, random: Random, *, fused: bool = True) -> tuple[CutPointFinder, list[CutPoint]]:
    """A walk that is fed in pieces of any size, and marks taken now and then."""
    one = CutPointFinder(fused=fused)
    marks = []
    while one.fed_size < len(data) and one.problem is None:
        assert one.feed(data[one.fed_size : one.fed_size + random.choice([1, 7, 100, 3000, 50_000])]) == []
        if random.random() < 0.2:
            marks.append(one.mark_cut_point())
    one.finish()
    return one, [*marks, one.mark_cut_point()]


def end(reader: CaptureReader) -> object:
    """The end of a reader: the counts that a walk knows, its problem, the kind of file."""
    problem = reader.problem
    counts = [reader.counts[name] for name in ("packets", "dropped")]
    return counts, problem and (type(problem), problem.text, problem.offset), reader.kind


@pytest.mark.parametrize("name", CLEAN + NEGATIVE)
def test_shipped_captures(name: str) -> None:
    data = capture_bytes(name)
    reader, segments = read(data)
    one, marks = walk(data, Random(name))
    assert end(one) == end(reader)
    assert marks[-1].at == len(data)
    for mark in marks[:: max(len(marks) // 5, 1)]:
        assert read(data[mark.at :], mark.state)[1] == _behind(segments, mark)
    times = [segment[1] for segment in segments]
    assert _span(marks)[0] <= min(times)
    assert _span(marks)[1] >= max(times)


def _behind(segments: list[Segment], mark: CutPoint) -> list[Segment]:
    return [segment for segment in segments if segment[2] > mark.packets]


def _span(marks: list[CutPoint]) -> tuple[int, int]:
    lows = [mark.low_ns for mark in marks if mark.low_ns is not None]
    highs = [mark.high_ns for mark in marks if mark.high_ns is not None]
    return min(lows, default=-1), max(highs, default=-1)


@given(st.integers(0, 2**32))
@settings(max_examples=150, deadline=None)
def test_it_ends_as_reading_does_and_reading_goes_on_at_any_mark(seed: int) -> None:
    random = Random(seed)
    data = damaged(random, capture(random, random.choice([0, 3, 40, 150]), fragments=False))
    reader, segments = read(data)
    one, marks = walk(data, random)
    assert end(one) == end(reader)
    assert sum(mark.low_ns is None for mark in marks) == sum(mark.high_ns is None for mark in marks)
    for mark in marks:
        rest, found = read(data[mark.at :], mark.state)
        assert end(rest) == end(reader)
        assert found == _behind(segments, mark)


@given(st.integers(0, 2**32))
@settings(max_examples=150, deadline=None)
def test_times_are_those_of_the_packets_since_the_mark_before(seed: int) -> None:
    random = Random(seed)
    data = damaged(random, capture(random, random.choice([3, 40, 150])))
    one, marks = walk(data, Random(seed))
    plain, wanted = walk(data, Random(seed), fused=False)
    assert marks == wanted
    assert end(one) == end(plain)
    _, segments = read(data)
    packets = 0
    for mark in marks:
        times = [segment[1] for segment in segments if packets < segment[2] <= mark.packets]
        packets = mark.packets
        if times:
            assert mark.low_ns is not None
            assert mark.high_ns is not None
            assert mark.low_ns <= min(times) <= max(times) <= mark.high_ns


def test_numbers_of_packets_carry_the_file() -> None:
    data = capture_bytes(CLEAN[0])
    one = CutPointFinder(before=packet_number_before_file(5))
    one.feed(data[:50_000])
    mark = one.mark_cut_point()
    _, segments = read(data)
    reader = CaptureReader()
    reader.resume(mark.state)
    found = reader.feed(data[mark.at :])
    assert [packet_number_in_file(segment[2]) for segment in found] == [
        segment[2] for segment in _behind(segments, mark)
    ]
    assert {file_index_of_packet(segment[2]) for segment in found} == {5}
    assert reader.counts["packets"] == read(data)[0].counts["packets"]


def test_a_mark_is_small() -> None:
    for name in CLEAN:
        one = CutPointFinder()
        one.feed(capture_bytes(name)[:-1])
        assert len(one.mark_cut_point().state) < 1000


@pytest.mark.parametrize("comments", [(), ("noted",)])
def test_usual_packets_are_walked_by_their_headers_alone(
    comments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fast loop takes enhanced packet blocks with options as well; only the last of a piece goes the plain way."""
    writer = PcapngWriter(1)
    data = writer.make_file_header()
    for number in range(50):
        data += writer.make_commented_packet_block(10**9 + number, bytes(60 + number % 4), comments)
    plain = []
    monkeypatch.setattr(_PacketTimes, "dissect_packet", lambda *words: plain.append(words[-1]))
    finder = CutPointFinder()
    finder.feed(data)
    finder.finish()
    assert (finder.packet_count, finder.problem) == (50, None)
    assert len(plain) <= 1


def test_a_block_with_options_ends_the_walk_where_it_ends_reading() -> None:
    """Its length must stand at its end as well."""
    writer = PcapngWriter(1)
    blocks = [writer.make_commented_packet_block(10**9 + number, bytes(60), ("noted",)) for number in range(30)]
    blocks[7] = blocks[7][:-4] + (len(blocks[7]) + 4).to_bytes(4, "little")
    data = writer.make_file_header() + b"".join(blocks)
    finder = CutPointFinder()
    finder.feed(data)
    finder.finish()
    assert end(finder) == end(read(data)[0])
    assert finder.packet_count == 7
