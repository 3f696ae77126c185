"""Names of captures in, their bytes, and their segments in the order of time, out."""

from __future__ import annotations

import errno
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Final, Protocol

from decoders.capture.files import CaptureReader
from decoders.capture.merge import before, merged
from decoders.limits import COMPRESSED_NESTING_MAX, MERGED_MAX
from kwcli.inflating import COMPRESSED, PIECE_SIZE, InputProblem, inflated, shown
from kwcli.input_files import (
    OpenFiles,
    StoredFile,
    filter_hint,
    is_named_capture,
    is_named_records,
    is_read_once,
    is_tables,
    list_paths,
    open_files_limit,
    other_capture,
)
from kwcli.run_environment import Failure

if TYPE_CHECKING:
    from decoders.capture.excerpt_comments import CutReceiver
    from decoders.errors import DecodeError
    from decoders.exchanges.exchange import Ended, Settled
    from decoders.messages.read_ndjson import LineReader
    from decoders.tcp.chunks import Segment
    from kwcli.run_environment import Environment, Readable, StoredRows

__all__ = [
    "CAPTURE_MAGICS",
    "PIECE_SIZE",
    "STANDARD_INPUT",
    "CaptureSource",
    "Captures",
    "InputProblem",
    "capture_pieces",
    "capture_span",
    "open_source",
    "placed",
    "reason",
]

# The name of standard input in messages.
STANDARD_INPUT: Final = "standard input"


# Names of captures in, their segments by packet time out, for any number of captures: each is read in its turn.
#
# A capture's turn is the time of its first segment. Where that segment is near the beginning of the file, no more is
# read in advance and the file is not kept open; else the capture is read at once up to its first segment, as is any
# input that can be read only once. Captures that overlap in time are read side by side: few are open at a time, and the
# more there are, the smaller the pieces, so that memory stays the same.


# Where a first segment is looked for: in the first bytes, then in the whole first piece.
_LOOKS: Final = (4096, PIECE_SIZE)
# Bytes that may stand before the first record: blanks, the byte order mark.
_BLANKS: Final = b" \t\r\n\xef\xbb\xbf"
# Fewer bytes at a time cost more than they save.
_PIECE_MIN: Final = 4096


class Captures:
    """The inputs of one run. `problems` are messages: inputs that cannot be opened, then inputs not read to the end.

    Inputs that hold records which kw wrote, and no packets, are recognised by their first bytes: `__iter__` gives the
    segments of the captures, then `recorded` the exchanges in the records. `size` is the bytes of all inputs, where
    each has a size; `taken` is how many of them have been read. `on_secrets` gets the TLS key logs in captures,
    `cut_receiver` the notes in captures that were cut out of others (capture/files.py).
    """

    def __init__(
        self,
        names: Iterable[str],
        env: Environment,
        *,
        numbered: bool = False,
        on_secrets: Callable[[bytes], None] | None = None,
        cut_receiver: CutReceiver | None = None,
        reader: type[CaptureReader] = CaptureReader,
    ) -> None:
        """`numbered`: the numbers of packets name the file as well (capture/merge.py). `reader` makes segments."""
        self.problems: list[str] = []
        self.taken = 0
        self._on_secrets = on_secrets
        self._cut_receiver = cut_receiver
        self._reader = reader
        self._numbered = numbered
        self._files = OpenFiles()
        self._sources: list[CaptureSource] = []
        self._ended: Counter[str] = Counter()  # counts of the readers that have ended
        self._reading: dict[int, CaptureReader] = {}
        self._cut: dict[int, DecodeError] = {}
        self._recorded: list[CaptureSource] = []
        self._tables: list[StoredRows] = []
        self.lines = 0  # lines of records read so far
        self.rows = 0  # rows of tables read so far
        self.request_logs: list[str] = []  # names of inputs that are a broker's request log
        # Real paths of the files that were named one by one, and of the files from folders and patterns.
        self._named: set[str] = set()
        self._listed: set[str] = set()
        for name in names:
            try:
                self._open(name, env)
            except InputProblem as problem:
                self.problems.append(problem.text)

    def _open(self, word: str, env: Environment) -> None:
        """Open the inputs that a word stands for; of a folder or pattern only captures and records, each file once."""
        if word == "-":
            self._add(open_source(word, env, self._files))
            return
        if is_tables(word):
            self._open_tables(word, env)
            return
        found = False
        for path, is_listed, error in list_paths(word):
            if error is not None:
                self.problems.append(f"{path}: {reason(error)}")
                continue
            real = os.path.realpath(path)
            if real in self._listed or (is_listed and real in self._named):
                found = True
                continue
            if is_listed and not os.path.isfile(path):
                continue
            try:
                source = open_source(path, env, self._files)
            except InputProblem as problem:
                self.problems.append(problem.text)
                found = True
                continue
            if is_listed and not ((source.size and is_named_capture(path)) or source.is_capture() or _is_ours(source)):
                source.close()
                continue
            (self._listed if is_listed else self._named).add(real)
            self._add(source)
            found = True
        if not found:
            raise InputProblem(f"{word}: no capture in it")

    def _open_tables(self, word: str, env: Environment) -> None:
        """Open a folder of tables that was named; tables inside other folders are passed over (input_files.py)."""
        real = os.path.realpath(word)
        if real in self._named:
            return
        self._named.add(real)
        try:
            self._tables.append(env.open_tables(word))
        except Failure as failure:
            raise InputProblem(failure.text) from None

    def _add(self, source: CaptureSource) -> None:
        head = source.head()
        if is_request_log(head):
            self.request_logs.append(source.name)
        (self._recorded if _is_records(head) or is_request_log(head) else self._sources).append(source)

    @property
    def count(self) -> int:
        """The number of inputs that could be opened."""
        return len(self._sources) + len(self._recorded) + len(self._tables)

    @property
    def records(self) -> list[str]:
        """The names of the inputs that hold records, folders of tables among them."""
        return [*(source.name for source in self._recorded), *(tables.place for tables in self._tables)]

    @property
    def faults(self) -> list[str]:
        """The faults of the captures that the tables were made from."""
        return list(dict.fromkeys(fault for tables in self._tables for fault in tables.faults))

    @property
    def lacking(self) -> list[str]:
        """What is missing in the tables, one sentence for each folder that lacks something."""
        return [tables.lacking for tables in self._tables if tables.lacking is not None]

    def stored(self) -> Iterator[CaptureSource]:
        """The captures that can be read again, each from its beginning."""
        return (source.again() for source in self._sources if source.is_stored)

    def table_spans(self) -> Iterator[tuple[int, int]]:
        """The times of the first and the last exchange, for each folder of tables."""
        return (tables.span for tables in self._tables if tables.span is not None)

    @property
    def names(self) -> list[str]:
        """The names of the captures, in the order of their numbers."""
        return [source.name for source in self._sources]

    @property
    def size(self) -> int | None:
        """The bytes of all inputs together, None where one of them has no size."""
        sizes = [source.size for source in (*self._sources, *self._recorded)]
        sizes += [tables.size for tables in self._tables]
        return None if None in sizes else sum(size or 0 for size in sizes)

    def __iter__(self) -> Iterator[list[Segment]]:
        """The segments of all captures by time; a problem of an input is noted, not raised."""
        feeds = [self._segments(number, source) for number, source in enumerate(self._sources)]
        if len(feeds) == 1:
            yield from feeds[0]
        else:
            yield from merged(feeds, [_first_ns(source) for source in self._sources])

    def _segments(self, number: int, source: CaptureSource) -> Iterator[list[Segment]]:
        reader = self._reading[number] = self._reader(before=before(number) if self._numbered else 0)
        reader.on_secrets = self._on_secrets
        reader.cut_receiver = self._cut_receiver
        taken = 0
        try:
            for piece in source.pieces():
                self.taken += source.taken - taken
                taken = source.taken
                for part in self._parts(piece):
                    yield reader.feed(part)
                    if reader.problem is not None:
                        return
            yield reader.finish()
        except InputProblem as problem:
            yield reader.feed(b"")
            self.problems.append(problem.text)
        finally:
            source.close()
            self._end(number)

    def recorded(self) -> Iterator[tuple[str, list[Settled]]]:
        """Names of inputs that hold records, each with some of its exchanges and skipped byte runs, input by input.

        Lines that are no records are noted and passed over.
        """
        for source in self._recorded:
            for rows in self._read_lines(source):
                yield source.name, rows
        for tables in self._tables:
            yield from self._read_tables(tables)

    def ends(self) -> Iterator[Ended]:
        """How the connections in tables ended."""
        for tables in self._tables:
            try:
                yield from tables.ends()
            except Failure as failure:
                self.problems.append(failure.text)

    def _read_tables(self, tables: StoredRows) -> Iterator[tuple[str, list[Settled]]]:
        taken, read = self.taken, 0
        try:
            for name, rows in tables.read():
                read += len(rows)
                self.rows += len(rows)
                self.taken = taken + tables.size * read // max(tables.rows, 1)
                yield name, rows
        except Failure as failure:
            self.problems.append(failure.text)
        finally:
            self.problems += tables.problems

    def _read_lines(self, source: CaptureSource) -> Iterator[list[Settled]]:
        lines = _line_reader(source.head())
        taken = before = 0
        try:
            for piece in source.plain():
                self.taken += source.taken - taken
                taken = source.taken
                rows = lines.feed(piece)
                self.lines, before = self.lines + lines.lines - before, lines.lines
                yield rows
            rows = lines.finish()
            self.lines += lines.lines - before
            yield rows
        except InputProblem as problem:
            self.problems.append(problem.text)
        finally:
            source.close()
            self.problems += line_problems(source.name, lines)

    def _parts(self, piece: bytes) -> Iterator[bytes]:
        """A piece, in smaller parts where many captures are read side by side."""
        size = max(MERGED_MAX // max(len(self._reading), 1), _PIECE_MIN)
        if len(piece) <= size:
            yield piece
            return
        for at in range(0, len(piece), size):
            yield piece[at : at + size]

    def _end(self, number: int) -> None:
        reader = self._reading.pop(number)
        self._ended.update(reader.counts)
        if reader.problem is not None:
            self._cut[number] = reader.problem

    def cut(self) -> Iterator[tuple[str, DecodeError]]:
        """The names of captures that end inside a packet or hold something else than packets, with the error."""
        for number in sorted(self._cut):
            yield self._sources[number].name, self._cut[number]

    def counts(self) -> Counter[str]:
        """The counts of all readers together."""
        counts = Counter(self._ended)
        for reader in self._reading.values():
            counts.update(reader.counts)
        return counts

    def close(self) -> None:
        """Close all files."""
        for source in (*self._sources, *self._recorded):
            source.close()


def line_problems(name: str, lines: LineReader) -> Iterator[str]:
    """Messages about the unreadable lines of an input."""
    problems = [f"line {each.line:,}: {each.text}" for each in lines.problems]
    if problems and not lines.found:
        yield f"{name}: {lines.otherwise}: {problems[0]}"
        return
    yield from (f"{name}: {problem}" for problem in problems)
    if more := lines.broken - len(problems):
        yield f"{name}: {more:,} more lines are no exchanges"


def capture_span(words: Iterable[str], env: Environment) -> tuple[int, int] | None:
    """The times (ns) of the first and last packet of captures, read from end to end by packet headers alone.

    Inputs that can be read only once are passed over. None where there is no packet.
    """
    from decoders.capture.packet_index import Walk

    captures = Captures((word for word in words if not is_read_once(word)), env)
    lows: list[int] = []
    highs: list[int] = []
    try:
        for source in captures.stored():
            walk = Walk()
            with suppress(InputProblem):  # reported when the capture is decoded
                for piece in source.pieces():
                    walk.feed(piece)
            mark = walk.mark()
            lows += [mark.low_ns] if mark.low_ns is not None else []
            highs += [mark.high_ns] if mark.high_ns is not None else []
        for low, high in captures.table_spans():
            lows.append(low)
            highs.append(high)
    finally:
        captures.close()
    return (min(lows), max(highs)) if lows else None


def _first_ns(source: CaptureSource) -> int:
    """The time (ns) of the first segment; 0 where it is not near the beginning: then the capture is begun at once."""
    if not source.is_stored:
        return 0
    reader = CaptureReader()
    at = 0
    try:
        piece = next(source.again().pieces(), b"")
    except InputProblem:
        return 0  # reported when the capture is read
    for end in _LOOKS:
        segments = reader.feed(piece[at:end])
        at = end
        if segments:
            return segments[0][1]
    return 0


# Names of captures in, their bytes out in pieces, decompressed: files, standard input, pipes.
#
# A piece is the bytes that are there now, and small, so that a slow pipe is followed as it grows. Compression is
# recognised by the first bytes, never by a name. A fault raises `InputProblem` after all bytes before it were given.


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
    """A message about the bytes of a capture, with the offset of the fault in it."""
    return f"cut off at byte {at:,}{text[7:]}" if text.startswith("cut off") else f"{text} at byte {at:,}"


def utf8_text(text: str) -> str:
    """Text that every format takes: bytes of a path or a word that are not UTF-8 become escapes (`\\udcff`)."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


class PieceReader(Protocol):
    """A function that reads up to `size` bytes, as many as are there; b"" at the end."""

    def __call__(self, size: int, /) -> bytes: ...


class CaptureSource:
    """One opened input. `size` is its size on disk where it has one, `taken` the bytes read from disk so far."""

    __slots__ = ("_ahead", "_file", "_read", "name", "size", "taken")

    def __init__(self, name: str, read: PieceReader, *, file: StoredFile | None = None) -> None:
        self.name = name
        self.size = file.size if file is not None else None
        self.taken = 0
        self._read = read
        self._file = file
        self._ahead: Iterator[bytes] | None = None  # pieces of an input that is read once, after its head was looked at

    @property
    def is_stored(self) -> bool:
        """Whether the input can be read again from its beginning."""
        return self._file is not None and self._file.is_regular

    def is_capture(self) -> bool:
        """Whether the input begins as a capture, decompressed where necessary, or is named and begins as records."""
        return self.head()[:4] in CAPTURE_MAGICS or (is_named_records(self.name) and _is_records(self.head()))

    def again(self) -> CaptureSource:
        """A new input that reads this file from its beginning."""
        assert self._file is not None
        return _stored(self._file)

    def _piece(self, size: int) -> bytes:
        try:
            data = self._read(size)
        except OSError as error:
            raise InputProblem(f"{self.name}: {reason(error)} at byte {self.taken:,}") from None
        self.taken += len(data)
        return data

    def head(self) -> bytes:
        """The first bytes, decompressed, still to be read; empty where they cannot be read: reading raises then."""
        pieces = self.again().plain() if self.is_stored else self.plain()
        try:
            head = _head(pieces)
        except InputProblem as problem:
            head, pieces = b"", _raising(problem)
        if not self.is_stored:
            self._ahead = chain([head], pieces) if head else pieces
        return head

    def pieces(self) -> Iterator[bytes]:
        """The capture's bytes, decompressed; raises InputProblem where they end badly or are not a capture."""
        return capture_pieces(self.name, self.plain())

    def plain(self) -> Iterator[bytes]:
        """The input's bytes of any kind, decompressed; raises InputProblem where they end badly."""
        if self._ahead is not None:
            ahead, self._ahead = self._ahead, None
            yield from ahead
            return
        pieces: Iterator[bytes] = iter(partial(self._piece, PIECE_SIZE), b"")
        for _ in range(COMPRESSED_NESTING_MAX + 1):
            head = _head(pieces)
            pieces = chain([head], pieces) if head else iter(())
            if COMPRESSED.match(head[:4]) is None:
                yield from pieces
                return
            pieces = inflated(self.name, pieces)
        raise InputProblem(f"{self.name}: compressed more than {COMPRESSED_NESTING_MAX} times")

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()


def open_source(name: str, env: Environment, files: OpenFiles | None = None) -> CaptureSource:
    """Open a file, as one of `files`, or standard input for `-`. InputProblem names the input and the reason."""
    if name == "-":
        return CaptureSource(STANDARD_INPUT, _standard_input(env.stdin))
    try:
        file = (files or OpenFiles()).open(name)
    except (OSError, ValueError) as error:
        why = f"{reason(error)} (kw pipeline run reads URLs)" if "://" in name else reason(error)
        raise InputProblem(f"{name}: {why}{_nearest_file(name, error)}") from None
    if file.is_folder:
        file.close()
        raise InputProblem(f"{name}: a directory, not a capture")
    return _stored(file)


def _nearest_file(name: str, error: OSError | ValueError) -> str:
    """` (did you mean "x.pcap"?)` where a name is no file but resembles one, an interface or a filter; else empty."""
    if not isinstance(error, FileNotFoundError):
        return ""
    if "/" not in name and os.path.exists(f"/sys/class/net/{name}"):
        return f" (did you mean -i {name}?)"
    if hint := filter_hint(name):
        return hint
    from kwcli.spelling import nearest_words

    folder, last = os.path.split(name)
    try:
        near = nearest_words(last, sorted(os.listdir(folder or "."))) if last else []
    except OSError:
        return ""
    return f' (did you mean "{os.path.join(folder, near[0])}"?)' if near else ""


def _stored(file: StoredFile) -> CaptureSource:
    at = 0

    def read(size: int) -> bytes:
        nonlocal at
        data = file.read(at, size)
        at += len(data)
        return data

    return CaptureSource(file.name, read, file=file)


def _standard_input(stdin: Readable) -> PieceReader:
    return stdin.read1


def reason(error: OSError | ValueError) -> str:
    if isinstance(error, OSError) and error.errno is not None:
        if error.errno < 0:  # from name resolution
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


def _raising(problem: InputProblem) -> Iterator[bytes]:
    raise problem
    yield b""


def _is_records(head: bytes) -> bool:
    """Whether an input with these first bytes may hold records as JSON, one a line: no capture begins so."""
    return head.lstrip(_BLANKS).startswith((b"{", b"["))


# A text in every line of a broker's request log.
REQUEST_LOG_MARK: Final = b"Completed request:"


def is_request_log(head: bytes) -> bool:
    """Whether an input with these first bytes is a broker's request log."""
    return REQUEST_LOG_MARK in head and head[:4] not in CAPTURE_MAGICS


def _line_reader(head: bytes) -> LineReader:
    """A reader for the lines of an input with these first bytes: a request log, or records as JSON."""
    if is_request_log(head):
        from decoders.messages.request_log import RequestLogLines

        return RequestLogLines()
    from decoders.messages.read_ndjson import RecordLines

    return RecordLines()


def _is_ours(source: CaptureSource) -> bool:
    """Whether a file in a folder is named as records are and may hold some, or is a broker's request log."""
    plain = source.name.removesuffix(".gz").removesuffix(".zst").removesuffix(".lz4")
    head = source.head()
    return is_request_log(head) or (plain.endswith((".ndjson", ".jsonl")) and _is_records(head))


def capture_pieces(name: str, pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The pieces as given; raises InputProblem where their first bytes are not a capture's."""
    head = _head(pieces)
    if head[:4] not in CAPTURE_MAGICS:
        if not head:
            raise InputProblem(f"{name}: empty: there is no capture in it")
        if any(magic.startswith(head) for magic in CAPTURE_MAGICS):
            raise InputProblem(f"{name}: cut off at byte {len(head)} inside the file header")
        other = other_capture(head)
        if other is not None:
            raise InputProblem(f"{name}: {other[0]}, which kw does not read; make it a pcapng: {other[1]}")
        raise InputProblem(
            f"{name}: not a capture: starts with {shown(head)} (kw reads pcap and pcapng, also .gz .zst .lz4)"
        )
    yield head
    yield from pieces
