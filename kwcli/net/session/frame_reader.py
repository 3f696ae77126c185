"""The bytes of a stream in, its frames out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from decoders.frames.frames_of_gapless_connections import SIZE_FIELD, Framer
from decoders.limits import FRAME_MAX
from decoders.wire.format_and_escape_text import format_bytes
from kwcli.net.session import TimedFrame

# Bytes that are kept of a stream that is not Kafka, to find out its protocol.
_STRANGE_MAX: Final = 1024
_SHOWN: Final = 64


class BadSize(Exception):
    """A size field that no frame here can have; `head` is the data from that size field on."""

    def __init__(self, size: int, head: bytes) -> None:
        super().__init__(f"a frame of {format_bytes(size)}")
        self.size = size
        self.head = head


class FrameReader:
    """Cuts a stream into frames. `largest` and `least` bound the sizes taken; they may be changed between frames."""

    __slots__ = ("_first_ns", "_framer", "largest", "least", "whole")

    def __init__(self, largest: int = FRAME_MAX) -> None:
        self.largest = largest
        self.least = 4
        self.whole = 0  # frames that have been cut so far
        self._framer = Framer()
        self._first_ns = 0  # of the frame that is not whole yet

    @property
    def pending(self) -> bytes:
        """The start of the frame that is not whole yet, 64 bytes at most."""
        return self._framer.join_held_bytes()[:_SHOWN]

    @property
    def missing(self) -> tuple[int, int]:
        """(bytes there, bytes due in all) of the frame that is not whole yet; due is 4 while its size is unknown."""
        return self._framer.kept, self._framer.wanted or SIZE_FIELD

    def feed(self, data: bytes, now_ns: int) -> Iterator[TimedFrame]:
        """The frames that end in `data`. Raises BadSize."""
        framer = self._framer
        first_ns = self._first_ns if framer.kept else now_ns
        begin = 0
        if framer.wanted:
            frame, begin = framer.collect_frame(data)
            if frame is None:
                return
            self.whole += 1
            yield TimedFrame(frame, first_ns, now_ns)
            first_ns = now_ns
        else:
            data = framer.prepend_kept_bytes(data)
        for at, size in framer.cut_whole_frames(data, begin):
            if not self.least <= size <= self.largest:
                raise BadSize(size, data[at : at + SIZE_FIELD + _STRANGE_MAX])
            frame = framer.take_frame_if_whole(data, at, size)
            if frame is None:
                break
            self.whole += 1
            yield TimedFrame(frame, first_ns, now_ns)
            first_ns = now_ns
        self._first_ns = first_ns
