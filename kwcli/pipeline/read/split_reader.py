"""A split in, its segments out in batches; what was counted and what was wrong afterwards."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from decoders.capture.files import CaptureReader
from decoders.capture.merge import before, merged
from decoders.errors import DecodeError
from kwcli.inputs import PIECE_SIZE, InputProblem
from kwcli.pipeline.read.captures import as_input, open_ranges
from kwcli.pipeline.read.file_ranges import Problem, problem_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from decoders.capture.cut_notes import CutReceiver
    from decoders.tcp.chunks import Segment
    from kwcli.pipeline.read.captures import RangeFile
    from kwcli.pipeline.read.file_ranges import FileRange, Split

__all__ = ["GrowingState", "ReadPosition", "SplitReader", "read_between"]


class ReadPosition(NamedTuple):
    """A byte of a piece, with the state of its reader there; None: where the piece begins."""

    piece: int
    at: int | None
    state: bytes = b""


class GrowingState(NamedTuple):
    """How far a file is read that goes on, the state of its reader there, and bytes of a packet that is not whole."""

    at: int
    state: bytes
    waiting: int


class SplitReader:
    """The segments of one split, to be iterated once; packet numbers are `file << 40 | number` (`numbering`).

    `counts` and `problems` grow as it is read: what `CaptureReader.counts` says, over all splits of a file the same as
    of the whole file; and what ended the reading of a file before the end of its piece. `taken` counts bytes of files.
    `cut_receiver` gets what notes say in a capture that was cut out of another one (cut_notes.py).

    `left` is what the readers of files that go on leave, by the files' numbers.

    Where it `repeats`, what was read since `mark` can be read once more: neither merged nor decompressed.
    """

    def __init__(self, split: Split, cut_receiver: CutReceiver | None = None) -> None:
        self.split = split
        self._cut_receiver = cut_receiver
        self.counts: Counter[str] = Counter()
        self.problems: list[Problem] = []
        self.taken = 0
        self.left: dict[int, GrowingState] = {}
        self.repeats = not split.merged and not any(piece.inflate for piece in split.pieces)
        self._now = self._marked = ReadPosition(0, None)
        self._reader: CaptureReader | None = None

    @property
    def now(self) -> ReadPosition:
        """How far it is, without a state."""
        return self._now

    def place(self) -> ReadPosition:
        """The same, where `between` can begin."""
        return self._now._replace(state=b"" if self._reader is None else self._reader.export())

    def mark(self) -> None:
        """What was given so far is not asked for again."""
        self._marked = self.place()

    def again(self) -> Iterator[list[Segment]]:
        """What was given since the mark."""
        begin, end = self._marked, self._now
        for number in range(begin.piece, end.piece + 1):
            place = begin if number == begin.piece else ReadPosition(number, None)
            yield from read_between(self.split, place, end.at if number == end.piece else None)

    def __iter__(self) -> Iterator[list[Segment]]:
        feeds = [self._piece(number, piece) for number, piece in enumerate(self.split.pieces)]
        if self.split.merged:
            yield from merged(feeds, [piece.low_ns or 0 for piece in self.split.pieces])
        else:
            for feed in feeds:
                yield from feed

    def _piece(self, number: int, piece: FileRange) -> Iterator[list[Segment]]:
        """What is wrong with a piece is noted, not raised."""
        reader = CaptureReader(before=before(piece.file))
        reader.cut_receiver = self._cut_receiver
        try:
            with open_ranges(piece.path, piece.name) as file:
                if piece.inflate:
                    yield from self._inflated(piece, file, reader)
                else:
                    yield from self._ranges(number, piece, file, reader)
            if reader.problem is not None:
                self.problems.append(problem_of(piece.name, reader.problem))
        except InputProblem as problem:
            self.problems.append(problem_of(piece.name, problem))
        except DecodeError as problem:  # of the state that the piece begins with
            text = f"bytes {piece.begin:,} to {piece.end:,} were not read: {problem.text}"
            self.problems.append(Problem(piece.name, None, text))
        self._count(reader)

    def _inflated(self, piece: FileRange, file: RangeFile, reader: CaptureReader) -> Iterator[list[Segment]]:
        source = as_input(file, piece.name, piece.size)
        taken = 0
        try:
            for data in source.pieces():
                self.taken += source.taken - taken  # other pieces may be read side by side
                taken = source.taken
                yield reader.feed(data)
                if reader.problem is not None:
                    return
        finally:
            reader.finish()

    def _ranges(self, number: int, piece: FileRange, file: RangeFile, reader: CaptureReader) -> Iterator[list[Segment]]:
        if piece.state:
            reader.resume(piece.state)
        at = piece.lead
        handed = piece.end if piece.handed is None else piece.handed
        since, until = 0, None
        try:
            for stop in sorted({piece.own, piece.begin, handed, piece.end}):
                while at < stop:
                    data = file.read(at, min(PIECE_SIZE, stop - at))
                    if not data:
                        if at < piece.begin:  # of what leads there nothing is this piece's
                            self._count(reader, -1)
                            since = reader.fragmented
                        raise InputProblem(f"{piece.name}: has become shorter while it was read")
                    found = reader.feed(data)
                    if at >= piece.begin:
                        self.taken += len(data)
                        self._now, self._reader = ReadPosition(number, at + len(data)), reader
                        yield found
                    at += len(data)
                    if reader.problem is not None:
                        return
                if stop == piece.own and not piece.grows:
                    since = reader.fragmented
                if stop == piece.begin:
                    self._count(reader, -1)
                if stop == piece.handed:
                    until = reader.fragmented
            if piece.goes_on:
                self.left[piece.file] = GrowingState(piece.end, reader.export(), piece.end - reader.at)
        finally:
            if piece.file not in self.left:
                reader.finish(since, until)

    def _count(self, reader: CaptureReader, sign: int = 1) -> None:
        for name, count in reader.counts.items():
            self.counts[name] += sign * count


def read_between(split: Split, place: ReadPosition, end: int | None = None) -> Iterator[list[Segment]]:
    """The segments of a piece from a place on, up to a byte, or to the piece's end."""
    piece = split.pieces[place.piece]
    reader = CaptureReader(before=before(piece.file))
    if place.state or piece.state:
        reader.resume(place.state or piece.state)
    stop = piece.end if end is None else end
    with open_ranges(piece.path, piece.name) as file:
        at = place.at
        if at is None:
            at = piece.lead
            while at < piece.begin and (data := file.read(at, min(PIECE_SIZE, piece.begin - at))):
                reader.feed(data)
                at += len(data)
        while at < stop and (data := file.read(at, min(PIECE_SIZE, stop - at))):
            yield reader.feed(data)
            at += len(data)
