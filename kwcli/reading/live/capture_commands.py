"""A command that writes a capture to its standard output, as a process: its bytes, what it says, and how it ends.

`ssh broker1 tcpdump -U -w -`, `kubectl exec … -- tcpdump …`, `docker exec`, `ip netns exec`: kw knows none of them. The
words are split as a shell does, and run without one, in a session of their own, so that Ctrl-C is kw's alone and
nothing waits for a password at the terminal. When kw ends, the process group gets SIGTERM, and SIGKILL after a second.
Where kw is killed, a guard does that: a shell that waits for its standard input, which kw holds open, to end.
"""

from __future__ import annotations

import os
import re
import select
import shlex
import signal
import subprocess
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from threading import Lock, Thread
from typing import IO, Final

from decoders.capture.decompress_gzip_zstd_lz4 import PIECE_SIZE
from decoders.named_tuple import NamedTuple
from kwcli.reading.capture_sources import CAPTURE_MAGICS
from kwcli.reading.decompress_inputs import InputProblem
from kwcli.run_environment import Exit, Failure

__all__ = ["CaptureCommand", "CommandProcess", "parse_and_name_capture_commands", "skip_text_before_capture"]

# NAME=COMMAND: a name that is no name of a variable in front of a command (A=1 ssh …) cannot be told from one.
_NAMED: Final = re.compile(r"([A-Za-z0-9._-]+)=(.*)", re.DOTALL)
# Text may stand before a capture: a message of the day, a prompt of sudo.
_TEXT_MAX: Final = 64 << 10
_LONGEST_TOLD: Final = 200
# Words of ssh, kubectl and docker that ask for a terminal.
_TERMINAL: Final = frozenset({"-t", "-tt", "-it", "-ti", "--tty"})
# Lines of a process's standard error that are told; more are counted.
_LINES_TOLD: Final = 20
_GRACE_S: Final = 1.0
# Text that nothing has followed for so long is told: a prompt has no end of line, and waits for an answer.
_QUIET_S: Final = 1.0
_GUARD: Final = 'read -r done && exit; kill -s TERM -- "-$1"; sleep 1; kill -s KILL -- "-$1"'
# First bytes of a capture: its magic number, or gzip's, Zstandard's and LZ4's. That of pcapng is made of ends of lines,
# and may stand in a text; its second number may not.
_COMPRESSED: Final = (b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd", b"\x04\x22\x4d\x18")
_PCAPNG: Final = b"\n\r\r\n"
_BEGIN: Final = re.compile(
    b"|".join(map(re.escape, (*sorted(CAPTURE_MAGICS - {_PCAPNG}), *_COMPRESSED)))
    + rb"|\n\r\r\n.{4}(?:\x1a\x2b\x3c\x4d|\x4d\x3c\x2b\x1a)",
    re.DOTALL,
)


class CaptureCommand(NamedTuple):
    """A command of --on: the name of its place, and its words."""

    name: str
    words: tuple[str, ...]

    @property
    def line(self) -> str:
        """The command as a line of a shell."""
        return shlex.join(self.words)


def parse_and_name_capture_commands(texts: tuple[str, ...], taken_names: tuple[str, ...] = ()) -> list[CaptureCommand]:
    """The commands of `--on [NAME=]COMMAND`. Without a name it is the first word, numbered where several are alike.

    `taken_names`: names that other places have. Raises Failure (usage).
    """
    found: list[CaptureCommand] = []
    for text in texts:
        match = _NAMED.fullmatch(text)
        name, line = (match[1], match[2]) if match is not None else ("", text)
        try:
            words = tuple(shlex.split(line))
        except ValueError as error:
            raise Failure(f"--on {text}: {str(error).lower()}", Exit.USAGE) from None
        if not words:
            raise Failure(f"--on {text}: no command in it: --on 'ssh HOST tcpdump -U -w - port 9092'", Exit.USAGE)
        taken = {command.name for command in found}.union(taken_names)
        if name in taken:
            raise Failure(f"--on {name}=: two places have this name", Exit.USAGE)
        base, number = name or os.path.basename(words[0]), 2
        name = base
        while name in taken:
            name, number = f"{base}-{number}", number + 1
        found.append(CaptureCommand(name, words))
    return found


class CommandProcess:
    """A running command. `tell` gets a line of its standard error, or a message on it, in a thread of its own."""

    def __init__(self, command: CaptureCommand, tell: Callable[[str], None]) -> None:
        """Start the command. Raises InputProblem where it cannot be started."""
        self._command = command
        self._tell = tell
        self._stopping = Lock()
        self.is_stopped = False
        try:
            self._process = subprocess.Popen(
                command.words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            why = (getattr(error, "strerror", None) or str(error)).lower()
            raise InputProblem(f"{command.name}: {command.words[0]}: {why}") from None
        self._guard = self._start_guard(self._process.pid)
        self._said = Thread(target=self._report_stderr_lines, daemon=True)
        self._said.start()

    @staticmethod
    def _start_guard(group: int) -> subprocess.Popen[bytes] | None:
        """A process that kills the group when kw has gone; None where there is no shell."""
        try:
            return subprocess.Popen(
                ("/bin/sh", "-c", _GUARD, "sh", str(group)),
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError:
            return None

    def read_pieces(self) -> Iterator[bytes]:
        """Its standard output as it comes; b"" each time that nothing has come for a moment."""
        assert self._process.stdout is not None
        return _read_pieces(self._process.stdout)

    def close_output(self) -> None:
        """Close its standard output; for the thread that reads it."""
        assert self._process.stdout is not None
        self._process.stdout.close()

    def wait_for_words(self) -> None:
        """Wait a moment for the end of its standard error: what it says of its end is told before that."""
        self._said.join(_GRACE_S)

    @property
    def has_terminal(self) -> bool:
        """Whether its words ask for a terminal, which changes ends of lines and mixes both outputs."""
        return not _TERMINAL.isdisjoint(self._command.words)

    def describe_end(self) -> tuple[str, bool]:
        """How the command has ended, in words, and whether that is a failure; its output has ended."""
        try:
            code = self._process.wait(_GRACE_S)
        except subprocess.TimeoutExpired:
            return "has closed its standard output", False
        if code == 0:
            return "has ended", False
        if code < 0:
            return f"was ended by {_format_signal_name(-code)}: {self._command.line}", True
        return f"ended with exit code {code}: {self._command.line}", True

    def stop(self) -> None:
        """End the command and all that it has started in its process group; wait until that is done."""
        with self._stopping:
            if not self.is_stopped:
                self.is_stopped = True
                self._stop_group()

    def _stop_group(self) -> None:
        with suppress(OSError):
            os.killpg(self._process.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_GRACE_S)
        with suppress(OSError):
            os.killpg(self._process.pid, signal.SIGKILL)  # what the first word has left
        self._process.wait()
        if self._guard is not None and self._guard.stdin is not None:
            with suppress(OSError):
                self._guard.stdin.write(b"done\n")
                self._guard.stdin.close()
            self._guard.wait()

    def _report_stderr_lines(self) -> None:
        """Tell the lines of its standard error, and what it has begun and does not go on with."""
        assert self._process.stderr is not None
        told = 0
        with self._process.stderr as file:
            for line in _split_lines(_read_pieces(file)):
                text = line.decode("utf-8", "replace").strip()
                if not text or self.is_stopped:
                    continue
                told += 1
                if told <= _LINES_TOLD:
                    self._tell(text[:_LONGEST_TOLD])
                elif told == _LINES_TOLD + 1:
                    self._tell("more lines of its standard error are not shown")


def _read_pieces(file: IO[bytes]) -> Iterator[bytes]:
    """The bytes of a pipe as they come, and b"" each time that nothing has come for a moment."""
    waiting = select.poll()
    waiting.register(file, select.POLLIN)
    while True:
        if not waiting.poll(_QUIET_S * 1000):
            yield b""
        elif piece := os.read(file.fileno(), PIECE_SIZE):
            yield piece
        else:
            return


def _split_lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The lines of a text; one that is not gone on with (an empty piece), or is very long, is given as it is."""
    begun = b""
    for piece in pieces:
        *lines, begun = (begun + piece).split(b"\n")
        yield from lines
        if begun and (not piece or len(begun) > PIECE_SIZE):
            yield begun
            begun = b""
    yield begun


def skip_text_before_capture(name: str, pieces: Iterable[bytes], tell: Callable[[str], None]) -> Iterator[bytes]:
    """The pieces from the first bytes of a capture on; `tell` gets the text before it.

    An empty piece says that nothing comes for now: then `tell` gets the text so far. Raises InputProblem where there is
    no capture in the first 64 KiB.
    """
    head, told, pieces = b"", 0, iter(pieces)
    for piece in pieces:
        head += piece
        match = _BEGIN.search(head)
        if match is not None:
            if text := _describe_text(head[told : match.start()]):
                tell(f"before its capture: {text}")
            yield head[match.start() :]
            yield from filter(None, pieces)
            return
        if not piece and (text := _describe_text(head[told:])):
            tell(f"no capture yet, but: {text}")
            told = len(head)
        if len(head) > _TEXT_MAX:
            break
    if not head:
        raise InputProblem(f"{name}: empty: there is no capture in it")
    raise InputProblem(f"{name}: no capture in what it writes: {_describe_text(head)}")


def _describe_text(data: bytes) -> str:
    text = " ".join(data[:_TEXT_MAX].decode("utf-8", "replace").split())
    return text if len(text) <= _LONGEST_TOLD else text[:_LONGEST_TOLD] + "…"


def _format_signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
