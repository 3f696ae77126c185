"""Captures in, the splits that one task each reads out, in capture time: each begins exactly where another ends.

Of one capture point the files make one sequence, as `kw sniff` makes of several: each file in its own order, of the
next packets of all the earliest first. A cut of that sequence is made only where it is one: where all packets before
it, of whatever file, are earlier than all packets behind it of every other file.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING, Final, NamedTuple

from kwcli.pipeline.pieces import FileRange, Problem, Split
from kwcli.pipeline.survey import LEAD_SIZE, Job, Looking, Survey, survey

if TYPE_CHECKING:
    from kwcli.pipeline.sources import SourceFile

__all__ = ["SPLIT_SIZE", "SplitPlan", "arriving", "plan", "split_size_for"]

SPLIT_SIZE: Final = 256 << 20
# From here on splits are twice as large.
LARGE: Final = 8 * 10**9
# Splits are not made smaller than this for the sake of many cores.
SPLIT_MIN: Final = 64 << 20
_NEVER: Final = (-2, -1)  # before all times, of no file


class SplitPlan(NamedTuple):
    """The splits by capture point and time, what is wrong with files of which nothing is read, and what to tell."""

    splits: list[Split]
    problems: list[Problem]
    notes: list[str]


class _Unit(NamedTuple):
    """Piece `number` of a file with the times that count, each with the file's index, which decides between equals:
    the earliest time of this and the file's later pieces, the latest of this and its earlier ones.
    """

    low: tuple[int, int]
    high: tuple[int, int]
    number: int
    piece: FileRange

    def place(self) -> tuple[tuple[int, int], int]:
        """By this units are in order."""
        return self.low, self.number


def split_size_for(size: int) -> int:
    """Bytes of one split, of `size` in all: where that is much larger ones, since each costs something a connection.

    Several are as many for each core of this machine, so that none waits for the last of another.
    """
    largest = SPLIT_SIZE if size <= LARGE else 2 * SPLIT_SIZE
    count = -(-size // largest)
    if count < 2:
        return largest
    cores = max(min(os.cpu_count() or 1, size // SPLIT_MIN), 1)
    return -(-size // (-(-count // cores) * cores))


def plan(
    files: Sequence[SourceFile],
    split_size: int = SPLIT_SIZE,
    *,
    lead_size: int = LEAD_SIZE,
    walk: bool = True,
    each: Callable[[Callable[[Job], Survey], list[Job]], Iterable[Survey]] = map,
) -> SplitPlan:
    """The splits of these files, whose numbers are their indexes here.

    Each is at most `split_size` bytes where files do not overlap in time. The files are looked at one by one with
    `each`, which may be the `map` of a pool of processes; without `walk` only as far as it takes to find the splits.
    """
    points = Counter(file.point for file in files)
    jobs = [
        Job(number, file, split_size, lead_size, points[file.point] == 1, walk) for number, file in enumerate(files)
    ]
    made = SplitPlan([], [], [])
    units: dict[str, list[_Unit]] = {point: [] for point in points}
    for job, found in zip(jobs, each(survey, jobs), strict=True):
        units[job.source.point] += _units(found.pieces)
        if found.problem is not None:
            made.problems.append(found.problem)
    for point, some in units.items():
        groups = [_joined(group) for group in _separate(sorted(some, key=_Unit.place))]
        large = [group for group in groups if len(group) > 1 and _weight(group) > split_size]
        made.notes.extend([_note(point, large)] if large else [])
        together = _together(groups, split_size)
        made.splits.extend(
            Split(point, number, tuple(pieces), merged) for number, (pieces, merged) in enumerate(together)
        )
    return made


def arriving(file: SourceFile, split_size: int, plan: SplitPlan, *, lead_size: int = LEAD_SIZE) -> Iterator[Split]:
    """The splits of a file that is all there is, each as soon as it is known; they and what is wrong go into a plan.

    They are those of `plan`: pieces of one file follow one another, and two together are larger than a split.
    """
    looking = Looking(Job(0, file, split_size, lead_size, alone=True))
    for number, piece in enumerate(looking):
        plan.splits.append(Split(file.point, number, (piece,)))
        yield plan.splits[-1]
    if looking.problem is not None:
        plan.problems.append(looking.problem)


def _units(pieces: list[FileRange]) -> list[_Unit]:
    """The pieces of one file in its own order; one without a time comes before all times."""
    lows = [-1 if piece.low_ns is None else piece.low_ns for piece in pieces]
    highs = [low if piece.high_ns is None else piece.high_ns for piece, low in zip(pieces, lows, strict=True)]
    since = reversed(list(accumulate(reversed(lows), min)))
    until = accumulate(highs, max)
    return [
        _Unit((low, piece.file), (high, piece.file), number, piece)
        for number, (low, high, piece) in enumerate(zip(since, until, pieces, strict=True))
    ]


def _separate(units: list[_Unit]) -> Iterator[list[_Unit]]:
    """Groups that follow one another.

    Since a unit's times take in those of the file's later (or earlier) units, wherever the sequence can be cut the
    units before the cut are the first ones by `_Unit.place`.
    """
    others = _others(units)
    group: list[_Unit] = []
    latest = second = _NEVER  # of all units so far; of those of other files than that of the latest
    for unit, other in zip(units, others, strict=True):
        same = unit.low[1] == latest[1]
        if group and (second < unit.low and (other is None or latest < other.low) if same else latest < unit.low):
            yield group
            group = []
        group.append(unit)
        if unit.high[1] == latest[1]:
            latest = max(latest, unit.high)
        elif unit.high > latest:
            latest, second = unit.high, latest
        else:
            second = max(second, unit.high)
    if group:
        yield group


def _others(units: list[_Unit]) -> list[_Unit | None]:
    """For each unit the next one that is of another file."""
    found: list[_Unit | None] = []
    behind: _Unit | None = None  # the unit behind the one at hand, and what is its own answer
    other: _Unit | None = None
    for unit in reversed(units):
        if behind is not None and behind.low[1] != unit.low[1]:
            other = behind
        found.append(other)
        behind = unit
    return found[::-1]


def _joined(group: list[_Unit]) -> list[FileRange]:
    """The pieces of a group, one a file."""
    pieces: dict[int, FileRange] = {}
    for unit in group:
        piece = unit.piece
        known = pieces.get(piece.file)
        pieces[piece.file] = piece if known is None else _longer(known, piece)
    return [pieces[file] for file in sorted(pieces)]


def _longer(piece: FileRange, more: FileRange) -> FileRange:
    """Both, the second of which begins where the first ends."""
    lows = [at for at in (piece.low_ns, more.low_ns) if at is not None]
    highs = [at for at in (piece.high_ns, more.high_ns) if at is not None]
    return replace(
        piece,
        end=more.end,
        handed=more.handed,
        low_ns=min(lows, default=None),
        high_ns=max(highs, default=None),
        packets=(piece.packets or 0) + (more.packets or 0),
        weight=piece.weight + more.weight,
    )


def _together(groups: list[list[FileRange]], split_size: int) -> Iterator[tuple[list[FileRange], bool]]:
    """Pieces that are small and follow one another are read by one task."""
    some: list[FileRange] = []
    for group in groups:
        if some and (len(group) > 1 or _weight(some) + _weight(group) > split_size):
            yield some, False
            some = []
        if len(group) > 1:
            yield group, True
        else:
            some += group
    if some:
        yield some, False


def _weight(pieces: list[FileRange]) -> int:
    return sum(piece.weight for piece in pieces)


def _note(point: str, groups: list[list[FileRange]]) -> str:
    """Groups of captures too large for a split, which cannot be cut."""
    largest = max(groups, key=_weight)
    names = ", ".join(piece.name for piece in largest[:3]) + (" …" if len(largest) > 3 else "")
    return (
        f"{f'{point}: ' if point else ''}captures overlap in time, so one task reads "
        f"{_weight(largest) / 1e6:,.1f} MB of {len(largest):,} files: {names}"
        f"{f' (and {len(groups) - 1:,} times more)' if len(groups) > 1 else ''}; "
        "captures of several machines can be told apart with --point"
    )
