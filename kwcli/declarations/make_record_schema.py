"""The table of an exchange's attributes in, the published schema of its record out (record.schema.json).

The rest of the file (skipped runs, events, shapes with a name, conditions) is written by hand and stays as it is.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import decoders.messages
from decoders.exchanges.exchange_attributes import ALWAYS
from decoders.exchanges.exchange_fields import SHAPES

__all__ = ["PUBLISHED", "format_schema", "make_record_schema"]

PUBLISHED: Final = Path(decoders.messages.__file__).with_name("record.schema.json")
_WIDTH: Final = 120


def make_record_schema() -> dict[str, Any]:
    """The published schema, with the keys of an exchange as the table has them."""
    schema: dict[str, Any] = json.loads(PUBLISHED.read_bytes())
    schema["$defs"]["exchange"] |= {"required": [*ALWAYS], "properties": SHAPES}
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
