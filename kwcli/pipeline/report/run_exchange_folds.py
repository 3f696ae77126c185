"""Tables with bodies in, the folds of `kw report` out: findings, clients, groups, ladders."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import orjson
import pyarrow as pa

from decoders.errors import DecodeError
from decoders.exchanges.exchange import Skipped
from decoders.messages.build_body_json import PLAIN
from kwcli.pipeline.spark.explain_failures import make_failure_of_exception
from kwcli.pipeline.tables.stored_exchanges import (
    AT_ONCE,
    EXCHANGE_COLUMNS,
    SKIPPED_COLUMNS,
    StoredRowReader,
    number_connections,
    read_connection_ends,
)
from kwcli.report.exchange_folds import ReportFolds

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kwcli.pipeline.report.read_tables import Tables
    from kwcli.pipeline.tables.stored_exchanges import ConnectionKey
    from kwcli.terminal.progress import ProgressLine

__all__ = ["fold_exchanges_by_spark", "fold_exchanges_locally", "has_bodies"]

_COLUMNS: Final = {"exchanges": EXCHANGE_COLUMNS, "skipped": SKIPPED_COLUMNS}
_STATE: Final = "state binary"


def has_bodies(tables: Tables) -> bool:
    """Whether the run that wrote the tables kept bodies (`--bodies`): without them there is little to be found."""
    if "exchanges" not in tables:
        return False
    # A file that only has rows of request logs gives batches without rows.
    batches = (
        batch for batch in tables.read_rows_of_captures("exchanges", ("request_body",), AT_ONCE) if batch.num_rows
    )
    first = next(batches, None)
    return first is not None and first.column(0).null_count < first.num_rows


def fold_exchanges_locally(tables: Tables, progress: ProgressLine | None = None) -> ReportFolds:
    """The folds over all rows, counted on this machine."""
    folds, done, numbers = _make_folds_with_capture_faults(tables), 0, number_connections(tables)
    if progress is not None:
        progress.set_total(sum(tables.rows[name] for name in _COLUMNS if name in tables))
    for name, columns in _COLUMNS.items():
        reader = StoredRowReader(numbers)
        for batch in tables.read_rows_of_captures(name, columns, AT_ONCE) if name in tables else ():
            _add_batch_to_folds(folds, reader, batch)
            done += batch.num_rows
            if progress is not None:
                progress.show_progress(done, done)
    _add_connection_ends(folds, tables, numbers)
    return folds


def fold_exchanges_by_spark(spark: SparkSession, tables: Tables) -> ReportFolds:
    """The folds over all rows, counted on Spark: each task has folds, merged here. Failure says why a task failed."""
    whole, numbers = _make_folds_with_capture_faults(tables), number_connections(tables)
    fold_part = partial(_fold_exchanges_of_task, numbers)
    for name, columns in _COLUMNS.items():
        if name not in tables or not tables.files[name]:
            continue
        rows = tables.read_wire_by_spark(spark, name).select(*columns)
        try:
            found = rows.mapInArrow(fold_part, _STATE).collect()
        except Exception as problem:
            raise make_failure_of_exception(problem) from problem
        for row in found:
            part = ReportFolds(PLAIN)
            part.resume(bytes(row.state))
            whole.merge(part)
    _add_connection_ends(whole, tables, numbers)
    return whole


def _add_connection_ends(folds: ReportFolds, tables: Tables, numbers: Mapping[ConnectionKey, int]) -> None:
    """Add how connections ended: it is one row for each, so they are always read on this machine."""
    for ended in read_connection_ends(tables, numbers):
        folds.found["findings"].observe_connection_end(ended)


def _make_folds_with_capture_faults(tables: Tables) -> ReportFolds:
    folds = ReportFolds(PLAIN)
    folds.found["findings"].set_capture_faults(list(tables.facts.get("faults", ())))
    return folds


def _fold_exchanges_of_task(
    numbers: Mapping[ConnectionKey, int], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """The work of one Spark task: its rows in, the state of its folds out."""
    folds, reader = ReportFolds(PLAIN), StoredRowReader(numbers)
    for batch in batches:
        for at in range(0, batch.num_rows, AT_ONCE):
            _add_batch_to_folds(folds, reader, batch.slice(at, AT_ONCE))
    yield pa.RecordBatch.from_pydict({"state": pa.array([folds.export()], pa.binary())})


def _add_batch_to_folds(folds: ReportFolds, reader: StoredRowReader, batch: pa.RecordBatch) -> None:
    """Add the rows of a batch to the folds; rows that cannot be read are left out: `kw report DIR` tells of them."""
    for row in batch.to_pylist():
        try:
            settled: Any = reader.read(row)
        except (DecodeError, orjson.JSONDecodeError):
            continue
        if isinstance(settled, Skipped):
            folds.skip(settled)
        else:
            settled.extra = {**(settled.extra or {}), "file": row["source_file"]}
            folds.add(settled)
