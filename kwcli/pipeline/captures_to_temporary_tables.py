"""Captures in, the tables of `kw pipeline run` out, in a temporary folder for the time of one query."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from decoders.messages.build_body_json import Options
from decoders.named_tuple import NamedTuple
from kwcli.pipeline.read.filter_and_batch_rows import BATCH_WEIGHT
from kwcli.pipeline.store.output_folder import OutputFolder
from kwcli.pipeline.tables.connection_columns import ConnectionColumns
from kwcli.pipeline.tables.exchange_columns import NUMBER_BITS, PACKETS, ExchangeColumns
from kwcli.pipeline.tables.record_rows import RecordsFile
from kwcli.pipeline.tables.topic_partition_rows import TableNeeds
from kwcli.pipeline.tables.write_parquet import TableWriter
from kwcli.reading.capture_sources import escape_non_utf8
from kwcli.reading.run_coverage import PartialRun
from kwcli.reading.run_reading import ReadingRun
from kwcli.reading.sinks.filter_sort_and_limit_rows import ReadingView
from kwcli.reading.sinks.fold_renderer import FoldRenderer

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Ended, Exchange, Settled
    from kwcli.capture_options import CaptureOptions
    from kwcli.options import FilterOptions
    from kwcli.output.output_settings import Settings
    from kwcli.output.renderers import Write
    from kwcli.run_environment import Environment, Exit

__all__ = ["CaptureTables", "read_captures_into_tables"]

# Columns that are made only when a query names one of them: every exchange is then decoded in full.
_BODIES: Final = ("request_body", "response_body")
NUMBER_MASK: Final = (1 << NUMBER_BITS) - 1
# The rows of the view `records`, in the temporary folder.
RECORDS_FILE: Final = "records/records.parquet"


class CaptureTables(NamedTuple):
    """The files of each table (none for a table without rows); `code` is the exit code of reading the captures.

    `partial`: what was read of them, where that is not all.
    """

    place: str
    files: Mapping[str, Sequence[str]]
    code: Exit
    partial: PartialRun | None = None


def read_captures_into_tables(
    env: Environment,
    settings: Settings,
    capture: CaptureOptions,
    filters: FilterOptions,
    tables: Collection[str],
    folder: str,
    *,
    bodies: bool,
    records: bool = False,
) -> CaptureTables:
    """Read the captures of the options into `tables`, whose files are written below `folder`. Raises Failure.

    `records`: also make the view of this name, whose keys and values are decoded by the reader of the settings.
    """
    options = settings._replace(records=True).make_record_options() if records else None
    renderer = _TableRenderer(folder, tables, bodies=bodies, records=options)
    sniffing = ReadingRun(
        env,
        settings,
        capture,
        filters,
        view=ReadingView(TableNeeds(tables).needed_paths, renderer.open, tables=renderer),
    )
    outcome = sniffing.run()
    place = ", ".join(capture.files) or capture.places
    for line in [] if settings.quiet else renderer.lines_about_records:
        env.report(f"kw: {line}")
    return CaptureTables(place, renderer.files, outcome.exit_code(), outcome.coverage.partial)


def is_query_about_bodies(query: str) -> bool:
    """Whether a query is about the bodies of messages."""
    return any(name in query.lower() for name in _BODIES)


class _TableRenderer(FoldRenderer):
    """Writes rows into tables below a folder; `files` has the files of each table once the renderer is closed.

    Rows read from records have no places of their own: they are numbered, so that each is one row, and their files
    are numbered after the captures.
    """

    shows_skipped = True

    def __init__(self, folder: str, tables: Collection[str], *, bodies: bool, records: Options | None = None) -> None:
        """`records`: how the rows of the view `records` are made, where a query is about them."""
        super().__init__([], "")
        self.files: dict[str, list[str]] = {name: [] for name in tables}
        self._folder = OutputFolder(folder)
        self._writer = TableWriter(self._folder.open_new, tables)
        self._names: list[str] = []
        self._columns = ExchangeColumns("", self._names, tables, bodies=Options(deferred=True) if bodies else None)
        self._connections = ConnectionColumns("")
        self._captures: Sequence[str] = ()
        self._recorded: dict[str, int] = {}  # names of files of records → their numbers
        self._place = 0
        self._record_options = records
        self._records = None if records is None else self._open_records_file()

    @property
    def lines_about_records(self) -> list[str]:
        """Sentences about batches whose records the input lacks, as NDJSON may."""
        lines = [] if self._records is None else self._records.describe_lacking()
        return [f"{line}: kw sniff --records -o ndjson keeps them" for line in lines]

    def _open_records_file(self) -> RecordsFile:
        self.files["records"] = [self._folder.full_path(RECORDS_FILE)]
        assert self._record_options is not None
        return RecordsFile(self._folder.open_new(RECORDS_FILE), self._record_options.values)

    def open(self, _write: Write) -> _TableRenderer:
        """Return the renderer itself; it writes nothing to the output."""
        return self

    def set_file_names(self, names: Sequence[str]) -> None:
        """Take the names of the captures."""
        self._captures = names

    def set_point_names(self, points: Sequence[str]) -> None:
        """Take the names of the places that are read as they come, where there are several: they are the files."""
        if points:
            self._columns.point = None

    def end_connection(self, ended: Ended) -> None:
        """Add the row of a connection that ended."""
        self._connections.add_connection(ended)
        if len(self._connections) >= BATCH_WEIGHT:
            self._writer.write_table("connections", self._connections.take_batch())

    def write(self, rows: list[Settled]) -> None:
        """Add settled rows to the tables."""
        super().write(rows)
        columns = self._columns
        for row in rows:
            if row.kind == "exchange" and row.record is not None:
                self._number_row_and_packets(row)
            if self._records is not None and row.kind == "exchange":
                self._add_records(row)
            columns.add_row(row)
            if columns.weight >= BATCH_WEIGHT:
                self._write_pending_rows()

    def _add_records(self, row: Exchange) -> None:
        assert self._records is not None
        assert self._record_options is not None
        first = [getattr(row, f"{side}_packet") or 0 for side in ("request", "response")]
        source = (first[0] or first[1]) >> NUMBER_BITS
        names = [*self._captures, *self._recorded]
        packets = [packet & NUMBER_MASK or None for packet in first]
        self._records.add_exchange(row, self._record_options, names[source] if names else "", packets)

    def _number_row_and_packets(self, row: Exchange) -> None:
        self._place += 1
        row.place = self._place
        name = str((row.extra or {}).get("file", ""))
        at = self._recorded.setdefault(name, len(self._recorded)) + len(self._captures)
        for packet in PACKETS:
            setattr(row, packet, (at << NUMBER_BITS) + (getattr(row, packet) or 0))

    def _write_pending_rows(self) -> None:
        self._names[:] = [*self._captures, *map(escape_non_utf8, self._recorded)] or [""]
        if len(self._columns):
            self._writer.write(self._columns.take_batch())

    def close(self) -> None:
        """Write the remaining rows and close the tables."""
        self._write_pending_rows()
        if len(self._connections):
            self._writer.write_table("connections", self._connections.take_batch())
        if self._records is not None:
            self._records.close()
        for file in self._writer.close():
            self.files[file.table].append(self._folder.full_path(file.path))
