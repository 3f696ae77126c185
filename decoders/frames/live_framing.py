"""Chunks of one direction of a live connection in, where their Kafka frames begin out: nothing is missing here.

    at = framer.skip(data)                       # what belongs to a frame that passes in pieces
    for at, size in framer.frames(data, at):     # each frame whose size field is there
        …                                        # judge the size and what is there of the header, or
        framer.keep(data, at)                    # wait for more of the header (`join` gives it back), or
        framer.whole(data, at, size)             # wait for all of the frame (`collect` gives it)

A frame is left where it is: its bytes are copied only by who asks for them. Of one that is longer than the chunk the
rest is counted (`left`), so a body of any size passes in pieces; one that is wanted whole takes as much memory as has
come of it, whatever its size field claims. Who stops before the last frame of a chunk remembers where.

The relay steps through thousands of frames a second, so it reads size and header in one (tests/bench/proxy.py, "5
small") and says only where it stopped (`leave`). Which sizes are believed depends on what was asked, so it is up to
those who frame. Captures have bytes that are lost, sent twice or in doubt, and a place in a file for each:
framing.py cuts those, and shares the size field only.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import Final

SIZE: Final = Struct(">i")
SIZE_FIELD: Final = SIZE.size


def with_size(frame: bytes) -> bytes:
    """A frame behind its size field, as it is sent."""
    return SIZE.pack(len(frame)) + frame


class Framer:
    """One direction of one connection."""

    __slots__ = ("_parts", "kept", "left", "wanted")

    def __init__(self) -> None:
        self.left = 0  # bytes still to come of a frame that passes in pieces
        self.kept = 0  # bytes of a frame that wait for more of it
        self.wanted = 0  # bytes of the frame that is wanted whole, with its size field; 0 where none is
        self._parts: list[bytes] = []

    @property
    def inside(self) -> bool:
        """Whether more of a frame is still to come."""
        return bool(self.left or self.kept or self.wanted)

    def skip(self, data: bytes) -> int:
        """Step over what belongs to the frame that passes in pieces; where it ends in these bytes."""
        at = min(self.left, len(data))
        self.left -= at
        return at

    def join(self, data: bytes) -> bytes:
        """The next bytes, behind those that were kept."""
        if not self.kept:
            return data
        joined = b"".join((*self._parts, data))
        self.forget()
        return joined

    def frames(self, data: bytes, at: int) -> Iterator[tuple[int, int]]:
        """Place and size of each frame from `at` on, until somebody stops; the end of `data` is remembered."""
        end = len(data)
        unpack = SIZE.unpack_from
        last = end - SIZE_FIELD
        while at <= last:
            (size,) = unpack(data, at)
            yield at, size
            at += SIZE_FIELD + max(size, 0)  # who steps over what is no size goes on all the same
        self.leave(data, at)

    def leave(self, data: bytes, at: int) -> None:
        """The next frame begins at `at`: in these bytes, which are kept from there on, or behind them."""
        left = at - len(data)
        if left > 0:
            self.left = left
        elif left:
            self.keep(data, at)

    def keep(self, data: bytes, at: int) -> None:
        """What is there of the frame at `at` is too little to decide about it."""
        self._parts = [data[at:]]
        self.kept = len(data) - at

    def whole(self, data: bytes, at: int, size: int) -> bytes | None:
        """The frame at `at` with its size field; None where it is not all there: then the rest is waited for."""
        stop = at + SIZE_FIELD + size
        if stop <= len(data):
            return data[at:stop] if at or stop < len(data) else data
        self.want(size)
        self.collect(data, at)
        return None

    def want(self, size: int) -> None:
        """The frame of this size that comes next is wanted whole, by `collect`."""
        self.wanted = SIZE_FIELD + size

    def collect(self, data: bytes, at: int = 0) -> tuple[bytes | None, int]:
        """More of the frame that is wanted: the frame once it is whole, and where it ends in `data`."""
        need = self.wanted - self.kept
        end = len(data)
        if end - at < need:
            self._parts.append(data[at:] if at else data)
            self.kept += end - at
            return None, end
        stop = at + need
        self._parts.append(data if not at and stop == end else data[at:stop])
        frame = b"".join(self._parts)
        self.forget()
        return frame, stop

    def held(self) -> bytes:
        """What waits for more of its frame."""
        return b"".join(self._parts)

    def forget(self) -> None:
        """Nothing waits any more."""
        self._parts = []
        self.kept = self.wanted = 0
