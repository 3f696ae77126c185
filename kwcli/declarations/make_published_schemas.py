"""Tables in, published schemas out: of the record of an exchange, and of the rows of `kw stats`.

The rest of these files (skipped runs, events, shapes with a name, conditions) is written by hand and stays as it is.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import decoders.messages
from decoders.analysis.dimension_and_metric_table import DIMENSION_ROWS, METRICS
from decoders.exchanges.exchange_attribute_schemas import SHAPES
from decoders.exchanges.exchange_attribute_table import ALWAYS

__all__ = ["PUBLISHED", "PUBLISHED_STATISTICS", "format_schema", "make_record_schema", "make_statistics_schema"]

PUBLISHED: Final = Path(decoders.messages.__file__).with_name("record.schema.json")
PUBLISHED_STATISTICS: Final = PUBLISHED.with_name("statistics.schema.json")
_WIDTH: Final = 120


def make_record_schema() -> dict[str, Any]:
    """The published schema, with the keys of an exchange as the table has them."""
    schema: dict[str, Any] = json.loads(PUBLISHED.read_bytes())
    schema["$defs"]["exchange"] |= {"required": [*ALWAYS], "properties": SHAPES}
    return schema


def make_statistics_schema() -> dict[str, Any]:
    """The published schema of `kw stats`, with the dimensions and metrics as their tables have them."""
    schema: dict[str, Any] = json.loads(PUBLISHED_STATISTICS.read_bytes())
    row = schema["$defs"]["statistics"]
    shapes: dict[str, Any] = {
        name: {"type": ["integer", "null"]} if dimension.is_number else {"$ref": "#/$defs/text"}
        for name, dimension in DIMENSION_ROWS.items()
    }
    shapes["time"] = {"$ref": "#/$defs/time"}
    names = [*row["properties"]]
    head, numbers = names[: names.index("schema") + 1], names[names.index("count") :]
    row["properties"] = {name: shapes.get(name) or row["properties"][name] for name in (*head, *shapes, *numbers)}
    row["properties"]["metric"] = {"enum": [*METRICS]}
    row["properties"]["unit"] = {"enum": [*dict.fromkeys(metric.unit for metric in METRICS.values())]}
    # A partition is one of a topic.
    row["anyOf"] = [{"required": [name]} for name in DIMENSION_ROWS if name != "partition"]
    return schema


def format_schema(schema: Any) -> str:
    """The text of a schema: an object or an array that fits into a line is in one."""
    return "\n".join(_format_schema_lines(schema, "")) + "\n"


def _format_schema_lines(value: Any, indent: str, head: str = "", tail: str = "") -> Iterator[str]:
    line = f"{indent}{head}{json.dumps(value, ensure_ascii=False)}{tail}"
    if len(line) <= _WIDTH or not isinstance(value, dict | list):
        yield line
        return
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    yield f"{indent}{head}{opening}"
    heads = [f"{json.dumps(name)}: " for name in value] if isinstance(value, dict) else [""] * len(value)
    items = [*value.values()] if isinstance(value, dict) else value
    for number, (name, item) in enumerate(zip(heads, items, strict=True), 1):
        yield from _format_schema_lines(item, f"{indent} ", name, "," if number < len(items) else "")
    yield f"{indent}{closing}{tail}"
