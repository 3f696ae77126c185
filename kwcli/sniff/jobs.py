"""Settled rows in, the output of a renderer out, made by several processes: what `--jobs` asks for.

The problem. Reading packets, reassembly and pairing are a third to a half of the time, and what they find on one
connection is used on others: names of topics, brokers that are known, owners of tokens, members of groups, the order in
which all of it was learnt. The rest is reading bodies and writing lines, of rows that nothing changes any more.

The idea. One process reads and pairs, as ever. Of every few thousand settled rows it makes a part: it forks, and the
copy, which has the rows and all that is known by then, writes them and ends. Nothing is packed, sent or stitched.

```
engine ─► rows ─► part 1 ─fork─► reads bodies, makes lines, holds them ─┐ its turn
                  part 2 ─fork─► reads bodies, makes lines, holds them ─┤ its turn ─► standard output
                  part 3 …                                              ┘
          ◄──────── counts, sums of folds, what was told once ──────────┘ in the order of the parts
```

A part holds up to HELD_MAX of what it makes until it is its turn, then writes by itself; so the reader copies nothing,
and a slow reader of the output slows the parts down, then the engine.

What always holds: the bytes are those of one process, in their order. What a renderer knows by earlier rows is in its
copy when it is made: the first rows are written by the process itself (a header, the widths of a table, functions that
are generated once), it looks at all answers that name nodes, and rows of another day, before which text has a line, it
writes itself when all parts before them are done. What is said once alone (the meaning of an error code) goes out where
no part before has said it. Folds of parts are merged. What goes wrong in a part goes wrong at its turn, as if it had
happened here.

What is given up: filters that nothing has matched so far, `--limit`, `--sort` and `--strict` are done by the reader,
and so are rows that a terminal waits for. Of standard input parts are made while more of it is there; once it pauses,
all rows go out.

What it costs: the processes write to pages that they share, for Python counts references in the objects themselves. So
nearly a page is copied in a part for each row, some 1,700 more for all that a part needs besides, and 3,000 in the
reader after every fork. With two jobs that is 230,000 page faults for 118,000 exchanges instead of 11,000, and 0.6 s of
system time. It is not that they work beside each other: parts that wait for each other cost as much. Parts of 20,000
rows cost a tenth less CPU, no less wall time, and 70 MB more. To send rows to processes that stay, as bytes, would cost
2.4 µs a row (packed and made again) where a row costs 35 in all.
"""

from __future__ import annotations

import gc
import operator
import os
import pickle
import select
import signal
import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager, suppress
from copy import deepcopy
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, NoReturn

from decoders.exchanges.addresses import NODE_LISTS
from kwcli.env import Failure

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Settled
    from kwcli.env import Readable
    from kwcli.output import Renderer
    from kwcli.sniff.fold_renderer import FoldRenderer
    from kwcli.sniff.row_output import Output

__all__ = ["FoldWork", "PartSizes", "RenderJobs", "RowWork", "can_fork", "has_paused"]

# What a part holds of its output before it is its turn.
HELD_MAX: Final = 16 << 20
# So long (s) standard input may pause before rows are written by the reader.
PAUSE_S: Final = 0.01
_CHUNK: Final = 1 << 16
# Exchanges of more bytes prepare nothing: another one of their kind will.
_SMALL: Final = 1 << 16


class PartSizes(NamedTuple):
    """How much the reader writes itself at first, and how much is a part: a fork costs some milliseconds."""

    first_rows: int = 4000
    rows: int = 5000
    size: int = 4 << 20  # bytes of frames


SIZES: Final = PartSizes()


class RowStep(NamedTuple):
    """What one feed of the engine gave: rows that are only to be noticed, rows to write, rows to choose from first."""

    noticed: list[Settled]
    written: list[Settled]
    sifted: list[Settled]


def can_fork() -> bool:
    """Whether a copy of this process would go on: a system that has fork, and no other threads."""
    return hasattr(os, "fork") and sys.platform != "darwin" and threading.active_count() == 1


class RowCounts(NamedTuple):
    """What is counted of rows as they are written."""

    errors: int = 0
    expected: int = 0
    undecoded: int = 0
    chosen: int = 0  # of rows to choose from
    passed_over: int = 0  # of those, with errors that --errors leaves out

    def plus(self, other: RowCounts) -> RowCounts:
        """Of both together."""
        return RowCounts(*map(operator.add, self, other))

    def since(self, before: RowCounts) -> RowCounts:
        """What has come to those of before."""
        return RowCounts(*map(operator.sub, self, before))


class PartResult(NamedTuple):
    """What a part tells at its end: its counts, what it has told once, states of folds, or what went wrong."""

    counts: RowCounts = RowCounts()
    told: frozenset[Hashable] = frozenset()
    states: tuple[bytes, ...] = ()
    problem: BaseException | None = None


Sift = Callable[["list[Settled]"], "tuple[list[Settled], int]"]


def has_paused(stdin: Readable) -> bool:
    """Whether standard input has nothing to read, and had not for a moment."""
    try:
        number = stdin.fileno()  # type: ignore[attr-defined]
    except (AttributeError, OSError):  # it is no file
        return True
    return not select.select([number], (), (), PAUSE_S)[0]


class RowWork:
    """What is done with steps, here or in a part, by a renderer that writes rows.

    `spare` is a renderer like it whose output nobody gets: what is generated or loaded at the first row of its kind
    then is there before the fork. `sift` gives the rows that a filter wants, and how many --errors leaves out.
    """

    # Whether rows are written to the output as they come, and its first bytes stand before those of all parts.
    writes_rows = True

    def __init__(self, renderer: Renderer, spare: Renderer, sift: Sift) -> None:
        self.renderer = renderer
        self._chosen = self._passed_over = 0
        self._spare = spare
        self._sift = sift
        # Whether rows are all of the day that the latest line was of, where the renderer has lines between days.
        self._keeps_day: Callable[[Iterable[Settled]], bool] | None = getattr(renderer, "keeps_day", None)

    def do(self, steps: Iterable[RowStep]) -> None:
        """Write them."""
        renderer = self.renderer
        for noticed, written, sifted in steps:
            if noticed:
                renderer.notice(noticed)
            if sifted:
                self.notice(sifted)
                written, passed_over = self._sift(sifted)
                self._chosen += len(written)
                self._passed_over += passed_over
            if written:
                renderer.write(written)

    def notice(self, rows: list[Settled]) -> None:
        """Take notice of rows from which a filter chooses."""
        self.renderer.notice(rows)

    def skim(self, rows: list[Settled]) -> list[Settled]:
        """Of rows that are not shown those that their copies have to notice: answers that name nodes, and no others."""
        return [row for row in rows if row.kind == "exchange" and row.api_key in NODE_LISTS]

    def prepare(self, row: Settled) -> None:
        """Have what rows of this kind need."""
        self._spare.write([row])

    def is_apart(self, steps: Iterable[RowStep]) -> bool:
        """Whether a copy can write them without what the parts before it have written."""
        return self._keeps_day is None or all(self._keeps_day(rows) for step in steps for rows in step if rows)

    def follow(self, steps: Iterable[RowStep]) -> None:
        """Know what a copy has learnt that writes them."""
        for step in steps:
            for rows in step:
                if rows:
                    self.renderer.notice(rows)

    def counts(self) -> RowCounts:
        """Of all rows so far."""
        renderer = self.renderer
        return RowCounts(renderer.errors, renderer.expected, renderer.undecoded, self._chosen, self._passed_over)

    def begin(self) -> None:
        """This is a copy now: what it gathers is its own."""

    def states(self) -> tuple[bytes, ...]:
        """What the copy has gathered."""
        return ()

    def take(self, states: tuple[bytes, ...]) -> None:
        """What a copy has gathered."""


class FoldWork(RowWork):
    """The same by folds, which say something at the end alone. `kept`: what copies of the renderer share with it."""

    renderer: FoldRenderer
    writes_rows = False

    def __init__(self, renderer: FoldRenderer, sift: Sift, kept: Iterable[object]) -> None:
        self._kept = {id(each): each for each in kept}
        super().__init__(renderer, self._copy(renderer), sift)
        self._new = self._copy(renderer)
        self._whole = True

    def _copy(self, renderer: FoldRenderer) -> FoldRenderer:
        return deepcopy(renderer, {**self._kept})

    def notice(self, rows: list[Settled]) -> None:
        """In a copy nothing: the process that reads takes notice of all rows."""
        if self._whole:
            self.renderer.notice(rows)

    def skim(self, rows: list[Settled]) -> list[Settled]:
        """All are noticed here."""
        self.renderer.notice(rows)
        return []

    def follow(self, steps: Iterable[RowStep]) -> None:
        """What is learnt of all rows is learnt here; what a copy adds it tells."""
        for step in steps:
            if step.sifted:
                self.renderer.notice(step.sifted)

    def begin(self) -> None:
        """Add to folds that have seen nothing."""
        self.renderer, self._whole = self._new, False

    def states(self) -> tuple[bytes, ...]:
        """Those of the folds."""
        return tuple(fold.export() for fold in self.renderer.folded)

    def take(self, states: tuple[bytes, ...]) -> None:
        """Merge them."""
        other = self._copy(self._new)
        for fold, state in zip(other.folded, states, strict=True):
            fold.resume(state)
        self.renderer.merge(other)


class Part:
    """One forked process: the pipes to it and from it, and what has come of its result so far."""

    __slots__ = ("data", "ended", "pid", "result", "turn")

    def __init__(self, pid: int, turn: int, result: int) -> None:
        self.pid = pid
        self.turn = turn
        self.result = result
        self.ended = False
        self.data = bytearray()

    def close(self) -> int:
        """Give the pipes back and wait for its end, which is near once its result is read; how it ended."""
        os.close(self.turn)
        os.close(self.result)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


class RenderJobs:
    """Stands before a renderer. `jobs`: how many parts there are at a time; `pause`: whether the input pauses."""

    def __init__(
        self,
        work: RowWork,
        output: Output,
        jobs: int,
        *,
        pause: Callable[[], bool] | None = None,
    ) -> None:
        self._work = work
        self._output = output
        self._jobs = jobs
        self._pause = pause
        self._sizes = SIZES
        self._steps: list[RowStep] = []
        self._rows = self._size = 0  # of these
        self._first = self._sizes.first_rows  # rows that are still to be written here
        self._kinds: set[object] = set()  # API versions that were prepared
        self._parts: deque[Part] = deque()
        self._counted = RowCounts()  # by parts

    # What a renderer has.

    @property
    def shows_skipped(self) -> bool:
        """As the renderer."""
        return self._work.renderer.shows_skipped

    @property
    def errors(self) -> int:
        """Of all parts."""
        return self.counts().errors

    @property
    def expected(self) -> int:
        """Of all parts."""
        return self.counts().expected

    @property
    def undecoded(self) -> int:
        """Of all parts."""
        return self.counts().undecoded

    def counts(self) -> RowCounts:
        """Of all rows so far that were written, here and by parts."""
        return self._work.counts().plus(self._counted)

    def write(self, rows: list[Settled]) -> None:
        """Take rows to write."""
        self._add(RowStep([], rows, []))

    def notice(self, rows: list[Settled]) -> None:
        """Take rows that are not shown."""
        noticed = self._work.skim(rows)
        if noticed:
            self._add(RowStep(noticed, [], []))

    def sift(self, rows: list[Settled]) -> None:
        """Take rows of which a filter chooses those to write."""
        self._add(RowStep([], [], rows))

    def close(self) -> None:
        """Write what waits, then what is owed at the end."""
        self.drain()
        self._work.renderer.close()

    # Parts.

    def _add(self, step: RowStep) -> None:
        self._steps.append(step)
        self._rows += sum(map(len, step))
        self._size += sum([_size_of(row) for rows in step for row in rows])
        if self._first > 0 or self._jobs < 2:
            self._first -= self._rows if self._output.begun or not self._work.writes_rows else 0
            self._write_here()
        elif self._rows >= self._sizes.rows or self._size >= self._sizes.size:
            self._start_part()

    def pulse(self) -> None:
        """Between two pieces of input: see what parts have done; where the input pauses, let all rows out."""
        if self._parts:
            self._collect(0)
        if self._pause is not None and (self._steps or self._parts) and self._pause():
            self.drain(fork=False)

    def drain(self, *, fork: bool = True) -> None:
        """Have everything written that was taken."""
        if self._parts and fork and self._steps:
            self._start_part()
        self._write_here()

    def _write_here(self) -> None:
        """All parts, then what waits."""
        while self._parts:
            self._collect(None)
        steps = self._taken()
        if steps:
            self._work.do(steps)
            self._output.settle()

    def _taken(self) -> list[RowStep]:
        steps, self._steps, self._rows, self._size = self._steps, [], 0, 0
        return steps

    def _start_part(self) -> None:
        if not self._work.is_apart(self._steps):
            self._write_here()
            return
        while len(self._parts) >= self._jobs:
            self._collect(None)
        for step in self._steps:
            for rows in step:
                self._prepare(rows)
        if not self._parts:
            self._output.flush()
        try:
            self._fork()
        except OSError:  # no more processes, or no room for one
            self._jobs = 1
            self._write_here()
            return
        self._work.follow(self._taken())

    def _prepare(self, rows: list[Settled]) -> None:
        kinds = self._kinds
        for row in rows:
            if row.kind == "exchange" and row.spec not in kinds and _size_of(row) < _SMALL:
                kinds.add(row.spec)
                self._work.prepare(row)

    def _fork(self) -> None:
        turn, give = os.pipe()
        result, tell = os.pipe()
        try:
            with _uninterrupted():
                pid = os.fork()
                if pid == 0:
                    self._be_part(turn, tell, (give, result))
                os.set_blocking(result, False)
                self._parts.append(Part(pid, give, result))
                if len(self._parts) == 1:
                    self._grant()
        except OSError:
            os.close(give)
            os.close(result)
            raise
        finally:
            os.close(turn)
            os.close(tell)

    def _grant(self) -> None:
        """It is the turn of the first part."""
        data = pickle.dumps(frozenset(self._output.told))
        with suppress(BrokenPipeError):  # it has ended already
            os.write(self._parts[0].turn, len(data).to_bytes(4, "big") + data)

    def _collect(self, timeout_ms: int | None) -> None:
        """Read what parts tell, wait for that so long; take the results whose turn it is."""
        poll = select.poll()
        for part in self._parts:
            if not part.ended:
                poll.register(part.result, select.POLLIN)
        by_result = {part.result: part for part in self._parts}
        ready = poll.poll(timeout_ms)
        if not ready:
            return
        with _uninterrupted():
            for number, _ in ready:
                part = by_result[number]
                data = os.read(number, _CHUNK)
                part.data += data
                part.ended = not data
            while self._parts and self._parts[0].ended:
                self._take(self._parts.popleft())

    def _take(self, part: Part) -> None:
        code = part.close()
        if not part.data:
            self.abandon()
            raise Failure(f"a process that --jobs started has ended: {_ending(code)}")
        result: PartResult = pickle.loads(part.data)
        if result.problem is not None:
            self.abandon()
            raise result.problem
        self._counted = self._counted.plus(result.counts)
        self._output.told |= result.told
        self._output.begun = True
        self._work.take(result.states)
        if self._parts:
            self._grant()

    def abandon(self) -> None:
        """End the parts that are left; none is where all went well."""
        while self._parts:
            part = self._parts.popleft()
            with suppress(ProcessLookupError):
                os.kill(part.pid, signal.SIGKILL)
            part.close()

    # In a part.

    def _be_part(self, turn: int, tell: int, others: tuple[int, int]) -> NoReturn:
        code = 1
        try:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # the reader ends the run, and what it has given is written
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            for number in (*others, *(each for part in self._parts for each in (part.turn, part.result))):
                os.close(number)
            gc.freeze()  # what is there is the reader's: to look at it would copy it
            data = pickle.dumps(self._result(turn))
            while data:
                data = data[os.write(tell, data) :]
            code = 0
        finally:
            os._exit(code)

    def _result(self, turn: int) -> PartResult:
        work, output = self._work, self._output
        work.begin()
        before = work.counts()
        output.begin_part(partial(_await_turn, turn), HELD_MAX)
        try:
            work.do(self._steps)
            states = work.states()
            if work.writes_rows:
                output.flush()
        except Exception as problem:  # whatever it is, it is told where rows are read
            return PartResult(problem=_as_told(problem))
        return PartResult(work.counts().since(before), frozenset(output.told), states)


def _size_of(row: Settled) -> int:
    return (row.request_size or 0) + (row.response_size or 0) if row.kind == "exchange" else 0


def _await_turn(turn: int) -> frozenset[Hashable]:
    """Wait until all parts before are written; what they have told."""
    head = os.read(turn, 4)
    if len(head) < 4:
        os._exit(1)  # the reader is no more
    size, data = int.from_bytes(head, "big"), b""
    while len(data) < size:
        data += os.read(turn, size - len(data)) or os._exit(1)
    told: frozenset[Hashable] = pickle.loads(data)
    return told


def _as_told(problem: Exception) -> Exception:
    """A problem that can be sent: with the lines of its traceback, which --debug shows."""
    problem.add_note("in a part of --jobs:\n" + "".join(traceback.format_exception(problem)))
    try:
        pickle.loads(pickle.dumps(problem))
    except Exception:  # whatever an exception of others does
        return RuntimeError(f"{type(problem).__name__}: {problem}")
    return problem


def _ending(code: int) -> str:
    return f"by signal {-code}" if code < 0 else f"with exit code {code}"


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Inside, Ctrl-C waits: processes and what is known of them stay together."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
