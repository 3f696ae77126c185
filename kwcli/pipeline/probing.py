"""A large pcap file in, its pieces out, found by looking only at the places where it is cut.

A classic capture has no marks between its packets, but packet headers tell themselves apart: where a hundred kilobytes
of them follow one another, each at the end of the one before, there is a packet. Whether that was right is seen by who
reads the pieces: each has to end exactly where the next one begins. So nobody has to walk through the file before it is
read. What only a walk knows is how many packets come before a piece; until all are read their numbers follow one that
is as large as if packets were nothing but headers (`Piece.probed`), and who writes the tables makes them right.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from decoders.capture.numbering import before
from decoders.capture.pcap import HEADER_SIZE, MAGICS
from decoders.capture.walk import Walk
from kwcli.inputs import InputProblem
from kwcli.pipeline.access import open_place
from kwcli.pipeline.pieces import Piece

if TYPE_CHECKING:
    from kwcli.pipeline.access import Ranges
    from kwcli.pipeline.survey import Job

__all__ = ["probe"]

# Of every packet there is at least its header.
_HEAD: Final = 16


def probe(job: Job) -> list[Piece] | None:
    """The pieces of a file that is alone; None where it has to be walked.

    They are those of a walk, but for times, and for the numbers in their states.
    """
    source = job.source
    count = -(-source.size // job.split_size)
    if count < 2 or job.split_size < 12 * job.lead_size:
        return None
    try:
        with open_place(source.path, source.name) as file:
            head = file.read(0, HEADER_SIZE)
            if head[:4] not in MAGICS:
                return None
            pieces = [Piece(job.file, source.path, source.name, 0, source.size, probed=0)]
            for number in range(1, count):
                piece = _behind(job, file, head, source.size * number // count)
                if piece is None:
                    return None
                last = pieces.pop()
                pieces += [replace(last, end=piece.begin, handed=piece.own), piece]
    except InputProblem:
        return None  # a walk finds it, too
    return [replace(piece, weight=piece.size) for piece in pieces]


def _behind(job: Job, file: Ranges, head: bytes, cut: int) -> Piece | None:
    """The file from the last packet on that ends before byte `cut` or there."""
    far, near = max(cut - 2 * job.lead_size, HEADER_SIZE), max(cut - job.lead_size, HEADER_SIZE)
    walk = Walk(before=before(job.file))
    walk.feed(head)
    begin = max(far - job.lead_size, HEADER_SIZE)
    found = walk.search(file.read(begin, far - begin + job.lead_size))
    if walk.problem is not None or found is None or begin + found > far:
        return None
    walk.leap(begin + found, 0)
    marks = []
    for stop in (far, near, cut, min(cut + job.lead_size, job.source.size)):
        if walk.fed < stop:
            walk.feed(file.read(walk.fed, stop - walk.fed))
        marks.append(walk.mark())
    lead, own, mark, behind = marks
    if walk.problem is not None or behind.packets == mark.packets:
        return None
    probed = mark.at // _HEAD
    walk.leap(lead.at, probed - (mark.packets - lead.packets))
    state = walk.mark().state
    source = job.source
    return Piece(
        *(job.file, source.path, source.name, mark.at, source.size, lead.at, own.at),
        state=state,
        probed=probed,
    )
