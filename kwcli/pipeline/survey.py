"""One capture in, the pieces of it that can be read alone out: walked once by its packet headers, packet by packet."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

from decoders.capture.numbering import before
from decoders.capture.walk import Mark, Walk
from kwcli.inflating import is_compressed
from kwcli.inputs import InputProblem
from kwcli.pipeline.access import open_place
from kwcli.pipeline.pieces import FileRange, Problem, told
from kwcli.pipeline.sources import streamed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwcli.pipeline.access import Ranges
    from kwcli.pipeline.sources import SourceFile

__all__ = ["LEAD_SIZE", "Job", "Looking", "Survey", "survey"]

# IP packets are made whole of fragments that are so far apart, at the end of one piece and the beginning of another:
# hundreds of packets. Twice this is read again, to tell them from those of which only the end lies there.
LEAD_SIZE: Final = 1 << 19
# `python -m tests.bench.capture`: of larger windows the processor's cache keeps nothing.
_WINDOW: Final = 1 << 18


class Job(NamedTuple):
    """What is wanted of file number `file`. `alone`: no other file belongs to its capture point.

    Without `walk` a file that is alone, and no larger than a split, is not walked: nobody has to know where it ends.
    """

    file: int
    source: SourceFile
    split_size: int
    lead_size: int = LEAD_SIZE
    alone: bool = False
    walk: bool = True


class Survey(NamedTuple):
    """The pieces of a file in its own order, and what is wrong with it.

    A problem in the middle of a file is met again by who reads the piece that it is in, and is told there; here only
    where the file has no packet before it.
    """

    pieces: list[FileRange]
    problem: Problem | None


def survey(job: Job) -> Survey:
    """Look at one file. Picklable things in and out, so that many can be looked at side by side."""
    looking = Looking(job)
    try:
        return Survey(list(looking), looking.problem)
    except InputProblem:
        return Survey([], looking.problem)


class Looking:
    """The same piece by piece, as soon as each is known; `problem` is known when there are no more.

    Of a file that cannot be read nothing is given.
    """

    def __init__(self, job: Job) -> None:
        self.problem: Problem | None = None
        self._job = job

    def __iter__(self) -> Iterator[FileRange]:
        source = self._job.source
        walk = Walk(before=before(self._job.file))
        count = 0
        try:
            with open_place(source.path, source.name) as file:
                for piece in _pieces(self._job, walk, file):
                    count += 1
                    yield piece
        except InputProblem as problem:
            self.problem = told(source.name, problem)
            if count:  # they are given, and who reads them meets it again
                raise
        else:
            if not count and walk.problem is not None:
                self.problem = told(source.name, walk.problem)


def _pieces(job: Job, walk: Walk, file: Ranges) -> Iterator[FileRange]:
    begin = streamed(file, job.source.name).pieces()
    head = next(begin)  # or it is no capture
    if is_compressed(file.read(0, 4)):
        yield from _whole(job, walk, chain([head], begin))
    elif job.alone and not job.walk and job.source.size <= job.split_size:
        yield from _unwalked(job, walk, file)
    else:
        yield from _cut(job, walk, file)


def _cut(job: Job, walk: Walk, file: Ranges) -> Iterator[FileRange]:
    """Pieces of at most the split's size, as equal as packets allow, and with a packet each."""
    size = job.source.size
    count = -(-size // job.split_size)
    cuts = {size * number // count for number in range(1, count)}
    leads = {cut: [max(cut - size, 0) for size in (2 * job.lead_size, job.lead_size)] for cut in cuts}
    looks = {min(cut + job.lead_size, size) for cut in cuts}  # whether anything follows
    marks: dict[int, Mark] = {}
    ended: FileRange | None = None  # to be given when there is a packet behind it
    piece = FileRange(job.file, job.source.path, job.source.name, 0, size)
    begun = 0  # packets before the piece
    for stop in sorted({size, *cuts, *looks, *chain.from_iterable(leads.values())}):
        mark = marks[stop] = _walked(walk, file, stop)
        piece = _with_times(piece, mark, begun)
        if ended is not None and piece.packets:
            yield ended
            ended = None
        if stop in cuts and piece.packets and walk.problem is None:
            lead, own = (marks[place] for place in leads[stop])
            ended = replace(piece, end=mark.at, weight=mark.at - piece.begin, handed=own.at)
            piece = replace(piece, begin=mark.at, lead=lead.at, own=own.at, state=lead.state)
            piece = replace(piece, low_ns=None, high_ns=None, packets=0)
            begun = mark.packets
    walk.finish()
    if piece.packets:
        yield replace(piece, weight=piece.size)
    elif ended is not None:  # what is left holds no packet: maybe statistics, maybe what is wrong with the file
        yield replace(ended, end=size, weight=size - ended.begin, handed=None)
    elif not begun and _tells(walk):
        yield piece


def _unwalked(job: Job, walk: Walk, file: Ranges) -> Iterator[FileRange]:
    """All of a file, which is looked at up to its first packet."""
    piece = FileRange(job.file, job.source.path, job.source.name, 0, job.source.size, weight=job.source.size)
    while not walk.packets and walk.problem is None and (data := file.read(walk.fed, _WINDOW)):
        walk.feed(data)
    if not walk.packets:
        walk.finish()
    if _tells(walk):
        yield replace(piece, low_ns=walk.mark().low_ns)


def _walked(walk: Walk, file: Ranges, stop: int) -> Mark:
    """The place behind the last packet that ends before byte `stop` or there."""
    at = walk.fed
    while at < stop and walk.problem is None:
        data = file.read(at, min(_WINDOW, stop - at))
        if not data:
            break
        walk.feed(data)
        at += len(data)
    return walk.mark()


def _with_times(piece: FileRange, mark: Mark, begun: int) -> FileRange:
    lows = [at for at in (piece.low_ns, mark.low_ns) if at is not None]
    highs = [at for at in (piece.high_ns, mark.high_ns) if at is not None]
    return replace(
        piece, low_ns=min(lows, default=None), high_ns=max(highs, default=None), packets=mark.packets - begun
    )


def _whole(job: Job, walk: Walk, data: Iterator[bytes]) -> list[FileRange]:
    """A compressed file, which is read from its beginning or not at all.

    When it ends is known only to who decompresses all of it, so that is done where another file may overlap with it:
    guessed would be wrong now and then. Alone, its first packet tells all that is needed.
    """
    piece = FileRange(job.file, job.source.path, job.source.name, 0, job.source.size, inflate=True)
    try:
        for part in data:
            walk.feed(part)
            if walk.problem is not None or (job.alone and walk.packets):
                break
        else:
            walk.finish()
    except InputProblem:
        if not _tells(walk, whole=False):
            raise
    mark = walk.mark()
    if job.alone:
        return [replace(piece, low_ns=mark.low_ns, weight=piece.size)]
    return [replace(_with_times(piece, mark, 0), weight=mark.at)] if _tells(walk) else []


def _tells(walk: Walk, *, whole: bool = True) -> bool:
    """Whether reading gives anything but a problem: packets, what the capture says it dropped, or that it is empty."""
    return any(walk.counts.values()) or (whole and walk.problem is None)
