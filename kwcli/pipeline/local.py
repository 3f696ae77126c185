"""Splits in, tables in the staging folder out, in one process: the engine `local`.

The splits of a capture point, one after the other, are one capture to one engine; no connection goes from one point to
another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from decoders.exchanges.bodies import Options
from decoders.exchanges.engine import Engine
from kwcli.pipeline.choosing import Asked, Choice
from kwcli.pipeline.reading import Reading
from kwcli.pipeline.tables.connections import ConnectionColumns
from kwcli.pipeline.tables.rows import ExchangeColumns

if TYPE_CHECKING:
    from collections.abc import Iterable

    from decoders.exchanges.ended import Row
    from kwcli.pipeline.pieces import Problem, Split
    from kwcli.pipeline.store.staging import Staging
    from kwcli.pipeline.tables.write import TableWriter, Written
    from kwcli.pipeline.tally import Tally

__all__ = ["Outcome", "run"]

# Rows and partitions that become a batch: enough for one to be worth its cost (`python -m tests.bench.tables`).
WEIGHT: Final = 16_384
# Bytes read and splits done, now and then.
Progress = Callable[[int, int], None]


class Job(Asked, Protocol):
    """A run over captures. `files` are their names by the number in packets; the splits of a point are in order."""

    @property
    def splits(self) -> Sequence[Split]: ...

    @property
    def files(self) -> Sequence[str]: ...

    @property
    def ports(self) -> frozenset[int] | None: ...

    @property
    def bodies(self) -> bool: ...

    @property
    def reveal_secrets(self) -> bool: ...


class Outcome(NamedTuple):
    """The files of the tables, what is in them, the counts of all readers, what was wrong with captures, bytes read."""

    written: list[Written]
    tally: Tally
    counts: Counter[str]
    problems: list[Problem]
    taken: int


def run(job: Job, staging: Staging, progress: Progress | None = None) -> Outcome:
    """Read everything. Raises OSError when the tables cannot be written."""
    choice = Choice(job)
    counts: Counter[str] = Counter()
    problems: list[Problem] = []
    taken = done = 0
    with staging.writer(job.tables) as writer:
        for point, splits in groupby(job.splits, key=lambda split: split.point):
            engine = Engine(job.ports, choice.needs, connections=True)
            desk = _Desk(job, point, choice, writer)
            for split in splits:
                reading = Reading(split)
                for segments in reading:
                    desk.take(engine.feed(segments))
                    if progress is not None:
                        progress(taken + reading.taken, done)
                taken += reading.taken
                done += 1
                counts.update(reading.counts)
                problems += reading.problems
            desk.take(engine.finish())
            desk.flush()
        written = writer.close()
    return Outcome(written, writer.tally, counts, problems, taken)


class _Desk:
    """Where the rows of one capture point become batches."""

    def __init__(self, job: Job, point: str, choice: Choice, writer: TableWriter) -> None:
        bodies = Options(reveal_secrets=job.reveal_secrets) if job.bodies else None
        self._columns = ExchangeColumns(point, job.files, job.tables, bodies=bodies)
        self._connections = ConnectionColumns(point)
        self._choice = choice
        self._writer = writer

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
                    self._writer.write(columns.batch())
        if len(self._connections) >= WEIGHT:
            self._writer.write_table("connections", self._connections.batch())

    def flush(self) -> None:
        """No row follows."""
        if len(self._columns):
            self._writer.write(self._columns.batch())
        if len(self._connections):
            self._writer.write_table("connections", self._connections.batch())
