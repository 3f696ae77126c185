"""A folder that `kw pipeline run` wrote in, its tables in batches of rows out: on one machine, a part at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.dataset as ds

from kwcli.exits import Failure

if TYPE_CHECKING:
    from collections.abc import Iterable

NAMES: Final = ("exchanges", "topic_partitions", "connections", "skipped")
# Rows that are counted together: more of them cost memory and win nothing.
BATCH: Final = 1 << 17
# Columns of few different texts, which are read as numbers and a dictionary.
_FEW: Final = (
    *("api", "client", "broker", "client_id", "status", "client_software_name", "client_software_version", "closed"),
    *("topic", "topic_id", "codec", "reason", "detail", "direction"),
)


class Tables:
    """The tables of one folder. Failure says in one line what is wrong with it."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._found = {name: found for name in NAMES if (found := _dataset(folder, name)) is not None}
        if not self._found:
            raise Failure(f"{folder}: no tables of kw pipeline (kw pipeline run FILE... --out {folder} makes them)")

    def files(self, name: str) -> list[str]:
        """The Parquet files of a table."""
        return list(self._found[name].files)

    def check(self, name: str, columns: Sequence[str]) -> None:
        """Failure when a table lacks one of these columns."""
        missing = [column for column in columns if column not in self._found[name].schema.names]
        if missing:
            raise Failure(f"{self.folder}/{name}: no column {missing[0]}: another version of kw wrote it; run it again")

    def __contains__(self, name: str) -> bool:
        return name in self._found

    def batches(self, name: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows of a table, in batches that are large enough to be counted by column."""
        found = self._found[name]
        self.check(name, columns)
        scanner = found.scanner(
            columns=list(columns), batch_size=BATCH, batch_readahead=2, fragment_readahead=1, use_threads=True
        )
        try:
            yield from together(scanner.to_batches())
        except (OSError, pa.ArrowException) as problem:
            raise Failure(f"{self.folder}/{name}: {_line(problem)}") from None


def together(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Small batches put together, so that the cost of each is shared by many rows."""
    waiting: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        if not batch.num_rows:
            continue
        waiting.append(batch)
        rows += batch.num_rows
        if rows >= BATCH // 2:
            yield _joined(waiting)
            waiting, rows = [], 0
    if waiting:
        yield _joined(waiting)


def _joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    if len(batches) == 1:
        return batches[0]
    table = pa.Table.from_batches(batches).unify_dictionaries().combine_chunks()
    (joined,) = table.to_batches()
    return joined


def _dataset(folder: str, name: str) -> Any:
    """The Parquet files of a table; None where there is no such table."""
    path = Path(folder) / name
    if not path.is_dir():
        return None
    files = sorted(str(file) for file in path.rglob("*.parquet"))
    layout = ds.ParquetFileFormat(read_options=ds.ParquetReadOptions(dictionary_columns=set(_FEW)))
    try:
        return ds.dataset(files, format=layout) if files else None
    except (OSError, pa.ArrowException) as problem:
        raise Failure(f"{path}: {_line(problem)}") from None


def _line(problem: Exception) -> str:
    return str(problem).splitlines()[0][:300]
