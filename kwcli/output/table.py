"""Columns of ready cells in, aligned lines out, as wide as the terminal; and the table renderers of exchanges."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from decoders.named_tuple import NamedTuple
from decoders.wire.format_and_escape_text import escape_text
from kwcli.output.renderers import CountingRenderer
from kwcli.output.short_texts import NS, cell_width, cut, cut_start_to_width, find_zone, palette

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Settled
    from kwcli.output.output_settings import Settings
    from kwcli.output.read_row_cells import RowColumn
    from kwcli.output.renderers import Write
    from kwcli.output.short_texts import Palette

# Tables of Markdown


# The most characters of a cell.
CELL: Final = 200
# Characters that begin markup in the middle of a line of Markdown or HTML, and those in addresses that become links by
# themselves (GitHub's autolinks): punctuation may always be escaped (CommonMark 2.4).
_MARKS: Final = re.compile(r"([\\`*_{}\[\]<>#!|~&$@]|:(?=//)|(?<=www)\.)", re.IGNORECASE)


def escape_markdown(text: str, most: int = 4000) -> str:
    """Text that Markdown shows as it is, on one line."""
    return _MARKS.sub(r"\\\1", cut(escape_text(text), most))


def format_markdown_table(titles: Sequence[str], right: Sequence[bool], rows: Iterable[Iterable[str]]) -> list[str]:
    """The lines of a table; `right`: whether a column is aligned on the right. Cells longer than CELL are cut."""
    return [
        f"| {' | '.join(map(escape_markdown, titles))} |",
        f"|{'|'.join(' ---: ' if each else ' --- ' for each in right)}|",
        *(f"| {' | '.join(escape_markdown(cell, CELL) for cell in row)} |" for row in rows),
    ]


# Tables of ready cells


# Cells between columns; a dense table has fewer, below such a width of the terminal.
GAP: Final = 2
NARROW: Final = 100
TOGETHER: Final = "\u00a0"  # a blank at which no line is broken
WRAPPED_LEAST: Final = 6  # a column that wraps is cut so far before another is cut
WRAPPED_NARROWEST: Final = 8  # when nothing else helps, a column that wraps is cut so far
ROOM_LEAST: Final = 20
NOTHING: Final = "–"
LEAST_SHORT: Final = 12  # the most that the least width of a column of short forms is


class Column(NamedTuple):
    """One column. `drop`: None is never left out, else the greatest is left out first; `paint`: a word of the palette.

    `cut`: the column may be cut to so many cells (`left`: at its beginning); 0: never. `wrap`: the last column may go
    on in further lines. `grow` makes the cells for the room that is left, from `least` up to `most`.
    """

    title: str
    cells: Sequence[str] = ()
    drop: int | None = None
    right: bool = False
    paint: str = ""
    cut: int = 0
    left: bool = False
    wrap: bool = False
    grow: Callable[[int], list[str]] | None = None
    least: int = 0
    most: int = 0

    def uncut_width(self, heading: bool) -> int:
        """The width of the column when nothing is cut."""
        return max([cell_width(self.title) * heading, self.least, *map(cell_width, self.cells)])

    def narrowest_width(self, natural: int) -> int:
        """The smallest width that the column may have."""
        if self.wrap:
            return min(natural, self.cut or WRAPPED_LEAST)
        return min(natural, max(self.cut, len(self.title))) if self.cut else natural


def put_rows_in_columns(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> list[Column]:
    """The columns with the cells of these rows."""
    return [column._replace(cells=[row[at] for row in rows]) for at, column in enumerate(columns)]


def paint_text(text: str, paint: str, palette: Palette) -> str:
    """The text in the palette's colour for `paint`; unchanged where `paint` is empty, or without colours."""
    code: str = getattr(palette, paint) if paint else ""
    return f"{code}{text}{palette.off}" if code and text else text


def draw_table(
    columns: Sequence[Column],
    width: int | None,
    palette: Palette,
    margin: str = "",
    *,
    heading: bool = True,
    dense: bool = False,
) -> Iterator[str]:
    """The lines of a table, its heading first. `width` None: nothing is cut. A column without any text is left out.

    A `dense` table, of numbers mostly, keeps empty columns, has less room between columns on a narrow terminal, and
    cuts the widest columns first; other tables cut the last ones.

    Unimportant columns are left out where a terminal is too narrow, then columns are cut.

    Lists of some ten thousand rows and the first line of a command go through here, so the lines are plain strings:
    importing rich takes 60 ms, and styling a row with it takes a hundred times as long. Three tables are drawn by other
    code. Two write rows as they come: the table of exchanges (below) takes its widths from the first rows, and a table
    of a body (body_printer.py) may have its rows in a deferred list. That of brokers and versions
    (calling/offered_version_table.py) has a sign before each row, and cuts its titles instead of its cells.
    """
    gap = GAP if not dense or width is None or width >= NARROW else 1
    kept = [column for column in columns if dense or any(column.cells)]
    widths = [column.uncut_width(heading) for column in kept]
    room = None if width is None else width if dense else max(width - len(margin), ROOM_LEAST)
    if room is not None:
        _leave_out_columns(kept, widths, room, gap)
        (_cut_widest_columns if dense else _cut_last_columns)(kept, widths, room, gap)
    for at, column in enumerate(kept):
        if column.grow is not None:
            most = (
                column.most if room is None else min(widths[at] - _count_excess_cells(widths, room, gap), column.most)
            )
            widths[at] = max(most, column.least)
            kept[at] = column._replace(cells=column.grow(widths[at]))
    between = " " * gap
    if heading and (kept or not dense):
        titles = [_pad_cell_text(column, column.title, wide) for column, wide in zip(kept, widths, strict=True)]
        yield paint_text((margin + between.join(titles)).rstrip(), "dim", palette)
    for row in zip(*(column.cells for column in kept), strict=True):
        *first, last = row
        more: list[str] = []
        if kept[-1].wrap and cell_width(last) > widths[-1]:
            last, *more = textwrap.wrap(last, widths[-1], break_on_hyphens=False)
        texts = [
            _pad_cell_text(column, cell, wide, palette)
            for column, cell, wide in zip(kept, [*first, last], widths, strict=True)
        ]
        yield (margin + between.join(texts)).rstrip()
        blank = margin + " " * sum(wide + gap for wide in widths[:-1])
        yield from (blank + paint_text(line.replace(TOGETHER, " "), kept[-1].paint, palette) for line in more)


def _count_excess_cells(widths: Sequence[int], room: int, gap: int) -> int:
    return sum(widths) + gap * (len(widths) - 1) - room


def _leave_out_columns(kept: list[Column], widths: list[int], room: int, gap: int) -> None:
    """Leave out columns until the others fit when they are cut."""

    def droppable() -> list[int]:
        return [at for at, column in enumerate(kept) if column.drop is not None]

    def narrowest_widths() -> list[int]:
        return [column.narrowest_width(wide) for column, wide in zip(kept, widths, strict=True)]

    while len(kept) > 1 and _count_excess_cells(narrowest_widths(), room, gap) > 0 and (able := droppable()):
        at = max(able, key=lambda at: kept[at].drop or 0)
        del kept[at], widths[at]


def _cut_last_columns(kept: list[Column], widths: list[int], room: int, gap: int) -> None:
    """Cut columns that wrap, then the last columns first; narrow those that wrap further when nothing else helps."""
    for at in sorted(range(len(kept)), key=lambda at: (not kept[at].wrap, -at)):
        widths[at] -= min(
            widths[at] - kept[at].narrowest_width(widths[at]), max(_count_excess_cells(widths, room, gap), 0)
        )
    for at, column in enumerate(kept):
        if column.wrap:
            widths[at] -= min(max(widths[at] - WRAPPED_NARROWEST, 0), max(_count_excess_cells(widths, room, gap), 0))


def _cut_widest_columns(kept: list[Column], widths: list[int], room: int, gap: int) -> None:
    """Cut the widest columns to one width, as far as they may be cut."""
    least = [column.narrowest_width(wide) for column, wide in zip(kept, widths, strict=True)]
    while (over := _count_excess_cells(widths, room, gap)) > 0:
        able = [at for at in range(len(kept)) if widths[at] > least[at]]
        if not able:
            break
        widest = max(able, key=lambda at: widths[at])
        others = [widths[at] for at in able if at != widest]
        widths[widest] = max(least[widest], widths[widest] - over, min(max(others, default=0), widths[widest] - 1))


def _pad_cell_text(column: Column, text: str, width: int, palette: Palette | None = None) -> str:
    if text.isascii() and len(text) <= width:  # most cells
        padding = " " * (width - len(text))
    else:
        text = (cut_start_to_width if column.left else cut)(text, width).replace(TOGETHER, " ")
        padding = " " * (width - cell_width(text))
    if palette is not None and text != NOTHING:
        text = paint_text(text, column.paint, palette)
    return padding + text if column.right else text + padding


# The table of exchanges


class ExchangeTable(CountingRenderer):
    """The table renderer. Widths are those of the first rows; a later cell that is wider pushes its own line.

    Its columns are the same for every exchange: for sorting and cutting with tools.
    """

    def __init__(self, settings: Settings, write: Write) -> None:
        from kwcli.output.read_row_cells import RowReader, find_column_words

        super().__init__(write)
        self._width = settings.width
        self._palette = palette(settings.color)
        self._reader = RowReader(find_column_words(settings), settings, form=escape_text)
        self._right = [column.look.right for column in self._reader.columns]
        self._forms = [self._find_value_formatter(column) for column in self._reader.columns]
        self._widths: list[int] | None = None
        self._heading = settings.heading

    def write(self, rows: list[Settled]) -> None:
        """Write the rows."""
        self._reader.learn_node_addresses(rows)
        self.count_exchanges(rows)
        lines = [self._format_row_cells(row) for row in rows if self.shows_skipped or row.kind == "exchange"]
        if self._widths is None:
            if not lines:
                return
            self._set_column_widths(lines)
        assert self._widths is not None
        out = [self._join_row_cells(line, self._widths) for line in lines]
        self._write("".join(out).encode("utf-8", "backslashreplace"))

    def _set_column_widths(self, lines: list[list[str]]) -> None:
        titles = [self._column_title(column) for column in self._reader.columns]
        widths = [
            max(self._least_column_width(column), len(title))
            for column, title in zip(self._reader.columns, titles, strict=True)
        ]
        for line in lines:
            widths = [max(width, cell_width(cell)) for width, cell in zip(widths, line, strict=True)]
        if self._width is not None:
            while len(widths) > 1 and sum(widths) + GAP * (len(widths) - 1) > self._width:
                widths.pop()
        self._widths = widths
        if self._heading:
            title = self._join_row_cells(titles, widths).rstrip("\n")
            self._write(f"{self._palette.dim}{title}{self._palette.off}\n".encode())

    def _join_row_cells(self, line: list[str], widths: list[int]) -> str:
        parts = []
        for text, width, right in zip(line, widths, self._right, strict=False):
            if not text.isascii() or (len(text) > width and self._width is not None):
                shown = cut(text, width) if self._width is not None else text
                padding = " " * (width - cell_width(shown))
                parts.append(padding + shown if right else shown + padding)
            else:
                parts.append(text.rjust(width) if right else text.ljust(width))
        return "  ".join(parts).rstrip() + "\n"

    def _column_title(self, column: RowColumn) -> str:
        return column.word

    def _least_column_width(self, column: RowColumn) -> int:
        return column.look.width

    def _format_row_cells(self, row: Settled) -> list[str]:
        texts = []
        for form, values in zip(self._forms, self._reader.column_values(row), strict=True):
            text = form(values[0]) if len(values) == 1 else ",".join(map(form, values)) if values else NOTHING
            texts.append(text if text.isprintable() else escape_text(text))
        words = [column.word for column in self._reader.columns]
        if row.kind == "exchange":
            if row.api is None and "api" in words:
                texts[words.index("api")] = "answer" if row.is_orphan else "SASL token"
            return texts
        size = "response_size" if row.direction == "response" else "request_size"
        instead = {"api": "(skipped)", "status": row.reason, size: str(row.size)}
        return [instead.get(word, text) for word, text in zip(words, texts, strict=True)]

    def _find_value_formatter(self, column: RowColumn) -> Callable[[Any], str]:
        """The function that makes text of a value."""
        from kwcli.output.read_row_cells import format_json_value_as_cell

        return "{:.3f}".format if column.word in ("latency_ms", "duration_ms") else format_json_value_as_cell

    def learn_from_unshown_rows(self, rows: list[Settled]) -> None:
        """Learn the addresses of nodes from rows that are not shown."""
        self._reader.learn_node_addresses(rows)


class ChosenColumns(ExchangeTable):
    """Text with the columns of --columns: the table of exchanges, with values in the short forms of text lines."""

    def __init__(self, settings: Settings, write: Write) -> None:
        super().__init__(settings, write)
        self.shows_skipped = settings.verbose > 0
        self._zone = find_zone(settings.zone)
        self._second = 0

    def write(self, rows: list[Settled]) -> None:
        """Write the rows."""
        if not self._second and rows:
            self._second = rows[0].time_ns // NS
        super().write(rows)

    def _column_title(self, column: RowColumn) -> str:
        """The word of the column, with the zone where it is a time of day."""
        return f"{column.word} {self._zone.name(self._second)}" if column.word == "time" else column.word

    def _least_column_width(self, column: RowColumn) -> int:
        return min(column.look.width, LEAST_SHORT)

    def _find_value_formatter(self, column: RowColumn) -> Callable[[Any], str]:
        return column.look.short or super()._find_value_formatter(column)
