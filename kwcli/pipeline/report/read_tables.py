"""A folder that `kw pipeline run` wrote in, its tables in batches of rows out: on one machine, a part at a time."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kwcli.capture_inputs import utf8_text
from kwcli.pipeline.store.files import OutputFolder
from kwcli.pipeline.store.run_store import tables_at
from kwcli.pipeline.tables.columns import TABLES
from kwcli.run_environment import Failure

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import DataFrame, SparkSession

NAMES: Final = tuple(TABLES)
# Tables that may have rows of request logs too.
LOGGED: Final = ("exchanges", "topic_partitions")
_SOURCE: Final = "source"
# The characters that Spark takes for a pattern in the name of a file.
_PATTERN: Final = re.compile(r"[][{}*?\\^]")
# Rows that are counted together: more of them cost memory and win nothing.
BATCH: Final = 1 << 17
# Columns of few different texts, which are read as numbers and a dictionary.
_FEW: Final = frozenset(
    {
        *(
            "api",
            "client",
            "broker",
            "client_id",
            "status",
            "client_software_name",
            "client_software_version",
            "closed",
        ),
        *("topic", "topic_id", "codec", "reason", "detail", "direction"),
    }
)


class Tables:
    """The tables of one folder. Failure says in one line what is wrong with it."""

    def __init__(self, place: str) -> None:
        root, manifest = tables_at(place)
        if utf8_text(root) != root:
            raise Failure(f"{place}: nothing reads Parquet from a folder whose name is not UTF-8: rename it")
        files = OutputFolder(root)
        self.place = place
        self.rows = {name: its.rows for name, its in manifest.tables.items()}
        self.sizes = {name: its.size for name, its in manifest.tables.items()}
        self.facts = manifest.facts  # messages and counts of the run
        self.files = {name: [files.path(path) for path in its.files] for name, its in manifest.tables.items()}

    def __contains__(self, name: str) -> bool:
        return name in self.files

    def files_for_spark(self, name: str) -> list[str]:
        """The files of a table, their names escaped for Spark, which reads a name as a pattern."""
        return [_PATTERN.sub(r"\\\g<0>", path) for path in self.files[name]]

    def read_there(self, spark: SparkSession, name: str) -> DataFrame:
        """The rows of a table that come from captures, read by Spark."""
        rows = spark.read.parquet(*self.files_for_spark(name))
        return rows.filter(f"{_SOURCE} = 'wire'") if name in LOGGED and _SOURCE in rows.columns else rows

    def check(self, name: str, columns: Sequence[str]) -> None:
        """Failure when a table was written without one of these columns."""
        for path in self.files[name][:1]:
            self._opened(name, path, columns).close()

    def lacks(self, name: str, columns: Sequence[str]) -> bool:
        """Whether a file of a table was written without one of these columns."""
        for path in self.files[name]:
            with self._opened(name, path, ()) as file:
                if not set(columns) <= set(file.schema_arrow.names):
                    return True
        return False

    def batches(self, name: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows of a table, in batches that are large enough to be counted by column."""
        return join_small_batches(self.read(name, columns, BATCH))

    def read(self, name: str, columns: Sequence[str], most: int) -> Iterator[pa.RecordBatch]:
        """The rows of a table that come from captures, not from request logs, in batches of at most `most` rows.

        Files are read one by one and on demand: a data set scanner reads ahead of its consumer without a limit.
        """
        for path in self.files[name]:
            with self._opened(name, path, columns) as file:
                apart = name in LOGGED and _SOURCE in file.schema_arrow.names
                asked = [*columns, *([_SOURCE] if apart and _SOURCE not in columns else [])]
                try:
                    for batch in file.iter_batches(most, columns=asked):
                        yield _wire(batch, columns) if apart else batch
                except (OSError, pa.ArrowException) as problem:
                    raise self._failure(name, problem) from None

    def _opened(self, name: str, path: str, columns: Sequence[str]) -> pq.ParquetFile:
        few = [column for column in columns if column in _FEW]
        try:
            file = pq.ParquetFile(path, read_dictionary=few, pre_buffer=False)
        except (OSError, pa.ArrowException) as problem:
            raise self._failure(name, problem) from None
        missing = [column for column in columns if column not in file.schema_arrow.names]
        if missing:
            raise Failure(f"{self.place}/{name}: no column {missing[0]}: another version of kw wrote it; run it again")
        return file

    def _failure(self, name: str, problem: Exception) -> Failure:
        return Failure(f"{self.place}/{name}: {str(problem).splitlines()[0]:.300}")


def _wire(batch: pa.RecordBatch, columns: Sequence[str]) -> pa.RecordBatch:
    """The `columns` of the rows that come from captures, not from a request log."""
    wire = pc.equal(batch.column(_SOURCE), "wire")
    return (batch if pc.all(wire).as_py() is not False else batch.filter(wire)).select(list(columns))


def join_small_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Batches, small ones joined, so that the cost of a batch is shared by many rows."""
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
