"""The packets that hold bytes of a stream, from the log of segments."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from decoders.tcp.stream_chunks import Segment
from kwcli.sniff.packets_of_rows import SegmentLog

KEY = b"client to broker"
SYN, ACK, PUSH = 0x02, 0x10, 0x08


def segment(packet: int, seq: int, data: bytes, *, flags: int = ACK, time_ns: int = 50, cut: int = 0) -> Segment:
    return KEY, time_ns, packet, seq & 0xFFFFFFFF, 77, flags, data, cut


def find(segments: list[Segment], place: int, size: int, *, start: int = 1000) -> list[Any]:
    """(place from the one asked for, size, packet, sequence number, ack) of each part."""
    log = SegmentLog(lambda _: None)
    log.log_segments(segments)
    side = SimpleNamespace(half=SimpleNamespace(key=KEY), sequence_number=lambda place: (start + place) & 0xFFFFFFFF)
    logged: Any = SimpleNamespace(sides=[side], began_ns=10, ended_ns=100)
    return list(log.find_frame_bytes(logged, 0, place, size))


@pytest.mark.parametrize(
    ("segments", "place", "size", "found"),
    [
        ([segment(1, 1000, b"abcd")], 0, 4, [(0, 4, 1, 1000, 77)]),
        ([segment(1, 1000, b"abcd")], 2, 4, [(0, 2, 1, 1002, 77)]),
        ([segment(1, 1000, b"abcd"), segment(2, 1004, b"ef")], 3, 2, [(0, 1, 1, 1003, 77), (1, 1, 2, 1004, 77)]),
        ([segment(1, 1000, b"abcd"), segment(2, 1004, b"ef")], 4, 9, [(0, 2, 2, 1004, 77)]),
        ([segment(1, 1000, b"ab", cut=2)], 3, 1, [(0, 1, 1, 1003, 77)]),
        ([segment(1, 1000, b"", flags=ACK)], 0, 4, []),
        ([segment(1, 999, b"ab", flags=SYN)], 0, 2, [(0, 2, 1, 1000, None)]),
        ([segment(1, 999, b"ab", flags=SYN | ACK)], 0, 2, [(0, 2, 1, 1000, 77)]),
        ([segment(1, 1000, b"ab", flags=PUSH)], 0, 2, [(0, 2, 1, 1000, None)]),
        ([segment(1, 1000, b"ab", flags=PUSH | ACK)], 0, 2, [(0, 2, 1, 1000, 77)]),
        ([segment(1, 1000, b"ab", time_ns=9)], 0, 2, []),
        ([segment(1, 1000, b"ab", time_ns=10)], 0, 2, [(0, 2, 1, 1000, 77)]),
        ([segment(1, 1000, b"ab", time_ns=100)], 0, 2, []),
        ([segment(1, 1000, b"a" * 70_000)], 65_000, 5_000, [(0, 5_000, 1, 66_000, 77)]),
    ],
)
def test_parts_of_packets(segments: list[Segment], place: int, size: int, found: list[Any]) -> None:
    assert find(segments, place, size) == found


def test_sequence_numbers_wrap() -> None:
    start = (1 << 32) - 2
    assert find([segment(1, start, b"abcd")], 1, 3, start=start) == [(0, 3, 1, (1 << 32) - 1, 77)]
    assert find([segment(1, start, b"abcd")], 3, 1, start=start) == [(0, 1, 1, 1, 77)]
