"""Rows that a split has settled by itself in, kept in its pool; the same rows out, for the task that writes."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from kwcli.pipeline.store.output_folder import PARTIAL
from kwcli.pipeline.tables.arrow_schemas import ROWS

if TYPE_CHECKING:
    from kwcli.pipeline.store.staging_folder import Staging

__all__ = ["SettledRowsWriter", "read_settled_rows"]

_POOLED: Final = ROWS.append(pa.field("run", pa.int32()))
_OPTIONS: Final = pa.ipc.IpcWriteOptions(compression="lz4")
_BUFFER: Final = 1 << 20


class SettledRowsWriter:
    """Writes the pool of one split; without rows there is no pool. Raises OSError when it cannot be written."""

    def __init__(self, staging: Staging, split: int) -> None:
        self.rows = 0
        self._files = staging.files
        self._path = _make_path_of_pool(staging, split)
        self._partial = f"{self._path}-{uuid.uuid4().hex}{PARTIAL}"
        self._writer: pa.RecordBatchStreamWriter | None = None

    def write(self, rows: pa.RecordBatch, runs: pa.Array) -> None:
        """Write a batch of rows (schema ROWS), and the run of each row."""
        if self._writer is None:
            self._file = self._files.open_temporary(self._partial, _BUFFER)
            self._writer = pa.ipc.new_stream(self._file, _POOLED, options=_OPTIONS)
        self.rows += rows.num_rows
        self._writer.write_batch(pa.RecordBatch.from_arrays([*rows.columns, runs], schema=_POOLED))

    def close(self) -> None:
        """Finish the pool, and put it in its place."""
        if self._writer is not None:
            self._writer.close()
            self._file.close()
            self._files.rename(self._partial, self._path)

    def abandon(self) -> None:
        """Delete what was written of the pool."""
        if self._writer is not None:
            with suppress(OSError):
                self._file.close()
            self._files.unlink(self._partial)


def read_settled_rows(staging: Staging, split: int) -> Iterator[tuple[pa.RecordBatch, pa.Array]]:
    """The batches of a split's pool, with the run of each row; nothing where there is no pool."""
    path = _make_path_of_pool(staging, split)
    if not staging.files.exists(path):
        return
    with open(staging.files.full_path(path), "rb", buffering=_BUFFER) as file:
        for batch in pa.ipc.open_stream(file):
            *columns, runs = batch.columns
            yield pa.RecordBatch.from_arrays(columns, schema=ROWS), runs


def _make_path_of_pool(staging: Staging, split: int) -> str:
    return f"{staging.folder}/pools/{split}"
