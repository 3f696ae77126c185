"""The difference of two releases in, lines for people out: `+` came, `-` went, `~` changed, `=` has another name."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import Any, Final

from kwcli.output.short_texts import Palette, format_number_ranges
from kwcli.output.table import Column, draw_table, paint_text, put_rows_in_columns
from kwcli.reference.api_text import INDENT, format_version_range

Row = dict[str, Any]
SIGNS: Final = {"added": "+", "removed": "-", "gone": "-", "changed": "~", "renamed": "="}
_FIELDS: Final = (
    Column("", paint="dim"),
    Column(""),
    Column("", cut=32, left=True, paint="name"),
    Column(""),
    Column("", cut=20, wrap=True, paint="dim"),
)


def release_difference_lines(row: Row, width: int | None, palette: Palette) -> Iterator[str]:
    """All that changed, one paragraph an API."""
    appeared, gone, changed = row["appeared"], row["gone"], row["changed"]
    counts = f"{len(appeared)} appeared, {len(gone)} went, {len(changed)} changed"
    title = f"Kafka {row['from']} → {row['to']}"
    yield f"{paint_text(title, 'api', palette)}: {counts}"
    for one in appeared:
        yield (
            f"+ {_format_api(one, palette)}"
            + ("" if one["unstable"] is None else f" · version {one['unstable']} unstable")
        )
        for side in ("request", "response"):
            yield from _new_api_field_lines(side, one[side], width, palette)
    for one in gone:
        yield f"- {_format_api(one, palette)}"
    for one in changed:
        yield from _changed_api_lines(one, width, palette)


def _format_api(row: Row, palette: Palette) -> str:
    """`Vote · key 52 · versions 0-2`."""
    versions = format_version_range(row["versions"])
    return f"{paint_text(row['name'], 'api', palette)} · key {row['key']} · versions {versions}"


def _new_api_field_lines(side: str, rows: Sequence[Row], width: int | None, palette: Palette) -> Iterator[str]:
    """The outermost fields of a new API."""
    names = ", ".join(row["path"] for row in rows if "." not in row["path"]) or "no fields"
    lines = textwrap.wrap(names, width - 16) if width else [names]
    for number, line in enumerate(lines):
        yield f"{INDENT * 2}{paint_text(side.ljust(8) if not number else ' ' * 8, 'dim', palette)}  {line}"


def _changed_api_lines(row: Row, width: int | None, palette: Palette) -> Iterator[str]:
    before, after = row["versions"]["from"], row["versions"]["to"]
    said = [
        f"versions {format_version_range(before)} → {format_version_range(after)}"
        if before != after
        else f"versions {format_version_range(after)}"
    ]
    if row["was"]:
        said.insert(0, f"was {row['was']}")
    if row["flexible_from"] is not None:
        said.append(f"flexible from {row['flexible_from']}")
    was_hidden, hidden = row["unstable"]["from"], row["unstable"]["to"]
    if hidden is not None and hidden != was_hidden:
        said.append(f"version {hidden} unstable")
    if was_hidden is not None and was_hidden != hidden and was_hidden >= after[0]:
        said.append(f"version {was_hidden} stable")
    yield f"~ {paint_text(row['name'], 'api', palette)} · {' · '.join(said)}"
    yield from _changed_field_lines(row["fields"], width, palette, versions=True)


def version_difference_lines(row: Row, width: int | None, palette: Palette) -> Iterator[str]:
    """The difference between two versions of one API."""
    before, after = row["flexible"]
    said = "" if before == after else f" · {'now' if after else 'no longer'} flexible"
    yield f"{paint_text(row['name'], 'api', palette)} {row['from']} → {row['to']}{said}"
    yield from _changed_field_lines(row["fields"], width, palette, versions=False)
    if not row["fields"]:
        yield f"{INDENT * 2}the same fields"


def _changed_field_lines(
    fields: Sequence[Row], width: int | None, palette: Palette, *, versions: bool
) -> Iterator[str]:
    shown = [
        [
            field["side"],
            SIGNS[field["change"]],
            field["path"],
            f"v{format_number_ranges(field['versions'])}" if versions else "",
            _format_field_change(field),
        ]
        for field in fields
    ]
    if shown:
        yield from draw_table(put_rows_in_columns(_FIELDS, shown), width, palette, INDENT * 2, heading=False)


def _format_field_change(field: Row) -> str:
    if field["change"] == "renamed":
        return f"was {field['was']}"
    if field["change"] == "changed":
        before, after = field["from"], field["to"]
        return ", ".join(
            f"{word} {_format_fact_value(before[word])} → {_format_fact_value(after[word])}"
            for word in before
            if before[word] != after[word]
        )
    fact = field["to"] or field["from"]
    words = [fact["type"]]
    if fact["nullable"]:
        words.append("nullable")
    if fact["tag"] is not None:
        words.append(f"tag {fact['tag']}")
    if field["change"] == "gone":
        words.append("with its versions")
    return ", ".join(words)


def _format_fact_value(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else str(value)
