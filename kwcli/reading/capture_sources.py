"""Names of captures in, their bytes out in pieces, decompressed: files, standard input, pipes.

A piece is the bytes that are there now, and small, so that a slow pipe is followed as it grows. Compression is
recognised by the first bytes, never by a name. A fault raises `InputProblem` after all bytes before it were given.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Final, Protocol

from decoders.capture.decompress_gzip_zstd_lz4 import COMPRESSED, PIECE_SIZE, quote_first_bytes
from decoders.limits import COMPRESSED_NESTING_MAX
from kwcli.reading.decompress_inputs import InputProblem, inflate_input
from kwcli.reading.list_input_files import (
    OpenFiles,
    StoredFile,
    describe_foreign_format,
    has_records_name,
    hint_for_filter_word,
    read_open_files_limit,
)

if TYPE_CHECKING:
    from decoders.messages.read_ndjson import LineReader
    from kwcli.run_environment import Environment, Readable

# The name of standard input in messages.
STANDARD_INPUT: Final = "standard input"
# Bytes that may stand before the first record: blanks, the byte order mark.
_BLANKS: Final = b" \t\r\n\xef\xbb\xbf"
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


def add_byte_offset(text: str, at: int) -> str:
    """A message about the bytes of a capture, with the offset of the fault in it."""
    return f"cut off at byte {at:,}{text[7:]}" if text.startswith("cut off") else f"{text} at byte {at:,}"


def escape_non_utf8(text: str) -> str:
    """Text that every format takes: bytes of a path or a word that are not UTF-8 become escapes (`\\udcff`)."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


class PieceReader(Protocol):
    """A function that reads up to `size` bytes, as many as are there; b"" at the end."""

    def __call__(self, size: int, /) -> bytes: ...


class CaptureSource:
    """One opened input. `size` is its size on disk where it has one, `taken` the bytes read from disk so far."""

    __slots__ = ("_ahead", "_file", "_read", "name", "size", "taken")

    def __init__(self, name: str, read_next_bytes: PieceReader, *, file: StoredFile | None = None) -> None:
        self.name = name
        self.size = file.size if file is not None else None
        self.taken = 0
        self._read = read_next_bytes
        self._file = file
        self._ahead: Iterator[bytes] | None = None  # pieces of an input that is read once, after its head was looked at

    @property
    def is_stored(self) -> bool:
        """Whether the input can be read again from its beginning."""
        return self._file is not None and self._file.is_regular

    def is_capture(self) -> bool:
        """Whether the input begins as a capture, decompressed where necessary, or is named and begins as records."""
        return self.peek_head()[:4] in CAPTURE_MAGICS or (
            has_records_name(self.name) and begins_as_json(self.peek_head())
        )

    def reopen(self) -> CaptureSource:
        """A new input that reads this file from its beginning."""
        assert self._file is not None
        return _make_file_source(self._file)

    def _read_piece(self, size: int) -> bytes:
        try:
            data = self._read(size)
        except OSError as error:
            raise InputProblem(f"{self.name}: {describe_os_error(error)} at byte {self.taken:,}") from None
        self.taken += len(data)
        return data

    def peek_head(self) -> bytes:
        """The first bytes, decompressed, still to be read; empty where they cannot be read: reading raises then."""
        pieces = self.reopen().read_plain_pieces() if self.is_stored else self.read_plain_pieces()
        try:
            head = _read_first_pieces(pieces)
        except InputProblem as problem:
            head, pieces = b"", _raise_at_first_piece(problem)
        if not self.is_stored:
            self._ahead = chain([head], pieces) if head else pieces
        return head

    def read_capture_pieces(self) -> Iterator[bytes]:
        """The capture's bytes, decompressed; raises InputProblem where they end badly or are not a capture."""
        return require_capture_pieces(self.name, self.read_plain_pieces())

    def read_plain_pieces(self) -> Iterator[bytes]:
        """The input's bytes of any kind, decompressed; raises InputProblem where they end badly."""
        if self._ahead is not None:
            ahead, self._ahead = self._ahead, None
            yield from ahead
            return
        pieces: Iterator[bytes] = iter(partial(self._read_piece, PIECE_SIZE), b"")
        for _ in range(COMPRESSED_NESTING_MAX + 1):
            head = _read_first_pieces(pieces)
            pieces = chain([head], pieces) if head else iter(())
            if COMPRESSED.match(head[:4]) is None:
                yield from pieces
                return
            pieces = inflate_input(self.name, pieces)
        raise InputProblem(f"{self.name}: compressed more than {COMPRESSED_NESTING_MAX} times")

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()


def open_source(name: str, env: Environment, files: OpenFiles | None = None) -> CaptureSource:
    """Open a file, as one of `files`, or standard input for `-`. InputProblem names the input and the reason."""
    if name == "-":
        return CaptureSource(STANDARD_INPUT, _open_standard_input(env.stdin))
    try:
        file = (files or OpenFiles()).open(name)
    except (OSError, ValueError) as error:
        why = f"{describe_os_error(error)} (kw pipeline run reads URLs)" if "://" in name else describe_os_error(error)
        raise InputProblem(f"{name}: {why}{_nearest_file_hint(name, error)}") from None
    if file.is_folder:
        file.close()
        raise InputProblem(f"{name}: a directory, not a capture")
    return _make_file_source(file)


def _nearest_file_hint(name: str, error: OSError | ValueError) -> str:
    """` (did you mean "x.pcap"?)` where a name is no file but resembles one, an interface or a filter; else empty."""
    if not isinstance(error, FileNotFoundError):
        return ""
    if "/" not in name and os.path.exists(f"/sys/class/net/{name}"):
        return f" (did you mean -i {name}?)"
    if hint := hint_for_filter_word(name):
        return hint
    from decoders.wire.suggest_similar_words import nearest_words

    folder, last = os.path.split(name)
    try:
        near = nearest_words(last, sorted(os.listdir(folder or "."))) if last else []
    except OSError:
        return ""
    return f' (did you mean "{os.path.join(folder, near[0])}"?)' if near else ""


def _make_file_source(file: StoredFile) -> CaptureSource:
    at = 0

    def read_next_bytes(size: int) -> bytes:
        nonlocal at
        data = file.read(at, size)
        at += len(data)
        return data

    return CaptureSource(file.name, read_next_bytes, file=file)


def _open_standard_input(stdin: Readable) -> PieceReader:
    return stdin.read1


def describe_os_error(error: OSError | ValueError) -> str:
    if isinstance(error, OSError) and error.errno is not None:
        if error.errno < 0:  # from name resolution
            return str(error.strerror or error).lower()
        known = {errno.ENOENT: "no such file", errno.EACCES: "no permission to read it"}
        if error.errno == errno.EMFILE:
            return f"too many open files (ulimit -n is {read_open_files_limit()})"
        return known.get(error.errno, os.strerror(error.errno).lower())
    return str(error)


def _read_first_pieces(pieces: Iterator[bytes]) -> bytes:
    """The first pieces, of at least four bytes where there are so many."""
    head = b""
    for piece in pieces:
        head += piece
        if len(head) >= 4:
            break
    return head


def _raise_at_first_piece(problem: InputProblem) -> Iterator[bytes]:
    raise problem
    yield b""


def begins_as_json(head: bytes) -> bool:
    """Whether an input with these first bytes may hold records as JSON, one a line: no capture begins so."""
    return head.lstrip(_BLANKS).startswith((b"{", b"["))


# Texts in the lines of a broker's request log: of kafka.request.logger, and of kafka.server.KafkaApis.
_COMPLETED: Final = b"Completed request:"
_HANDLING: Final = b"Handling request:RequestHeader("


def begins_as_request_log(head: bytes) -> bool:
    """Whether an input with these first bytes is a broker's request log."""
    return (_COMPLETED in head or _HANDLING in head) and head[:4] not in CAPTURE_MAGICS


def lacks_lines_of_request_logger(head: bytes) -> bool:
    """Whether a request log with these first bytes has no lines of kafka.request.logger."""
    return _COMPLETED not in head


def open_line_reader(head: bytes) -> LineReader:
    """A reader for the lines of an input with these first bytes: a request log, or records as JSON."""
    if begins_as_request_log(head):
        from decoders.messages.parse_request_log import RequestLogLines

        return RequestLogLines(handled=lacks_lines_of_request_logger(head))
    from decoders.messages.read_ndjson import RecordLines

    return RecordLines()


def holds_records_or_request_log(source: CaptureSource) -> bool:
    """Whether a file in a folder is named as records are and may hold some, or is a broker's request log."""
    plain = source.name.removesuffix(".gz").removesuffix(".zst").removesuffix(".lz4")
    head = source.peek_head()
    return begins_as_request_log(head) or (plain.endswith((".ndjson", ".jsonl")) and begins_as_json(head))


def require_capture_pieces(name: str, pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The pieces as given; raises InputProblem where their first bytes are not a capture's."""
    head = _read_first_pieces(pieces)
    if head[:4] not in CAPTURE_MAGICS:
        if not head:
            raise InputProblem(f"{name}: empty: there is no capture in it")
        if any(magic.startswith(head) for magic in CAPTURE_MAGICS):
            raise InputProblem(f"{name}: cut off at byte {len(head)} inside the file header")
        other = describe_foreign_format(head)
        if other is not None:
            raise InputProblem(f"{name}: {other[0]}, which kw does not read; make it a pcapng: {other[1]}")
        start = quote_first_bytes(head)
        raise InputProblem(f"{name}: not a capture: starts with {start} (kw reads pcap and pcapng, also .gz .zst .lz4)")
    yield head
    yield from pieces
