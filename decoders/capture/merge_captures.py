"""Segments of several captures in, one sequence by packet time out, with numbers that name file and packet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from heapq import heapify, heappop, heapreplace
from typing import Final

from decoders.tcp.stream_chunks import Segment

__all__ = [
    "FILE_SHIFT",
    "PACKET_NUMBER_MAX",
    "file_index_of_packet",
    "merge_segments",
    "packet_number_before_file",
    "packet_number_in_file",
]

# A file of 2**40 packets has at least 16 TB, and an index of 23 bits still leaves the number a signed 64-bit one.
FILE_SHIFT: Final = 40
PACKET_NUMBER_MAX: Final = (1 << FILE_SHIFT) - 1


def packet_number_before_file(file_index: int) -> int:
    """The number before those of this file's packets: its first packet has this number + 1."""
    return file_index << FILE_SHIFT


def file_index_of_packet(packet: int) -> int:
    """The index of the file that holds this packet."""
    return packet >> FILE_SHIFT


def packet_number_in_file(packet: int) -> int:
    """The packet's number in its file, as Wireshark counts, from 1."""
    return packet & PACKET_NUMBER_MAX


# Merging by packet time

# Each capture keeps its own order, whatever its clock does: of the captures' next segments the earliest goes first.


_TIME: Final = 1  # of a segment
# Segments of many captures that are collected before they are given.
_BATCH: Final = 4096


class _CaptureFeed:
    """One capture: its batches, the batch at hand and the place in it; before the first batch, `since` is its time."""

    __slots__ = ("_batches", "_number", "_since", "at", "batch")

    def __init__(self, number: int, batches: Iterable[list[Segment]], none_before_ns: int) -> None:
        self._number = number
        self._batches = iter(batches)
        self._since = none_before_ns
        self.batch: list[Segment] = []
        self.at = 0

    def read_until_next_segment(self) -> bool:
        """Read on until a next segment is at hand; False at the end of the capture."""
        while self.at == len(self.batch):
            found = next(self._batches, None)
            if found is None:
                return False
            self.batch, self.at = found, 0
        return True

    def next_sort_key(self) -> tuple[int, int]:
        """When it is this capture's turn: the time of its next segment, and its number, which decides equal times."""
        return self.batch[self.at][_TIME] if self.batch else self._since, self._number

    def take_segments_until(self, next_sort_key: tuple[int, int]) -> list[Segment]:
        """The next segment, and the following ones that come before `next_sort_key`, another capture's turn."""
        time_ns, number = next_sort_key
        if self._number < number:
            time_ns += 1
        batch, at = self.batch, self.at
        end = at + 1
        while end < len(batch) and batch[end][_TIME] < time_ns:
            end += 1
        self.at = end
        return batch[at:end]


def merge_segments(
    captures: Sequence[Iterable[list[Segment]]], none_before_ns: Sequence[int] | None = None
) -> Iterator[list[Segment]]:
    """The segments of all captures by time, in batches. A capture is read as far as is needed, and no further.

    `none_before_ns` has a time for each capture that none of its segments is before: then it is opened only when it may
    be its turn.
    """
    feeds = [
        _CaptureFeed(number, batches, none_before_ns[number] if none_before_ns else 0)
        for number, batches in enumerate(captures)
    ]
    if none_before_ns is None:
        feeds = [feed for feed in feeds if feed.read_until_next_segment()]
    turns = [(*feed.next_sort_key(), feed) for feed in feeds]
    heapify(turns)
    del feeds  # a capture that has ended is not kept
    out: list[Segment] = []
    while len(turns) > 1:
        feed = turns[0][2]
        if feed.batch:
            out += feed.take_segments_until(min(turns[1:3])[:2])
        if out and (feed.at == len(feed.batch) or len(out) >= _BATCH):
            yield out  # before a read that may wait, or before too much is held
            out = []
        if feed.at == len(feed.batch) and not feed.read_until_next_segment():
            heappop(turns)
            continue
        heapreplace(turns, (*feed.next_sort_key(), feed))
    for *_, feed in turns:
        while feed.read_until_next_segment():
            yield feed.batch[feed.at :]
            feed.at = len(feed.batch)
