"""Record batches in, Parquet files out: one writer for all tables of one task, a file for each table and date.

Files lie at `TABLE/date=YYYY-MM-DD/NAME-N.parquet` under the folder given; no two writers give the same name. Only the
files that `close` lists count: the files of a writer that fails or is killed are listed nowhere.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection
from contextlib import suppress
from datetime import date
from typing import Any, BinaryIO, Final

import pyarrow as pa
import pyarrow.parquet as pq

from decoders.named_tuple import NamedTuple
from kwcli.pipeline.tables.arrow_schemas import ROWS
from kwcli.pipeline.tables.exchange_columns import BODY_COLUMNS
from kwcli.pipeline.tables.run_counts import RunCounts
from kwcli.pipeline.tables.split_by_table_and_date import EPOCH, split_by_date, split_by_table
from kwcli.pipeline.tables.upgrade_table_rows import build_numbered_schema

__all__ = [
    "BATCH_BYTES",
    "BATCH_ROWS",
    "COMPRESSION",
    "GROUP_BYTES",
    "GROUP_ROWS",
    "OPEN_MAX",
    "Open",
    "TableWriter",
    "WrittenFile",
]


# The limits of a row group, whichever comes first: a reader holds one row group of a file, a writer one for each date.
GROUP_ROWS: Final = 1 << 16
GROUP_BYTES: Final = 16 << 20
# Rows, or bytes of their bodies, that are sorted by table and date at once (`python -m tests.bench.pipeline`).
BATCH_ROWS: Final = 1 << 13
BATCH_BYTES: Final = 8 << 20
_BODIES: Final = tuple(map(ROWS.get_field_index, BODY_COLUMNS))
# Files written at the same time; beyond, the one that was not written to for longest is closed.
OPEN_MAX: Final = 8
COMPRESSION: Final = "zstd"

# Opens a new file by its path under the writer's folder.
Open = Callable[[str], BinaryIO]


class WrittenFile(NamedTuple):
    """One file: its table and date, its path under the writer's folder, rows and bytes. Can be pickled."""

    table: str
    date: str
    path: str
    rows: int
    size: int


class _ParquetFile:
    """A file being written, with the batches of its next row group."""

    def __init__(self, table: str, path: str, stream: BinaryIO) -> None:
        self.table = table
        self.path = path
        self.rows = 0
        self._stream = stream
        try:
            schema = build_numbered_schema(table)
            self._writer = pq.ParquetWriter(stream, schema, compression=COMPRESSION, write_statistics=True)
        except BaseException:
            _close_quietly(stream)
            raise
        self._waiting: list[pa.RecordBatch] = []
        self._count = self._size = 0

    def write(self, batch: pa.RecordBatch) -> None:
        """Add rows to the next row group."""
        self._waiting.append(batch)
        self._count += batch.num_rows
        self._size += batch.nbytes
        if self._count >= GROUP_ROWS or self._size >= GROUP_BYTES:
            self._write_row_group()

    def _write_row_group(self) -> None:
        if self._waiting:
            self._writer.write_table(pa.Table.from_batches(self._waiting), row_group_size=max(self._count, 1))
            self.rows += self._count
        self._waiting, self._count, self._size = [], 0, 0

    def close(self) -> int:
        """Finish the file; its size in bytes."""
        self._write_row_group()
        self._writer.close()
        size = self._stream.tell()
        self._stream.close()
        return size

    def abandon(self) -> None:
        """Close the stream with the file as it is; errors are ignored."""
        self._writer.is_open = False  # or it would try to finish the file when it is garbage-collected
        _close_quietly(self._stream)


def _close_quietly(stream: BinaryIO) -> None:
    with suppress(OSError):
        stream.close()


class TableWriter:
    """Writes tables as Parquet files, which `open_file` opens by their paths under its folder."""

    def __init__(self, open_file: Open, tables: Collection[str], prefix: str = "") -> None:
        self._name = prefix + uuid.uuid4().hex
        self._open_file = open_file
        self._tables = frozenset(tables)
        self._files: dict[tuple[str, date], _ParquetFile] = {}  # the one written to last comes last
        self._written: list[WrittenFile] = []
        self._waiting: list[pa.RecordBatch] = []
        self._count = self._size = 0
        self.rows = 0  # exchanges and skipped runs so far
        self.tally = RunCounts()  # of all that came, also for tables that are not written

    def write(self, rows: pa.RecordBatch) -> None:
        """Add a batch of rows (schemas.ROWS)."""
        self.rows += rows.num_rows
        self._waiting.append(rows)
        self._count += rows.num_rows
        self._size += sum(rows.column(place).nbytes for place in _BODIES)
        if self._count >= BATCH_ROWS or self._size >= BATCH_BYTES:
            self._distribute_rows_to_tables()

    def _distribute_rows_to_tables(self) -> None:
        """Sort the rows that wait into tables, as one batch: each batch costs more than some rows."""
        waiting, self._waiting, self._count, self._size = self._waiting, [], 0, 0
        if len(waiting) > 1:
            waiting = pa.Table.from_batches(waiting).combine_chunks().to_batches()
        for rows in waiting:
            self.tally.count_rows(rows)
            for table, batch in split_by_table(rows, self._tables):
                self.write_table(table, batch)

    def write_table(self, table: str, batch: pa.RecordBatch) -> None:
        """Add rows of one table, with the table's own schema."""
        if table == "connections":
            self.tally.count_connections(batch)
        if table not in self._tables:
            return
        for day, part in split_by_date(batch):
            self._find_or_open_file(table, day).write(part)

    def create_empty_file(self, table: str) -> None:
        """Create a file without rows, so that a table that has none has its columns."""
        self._find_or_open_file(table, EPOCH)

    def _find_or_open_file(self, table: str, day: date) -> _ParquetFile:
        file = self._files.pop((table, day), None)
        if file is None:
            if len(self._files) >= OPEN_MAX:
                self._close_file(next(iter(self._files)))
            path = f"{table}/date={day}/{self._name}-{len(self._written) + len(self._files)}.parquet"
            file = _ParquetFile(table, path, self._open_file(path))
        self._files[table, day] = file
        return file

    def _close_file(self, key: tuple[str, date]) -> None:
        file = self._files[key]
        size = file.close()
        del self._files[key]
        self._written.append(WrittenFile(key[0], str(key[1]), file.path, file.rows, size))

    def close(self) -> list[WrittenFile]:
        """Finish all files; the list of them."""
        self._distribute_rows_to_tables()
        while self._files:
            self._close_file(next(iter(self._files)))
        return sorted(self._written)

    def __enter__(self) -> TableWriter:
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        """After a failure the files are left as they are."""
        if kind is not None:
            for file in self._files.values():
                file.abandon()
            self._files.clear()
