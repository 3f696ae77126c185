"""Rows as an engine settles them in, record batches of those that are wanted out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from decoders.exchanges.bodies import Options
from kwcli.pipeline.tables.connections import ConnectionColumns
from kwcli.pipeline.tables.rows import ExchangeColumns

if TYPE_CHECKING:
    import pyarrow as pa

    from decoders.exchanges.ended import Row
    from kwcli.pipeline.choosing import Choice
    from kwcli.pipeline.work import JobSpec

__all__ = ["WEIGHT", "Desk", "columns_for"]

# Rows and partitions that become a batch: enough for one to be worth its cost (`python -m tests.bench.tables`).
WEIGHT: Final = 16_384
Write = Callable[["pa.RecordBatch"], None]


def columns_for(spec: JobSpec, point: str) -> ExchangeColumns:
    """Where the rows of a capture point are collected."""
    bodies = Options(reveal_secrets=spec.reveal_secrets, deferred=True) if spec.bodies else None
    return ExchangeColumns(point, spec.files, spec.tables, bodies=bodies)


class Desk:
    """Takes the rows of one capture point; `write` gets exchanges and skipped runs, `write_ended` connections."""

    def __init__(self, spec: JobSpec, point: str, choice: Choice, write: Write, write_ended: Write) -> None:
        self._columns = columns_for(spec, point)
        self._connections = ConnectionColumns(point)
        self._choice = choice
        self._write = write
        self._write_ended = write_ended

    def take(self, rows: Iterable[Row]) -> None:
        """Rows in the order settled."""
        columns, choice = self._columns, self._choice
        everything, add = choice.everything, columns.add
        for row in rows:
            if row.kind == "connection":
                if choice.wants_connection(row):
                    self._connections.add(row)
            elif everything or choice.wants(row):
                add(row)
                if columns.weight >= WEIGHT:
                    self._write(columns.batch())
        if len(self._connections) >= WEIGHT:
            self._write_ended(self._connections.batch())

    def flush(self) -> None:
        """No row follows."""
        if len(self._columns):
            self._write(self._columns.batch())
        if len(self._connections):
            self._write_ended(self._connections.batch())
