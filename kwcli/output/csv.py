"""Rows in, CSV out (RFC 4180, a header line first): rows of exchanges, and by `format_csv_lines` any others.

A spreadsheet computes a cell that begins like a formula, even if a stranger chose its text (`=HYPERLINK(…)`). Where it
is asked for, an apostrophe goes before such a text: spreadsheets take it for "this is text" and do not show it.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from decoders.schema.body_json_form import encode_text_for_cell
from kwcli.output.read_row_cells import RowReader, find_column_words
from kwcli.output.renderers import CountingRenderer

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Settled
    from kwcli.output.output_settings import Settings
    from kwcli.output.renderers import Write

# The content of a cell. None: the row has no value.
Cell = str | int | float | None
# What a formula begins with, in the widths that East Asian keyboards have too; and what spreadsheets skip before it.
FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def format_csv_lines(rows: Iterable[Iterable[Any]], *, safe: bool) -> str:
    """The CSV lines of the rows; with `safe` no text is a formula. Numbers stay numbers, negative ones too."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(map(_escape_formulas, rows) if safe else rows)
    return text.getvalue()


def _escape_formulas(row: Iterable[Any]) -> list[Any]:
    return [f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA) else cell for cell in row]


def format_counts(counts: Mapping[str, int]) -> str:
    """Names with their counts: `NOT_COORDINATOR:2 NONE:1`."""
    return " ".join(f"{encode_text_for_cell(name)}:{count}" for name, count in counts.items())


def join_values(value: Any, format_text: Callable[[str], str] = encode_text_for_cell) -> Cell:
    """A JSON value as the content of one cell, without a list or an object in it.

    A list is its values with commas between them, an object its names with their values: `[[1, 2], [3]]` → `1 2, 3`,
    `[{"api": "Fetch", "at": {"p50": 4}}]` → `api:Fetch at.p50:4`. `true`, `false` and, in a list, `null` are JSON's.
    """
    if isinstance(value, list):
        return ", ".join(_join_element(each, format_text) for each in value)
    if isinstance(value, dict | bool):
        return _join_element(value, format_text)
    return format_text(value) if isinstance(value, str) else value


def _join_element(value: Any, format_text: Callable[[str], str]) -> str:
    if isinstance(value, list):
        return " ".join(_join_element(each, format_text) for each in value)
    if isinstance(value, dict):
        return " ".join(_list_entries(value, format_text, ""))
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    return format_text(value) if isinstance(value, str) else str(value)


def _list_entries(value: Mapping[str, Any], format_text: Callable[[str], str], path: str) -> Iterator[str]:
    for name, each in value.items():
        its_path = f"{path}{format_text(name)}"
        if isinstance(each, dict):
            yield from _list_entries(each, format_text, f"{its_path}.")
        else:
            elements = each if isinstance(each, list) else [each]
            yield f"{its_path}:{','.join(_join_element(element, format_text) for element in elements)}"


class Csv(CountingRenderer):
    """The CSV renderer: a line for each row."""

    def __init__(self, settings: Settings, write: Write) -> None:
        super().__init__(write)
        self._safe = settings.csv_safe
        self._reader = RowReader(find_column_words(settings), settings)
        self._header = True

    def write(self, rows: list[Settled]) -> None:
        """Write the rows."""
        self._reader.learn_node_addresses(rows)
        lines: list[list[Any]] = [[column.word for column in self._reader.columns]] if self._header else []
        self._header = False
        self.count_exchanges(rows)
        lines += map(self._reader.row_cells, rows)
        self._write(format_csv_lines(lines, safe=self._safe).encode("utf-8", "backslashreplace"))

    def learn_from_unshown_rows(self, rows: list[Settled]) -> None:
        """Learn the addresses of nodes from rows that are not shown."""
        self._reader.learn_node_addresses(rows)

    def close(self) -> None:
        """Write the header of a table without rows."""
        if self._header:
            self.write([])
