"""Rows as an engine settles them in; those that are wanted out, as record batches.

Wanted are those that the filter of the run lets through, between its first and last moment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from decoders.messages.build_body_json import Options
from kwcli.filter_options import build_filter
from kwcli.pipeline.tables.connection_columns import ConnectionColumns
from kwcli.pipeline.tables.exchange_columns import ExchangeColumns
from kwcli.pipeline.tables.topic_partition_rows import TableNeeds
from kwcli.reading.sinks.host_names import HostNames
from kwcli.reading.sinks.row_output import make_keys_of_files

if TYPE_CHECKING:
    import pyarrow as pa

    from decoders.exchanges.exchange import Ended, Row, Settled
    from kwcli.pipeline.engine_job_and_result import JobSpec

__all__ = ["BATCH_WEIGHT", "RowBatcher", "RowFilter", "make_exchange_columns"]

Write = Callable[["pa.RecordBatch"], None]


class RowFilter:
    """Chooses the rows of a run; `needs` is what its engine has to read of bodies. Failure for a wrong filter."""

    def __init__(self, spec: JobSpec) -> None:
        self._filter = build_filter(spec.filter, {})
        self._since_ns = spec.since_ns
        self._until_ns = spec.until_ns
        self._files = () if {"file", "packet"}.isdisjoint(self._filter.field_names) else spec.files
        self._names = HostNames(dict(spec.host_names)) if spec.host_names else None
        untimed = spec.since_ns is None and spec.until_ns is None
        self.passes_everything = self._filter.passes_everything and untimed and self._names is None
        more = [] if self._filter.passes_everything else [self._filter.needs]
        if spec.doctor:
            from decoders.analysis.doctor.doctor import Doctor  # Spark's workers and all other runs start without it

            more.append(Doctor().needs)
        self.needs = TableNeeds(spec.tables, more)

    def is_wanted(self, row: Settled) -> bool:
        """Whether an exchange or a skipped run of bytes is wanted: it began in the run's time and matches the filter.

        With a filter no skipped run is wanted.
        """
        if self._since_ns is not None and row.time_ns < self._since_ns:
            return False
        if self._until_ns is not None and row.time_ns >= self._until_ns:
            return False
        if self._names is not None:
            self._names.add_names_to_rows((row,))
        if self._filter.passes_everything or row.kind != "exchange":
            return self._filter.passes_everything
        if self._files and row.record is None:  # a row of records has its file's name already
            row.extra = {**(row.extra or {}), **make_keys_of_files(row, self._files)}
        return self._filter.matches(row)

    def is_connection_wanted(self, ended: Ended) -> bool:
        """Whether a connection is wanted: a part of it was in the time of the run. The filter does not apply."""
        if self._since_ns is not None and ended.last_ns < self._since_ns:
            return False
        return self._until_ns is None or ended.time_ns < self._until_ns


# Rows and partitions of one batch: enough to be worth a batch's cost (`python -m tests.bench.tables`).
BATCH_WEIGHT: Final = 16_384


def make_exchange_columns(spec: JobSpec, point: str) -> ExchangeColumns:
    """The columns that collect the rows of a capture point."""
    bodies = Options(spec.records, spec.reveal_secrets, deferred=True) if spec.bodies else None
    if bodies is not None and spec.records:
        from kwcli.pipeline.read.learn_schemas import make_value_reader

        bodies = bodies._replace(values=make_value_reader(spec.schemas))
    return ExchangeColumns(point, spec.files, spec.tables, bodies=bodies)


class RowBatcher:
    """Takes the rows of one capture point; `write` gets exchanges and skipped runs, `write_ended` connections.

    `observe` sees each row that is wanted, in the order settled.
    """

    def __init__(
        self,
        spec: JobSpec,
        point: str,
        row_filter: RowFilter,
        write: Write,
        write_ended: Write,
        observe: Callable[[Row], None] | None = None,
    ) -> None:
        self._columns = make_exchange_columns(spec, point)
        self._connections = ConnectionColumns(point)
        self._row_filter = row_filter
        self._write = write
        self._write_ended = write_ended
        self._observe = observe

    def add_rows(self, rows: Iterable[Row]) -> None:
        """Add rows in the order settled; full batches are written."""
        columns, row_filter, observe = self._columns, self._row_filter, self._observe
        everything, add = row_filter.passes_everything, columns.add_row
        for row in rows:
            if row.kind == "connection":
                if row_filter.is_connection_wanted(row):
                    self._connections.add_connection(row)
                    if observe is not None:
                        observe(row)
            elif everything or row_filter.is_wanted(row):
                if observe is not None:
                    observe(row)
                add(row)
                if columns.weight >= BATCH_WEIGHT:
                    self._write(columns.take_batch())
        if len(self._connections) >= BATCH_WEIGHT:
            self._write_ended(self._connections.take_batch())

    def write_pending_rows(self) -> None:
        """Write the rows that wait: no row follows."""
        if len(self._columns):
            self._write(self._columns.take_batch())
        if len(self._connections):
            self._write_ended(self._connections.take_batch())
