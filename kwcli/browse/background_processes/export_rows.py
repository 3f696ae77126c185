"""Rows of the spool in, a file of them in a format of `-o` out; the file has its name only when it is whole."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from decoders.exchanges.body_reader import ApiReaders
from decoders.filters import parse
from kwcli.browse.background_processes.search_messages import ExportRows, RowsExported
from kwcli.output.renderers import WantedPaths, find_paths_read_by_format, open_renderer
from kwcli.private_files import StagedFile

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Ended, Settled
    from kwcli.browse.background_processes.search_spool import Searcher

__all__ = ["RowExporter"]


class RowExporter:
    """Answers ExportRows."""

    def __init__(self, asked: ExportRows, searcher: Searcher) -> None:
        self._asked, self._send, settings = asked, searcher.send, searcher.settings
        self.done = False
        self._count = 0
        plain = settings._replace(format=asked.format, width=None, color=False, columns=(), verbose=1, records=True)
        selection = parse(asked.text)
        selection.set_value_reader(settings.values)
        self._matches = selection.matches
        self.api_readers = ApiReaders(WantedPaths(selection.needs, find_paths_read_by_format(plain)))
        self._file: StagedFile | None = None
        with self._deleting_at_failure():
            self._file = StagedFile(asked.path)
            self._renderer = open_renderer(plain, self._file.file.write)  # type: ignore[arg-type]  # its result is not used

    @contextmanager
    def _deleting_at_failure(self) -> Iterator[None]:
        """Leave no file behind where it cannot be written, or at a defect; only the latter goes on upwards."""
        try:
            yield
        except Exception as error:
            self.done = True
            if self._file is not None:
                self._file.delete_unfinished()
            if not isinstance(error, OSError):
                raise
            problem = (error.strerror or str(error)).lower()
            self._send(RowsExported(self._asked.number, self._asked.path, 0, problem))

    def process_rows_of_block(self, first: int, rows: list[Settled], _ended: list[Ended]) -> None:
        """Write the rows of a block that are wanted."""
        if self.done:
            return
        asked = self._asked
        wanted = [
            row
            for at, row in enumerate(rows, first)
            if at < asked.until
            and row.kind == "exchange"
            and (at == asked.row if asked.row is not None else self._matches(row))
        ]
        with self._deleting_at_failure():
            self._renderer.learn_from_unshown_rows(rows)
            if wanted:
                self._renderer.write(list(wanted))
                self._count += len(wanted)
            if first + len(rows) >= asked.until:
                self._report_finished_export()

    def _report_finished_export(self) -> None:
        assert self._file is not None
        self._renderer.close()
        self._file.give_final_name()
        self.done = True
        self._send(RowsExported(self._asked.number, self._asked.path, self._count))

    def note_all_rows_searched(self) -> None:
        """End the file where there was no row to look at; else the end is where all rows wanted were written."""
        if not self.done and not self._asked.until:
            with self._deleting_at_failure():
                self._report_finished_export()
