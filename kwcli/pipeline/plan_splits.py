"""Captures in, splits out, in capture time: one task reads a split, and each begins exactly where another ends.

The problem. A capture has no index, and the meaning of a packet depends on the packets before it.

The idea. One walk over the packet headers of each file finds places where it can be cut; the files of a capture point
are then one sequence by time, cut into splits of about the same size:

```
file 0  ├──piece──┼──piece──┤
file 1               ├──piece──┼──piece──┤      pieces: ranges of one file, with the time of their first and last packet
        ├───split 0────┼────split 1─────┤       splits: ranges of one capture point, in time, over as many files
```

What always holds: every packet is in exactly one split, and splits in order have the packets in the order in which
`kw sniff` reads them. The splits of one large capture are handed out while the walk still goes on. What is given up: a
compressed file is one piece, since nothing can be read from its middle.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import accumulate, chain
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Final

from decoders.capture.decompress_gzip_zstd_lz4 import COMPRESSED
from decoders.capture.find_cut_points import CutPoint, CutPointFinder
from decoders.capture.merge_captures import packet_number_before_file
from decoders.named_tuple import NamedTuple
from kwcli.pipeline.background_call import BackgroundCall
from kwcli.pipeline.read.find_captures import make_capture_source, open_range_file
from kwcli.pipeline.read.split_and_file_range import FileRange, Problem, Split, make_problem_of_error
from kwcli.reading.decompress_inputs import InputProblem

if TYPE_CHECKING:
    from kwcli.pipeline.read.find_captures import RangeFile, SourceFile
    from kwcli.pipeline.run_options import RunOptions

__all__ = [
    "LEAD_SIZE",
    "SPLIT_SIZE",
    "FileWalk",
    "PendingPlan",
    "SplitPlan",
    "WalkJob",
    "WalkedFile",
    "choose_split_size",
    "cut_file_into_pieces",
    "group_pieces_by_time",
    "iterate_splits_of_single_file",
    "make_finished_plan",
    "plan_splits",
    "plan_splits_of_captures",
    "start_planning",
]

# IP packets are reassembled from fragments up to this many bytes apart (hundreds of packets), across the border of two
# pieces. Twice as much is read again, to tell these packets from packets of which only the end lies there.
LEAD_SIZE: Final = 1 << 19
# `python -m tests.bench.capture`: larger windows do not stay in the processor's cache.
_WINDOW: Final = 1 << 18


class WalkJob(NamedTuple):
    """The walk over file number `file`, as it is asked for. `alone`: no other file belongs to its capture point.

    Without `walk` a file that is alone, and no larger than a split, is read up to its first packet only: the time of
    its end is not needed.
    """

    file: int
    source: SourceFile
    split_size: int
    lead_size: int = LEAD_SIZE
    alone: bool = False
    walk: bool = True


class WalkedFile(NamedTuple):
    """The pieces of a file in its own order, and what is wrong with it.

    A problem in the middle of a file is reported by the reader of the piece that it is in; here only where the file
    has no packet before it.
    """

    pieces: list[FileRange]
    problem: Problem | None


def cut_file_into_pieces(job: WalkJob) -> WalkedFile:
    """Walk one file. Argument and result can be pickled, so that processes can walk files side by side."""
    looking = FileWalk(job)
    try:
        return WalkedFile(list(looking), looking.problem)
    except InputProblem:
        return WalkedFile([], looking.problem)


class FileWalk:
    """Iterates over the pieces of a file, each as soon as it is known; `problem` is known when there are no more.

    A file that cannot be read has no pieces.
    """

    def __init__(self, job: WalkJob) -> None:
        self.problem: Problem | None = None
        self._job = job

    def __iter__(self) -> Iterator[FileRange]:
        source = self._job.source
        walk = CutPointFinder(before=packet_number_before_file(self._job.file))
        count = 0
        try:
            with open_range_file(source.path, source.name) as file:
                for piece in _cut_walked_file(self._job, walk, file):
                    count += 1
                    yield piece
        except InputProblem as problem:
            self.problem = make_problem_of_error(source.name, problem)
            if count:  # pieces are given already, and their reader meets it again
                raise
        else:
            if not count and walk.problem is not None:
                self.problem = make_problem_of_error(source.name, walk.problem)


def _cut_walked_file(job: WalkJob, walk: CutPointFinder, file: RangeFile) -> Iterator[FileRange]:
    begin = make_capture_source(file, job.source.name).read_capture_pieces()
    head = next(begin)  # or it is no capture
    if COMPRESSED.match(file.read(0, 4)) is not None:
        yield from _read_compressed_piece(job, walk, chain([head], begin))
    elif job.alone and not job.walk and job.source.size <= job.split_size:
        yield from _read_beginning_as_piece(job, walk, file)
    else:
        yield from _cut_plain_file(job, walk, file)


def _cut_plain_file(job: WalkJob, walk: CutPointFinder, file: RangeFile) -> Iterator[FileRange]:
    """The pieces of a file: at most the split's size, as equal as packets allow, and with a packet each."""
    size = job.source.size
    count = -(-size // job.split_size)
    cuts = {size * number // count for number in range(1, count)}
    leads = {cut: [max(cut - size, 0) for size in (2 * job.lead_size, job.lead_size)] for cut in cuts}
    looks = {min(cut + job.lead_size, size) for cut in cuts}  # whether anything follows
    marks: dict[int, CutPoint] = {}
    ended: FileRange | None = None  # to be yielded when a packet follows
    piece = FileRange(job.file, job.source.path, job.source.name, 0, size)
    begun = 0  # packets before the piece
    for stop in sorted({size, *cuts, *looks, *chain.from_iterable(leads.values())}):
        mark = marks[stop] = _walk_to_byte(walk, file, stop)
        piece = _add_times_to_piece(piece, mark, begun)
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
    elif ended is not None:  # the rest holds no packet: maybe statistics, maybe the file's damage
        yield replace(ended, end=size, weight=size - ended.begin, handed=None)
    elif not begun and _has_packets_or_drops(walk):
        yield piece


def _read_beginning_as_piece(job: WalkJob, walk: CutPointFinder, file: RangeFile) -> Iterator[FileRange]:
    """The whole file as one piece, of which only the beginning is read, up to the first packet."""
    piece = FileRange(job.file, job.source.path, job.source.name, 0, job.source.size, weight=job.source.size)
    while not walk.packet_count and walk.problem is None and (data := file.read(walk.fed_size, _WINDOW)):
        walk.feed(data)
    if not walk.packet_count:
        walk.finish()
    if _has_packets_or_drops(walk):
        yield replace(piece, low_ns=walk.mark_cut_point().low_ns)


def _walk_to_byte(walk: CutPointFinder, file: RangeFile, stop: int) -> CutPoint:
    """The place behind the last packet that ends at or before byte `stop`."""
    at = walk.fed_size
    while at < stop and walk.problem is None:
        data = file.read(at, min(_WINDOW, stop - at))
        if not data:
            break
        walk.feed(data)
        at += len(data)
    return walk.mark_cut_point()


def _add_times_to_piece(piece: FileRange, mark: CutPoint, begun: int) -> FileRange:
    lows = [at for at in (piece.low_ns, mark.low_ns) if at is not None]
    highs = [at for at in (piece.high_ns, mark.high_ns) if at is not None]
    return replace(
        piece, low_ns=min(lows, default=None), high_ns=max(highs, default=None), packets=mark.packets - begun
    )


def _read_compressed_piece(job: WalkJob, walk: CutPointFinder, data: Iterator[bytes]) -> list[FileRange]:
    """A compressed file as one piece: it can be read from its beginning only.

    The time of its last packet is known only after all of it is decompressed, so that is done where another file may
    overlap with it: a guess would be wrong now and then. For a file that is alone, the first packet is enough.
    """
    piece = FileRange(job.file, job.source.path, job.source.name, 0, job.source.size, inflate=True)
    try:
        for part in data:
            walk.feed(part)
            if walk.problem is not None or (job.alone and walk.packet_count):
                break
        else:
            walk.finish()
    except InputProblem:
        if not _has_packets_or_drops(walk, whole=False):
            raise
    mark = walk.mark_cut_point()
    if job.alone:
        return [replace(piece, low_ns=mark.low_ns, weight=piece.size)]
    return [replace(_add_times_to_piece(piece, mark, 0), weight=mark.at)] if _has_packets_or_drops(walk) else []


def _has_packets_or_drops(walk: CutPointFinder, *, whole: bool = True) -> bool:
    """Whether reading gives more than a problem: packets, the capture's own count of drops, or that it is empty."""
    return any(walk.counts.values()) or (whole and walk.problem is None)


# The files of one capture point make one sequence, as `kw sniff` makes of several files: each file in its own order,
# and of the next packets of all files the earliest first. The sequence is cut only where all packets before the cut, of
# any file, are earlier than all packets behind it of every other file.


SPLIT_SIZE: Final = 256 << 20
# From this many bytes on splits are twice as large.
LARGE: Final = 8 * 10**9
# Splits are not made smaller than this for the sake of many cores.
SPLIT_MIN: Final = 64 << 20
_NEVER: Final = (-2, -1)  # before all times, of no file


class SplitPlan(NamedTuple):
    """The splits by capture point and time, the problems of files of which nothing is read, and notes for the user."""

    splits: list[Split]
    problems: list[Problem]
    notes: list[str]


class _Unit(NamedTuple):
    """Piece `number` of a file, with the times that order it among the pieces of other files.

    `low` is the earliest time of this and the file's later pieces, `high` the latest of this and its earlier ones;
    each has the file's index, which decides between equal times.
    """

    low: tuple[int, int]
    high: tuple[int, int]
    number: int
    piece: FileRange

    def time_and_place_key(self) -> tuple[tuple[int, int], int]:
        """The sort key of units."""
        return self.low, self.number


def choose_split_size(size: int) -> int:
    """Bytes of one split of `size` bytes in all: more for large sizes, since each split costs something a connection.

    Several splits are a multiple of this machine's cores, so that no core waits for another's last split.
    """
    largest = SPLIT_SIZE if size <= LARGE else 2 * SPLIT_SIZE
    count = -(-size // largest)
    if count < 2:
        return largest
    cores = max(min(os.cpu_count() or 1, size // SPLIT_MIN), 1)
    return -(-size // (-(-count // cores) * cores))


def plan_splits(
    files: Sequence[SourceFile],
    split_size: int = SPLIT_SIZE,
    *,
    lead_size: int = LEAD_SIZE,
    walk: bool = True,
    each: Callable[[Callable[[WalkJob], WalkedFile], list[WalkJob]], Iterable[WalkedFile]] = map,
) -> SplitPlan:
    """The splits of these files, whose numbers are their indexes here.

    Each is at most `split_size` bytes where files do not overlap in time. The files are walked one by one with
    `each`, which may be the `map` of a pool of processes; without `walk` only as far as it takes to find the splits.
    """
    points = Counter(file.point for file in files)
    jobs = [
        WalkJob(number, file, split_size, lead_size, points[file.point] == 1, walk) for number, file in enumerate(files)
    ]
    made = SplitPlan([], [], [])
    pieces_of: dict[str, list[list[FileRange]]] = {point: [] for point in points}
    for job, found in zip(jobs, each(cut_file_into_pieces, jobs), strict=True):
        pieces_of[job.source.point].append(found.pieces)
        if found.problem is not None:
            made.problems.append(found.problem)
    for point, some in pieces_of.items():
        groups = group_pieces_by_time(some)
        large = [group for group in groups if len(group) > 1 and _sum_weights(group) > split_size]
        made.notes.extend([_format_overlap_note(point, large)] if large else [])
        together = _gather_into_splits(groups, split_size)
        made.splits.extend(
            Split(point, number, tuple(pieces), merged) for number, (pieces, merged) in enumerate(together)
        )
    return made


def iterate_splits_of_single_file(
    file: SourceFile, split_size: int, plan: SplitPlan, *, lead_size: int = LEAD_SIZE
) -> Iterator[Split]:
    """The splits of a run's only file, each as soon as it is known; splits and problems are added to `plan`.

    The splits equal those of `plan_splits`: pieces of one file follow one another, and two together exceed a split.
    """
    looking = FileWalk(WalkJob(0, file, split_size, lead_size, alone=True))
    for number, piece in enumerate(looking):
        plan.splits.append(Split(file.point, number, (piece,)))
        yield plan.splits[-1]
    if looking.problem is not None:
        plan.problems.append(looking.problem)


def group_pieces_by_time(files: Iterable[list[FileRange]]) -> list[list[FileRange]]:
    """The pieces of the files of one capture point, in groups that follow one another; one piece a file in each."""
    units = [unit for pieces in files for unit in _make_units_of_file(pieces)]
    return [_join_pieces_by_file(group) for group in _group_units_by_time(sorted(units, key=_Unit.time_and_place_key))]


def _make_units_of_file(pieces: list[FileRange]) -> list[_Unit]:
    """The pieces of one file in its own order; a piece without a time comes before all times."""
    lows = [-1 if piece.low_ns is None else piece.low_ns for piece in pieces]
    highs = [low if piece.high_ns is None else piece.high_ns for piece, low in zip(pieces, lows, strict=True)]
    since = reversed(list(accumulate(reversed(lows), min)))
    until = accumulate(highs, max)
    return [
        _Unit((low, piece.file), (high, piece.file), number, piece)
        for number, (low, high, piece) in enumerate(zip(since, until, pieces, strict=True))
    ]


def _group_units_by_time(units: list[_Unit]) -> Iterator[list[_Unit]]:
    """The units in groups that follow one another in time.

    A unit's times include those of the file's later (or earlier) units. So, wherever the sequence can be cut, the
    units before the cut are the first ones by `_Unit.time_and_place_key`.
    """
    others = _find_next_units_of_other_files(units)
    group: list[_Unit] = []
    latest = second = _NEVER  # of all units so far; of the units of files other than the latest's
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


def _find_next_units_of_other_files(units: list[_Unit]) -> list[_Unit | None]:
    """For each unit the next one that is of another file."""
    found: list[_Unit | None] = []
    behind: _Unit | None = None  # the unit behind the current one; `other` is its answer
    other: _Unit | None = None
    for unit in reversed(units):
        if behind is not None and behind.low[1] != unit.low[1]:
            other = behind
        found.append(other)
        behind = unit
    return found[::-1]


def _join_pieces_by_file(group: list[_Unit]) -> list[FileRange]:
    """The pieces of a group, one a file."""
    pieces: dict[int, FileRange] = {}
    for unit in group:
        piece = unit.piece
        known = pieces.get(piece.file)
        pieces[piece.file] = piece if known is None else _join_adjacent_pieces(known, piece)
    return [pieces[file] for file in sorted(pieces)]


def _join_adjacent_pieces(piece: FileRange, more: FileRange) -> FileRange:
    """Two pieces as one; `more` begins where `piece` ends."""
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


def _gather_into_splits(groups: list[list[FileRange]], split_size: int) -> Iterator[tuple[list[FileRange], bool]]:
    """The pieces of each split, and whether files overlap in it; small pieces that follow one another share a split."""
    some: list[FileRange] = []
    for group in groups:
        if some and (len(group) > 1 or _sum_weights(some) + _sum_weights(group) > split_size):
            yield some, False
            some = []
        if len(group) > 1:
            yield group, True
        else:
            some += group
    if some:
        yield some, False


def _sum_weights(pieces: list[FileRange]) -> int:
    return sum(piece.weight for piece in pieces)


def _format_overlap_note(point: str, groups: list[list[FileRange]]) -> str:
    """The note about groups of overlapping captures that are too large for a split and cannot be cut."""
    largest = max(groups, key=_sum_weights)
    names = ", ".join(piece.name for piece in largest[:3]) + (" …" if len(largest) > 3 else "")
    return (
        f"{f'{point}: ' if point else ''}captures overlap in time, so one task reads "
        f"{_sum_weights(largest) / 1e6:,.1f} MB of {len(largest):,} files: {names}"
        f"{f' (and {len(groups) - 1:,} times more)' if len(groups) > 1 else ''}; "
        "captures of several machines can be told apart with --point"
    )


# Planning a run, all at once or, for one large capture, split by split while the first are already read

# From this many bytes on it is worth several processes to walk captures side by side.
SIDE_BY_SIDE: Final = 1 << 30
# No capture is larger.
_WHOLE: Final = 1 << 62


class PendingPlan(NamedTuple):
    """At most `most` splits, `size` bytes together. `plan` is complete when `splits` has given them all."""

    most: int
    size: int
    plan: SplitPlan
    splits: Iterator[Split]


def plan_splits_of_captures(options: RunOptions, files: list[SourceFile]) -> SplitPlan:
    """The splits of all captures; large captures are walked side by side, in processes."""
    split_size = options.split_size or choose_split_size(sum_file_sizes(files))
    if not _is_worth_walking_in_processes(files):
        return plan_splits(files, split_size)
    with ProcessPoolExecutor(min(os.cpu_count() or 1, len(files))) as pool:
        return plan_splits(files, split_size, each=pool.map)


def start_planning(options: RunOptions, files: list[SourceFile], engine: str) -> Callable[[], PendingPlan]:
    """Begin to plan; the function returned gives the plan. Planning may go on in a thread while Spark starts."""
    if engine == "local":
        plan = make_finished_plan(plan_splits(files, _WHOLE, walk=False))  # one process reads a capture from end to end
        return lambda: plan
    split_size = options.split_size or choose_split_size(sum_file_sizes(files))
    if len(files) == 1 and files[0].size > split_size and not options.verbose:
        return partial(_plan_single_file_while_reading, files[0], split_size)
    if _is_worth_walking_in_processes(files):
        plan = make_finished_plan(plan_splits_of_captures(options, files))
        return lambda: plan
    planning = BackgroundCall(lambda: make_finished_plan(plan_splits_of_captures(options, files)))
    planning.start()
    return planning.result


def _plan_single_file_while_reading(file: SourceFile, split_size: int) -> PendingPlan:
    made = SplitPlan([], [], [])
    return PendingPlan(
        -(-file.size // split_size),
        file.size,
        made,
        _find_splits_ahead(iterate_splits_of_single_file(file, split_size, made)),
    )


def sum_file_sizes(files: list[SourceFile]) -> int:
    return sum(file.size for file in files)


def _is_worth_walking_in_processes(files: list[SourceFile]) -> bool:
    return len(files) > 1 and sum_file_sizes(files) >= SIDE_BY_SIDE


def _find_splits_ahead(splits: Iterator[Split]) -> Iterator[Split]:
    """`splits`, found by a thread from now on, and not only when the next one is asked for."""
    found: SimpleQueue[Split | BaseException | None] = SimpleQueue()

    def queue_splits() -> None:
        try:
            for split in splits:
                found.put(split)
            found.put(None)
        except BaseException as problem:
            found.put(problem)

    Thread(target=queue_splits, daemon=True).start()
    return _iterate_queued_splits(found)


def _iterate_queued_splits(found: SimpleQueue[Split | BaseException | None]) -> Iterator[Split]:
    while (one := found.get()) is not None:
        if isinstance(one, BaseException):
            raise one
        yield one


def make_finished_plan(plan: SplitPlan) -> PendingPlan:
    """A PendingPlan of which all splits are known."""
    splits = plan.splits
    return PendingPlan(len(splits), sum(split.size for split in splits), plan, iter(splits))
