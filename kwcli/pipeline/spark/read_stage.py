"""The first stage of a job: one split in, its parts by connection out, as batches of `arrays.PARTS`.

The rows that the split could settle itself travel as slices of record batches, beside what the splitter made for the
stitcher. Facts for other connections, counts and problems do not travel: they are left as notes (notes.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from decoders.exchanges.bodies import Options
from decoders.exchanges.parts import FACT, ROWS, Part
from decoders.exchanges.splitting import Splitter
from kwcli.garbage import seldom
from kwcli.pipeline.choosing import Choice
from kwcli.pipeline.reading import Reading
from kwcli.pipeline.spark.arrays import Travelling, packed, parts_batch
from kwcli.pipeline.spark.job import Order, ReadReport
from kwcli.pipeline.spark.notes import Notes
from kwcli.pipeline.tables.rows import ExchangeColumns

if TYPE_CHECKING:
    from kwcli.pipeline.pieces import Split

__all__ = ["read_split"]

# Rows and partitions that wait to become one record batch.
WEIGHT: Final = 16_384
# Rows, and bytes of their batches, that wait to be cut by connection: of all connections of the split, since a slice
# costs as much as a hundred rows.
ROWS_MAX: Final = 1 << 16
BYTES_MAX: Final = 32 << 20
# What a task hands to the JVM at once.
BATCH_SIZE: Final = 4 << 20


def read_split(order: Order, number: int) -> Iterator[pa.RecordBatch]:
    """All of one split."""
    job = order.job
    split = job.splits[number]
    choice = Choice(job)
    notes = Notes(order.staging)
    splitter = Splitter(job.ports, choice.needs, raw=order.raw)
    outbox = Outbox(order, split, choice)
    reading = Reading(split)
    with seldom():
        for segments in reading:
            outbox.take(splitter.feed(segments))
            yield from outbox.full()
            notes.progress(number, reading.taken)
        outbox.take(splitter.finish())
        yield from outbox.rest()
    notes.report(ReadReport(number, reading.taken, dict(reading.counts), tuple(reading.problems), tuple(outbox.facts)))


class Outbox:
    """Collects parts until they are worth a batch. What is for all connections is in `facts`."""

    def __init__(self, order: Order, split: Split, choice: Choice) -> None:
        job = order.job
        bodies = Options(reveal_secrets=job.reveal_secrets) if job.bodies else None
        self.facts: list[bytes] = []
        self._split = split
        self._choice = choice
        self._columns = ExchangeColumns(split.point, job.files, job.tables, bodies=bodies)
        self._settled: list[Part] = []  # the first with rows of each run
        self._open: dict[bytes, int] = {}  # key → which of them takes the rows that follow
        self._owners: list[int] = []  # of each row that waits
        self._made: list[pa.RecordBatch] = []  # of the first of these rows
        self._made_size = 0
        self._parts: list[Travelling] = []
        self._size = 0

    def take(self, parts: list[Part]) -> None:
        """Parts of the splitter."""
        for part in parts:
            if part.kind == ROWS:
                self._settle(part)
            elif part.kind == FACT:
                self.facts.append(part.blob)
            else:
                self._open.pop(part.key, None)
                self._put(part, None)

    def full(self) -> Iterator[pa.RecordBatch]:
        """A batch, when there is enough for one."""
        if self._size >= BATCH_SIZE:
            yield from self._given()

    def rest(self) -> Iterator[pa.RecordBatch]:
        """What is left."""
        self._slice()
        yield from self._given()

    def _put(self, part: Part, rows: bytes | None) -> None:
        self._parts.append((part.key, part.seq, part.kind, part.blob, rows))
        self._size += len(part.blob) + len(rows or b"") + 64

    def _given(self) -> Iterator[pa.RecordBatch]:
        parts, self._parts, self._size = self._parts, [], 0
        begin = size = 0
        for end, (_, _, _, blob, rows) in enumerate(parts, 1):
            size += len(blob) + len(rows or b"")
            if size >= BATCH_SIZE or end == len(parts):
                yield parts_batch(self._split.point, self._split.ord, parts[begin:end])
                begin, size = end, 0

    def _settle(self, part: Part) -> None:
        """Rows of the split's own: they wait for those of other connections, and for more of the same run."""
        columns, choice = self._columns, self._choice
        place = self._open.get(part.key)
        if place is None:
            place = self._open[part.key] = len(self._settled)
            self._settled.append(part._replace(rows=[]))  # without the messages that its rows hold
        elif part.blob:
            self._put(part, None)
        begin = len(columns)
        for row in part.rows:
            assert row.kind != "connection"  # only who knows all of it tells of a connection
            if choice.everything or choice.wants(row):
                columns.add(row)
        self._owners += [place] * (len(columns) - begin)
        if columns.weight >= WEIGHT:
            self._make()
        if len(self._owners) >= ROWS_MAX or self._made_size >= BYTES_MAX or len(self._settled) >= WEIGHT:
            self._slice()

    def _make(self) -> None:
        """A batch of the rows that are not of one yet: it is far smaller than they are."""
        batch = self._columns.batch()
        self._made.append(batch)
        self._made_size += batch.nbytes

    def _slice(self) -> None:
        """The rows that wait as slices of one batch, each with its part."""
        settled, self._settled = self._settled, []
        owners, self._owners = self._owners, []
        self._open.clear()
        if not settled:
            return
        self._make()
        made, self._made, self._made_size = self._made, [], 0
        order = sorted(range(len(owners)), key=owners.__getitem__)  # keeps the order of each part's rows
        batch = pa.concat_batches(made).take(pa.array(order, pa.int32()))
        counts, at = Counter(owners), 0
        for place, part in enumerate(settled):
            count = counts[place]
            self._put(part, packed(batch.slice(at, count)) if count else None)
            at += count
