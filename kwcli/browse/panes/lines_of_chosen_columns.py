"""Rows in, lines of the columns that somebody has chosen out, as `kw sniff --columns` has them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from kwcli.output.short_texts import cell_width, cut
from kwcli.output.table import ChosenColumns

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Settled
    from decoders.exchanges.topic_and_node_names import NodeIds
    from decoders.schema.api_declaration import Side
    from kwcli.output.output_settings import Settings

__all__ = ["ChosenLines"]

# The most cells of a column: the whole value is in the message.
_MOST: Final = 60
_GAP: Final = "  "


class ChosenLines(ChosenColumns):
    """Makes the lines. Columns are as wide as the cells of the rows that are on the screen at first."""

    def __init__(self, settings: Settings, nodes: NodeIds, rows: Iterable[Settled]) -> None:
        """Raises Failure where a column is none. `rows`: those that are on the screen."""
        super().__init__(settings._replace(width=None, heading=False), lambda _: None)
        self._reader.set_node_ids(nodes)
        self._cells: list[int] = []
        texts = [self._format_row_cells(row) for row in rows]
        titles = [self._column_title(column) for column in self._reader.columns]
        for at, column in enumerate(self._reader.columns):
            widest = max([cell_width(titles[at]), *(cell_width(each[at]) for each in texts)])
            self._cells.append(min(max(self._least_column_width(column), widest), _MOST))
        self.titles = self._join_cells(titles)

    @property
    def width(self) -> int:
        """The cells of a whole line."""
        return sum(self._cells) + len(_GAP) * (len(self._cells) - 1)

    def needed_paths(self, key: int, side: Side) -> frozenset[str]:
        """The fields of bodies that the columns read."""
        return frozenset().union(*(column.needed_paths(key, side) for column in self._reader.columns))

    def make_line(self, row: Settled) -> str:
        """The line of a row."""
        return self._join_cells(self._format_row_cells(row))

    def _join_cells(self, texts: list[str]) -> str:
        shown = [cut(text, cells) for text, cells in zip(texts, self._cells, strict=True)]
        gaps = [" " * (cells - cell_width(text)) for text, cells in zip(shown, self._cells, strict=True)]
        return _GAP.join(
            gap + text if right else text + gap for text, gap, right in zip(shown, gaps, self._right, strict=True)
        )
