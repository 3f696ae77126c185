"""Columns of ready cells in, lines out that fit the terminal: what matters least goes, names are cut, numbers never."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from kwcli.render.units import cells, cut

if TYPE_CHECKING:
    from kwcli.render.palette import Palette

# Between columns, and below which width of the terminal there is less.
GAP: Final = 2
NARROW: Final = 100


class Column(NamedTuple):
    """`keep`: the column with the greatest goes first. `grow` makes cells for the room that is left, up to a width.

    Cells are cut down to `cut` characters where there is one. `paint`: an escape code for its cells that say something.
    """

    title: str
    cells: list[str]
    keep: int
    right: bool = True
    paint: str = ""
    grow: Callable[[int], list[str]] | None = None
    least: int = 0
    most: int = 0
    cut: int = 0

    @property
    def natural(self) -> int:
        """How wide it is when nothing is cut."""
        return max([cells(self.title), self.least, *map(cells, self.cells)])

    @property
    def narrowest(self) -> int:
        """How narrow it may become."""
        return min(self.natural, max(self.cut, len(self.title))) if self.cut else self.natural


def lines(columns: Sequence[Column], width: int | None, palette: Palette) -> list[str]:
    """The titles, then a line for each cell of the columns; None: as wide as they are."""
    gap = GAP if width is None or width >= NARROW else 1
    kept = list(columns)
    if width is not None:
        while len(kept) > 1 and _total([column.narrowest for column in kept], gap) > width:
            kept.remove(max(kept, key=lambda column: column.keep))
    widths = [column.natural for column in kept]
    while width is not None and (over := _total(widths, gap) - width) > 0:
        names = [at for at, column in enumerate(kept) if widths[at] > column.narrowest]
        if not names:
            break
        widest = max(names, key=lambda at: widths[at])
        others = [widths[at] for at in names if at != widest]
        target = max([kept[widest].narrowest, widths[widest] - over, min(max(others, default=0), widths[widest] - 1)])
        widths[widest] = target
    drawn = [column.cells for column in kept]
    for at, column in enumerate(kept):
        if column.grow is not None:
            room = column.most if width is None else widths[at] + width - _total(widths, gap)
            widths[at] = max(min(room, column.most), column.least)
            drawn[at] = column.grow(widths[at])
    titles = [_padded(column.title, wide, column.right) for column, wide in zip(kept, widths, strict=True)]
    out = [f"{palette.dim}{(' ' * gap).join(titles).rstrip()}{palette.off}"] if kept else []
    for row in zip(*drawn, strict=True):
        painted = [_painted(cell, column, wide, palette) for cell, column, wide in zip(row, kept, widths, strict=True)]
        out.append((" " * gap).join(painted).rstrip())
    return out


def _total(widths: Sequence[int], gap: int) -> int:
    return sum(widths) + gap * (len(widths) - 1)


def _painted(cell: str, column: Column, width: int, palette: Palette) -> str:
    text = _padded(cell, width, column.right)
    return f"{column.paint}{text}{palette.off}" if column.paint and cell != "–" else text


def _padded(text: str, width: int, right: bool) -> str:
    text = cut(text, width)
    padding = " " * (width - cells(text))
    return padding + text if right else text + padding
