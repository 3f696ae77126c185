"""A batch of ROWS in, the batches of its tables out; and any batch in, one for each UTC date of its `time` out."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import date, timedelta
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from kwcli.pipeline.tables.arrow_schemas import OWN, SCHEMAS, SHARED

__all__ = ["EPOCH", "flatten_topic_partitions", "split_by_date", "split_by_table"]

_DAY_NS: Final = 86_400 * 10**9
EPOCH: Final = date(1970, 1, 1)


def split_by_table(rows: pa.RecordBatch, tables: Collection[str]) -> Iterator[tuple[str, pa.RecordBatch]]:
    """The rows that each of these tables gets of a batch of ROWS; tables that get none are left out."""
    runs = pc.equal(rows.column("kind"), "skipped")
    mixed = bool(pc.any(runs).as_py())
    if mixed and "skipped" in tables:
        yield "skipped", _select_columns_of_table("skipped", rows.filter(runs))
    exchanges = rows.filter(pc.invert(runs)) if mixed else rows
    if not exchanges.num_rows:
        return
    if "exchanges" in tables:
        yield "exchanges", _select_columns_of_table("exchanges", exchanges)
    if "topic_partitions" in tables:
        partitions = flatten_topic_partitions(exchanges)
        if partitions.num_rows:
            yield "topic_partitions", partitions


def _select_columns_of_table(name: str, rows: pa.RecordBatch) -> pa.RecordBatch:
    schema = SCHEMAS[name]
    return pa.RecordBatch.from_arrays([rows.column(column) for column in schema.names], schema=schema)


def flatten_topic_partitions(exchanges: pa.RecordBatch) -> pa.RecordBatch:
    """A row for each partition of each exchange."""
    lists = exchanges.column("partitions")
    parents, parts = pc.list_parent_indices(lists), lists.flatten()
    arrays = {name: exchanges.column(name).take(parents) for name in SHARED}
    arrays |= {column.name: pc.struct_field(parts, column.name) for column in OWN}
    schema = SCHEMAS["topic_partitions"]
    return pa.RecordBatch.from_arrays([arrays[name] for name in schema.names], schema=schema)


def split_by_date(batch: pa.RecordBatch) -> Iterator[tuple[date, pa.RecordBatch]]:
    """The rows of each UTC date."""
    if not batch.num_rows:
        return
    days = pc.divide(batch.column("time_ns"), _DAY_NS)
    first, last = pc.min_max(days).as_py().values()
    if first == last:
        yield EPOCH + timedelta(days=first), batch
        return
    order = pc.sort_indices(days)  # stable
    ordered = days.take(order)
    runs = pc.run_end_encode(ordered, run_end_type=pa.int32())
    begin = 0
    for day, end in zip(runs.values.to_pylist(), runs.run_ends.to_pylist(), strict=True):
        yield EPOCH + timedelta(days=day), batch.take(order.slice(begin, end - begin))
        begin = end
