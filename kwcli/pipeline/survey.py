"""One capture in, the pieces of it that can be read alone out: walked once by its packet headers, packet by packet."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

from decoders.capture.numbering import before
from decoders.capture.walk import Mark, Walk
from kwcli.inputs import InputProblem
from kwcli.pipeline.access import open_place
from kwcli.pipeline.pieces import Piece, Problem, told
from kwcli.pipeline.sources import is_compressed, streamed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwcli.pipeline.access import Ranges
    from kwcli.pipeline.sources import SourceFile

__all__ = ["LEAD_SIZE", "Job", "Survey", "survey"]

# IP packets are made whole of fragments that are so far apart, at the end of one piece and the beginning of another:
# hundreds of packets. Twice this is read again, to tell them from those of which only the end lies there.
LEAD_SIZE: Final = 1 << 19
# `python -m tests.bench.capture`: of larger windows the processor's cache keeps nothing.
_WINDOW: Final = 1 << 18


class Job(NamedTuple):
    """What is wanted of file number `file`. `alone`: no other file belongs to its capture point."""

    file: int
    source: SourceFile
    split_size: int
    lead_size: int = LEAD_SIZE
    alone: bool = False


class Survey(NamedTuple):
    """The pieces of a file in its own order, and what is wrong with it.

    A problem in the middle of a file is met again by who reads the piece that it is in, and is told there; here only
    where the file has no packet before it.
    """

    pieces: list[Piece]
    problem: Problem | None


def survey(job: Job) -> Survey:
    """Look at one file. Picklable things in and out, so that many can be looked at side by side."""
    source = job.source
    walk = Walk(before=before(job.file))
    pieces: list[Piece] = []
    try:
        with open_place(source.path, source.name) as file:
            begin = streamed(file, source.name).pieces()
            head = next(begin)  # or it is no capture
            if is_compressed(file.read(0, 4)):
                pieces = _whole(job, walk, chain([head], begin))
            else:
                pieces = _cut(job, walk, file)
    except InputProblem as problem:
        return Survey([], told(source.name, problem))
    return Survey(pieces, None if pieces or walk.problem is None else told(source.name, walk.problem))


def _cut(job: Job, walk: Walk, file: Ranges) -> list[Piece]:
    """Pieces of at most the split's size, as equal as packets allow, and with a packet each."""
    size = job.source.size
    count = -(-size // job.split_size)
    cuts = {size * number // count for number in range(1, count)}
    leads = {cut: [max(cut - size, 0) for size in (2 * job.lead_size, job.lead_size)] for cut in cuts}
    marks: dict[int, Mark] = {}
    done: list[Piece] = []
    piece = Piece(job.file, job.source.path, job.source.name, 0, size)
    begun = 0  # packets before the piece
    for stop in sorted({size, *cuts, *chain.from_iterable(leads.values())}):
        mark = marks[stop] = _walked(walk, file, stop)
        piece = _with_times(piece, mark, begun)
        if stop in cuts and piece.packets and walk.problem is None:
            lead, own = (marks[place] for place in leads[stop])
            done.append(replace(piece, end=mark.at, weight=mark.at - piece.begin, handed=own.at))
            piece = replace(piece, begin=mark.at, lead=lead.at, own=own.at, state=lead.state)
            piece = replace(piece, low_ns=None, high_ns=None, packets=0)
            begun = mark.packets
    walk.finish()
    if piece.packets:
        done.append(replace(piece, weight=piece.size))
    elif done:  # what is left holds no packet: maybe statistics, maybe what is wrong with the file
        done[-1] = replace(done[-1], end=size, weight=size - done[-1].begin, handed=None)
    elif _tells(walk):
        done.append(piece)
    return done


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


def _with_times(piece: Piece, mark: Mark, begun: int) -> Piece:
    lows = [at for at in (piece.low_ns, mark.low_ns) if at is not None]
    highs = [at for at in (piece.high_ns, mark.high_ns) if at is not None]
    return replace(
        piece, low_ns=min(lows, default=None), high_ns=max(highs, default=None), packets=mark.packets - begun
    )


def _whole(job: Job, walk: Walk, data: Iterator[bytes]) -> list[Piece]:
    """A compressed file, which is read from its beginning or not at all.

    When it ends is known only to who decompresses all of it, so that is done where another file may overlap with it:
    guessed would be wrong now and then. Alone, its first packet tells all that is needed.
    """
    piece = Piece(job.file, job.source.path, job.source.name, 0, job.source.size, inflate=True)
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
