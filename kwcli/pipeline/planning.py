"""Captures in, their splits out: all at once, or, of one large capture, one by one while the first are read already."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from functools import partial
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Final, NamedTuple

from kwcli.pipeline.splits import SplitPlan, arriving, plan, split_size_for

if TYPE_CHECKING:
    from kwcli.pipeline.pieces import Split
    from kwcli.pipeline.sources import SourceFile
    from kwcli.pipeline.wish import RunOptions

__all__ = ["Coming", "at_once", "known", "planning"]

# From here on it is worth processes of their own to look at captures side by side.
SIDE_BY_SIDE: Final = 1 << 30
# No capture is larger.
_WHOLE: Final = 1 << 62


class Coming(NamedTuple):
    """At most `most` splits of `size` bytes together. The plan is whole when `splits` has given them all."""

    most: int
    size: int
    plan: SplitPlan
    splits: Iterator[Split]


def at_once(options: RunOptions, files: list[SourceFile]) -> SplitPlan:
    """The splits; large captures are looked at side by side."""
    split_size = options.split_size or split_size_for(_size(files))
    if not _side_by_side(files):
        return plan(files, split_size)
    with ProcessPoolExecutor(min(os.cpu_count() or 1, len(files))) as pool:
        return plan(files, split_size, each=pool.map)


def planning(options: RunOptions, files: list[SourceFile], engine: str) -> Callable[[], Coming]:
    """What gives the plan, which is made meanwhile where that is as long as Spark takes to start."""
    if engine == "local":
        planned = known(plan(files, _WHOLE, walk=False))  # one process reads a capture from end to end
        return lambda: planned
    split_size = options.split_size or split_size_for(_size(files))
    if len(files) == 1 and files[0].size > split_size and not options.verbose:
        return partial(_arriving, files[0], split_size)
    if _side_by_side(files):
        planned = known(at_once(options, files))
        return lambda: planned
    future: Future[Coming] = Future()

    def make() -> None:
        try:
            future.set_result(known(at_once(options, files)))
        except BaseException as problem:
            future.set_exception(problem)

    Thread(target=make, daemon=True).start()  # an end of the program does not wait for it
    return future.result


def _arriving(file: SourceFile, split_size: int) -> Coming:
    made = SplitPlan([], [], [])
    return Coming(-(-file.size // split_size), file.size, made, _ahead(arriving(file, split_size, made)))


def _size(files: list[SourceFile]) -> int:
    return sum(file.size for file in files)


def _side_by_side(files: list[SourceFile]) -> bool:
    return len(files) > 1 and _size(files) >= SIDE_BY_SIDE


def _ahead(splits: Iterator[Split]) -> Iterator[Split]:
    """The same, looked for from now on, and not only when somebody asks."""
    found: SimpleQueue[Split | BaseException | None] = SimpleQueue()

    def look() -> None:
        try:
            for split in splits:
                found.put(split)
            found.put(None)
        except BaseException as problem:
            found.put(problem)

    Thread(target=look, daemon=True).start()
    return _given(found)


def _given(found: SimpleQueue[Split | BaseException | None]) -> Iterator[Split]:
    while (one := found.get()) is not None:
        if isinstance(one, BaseException):
            raise one
        yield one


def known(planned: SplitPlan) -> Coming:
    """A plan that is whole."""
    splits = planned.splits
    return Coming(len(splits), sum(split.size for split in splits), planned, iter(splits))
