"""A split in, its segments out in batches; afterwards the counts and problems of its files."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from decoders.capture.decompress_gzip_zstd_lz4 import PIECE_SIZE
from decoders.capture.merge_captures import merge_segments, packet_number_before_file
from decoders.capture.read_capture import CaptureReader
from decoders.errors import DecodeError
from decoders.named_tuple import NamedTuple
from kwcli.pipeline.read.find_captures import make_capture_source, open_range_file
from kwcli.pipeline.read.split_and_file_range import Problem, make_problem_of_error
from kwcli.reading.decompress_inputs import InputProblem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from decoders.capture.segments_of_cut_out_packets import CutReceiver
    from decoders.tcp.stream_chunks import Segment
    from kwcli.pipeline.read.find_captures import RangeFile
    from kwcli.pipeline.read.split_and_file_range import FileRange, Split

__all__ = ["GrowingState", "ReadPosition", "SplitReader", "read_segments_between"]


class ReadPosition(NamedTuple):
    """Byte `at` of a piece (None: its beginning), with the state of its reader there."""

    piece: int
    at: int | None
    state: bytes = b""


class GrowingState(NamedTuple):
    """How far a growing file is read: byte `at`, the reader's state there, and bytes of a packet that is not whole."""

    at: int
    state: bytes
    waiting: int


class SplitReader:
    """The segments of one split, to be iterated once; packet numbers are `file << 40 | number` (merge_captures.py).

    `counts` and `problems` grow during the iteration. `counts` has what `CaptureReader.counts` says; over all splits of
    a file it adds up to the counts of the whole file. `problems` has what ended the reading of a file before the end of
    its piece. `taken` counts bytes of files. `cut_receiver` gets what notes say in a capture that was cut out of
    another one (segments_of_cut_out_packets.py). `left` has the states of files that go on, by the files' numbers.

    `repeats`: the split is neither merged nor decompressed, so `again` can give the segments since `mark` once more.
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
    def position(self) -> ReadPosition:
        """The position that was read to, without the state of the reader."""
        return self._now

    def position_with_state(self) -> ReadPosition:
        """The position that was read to, with the state of the reader: `read_segments_between` can begin there."""
        return self._now._replace(state=b"" if self._reader is None else self._reader.export())

    def mark_as_done(self) -> None:
        """Mark the current position: `reread` begins here."""
        self._marked = self.position_with_state()

    def reread_since_mark(self) -> Iterator[list[Segment]]:
        """The segments since the mark, read from the files once more."""
        begin, end = self._marked, self._now
        for number in range(begin.piece, end.piece + 1):
            place = begin if number == begin.piece else ReadPosition(number, None)
            yield from read_segments_between(self.split, place, end.at if number == end.piece else None)

    def __iter__(self) -> Iterator[list[Segment]]:
        feeds = [self._read_piece(number, piece) for number, piece in enumerate(self.split.pieces)]
        if self.split.merged:
            yield from merge_segments(feeds, [piece.low_ns or 0 for piece in self.split.pieces])
        else:
            for feed in feeds:
                yield from feed

    def _read_piece(self, number: int, piece: FileRange) -> Iterator[list[Segment]]:
        """The segments of a piece; what is wrong with it is added to `problems`, not raised."""
        reader = CaptureReader(before=packet_number_before_file(piece.file))
        if piece.grows and piece.state and not _is_readable_state(piece.state):  # another version of kw left it
            piece = replace(piece, state=b"", lead=0)
        reader.cut_receiver = self._cut_receiver
        try:
            with open_range_file(piece.path, piece.name) as file:
                if piece.inflate:
                    yield from self._read_inflated(piece, file, reader)
                else:
                    yield from self._read_ranges(number, piece, file, reader)
            if reader.problem is not None:
                self.problems.append(make_problem_of_error(piece.name, reader.problem))
        except InputProblem as problem:
            self.problems.append(make_problem_of_error(piece.name, problem))
        except DecodeError as problem:  # of the state that the piece begins with
            text = f"bytes {piece.begin:,} to {piece.end:,} were not read: {problem.text}"
            self.problems.append(Problem(piece.name, None, text))
        self._add_packet_counts(reader)

    def _read_inflated(self, piece: FileRange, file: RangeFile, reader: CaptureReader) -> Iterator[list[Segment]]:
        source = make_capture_source(file, piece.name, piece.size)
        taken = 0
        try:
            for data in source.read_capture_pieces():
                self.taken += source.taken - taken  # other pieces may be read side by side
                taken = source.taken
                yield reader.feed(data)
                if reader.problem is not None:
                    return
        finally:
            reader.finish()

    def _read_ranges(
        self, number: int, piece: FileRange, file: RangeFile, reader: CaptureReader
    ) -> Iterator[list[Segment]]:
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
                        if at < piece.begin:  # the bytes up to there are not this piece's
                            self._add_packet_counts(reader, -1)
                            since = reader.count_fragmented_packets
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
                    since = reader.count_fragmented_packets
                if stop == piece.begin:
                    self._add_packet_counts(reader, -1)
                if stop == piece.handed:
                    until = reader.count_fragmented_packets
            if piece.goes_on:
                self.left[piece.file] = GrowingState(piece.end, reader.export(), piece.end - reader.at)
        finally:
            if piece.file not in self.left:
                reader.finish(since, until)

    def _add_packet_counts(self, reader: CaptureReader, sign: int = 1) -> None:
        for name, count in reader.counts.items():
            self.counts[name] += sign * count


def _is_readable_state(state: bytes) -> bool:
    try:
        CaptureReader().resume(state)
    except DecodeError:
        return False
    return True


def read_segments_between(split: Split, place: ReadPosition, end: int | None = None) -> Iterator[list[Segment]]:
    """The segments of a piece from a place on, up to a byte, or to the piece's end."""
    piece = split.pieces[place.piece]
    reader = CaptureReader(before=packet_number_before_file(piece.file))
    if place.state or piece.state:
        reader.resume(place.state or piece.state)
    stop = piece.end if end is None else end
    with open_range_file(piece.path, piece.name) as file:
        at = place.at
        if at is None:
            at = piece.lead
            while at < piece.begin and (data := file.read(at, min(PIECE_SIZE, piece.begin - at))):
                reader.feed(data)
                at += len(data)
        while at < stop and (data := file.read(at, min(PIECE_SIZE, stop - at))):
            yield reader.feed(data)
            at += len(data)
