"""The tables of `-X list` and `-X dump`: all properties that kw knows; those in force, each with its place."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any, Final

from kwcli.net.config.client_properties import (
    BY_NAME,
    IRRELEVANT,
    IRRELEVANT_FAMILIES,
    PROPERTIES,
    UNSUPPORTED,
    Pair,
    Property,
    is_hidden_value,
    is_known_property,
    redact_urls_in_value,
)
from kwcli.net.config.merge_settings import SettingSource, SettingValue, merge_setting_sources
from kwcli.net.config.unknown_properties import redact_unless_property_name
from kwcli.run_environment import Environment

Row = dict[str, Any]
# Meaning → the first of its rows, in the table's order.
_BY_MEANING: Final[dict[str, Property]] = {
    meaning: next(row for row in PROPERTIES if row.meaning == meaning)
    for meaning in dict.fromkeys(row.meaning for row in PROPERTIES)
}
_SECRET: Final = frozenset(row.meaning for row in PROPERTIES if row.secret and row.form != "pem") - {"login"}
# Settings that have command-line options of their own.
OPTIONS: Final[dict[str, tuple[str, str]]] = {
    "servers": ("bootstrap.servers", "-b"),
    "controllers": ("bootstrap.controllers", "--bootstrap-controller"),
    "client_id": ("client.id", "--client-id"),
    "timeout_s": ("default.api.timeout.ms", "--timeout"),
    "connect_timeout_s": ("socket.connection.setup.timeout.ms", "--connect-timeout"),
}
_TIMES: Final = {"KW_TIMEOUT": "default.api.timeout.ms", "KW_CONNECT_TIMEOUT": "socket.connection.setup.timeout.ms"}


def build_property_rows() -> list[Row]:
    """One row a property: its name and other spellings, whether kw follows it, what it means, values and default."""
    rows = []
    for row in PROPERTIES:
        found: Row = {"property": row.name, "also": list(row.names[1:]), "followed": True, "meaning": row.text}
        found |= {"values": list(row.values), "default": row.default or None, "secret": row.secret}
        rows.append(found)
    for name, reason in UNSUPPORTED.items():
        rows.append(_build_unused_property_row(name, reason))
    for name in sorted(IRRELEVANT):
        rows.append(_build_unused_property_row(name, "no meaning for a connection of kw"))
    return rows


def _build_unused_property_row(name: str, meaning: str) -> Row:
    return {"property": name, "also": [], "followed": False, "meaning": meaning} | {
        "values": [],
        "default": None,
        "secret": False,
    }


def format_property_table(rows: list[Row], width: int | None) -> Iterator[str]:
    """The properties that kw follows as a table, those that it warns of, and the names of those without meaning."""
    followed = [row for row in rows if row["followed"]]
    yield from _draw_settings_table(
        [
            ("property", [row["property"] for row in followed], 0),
            ("meaning", [_format_property_meaning(row) for row in followed], 20),
        ],
        width,
    )
    yield from ("", "Known but not followed; kw warns about them:")
    named = [row for row in rows if row["property"] in UNSUPPORTED]
    yield from _draw_settings_table(
        [("property", [row["property"] for row in named], 0), ("why", [row["meaning"] for row in named], 20)], width
    )
    families = ", ".join(f"{family}*" for family in IRRELEVANT_FAMILIES)
    most = min(width or 120, 120)
    yield ""
    yield from textwrap.wrap(f"For other programs, without meaning for kw (-v reports them), and {families}:", most)
    yield from textwrap.wrap(" ".join(sorted(IRRELEVANT)), most, break_on_hyphens=False)
    yield ""
    last = "-X NAME=VALUE sets one; so do -F FILE, a profile and $KW_NAME_IN_CAPITALS. -X dump shows those in force."
    yield from textwrap.wrap(last, most, break_on_hyphens=False)


def _format_property_meaning(row: Row) -> str:
    values = f": {', '.join(row['values'])}" if row["values"] else ""
    default = f" (default {row['default']})" if row["default"] else ""
    also = f"; also {', '.join(row['also'])}" if row["also"] else ""
    return f"{row['meaning']}{values}{default}{also}"


def build_rows_in_force(
    env: Environment,
    *,
    properties: Sequence[Pair],
    files: Sequence[str],
    profile: str | None,
    options: Sequence[tuple[str, Any]],
    reveal: bool,
) -> list[Row]:
    """One row for each setting in force: its value, and the place that it is from. `options` are those of OPTIONS."""
    from kwcli.net.config.build_config import read_setting_sources

    sources, _ = read_setting_sources(env, properties=properties, files=files, profile=profile)
    own = [
        SettingSource(option, [(name, _format_setting_value(value))])
        for (name, option), value in _list_given_options(options)
    ]
    times = [
        SettingSource(variable, [(name, _convert_to_milliseconds(env.variables[variable]))])
        for variable, name in _TIMES.items()
        if env.variables.get(variable)
    ]
    output = env.variables.get("KW_OUTPUT")
    if output:  # above all but -o
        own.append(SettingSource("KW_OUTPUT", [("kw.output", output)]))
    chosen = merge_setting_sources([*own, *sources, *times])
    rows = []
    for meaning in dict.fromkeys([*_BY_MEANING, *chosen.values]):
        value = chosen.values.get(meaning)
        row = _BY_MEANING.get(meaning)
        if value is not None:
            rows.append(_build_setting_row(meaning, value, sources, reveal))
        elif row is not None and row.default:
            rows.append(_build_row_in_force(row.name, row.default, "default", "default"))
    return rows + _build_unused_setting_rows(sources, reveal)


def _build_unused_setting_rows(sources: Sequence[SettingSource], reveal: bool) -> list[Row]:
    """One row for each property that is set and not followed."""
    rows: dict[str, Row] = {}
    for source in sources:
        for index, (name, text) in enumerate(source.pairs):
            if name in BY_NAME:
                continue
            value = SettingValue(text, "text", name, source.origin, source.format_place_of_pair(index))
            note = (
                "not followed" if name in UNSUPPORTED else "no meaning for kw" if is_known_property(name) else "unknown"
            )
            made = _build_row_in_force(
                redact_unless_property_name(name, text),
                _redact_unless_revealed(name, text, reveal),
                *_describe_origin(value, source),
            )
            rows.setdefault(made["property"], made | {"note": note})
    return [*rows.values()]


def _build_setting_row(meaning: str, value: SettingValue, sources: Sequence[SettingSource], reveal: bool) -> Row:
    source = next((source for source in sources if source.origin == value.origin), None)
    where = ("command line", value.where) if source is None else _describe_origin(value, source)
    if meaning in _SECRET or meaning.startswith("oauth option"):
        text: Any = value.text if reveal or not value.text else {"redacted": len(value.text.encode())}
    else:
        text = _redact_unless_revealed(
            value.name if value.name in BY_NAME else _BY_MEANING[meaning].name, value.text, reveal
        )
    return _build_row_in_force(value.name, text, *where)


def _redact_unless_revealed(name: str, text: str, reveal: bool) -> Any:
    if reveal:
        return text
    return {"redacted": len(text.encode())} if is_hidden_value(name, text) else redact_urls_in_value(name, text)


def _describe_origin(value: SettingValue, source: SettingSource) -> tuple[str, str]:
    """The kind of a value's place, and the place as people are told."""
    if source.origin == "-X":
        return "command line", "-X"
    if source.origin.startswith("-F "):
        return "file", value.where
    if source.file:
        name = os.path.basename(source.file).removesuffix(".properties")
        return "profile", f"profile {name} {value.where.rpartition(', ')[2]}"
    return "environment", value.origin


def _build_row_in_force(name: str, value: Any, kind: str, where: str) -> Row:
    return {"property": name, "value": value, "from": kind, "where": where}


def _list_given_options(options: Sequence[tuple[str, Any]]) -> Iterator[tuple[tuple[str, str], Any]]:
    for field, value in options:
        if field in OPTIONS and value is not None:
            yield OPTIONS[field], value


def _format_setting_value(value: Any) -> str:
    return str(round(value * 1000)) if isinstance(value, float) else str(value)


def _convert_to_milliseconds(text: str) -> str:
    from kwcli.net.config.build_config import parse_seconds

    return str(round(parse_seconds(text, "time") * 1000))


def format_lines_in_force(rows: list[Row], width: int | None) -> Iterator[str]:
    """The rows of `-X dump` as a table; a property that is not followed says so after its place."""
    values = [
        f"{{redacted {row['value']['redacted']}}}" if isinstance(row["value"], dict) else row["value"] for row in rows
    ]
    places = [f"{row['where']} ({row['note']})" if "note" in row else row["where"] for row in rows]
    yield from _draw_settings_table(
        [("property", [row["property"] for row in rows], 0), ("value", values, 12), ("from", places, 12)], width
    )


def build_csv_rows(rows: list[Row]) -> list[list[Any]]:
    """The rows as cells of CSV: a line of titles, then one line a row; lists have commas between their words."""
    titles = list(dict.fromkeys(name for row in rows for name in row))
    return [titles, *([_format_csv_cell(row.get(title)) for title in titles] for row in rows)]


def _format_csv_cell(value: Any) -> Any:
    if isinstance(value, dict):
        return f"{{redacted {value['redacted']}}}"
    if isinstance(value, bool):
        return "true" if value else "false"
    return ",".join(value) if isinstance(value, list) else value


def _draw_settings_table(columns: Sequence[tuple[str, list[str], int]], width: int | None) -> Iterator[str]:
    from decoders.wire.format_and_escape_text import escape_text
    from kwcli.output.short_texts import PLAIN
    from kwcli.output.table import Column, draw_table

    last = len(columns) - 1
    made = [
        Column(title, [escape_text(cell) for cell in cells], cut=cut, wrap=at == last and width is not None)
        for at, (title, cells, cut) in enumerate(columns)
    ]
    yield from draw_table(made, width, PLAIN)
