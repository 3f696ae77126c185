"""A Parquet file of any version of the tables in, rows with the columns of today out.

The problem. Tables are kept for years, and each new column made all files before it unreadable, though nothing in them
had changed.

The idea. The tables have a version, an integer (`TABLES_VERSION`), which each file carries in its metadata. A column
says since which version it is written, and what older files mean by its absence (table_columns.py): a null, or a
value such as `wire`. So a file of an earlier version lacks exactly the columns that came later, and readers put their
values in.

What always holds: a column that is missing otherwise, or has another type, is an error, and so is a version that this
kw does not know. Files that were written before files had a number are known by their columns.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from kwcli.pipeline.tables.arrow_schemas import SCHEMAS, TYPES
from kwcli.pipeline.tables.table_columns import ALL_TABLES, TABLES_VERSION, TableColumn
from kwcli.run_environment import Failure

__all__ = [
    "NewerTables",
    "add_missing_columns",
    "build_numbered_schema",
    "find_missing_columns",
    "find_version_of_columns",
    "read_file_version",
    "refuse_newer_tables",
]

# The key of the version in the metadata of a Parquet file.
_NUMBER: Final = b"kw_tables_version"
# The last version of which there are files without a number.
_UNNUMBERED: Final = 3


class NewerTables(Failure):
    """Tables of a version that this kw does not know: it neither reads them nor adds to them."""


def refuse_newer_tables(version: Any, place: str) -> None:
    """Raises NewerTables for a version of tables later than this kw's; None stands for the time before numbers."""
    if version is not None and (not isinstance(version, int) or version > TABLES_VERSION):
        raise NewerTables(
            f"{place}: its tables have version {version}, and this kw knows versions up to {TABLES_VERSION}:"
            " use the kw that wrote them, or a later one"
        )


def build_numbered_schema(table: str) -> pa.Schema:
    """The schema of the files that are written: that of the table, with the version."""
    return SCHEMAS[table].with_metadata({_NUMBER: str(TABLES_VERSION)})


def find_version_of_columns(table: str, schema: pa.Schema, place: str) -> int:
    """The version of a file with this schema. Failure unless it has the columns of that version.

    `place` is the name of the table in messages.
    """
    number = (schema.metadata or {}).get(_NUMBER)
    version: Any = number and (int(number) if number.isdigit() else number.decode("utf-8", "replace"))
    refuse_newer_tables(version, place)
    there = set(schema.names)
    if version is None:
        lacking = [column.since for column in ALL_TABLES[table] if column.since > 1 and column.name not in there]
        version = min(_UNNUMBERED, min(lacking, default=TABLES_VERSION + 1) - 1)
    for column in ALL_TABLES[table]:
        if column.name in there:
            if column.since > version:
                raise Failure(f"{place}: column {column.name} is of a later version than its file: run it again")
            found = schema.field(column.name).type
            if (found.value_type if pa.types.is_dictionary(found) else found) != TYPES[column.type]:
                raise Failure(f"{place}: column {column.name} is {found}, not {column.type}: the file is not from kw")
        elif column.since <= version:
            raise Failure(
                f"{place}: no column {column.name}, which its version {version} of the tables has: run it again"
            )
    return int(version)


def read_file_version(table: str, path: str, place: str) -> int:
    """The version of a file, by its footer. Failure as `find_version_of_columns`, and where it cannot be read."""
    try:
        schema = pq.read_schema(path)
    except (OSError, pa.ArrowException) as problem:
        raise Failure(f"{place}: {str(problem).splitlines()[0]:.300}") from None
    return find_version_of_columns(table, schema, place)


def find_missing_columns(table: str, version: int) -> list[TableColumn]:
    """The columns that files of a version lack."""
    return [column for column in ALL_TABLES[table] if column.since > version]


def add_missing_columns(
    table: str, batch: pa.RecordBatch, columns: Sequence[str], encoded: Container[str] = ()
) -> pa.RecordBatch:
    """A batch of a file with exactly these columns, in this order; columns that the file lacks have their value.

    The columns `encoded` are dictionaries, as in the batch.
    """
    there = set(batch.schema.names)
    declared: Mapping[str, TableColumn] = {column.name: column for column in ALL_TABLES[table]}
    arrays = []
    fields = []
    for name in columns:
        field = SCHEMAS[table].field(name)
        if name in there:
            array = batch.column(name)
        else:
            array = pa.repeat(pa.scalar(declared[name].absent, field.type), batch.num_rows)
            if name in encoded:
                array = array.dictionary_encode()
        arrays.append(array)
        fields.append(field.with_type(array.type))
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))
