"""Arrow schemas of the tables and of ROWS, the rows that travel between tasks."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from kwcli.pipeline.tables.table_columns import (
    ALL_TABLES,
    CONNECTIONS,
    EXCHANGES,
    SKIPPED,
    TOPIC_PARTITIONS,
    TableColumn,
)


def _make_list_type(of: pa.DataType) -> pa.DataType:
    return pa.list_(pa.field("element", of))


# Types in table_columns.py → Arrow types that Spark, too, has.
TYPES: Final[dict[str, pa.DataType]] = {
    "string": pa.string(),
    "json": pa.string(),
    "bool": pa.bool_(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "double": pa.float64(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "list<int32>": _make_list_type(pa.int32()),
    "list<string>": _make_list_type(pa.string()),
    "list<bool>": _make_list_type(pa.bool_()),
}


def build_table_schema(columns: tuple[TableColumn, ...]) -> pa.Schema:
    """The schema of a table."""
    return pa.schema([pa.field(column.name, TYPES[column.type], nullable=column.null) for column in columns])


SCHEMAS: Final[dict[str, pa.Schema]] = {name: build_table_schema(columns) for name, columns in ALL_TABLES.items()}

# Columns of topic_partitions that are the exchange's, and those that are a partition's own.
_FIRST_OWN: Final = SCHEMAS["topic_partitions"].get_field_index("topic")
SHARED: Final = tuple(column.name for column in TOPIC_PARTITIONS[:_FIRST_OWN])
OWN: Final = TOPIC_PARTITIONS[_FIRST_OWN:]
PARTITION: Final = pa.struct([pa.field(column.name, TYPES[column.type]) for column in OWN])
# Columns of skipped runs that exchanges do not have.
RUN: Final = tuple(column for column in SKIPPED if not any(column.name == other.name for other in EXCHANGES))

_NEVER_NULL: Final = frozenset(column.name for column in EXCHANGES) & frozenset(c.name for c in SKIPPED if not c.null)
ROWS: Final = pa.schema(
    [
        *(
            pa.field(column.name, TYPES[column.type], nullable=column.null or column.name not in _NEVER_NULL)
            for column in EXCHANGES
        ),
        pa.field("partitions", pa.list_(pa.field("element", PARTITION))),
        *(pa.field(column.name, TYPES[column.type]) for column in RUN),
    ]
)
ENDED: Final = build_table_schema(CONNECTIONS)
