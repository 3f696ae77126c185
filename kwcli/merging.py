"""Names of captures in, their segments by packet time out: each is read when its turn comes, whatever their number.

A capture's turn comes with its first segment. Where that is found near its beginning, nothing more is read before, and
the file is not kept open; else it is read at once up to its first segment, as one that can be read only once is.
Captures that overlap in time are read side by side: few of them open at a time, and in smaller pieces the more there
are, so that memory stays the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from decoders.capture.merge import merged
from decoders.capture.reader import CaptureReader
from decoders.limits import MERGED_MAX
from kwcli.inflating import PIECE_SIZE
from kwcli.inputs import CaptureSource, InputProblem, open_source
from kwcli.open_files import OpenFiles

if TYPE_CHECKING:
    from decoders.errors import DecodeError
    from decoders.streams.chunks import Segment
    from kwcli.env import Environment

__all__ = ["Captures"]

# Where a first segment is looked for: the first bytes, and where it is not in these, all of a piece.
_LOOKS: Final = (4096, PIECE_SIZE)
# Fewer bytes at a time cost more than they save.
_PIECE_MIN: Final = 4096


class Captures:
    """The inputs of one run. `problems` are those that cannot be opened, then those that cannot be read on.

    `size` is that of all together, where each has one; `taken` how much of it has been read.
    """

    def __init__(self, names: Iterable[str], env: Environment) -> None:
        self.problems: list[str] = []
        self.taken = 0
        self._files = OpenFiles()
        self._sources: list[CaptureSource] = []
        self._ended: Counter[str] = Counter()  # what the readers of those that have ended have counted
        self._reading: dict[int, CaptureReader] = {}
        self._cut: dict[int, DecodeError] = {}
        for name in names:
            try:
                self._sources.append(open_source(name, env, self._files))
            except InputProblem as problem:
                self.problems.append(problem.text)

    @property
    def count(self) -> int:
        """How many could be opened."""
        return len(self._sources)

    @property
    def size(self) -> int | None:
        """Bytes of all together, None where one of them has no size."""
        sizes = [source.size for source in self._sources]
        return None if None in sizes else sum(size or 0 for size in sizes)

    def __iter__(self) -> Iterator[list[Segment]]:
        """The segments; what is wrong with an input is noted, not raised."""
        feeds = [self._segments(number, source) for number, source in enumerate(self._sources)]
        if len(feeds) == 1:
            yield from feeds[0]
        else:
            yield from merged(feeds, [_first_ns(source) for source in self._sources])

    def _segments(self, number: int, source: CaptureSource) -> Iterator[list[Segment]]:
        reader = self._reading[number] = CaptureReader()
        taken = 0
        try:
            for piece in source.pieces():
                self.taken += source.taken - taken
                taken = source.taken
                for part in self._parts(piece):
                    yield reader.feed(part)
                    if reader.problem is not None:
                        return
            yield reader.finish()
        except InputProblem as problem:
            yield reader.feed(b"")
            self.problems.append(problem.text)
        finally:
            source.close()
            self._end(number)

    def _parts(self, piece: bytes) -> Iterator[bytes]:
        """A piece, in parts where many captures have one at hand."""
        size = max(MERGED_MAX // max(len(self._reading), 1), _PIECE_MIN)
        if len(piece) <= size:
            yield piece
            return
        for at in range(0, len(piece), size):
            yield piece[at : at + size]

    def _end(self, number: int) -> None:
        reader = self._reading.pop(number)
        self._ended.update(reader.counts)
        if reader.problem is not None:
            self._cut[number] = reader.problem

    def cut(self) -> Iterator[tuple[str, DecodeError]]:
        """The names of those that end inside a packet, or have something else in them, with what is wrong."""
        for number in sorted(self._cut):
            yield self._sources[number].name, self._cut[number]

    def counts(self) -> Counter[str]:
        """What the readers have counted."""
        counts = Counter(self._ended)
        for reader in self._reading.values():
            counts.update(reader.counts)
        return counts

    def close(self) -> None:
        """Give all files back to the system."""
        for source in self._sources:
            source.close()


def _first_ns(source: CaptureSource) -> int:
    """The time of the first segment, 0 where it is not near the beginning: then the capture is begun at once."""
    if not source.is_stored:
        return 0
    reader = CaptureReader()
    at = 0
    try:
        piece = next(source.again().pieces(), b"")
    except InputProblem:
        return 0  # told when its turn comes
    for end in _LOOKS:
        segments = reader.feed(piece[at:end])
        at = end
        if segments:
            return segments[0][1]
    return 0
