"""Chunks of one direction of a live connection, without gaps, in; the places of their Kafka frames out.

    at = framer.skip_rest_of_frame(data)                  # what belongs to a frame that passes in pieces
    for at, size in framer.cut_whole_frames(data, at):    # each frame whose size field is there
        …                                        # judge the size and what is there of the header, or
        framer.keep_rest(data, at)               # wait for more of the header (`prepend_kept_bytes` gives it back), or
        framer.take_frame_if_whole(data, at, size)        # wait for all of the frame (`collect_frame` gives it)

Frames stay in their chunks: bytes are copied only for a caller that asks for them. The rest of a frame that is longer
than the chunk is counted (`left`), so a body of any size passes in pieces; a frame that is wanted whole takes as much
memory as has come of it, whatever its size field claims. A caller that stops before the last frame of a chunk has to
remember where.

The relay steps through thousands of frames a second, so it reads size and header in one (tests/bench/proxy.py, "5
small") and says only where it stopped (`keep_from_next_frame`). Which sizes are believed depends on the requests, so
callers decide it. Captures have bytes that are lost, sent twice or in doubt, and a place in a file for each:
framing.py cuts frames out of captures, and shares only the size field.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import Final

SIZE: Final = Struct(">i")
SIZE_FIELD: Final = SIZE.size


def with_size_field(frame: bytes) -> bytes:
    """A frame behind its size field, as it is sent."""
    return SIZE.pack(len(frame)) + frame


class Framer:
    """The framing of one direction of one connection."""

    __slots__ = ("_parts", "kept", "left", "wanted")

    def __init__(self) -> None:
        self.left = 0  # bytes still to come of a frame that passes in pieces
        self.kept = 0  # bytes of a frame that wait for more of it
        self.wanted = 0  # bytes of the frame that is wanted whole, with its size field; 0 where none is
        self._parts: list[bytes] = []

    @property
    def is_inside_frame(self) -> bool:
        """Whether more of a frame is still to come."""
        return bool(self.left or self.kept or self.wanted)

    def skip_rest_of_frame(self, data: bytes) -> int:
        """Step over the bytes of the frame that passes in pieces; the offset where they end."""
        at = min(self.left, len(data))
        self.left -= at
        return at

    def prepend_kept_bytes(self, data: bytes) -> bytes:
        """The next bytes, behind the bytes that were kept."""
        if not self.kept:
            return data
        joined = b"".join((*self._parts, data))
        self.drop_held()
        return joined

    def cut_whole_frames(self, data: bytes, at: int) -> Iterator[tuple[int, int]]:
        """Offset and size of each frame from `at` on; then the end is remembered (`keep_from_next_frame`)."""
        end = len(data)
        unpack = SIZE.unpack_from
        last = end - SIZE_FIELD
        while at <= last:
            (size,) = unpack(data, at)
            yield at, size
            at += SIZE_FIELD + max(size, 0)  # a caller may step over a negative size
        self.keep_from_next_frame(data, at)

    def keep_from_next_frame(self, data: bytes, at: int) -> None:
        """Remember that the next frame begins at `at`: in these bytes, which are kept from there on, or behind them."""
        left = at - len(data)
        if left > 0:
            self.left = left
        elif left:
            self.keep_rest(data, at)

    def keep_rest(self, data: bytes, at: int) -> None:
        """Keep the bytes from `at` on, which are too few to decide about their frame."""
        self._parts = [data[at:]]
        self.kept = len(data) - at

    def take_frame_if_whole(self, data: bytes, at: int, size: int) -> bytes | None:
        """The frame at `at` with its size field; None where more of it is to come: `collect_frame` takes that."""
        stop = at + SIZE_FIELD + size
        if stop <= len(data):
            return data[at:stop] if at or stop < len(data) else data
        self.expect_frame(size)
        self.collect_frame(data, at)
        return None

    def expect_frame(self, size: int) -> None:
        """Have `collect_frame` give the next frame, of this size, as a whole."""
        self.wanted = SIZE_FIELD + size

    def collect_frame(self, data: bytes, at: int = 0) -> tuple[bytes | None, int]:
        """Take more of the frame that is wanted; the frame once it is whole, and where it ends in `data`."""
        need = self.wanted - self.kept
        end = len(data)
        if end - at < need:
            self._parts.append(data[at:] if at else data)
            self.kept += end - at
            return None, end
        stop = at + need
        self._parts.append(data if not at and stop == end else data[at:stop])
        frame = b"".join(self._parts)
        self.drop_held()
        return frame, stop

    def join_held_bytes(self) -> bytes:
        """The bytes that wait for more of their frame."""
        return b"".join(self._parts)

    def drop_held(self) -> None:
        """Let go of the bytes that wait for more of their frame."""
        self._parts = []
        self.kept = self.wanted = 0
