"""Rows of the reference of error codes in, lines for people out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kwcli.render.columns import Column, draw_table, fill, painted
from kwcli.render.palette import Palette

Row = dict[str, Any]


def list_lines(rows: Sequence[Row], width: int | None, palette: Palette) -> Iterator[str]:
    """One line a code, more where the meaning takes them."""
    columns = (
        Column("code", right=True),
        Column("name", paint="bad", cut=20),
        Column("retry", drop=1),
        Column("meaning", cut=34, wrap=True),
    )
    shown = [[str(row["code"]), row["name"], "yes" if row["retriable"] else "no", row["meaning"]] for row in rows]
    if shown:
        yield from draw_table(fill(columns, shown), width, palette)


def error_lines(row: Row, width: int | None, palette: Palette) -> Iterator[str]:
    """All that is known of one code."""
    retriable = "yes: clients send again by themselves" if row["retriable"] else "no: clients report it"
    facts = [["meaning", row["meaning"]], ["remedy", row["remedy"] or ""]]
    if row["code"]:
        facts.append(["retriable", retriable])
    facts.append(["returned by", _apis(row)])
    yield f"{painted(row['name'], 'bad', palette)} · error code {row['code']}"
    columns = (Column("", paint="dim"), Column("", wrap=True))
    yield from draw_table(fill(columns, [fact for fact in facts if fact[1]]), width, palette, "  ", heading=False)
    if row["apis_from"]["behaviour"]:
        yield from draw_table(
            fill(
                (Column("", paint="dim"), Column("", wrap=True, paint="dim")),
                [["", "* from the behaviour of brokers; the others are listed in Kafka's definitions"]],
            ),
            width,
            palette,
            "  ",
            heading=False,
        )


def _apis(row: Row) -> str:
    if row["apis_from"]["any"]:
        return "any API whose answer has an error code"
    behaviour = row["apis_from"]["behaviour"]
    names = [f"{name}*" if name in behaviour else name for name in row["apis"]]
    return ", ".join(names) or "no API that is known: clients make it themselves, or brokers use it no more"
