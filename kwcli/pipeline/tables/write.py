"""Record batches in, Parquet files out: one writer for all tables of one task, a file for each table and date.

Files lie at `TABLE/date=YYYY-MM-DD/NAME-N.parquet` under the folder given; no two writers give the same name. Only
what `close` lists is part of anything: a writer that fails or is killed leaves files that nobody has heard of.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection
from contextlib import suppress
from datetime import date
from typing import Any, BinaryIO, Final, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from kwcli.pipeline.tables.schemas import ROWS, SCHEMAS
from kwcli.pipeline.tables.split import EPOCH, by_date, by_table
from kwcli.pipeline.tally import RunCounts

# A row group, whichever comes first: what a reader has to hold of a file, and a writer for each date.
GROUP_ROWS: Final = 1 << 16
GROUP_BYTES: Final = 16 << 20
# Rows, or bytes of their bodies, that are told apart by table and date at once (`python -m tests.bench.pipeline`).
BATCH_ROWS: Final = 1 << 13
BATCH_BYTES: Final = 8 << 20
_BODIES: Final = tuple(map(ROWS.get_field_index, ("request_body", "response_body")))
# Files written at the same time; beyond, the one that was not written to for longest is closed.
OPEN_MAX: Final = 8
COMPRESSION: Final = "zstd"

# Opens a new file by its path under the writer's folder.
Open = Callable[[str], BinaryIO]


class Written(NamedTuple):
    """One file: its table and date, its path under the writer's folder, rows and bytes. Can be pickled."""

    table: str
    date: str
    path: str
    rows: int
    size: int


class _File:
    """A file being written, with the batches of its next row group."""

    def __init__(self, table: str, path: str, stream: BinaryIO) -> None:
        self.table = table
        self.path = path
        self.rows = 0
        self._stream = stream
        try:
            self._writer = pq.ParquetWriter(stream, SCHEMAS[table], compression=COMPRESSION, write_statistics=True)
        except BaseException:
            _let_go(stream)
            raise
        self._waiting: list[pa.RecordBatch] = []
        self._count = self._size = 0

    def write(self, batch: pa.RecordBatch) -> None:
        """Take rows."""
        self._waiting.append(batch)
        self._count += batch.num_rows
        self._size += batch.nbytes
        if self._count >= GROUP_ROWS or self._size >= GROUP_BYTES:
            self._flush()

    def _flush(self) -> None:
        if self._waiting:
            self._writer.write_table(pa.Table.from_batches(self._waiting), row_group_size=max(self._count, 1))
            self.rows += self._count
        self._waiting, self._count, self._size = [], 0, 0

    def close(self) -> int:
        """Finish the file; gives its size."""
        self._flush()
        self._writer.close()
        size = self._stream.tell()
        self._stream.close()
        return size

    def abandon(self) -> None:
        """Let go of the file as it is, whatever is wrong with it."""
        self._writer.is_open = False  # or it would try to end the file when it is collected
        _let_go(self._stream)


def _let_go(stream: BinaryIO) -> None:
    with suppress(OSError):
        stream.close()


class TableWriter:
    """Writes these tables under a folder that `open_file` knows."""

    def __init__(self, open_file: Open, tables: Collection[str]) -> None:
        self._name = uuid.uuid4().hex
        self._open_file = open_file
        self._tables = frozenset(tables)
        self._files: dict[tuple[str, date], _File] = {}  # the one written to last comes last
        self._written: list[Written] = []
        self._waiting: list[pa.RecordBatch] = []
        self._count = self._size = 0
        self.rows = 0  # exchanges and skipped runs so far
        self.tally = RunCounts()  # of all that came, also for tables that are not written

    def write(self, rows: pa.RecordBatch) -> None:
        """Take a batch of the travelling form (schemas.ROWS)."""
        self.rows += rows.num_rows
        self._waiting.append(rows)
        self._count += rows.num_rows
        self._size += sum(rows.column(place).nbytes for place in _BODIES)
        if self._count >= BATCH_ROWS or self._size >= BATCH_BYTES:
            self._sort_out()

    def _sort_out(self) -> None:
        """Small batches as one: what is done for a batch costs more than what is done for some rows."""
        waiting, self._waiting, self._count, self._size = self._waiting, [], 0, 0
        if len(waiting) > 1:
            waiting = pa.Table.from_batches(waiting).combine_chunks().to_batches()
        for rows in waiting:
            self.tally.add(rows)
            for table, batch in by_table(rows, self._tables):
                self.write_table(table, batch)

    def write_table(self, table: str, batch: pa.RecordBatch) -> None:
        """Take rows of a table in its own form."""
        if table == "connections":
            self.tally.add_connections(batch)
        if table not in self._tables:
            return
        for day, part in by_date(batch):
            self._file(table, day).write(part)

    def begin(self, table: str) -> None:
        """A file without rows, so that a table that has none has its columns."""
        self._file(table, EPOCH)

    def _file(self, table: str, day: date) -> _File:
        file = self._files.pop((table, day), None)
        if file is None:
            if len(self._files) >= OPEN_MAX:
                self._close(next(iter(self._files)))
            path = f"{table}/date={day}/{self._name}-{len(self._written) + len(self._files)}.parquet"
            file = _File(table, path, self._open_file(path))
        self._files[table, day] = file
        return file

    def _close(self, key: tuple[str, date]) -> None:
        file = self._files[key]
        size = file.close()
        del self._files[key]
        self._written.append(Written(key[0], str(key[1]), file.path, file.rows, size))

    def close(self) -> list[Written]:
        """Finish all files and name them."""
        self._sort_out()
        while self._files:
            self._close(next(iter(self._files)))
        return sorted(self._written)

    def __enter__(self) -> TableWriter:
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        """After a failure the files are left as they are."""
        if kind is not None:
            for file in self._files.values():
                file.abandon()
            self._files.clear()
