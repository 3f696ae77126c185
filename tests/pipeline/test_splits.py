"""Splits of captures, read one after the other, give every segment of the whole once and in order."""

from __future__ import annotations

import gzip
import pickle
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import lz4.frame  # type: ignore[import-untyped]  # lz4 ships no types
import pytest
import zstandard
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from decoders.capture.find_cut_points import CutPointFinder
from decoders.capture.merge_captures import merge_segments, packet_number_before_file
from decoders.capture.read_capture import CaptureReader
from decoders.tcp.stream_chunks import Segment
from kwcli.pipeline.plan_splits import SplitPlan, iterate_splits_of_single_file, plan_splits
from kwcli.pipeline.read.find_captures import find_captures
from kwcli.pipeline.read.read_split_segments import SplitReader
from kwcli.pipeline.read.split_and_file_range import Problem, Split
from kwcli.reading.capture_sources import open_source
from kwcli.reading.decompress_inputs import InputProblem
from kwcli.run_environment import Environment
from tests.capture.frames import ACK, ethernet, ipv4, tcp
from tests.capture.made import SECOND_NS, capture, damaged
from tests.capture.pcap_writer import PcapWriter
from tests.captures.shipped import CLEAN, FOLDER, NEGATIVE
from tests.tcp.test_reassembly_properties import EXAMPLES

Result = tuple[list[Segment], Counter[str], list[str]]


def whole(paths: Sequence[Path]) -> Result:
    """The segments, counts and problems that `kw sniff` reads in these files."""
    counts: Counter[str] = Counter()
    problems: list[str] = []
    feeds = []
    for number, path in enumerate(paths):
        reader = CaptureReader(before=packet_number_before_file(number))
        feed: list[list[Segment]] = []
        source = open_source(str(path), Environment.of_process())
        cut: list[str] = []
        try:
            for piece in source.read_capture_pieces():
                feed.append(reader.feed(piece))
                if reader.problem is not None:
                    break
        except InputProblem as problem:
            cut.append(problem.text)
        source.close()
        reader.finish()
        feeds.append(feed)
        counts.update(reader.counts)
        if reader.problem is not None and not cut:
            cut.append(str(Problem(str(path), reader.problem.offset, reader.problem.text)))
        problems += cut
    return [segment for batch in merge_segments(feeds) for segment in batch], +counts, sorted(problems)


def split(made: SplitPlan) -> Result:
    """The segments, counts and problems of the splits of a plan, one after the other."""
    out: list[Segment] = []
    counts: Counter[str] = Counter()
    problems = [str(problem) for problem in made.problems]
    for one in pickle.loads(pickle.dumps(made.splits)):
        reading = SplitReader(one)
        for batch in reading:
            out += batch
        counts.update(reading.counts)
        problems += map(str, reading.problems)
    return out, +counts, sorted(problems)


def planned(paths: Sequence[Path], split_size: int, lead_size: int = 1 << 20) -> SplitPlan:
    found = find_captures(map(str, paths))
    assert not found.problems
    assert not found.notes
    return plan_splits(found.files, split_size, lead_size=lead_size)


@pytest.mark.one_in(5)
@pytest.mark.parametrize("size", [3000, 40_000, 1 << 28])
@pytest.mark.parametrize("name", CLEAN + NEGATIVE)
def test_shipped_captures(name: str, size: int) -> None:
    path = FOLDER / name
    made = planned([path], size, 20_000)
    assert split(made) == whole([path])
    if path.suffix in (".gz", ".zst") or size > path.stat().st_size:
        assert len(made.splits) == 1
    else:
        assert len(made.splits) > 1
    assert all(len(pickle.dumps(one)) < 4000 for one in made.splits)


def written(folder: Path, files: Sequence[bytes]) -> list[Path]:
    """Files with these contents, in ascending order of their names."""
    paths = [folder / f"{number}.cap" for number in range(len(files))]
    for path, data in zip(paths, files, strict=True):
        path.write_bytes(data)
    return paths


def packed(random: Random, data: bytes) -> bytes:
    """The data as it is, or compressed."""
    return random.choice([lambda plain: plain, gzip.compress, zstandard.compress, lz4.frame.compress])(data)  # type: ignore[no-any-return]


@pytest.mark.long
@given(st.integers(0, 2**32))
@settings(max_examples=EXAMPLES // 5, deadline=None)
def test_one_capture_in_any_splits(seed: int) -> None:
    random = Random(seed)
    data = damaged(random, capture(random, random.choice([0, 3, 40, 150])))
    with TemporaryDirectory() as folder:
        paths = written(Path(folder), [data])
        size = random.choice([100, 700, 3000, 20_000])
        made = planned(paths, size)
        assert split(made) == whole(paths)
        (file,) = find_captures(map(str, paths)).files
        arrived = SplitPlan([], [], [])
        assert list(iterate_splits_of_single_file(file, size, arrived)) == arrived.splits
        assert len(arrived.splits) <= -(-len(data) // size) or not data
        assert split(arrived) == whole(paths)
        unwalked = plan_splits([file], 1 << 40, walk=False)
        assert split(unwalked) == whole(paths)
        assert len(unwalked.splits) <= 1
        pieces = [piece for one in made.splits for piece in one.pieces]
        assert [one.ord for one in made.splits] == list(range(len(made.splits)))
        assert [piece.end for piece in pieces[:-1]] == [piece.begin for piece in pieces[1:]]
        if pieces:
            assert (pieces[0].begin, pieces[-1].end) == (0, len(data))


@pytest.mark.long
@given(st.integers(0, 2**32))
@settings(max_examples=100, deadline=None)
def test_what_was_read_is_read_again(seed: int) -> None:
    """Segments are read again from any mark to any place, in splits of several files, damaged or not."""
    random = Random(seed)
    files = [damaged(random, capture(random, random.choice([3, 40, 150]))) for _ in range(3)]
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr("kwcli.pipeline.read.read_split_segments.PIECE_SIZE", random.choice([50, 400, 5000]))
        plans = [planned([path], random.choice([700, 20_000]), 300) for path in written(Path(folder), files)]
        pieces = [piece for made in plans for one in made.splits for piece in one.pieces]
        assume(pieces)  # an empty capture has no splits
        reading = SplitReader(Split("", 0, tuple(pieces)))
        since: list[Segment] = []
        for found in reading:
            since += found
            if random.random() < 0.3:
                assert [segment for some in reading.reread_since_mark() for segment in some] == since
            if random.random() < 0.2:
                reading.mark_as_done()
                since.clear()
        assert reading.repeats
        assert [segment for some in reading.reread_since_mark() for segment in some] == since


@pytest.mark.long
@given(st.integers(0, 2**32))
@settings(max_examples=200, deadline=None)
def test_several_captures_in_any_splits(seed: int) -> None:
    """Captures that follow each other, or overlap by little, by much, or only in the time of one packet."""
    random = Random(seed)
    files: list[bytes] = []
    begin_ns = 1_700_000_000 * SECOND_NS
    for _ in range(random.choice([2, 3, 5])):
        data = capture(random, random.choice([1, 3, 40, 150]), begin_ns)
        walk = CutPointFinder()
        walk.feed(data)
        begin_ns = (walk.mark_cut_point().high_ns or begin_ns) + random.choice(
            [0, 0, 1, SECOND_NS, -1, -2000, -SECOND_NS, -(10**11)]
        )
        if random.random() < 0.3:
            data = damaged(random, data)
        data = packed(random, data)
        files.append(damaged(random, data) if random.random() < 0.2 and len(data) > 0 else data)
    if random.random() < 0.5:
        random.shuffle(files)
    with TemporaryDirectory() as folder:
        paths = written(Path(folder), files)
        made = planned(paths, random.choice([100, 700, 3000, 20_000]))
        assert split(made) == whole(paths)


def rotated(begin_ns: int, count: int, step_ns: int = 1000, *, port: int = 40_000) -> bytes:
    """A capture of consecutive requests."""
    writer = PcapWriter(1)
    frame = ethernet(ipv4("10.0.0.1", "10.0.0.2", tcp(port, 9092, 7, 9, ACK, bytes(100))))
    return writer.make_file_header() + b"".join(
        writer.make_packet_block(begin_ns + number * step_ns, frame) for number in range(count)
    )


def shape(made: SplitPlan) -> list[tuple[bool, list[int]]]:
    """For each split: whether it merges, and its files."""
    return [(one.merged, [piece.file for piece in one.pieces]) for one in made.splits]


def test_small_captures_that_follow_one_another_are_read_by_one_task(tmp_path: Path) -> None:
    files = [rotated(number * 10**6, 10) for number in (3, 1, 2, 0)]
    paths = written(tmp_path, files)
    assert shape(planned(paths, 3 * len(files[0]))) == [(False, [3, 1, 2]), (False, [0])]
    assert shape(planned(paths, 1)) == [(False, [number]) for number in (3, 1, 2, 0) for _ in range(10)]


def test_only_what_overlaps_is_merged(tmp_path: Path) -> None:
    first, second = rotated(0, 100), rotated(99_000 - 500, 100)
    paths = written(tmp_path, [first, second])
    made = planned(paths, 2000)
    assert split(made) == whole(paths)
    assert [one for one in shape(made) if one[0]] == [(True, [0, 1])]
    assert len(made.splits) > 10
    (note,) = made.notes
    assert note == (
        f"captures overlap in time, so one task reads 0.0 MB of 2 files: {paths[0]}, {paths[1]}; "
        "captures of several machines can be told apart with --point"
    )


def test_of_equal_times_the_file_named_first_comes_first(tmp_path: Path) -> None:
    paths = written(tmp_path, [rotated(0, 5), rotated(4000, 5)])
    assert shape(planned(paths, 1 << 20)) == [(False, [0, 1])]
    assert shape(planned(paths[::-1], 1 << 20)) == [(True, [0, 1])]
    for order in (paths, paths[::-1]):
        assert split(planned(order, 1 << 20)) == whole(order)


def test_points_have_sequences_of_their_own(tmp_path: Path) -> None:
    paths = written(tmp_path, [rotated(0, 50), rotated(100, 50), rotated(200, 50), rotated(50_000, 50)])
    found = find_captures([str(paths[3])], [("b", str(paths[1])), ("a", str(paths[0])), ("a", str(paths[2]))])
    made = plan_splits(found.files, 1 << 20)
    assert [(one.point, one.ord, one.merged) for one in made.splits] == [
        ("", 0, False),
        ("b", 0, False),
        ("a", 0, True),
    ]
    assert sum(len(batch) for one in made.splits for batch in SplitReader(one)) == 200


def test_ip_fragments_on_both_sides_of_a_cut(tmp_path: Path) -> None:
    writer = PcapWriter(1)
    data = tcp(50_000, 9092, 7, 9, ACK, bytes(100))
    out = [writer.make_file_header()]
    for number in range(60):
        parts = [(data[:40], 0x2000), (data[40:80], 0x2005), (data[80:], 10)]
        frames = [ethernet(ipv4("10.0.0.1", "10.0.0.2", part, fragment=word, ident=number)) for part, word in parts]
        out += [writer.make_packet_block(number, frame) for frame in frames[: 2 if number % 9 == 5 else 3]]
    path = tmp_path / "fragments.pcap"
    path.write_bytes(b"".join(out))
    wanted = whole([path])
    assert wanted[1]["tcp"] == 54 - 1
    for size in range(200, 1000, 50):
        assert split(planned([path], size, 500)) == wanted
    assert split(planned([path], 300, 0)) != wanted  # otherwise this test would show nothing


def test_a_split_is_read_in_small_pieces(tmp_path: Path) -> None:
    path = tmp_path / "large.pcap"
    path.write_bytes(rotated(0, 40_000))
    made = planned([path], 4 << 20)
    reading = SplitReader(made.splits[1])
    sizes = [len(batch) for batch in reading]
    assert max(sizes) < 500
    assert reading.taken == made.splits[1].size


def test_good_captures_go_on_beside_bad_ones(tmp_path: Path) -> None:
    good = rotated(0, 10)
    bad = {
        "cut.pcap": (good[:-5], f"cut off at byte {len(good) - 5:,} inside a packet"),
        "wrong.pcap": (good[:-170] + bytes(170), f"no packet record: nothing but zeros at byte {len(good) - 170:,}"),
        "text.txt": (
            b"some words",
            'not a capture: starts with "some" (kw reads pcap and pcapng, also .gz .zst .lz4)',
        ),
        "empty.pcap": (b"", "empty: there is no capture in it"),
        "cut.pcap.gz": (gzip.compress(good)[:-5], f"the gzip data is cut off after {len(good):,} bytes of capture"),
    }
    paths = [tmp_path / name for name in bad]
    for path in paths:
        path.write_bytes(bad[path.name][0])
    paths.append(tmp_path / "good.pcap")
    paths[-1].write_bytes(good)
    made = planned(paths, 1 << 20)
    out, counts, problems = split(made)
    assert len(out) == counts["tcp"] == 9 + 9 + 10 + 10
    assert problems == sorted(f"{tmp_path / name}: {text}" for name, (_, text) in bad.items())


def test_a_file_that_changes_under_the_plan_is_a_problem(tmp_path: Path) -> None:
    path = tmp_path / "one.pcap"
    data = rotated(0, 100)
    path.write_bytes(data)
    made = planned([path], len(data) // 4)
    path.write_bytes(data[: len(data) // 2])
    out, counts, problems = split(made)
    assert 40 <= len(out) <= 50
    assert counts["packets"] == len(out)  # a packet that only leads to a split that no longer exists is not counted
    assert problems == [f"{path}: has become shorter while it was read"] * 2
    path.unlink()
    assert split(made)[2] == [f"{path}: no such file"] * 4


def test_captures_are_looked_at_with_any_map(tmp_path: Path) -> None:
    paths = written(tmp_path, [rotated(number * 10**6, 10) for number in range(5)])
    files = find_captures(map(str, paths)).files
    with ThreadPoolExecutor(2) as pool:
        assert plan_splits(files, 1000, each=pool.map) == plan_splits(files, 1000)
