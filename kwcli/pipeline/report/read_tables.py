"""A folder that `kw pipeline run` wrote in, its tables in batches of rows out: on one machine, a part at a time."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kwcli.pipeline.store.output_folder import OutputFolder
from kwcli.pipeline.store.replace_folders_of_tables import find_older_files, find_tables
from kwcli.pipeline.tables.arrow_schemas import SCHEMAS
from kwcli.pipeline.tables.table_columns import TABLES, TABLES_VERSION
from kwcli.pipeline.tables.upgrade_table_rows import (
    add_missing_columns,
    find_missing_columns,
    find_version_of_columns,
    read_file_version,
)
from kwcli.reading.capture_sources import escape_non_utf8
from kwcli.run_environment import Failure

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import DataFrame, SparkSession

NAMES: Final = tuple(TABLES)
# Tables that may have rows of request logs too.
LOGGED: Final = ("exchanges", "topic_partitions")
_SOURCE: Final = "source"
# A column of every file, for rows of which a file has no column that is asked for.
_TIME: Final = "time_ns"
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
        root, manifest = find_tables(place)
        if escape_non_utf8(root) != root:
            raise Failure(f"{place}: nothing reads Parquet from a folder whose name is not UTF-8: rename it")
        files = OutputFolder(root)
        self.input_name = place
        self.rows = {name: its.rows for name, its in manifest.tables.items()}
        self.sizes = {name: its.size for name, its in manifest.tables.items()}
        self.facts = manifest.facts  # messages and counts of the run
        self.files = {name: [files.full_path(path) for path in its.files] for name, its in manifest.tables.items()}
        self._folder, self._manifest = files, manifest
        self._older: dict[str, dict[str, int]] = {}

    def __contains__(self, name: str) -> bool:
        return name in self.files

    def find_older_files(self, name: str) -> dict[str, int]:
        """The files of a table that an earlier version of the tables wrote, each with its version.

        Failure where a file lacks another column; where the manifest has a version, only the first is looked at.
        """
        if name not in self._older:
            for path in self.files[name][:1]:
                read_file_version(name, path, f"{self.input_name}/{name}")
            found = find_older_files(self._folder, self._manifest, name, self.input_name)
            self._older[name] = {self._folder.full_path(path): version for path, version in found.items()}
        return self._older[name]

    def read_by_spark(self, spark: SparkSession, name: str) -> DataFrame:
        """All rows of a table, read by Spark, with the date that their folder names.

        Failure for a file that lacks a column that its version has: Spark would put null for it.
        """
        from pyspark.sql import functions as spark_functions
        from pyspark.sql.pandas.types import from_arrow_schema

        schema = from_arrow_schema(SCHEMAS[name])
        if not self.files[name]:
            return spark.createDataFrame([], schema)
        for path in self.files[name]:
            read_file_version(name, path, f"{self.input_name}/{name}")
        older = self.find_older_files(name)
        root = self.files[name][0].partition(f"/{name}/date=")[0]
        whole: DataFrame | None = None
        # A column that a file lacks is null with this schema; where it means a value, it is put in by version.
        for version in sorted({older.get(path, TABLES_VERSION) for path in self.files[name]}):
            paths = [path for path in self.files[name] if older.get(path, TABLES_VERSION) == version]
            rows = spark.read.schema(schema).option("basePath", f"{root}/{name}").parquet(*map(_escape_pattern, paths))
            for column in find_missing_columns(name, version):
                if column.absent is not None:
                    kind = schema[column.name].dataType
                    rows = rows.withColumn(column.name, spark_functions.lit(column.absent).cast(kind))
            whole = rows if whole is None else whole.union(rows)
        assert whole is not None
        return whole

    def read_wire_by_spark(self, spark: SparkSession, name: str) -> DataFrame:
        """The rows of a table that come from captures, read by Spark."""
        rows = self.read_by_spark(spark, name)
        return rows.filter(f"{_SOURCE} = 'wire'") if name in LOGGED else rows

    def read_large_batches(self, name: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows of a table, in batches that are large enough to be counted by column."""
        return join_small_batches(self.read_rows_of_captures(name, columns, BATCH))

    def read_rows_of_captures(self, name: str, columns: Sequence[str], most: int) -> Iterator[pa.RecordBatch]:
        """The rows of a table that come from captures, not from request logs, in batches of at most `most` rows.

        Files are read one by one and on demand: a data set scanner reads ahead of its consumer without a limit.
        """
        few = [column for column in columns if column in _FEW]
        for path in self.files[name]:
            with self._open_file(name, path, few) as file:
                there = set(file.schema_arrow.names)
                apart = name in LOGGED and _SOURCE in there
                asked = [column for column in (*columns, *([_SOURCE] if apart else [])) if column in there]
                try:
                    for batch in file.iter_batches(most, columns=list(dict.fromkeys(asked)) or [_TIME]):
                        yield add_missing_columns(name, _drop_request_log_rows(batch) if apart else batch, columns, few)
                except (OSError, pa.ArrowException) as problem:
                    raise self._make_reading_failure(name, problem) from None

    def _open_file(self, name: str, path: str, few: list[str]) -> pq.ParquetFile:
        try:
            file = pq.ParquetFile(path, read_dictionary=few, pre_buffer=False)
        except (OSError, pa.ArrowException) as problem:
            raise self._make_reading_failure(name, problem) from None
        try:
            find_version_of_columns(name, file.schema_arrow, f"{self.input_name}/{name}")
        except Failure:
            file.close()
            raise
        return file

    def _make_reading_failure(self, name: str, problem: Exception) -> Failure:
        return Failure(f"{self.input_name}/{name}: {str(problem).splitlines()[0]:.300}")


def _drop_request_log_rows(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The rows that come from captures, not from a request log."""
    wire = pc.equal(batch.column(_SOURCE), "wire")
    return batch if pc.all(wire).as_py() is not False else batch.filter(wire)


def _escape_pattern(path: str) -> str:
    """The name of a file for Spark, which reads a name as a pattern."""
    return _PATTERN.sub(r"\\\g<0>", path)


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
            yield _join_batches(waiting)
            waiting, rows = [], 0
    if waiting:
        yield _join_batches(waiting)


def _join_batches(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    if len(batches) == 1:
        return batches[0]
    table = pa.Table.from_batches(batches).unify_dictionaries().combine_chunks()
    (joined,) = table.to_batches()
    return joined
