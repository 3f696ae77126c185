"""Rows of the reference of error codes in, lines for people out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kwcli.reference.columns import Column, painted, table
from kwcli.render.palette import Palette

Row = dict[str, Any]


def list_lines(rows: Sequence[Row], width: int | None, palette: Palette) -> Iterator[str]:
    """One line a code, more where the meaning takes them."""
    columns = (
        Column("code", right=True),
        Column("name", paint="bad", cut=True),
        Column("retry"),
        Column("meaning", wrap=True),
    )
    shown = [[str(row["code"]), row["name"], "yes" if row["retriable"] else "no", row["meaning"]] for row in rows]
    if shown:
        yield from table(columns, shown, width, palette)


def error_lines(row: Row, width: int | None, palette: Palette) -> Iterator[str]:
    """All that is known of one code."""
    yield f"{row['code']} {painted(row['name'], 'bad', palette)}"
    facts = [["meaning", row["meaning"]], ["retriable", "yes" if row["retriable"] else "no"]]
    yield from table((Column("", paint="dim"), Column("", wrap=True)), facts, width, palette, "  ", heading=False)
