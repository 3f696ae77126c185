"""Rows: bytes of one direction, cut in any way and with gaps, and the frames and skipped runs that come out."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest

from decoders.frames.framing import (
    Frame,
    FrameDirection,
    MemoryBudget,
    Reason,
    Unframed,
    close_direction,
    lose_sync,
    take_bytes,
    take_gap,
)
from decoders.frames.read_and_judge_headers import FITS, HEAD, NO, YES

MARK = b"KFKA"


def frame(size: int, fill: bytes = b".") -> bytes:
    """A frame of these tests' own protocol: the mark, then `size` bytes."""
    return (size + 4).to_bytes(4, "big") + MARK + fill * size


class Owner:
    """A pairing object that takes frames for valid if they begin with the mark."""

    def __init__(self) -> None:
        self.budget = MemoryBudget()
        self.out: list[str] = []
        self.direction = FrameDirection(self, request=False)
        self.last_waiting_frame = b""

    def take_frame(self, direction: FrameDirection, frame: Frame) -> None:
        assert direction is self.direction
        tail = f" {frame.missing}" if frame.missing else ""
        self.out.append(f"{frame.size}@{frame.place} {frame.first_packet}-{frame.last_packet}{tail}")

    def report_skipped(self, direction: FrameDirection, unframed: Unframed, until_ns: int) -> None:
        assert direction is self.direction
        self.out.append(f"{unframed.reason} {unframed.size}{'' if until_ns else ' to the end'}")

    def why_no_frame_head(self, direction: FrameDirection, data: bytes, at: int, size: int) -> Reason | None:
        assert direction is self.direction
        if size < 0:
            return "garbage"
        return None if data[at + 4 : at + 8] == MARK[: max(size, 0)] else "garbage"

    def judge_frame(self, direction: FrameDirection, data: bytes, at: int) -> int:
        assert direction is self.direction
        if data[at + 4 : at + 8] != MARK:
            return NO
        whole = len(data) - at >= 4 + int.from_bytes(data[at : at + 4], "big")
        return YES if whole else HEAD if at == 0 else FITS

    def find_frame_candidates(self, direction: FrameDirection, data: bytes, at: int) -> list[int]:
        assert direction is self.direction
        return [place for place in range(at, len(data) - 7) if data[place + 4 : place + 8] == MARK]


def play(*pieces: bytes | int) -> list[str]:
    """The frames and runs of these pieces, one a packet: bytes, or a gap of so many bytes."""
    owner = Owner()
    for packet, piece in enumerate(pieces, 1):
        if isinstance(piece, int):
            take_gap(owner.direction, packet * 1000, packet, piece, "lost")
        else:
            take_bytes(owner.direction, packet * 1000, packet, piece)
    close_direction(owner.direction)
    assert owner.budget.held == 0
    return owner.out


THREE = frame(10) + frame(0) + frame(300)
ROWS: list[tuple[str, list[bytes | int], list[str]]] = [
    ("one", [frame(10)], ["14@0 1-1"]),
    ("three in a chunk", [THREE], ["14@0 1-1", "4@18 1-1", "304@26 1-1"]),
    ("a frame over three", [frame(300)[:5], frame(300)[5:100], frame(300)[100:]], ["304@0 1-3"]),
    ("a size over two", [frame(0) + b"\0\0", frame(9)[2:]], ["4@0 1-1", "13@8 1-2"]),
    ("a hole in a body", [frame(50)[:20], 38, frame(0)], ["54@0 1-2 lost", "4@58 3-3"]),
    ("a hole to the very end", [frame(50)[:20], 30, frame(50)[50:], frame(0)], ["54@0 1-3 lost", "4@58 4-4"]),
    ("two holes in a body", [frame(50)[:9], 9, frame(50)[18:30], 28], ["54@0 1-4 lost"]),
    ("a hole behind the size", [frame(50)[:4], 20, frame(50)[24:], frame(1)], ["54@0 1-3 lost", "5@58 4-4"]),
    ("a hole over a size", [frame(0), 6, frame(50)[6:], frame(7)], ["4@0 1-1", "lost 58", "11@66 4-4"]),
    ("a hole over a frame", [frame(0), 54, frame(7)], ["4@0 1-1", "lost 54", "11@62 3-3"]),
    ("a hole from a body over a size", [frame(50)[:20], 50, frame(3)], ["54@0 1-2 lost", "lost 12", "7@70 3-3"]),
    (
        "a hole, and a frame inside a segment",
        [frame(0), 9, b"tail" * 9 + THREE],
        ["4@0 1-1", "lost 45", "14@53 3-3", "4@71 3-3", "304@79 3-3"],
    ),
    ("a hole, and a frame over segments", [9, frame(90)[:50], frame(90)[50:]], ["lost 9", "94@9 2-3"]),
    ("a hole, then nothing", [9, b"nothing here at all"], ["lost 28 to the end"]),
    ("garbage", [frame(0), b"\xff" * 30, frame(5)], ["4@0 1-1", "garbage 30", "9@38 3-3"]),
    ("garbage before a frame", [b"\xff" * 30 + frame(5)], ["garbage 30", "9@30 1-1"]),
    ("an end in a body", [frame(50)[:30]], ["54@0 1-1 incomplete"]),
    ("an end in a size", [frame(0) + b"\0\0\0"], ["4@0 1-1", "lost 3 to the end"]),
    ("short segments in search of a head", [5, frame(9)[:3], frame(9)[3:]], ["lost 5", "13@5 2-3"]),
]


@pytest.mark.parametrize(("pieces", "wanted"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_rows(pieces: list[bytes | int], wanted: list[str]) -> None:
    assert play(*pieces) == wanted


@pytest.mark.parametrize("seed", range(30))
def test_any_cut_gives_the_same_frames(seed: int) -> None:
    rng = Random(seed)
    data = b"".join(frame(rng.choice([0, 1, 3, 30, 500])) for _ in range(12))
    cuts = sorted({0, len(data), *(rng.randrange(len(data)) for _ in range(rng.choice([3, 30, 300])))})
    whole = [text.partition(" ")[0] for text in play(data)]
    assert [text.partition(" ")[0] for text in play(*(data[a:b] for a, b in pairwise(cuts)))] == whole


def test_every_byte_is_a_piece() -> None:
    spans = ["14@0 1-18", "4@18 19-26", "304@26 27-334"]
    assert play(*(THREE[at : at + 1] for at in range(len(THREE)))) == spans


@pytest.mark.parametrize("seed", range(40))
def test_holes_anywhere_cost_no_byte_and_invent_no_frame(seed: int) -> None:
    rng = Random(seed)
    frames = [frame(rng.choice([0, 20, 300]), rng.choice([b".", b"\0", b"K"])) for _ in range(15)]
    places, at = {}, 0
    for each in frames:
        places[at] = len(each) - 4
        at += len(each)
    data = b"".join(frames)
    pieces: list[bytes | int] = []
    at = 0
    while at < len(data):
        size = rng.choice([7, 40, 150])
        piece = data[at : at + size]
        pieces.append(len(piece) if rng.random() < 0.15 else piece)
        at += size
    found = play(*pieces)
    covered = 0
    for text in found:
        words = text.split()
        if "@" in words[0]:
            size, place = map(int, words[0].split("@"))
            assert places[place] == size
            covered += 4 + size
        else:
            covered += int(words[1])
    assert covered == len(data) or found[-1].endswith("incomplete")


def test_a_lane_that_begins_in_the_middle_reports_what_it_passes() -> None:
    owner = Owner()
    lose_sync(owner.direction, "midstream", "the capture begins inside the stream", 0, 0)
    take_bytes(owner.direction, 1, 1, b"the end of something")
    take_bytes(owner.direction, 2, 2, frame(10))
    assert owner.out == ["midstream 20", "14@20 2-2"]


def test_a_frame_that_proves_to_be_none_is_skipped_with_the_rest() -> None:
    owner = Owner()
    believe = owner.judge_frame
    liar = frame(40, b"!")

    def judge(direction: FrameDirection, data: bytes, at: int) -> int:
        verdict = believe(direction, data, at)
        return NO if verdict == YES and b"!" in data[at : at + 60] else verdict

    owner.judge_frame = judge  # type: ignore[method-assign]  # a judge who sees it at the last byte
    for packet, piece in enumerate((b"x" * 20, liar[:20], liar[20:], frame(1)), 2):
        if packet == 2:
            take_gap(owner.direction, 1, 1, 10, "lost")
        take_bytes(owner.direction, packet, packet, piece)
    close_direction(owner.direction)
    assert owner.out == [f"lost {10 + 20 + len(liar)}", f"5@{30 + len(liar)} 5-5"]
    assert owner.budget.held == 0
