"""Output formats, a literal table: the renderer of each, and what commands may ask of it."""

from __future__ import annotations

from typing import Final, Literal

from decoders.named_tuple import NamedTuple

__all__ = ["COLUMN_FORMATS", "FACT_FORMATS", "FORMATS", "RECORD_FORMATS", "Format", "find_format_names"]


class Format(NamedTuple):
    """A format: its module under kwcli.output and the class in it, and what its rows are made of.

    `columns`: whether rows are columns always, or by --columns. `records`: each row is a record, with times in UTC.
    `bodies`: bodies are shown, so that --records adds to them. `facts`: rows have the facts of text lines. `frames`:
    rows are the bytes of frames, for commands that show frames.
    """

    module: str
    renderer: str
    columns: Literal["always", "chosen", "never"] = "never"
    records: bool = False
    bodies: bool = True
    facts: bool = False
    frames: bool = False


FORMATS: Final[dict[str, Format]] = {
    "text": Format("text", "Text", columns="chosen", facts=True),
    "table": Format("table", "ExchangeTable", columns="always", bodies=False),
    "ndjson": Format("json", "Ndjson", records=True),
    "json": Format("json", "Json", records=True),
    "csv": Format("csv", "Csv", columns="always", bodies=False),
    "yaml": Format("yaml", "Yaml", records=True),
    "fields": Format("fields", "Fields", columns="always"),
    "hex": Format("hex", "Hex", facts=True),
    "raw": Format("raw", "Raw", frames=True),
}


def find_format_names(**wanted: object) -> tuple[str, ...]:
    """The names of the formats with these attributes, in the order of the table."""
    return tuple(name for name, row in FORMATS.items() if all(getattr(row, key) == wanted[key] for key in wanted))


# The formats whose rows are columns, those whose rows are records, and those whose rows have facts.
COLUMN_FORMATS: Final = find_format_names(columns="always")
RECORD_FORMATS: Final = find_format_names(records=True)
FACT_FORMATS: Final = find_format_names(facts=True)
