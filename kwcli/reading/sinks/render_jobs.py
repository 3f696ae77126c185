"""Settled rows in, the output of a renderer out, made by several processes: what `--jobs` asks for.

The problem. Reading packets, reassembly and pairing are a third to a half of the time, and what they find on one
connection is used on others: names of topics, brokers that are known, owners of tokens, members of groups, the order in
which all of it was learnt. The rest is reading bodies and writing lines, of rows that do not change any more.

The idea. One process, the reader, reads and pairs as usual, and writes the first rows itself. Then it forks workers,
which know all that is known by then, and gives each in turn a part of a few thousand settled rows.

```
engine ─► rows ─► part 1 ─packed─► worker 1: reads bodies, makes lines ─┐
                  part 2 ─packed─► worker 2: reads bodies, makes lines ─┤ in the order of the parts ─► standard output
                  part 3 ─packed─► worker 1 …                           ┘
          ◄─────────── lines, counts, what was told once, at the end sums of folds ──────────┘
```

Rows are packed as they come and unpacked a few at a time, so that both processes work in memory that is in the cache;
their frames go through shared memory. The output of a part goes back to the reader, which writes it; where it is more
than RETURNED_MAX, the worker waits for its turn, holding up to HELD_MAX, and writes it itself. So if the output is read
slowly, that slows the workers down, then the engine.

What always holds: the bytes are those of one process, in their order. What a renderer knows from earlier rows, a worker
has from the fork, or is sent with its next part: names of topics that were learnt since, answers of other parts that
name nodes. The reader itself writes the first rows (a header, the widths of a table, functions that are generated
once). It also writes rows of another day, before which text has a line, and steps of many bytes; that happens when all
parts before them are done and the workers have ended, and later workers begin with what is known then. A text that is
printed once (the meaning of an error code) goes out where no earlier part has printed it. Folds of workers are merged.
An error in a part is raised at the turn of that part, as if it had happened in the reader.

What is given up: filters that nothing has matched so far, `--limit`, `--sort` and `--strict` are done by the reader,
and so are rows that a terminal waits for. Parts of standard input are made while more of it is there; once it pauses,
all rows go out.

Why rows are packed: a process that is forked for each part needs nothing sent, but Python counts references in the
objects themselves, so that it copies nearly a page for each row that it reads: 230,000 page faults for 118,000
exchanges, and more time than the workers saved in text. To pack and unpack a row takes about 1 µs. Decoders of what the
first rows had are generated before the fork, which would cost each worker a tenth of a second for a hundred API
versions; those for what comes later are generated in each worker that meets it.
"""

from __future__ import annotations

import gc
import mmap
import os
import pickle
import select
import signal
import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from io import BytesIO
from struct import Struct
from typing import TYPE_CHECKING, Final, NoReturn

from decoders.messages.exchange_serialization import (
    NewTopicNames,
    PackedRows,
    RowPacker,
    RowUnpacker,
    add_topic_names,
    max_packed_size,
    pack_new_topic_names,
)
from decoders.named_tuple import NamedTuple
from kwcli.reading.sinks.process_row_steps import RowCounts, RowStep
from kwcli.run_environment import Failure

if TYPE_CHECKING:
    from decoders.exchanges.chunks_to_exchanges import Context
    from decoders.exchanges.exchange import Settled
    from kwcli.reading.sinks.process_row_steps import RowWork
    from kwcli.reading.sinks.row_output import RowOutput
    from kwcli.run_environment import Readable

__all__ = ["PartResult", "PartSizes", "RenderJobs", "WorkerMessage", "can_fork", "has_stdin_paused"]

# The most bytes of output that a part holds until it is its turn.
HELD_MAX: Final = 10 << 20
# The most bytes of output of a part that the reader writes.
RETURNED_MAX: Final = 1 << 20
# So long (s) standard input may pause before the reader writes the rows.
PAUSE_S: Final = 0.01
# Bytes that a pipe to a worker or from it holds, where the system allows it.
_PIPE: Final = 1 << 20
# Before each message: its size in bytes.
_SIZE: Final = Struct("<Q")


class PartSizes(NamedTuple):
    """Rows that the reader writes first; rows and bytes at which a part ends; the most bytes of a part or step."""

    first_rows: int = 500
    rows: int = 4000
    size: int = 3 << 20
    most: int = 6 << 20


SIZES: Final = PartSizes()


def can_fork() -> bool:
    """Whether a forked copy of this process would work: the system has fork, and there are no other threads."""
    return hasattr(os, "fork") and sys.platform != "darwin" and threading.active_count() == 1


class PackedPart(NamedTuple):
    """Rows to be written: the slot of their frames, the lengths of the lists of each step, and the packed rows.

    `rows_to_learn`: the rows that all workers have to learn from.
    """

    number: int
    slot: int
    lengths: list[tuple[int, ...]]
    rows: PackedRows
    rows_to_learn: list[Settled]


class WorkerMessage(NamedTuple):
    """What a worker is sent: names of topics new to it, rows that it missed, a part without `rows_to_learn`."""

    topics: NewTopicNames
    missed: int
    missed_rows: PackedRows
    missed_written: bytes
    part: PackedPart


class Turn(NamedTuple):
    """The message that all parts before this one are written; `told`: keys of the texts printed once so far."""

    number: int
    told: frozenset[Hashable]


class PartResult(NamedTuple):
    """The report of a worker on a part, or at its end.

    Counts, keys of texts that are printed once, output that is still to be written, or the problem; at the end the
    states of its folds, and its values without a schema.
    """

    counts: RowCounts = RowCounts()
    told: frozenset[Hashable] = frozenset()
    output: tuple[bytes, ...] = ()
    states: tuple[bytes, ...] = ()
    problem: BaseException | None = None
    missing_schemas: Mapping[str, int] = {}


def has_stdin_paused(stdin: Readable) -> bool:
    """Whether standard input has nothing to read, and had nothing for PAUSE_S."""
    try:
        number = stdin.fileno()  # type: ignore[attr-defined]
    except (AttributeError, OSError):  # it is no file
        return True
    return not select.select([number], (), (), PAUSE_S)[0]


class Worker:
    """A forked process: the pipes to it and from it, the bytes of its result so far, and what it does not know yet."""

    __slots__ = ("data", "ended", "known", "missed", "parts", "pid", "result")

    def __init__(self, pid: int, parts: int, result: int, known: int) -> None:
        self.pid = pid
        self.parts = parts
        self.result = result
        self.known = known  # how many names of topics it has
        self.missed: list[Settled] = []  # rows of other parts that it has to learn from
        self.data = bytearray()
        self.ended = False

    def send_message(self, data: bytes) -> None:
        """Send it a part, or its turn; if it has ended, its result says so."""
        with suppress(BrokenPipeError):
            _send_message(self.parts, data)

    def read_result_bytes(self) -> None:
        """Read what is there of its result."""
        data = os.read(self.result, _PIPE)
        self.data += data
        self.ended = not data

    @property
    def is_done(self) -> bool:
        """Whether its result is complete, or never will be."""
        data = self.data
        return self.ended or (len(data) >= _SIZE.size and len(data) >= _SIZE.size + _SIZE.unpack_from(data)[0])

    def parse_result(self) -> PartResult | None:
        """The result; None where the process has ended without one."""
        data, self.data = self.data, bytearray()
        if self.ended:
            return None
        result: PartResult = pickle.loads(memoryview(data)[_SIZE.size :])
        return result

    def announce_end(self) -> None:
        """Let the process end: no part will come."""
        if self.parts >= 0:
            os.close(self.parts)
        self.parts = -1

    def end_and_get_result(self) -> PartResult | None:
        """Let the process end; returns its last result."""
        self.announce_end()
        while not self.is_done:
            self.read_result_bytes()
        return self.parse_result()

    def close_and_wait(self) -> int:
        """Close the pipes and wait for the end of the process, which is near; returns its exit code."""
        self.announce_end()
        os.close(self.result)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


class RenderJobs:
    """A renderer that has `jobs` workers write the rows; `pause`: whether the input pauses.

    `context`: the engine's, with the API versions and names of topics that rows share.
    """

    def __init__(
        self,
        work: RowWork,
        output: RowOutput,
        context: Context,
        jobs: int,
        *,
        pause: Callable[[], bool] | None = None,
    ) -> None:
        self._work = work
        self._output = output
        self._api_readers, self._topics = context.api_readers, context.topics
        self._jobs = jobs
        self._pause = pause
        self._sizes = SIZES
        # Memory that all processes share, for the frames of as many parts as may be there at a time: at work, ready and
        # the next one.
        self._slots: list[mmap.mmap] = []
        self._free: list[int] = []
        self._packer: RowPacker | None = None  # of the next part, where it has begun
        self._slot = 0  # of the next part
        self._lengths: list[tuple[int, ...]] = []  # of the steps of the next part
        self._rows = self._size = 0  # of the next part; bytes of its slot at most
        self._rows_to_learn: list[Settled] = []  # rows of the next part that all workers have to learn from
        self._ready: deque[PackedPart] = deque()  # parts that wait for a worker
        self._first = self._sizes.first_rows  # rows that the reader is still to write
        self._workers: list[Worker] = []
        self._parts: deque[tuple[Worker, PackedPart]] = deque()  # parts at work, in their order
        self._number = 0  # of the part that became ready last
        self._granted = 0  # of the part that may write
        self._counted = RowCounts()  # by the workers

    # The interface of a renderer.

    @property
    def shows_skipped(self) -> bool:
        """Whether the renderer shows rows of skipped bytes."""
        return self._work.renderer.shows_skipped

    @property
    def errors(self) -> int:
        """Exchanges with an unexpected error code, in all parts."""
        return self.counts().errors

    @property
    def expected(self) -> int:
        """Exchanges with only error codes that the protocol expects, in all parts."""
        return self.counts().expected

    @property
    def undecoded(self) -> int:
        """Exchanges that could not be decoded, in all parts."""
        return self.counts().undecoded

    @property
    def remarks(self) -> int:
        """Remarks on exchanges, in all parts."""
        return self.counts().remarks

    def counts(self) -> RowCounts:
        """The counts of all rows written so far, here and by workers."""
        return self._work.counts().add(self._counted)

    def write(self, rows: list[Settled]) -> None:
        """Take rows to write."""
        self._add_step(RowStep([], rows, []))

    def write_in_any_order(self, rows: list[Settled]) -> list[Settled]:
        """Take rows to write in any order; returns those too large for a part, which are not taken."""
        most = self._sizes.most
        if max_packed_size(rows) <= most:
            self.write(rows)
            return []
        large: list[Settled] = []
        step: list[Settled] = []
        size = 0
        for row in rows:
            row_size = max_packed_size((row,))
            if row_size > most:
                large.append(row)
                continue
            if size + row_size > most:
                self.write(step)
                step, size = [], 0
            step.append(row)
            size += row_size
        self.write(step)
        return large

    def learn_from_unshown_rows(self, rows: list[Settled]) -> None:
        """Take rows that are not shown."""
        unshown = self._work.rows_to_learn_from(rows)
        if unshown:
            self._add_step(RowStep(unshown, [], []))

    def write_matching(self, rows: list[Settled]) -> None:
        """Take rows of which a filter chooses those to write."""
        self._add_step(RowStep([], [], rows))

    def close(self) -> None:
        """Write the rows that wait, then the end of the output."""
        self.write_all_rows()
        self._work.renderer.close()

    # Parts.

    def _add_step(self, step: RowStep) -> None:
        size = sum(map(max_packed_size, step))
        if self._first > 0:
            self._first -= sum(map(len, step)) if self._output.begun or not self._work.writes_rows else 0
            self._write_steps([step])
        elif self._jobs < 2 or size > self._sizes.most or not self._work.is_independent(step):
            self._write_waiting_rows()
            self._write_steps([step])
        else:
            if self._size + size > self._sizes.most:
                self._end_part()
            with _block_signals():
                self._pack_step_into_part(step, size)
            if self._rows >= self._sizes.rows or self._size >= self._sizes.size:
                self._end_part()

    def _pack_step_into_part(self, step: RowStep, size: int) -> None:
        """Add a step to the next part. Rows are not kept: the next ones are made in the same memory, in the cache."""
        packer = self._packer or self._begin_part()
        for rows in step:
            packer.add(rows)
        self._lengths.append(tuple(map(len, step)))
        self._rows += sum(map(len, step))
        self._size += size
        self._rows_to_learn += self._work.rows_for_all_workers(step)

    def _begin_part(self) -> RowPacker:
        if not self._slots:
            # Nearly all of this memory is never touched. It is for parts at work, ready ones, and the next part.
            self._slots = [mmap.mmap(-1, self._sizes.most) for _ in range(2 * self._jobs + 1)]
            self._free = [*range(len(self._slots))]
        self._slot = self._free.pop()
        self._slots[self._slot].seek(0)
        packer = self._packer = RowPacker(self._slots[self._slot].write)
        return packer

    def _end_part(self) -> None:
        """End the next part: a worker writes it as soon as one has time."""
        if self._packer is None:
            return
        with _block_signals():
            self._ready.append(self._pack_part(self._packer))
        if self._parts:
            self._collect_results(0)
        self._send_parts_to_workers()
        if not self._jobs:
            self._write_waiting_rows()
        while len(self._ready) > self._jobs:
            self._collect_results(None)

    def _pack_part(self, packer: RowPacker) -> PackedPart:
        self._number += 1
        part = PackedPart(self._number, self._slot, self._lengths, packer.finish(), self._rows_to_learn)
        self._packer, self._lengths, self._rows_to_learn = None, [], []
        self._rows = self._size = 0
        return part

    def _send_parts_to_workers(self) -> None:
        """Give the ready parts to workers that have none; start workers while there are fewer than `jobs`."""
        busy = {worker.pid for worker, _ in self._parts}
        while self._ready:
            worker = next((each for each in self._workers if each.pid not in busy), None)
            if worker is None:
                if len(self._workers) >= self._jobs:
                    return
                self._output.flush()  # or the forked process would write it too
                if not self._workers:
                    self._api_readers.generate_code_of_used_decoders()
                try:
                    self._fork_worker()
                except OSError:  # no more processes, or no room for one
                    self._jobs = len(self._workers)
                continue
            with _block_signals():
                self._send_part_to_worker(worker, self._ready.popleft())
            self._grant_turn()
            busy.add(worker.pid)

    def _send_part_to_worker(self, worker: Worker, part: PackedPart) -> None:
        written = BytesIO()
        missed = RowPacker(written.write)
        missed.add(worker.missed)
        names, packed = pack_new_topic_names(self._topics, worker.known), missed.finish()
        message = WorkerMessage(names, missed.count, packed, written.getvalue(), part._replace(rows_to_learn=[]))
        worker.send_message(pickle.dumps(message, pickle.HIGHEST_PROTOCOL))
        worker.known, worker.missed = len(self._topics.names), []
        self._parts.append((worker, part))
        if part.rows_to_learn:
            for each in self._workers:
                if each is not worker:
                    each.missed += part.rows_to_learn
            self._work.renderer.learn_from_unshown_rows(part.rows_to_learn)

    def _write_steps(self, steps: Iterable[RowStep]) -> None:
        self._work.process_steps(steps)
        self._output.flush_if_prompt()

    def poll_workers(self) -> None:
        """Between two pieces of input: collect what workers have done; where the input pauses, write all rows."""
        if self._ready:
            self._collect_results(0)
        if self._pause is not None and (self._packer is not None or self._parts) and self._pause():
            self.write_all_rows(share=False)

    def write_all_rows(self, *, share: bool = True) -> None:
        """Have all rows written that were taken."""
        if self._parts and share:
            self._end_part()
        self._write_waiting_rows()

    def _write_waiting_rows(self) -> None:
        """Collect all parts and end the workers, then write the waiting rows here."""
        if self._parts:
            while self._parts:
                self._collect_results(None)
            self._output.flush()
        for worker in self._workers:
            worker.announce_end()  # so that all of them end at the same time
        while self._workers:
            with _block_signals():
                worker = self._workers[-1]
                result = self._get_result_or_raise(worker, worker.end_and_get_result())
                self._work.merge_worker_states(result.states)
                self._work.missing_schemas.update(result.missing_schemas)
                self._workers.pop().close_and_wait()
        if self._packer is not None:
            self._ready.append(self._pack_part(self._packer))
        while self._ready:
            part = self._ready.popleft()
            self._write_steps(self._unpack_steps(part))
            self._free.append(part.slot)

    def _fork_worker(self) -> None:
        take, give = os.pipe()
        result, tell = os.pipe()
        try:
            if sys.platform == "linux":
                import fcntl

                with suppress(OSError):  # the size may be above the system's limit
                    for number in (give, tell):
                        fcntl.fcntl(number, fcntl.F_SETPIPE_SZ, _PIPE)
            with _block_signals():
                pid = os.fork()
                if pid == 0:
                    self._run_worker(take, tell, (give, result))
                self._workers.append(Worker(pid, give, result, len(self._topics.names)))
        except OSError:
            os.close(give)
            os.close(result)
            raise
        finally:
            os.close(take)
            os.close(tell)

    def _grant_turn(self) -> None:
        """Tell the worker of the first part that it is its turn, after writing the output of the parts before."""
        if self._parts and self._granted != self._parts[0][1].number:
            worker, part = self._parts[0]
            self._output.flush()
            with _block_signals():
                worker.send_message(pickle.dumps(Turn(part.number, frozenset(self._output.told))))
                self._granted = part.number

    def _collect_results(self, timeout_ms: int | None) -> None:
        """Wait up to `timeout_ms` for results of workers and read them; take those whose turn it is."""
        self._grant_turn()
        poll = select.poll()
        by_result = {worker.result: worker for worker, _ in self._parts if not worker.is_done}
        for number in by_result:
            poll.register(number, select.POLLIN)
        ready = poll.poll(timeout_ms)
        if not ready:
            return
        try:
            with _block_signals():
                for number, _ in ready:
                    by_result[number].read_result_bytes()
                while self._parts and self._parts[0][0].is_done:
                    worker, part = self._parts.popleft()
                    self._write_result_of_worker(worker)
                    self._free.append(part.slot)
        except Exception:
            self._output.flush()  # the output of parts before the error
            raise
        self._send_parts_to_workers()
        self._grant_turn()

    def _get_result_or_raise(self, worker: Worker, result: PartResult | None) -> PartResult:
        """The result of a worker. Raises its problem, or Failure where the process has ended without a result."""
        if result is None:
            self._workers.remove(worker)
            code = worker.close_and_wait()
            self.kill_workers()
            raise Failure(f"a worker process of --jobs ended too early, {_describe_exit(code)}")
        if result.problem is not None:
            self.kill_workers()
            raise result.problem
        return result

    def _write_result_of_worker(self, worker: Worker) -> None:
        result = self._get_result_or_raise(worker, worker.parse_result())
        self._counted = self._counted.add(result.counts)
        self._output.add_pieces(result.output)
        self._output.told |= result.told

    def kill_workers(self) -> None:
        """Kill the workers that are left; there are none where all went well."""
        self._parts.clear()
        while self._workers:
            worker = self._workers.pop()
            with suppress(ProcessLookupError):
                os.kill(worker.pid, signal.SIGKILL)
            worker.close_and_wait()

    # In a worker process.

    def _run_worker(self, take: int, tell: int, others: tuple[int, int]) -> NoReturn:
        code = 1
        try:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # the reader ends the run; parts given are written
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            for number in (*others, *(each for worker in self._workers for each in (worker.parts, worker.result))):
                os.close(number)
            gc.freeze()  # the objects so far are the reader's: collecting garbage among them would copy their pages
            self._work.begin_worker()
            self._work.missing_schemas.clear()
            while (data := _receive_message(take)) is not None:
                message = pickle.loads(data)
                if isinstance(message, WorkerMessage):
                    _send_message(tell, pickle.dumps(self._make_result(message, take)))
            _send_message(tell, pickle.dumps(self._make_last_result()))
            code = 0
        finally:
            os._exit(code)

    def _make_last_result(self) -> PartResult:
        try:
            return PartResult(states=self._work.states(), missing_schemas=self._work.missing_schemas)
        except Exception as problem:  # any problem is reported to the reader: tables cannot be written
            return PartResult(problem=_make_error_picklable(problem))

    def _make_result(self, message: WorkerMessage, take: int) -> PartResult:
        work, output = self._work, self._output
        before = work.counts()
        output.hold_part_until_turn(partial(_wait_for_turn_to_write, take, message.part.number), HELD_MAX)
        try:
            work.process_steps(self._unpack_message(message))
            held = tuple(output.take_held_part(RETURNED_MAX))
        except Exception as problem:  # any problem is reported to the reader
            return PartResult(problem=_make_error_picklable(problem))
        return PartResult(work.counts().subtract(before), frozenset() if held else frozenset(output.told), held)

    def _unpack_message(self, message: WorkerMessage) -> Iterator[RowStep]:
        add_topic_names(self._topics, message.topics)
        if message.missed:
            rows = RowUnpacker(message.missed_rows, BytesIO(message.missed_written), self._api_readers, self._topics)
            self._work.learn_from_unshown_rows(rows.unpack(message.missed))
        return self._unpack_steps(message.part)

    def _unpack_steps(self, part: PackedPart) -> Iterator[RowStep]:
        rows = RowUnpacker(part.rows, self._slots[part.slot], self._api_readers, self._topics)
        for lengths in part.lengths:
            yield RowStep(*map(rows.unpack, lengths))


def _receive_message(number: int) -> bytearray | None:
    """The next message; None where no more will come."""
    head = _read_exactly(number, _SIZE.size)
    return None if head is None else _read_exactly(number, _SIZE.unpack(head)[0])


def _read_exactly(number: int, size: int) -> bytearray | None:
    data = bytearray(size)
    view = memoryview(data)
    while view:
        got = os.readv(number, [view])
        if not got:
            return None
        view = view[got:]
    return data


def _wait_for_turn_to_write(take: int, number: int) -> frozenset[Hashable]:
    """Wait until all parts before are written; returns the keys of the texts that they have printed once."""
    while (data := _receive_message(take)) is not None:
        turn: Turn = pickle.loads(data)
        if turn.number == number:  # it is not the turn of an earlier part whose output the reader has written
            return turn.told
    os._exit(1)  # the reader is no more


def _send_message(number: int, data: bytes) -> None:
    """Write a message for `_received`."""
    view = memoryview(_SIZE.pack(len(data)) + data)
    while view:
        view = view[os.write(number, view) :]


def _make_error_picklable(problem: Exception) -> Exception:
    """A problem in a form that can be pickled, with its traceback, which --debug shows."""
    problem.add_note("in a part of --jobs:\n" + "".join(traceback.format_exception(problem)))
    try:
        pickle.loads(pickle.dumps(problem))
    except Exception:  # exceptions of other packages may do anything
        return RuntimeError(f"{type(problem).__name__}: {problem}")
    return problem


def _describe_exit(code: int) -> str:
    return f"by signal {-code}" if code < 0 else f"with exit code {code}"


@contextmanager
def _block_signals() -> Iterator[None]:
    """Block SIGINT and SIGTERM inside, so that processes and what is known of them stay together."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
