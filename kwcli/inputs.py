"""Names of captures in, their bytes out in pieces, decompressed: files, standard input, pipes.

Pieces are what is there, and small, so that a slow pipe is followed as it grows. Compression is recognised by the
first bytes, never by a name. What is wrong with an input is an `InputProblem`, after everything that came before it.
"""

from __future__ import annotations

import errno
import os
import stat
import zlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final, Protocol

from decoders.wire.text import in_bytes
from kwcli.exits import Failure

if TYPE_CHECKING:
    from kwcli.env import Environment, Readable

# So many bytes of packets, and what is made of them, stay in the processor's cache (tests/bench/sniff.py: a fifth
# faster than pieces of 1 MiB).
PIECE_SIZE: Final = 1 << 16
# A zstd block of 4 bytes may stand for 128 KiB: 1 KiB of them is at most 32 MiB.
ZSTD_STEP: Final = 1 << 10

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


class InputProblem(Failure):
    """An input, or the rest of it, cannot be read; the text begins with its name."""


def placed(text: str, at: int) -> str:
    """What is wrong with the bytes of a capture, and where."""
    return f"cut off at byte {at:,}{text[7:]}" if text.startswith("cut off") else f"{text} at byte {at:,}"


def utf8_text(text: str) -> str:
    """Text that every format takes: what is no UTF-8 in a path or a word as messages show it (`\\udcff`)."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


class Pieces(Protocol):
    """Where bytes come from: up to `size` that are there, b"" at the end."""

    def __call__(self, size: int, /) -> bytes: ...


class Source:
    """One opened input. `size` is its size on disk where it has one, `taken` the bytes read from disk so far."""

    __slots__ = ("_file", "_read", "name", "seekable", "size", "taken")

    def __init__(self, name: str, read: Pieces, *, size: int | None = None, file: int | None = None) -> None:
        self.name = name
        self.size = size
        self.taken = 0
        self._read = read
        self._file = file

    def _piece(self, size: int) -> bytes:
        try:
            data = self._read(min(size, PIECE_SIZE) if size > 0 else PIECE_SIZE)
        except OSError as error:
            raise InputProblem(f"{self.name}: {reason(error)} at byte {self.taken:,}") from None
        self.taken += len(data)
        return data

    def pieces(self) -> Iterator[bytes]:
        """The capture's bytes, decompressed; raises InputProblem where they end badly."""
        head = b""
        while len(head) < 4 and (data := self._piece(PIECE_SIZE)):
            head += data
        if not head:
            raise InputProblem(f"{self.name}: empty: there is no capture in it")
        for magic, inflate in INFLATERS.items():
            if head.startswith(magic):
                yield from _checked(self.name, inflate(self.name, _Replayed(head, self._piece)))
                return
        yield from _checked(self.name, _plain(head, self._piece))

    def close(self) -> None:
        """Give the file back to the system."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


def open_source(name: str, env: Environment) -> Source:
    """Open a file, or standard input for `-`; a failure names the input and the reason."""
    if name == "-":
        return Source("standard input", _standard_input(env.stdin))
    try:
        file = os.open(name, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0))
        about = os.fstat(file)
    except (OSError, ValueError) as error:
        raise InputProblem(f"{name}: {reason(error)}") from None
    if stat.S_ISDIR(about.st_mode):
        os.close(file)
        raise InputProblem(f"{name}: a directory, not a capture")
    size = about.st_size if stat.S_ISREG(about.st_mode) else None
    return Source(name, lambda count: os.read(file, count), size=size, file=file)


def _standard_input(stdin: Readable) -> Pieces:
    return stdin.read1


def reason(error: OSError | ValueError) -> str:
    if isinstance(error, OSError) and error.errno is not None:
        if error.errno < 0:  # of the resolver of names
            return str(error.strerror or error).lower()
        known = {errno.ENOENT: "no such file", errno.EACCES: "no permission to read it"}
        return known.get(error.errno, os.strerror(error.errno).lower())
    return str(error)


def _checked(name: str, pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The same pieces, once their first bytes are those of a capture."""
    head = b""
    for piece in pieces:
        head += piece
        if len(head) >= 4:
            break
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


def shown(head: bytes) -> str:
    """The first bytes of something unknown, as text where they are text."""
    text = head[:4]
    if all(32 <= byte < 127 for byte in text):
        return f'"{text.decode()}"'
    return f"the bytes {text.hex(' ')}"


def _plain(head: bytes, read: Pieces) -> Iterator[bytes]:
    yield head
    while data := read(PIECE_SIZE):
        yield data


class _Replayed:
    """The first piece again, then the rest."""

    __slots__ = ("_head", "_read")

    def __init__(self, head: bytes, read: Pieces) -> None:
        self._head = head
        self._read = read

    def read(self, size: int = -1) -> bytes:
        if self._head:
            head, self._head = self._head, b""
            if 0 < size < len(head):
                head, self._head = head[:size], head[size:]
            return head
        return self._read(size)


def _gzip(name: str, source: _Replayed) -> Iterator[bytes]:
    """Members one after the other; zeros after the last one are padding, as gzip itself holds."""
    data = source.read(PIECE_SIZE)
    made = 0
    while data:
        engine = zlib.decompressobj(wbits=31)
        while not engine.eof:
            try:
                plain = engine.decompress(data, PIECE_SIZE)
            except zlib.error as error:
                raise InputProblem(f"{name}: corrupt gzip data after {in_bytes(made)} of capture ({error})") from None
            made += len(plain)
            if plain:
                yield plain
            data = engine.unconsumed_tail
            if not data and not engine.eof and len(plain) < PIECE_SIZE:
                data = source.read(PIECE_SIZE)
                if not data:
                    raise _cut_off(name, "gzip", made)
        data = engine.unused_data.lstrip(b"\0") or source.read(PIECE_SIZE).lstrip(b"\0")


def _zstd(name: str, source: _Replayed) -> Iterator[bytes]:
    """Frames one after the other. The engine has no bound on what one call gives, so it is fed in small pieces."""
    import zstandard

    engine = zstandard.ZstdDecompressor().decompressobj()
    made = 0
    begun = False  # inside a frame
    while data := source.read(PIECE_SIZE):
        plain: list[bytes] = []
        size = 0
        at = 0
        while at < len(data):
            part = data[at : at + ZSTD_STEP]
            at += len(part)
            try:
                plain.append(engine.decompress(part))
            except zstandard.ZstdError as error:
                yield b"".join(plain)
                raise InputProblem(
                    f"{name}: corrupt zstd data after {in_bytes(made + size)} of capture ({error})"
                ) from None
            begun = not engine.eof
            if engine.eof:
                at -= len(engine.unused_data)
                engine = zstandard.ZstdDecompressor().decompressobj()
            size += len(plain[-1])
            if size >= PIECE_SIZE:
                yield b"".join(plain)
                made += size
                plain, size = [], 0
        if size:
            yield b"".join(plain)
            made += size
    if begun:
        raise _cut_off(name, "zstd", made)


def _lz4(name: str, source: _Replayed) -> Iterator[bytes]:
    """Frames one after the other."""
    import lz4.frame  # type: ignore[import-untyped]  # lz4 ships no types

    data = source.read(PIECE_SIZE)
    made = 0
    while data:
        engine = lz4.frame.LZ4FrameDecompressor()
        while not engine.eof:
            if engine.needs_input and not data:
                data = source.read(PIECE_SIZE)
                if not data:
                    raise _cut_off(name, "lz4", made)
            try:
                plain = engine.decompress(data, PIECE_SIZE)
            except RuntimeError as error:
                raise InputProblem(f"{name}: corrupt lz4 data after {in_bytes(made)} of capture ({error})") from None
            data = b""
            made += len(plain)
            if plain:
                yield plain
        data = (engine.unused_data or b"") or source.read(PIECE_SIZE)


def _cut_off(name: str, codec: str, made: int) -> InputProblem:
    return InputProblem(f"{name}: the {codec} data is cut off after {in_bytes(made)} of capture")


# First bytes of a compressed file → what undoes it.
INFLATERS: Final[dict[bytes, Callable[[str, _Replayed], Iterator[bytes]]]] = {
    bytes.fromhex("1f8b"): _gzip,
    bytes.fromhex("28b52ffd"): _zstd,
    bytes.fromhex("04224d18"): _lz4,
}
