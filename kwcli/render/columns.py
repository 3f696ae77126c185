"""Columns of ready cells in, aligned lines out: what a terminal is too narrow for goes by importance, then is cut.

Lists of some ten thousand rows and the first line of a command go through here, so the lines are made of plain strings:
importing rich takes 60 ms, and styling a row with it takes a hundred times as long. Three drawers stand apart. Two
write as rows come: that of exchanges (table.py), whose widths are those of the first rows, and that of bodies
(body.py), whose rows may lie in a deferred list. That of brokers and versions (calling/matrix.py) has a sign before
each row, and cuts its titles instead of its cells.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from kwcli.render.units import cells, cut, cut_left

if TYPE_CHECKING:
    from kwcli.render.palette import Palette

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
        return max([cells(self.title) * heading, self.least, *map(cells, self.cells)])

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
        if kept[-1].wrap and cells(last) > widths[-1]:
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
    padding = " " * (width - cells(text))
    if palette is not None and text != NOTHING:
        text = painted(text, column.paint, palette)
    return padding + text if column.right else text + padding
