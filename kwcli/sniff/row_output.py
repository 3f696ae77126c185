"""Bytes of rows in, standard output in pieces out: what was made is written, whatever interrupts it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from io import BufferedWriter, FileIO
from operator import length_hint
from typing import TYPE_CHECKING, Final

from kwcli.output import OncePiece

if TYPE_CHECKING:
    from kwcli.env import Environment
    from kwcli.progress import Progress

__all__ = ["WRITE_SIZE", "Output"]

WRITE_SIZE: Final = 1 << 20
# No stream has a smaller buffer: Python makes it as large as a block, which is 1 KiB on a terminal, 4 KiB on a pipe.
# Without a buffer (PYTHONUNBUFFERED) a pipe takes up to PIPE_BUF bytes as a whole.
PIECE_SIZE: Final = 1 << 10


class Output:
    """Standard output in pieces of about 1 MiB, or at once where rows are wanted promptly.

    A Ctrl-C while somebody reads too slowly loses nothing: `flush` goes on with what was not written. A piece that fits
    the buffer of the stream is taken whole or, when it is interrupted, not at all; and between `writelines` and its
    iterator no Ctrl-C is heard, so that the iterator says which pieces were taken.
    """

    def __init__(self, env: Environment, progress: Progress, *, prompt: bool) -> None:
        self._stdout = env.stdout
        self._progress = progress
        self._prompt = prompt
        self._parts: list[bytes] = []
        self._size = 0
        self._left: bytes | memoryview = b""  # of an interrupted write
        self._held = WRITE_SIZE
        self._turn: Callable[[], frozenset[Hashable]] | None = None
        self.begun = False  # whether there was anything to write
        self.told: set[Hashable] = set()  # what was said that is said once

    @property
    def is_shared(self) -> bool:
        """Whether a copy of this process would write to the same place."""
        return isinstance(self._stdout, BufferedWriter | FileIO)

    def write(self, data: bytes) -> None:
        """Take bytes; they may wait for more."""
        self.take([data])
        if self._size >= self._held:
            self.flush()

    def take(self, pieces: Iterable[bytes]) -> None:
        """Take bytes that wait until something is written."""
        for data in pieces:
            if data.__class__ is OncePiece:
                assert isinstance(data, OncePiece)
                if data.key in self.told:
                    continue
                self.told.add(data.key)
            self.begun = True
            self._parts.append(data)
            self._size += len(data)

    def begin_part(self, turn: Callable[[], frozenset[Hashable]], held: int) -> None:
        """This is a copy of the process (jobs.py): hold so many bytes, and write them when `turn` comes back.

        It gives what was said by then, which is not said again.
        """
        self._turn, self._held = turn, held
        self._progress.forget()

    def end_part(self, most: int) -> list[bytes]:
        """Give back what is held of the part, where it is at most so many bytes and nothing was written; else write."""
        if self._turn is None or self._size > most:
            self.flush()
            return []
        held, self._parts, self._size = self._parts, [], 0
        return held

    def _await_turn(self, turn: Callable[[], frozenset[Hashable]]) -> None:
        self._turn, self._held = None, WRITE_SIZE
        told = turn()
        self._parts = [each for each in self._parts if not isinstance(each, OncePiece) or each.key not in told]
        self.told |= told

    def settle(self) -> None:
        """The end of a batch: rows that are wanted promptly go out."""
        if self._prompt and self._parts:
            self.flush()

    def flush(self) -> None:
        """Write what waits."""
        if self._turn is not None:
            self._await_turn(self._turn)
        parts, self._parts, self._size = [self._left, *self._parts], [], 0
        left = memoryview(b"".join(parts))
        self._left = b""
        if not left:
            return
        self._progress.hide()
        if isinstance(self._stdout, BufferedWriter | FileIO):
            pieces = [left[at : at + PIECE_SIZE] for at in range(0, len(left), PIECE_SIZE)]
            taken: Iterator[bytes | memoryview] = iter(
                [*pieces, b""]
            )  # when the last one is taken, all others are written
            try:
                self._stdout.writelines(taken)
            finally:
                written = max(len(pieces) - length_hint(taken), 0)
                self._left = left[written * PIECE_SIZE :]
        else:
            while left:
                left = left[self._stdout.write(left) :]
        self._stdout.flush()
