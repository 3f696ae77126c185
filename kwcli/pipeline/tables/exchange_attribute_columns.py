"""An attribute of an exchange, as its record has it, in, the values of its columns out; and back.

Which columns an attribute has says the table in decoders/exchanges/exchange_attribute_schemas.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import orjson

from decoders.exchanges.exchange_attribute_schemas import EXCHANGE_FIELDS, SHAPES, names_below_key
from decoders.exchanges.exchange_attribute_table import EXTRA
from decoders.schema.body_json_form import cell_to_json

__all__ = ["COLUMN_PARTS", "NOTED", "SERVER", "join_columns_into_attribute", "split_attribute_into_columns"]


def _is_list_attribute(key: str) -> bool:
    """Whether a key has a list of objects: each of its columns has one part of all of them."""
    return "properties" in SHAPES[key].get("items", ())


def _part_of_key_in_column(key: str, column: str) -> str | None:
    """The part of a key that a column has; None for the whole value."""
    below = names_below_key(key) or ()
    its = {f"{key}_{part}": part for part in below} | {f"{part}_{key}": part for part in below}
    its |= {f"{key.removesuffix('s')}_{part}s": part for part in below if _is_list_attribute(key)}
    return its.get(column, below[0] if len(below) == 1 else None)


SERVER: Final = "server"
# Key of the record → its columns, each with the part of the key that it has.
COLUMN_PARTS: Final[dict[str, tuple[tuple[str, str | None], ...]]] = {
    name: tuple((column, _part_of_key_in_column(name, column)) for column in field.columns)
    for name, field in EXCHANGE_FIELDS.items()
    if field.columns and field.shape is not None
}
# Keys of `Exchange.extra` whose columns have the whole of them; a broker's own request log says more than its times.
NOTED: Final = tuple(name for name in EXTRA if EXCHANGE_FIELDS[name].columns and name != SERVER)


def split_attribute_into_columns(key: str, value: Any) -> list[Any]:
    """The values of the columns of a key; `value` is None where the record does not have it."""
    if _is_flag_attribute(key):
        return [value is not None]
    if _is_list_attribute(key):
        return [None if value is None else [each[part] for each in value] for _, part in COLUMN_PARTS[key]]
    return [_encode_cell(value if part is None or value is None else value.get(part)) for _, part in COLUMN_PARTS[key]]


def join_columns_into_attribute(key: str, row: Mapping[str, Any]) -> Any:
    """The value of a key, from the columns that it has in a row of the table; None where the record did not have it."""
    if _is_flag_attribute(key):
        return row[COLUMN_PARTS[key][0][0]] or None
    if _is_list_attribute(key):
        lists = [row[column] or () for column, _ in COLUMN_PARTS[key]]
        parts = [part for _, part in COLUMN_PARTS[key]]
        return [dict(zip(parts, values, strict=True)) for values in zip(*lists, strict=True)] or None
    found = {part: _decode_cell(row[column]) for column, part in COLUMN_PARTS[key]}
    if None in found:
        return found[None]
    if all(value is None for value in found.values()):
        return None
    return found if "required" in SHAPES[key] else {part: value for part, value in found.items() if value is not None}


def _encode_cell(value: Any) -> Any:
    """A value as a cell has it: a text that is no UTF-8 as the JSON of its JSON form."""
    return orjson.dumps(value).decode() if isinstance(value, dict) else value


def _decode_cell(cell: Any) -> Any:
    """The value of which `_encode_cell` made a cell."""
    return cell_to_json(cell) if isinstance(cell, str) else cell


def _is_flag_attribute(key: str) -> bool:
    """Whether a key is there only where it is so."""
    return SHAPES[key].get("const") is True
