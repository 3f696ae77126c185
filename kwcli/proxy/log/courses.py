"""One direction of a connection on its way to a file: the pieces that came, and the frame under way in them."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

__all__ = ["SIZE", "Code", "Course", "Piece", "Stage"]

# Bytes of a frame's size field.
SIZE: Final = 4
# API key and version.
Code = tuple[int, int]


class Piece:
    """Bytes that came together. Of `shown`, which has stars, those from `cut` on are not for the file."""

    __slots__ = ("cut", "data", "gap", "shown", "side", "time_ns", "waits")

    def __init__(self, side: int, time_ns: int, data: bytes, gap: int = 0) -> None:
        self.side = side
        self.time_ns = time_ns
        self.data = data
        self.shown: bytes | bytearray = data
        self.cut: int | None = None
        self.gap = gap  # bytes that are missing, where there are no data
        self.waits = 0  # frames that are not whole yet

    def star(self, at: int, end: int) -> None:
        """Hide some bytes."""
        if at < end:
            if not isinstance(self.shown, bytearray):
                self.shown = bytearray(self.data)
            self.shown[at:end] = b"*" * (end - at)


class Stage(IntEnum):
    SIZE = 0
    HEAD = 1
    WHOLE = 2


class Course:
    """One direction: `left` bytes of a frame that pass, starred if `blind`; else `parts` of the frame under way."""

    __slots__ = ("blind", "code", "first", "have", "left", "lost", "need", "parts", "side", "size", "stage")

    def __init__(self, side: int) -> None:
        self.side = side
        self.first = True
        self.lost = False
        self.begin()

    def begin(self) -> None:
        """Between frames."""
        self.left = 0
        self.blind = False
        self.stage = Stage.SIZE
        self.need = SIZE
        self.have = 0
        self.size = 0
        self.code: Code | None = None
        self.parts: list[tuple[Piece, int, int]] = []

    def bytes(self) -> bytes:
        """The frame under way as far as it has come."""
        return b"".join([piece.data[at:end] for piece, at, end in self.parts])

    def star(self, start: int, stop: int) -> None:
        """Hide bytes of it, by their place in the frame."""
        place = 0
        for piece, at, end in self.parts:
            piece.star(max(at, at + start - place), min(end, at + stop - place))
            place += end - at

    def release(self) -> None:
        """Nothing waits for this frame any more."""
        for piece, _, _ in self.parts:
            piece.waits -= 1
        self.parts = []
