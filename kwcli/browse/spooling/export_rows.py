"""Rows of the spool in, a file of them in a format of `-o` out; the file has its name only when it is whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from decoders.exchanges.body_reader import ApiReaders
from decoders.filters import parse
from decoders.named_tuple import NamedTuple
from kwcli.output.renderers import WantedPaths, open_renderer, renderer_needs
from kwcli.private_files import StagedFile

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Ended, Settled
    from kwcli.output.settings import Settings

__all__ = ["ENDINGS", "ExportRows", "RowExporter", "RowsExported"]

# The end of a file's name → the format of `-o` that is written.
ENDINGS: Final = {
    ".ndjson": "ndjson",
    ".jsonl": "ndjson",
    ".json": "json",
    ".yaml": "yaml",
    ".csv": "csv",
    ".hex": "hex",
    ".txt": "text",
}


class ExportRows(NamedTuple):
    """A question: write the rows that a filter lets through, up to the row `until`, or the row `row` alone."""

    number: int
    path: str
    format: str
    text: str
    until: int
    row: int | None = None


class RowsExported(NamedTuple):
    """The answer: how many rows are in the file, or why there is none."""

    number: int
    path: str
    rows: int
    problem: str = ""


class RowExporter:
    """Answers ExportRows."""

    def __init__(self, asked: ExportRows, settings: Settings, send: Callable[[Any], None]) -> None:
        self._asked, self._send = asked, send
        self.done = False
        self._count = 0
        plain = settings._replace(format=asked.format, width=None, color=False, columns=(), verbose=1, records=True)
        selection = parse(asked.text)
        selection.decode_values_with(settings.values)
        self._matches = selection.matches
        self.api_readers = ApiReaders(WantedPaths(selection.needs, renderer_needs(plain)))
        self._file: StagedFile | None = None
        try:
            self._file = StagedFile(asked.path)
            self._renderer = open_renderer(plain, self._file.file.write)  # type: ignore[arg-type]  # its result is not used
        except OSError as error:
            self._fail(error)

    def _fail(self, error: OSError) -> None:
        self.done = True
        if self._file is not None:
            self._file.delete_unfinished()
        problem = (error.strerror or str(error)).lower()
        self._send(RowsExported(self._asked.number, self._asked.path, 0, problem))

    def add_block(self, first: int, rows: list[Settled], _ended: list[Ended]) -> None:
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
        try:
            self._renderer.learn_from(rows)
            if wanted:
                self._renderer.write(list(wanted))
                self._count += len(wanted)
            if first + len(rows) >= asked.until:
                self._finish()
        except OSError as error:
            self._fail(error)

    def _finish(self) -> None:
        assert self._file is not None
        self._renderer.close()
        self._file.give_final_name()
        self.done = True
        self._send(RowsExported(self._asked.number, self._asked.path, self._count))

    def note_end(self) -> None:
        """Do nothing: the end is where all rows wanted were written."""
