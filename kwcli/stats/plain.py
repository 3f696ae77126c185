"""Statistics in, text for programs out: NDJSON, JSON, CSV, and a table of all columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from decoders.exchanges.record import SCHEMA
from decoders.wire.text import json_text
from kwcli.render.columns import Column, draw_table
from kwcli.render.csv import csv_lines
from kwcli.render.json import JsonWriter
from kwcli.render.palette import palette
from kwcli.terminal import clean

if TYPE_CHECKING:
    from decoders.analysis.fold import Row
    from kwcli.config import Settings
    from kwcli.stats.view import Counted

# Columns of a CSV when nothing was counted.
_NOTHING: Final = ("count", "rate", "errors")


def records(counted: Counted) -> list[Row]:
    """The objects of JSON: `statistics`, then `slowest`."""
    found = [{"kind": "statistics", "schema": SCHEMA, **row} for row in counted.rows]
    found += [{"kind": "slowest", "schema": SCHEMA, **row} for row in counted.slowest]
    return [
        {name: json_text(value) if isinstance(value, str) else value for name, value in row.items()} for row in found
    ]


def ndjson(counted: Counted, _settings: Settings) -> str:
    """One object a line."""
    return _written(counted, lines=True)


def json(counted: Counted, _settings: Settings) -> str:
    """One array."""
    return _written(counted, lines=False)


def _written(counted: Counted, *, lines: bool) -> str:
    parts: list[bytes] = []
    writer = JsonWriter(parts.append, lines=lines)
    for row in records(counted):
        writer.add(row)
    writer.close()
    return b"".join(parts).decode()


def csv(counted: Counted, settings: Settings) -> str:
    """A line for each group, a header line first."""
    head = list(counted.rows[0]) if counted.rows else [*counted.asked.by, *_NOTHING]
    return csv_lines([head, *(map(_cell, row.values()) for row in counted.rows)], safe=settings.csv_safe)


def table(counted: Counted, settings: Settings) -> str:
    """All columns, those at the end left out where the terminal has no room for them."""
    shown = _table(counted.rows, set(counted.asked.by), settings)
    flat = [{**row, "packets": _packets(row["packets"])} for row in counted.slowest]
    if flat:
        shown += ["", *_table(flat, {"time", "client", "broker", "api", "client_id"}, settings)]
    return "".join(f"{line}\n" for line in shown)


def _table(rows: list[Row], left: set[str], settings: Settings) -> list[str]:
    columns = [
        Column(name, [_shown(row[name]) for row in rows], drop=order, right=name not in left)
        for order, name in enumerate(rows[0] if rows else ())
    ]
    return [*draw_table(columns, settings.width, palette(settings.color), dense=True)]


def _packets(packets: dict[str, list[int] | None]) -> str:
    request, response = (
        "–" if span is None else f"{span[0]}-{span[1]}" for span in (packets["request"], packets["response"])
    )
    return f"{request} → {response}"


def _cell(value: Any) -> Any:
    return _codes(value, " ") if isinstance(value, dict) else value


def _shown(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.3f}"
    return clean(_codes(value, " ") or "–" if isinstance(value, dict) else str(value))


def _codes(codes: dict[str, int], between: str) -> str:
    return between.join(f"{name}:{count}" for name, count in codes.items())
