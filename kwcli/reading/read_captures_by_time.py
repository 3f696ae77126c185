"""Names of captures in, their segments by packet time out, for any number of captures: each is read in its turn.

A capture's turn is the time of its first segment. Where that segment is near the beginning of the file, no more is
read in advance and the file is not kept open; else the capture is read at once up to its first segment, as is any
input that can be read only once. Captures that overlap in time are read side by side: few are open at a time, and the
more there are, the smaller the pieces, so that memory stays the same.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from heapq import merge
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from decoders.capture.decompress_gzip_zstd_lz4 import PIECE_SIZE
from decoders.capture.merge_captures import merge_segments, packet_number_before_file
from decoders.capture.read_capture import CaptureReader
from decoders.limits import MERGED_MAX
from kwcli.reading.capture_sources import (
    CaptureSource,
    begins_as_json,
    begins_as_request_log,
    describe_os_error,
    holds_records_or_request_log,
    open_line_reader,
    open_source,
)
from kwcli.reading.decompress_inputs import InputProblem
from kwcli.reading.list_input_files import OpenFiles, has_capture_name, is_read_once, is_table_folder, list_paths
from kwcli.reading.packet_sources import PacketSource, SegmentBatch
from kwcli.run_environment import Failure

if TYPE_CHECKING:
    from decoders.capture.segments_of_cut_out_packets import CutReceiver
    from decoders.errors import DecodeError
    from decoders.exchanges.exchange import Ended, Settled
    from decoders.messages.read_ndjson import LineReader
    from decoders.tcp.stream_chunks import Segment
    from kwcli.run_environment import Environment, StoredRows

# Where a first segment is looked for: in the first bytes, then in the whole first piece.
_LOOKS: Final = (4096, PIECE_SIZE)
# Fewer bytes at a time cost more than they save.
_PIECE_MIN: Final = 4096


class Captures(PacketSource):
    """The inputs of one run, which end. `problems` has inputs that cannot be opened, then those not read to their ends.

    Inputs that hold records which kw wrote, and no packets, are recognised by their first bytes: `__iter__` gives the
    segments of the captures, then `read_recorded_rows` the exchanges in the records. `on_secrets` gets the TLS key
    logs in captures, `cut_receiver` the notes in captures that were cut out of others (read_capture.py).
    """

    is_endless = False

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
        """`numbered`: the numbers of packets name the file as well (merge_captures.py). `reader` makes segments."""
        super().__init__()
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
        self.request_logs: list[str] = []
        # Real paths of the files that were named one by one, and of the files from folders and patterns.
        self._named: set[str] = set()
        self._listed: set[str] = set()
        for name in names:
            try:
                self._open_inputs_of_word(name, env)
            except InputProblem as problem:
                self.problems.append(problem.text)
        read = [*self._sources, *self._recorded]
        self.names = [source.name for source in self._sources]
        self.records = [*(source.name for source in self._recorded), *(tables.place for tables in self._tables)]
        self.input_count = len(read) + len(self._tables)
        sizes = [*(source.size for source in read), *(tables.size for tables in self._tables)]
        self.size = None if None in sizes else sum(size or 0 for size in sizes)

    def _open_inputs_of_word(self, word: str, env: Environment) -> None:
        """Open the inputs that a word stands for; of a folder or pattern only captures and records, each file once."""
        if word == "-":
            self.add_source(open_source(word, env, self._files))
            return
        if is_table_folder(word):
            self._open_tables(word, env)
            return
        found = False
        for path, is_listed, error in list_paths(word):
            if error is not None:
                self.problems.append(f"{path}: {describe_os_error(error)}")
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
            if is_listed and not (
                (source.size and has_capture_name(path)) or source.is_capture() or holds_records_or_request_log(source)
            ):
                source.close()
                continue
            (self._listed if is_listed else self._named).add(real)
            self.add_source(source)
            found = True
        if not found:
            raise InputProblem(f"{word}: no capture in it")

    def _open_tables(self, word: str, env: Environment) -> None:
        """Open a folder of tables that was named; tables inside other folders are passed over (list_input_files.py)."""
        real = os.path.realpath(word)
        if real in self._named:
            return
        self._named.add(real)
        try:
            self._tables.append(env.open_tables(word))
        except Failure as failure:
            raise InputProblem(failure.text) from None

    def add_source(self, source: CaptureSource) -> None:
        """Read an opened input as well: a capture, or records."""
        head = source.peek_head()
        if begins_as_request_log(head):
            self.request_logs.append(source.name)
        (self._recorded if begins_as_json(head) or begins_as_request_log(head) else self._sources).append(source)

    @property
    def faults(self) -> list[str]:
        return list(dict.fromkeys(fault for tables in self._tables for fault in tables.faults))

    def closing_remarks(self) -> list[str]:
        """What is missing in the tables, one sentence for each folder that lacks something."""
        return [tables.lacking for tables in self._tables if tables.lacking is not None]

    def reopen_stored_captures(self) -> Iterator[CaptureSource]:
        """The captures that can be read again, each from its beginning."""
        return (source.reopen() for source in self._sources if source.is_stored)

    def time_spans_of_tables(self) -> Iterator[tuple[int, int]]:
        """The times of the first and the last exchange, for each folder of tables."""
        return (tables.span for tables in self._tables if tables.span is not None)

    def counts_besides_packets(self) -> list[tuple[int, str]]:
        return [(self.lines, "line"), (self.rows, "row")]

    def read_batches(self) -> Iterator[SegmentBatch]:
        for segments in self:
            yield SegmentBatch(segments, 0)

    def __iter__(self) -> Iterator[list[Segment]]:
        """The segments of all captures by time; a problem of an input is noted, not raised."""
        feeds = [self._read_segments(number, source) for number, source in enumerate(self._sources)]
        if len(feeds) == 1:
            yield from feeds[0]
        else:
            yield from merge_segments(feeds, [_first_segment_ns(source) for source in self._sources])

    def _read_segments(self, number: int, source: CaptureSource) -> Iterator[list[Segment]]:
        reader = self._reading[number] = self._reader(before=packet_number_before_file(number) if self._numbered else 0)
        reader.on_secrets = self._on_secrets
        reader.cut_receiver = self._cut_receiver
        taken = 0
        try:
            for piece in source.read_capture_pieces():
                self.taken += source.taken - taken
                taken = source.taken
                for part in self._split_piece(piece):
                    yield reader.feed(part)
                    if reader.problem is not None:
                        return
            yield reader.finish()
        except InputProblem as problem:
            yield reader.feed(b"")
            self.problems.append(problem.text)
        finally:
            source.close()
            self._add_counts_of_reader(number)

    def read_recorded_rows(self) -> Iterator[tuple[str, list[Settled]]]:
        """The exchanges in the records; lines that are no records are noted and passed over."""
        for source in self._recorded:
            for rows in self._read_lines(source):
                yield source.name, rows
        for tables in self._tables:
            yield from self._read_tables(tables)

    def read_connection_ends(self) -> Iterator[Ended]:
        """How the connections in tables ended, those of all folders by the times of their ends."""
        return merge(*map(self._read_ends, self._tables), key=attrgetter("last_ns"))

    def _read_ends(self, tables: StoredRows) -> Iterator[Ended]:
        try:
            yield from tables.read_connection_ends()
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
        lines = open_line_reader(source.peek_head())
        taken = before = 0
        try:
            for piece in source.read_plain_pieces():
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
            self.problems += list_line_problems(source.name, lines)

    def _split_piece(self, piece: bytes) -> Iterator[bytes]:
        """A piece, in smaller parts where many captures are read side by side."""
        size = max(MERGED_MAX // max(len(self._reading), 1), _PIECE_MIN)
        if len(piece) <= size:
            yield piece
            return
        for at in range(0, len(piece), size):
            yield piece[at : at + size]

    def _add_counts_of_reader(self, number: int) -> None:
        reader = self._reading.pop(number)
        self._ended.update(reader.counts)
        if reader.problem is not None:
            self._cut[number] = reader.problem

    def cut_captures(self) -> Iterator[tuple[str, DecodeError]]:
        for number in sorted(self._cut):
            yield self._sources[number].name, self._cut[number]

    def packet_counts(self) -> Counter[str]:
        counts = Counter(self._ended)
        for reader in self._reading.values():
            counts.update(reader.counts)
        return counts

    def close(self) -> None:
        for source in (*self._sources, *self._recorded):
            source.close()


def list_line_problems(name: str, lines: LineReader) -> Iterator[str]:
    """Messages about the unreadable lines of an input."""
    problems = [f"line {each.line:,}: {each.text}" for each in lines.problems]
    if problems and not lines.found:
        yield f"{name}: {lines.otherwise}: {problems[0]}"
        return
    yield from (f"{name}: {problem}" for problem in problems)
    if more := lines.broken - len(problems):
        yield f"{name}: {more:,} more lines are no exchanges"


def find_time_span_of_captures(words: Iterable[str], env: Environment) -> tuple[int, int] | None:
    """The times (ns) of the first and last packet of captures, read from end to end by packet headers alone.

    Inputs that can be read only once are passed over. None where there is no packet.
    """
    from decoders.capture.find_cut_points import CutPointFinder

    captures = Captures((word for word in words if not is_read_once(word)), env)
    lows: list[int] = []
    highs: list[int] = []
    try:
        for source in captures.reopen_stored_captures():
            walk = CutPointFinder()
            with suppress(InputProblem):  # reported when the capture is decoded
                for piece in source.read_capture_pieces():
                    walk.feed(piece)
            mark = walk.mark_cut_point()
            lows += [mark.low_ns] if mark.low_ns is not None else []
            highs += [mark.high_ns] if mark.high_ns is not None else []
        for low, high in captures.time_spans_of_tables():
            lows.append(low)
            highs.append(high)
    finally:
        captures.close()
    return (min(lows), max(highs)) if lows else None


def _first_segment_ns(source: CaptureSource) -> int:
    """The time (ns) of the first segment; 0 where it is not near the beginning: then the capture is begun at once."""
    if not source.is_stored:
        return 0
    reader = CaptureReader()
    at = 0
    try:
        piece = next(source.reopen().read_capture_pieces(), b"")
    except InputProblem:
        return 0  # reported when the capture is read
    for end in _LOOKS:
        segments = reader.feed(piece[at:end])
        at = end
        if segments:
            return segments[0][1]
    return 0
