"""Brokers' request logs in, rows of the tables out: beside captures, as another source of the same exchanges.

A log is read line by line as everywhere in kw (messages/parse_request_log.py). A row's place is the place of its line,
so log and place identify the row. A log that grows is read as captures are: its reader's state is handed on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from decoders.capture.decompress_gzip_zstd_lz4 import PIECE_SIZE
from decoders.capture.merge_captures import packet_number_before_file
from decoders.errors import DecodeError
from decoders.messages.parse_request_log import RequestLogLines
from kwcli.pipeline.engine_job_and_result import EngineResult
from kwcli.pipeline.read.filter_and_batch_rows import BATCH_WEIGHT, RowFilter, make_exchange_columns
from kwcli.pipeline.read.find_captures import make_capture_source, open_range_file
from kwcli.pipeline.read.read_split_segments import GrowingState
from kwcli.pipeline.read.split_and_file_range import FileRange, Problem, make_problem_of_error
from kwcli.reading.capture_sources import escape_non_utf8, lacks_lines_of_request_logger
from kwcli.reading.decompress_inputs import InputProblem
from kwcli.reading.read_captures_by_time import list_line_problems

if TYPE_CHECKING:
    from collections.abc import Iterator

    from decoders.exchanges.exchange import Settled
    from kwcli.pipeline.engine_job_and_result import JobSpec, Progress
    from kwcli.pipeline.read.find_captures import RangeFile, SourceFile
    from kwcli.pipeline.store.staging_folder import Staging
    from kwcli.pipeline.tables.write_parquet import TableWriter

__all__ = ["RequestLogDecoder", "decode_request_logs_into_tables"]

# Rows of a log name their file by a packet number: file 1, with the packet 0, which does not exist.
_FILE: Final = packet_number_before_file(1)


class RequestLogDecoder:
    """The bytes of one log in, its rows into a writer; `problems`, `taken` and `left` are as in `SplitReader`."""

    def __init__(self, spec: JobSpec, point: str, row_filter: RowFilter, writer: TableWriter) -> None:
        self.problems: list[Problem] = []
        self.taken = 0
        self.left: dict[int, GrowingState] = {}
        self._spec = spec
        self._point = point
        self._row_filter = row_filter
        self._writer = writer

    def decode_piece(self, piece: FileRange) -> None:
        """Decode a piece of a log."""
        lines = RequestLogLines()
        self._columns = make_exchange_columns(self._spec._replace(files=("", piece.path)), self._point)
        try:
            if piece.state:
                lines.resume(piece.state)
            with open_range_file(piece.path, piece.name) as file:
                chunks = self._inflate_lines(piece, file) if piece.inflate else self._read_chunks_of_piece(piece, file)
                for number, data in enumerate(chunks):
                    if not (number or piece.state):
                        lines.handled = lacks_lines_of_request_logger(data)
                    self._add_rows_to_tables(lines.feed(data), piece.path)
            if piece.goes_on:
                self.left[piece.file] = GrowingState(piece.end, lines.export(), lines.waiting)
            else:
                self._add_rows_to_tables(lines.finish(), piece.path)
        except InputProblem as problem:
            self.problems.append(make_problem_of_error(piece.name, problem))
        except DecodeError as problem:  # of the state that the piece begins with
            text = f"bytes {piece.begin:,} to {piece.end:,} were not read: {problem.text}"
            self.problems.append(Problem(piece.name, None, text))
        if len(self._columns):
            self._writer.write(self._columns.take_batch())
        self.problems += [
            Problem(piece.name, None, text.removeprefix(f"{piece.name}: "))
            for text in list_line_problems(piece.name, lines)
        ]

    def _read_chunks_of_piece(self, piece: FileRange, file: RangeFile) -> Iterator[bytes]:
        at = piece.begin
        while at < piece.end:
            data = file.read(at, min(PIECE_SIZE, piece.end - at))
            if not data:
                raise InputProblem(f"{piece.name}: has become shorter while it was read")
            at += len(data)
            self.taken += len(data)
            yield data

    def _inflate_lines(self, piece: FileRange, file: RangeFile) -> Iterator[bytes]:
        source = make_capture_source(file, piece.name, piece.size)
        yield from source.read_plain_pieces()
        self.taken += piece.size

    def _add_rows_to_tables(self, rows: Sequence[Settled], path: str) -> None:
        columns, row_filter = self._columns, self._row_filter
        for row in rows:
            if row.kind == "exchange":
                row.extra = {**(row.extra or {}), "file": escape_non_utf8(path)}
                row.request_packet = _FILE
                if row_filter.is_wanted(row):
                    columns.add_row(row)
        if columns.weight >= BATCH_WEIGHT:
            self._writer.write(columns.take_batch())


def decode_request_logs_into_tables(
    spec: JobSpec, files: Sequence[SourceFile], staging: Staging, progress: Progress | None = None
) -> EngineResult:
    """Read request logs into tables, one after the other, in this process. Raises OSError when writing fails."""
    row_filter = RowFilter(spec)
    problems: list[Problem] = []
    taken = 0
    with staging.make_writer(spec.tables) as writer:
        for file in files:
            decoder = RequestLogDecoder(spec, file.point, row_filter, writer)
            decoder.decode_piece(FileRange(0, file.path, file.name, 0, file.size, inflate=file.inflate, log=True))
            problems += decoder.problems
            taken += decoder.taken
            if progress is not None:
                progress(taken, 0)
        written = writer.close()
    return EngineResult(written, writer.tally, Counter(), problems, taken)
