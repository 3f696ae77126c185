"""Counts by client, API, topic or broker in, a table of the busiest out, with the slowest exchanges below it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Final

from rich.segment import Segment
from rich.style import Style
from textual.binding import BindingType
from textual.message import Message
from textual.strip import Strip

from decoders.wire.format_and_escape_text import escape_text, format_latency, format_size
from kwcli.browse.actions import make_bindings_of_places
from kwcli.browse.background_processes.search_messages import TOP_DIMENSIONS, TopCounted
from kwcli.browse.panes.line_pane import LinePane
from kwcli.browse.panes.styled_lines import make_strip
from kwcli.browse.quick_filters import make_api_filter
from kwcli.filter_options import quote_filter_text
from kwcli.output.short_texts import cell_width, cut, palette

if TYPE_CHECKING:
    from kwcli.output.output_settings import Settings

__all__ = ["TopPane"]

_NAME_CELLS: Final = 24
_SPARK_CELLS: Final = 30
# Cells of count, rate, errors, p50, p99, sent, got.
_CELLS: Final = (9, 8, 7, 7, 7, 8, 8)
_TITLES: Final = ("count", "rate", "errors", "p50", "p99", "sent", "got")


class TopPane(LinePane):
    """The table. Numbers are those of `kw stats`."""

    place = "top"
    BINDINGS: ClassVar[list[BindingType]] = [*make_bindings_of_places(place)]

    class RowsWanted(Message):
        """The rows of the list are to be those of one line."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class LineSearchWanted(Message):
        """A text is to be asked for, which is searched then."""

    class DimensionWanted(Message):
        """Rows are to be counted by something else."""

    def __init__(self, settings: Settings, **options: Any) -> None:
        super().__init__(**options)
        self.settings = settings
        self.by = TOP_DIMENSIONS[0]
        self.counted: TopCounted | None = None
        self._lines: list[tuple[str, str]] = []  # the line, and the filter for its rows
        self.searched = ""
        self._opens = False  # the line at the cursor is to be opened as soon as it is counted
        self.to_ascii: Callable[[str], str] = str

    @property
    def awaited(self) -> str:
        """That rows are counted, until they are."""
        return "counting" if self.counted is None else ""

    def apply_top_counts(self, counted: TopCounted) -> None:
        """Show counts, and do what keys have asked for meanwhile."""
        self.counted = counted
        self._update_lines()
        self.redraw_lines()
        self.show_cursor()
        if self._opens:
            self.open_line()

    def use_next_dimension(self) -> None:
        """Count by the next of TOP_DIMENSIONS."""
        self.by = TOP_DIMENSIONS[(TOP_DIMENSIONS.index(self.by) + 1) % len(TOP_DIMENSIONS)]
        self.counted, self._lines = None, []
        self.cursor, self._opens = 0, False
        self.redraw_lines()

    def make_titles(self) -> Strip:
        """The titles of the columns."""
        cells = " ".join(f"{title:>{cells}}" for title, cells in zip(_TITLES, _CELLS, strict=True))
        return Strip([Segment(f"{self.by:<{self._name_cells}} {cells}  latency over time", Style(dim=True))])

    @property
    def _name_cells(self) -> int:
        return min(max(self.size.width - sum(_CELLS) - len(_CELLS) - 12, 10), _NAME_CELLS)

    def on_resize(self) -> None:
        """Lay the columns out anew."""
        self._update_lines()
        super().on_resize()

    def _update_lines(self) -> None:
        counted = self.counted
        if counted is None:
            return
        self._lines = [self._format_row(row, slices) for row, slices in counted.rows]
        if counted.slowest:
            dim, off = palette(self.settings.color).dim, palette(self.settings.color).off
            self._lines += [("", ""), (f"{dim}slowest{off}", "")]
            self._lines += [self._format_slow_exchange(row) for row in counted.slowest]

    def _format_row(self, row: dict[str, Any], slices: dict[int, int]) -> tuple[str, str]:
        from kwcli.stats.statistics_as_text import draw_sparkline, format_rate  # not loaded before somebody asks

        assert self.counted is not None
        colors = palette(self.settings.color)
        value = row.get(self.by)
        name = "others" if "others" in row else "–" if value is None else escape_text(str(value))
        name = cut(name, self._name_cells)
        first, last, _ = self.counted.span
        width = max(min(self.size.width - self._name_cells - sum(_CELLS) - len(_CELLS) - 4, _SPARK_CELLS), 4)
        latencies = ["–" if row[each] is None else format_latency(row[each]) for each in ("p50", "p99")]
        sizes = ["–" if row[each] is None else format_size(row[each]) for each in ("request_bytes", "response_bytes")]
        texts = [f"{row['count']:,}", format_rate(row["rate"]), f"{row['errors']:,}", *latencies, *sizes]
        cells = [f"{text:>{size}}" for text, size in zip(texts, _CELLS, strict=True)]
        if row["errors"]:
            cells[2] = f"{colors.bad}{cells[2]}{colors.off}"
        line = f"{colors.client}{name}{colors.off}{' ' * (self._name_cells - cell_width(name))} {' '.join(cells)}"
        marks = draw_sparkline(slices, first, last, width, max)
        filter_text = ""
        if value is not None and "others" not in row:
            is_api = self.by == "api"
            filter_text = make_api_filter(value) if is_api else f"{self.by} == {quote_filter_text(str(value))}"
        return f"{line}  {marks}", filter_text

    def _format_slow_exchange(self, row: dict[str, Any]) -> tuple[str, str]:
        colors = palette(self.settings.color)
        took = format_latency(row["latency_ms"])
        client = cut(escape_text(row["client_id"] or row["client"]), self._name_cells)
        api = f"{row['api']} {row['api_version']}"
        text = (
            f"{colors.bad}{took:>8}{colors.off}  {row['time'][11:23]}  {colors.client}{client}{colors.off}"
            f"{' ' * (self._name_cells - cell_width(client))}  {colors.api}{api}{colors.off}"
        )
        found = (
            f"client == {quote_filter_text(row['client'])} and correlation_id == {row['correlation_id']}"
            f" and {make_api_filter(row['api'])}"
        )
        return text, found

    def count_lines(self) -> int:
        """The lines of the table; one where nothing was counted."""
        return len(self._lines) or 1

    def make_line(self, at: int) -> Strip:
        """A line of the table."""
        if not self._lines:
            return Strip([Segment("counting …" if self.counted is None else "nothing yet", Style(dim=True))])
        return make_strip(self.to_ascii(self._lines[at][0]))

    def move_to(self, at: int) -> None:
        """Put the cursor on a line; on one that is still to be counted, too."""
        if self.counted is None:
            self.cursor = max(at, 0)
        else:
            super().move_to(at)

    def open_line(self) -> None:
        """List the rows of a line."""
        self._opens = self.counted is None
        if self._opens:
            self.post_notice("counting")
        elif self.cursor < len(self._lines) and self._lines[self.cursor][1]:
            self.post_message(self.RowsWanted(self._lines[self.cursor][1]))
        else:
            self.post_notice("this line counts no rows of a kind")

    def search(self, text: str, step: int = 0) -> bool:
        """Go to a line with a text: from that of the cursor on, or by a step from the one before or after."""
        self.searched, count = text, len(self._lines)
        for far in range(abs(step), count + 1):
            at = (self.cursor + far * (step or 1)) % count if count else 0
            if text and count and text.lower() in self.make_line(at).text.lower():
                self.move_to(at)
                return True
        return False

    def _search_again(self, step: int) -> None:
        if not self.searched:
            self.post_notice("nothing is searched: / asks for a text")
        elif not self.search(self.searched, step):
            self.post_notice(f"not found: {self.searched}")

    def action_search_line(self) -> None:
        self.post_message(self.LineSearchWanted())

    def action_next_line(self) -> None:
        self._search_again(1)

    def action_earlier_line(self) -> None:
        self._search_again(-1)

    def action_list_rows(self) -> None:
        self.open_line()

    def action_next_dimension(self) -> None:
        self.post_message(self.DimensionWanted())
