"""Names of captures in, their bytes out in pieces, decompressed: files, standard input, pipes.

Pieces are what is there, and small, so that a slow pipe is followed as it grows. Compression is recognised by the
first bytes, never by a name. What is wrong with an input is an `InputProblem`, after everything that came before it.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Final, Protocol

from decoders.limits import COMPRESSED_NESTING_MAX
from kwcli.inflating import PIECE_SIZE, InputProblem, inflated, is_compressed, shown
from kwcli.open_files import OpenFiles, StoredFile, open_files_limit

if TYPE_CHECKING:
    from kwcli.env import Environment, Readable

__all__ = ["CAPTURE_MAGICS", "PIECE_SIZE", "CaptureSource", "InputProblem", "open_source", "placed", "reason"]

# First bytes of the captures that kw reads: classic pcap in both byte orders, µs, ns and the old patched form; pcapng.
CAPTURE_MAGICS: Final = frozenset(
    {
        bytes.fromhex("d4c3b2a1"),
        bytes.fromhex("a1b2c3d4"),
        bytes.fromhex("4d3cb2a1"),
        bytes.fromhex("a1b23c4d"),
        bytes.fromhex("34cdb2a1"),
        bytes.fromhex("a1b2cd34"),
        bytes.fromhex("0a0d0d0a"),
    }
)


def placed(text: str, at: int) -> str:
    """What is wrong with the bytes of a capture, and where."""
    return f"cut off at byte {at:,}{text[7:]}" if text.startswith("cut off") else f"{text} at byte {at:,}"


def utf8_text(text: str) -> str:
    """Text that every format takes: what is no UTF-8 in a path or a word as messages show it (`\\udcff`)."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


class Pieces(Protocol):
    """Where bytes come from: up to `size` that are there, b"" at the end."""

    def __call__(self, size: int, /) -> bytes: ...


class CaptureSource:
    """One opened input. `size` is its size on disk where it has one, `taken` the bytes read from disk so far."""

    __slots__ = ("_file", "_read", "name", "size", "taken")

    def __init__(self, name: str, read: Pieces, *, file: StoredFile | None = None) -> None:
        self.name = name
        self.size = file.size if file is not None else None
        self.taken = 0
        self._read = read
        self._file = file

    @property
    def is_stored(self) -> bool:
        """Whether it can be read again from its beginning."""
        return self._file is not None and self._file.is_regular

    def again(self) -> CaptureSource:
        """The same file from its beginning, as an input of its own."""
        assert self._file is not None
        return _stored(self._file)

    def _piece(self, size: int) -> bytes:
        try:
            data = self._read(size)
        except OSError as error:
            raise InputProblem(f"{self.name}: {reason(error)} at byte {self.taken:,}") from None
        self.taken += len(data)
        return data

    def pieces(self) -> Iterator[bytes]:
        """The capture's bytes, decompressed; raises InputProblem where they end badly."""
        pieces: Iterator[bytes] = iter(partial(self._piece, PIECE_SIZE), b"")
        for _ in range(COMPRESSED_NESTING_MAX + 1):
            head = _head(pieces)
            pieces = chain([head], pieces) if head else iter(())
            if not is_compressed(head[:4]):
                yield from _checked(self.name, pieces)
                return
            pieces = inflated(self.name, pieces)
        raise InputProblem(f"{self.name}: compressed more than {COMPRESSED_NESTING_MAX} times")

    def close(self) -> None:
        """Give the file back to the system."""
        if self._file is not None:
            self._file.close()


def open_source(name: str, env: Environment, files: OpenFiles | None = None) -> CaptureSource:
    """Open a file, as one of `files`, or standard input for `-`; a failure names the input and the reason."""
    if name == "-":
        return CaptureSource("standard input", _standard_input(env.stdin))
    try:
        file = (files or OpenFiles()).open(name)
    except (OSError, ValueError) as error:
        raise InputProblem(f"{name}: {reason(error)}") from None
    if file.is_folder:
        file.close()
        raise InputProblem(f"{name}: a directory, not a capture")
    return _stored(file)


def _stored(file: StoredFile) -> CaptureSource:
    at = 0

    def read(size: int) -> bytes:
        nonlocal at
        data = file.read(at, size)
        at += len(data)
        return data

    return CaptureSource(file.name, read, file=file)


def _standard_input(stdin: Readable) -> Pieces:
    return stdin.read1


def reason(error: OSError | ValueError) -> str:
    if isinstance(error, OSError) and error.errno is not None:
        if error.errno < 0:  # of the resolver of names
            return str(error.strerror or error).lower()
        known = {errno.ENOENT: "no such file", errno.EACCES: "no permission to read it"}
        if error.errno == errno.EMFILE:
            return f"too many open files (ulimit -n is {open_files_limit()})"
        return known.get(error.errno, os.strerror(error.errno).lower())
    return str(error)


def _head(pieces: Iterator[bytes]) -> bytes:
    """The first pieces, of at least four bytes where there are so many."""
    head = b""
    for piece in pieces:
        head += piece
        if len(head) >= 4:
            break
    return head


def _checked(name: str, pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The same pieces, once their first bytes are those of a capture."""
    head = _head(pieces)
    if head[:4] not in CAPTURE_MAGICS:
        if not head:
            raise InputProblem(f"{name}: empty: there is no capture in it")
        if any(magic.startswith(head) for magic in CAPTURE_MAGICS):
            raise InputProblem(f"{name}: cut off at byte {len(head)} inside the file header")
        raise InputProblem(
            f"{name}: not a capture: starts with {shown(head)} (kw reads pcap and pcapng, also .gz .zst .lz4)"
        )
    yield head
    yield from pieces
