"""Record batches in, Parquet files of tables and the counts of their rows out."""

from __future__ import annotations

import json
import uuid
from collections import Counter
from collections.abc import Callable, Collection
from contextlib import suppress
from datetime import date
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import pyarrow as pa
import pyarrow.parquet as pq

from decoders.exchanges.exchange import ClientIdentity, foreign_name
from decoders.exchanges.pairer import is_alone
from decoders.named_tuple import NamedTuple
from kwcli.pipeline.tables.rows import BODY_COLUMNS
from kwcli.pipeline.tables.schemas import EPOCH, ROWS, SCHEMAS, by_date, by_table
from kwcli.sniff.closing_lines import LOSSY, missing

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "BATCH_BYTES",
    "BATCH_ROWS",
    "COMPRESSION",
    "GROUP_BYTES",
    "GROUP_ROWS",
    "OPEN_MAX",
    "Open",
    "RunCounts",
    "TableWriter",
    "WrittenFile",
]

# Counts whose keys are ports, which JSON has as texts.
_BY_PORT: Final = ("answers_only", "requests_only", "foreign")
# Columns that tell clients apart.
_WHO: Final = ["client_ip", "client_id", "client_software_name", "client_software_version"]
_READ: Final = ["kind", "source", "status", "error_expected", *_WHO, "api_key", "broker", "time_ns", "reason", "size"]


class RunCounts:
    """The counts of a run. `clients` are those that sent requests; `runs` has reason → skipped runs of bytes."""

    __slots__ = (
        "answers_only",
        "brokers",
        "clients",
        "connections",
        "errors",
        "exchanges",
        "expected",
        "first_ns",
        "foreign",
        "gaps",
        "last_ns",
        "logged",
        "requests_only",
        "run_bytes",
        "runs",
        "statuses",
    )

    def __init__(self) -> None:
        self.exchanges = 0
        self.logged = 0  # exchanges of request logs, which are in no other count
        self.statuses: Counter[str] = Counter()
        self.errors = 0  # exchanges that have one
        self.expected = 0  # exchanges that only have expected errors
        self.clients: set[ClientIdentity] = set()
        self.brokers: set[str] = set()
        self.connections = 0  # those that carry Kafka
        self.gaps = 0
        # As `Summary` has them.
        self.answers_only: Counter[int] = Counter()
        self.requests_only: Counter[int] = Counter()
        self.foreign: Counter[tuple[str, int]] = Counter()
        self.runs: Counter[str] = Counter()
        self.run_bytes: Counter[str] = Counter()
        self.first_ns = 0
        self.last_ns = 0

    @property
    def lossy(self) -> bool:
        """Whether traffic is missing, or could not be decoded."""
        return (
            self.gaps > 0
            or any(self.statuses[status] for status in LOSSY)
            or bool(missing(self.runs) or self.requests_only)
        )

    def add(self, rows: pa.RecordBatch) -> None:
        """Count rows of schemas.ROWS: exchanges and skipped runs."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if rows.num_rows:
            both = pa.Table.from_batches([rows.select(_READ)])
            runs = pc.equal(both["kind"], "skipped")
            logged = pc.fill_null(pc.equal(both["source"], "log"), False)
            self.logged += pc.sum(logged).as_py()
            self._exchanges(both.filter(pc.invert(pc.or_(runs, logged))))
            self._skipped(both.filter(runs))

    def add_connections(self, rows: pa.RecordBatch) -> None:
        """Count rows of the table `connections`."""
        import pyarrow.compute as pc

        kafka = rows.filter(rows.column("kafka"))
        self.connections += kafka.num_rows
        self.gaps += sum(pc.sum(kafka.column(name)).as_py() or 0 for name in ("client_gaps", "server_gaps"))
        self._one_direction(kafka)
        others = rows.filter(pc.and_(pc.invert(rows.column("kafka")), pc.is_valid(rows.column("reason"))))
        for detail, port in zip(*(others.column(name).to_pylist() for name in ("detail", "broker_port")), strict=True):
            self.foreign[foreign_name(detail), port] += 1

    def _one_direction(self, kafka: pa.RecordBatch) -> None:
        """Count Kafka connections of which the capture has one direction only."""
        import pyarrow.compute as pc

        packets = [kafka.column(f"{side}_packets") for side in ("client", "server")]
        alone = kafka.filter(
            pc.or_(
                pc.or_(pc.equal(packets[0], 0), pc.equal(packets[1], 0)),
                pc.fill_null(pc.equal(kafka.column("reason"), "one_direction"), False),
            )
        )
        names = ("reason", "opened", "client_packets", "server_packets", "broker_port")
        for reason, opened, client, server, port in zip(
            *(alone.column(name).to_pylist() for name in names), strict=True
        ):
            if reason is not None or is_alone(opened=opened, packets=client + server):
                (self.answers_only if server else self.requests_only)[port] += 1

    def _exchanges(self, rows: pa.Table) -> None:
        import pyarrow.compute as pc

        if not rows.num_rows:
            return
        self.exchanges += rows.num_rows
        for pair in pc.value_counts(rows["status"]).to_pylist():
            self.statuses[pair["values"]] += pair["counts"]
        self._errors(rows["error_expected"].combine_chunks())
        asked = rows.filter(pc.is_valid(rows["api_key"])).select(_WHO).group_by(_WHO).aggregate([])
        for ip, client_id, name, version in zip(*(asked[column].to_pylist() for column in _WHO), strict=True):
            self.clients.add((ip, client_id or "", name, version))
        self.brokers.update(pc.unique(rows["broker"]).to_pylist())
        span = pc.min_max(rows["time_ns"]).as_py()
        self.first_ns = min(self.first_ns or span["min"], span["min"])
        self.last_ns = max(self.last_ns, span["max"])

    def _errors(self, expected: pa.Array) -> None:
        """Count exchanges with errors, and exchanges that only have expected errors."""
        import pyarrow.compute as pc

        having = pc.list_parent_indices(expected)
        failed = having.filter(pc.invert(pc.list_flatten(expected)))
        errors = pc.count_distinct(failed).as_py()
        self.errors += errors
        self.expected += pc.count_distinct(having).as_py() - errors

    def _skipped(self, rows: pa.Table) -> None:
        found = rows.select(["reason", "size"]).group_by("reason").aggregate([("size", "sum"), ("size", "count")])
        for row in found.to_pylist():
            self.runs[row["reason"]] += row["size_count"]
            self.run_bytes[row["reason"]] += row["size_sum"]

    def merge(self, other: RunCounts) -> None:
        """Add the counts of `other`."""
        for name in ("statuses", "runs", "run_bytes", "answers_only", "requests_only", "foreign"):
            getattr(self, name).update(getattr(other, name))
        self.exchanges += other.exchanges
        self.logged += other.logged
        self.errors += other.errors
        self.expected += other.expected
        self.connections += other.connections
        self.gaps += other.gaps
        self.clients |= other.clients
        self.brokers |= other.brokers
        self.first_ns = min(filter(None, (self.first_ns, other.first_ns)), default=0)
        self.last_ns = max(self.last_ns, other.last_ns)

    def export(self) -> str:
        """All counts as text, for `resume`."""
        values: dict[str, Any] = {name: getattr(self, name) for name in self.__slots__}
        values |= {name: list(values[name].items()) for name in _BY_PORT}
        return json.dumps({**values, "clients": list(self.clients), "brokers": sorted(self.brokers)})

    @classmethod
    def resume(cls, text: str) -> RunCounts:
        """The counts of a text that `export` made."""
        tally = cls()
        for name, value in json.loads(text).items():
            if name in _BY_PORT:
                its = {tuple(key) if isinstance(key, list) else key: count for key, count in value}
                setattr(tally, name, Counter(its))
                continue
            kind = type(getattr(tally, name))
            setattr(tally, name, kind(map(tuple, value)) if name == "clients" else kind(value))
        return tally


# Record batches in, Parquet files out: one writer for all tables of one task, a file for each table and date.
#
# Files lie at `TABLE/date=YYYY-MM-DD/NAME-N.parquet` under the folder given; no two writers give the same name. Only
# the files that `close` lists count: the files of a writer that fails or is killed are listed nowhere.


# The limits of a row group, whichever comes first: a reader holds one row group of a file, a writer one for each date.
GROUP_ROWS: Final = 1 << 16
GROUP_BYTES: Final = 16 << 20
# Rows, or bytes of their bodies, that are sorted by table and date at once (`python -m tests.bench.pipeline`).
BATCH_ROWS: Final = 1 << 13
BATCH_BYTES: Final = 8 << 20
_BODIES: Final = tuple(map(ROWS.get_field_index, BODY_COLUMNS))
# Files written at the same time; beyond, the one that was not written to for longest is closed.
OPEN_MAX: Final = 8
COMPRESSION: Final = "zstd"

# Opens a new file by its path under the writer's folder.
Open = Callable[[str], BinaryIO]


class WrittenFile(NamedTuple):
    """One file: its table and date, its path under the writer's folder, rows and bytes. Can be pickled."""

    table: str
    date: str
    path: str
    rows: int
    size: int


class _ParquetFile:
    """A file being written, with the batches of its next row group."""

    def __init__(self, table: str, path: str, stream: BinaryIO) -> None:
        self.table = table
        self.path = path
        self.rows = 0
        self._stream = stream
        try:
            self._writer = pq.ParquetWriter(stream, SCHEMAS[table], compression=COMPRESSION, write_statistics=True)
        except BaseException:
            _let_go(stream)
            raise
        self._waiting: list[pa.RecordBatch] = []
        self._count = self._size = 0

    def write(self, batch: pa.RecordBatch) -> None:
        """Add rows to the next row group."""
        self._waiting.append(batch)
        self._count += batch.num_rows
        self._size += batch.nbytes
        if self._count >= GROUP_ROWS or self._size >= GROUP_BYTES:
            self._flush()

    def _flush(self) -> None:
        if self._waiting:
            self._writer.write_table(pa.Table.from_batches(self._waiting), row_group_size=max(self._count, 1))
            self.rows += self._count
        self._waiting, self._count, self._size = [], 0, 0

    def close(self) -> int:
        """Finish the file; its size in bytes."""
        self._flush()
        self._writer.close()
        size = self._stream.tell()
        self._stream.close()
        return size

    def abandon(self) -> None:
        """Close the stream with the file as it is; errors are ignored."""
        self._writer.is_open = False  # or it would try to finish the file when it is garbage-collected
        _let_go(self._stream)


def _let_go(stream: BinaryIO) -> None:
    with suppress(OSError):
        stream.close()


class TableWriter:
    """Writes tables as Parquet files, which `open_file` opens by their paths under its folder."""

    def __init__(self, open_file: Open, tables: Collection[str], prefix: str = "") -> None:
        self._name = prefix + uuid.uuid4().hex
        self._open_file = open_file
        self._tables = frozenset(tables)
        self._files: dict[tuple[str, date], _ParquetFile] = {}  # the one written to last comes last
        self._written: list[WrittenFile] = []
        self._waiting: list[pa.RecordBatch] = []
        self._count = self._size = 0
        self.rows = 0  # exchanges and skipped runs so far
        self.tally = RunCounts()  # of all that came, also for tables that are not written

    def write(self, rows: pa.RecordBatch) -> None:
        """Add a batch of rows (schemas.ROWS)."""
        self.rows += rows.num_rows
        self._waiting.append(rows)
        self._count += rows.num_rows
        self._size += sum(rows.column(place).nbytes for place in _BODIES)
        if self._count >= BATCH_ROWS or self._size >= BATCH_BYTES:
            self._sort_out()

    def _sort_out(self) -> None:
        """Sort the rows that wait into tables, as one batch: each batch costs more than some rows."""
        waiting, self._waiting, self._count, self._size = self._waiting, [], 0, 0
        if len(waiting) > 1:
            waiting = pa.Table.from_batches(waiting).combine_chunks().to_batches()
        for rows in waiting:
            self.tally.add(rows)
            for table, batch in by_table(rows, self._tables):
                self.write_table(table, batch)

    def write_table(self, table: str, batch: pa.RecordBatch) -> None:
        """Add rows of one table, with the table's own schema."""
        if table == "connections":
            self.tally.add_connections(batch)
        if table not in self._tables:
            return
        for day, part in by_date(batch):
            self._file(table, day).write(part)

    def create_empty_file(self, table: str) -> None:
        """Create a file without rows, so that a table that has none has its columns."""
        self._file(table, EPOCH)

    def _file(self, table: str, day: date) -> _ParquetFile:
        file = self._files.pop((table, day), None)
        if file is None:
            if len(self._files) >= OPEN_MAX:
                self._close(next(iter(self._files)))
            path = f"{table}/date={day}/{self._name}-{len(self._written) + len(self._files)}.parquet"
            file = _ParquetFile(table, path, self._open_file(path))
        self._files[table, day] = file
        return file

    def _close(self, key: tuple[str, date]) -> None:
        file = self._files[key]
        size = file.close()
        del self._files[key]
        self._written.append(WrittenFile(key[0], str(key[1]), file.path, file.rows, size))

    def close(self) -> list[WrittenFile]:
        """Finish all files; the list of them."""
        self._sort_out()
        while self._files:
            self._close(next(iter(self._files)))
        return sorted(self._written)

    def __enter__(self) -> TableWriter:
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        """After a failure the files are left as they are."""
        if kind is not None:
            for file in self._files.values():
                file.abandon()
            self._files.clear()
