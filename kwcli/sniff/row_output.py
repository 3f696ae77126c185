"""Bytes of rows in, standard output in pieces out: what was made is written, whatever interrupts it."""

from __future__ import annotations

from collections.abc import Iterator
from io import BufferedWriter, FileIO
from operator import length_hint
from typing import TYPE_CHECKING, Final

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

    def write(self, data: bytes) -> None:
        """Take bytes; they may wait for more."""
        self._parts.append(data)
        self._size += len(data)
        if self._size >= WRITE_SIZE:
            self.flush()

    def settle(self) -> None:
        """The end of a batch: rows that are wanted promptly go out."""
        if self._prompt and self._parts:
            self.flush()

    def flush(self) -> None:
        """Write what waits."""
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
