"""A type and a value in Avro's JSON encoding in, its JSON form as elsewhere in kw out.

In that encoding bytes are texts whose characters are the bytes, and a value of a union is an object of its branch's
name (`{"string":"x"}`) or null. Decimals and times are then bytes and numbers, as in the binary encoding.
"""

from __future__ import annotations

from struct import Struct
from typing import Any, Final

from decoders.errors import LimitExceeded, Malformed
from decoders.limits import VALUE_NESTING_MAX
from decoders.schema.body_json_form import float_json, json_bytes
from decoders.values.avro.avro_schema import AvroType
from decoders.values.avro.logical_types import find_logical_type_formatter
from decoders.values.json_values import read_json
from decoders.values.shortest_float import shorten_float

__all__ = ["read_json_encoding"]

_PYTHON: Final[dict[str, type | tuple[type, ...]]] = {
    "boolean": bool,
    "int": int,
    "long": int,
    "float": (int, float, str),
    "double": (int, float, str),
    "string": str,
    "bytes": str,
    "fixed": str,
    "enum": str,
    "array": list,
    "map": dict,
    "record": dict,
}
_FLOAT: Final = Struct("<f")
_NUMBERS: Final = frozenset(["int", "long"])
_NOT_FINITE: Final = frozenset(["NaN", "Infinity", "-Infinity", "INF", "-INF"])


def read_json_encoding(kind: AvroType, data: bytes) -> Any:
    """The value of a JSON text. Raises DecodeError."""
    return _read_value(kind, read_json(data), 0)


def _read_value(kind: AvroType, value: Any, depth: int) -> Any:
    if depth > VALUE_NESTING_MAX:
        raise LimitExceeded("a value of too many levels", offset=0)
    if kind.kind == "union":
        return _read_union_branch(kind, value, depth)
    if kind.kind == "null":
        return _return_if_it_fits(value is None, kind, None)
    fits = isinstance(value, _PYTHON[kind.kind]) and not (kind.kind in _NUMBERS and isinstance(value, bool))
    _return_if_it_fits(fits, kind, value)
    if kind.kind in ("bytes", "fixed"):
        try:
            found: Any = value.encode("latin-1")
        except UnicodeEncodeError:
            raise _make_misfit_error(kind) from None
        if kind.kind == "fixed":
            _return_if_it_fits(len(found) == kind.size, kind, found)
        if not kind.logical:
            return json_bytes(found)
    elif kind.kind == "record":
        return {
            field.name: _read_value(
                field.type, _return_if_it_fits(field.name in value, kind, value)[field.name], depth + 1
            )
            for field in kind.fields
        }
    elif kind.items is not None:
        parts = value.items() if kind.kind == "map" else enumerate(value)
        found = [(name, _read_value(kind.items, part, depth + 1)) for name, part in parts]
        return dict(found) if kind.kind == "map" else [part for _, part in found]
    elif kind.kind in ("float", "double"):
        return (
            _return_if_it_fits(value in _NOT_FINITE, kind, value)
            if isinstance(value, str)
            else _read_float(kind, value)
        )
    elif kind.kind == "enum":
        return _return_if_it_fits(value in kind.symbols, kind, value)
    else:
        found = value
    formatter = find_logical_type_formatter(kind.logical, kind.kind, kind.scale) if kind.logical else None
    return found if formatter is None else formatter(found)


def _read_float(kind: AvroType, value: float) -> Any:
    try:
        whole = float(value)
        return float_json(shorten_float(_FLOAT.unpack(_FLOAT.pack(whole))[0]) if kind.kind == "float" else whole)
    except OverflowError:
        raise _make_misfit_error(kind) from None


def _read_union_branch(kind: AvroType, value: Any, depth: int) -> Any:
    for branch in kind.branches:
        if value is None or branch.kind == "null":
            if value is None and branch.kind == "null":
                return None
        elif isinstance(value, dict) and len(value) == 1 and (branch.name or branch.kind) in value:
            return _read_value(branch, value[branch.name or branch.kind], depth + 1)
    raise _make_misfit_error(kind)


def _return_if_it_fits(fits: bool, kind: AvroType, value: Any) -> Any:
    if not fits:
        raise _make_misfit_error(kind)
    return value


def _make_misfit_error(kind: AvroType) -> Malformed:
    return Malformed(f"no {kind.name or kind.kind} in the JSON", offset=0)
