"""Pipes, commands that write a capture and interfaces in; out their bytes as they come, and what happens to each.

Each input has a thread, which waits for its bytes; the caller's thread takes them, and hands them to a receiver. An
input that is slow, silent or gone never stops the others: what happens to it is told with its name. A command that
ends is started again, where that is wanted.

    ssh b1 tcpdump ──thread──┐
    ssh b2 tcpdump ──thread──┼──► queue ──► receiver
    /dev/fd/63 ──────thread──┘

Memory is bounded: a thread waits while many pieces of all inputs wait, or while its receiver has no room, and the
pipe's writer with it.
"""

from __future__ import annotations

import queue
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from threading import Event as Flag
from threading import Thread
from typing import TYPE_CHECKING, Final, Protocol

from decoders.errors import strip_traceback
from kwcli.reading.capture_sources import (
    CaptureSource,
    add_byte_offset,
    begins_as_json,
    begins_as_request_log,
    escape_non_utf8,
    open_source,
)
from kwcli.reading.decompress_inputs import InputProblem
from kwcli.reading.live.capture_commands import CaptureCommand, CommandProcess, skip_text_before_capture

if TYPE_CHECKING:
    from decoders.errors import DecodeError
    from kwcli.reading.live_capture import LiveCapture
    from kwcli.run_environment import Environment

__all__ = ["InputReceiver", "LiveInput", "LiveInputs", "list_live_inputs"]

# How long the caller waits for bytes before it looks after the inputs.
TICK_S: Final = 0.05
# Without bytes for so long, while others go on, an input is told to be silent.
SILENT_S: Final = 10.0
# Seconds until a command is started again: doubled each time that it has given nothing, up to the second.
_RESTART_S: Final = (1.0, 30.0)
# How long the threads have to end.
_THREADS_END_S: Final = 1.0
# Pieces of all inputs that wait in the queue.
_PIECES_MAX: Final = 64


class LiveInput:
    """One input: its name, how to begin reading it, and what is known of it now."""

    def __init__(self, number: int, name: str, *, is_live: bool) -> None:
        self.number = number
        self.name = name
        self.is_live = is_live
        self.word: str | None = None  # of a file, a pipe or standard input
        self.command: CaptureCommand | None = None
        self.interface: LiveCapture | None = None
        self.process: CommandProcess | None = None
        self.thread: Thread | None = None
        self.source: CaptureSource | None = None
        self.is_open = True
        self.has_bytes = False  # of the capture that is read now
        self.may_read = Flag()
        self.is_stopped = False
        self.heard_s = 0.0
        self.is_silent = False
        self.starts_s: float | None = None  # when the command is started again
        self.ended_s: float | None = None  # when it ended, until it gives bytes again
        self.tries = 0
        self.empty_tries = 0  # that gave no bytes, one after the other

    @property
    def point(self) -> str:
        """The name as rows have it."""
        return escape_non_utf8(self.name)


def list_live_inputs(
    words: Sequence[str], commands: Sequence[CaptureCommand], interfaces: Sequence[LiveCapture]
) -> list[LiveInput]:
    """The inputs of a run, with their numbers from 0. Those of `words` end; commands and interfaces go on."""
    inputs: list[LiveInput] = []
    for word in words:
        inputs.append(LiveInput(len(inputs), word, is_live=False))
        inputs[-1].word = word
    for command in commands:
        inputs.append(LiveInput(len(inputs), command.name, is_live=True))
        inputs[-1].command = command
    for interface in interfaces:
        inputs.append(LiveInput(len(inputs), interface.interface, is_live=True))
        inputs[-1].interface = interface
    return inputs


class InputReceiver(Protocol):
    """What gets the bytes of inputs, in the thread that calls `deliver_received`."""

    def begin_input(self, one: LiveInput, now_s: float) -> None:
        """A capture of this input begins; after the first time, its command was started again."""

    def add_piece(self, one: LiveInput, piece: bytes, now_s: float) -> DecodeError | None:
        """Take bytes; what is wrong with the capture, which ends the reading of it."""

    def end_input(self, one: LiveInput, now_s: float) -> DecodeError | None:
        """No more bytes come of this capture; what is wrong with it."""

    def add_records(self, source: CaptureSource) -> None:
        """Take an input that holds no packets but records of kw or a request log."""

    def has_room(self, one: LiveInput) -> bool:
        """Whether more bytes of this input may come."""


# What an input's thread gives: its bytes, a text to be told, an input that holds records, or how it has ended.
_Given = bytes | str | CaptureSource | InputProblem | None


class LiveInputs:
    """The inputs of one run. `is_broken`: one of them has failed, which was told."""

    def __init__(
        self, inputs: Sequence[LiveInput], receiver: InputReceiver, env: Environment, *, restart: bool
    ) -> None:
        self.inputs = tuple(inputs)
        self.is_broken = False
        self._receiver = receiver
        self._env = env
        self._restart = restart
        self._given: queue.Queue[tuple[LiveInput, int, _Given]] = queue.Queue(_PIECES_MAX)

    @property
    def are_going_on(self) -> bool:
        """Whether bytes may come: an input is open, or is started again."""
        return any(one.is_open or one.starts_s is not None for one in self.inputs)

    def start(self) -> None:
        """Start all commands and threads."""
        for one in self.inputs:
            self._start_input(one)

    def deliver_received(self) -> None:
        """Hand on what the threads have given; wait a moment where that is nothing."""
        try:
            one, turn, given = self._given.get(timeout=TICK_S)
        except queue.Empty:
            return
        for _ in range(_PIECES_MAX):
            self._handle_received(one, turn, given)
            try:
                one, turn, given = self._given.get_nowait()
            except queue.Empty:
                return
        self._handle_received(one, turn, given)

    def deliver_remaining(self) -> None:
        """Hand on what commands have said before they ended."""
        while not self._given.empty():
            self.deliver_received()

    def maintain_inputs(self, now_s: float) -> None:
        """Let threads go on or wait; start commands again; tell which inputs are silent."""
        for one in self.inputs:
            if one.starts_s is not None and now_s >= one.starts_s:
                self._start_input(one)
            if self._receiver.has_room(one):
                one.may_read.set()
            else:
                one.may_read.clear()
            if one.is_open and one.is_live and not one.is_silent and now_s - one.heard_s >= SILENT_S:
                one.is_silent = any(now_s - other.heard_s < SILENT_S for other in self.inputs if other.is_open)
                if one.is_silent:
                    self._report_text(one, f"silent for {SILENT_S:.0f} s; the others go on")

    def stop(self) -> None:
        """End all commands, and wait for what they have started; let the threads end."""
        for one in self.inputs:
            one.is_stopped = True
            one.may_read.set()
        stopping = [Thread(target=one.process.stop, daemon=True) for one in self.inputs if one.process is not None]
        for thread in stopping:
            thread.start()
        for thread in stopping:
            thread.join()
        self._end_threads()

    def _end_threads(self) -> None:
        """Let the threads end; one that waits for the writer of a pipe is left."""
        until_s = self._env.monotonic() + _THREADS_END_S
        for one in self.inputs:
            while one.thread is not None and one.thread.is_alive() and self._env.monotonic() < until_s:
                with suppress(queue.Empty):
                    self._given.get_nowait()
                one.thread.join(TICK_S / 10)

    # -- one input -----------------------------------------------------------------------------------------------------

    def _start_input(self, one: LiveInput) -> None:
        one.starts_s = None
        one.heard_s = self._env.monotonic()
        one.is_open, one.is_silent, one.has_bytes = True, False, False
        self._receiver.begin_input(one, one.heard_s)
        one.may_read.set()
        one.tries += 1
        if one.command is not None:
            tell = partial(self._queue_received, one, one.tries)
            try:  # in this thread: what a command says is told in the order of the inputs
                one.process = CommandProcess(one.command, tell)
            except InputProblem as problem:
                self._end_input(one, problem.text, failed=True)
                return
        one.thread = Thread(target=self._run_thread, args=(one, one.tries), daemon=True)
        one.thread.start()

    def _queue_received(self, one: LiveInput, turn: int, given: _Given) -> None:
        self._given.put((one, turn, given))

    def _run_thread(self, one: LiveInput, turn: int) -> None:
        """An input's thread: give its bytes, then how it has ended."""
        ended: _Given = None
        process = one.process
        try:
            for piece in self._read_pieces(one, turn):
                if piece:
                    self._queue_received(one, turn, piece)
                    one.may_read.wait()
                if one.is_stopped:
                    return
        except InputProblem as problem:
            ended = strip_traceback(problem)
        except (OSError, ValueError) as error:  # its socket was closed
            ended = InputProblem(f"{one.name}: {getattr(error, 'strerror', None) or error}".lower())
        finally:
            if process is not None:
                process.close_output()
                process.wait_for_words()
        self._queue_received(one, turn, ended)

    def _read_pieces(self, one: LiveInput, turn: int) -> Iterator[bytes]:
        if one.interface is not None:
            return one.interface.stream_pcapng()
        if one.process is not None:
            tell = partial(self._queue_received, one, turn)
            pieces = skip_text_before_capture(one.name, one.process.read_pieces(), tell)
            return CaptureSource(one.name, lambda _: next(pieces, b"")).read_plain_pieces()
        assert one.word is not None
        source = open_source(one.word, self._env)  # waits for the writer of a pipe
        head = source.peek_head()
        if begins_as_json(head) or begins_as_request_log(head):
            self._queue_received(one, turn, source)
            return iter(())
        one.source = source
        return source.read_capture_pieces()

    def _handle_received(self, one: LiveInput, turn: int, given: _Given) -> None:
        if isinstance(given, str):
            self._report_text(one, given)
        elif turn != one.tries or not one.is_open:
            return  # of a command that was started again, or after a fault
        elif isinstance(given, bytes):
            self._deliver_piece_and_note_time(one, given)
        elif isinstance(given, CaptureSource):
            self._receiver.add_records(given)
        else:
            texts = [] if given is None else [given.text]
            failed = given is not None
            if one.process is not None:
                how, has_failed = one.process.describe_end()
                if has_failed or not failed:
                    texts.append(how if failed else f"{one.name}: {how}")
                failed = failed or has_failed
            self._end_input(one, "; it ".join(texts), failed=failed)

    def _deliver_piece_and_note_time(self, one: LiveInput, piece: bytes) -> None:
        now_s = self._env.monotonic()
        if one.is_silent:
            self._report_text(one, f"packets again after {now_s - one.heard_s:.0f} s")
            one.is_silent = False
        if one.ended_s is not None:
            self._report_text(one, f"a capture again after {now_s - one.ended_s:.0f} s")
            one.ended_s = None
        one.heard_s, one.has_bytes = now_s, True
        problem = self._receiver.add_piece(one, piece, now_s)
        if problem is not None:
            self._end_input(one, _describe_fault(one, problem) if one.is_live else "", failed=True, is_told=True)

    def _end_input(self, one: LiveInput, text: str, *, failed: bool, is_told: bool = False) -> None:
        """Nothing more comes of an input, unless its command is started again. `is_told`: its fault is in `text`."""
        now_s = self._env.monotonic()
        problem = self._receiver.end_input(one, now_s)
        if problem is not None and not is_told and one.is_live:
            text, failed = _describe_fault(one, problem), True
        one.is_open = False
        if one.process is not None:
            Thread(target=one.process.stop, daemon=True).start()
        again = ""
        if one.command is not None and self._restart:
            first_s, longest_s = _RESTART_S
            one.empty_tries = 0 if one.has_bytes else one.empty_tries + 1
            pause_s = min(first_s * 2 ** min(one.empty_tries, 16), longest_s)
            one.starts_s = now_s + pause_s
            one.ended_s = now_s if one.ended_s is None else one.ended_s
            again = f"; it is started again in {pause_s:.0f} s"
        elif any(other.is_open for other in self.inputs):
            again = "; the others go on"
        if text:
            self._env.report(f"kw: {escape_non_utf8(text)}{again}")
            if failed and one.starts_s is None:
                self.is_broken = True

    def _report_text(self, one: LiveInput, text: str) -> None:
        self._env.report(f"kw: {one.point}: {text}")


def _describe_fault(one: LiveInput, problem: DecodeError) -> str:
    hint = "; give it no terminal (-t)" if one.process is not None and one.process.has_terminal else ""
    return f"{one.name}: {add_byte_offset(problem.text, problem.offset)}{hint}"
