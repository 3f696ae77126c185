"""Rows of short texts in, aligned lines out: what a terminal is too narrow for goes by importance, then is cut."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from kwcli.render.palette import Palette
from kwcli.render.units import cells, cut, cut_left

GAP: Final = "  "


TOGETHER: Final = "\u00a0"  # a blank at which no line is broken
NARROWEST: Final = 8  # a column that wraps gets so narrow when nothing else helps


class Column(NamedTuple):
    """`drop`: 0 is never left out, else the highest goes first. `paint`: a palette word.

    `cut`: may be shortened to `least` cells, `left`: at its beginning; `wrap`: the last one may go on in further lines.
    """

    title: str
    paint: str = ""
    right: bool = False
    drop: int = 0
    cut: bool = False
    wrap: bool = False
    least: int = 6
    left: bool = False


def painted(text: str, paint: str, palette: Palette) -> str:
    """The text in the colour that the palette has for this word; as it is for no word, or without colours."""
    code: str = getattr(palette, paint) if paint else ""
    return f"{code}{text}{palette.off}" if code and text else text


def table(
    columns: Sequence[Column],
    rows: Sequence[Sequence[str]],
    width: int | None,
    palette: Palette,
    margin: str = "",
    *,
    heading: bool = True,
) -> Iterator[str]:
    """The lines of a table, its heading first. A column in which every row is empty is left out."""
    shown = [at for at in range(len(columns)) if any(row[at] for row in rows)]
    widths = {at: max([cells(row[at]) for row in rows] + [cells(columns[at].title) * heading]) for at in shown}
    if width is not None:
        _fit(columns, shown, widths, max(width - len(margin), 20))
    if heading:
        titles = [columns[at].title for at in range(len(columns))]
        yield painted(_line(columns, shown, widths, titles, margin, None), "dim", palette)
    for row in rows:
        yield from _row(columns, shown, widths, row, margin, palette)


def _fit(columns: Sequence[Column], shown: list[int], widths: dict[int, int], room: int) -> None:
    """Make the columns `shown` fit: leave out, then cut, the last ones first."""

    def excess() -> int:
        return sum(widths[at] for at in shown) + len(GAP) * (len(shown) - 1) - room

    def able(at: int) -> int:
        return max(widths[at] - columns[at].least, 0) if columns[at].cut or columns[at].wrap else 0

    droppable = sorted((at for at in shown if columns[at].drop), key=lambda at: -columns[at].drop)
    while excess() > sum(able(at) for at in shown) and droppable:
        shown.remove(droppable.pop(0))
    for at in sorted(shown, key=lambda at: (not columns[at].wrap, -at)):
        widths[at] -= min(able(at), max(excess(), 0))
    for at in shown:
        if columns[at].wrap:
            widths[at] -= min(max(widths[at] - NARROWEST, 0), max(excess(), 0))


def _row(
    columns: Sequence[Column],
    shown: Sequence[int],
    widths: dict[int, int],
    row: Sequence[str],
    margin: str,
    palette: Palette,
) -> Iterator[str]:
    last = shown[-1]
    if not columns[last].wrap or cells(row[last]) <= widths[last]:
        yield _line(columns, shown, widths, row, margin, palette)
        return
    first, *more = textwrap.wrap(row[last], widths[last], break_on_hyphens=False)
    yield _line(columns, shown, widths, [*row[:last], first, *row[last + 1 :]], margin, palette)
    blank = margin + " " * sum(widths[at] + len(GAP) for at in shown[:-1])
    for line in more:
        yield blank + painted(line.replace(TOGETHER, " "), columns[last].paint, palette)


def _line(
    columns: Sequence[Column],
    shown: Sequence[int],
    widths: dict[int, int],
    row: Sequence[str],
    margin: str,
    palette: Palette | None,
) -> str:
    parts = []
    for at in shown:
        text = (cut_left if columns[at].left else cut)(row[at], widths[at]).replace(TOGETHER, " ")
        padding = " " * (widths[at] - cells(text))
        if palette is not None:
            text = painted(text, columns[at].paint, palette)
        parts.append(padding + text if columns[at].right else text + padding)
    return (margin + GAP.join(parts)).rstrip()
