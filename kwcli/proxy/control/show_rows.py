"""Rows of the control interface in, a table or JSON out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwcli.output.json import JsonWriter
from kwcli.output.table import NOTHING, Column, draw_table
from kwcli.output.units import palette
from kwcli.terminal import clean

if TYPE_CHECKING:
    from kwcli.env import Environment, Settings

# Of an exchange record, a table shows these; `-o ndjson` all of it.
_EXCHANGE = ("time", "latency_ms", "client_id", "api", "api_version", "correlation_id", "status", "errors", "fault")


def write_rows(env: Environment, rows: list[dict[str, Any]], settings: Settings) -> None:
    """Print them."""
    if settings.format != "text":
        pieces: list[bytes] = []
        writer = JsonWriter(pieces.append, lines=settings.format == "ndjson")
        for row in rows:
            writer.add(row)
        writer.close()
        env.stdout.write(b"".join(pieces))
        return
    if rows and "correlation_id" in rows[0] and "kind" in rows[0]:
        rows = [{name: row.get(name) for name in _EXCHANGE} for row in rows]
    titles = list(dict.fromkeys(name for row in rows for name in row))
    columns = [
        Column(title.replace("_", " "), [_cell(row.get(title)) for row in rows], drop=at, cut=12, wrap=False)
        for at, title in enumerate(titles)
    ]
    lines = draw_table(columns, settings.width, palette(settings.color)) if rows else ["nothing"]
    env.stdout.write("".join(f"{line}\n" for line in lines).encode())


def _cell(value: Any) -> str:
    if value is None or value == []:
        return NOTHING
    if isinstance(value, float):
        return f"{value:.1f}"
    if isinstance(value, list):
        return ",".join(str(each["name"]) if isinstance(each, dict) and "name" in each else str(each) for each in value)
    if isinstance(value, dict):
        return clean(str(value.get("action", value)))
    return clean(str(value))
