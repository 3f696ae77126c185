"""The second stage of a job: the parts of connections in order in, their rows in Parquet files out.

A connection's parts are walked once, however large it is: what its state settles and what its splits had settled go to
the task's writer as they come. The task gives back nothing but what it has written.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final, Protocol

import pyarrow as pa

from decoders.exchanges.bodies import Options
from decoders.exchanges.parts import Part
from decoders.exchanges.stitching import Stitcher
from kwcli.garbage import seldom
from kwcli.pipeline.choosing import Choice
from kwcli.pipeline.spark.arrays import unpacked
from kwcli.pipeline.spark.job import Order, WriteReport
from kwcli.pipeline.spark.mending import Mending
from kwcli.pipeline.spark.notes import Notes
from kwcli.pipeline.spark.rereading import Rereading
from kwcli.pipeline.tables.connections import ConnectionColumns
from kwcli.pipeline.tables.rows import ExchangeColumns
from kwcli.pipeline.tables.schemas import ROWS

if TYPE_CHECKING:
    from decoders.exchanges.ended import Row
    from decoders.exchanges.parts import Patch

__all__ = ["RESULT_DDL", "write_tables"]

RESULT: Final = pa.schema([pa.field("report", pa.binary())])
RESULT_DDL: Final = "report binary"
WEIGHT: Final = 16_384
_BODIES: Final = tuple(map(ROWS.get_field_index, ("request_body", "response_body")))
_PLAIN: Final = ("point", "key", "ord", "seq", "kind")


def write_tables(order: Order, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """One partition: whole connections, each in the order of the capture."""
    with seldom(), order.staging.writer(order.job.tables) as writer:
        desk = Desk(order, writer)
        for batch in batches:
            desk.take(batch)
        desk.finish()
        report = WriteReport(tuple(writer.close()), writer.tally)
    yield pa.RecordBatch.from_arrays([pa.array([pickle.dumps(report)], pa.binary())], schema=RESULT)


class Writes(Protocol):
    """Where rows go: a TableWriter."""

    def write(self, rows: pa.RecordBatch, /) -> None: ...

    def write_table(self, table: str, batch: pa.RecordBatch, /) -> None: ...


class Desk:
    """Where the parts of one connection after the other are put together."""

    def __init__(self, order: Order, writer: Writes) -> None:
        job = order.job
        self._job = job
        self._writer = writer
        self._choice = Choice(job)
        self._bodies = Options(reveal_secrets=job.reveal_secrets) if job.bodies else None
        self._facts = Notes(order.staging).facts(tuple(split.point for split in job.splits))
        self._rereading = Rereading(job)
        self._at: tuple[str, bytes] | None = None
        self._stitcher: Stitcher | None = None
        self._waiting: list[tuple[pa.RecordBatch, Patch | None]] = []
        self._weight = 0
        self._begin_point("")

    def take(self, batch: pa.RecordBatch) -> None:
        """The next parts."""
        blobs, rows = batch.column("blob"), batch.column("rows")
        columns = [batch.column(name).to_pylist() for name in _PLAIN]
        for at, (point, key, number, seq, kind) in enumerate(zip(*columns, strict=True)):
            self._take(point, number, Part(key, seq, kind, blobs[at].as_py(), []), rows[at].as_py())

    def _take(self, point: str, number: int, part: Part, rows: bytes | None) -> None:
        """The next part: of split `number` of its point, with rows of its own."""
        if self._at != (point, part.key):
            self._end()
            self._begin(point, part.key)
        assert self._stitcher is not None
        self._rereading.number = number
        settled, patch = self._stitcher.take(part)
        self._settle(settled)
        if rows is not None and patch is not None:
            self._write(unpacked(rows), patch)

    def finish(self) -> None:
        """No part follows."""
        self._end()
        self._flush()

    def _begin_point(self, point: str) -> None:
        self._columns = ExchangeColumns(point, self._job.files, self._job.tables, bodies=self._bodies)
        self._connections = ConnectionColumns(point)
        self._mending = Mending(self._facts.get(point))

    def _begin(self, point: str, key: bytes) -> None:
        if self._columns.point != point:
            self._flush()
            self._begin_point(point)
        self._at = (point, key)
        self._rereading.begin(point)
        self._stitcher = Stitcher(
            key,
            self._job.ports,
            self._choice.needs,
            facts=self._facts.get(point),
            reread=self._rereading,
        )

    def _end(self) -> None:
        if self._stitcher is not None:
            self._settle(self._stitcher.finish())
        self._stitcher = None

    def _settle(self, rows: Iterable[Row]) -> None:
        columns, choice = self._columns, self._choice
        for row in rows:
            if row.kind == "connection":
                if choice.wants_connection(row):
                    self._connections.add(row)
            elif choice.everything or choice.wants(row):
                columns.add(row)
                if columns.weight >= WEIGHT:
                    self._write(columns.batch())
        if len(self._connections) >= WEIGHT:
            self._write_connections()

    def _flush(self) -> None:
        if len(self._columns):
            self._write(self._columns.batch())
        if len(self._connections):
            self._write_connections()
        self._write_waiting()

    def _write(self, rows: pa.RecordBatch, patch: Patch | None = None) -> None:
        """Small batches wait for others."""
        self._waiting.append((rows, patch))
        self._weight += rows.num_rows + (sum(rows.column(at).nbytes for at in _BODIES) >> 10)
        if self._weight >= WEIGHT:
            self._write_waiting()

    def _write_waiting(self) -> None:
        waiting, self._waiting, self._weight = self._waiting, [], 0
        if waiting:
            self._writer.write(self._mending.told(self._mending.patched(waiting)))

    def _write_connections(self) -> None:
        self._writer.write_table("connections", self._mending.unnumbered(self._connections.batch()))
