"""One direction of a connection on its way to a file: the pieces that came, and the frame under way in them."""

from __future__ import annotations

from collections import deque

from decoders.streams.framer import Framer

__all__ = ["Code", "Course", "LoggedChunk"]

# API key and version.
Code = tuple[int, int]


class LoggedChunk:
    """Bytes that came together. Of `shown`, which has stars, those from `cut` on are not for the file."""

    __slots__ = ("cut", "data", "gap", "shown", "side", "time_ns", "waits")

    def __init__(self, side: int, time_ns: int, data: bytes, gap: int = 0) -> None:
        self.side = side
        self.time_ns = time_ns
        self.data = data
        self.shown: bytes | bytearray = data
        self.cut: int | None = None
        self.gap = gap  # bytes that are missing, where there are no data
        self.waits = False  # for more of a frame

    def star(self, at: int, end: int) -> None:
        """Hide some bytes."""
        if at < end:
            if not isinstance(self.shown, bytearray):
                self.shown = bytearray(self.data)
            self.shown[at:end] = b"*" * (end - at)


class Course:
    """One direction. Places count its bytes; `pieces` are those that wait for more of a frame, with their places."""

    __slots__ = ("blind", "code", "first", "framer", "lost", "pieces", "place", "side", "size")

    def __init__(self, side: int) -> None:
        self.side = side
        self.first = True  # nothing has gone out yet
        self.lost = False  # out of step
        self.framer = Framer()
        self.pieces: deque[tuple[int, LoggedChunk]] = deque()
        self.place = 0  # behind the last byte that came
        self.begin()

    def begin(self) -> None:
        """Between frames."""
        self.size: int | None = None  # of the frame under way, once it is known
        self.code: Code | None = None
        self.blind = False  # what passes of it is starred

    def stop(self, *, lost: bool = False) -> None:
        """Nothing is known of the frame under way any more."""
        self.framer.forget()
        self.framer.left = 0
        self.lost = lost
        self.begin()

    def add(self, piece: LoggedChunk) -> int:
        """A piece has come; its place."""
        place = self.place
        self.place += len(piece.data)
        self.pieces.append((place, piece))
        piece.waits = True
        return place

    def star(self, start: int, stop: int) -> None:
        """Hide bytes of the pieces that wait, by their places."""
        for place, piece in self.pieces:
            piece.star(max(start - place, 0), min(stop - place, len(piece.data)))

    def release(self) -> None:
        """What came before the bytes that the framer keeps waits no more."""
        kept = self.place - self.framer.kept
        while self.pieces and self.pieces[0][0] + len(self.pieces[0][1].data) <= kept:
            self.pieces.popleft()[1].waits = False
