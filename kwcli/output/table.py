"""Columns of ready cells in, aligned lines out, as wide as the terminal; and exchanges as such a table."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from kwcli.output.units import cell_width, cut, cut_left, palette
from kwcli.terminal import clean

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Settled
    from kwcli.env import Settings
    from kwcli.output import Write
    from kwcli.output.units import Palette

# Columns of ready cells in, aligned lines out: what a terminal is too narrow for goes by importance, then is cut.
#
# Lists of some ten thousand rows and the first line of a command go through here, so the lines are made of plain
# strings: importing rich takes 60 ms, and styling a row with it takes a hundred times as long. Three drawers stand
# apart. Two write as rows come: that of exchanges (below), whose widths are those of the first rows, and that of bodies
# (body.py), whose rows may lie in a deferred list. That of brokers and versions (calling/version_table.py) has a sign
# before each row, and cuts its titles instead of its cells.


# Between columns; of a dense table less, below such a width of the terminal.
GAP: Final = 2
NARROW: Final = 100
TOGETHER: Final = "\u00a0"  # a blank at which no line is broken
WRAPPED_LEAST: Final = 6  # a column that wraps is cut so far before another is cut, and when nothing else helps to
WRAPPED_NARROWEST: Final = 8
ROOM_LEAST: Final = 20
NOTHING: Final = "–"


class Column(NamedTuple):
    """One column. `drop`: None is never left out, else the greatest goes first; `paint`: a word of the palette.

    `cut`: it may be cut to so many cells (`left`: at its beginning); 0: never. `wrap`: the last column may go on in
    further lines. `grow` makes the cells for the room that is left, from `least` up to `most`.
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

    def natural(self, heading: bool) -> int:
        """How wide it is when nothing is cut."""
        return max([cell_width(self.title) * heading, self.least, *map(cell_width, self.cells)])

    def narrowest(self, natural: int) -> int:
        """How narrow it may become."""
        if self.wrap:
            return min(natural, self.cut or WRAPPED_LEAST)
        return min(natural, max(self.cut, len(self.title))) if self.cut else natural


def fill(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> list[Column]:
    """The columns with the cells of these rows."""
    return [column._replace(cells=[row[at] for row in rows]) for at, column in enumerate(columns)]


def painted(text: str, paint: str, palette: Palette) -> str:
    """The text in the colour that the palette has for this word; as it is for no word, or without colours."""
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
    """The lines of a table, its heading first; None: as wide as it is. A column without any text is left out.

    A `dense` table, of numbers mostly, keeps empty columns, has less room between columns on a narrow terminal, and
    cuts the widest columns first; other tables cut the last ones.
    """
    gap = GAP if not dense or width is None or width >= NARROW else 1
    kept = [column for column in columns if dense or any(column.cells)]
    widths = [column.natural(heading) for column in kept]
    room = None if width is None else width if dense else max(width - len(margin), ROOM_LEAST)
    if room is not None:
        _leave_out(kept, widths, room, gap)
        (_cut_widest if dense else _cut_last)(kept, widths, room, gap)
    for at, column in enumerate(kept):
        if column.grow is not None:
            most = column.most if room is None else min(widths[at] - _excess(widths, room, gap), column.most)
            widths[at] = max(most, column.least)
            kept[at] = column._replace(cells=column.grow(widths[at]))
    between = " " * gap
    if heading and (kept or not dense):
        titles = [_padded(column, column.title, wide) for column, wide in zip(kept, widths, strict=True)]
        yield painted((margin + between.join(titles)).rstrip(), "dim", palette)
    for row in zip(*(column.cells for column in kept), strict=True):
        *first, last = row
        more: list[str] = []
        if kept[-1].wrap and cell_width(last) > widths[-1]:
            last, *more = textwrap.wrap(last, widths[-1], break_on_hyphens=False)
        texts = [
            _padded(column, cell, wide, palette)
            for column, cell, wide in zip(kept, [*first, last], widths, strict=True)
        ]
        yield (margin + between.join(texts)).rstrip()
        blank = margin + " " * sum(wide + gap for wide in widths[:-1])
        yield from (blank + painted(line.replace(TOGETHER, " "), kept[-1].paint, palette) for line in more)


def _excess(widths: Sequence[int], room: int, gap: int) -> int:
    return sum(widths) + gap * (len(widths) - 1) - room


def _leave_out(kept: list[Column], widths: list[int], room: int, gap: int) -> None:
    """Leave out columns until the others fit when they are cut."""

    def droppable() -> list[int]:
        return [at for at, column in enumerate(kept) if column.drop is not None]

    def narrowest() -> list[int]:
        return [column.narrowest(wide) for column, wide in zip(kept, widths, strict=True)]

    while len(kept) > 1 and _excess(narrowest(), room, gap) > 0 and (able := droppable()):
        at = max(able, key=lambda at: kept[at].drop or 0)
        del kept[at], widths[at]


def _cut_last(kept: list[Column], widths: list[int], room: int, gap: int) -> None:
    """Cut what wraps, then the last columns first; what wraps gets narrower still when nothing else helps."""
    for at in sorted(range(len(kept)), key=lambda at: (not kept[at].wrap, -at)):
        widths[at] -= min(widths[at] - kept[at].narrowest(widths[at]), max(_excess(widths, room, gap), 0))
    for at, column in enumerate(kept):
        if column.wrap:
            widths[at] -= min(max(widths[at] - WRAPPED_NARROWEST, 0), max(_excess(widths, room, gap), 0))


def _cut_widest(kept: list[Column], widths: list[int], room: int, gap: int) -> None:
    """Cut the widest columns to one width, so far as they may be cut."""
    least = [column.narrowest(wide) for column, wide in zip(kept, widths, strict=True)]
    while (over := _excess(widths, room, gap)) > 0:
        able = [at for at in range(len(kept)) if widths[at] > least[at]]
        if not able:
            break
        widest = max(able, key=lambda at: widths[at])
        others = [widths[at] for at in able if at != widest]
        widths[widest] = max(least[widest], widths[widest] - over, min(max(others, default=0), widths[widest] - 1))


def _padded(column: Column, text: str, width: int, palette: Palette | None = None) -> str:
    text = (cut_left if column.left else cut)(text, width).replace(TOGETHER, " ")
    padding = " " * (width - cell_width(text))
    if palette is not None and text != NOTHING:
        text = painted(text, column.paint, palette)
    return padding + text if column.right else text + padding


# Exchanges in, aligned columns out, the same for every exchange: for sorting and cutting with tools.


# Title, least width, whether numbers (to the right). What does not fit a terminal goes from the end of this list.
COLUMNS: Final[tuple[tuple[str, int, bool], ...]] = (
    ("time", 27, False),
    ("latency_ms", 10, True),
    ("client_id", 12, False),
    ("api", 18, False),
    ("version", 7, True),
    ("status", 10, False),
    ("errors", 8, False),
    ("client", 21, False),
    ("broker", 21, False),
    ("connection", 10, True),
    ("correlation_id", 14, True),
    ("request_size", 12, True),
    ("response_size", 13, True),
)


class ExchangeTable:
    """Widths are those of the first rows; a later cell that is wider pushes its own line."""

    shows_skipped = True

    def __init__(self, settings: Settings, write: Write) -> None:
        self._write = write
        self._width = settings.width
        self._palette = palette(settings.color)
        self._widths: list[int] | None = None
        self.errors = self.expected = self.undecoded = 0

    def write(self, rows: list[Settled]) -> None:
        """Write the rows."""
        for row in rows:
            if row.kind == "exchange":
                self.errors += bool(row.unexpected)
                self.expected += bool(row.error_codes and not row.unexpected)
                self.undecoded += row.status == "undecoded"
        lines = [_cells(row) for row in rows]
        if self._widths is None:
            if not lines:
                return
            self._begin(lines)
        assert self._widths is not None
        out = [self._line(line, self._widths) for line in lines]
        self._write("".join(out).encode("utf-8", "backslashreplace"))

    def _begin(self, lines: list[list[str]]) -> None:
        widths = [max(least, len(title)) for title, least, _ in COLUMNS]
        for line in lines:
            widths = [max(width, cell_width(cell)) for width, cell in zip(widths, line, strict=True)]
        if self._width is not None:
            while len(widths) > 1 and sum(widths) + 2 * (len(widths) - 1) > self._width:
                widths.pop()
        self._widths = widths
        title = self._line([title for title, _, _ in COLUMNS], widths).rstrip("\n")
        self._write(f"{self._palette.dim}{title}{self._palette.off}\n".encode())

    def _line(self, line: list[str], widths: list[int]) -> str:
        parts = []
        for cell, width, (_, _, right) in zip(line, widths, COLUMNS, strict=False):
            text = cut(cell, width) if self._width is not None else cell
            padding = " " * (width - cell_width(text))
            parts.append(padding + text if right else text + padding)
        return "  ".join(parts).rstrip() + "\n"

    def notice(self, rows: list[Settled]) -> None:
        """Nothing is learnt."""

    def close(self) -> None:
        """Nothing is owed."""


def _cells(row: Settled) -> list[str]:
    if row.kind == "exchange":
        latency = row.latency_ms
        values: tuple[object, ...] = (
            row.time,
            None if latency is None else f"{latency:.3f}",
            row.client_id,
            row.api or ("answer" if row.is_orphan else "SASL token"),
            row.api_version,
            row.status,
            ",".join(dict.fromkeys(error.name for error in row.errors)) or None,
            row.client,
            row.broker,
            row.connection,
            row.correlation_id,
            row.request_size,
            row.response_size,
        )
    else:
        to = {"request": row.size, "response": None}.get(row.direction or "")
        back = row.size if to is None else None
        values = (
            *(row.time, None, None, "(skipped)", None, row.reason, None),
            *(row.client, row.broker, row.connection, None, to, back),
        )
    return ["–" if value is None else clean(str(value)) for value in values]
