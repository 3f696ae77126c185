"""Exchanges in, bytes for standard output out: the renderer of the format, and the parts of bodies that it reads."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Final, Protocol, Self

from decoders.exchanges import body_reader
from kwcli.output import COLUMN_FORMATS, FACT_FORMATS, FORMATS, RECORD_FORMATS, Format
from kwcli.run_environment import Failure

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Settled
    from decoders.schema.api_declaration import Side
    from kwcli.output.output_settings import Settings
    from kwcli.output.read_row_cells import RowColumn

__all__ = [
    "Needs",
    "OncePiece",
    "Renderer",
    "WantedPaths",
    "Write",
    "columns_decode_values",
    "find_paths_read_by_format",
    "has_columns",
    "open_renderer",
    "shows_facts_of_earlier_exchanges",
]

Write = Callable[[bytes], None]
# API key and side → the paths that are read of that side before anything is shown.
Needs = Callable[[int, "Side"], frozenset[str]]

# Text with the columns of --columns.
CHOSEN: Final = Format("table", "ChosenColumns")


class OncePiece(bytes):
    """Bytes to write that are printed once in the whole output; `key` identifies what they say."""

    key: Hashable

    def __new__(cls, data: bytes, key: Hashable) -> Self:
        piece = super().__new__(cls, data)
        piece.key = key
        return piece

    def __getnewargs__(self) -> tuple[bytes, Hashable]:  # type: ignore[override]  # of bytes: one argument
        return bytes(self), self.key


class Renderer(Protocol):
    """Writes rows as they come. `shows_skipped`: whether bytes that are no part of an exchange have rows of their own.

    `errors`, `expected` and `undecoded` count the exchanges shown that have an unexpected error code in their response,
    that have only error codes that the protocol expects, and that could not be decoded.
    """

    @property
    def shows_skipped(self) -> bool: ...

    @property
    def errors(self) -> int: ...

    @property
    def expected(self) -> int: ...

    @property
    def undecoded(self) -> int: ...

    @property
    def remarks(self) -> int: ...

    def write(self, rows: list[Settled]) -> None: ...

    def learn_from_unshown_rows(self, rows: list[Settled]) -> None:
        """Take rows that the filters have left out; a format may learn from them."""

    def close(self) -> None:
        """Write the end of the output."""


class CountingRenderer:
    """Base of renderers of rows: counts the exchanges shown; learns nothing from others, and needs no end."""

    shows_skipped = True

    def __init__(self, write: Write) -> None:
        self._write = write
        self.errors = self.expected = self.undecoded = self.remarks = 0

    def count_exchanges(self, rows: Iterable[Settled]) -> None:
        """Count the exchanges that have errors, those that could not be decoded, and the remarks."""
        for row in rows:
            if row.kind == "exchange":
                unexpected = row.unexpected
                self.errors += bool(unexpected)
                self.expected += bool(row._error_codes and not unexpected)
                self.undecoded += row.status == "undecoded"
                self.remarks += len(row.remarks)

    def learn_from_unshown_rows(self, rows: list[Settled]) -> None:
        """Do nothing: most formats need nothing from rows that are not shown."""

    def close(self) -> None:
        """Do nothing: most formats need no end."""


def open_renderer(settings: Settings, write: Write) -> Renderer:
    """The renderer of the format in `settings`; `write` takes its output."""
    row = FORMATS[settings.format]
    chosen = CHOSEN if settings.columns and row.columns == "chosen" else row
    renderer: Renderer = getattr(import_module(f"kwcli.output.{chosen.module}"), chosen.renderer)(settings, write)
    return renderer


class WantedPaths(body_reader.Needs):
    """The paths of bodies that renderer and filters read; asked for each API when that API first occurs."""

    def __init__(self, *parts: Needs) -> None:
        super().__init__()
        self._parts = parts

    def needed_paths(self, key: int, side: Side) -> frozenset[str]:
        """The paths wanted of one side of an API."""
        return frozenset().union(*(part(key, side) for part in self._parts))


def has_columns(settings: Settings) -> bool:
    """Whether rows are columns; other formats than those of rows (`md` of `kw report`) have none."""
    return bool(settings.columns) or settings.format in COLUMN_FORMATS


def find_paths_read_by_format(settings: Settings) -> Needs:
    """The paths of bodies that the format reads; formats that show whole bodies, or none, read none beforehand."""
    if has_columns(settings):
        found = _make_row_columns(settings)
        return lambda key, side: frozenset().union(*(column.needed_paths(key, side) for column in found))
    if settings.format not in FACT_FORMATS:
        return _need_no_paths
    from kwcli.output.facts.line_fact_functions import facts_paths

    return facts_paths


def shows_facts_of_earlier_exchanges(settings: Settings) -> bool:
    """Whether the format shows what earlier exchanges say about later ones (facts_from_earlier_exchanges.py)."""
    if has_columns(settings):
        return any(column.path is not None and column.path.history for column in _make_row_columns(settings))
    return settings.format in RECORD_FORMATS


def columns_decode_values(settings: Settings) -> bool:
    """Whether columns that are asked for look into decoded keys and values.

    A word that is no column of exchanges is none of them: `kw call` and `kw decode` choose fields of bodies by -e.
    """
    try:
        paths = [column.path for column in _make_row_columns(settings)]
    except Failure:
        return False
    return any(path is not None and path.set_value_reader is not None for path in paths)


def _make_row_columns(settings: Settings) -> list[RowColumn]:
    from kwcli.output.read_row_cells import find_column_words, make_row_columns

    return make_row_columns(find_column_words(settings), "-e" if settings.format == "fields" else "--columns")


def _need_no_paths(_key: int, _side: Side) -> frozenset[str]:
    return frozenset()
