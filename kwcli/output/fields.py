"""Rows in, `-o fields` out: the values at the paths of -e, a line a row, with tabs between them, as in tshark.

Without -e the columns are those of tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from decoders.named_tuple import NamedTuple
from kwcli.output.read_row_cells import RowReader, find_column_words, format_json_value_as_cell
from kwcli.output.renderers import CountingRenderer
from kwcli.run_environment import Exit, Failure

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Settled
    from kwcli.output.output_settings import Settings
    from kwcli.output.renderers import Write

_ESCAPES: Final = str.maketrans({"\t": "\\t", "\n": "\\n", "\r": "\\r"})
_SIGNS: Final = {"/t": "\t", "/s": " ", "\\t": "\t", "tab": "\t", "space": " ", "comma": ","}
_QUOTES: Final = {"d": '"', "s": "'", "n": ""}
_YES: Final = {"y": True, "yes": True, "true": True, "n": False, "no": False, "false": False}
_KEPT: Final = {"f": slice(0, 1), "l": slice(-1, None), "a": slice(None)}
_THERE_ARE: Final = "header=y, separator=, quote=d|s|n, aggregator=;, occurrence=f|l|a, escape=n"


class FieldSeparators(NamedTuple):
    """The separators and quotes around values: `-E header=y -E separator=,` and the like, in tshark's words."""

    header: bool = False
    separator: str = "\t"
    quote: str = ""
    aggregator: str = ","
    kept: slice = slice(None)  # of several values: the first, the last, all
    escape: bool = True  # tabs and line ends in values as \\t and \\n

    @classmethod
    def parse_words(cls, words: Iterable[str]) -> FieldSeparators:
        """The marks of the words that -E gives. Raises Failure (usage)."""
        found: dict[str, Any] = {}
        for word in words:
            name, equals, value = word.partition("=")
            tables: dict[str, dict[str, Any]] = {"header": _YES, "escape": _YES, "quote": _QUOTES, "occurrence": _KEPT}
            if not equals or (name not in tables and name not in ("separator", "aggregator")):
                raise Failure(f"-E {word!r}: there are {_THERE_ARE}", Exit.USAGE)
            if name not in tables:
                found[name] = _SIGNS.get(value, value)
            elif value not in tables[name]:
                raise Failure(f"-E {name}={value}: it is one of {', '.join(tables[name])}", Exit.USAGE)
            else:
                found["kept" if name == "occurrence" else name] = tables[name][value]
        return cls(**found)

    def join_cells(self, cells: Iterable[Sequence[Any]]) -> str:
        """The line of a row."""
        texts = []
        for values in cells:
            text = self.aggregator.join(map(format_json_value_as_cell, values[self.kept]))
            text = text.translate(_ESCAPES) if self.escape and not text.isprintable() else text
            texts.append(f"{self.quote}{text.replace(self.quote, self.quote * 2)}{self.quote}" if self.quote else text)
        return self.separator.join(texts) + "\n"


class Fields(CountingRenderer):
    """The fields renderer: a line for each exchange; with -v also one for skipped bytes."""

    def __init__(self, settings: Settings, write: Write) -> None:
        super().__init__(write)
        self._marks = FieldSeparators.parse_words(settings.marks)
        self._reader = RowReader(find_column_words(settings), settings, "-e")
        self._header = self._marks.header and settings.heading
        self.shows_skipped = settings.verbose > 0

    def write(self, rows: list[Settled]) -> None:
        """Write the rows."""
        self._reader.learn_node_addresses(rows)
        lines = [self._header_line()] if self._header else []
        self._header = False
        self.count_exchanges(rows)
        for row in rows:
            if row.kind == "exchange" or self.shows_skipped:
                lines.append(self._marks.join_cells(self._reader.column_values(row)))
        if lines:
            self._write("".join(lines).encode("utf-8", "backslashreplace"))

    def _header_line(self) -> str:
        return self._marks.join_cells([[column.word] for column in self._reader.columns])

    def learn_from_unshown_rows(self, rows: list[Settled]) -> None:
        """Learn the addresses of nodes from rows that are not shown."""
        self._reader.learn_node_addresses(rows)

    def close(self) -> None:
        """Write the header of a table without rows."""
        if self._header:
            self.write([])
