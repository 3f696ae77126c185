"""A type and a value in JSON form in, its bytes out: what a user writes, and what the decoder shows.

Of a union the first branch counts that the value fits; `{"shop.Order": {…}}` names one, as Avro's own JSON does. A
field that is missing has the schema's default.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from decoders.errors import EncodeError
from decoders.limits import VALUE_NESTING_MAX
from decoders.schema.body_json_form import bytes_from_json
from decoders.values.avro.avro_schema import AvroField, AvroType
from decoders.values.avro.logical_types import find_logical_type_parser
from decoders.wire.primitive_types import encode_varlong

_FLOATS: Final = {"float": Struct("<f"), "double": Struct("<d")}
_BITS: Final = {"int": 32, "long": 64}
_SPECIAL: Final = ("NaN", "Infinity", "-Infinity")


def encode_avro(kind: AvroType, value: Any) -> bytes:
    """The bytes of a value. Raises EncodeError with the path of the part that does not fit."""
    return _encode_value(kind, value, "", 0)


def _encode_value(kind: AvroType, value: Any, path: str, depth: int) -> bytes:
    if depth > VALUE_NESTING_MAX:
        raise EncodeError(f"more than {VALUE_NESTING_MAX} levels", path=path)
    parse = find_logical_type_parser(kind.logical, kind.kind, kind.scale, kind.size) if kind.logical else None
    if parse is not None:
        try:
            value = parse(value)
        except (ValueError, ArithmeticError, KeyError, TypeError, AttributeError):
            raise EncodeError(f"no {kind.logical}", path=path) from None
    return _ENCODERS[kind.kind](kind, value, path, depth)


def _make_misfit_error(kind: AvroType, path: str) -> EncodeError:
    return EncodeError(f"{kind.name or kind.kind} expected", path=path)


def _encode_null(kind: AvroType, value: Any, path: str, _depth: int) -> bytes:
    if value is not None:
        raise _make_misfit_error(kind, path)
    return b""


def _encode_boolean(kind: AvroType, value: Any, path: str, _depth: int) -> bytes:
    if not isinstance(value, bool):
        raise _make_misfit_error(kind, path)
    return b"\x01" if value else b"\0"


def _encode_number(kind: AvroType, value: Any, path: str, _depth: int) -> bytes:
    half = 1 << _BITS[kind.kind] - 1
    if type(value) is not int or not -half <= value < half:
        raise _make_misfit_error(kind, path)
    return encode_varlong(value)


def _encode_float(kind: AvroType, value: Any, path: str, _depth: int) -> bytes:
    if value in _SPECIAL:
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _make_misfit_error(kind, path)
    try:
        return _FLOATS[kind.kind].pack(value)
    except OverflowError:
        raise _make_misfit_error(kind, path) from None


def _encode_bytes(kind: AvroType, value: Any, path: str, _depth: int) -> bytes:
    if kind.kind == "string" and not isinstance(value, str | dict):
        raise _make_misfit_error(kind, path)
    data = value if isinstance(value, bytes) else bytes_from_json(value, path)
    return encode_varlong(len(data)) + data


def _encode_fixed(kind: AvroType, value: Any, path: str, _depth: int) -> bytes:
    data = value if isinstance(value, bytes) else bytes_from_json(value, path)
    if len(data) != kind.size:
        raise EncodeError(f"{kind.size} bytes expected, not {len(data)}", path=path)
    return data


def _encode_enum(kind: AvroType, value: Any, path: str, _depth: int) -> bytes:
    if value not in kind.symbols:
        raise EncodeError(f"one of {', '.join(kind.symbols[:20])} expected", path=path)
    return encode_varlong(kind.symbols.index(value))


def _encode_array(kind: AvroType, value: Any, path: str, depth: int) -> bytes:
    if not isinstance(value, list) or kind.items is None:
        raise _make_misfit_error(kind, path)
    parts = [_encode_value(kind.items, each, f"{path}[{at}]", depth + 1) for at, each in enumerate(value)]
    return (encode_varlong(len(parts)) if parts else b"") + b"".join(parts) + b"\0"


def _encode_map(kind: AvroType, value: Any, path: str, depth: int) -> bytes:
    if not isinstance(value, dict) or kind.items is None:
        raise _make_misfit_error(kind, path)
    parts = []
    for key, each in value.items():
        name = str(key).encode("utf-8", "surrogateescape")
        parts.append(
            encode_varlong(len(name)) + name + _encode_value(kind.items, each, _join_path(path, key), depth + 1)
        )
    return (encode_varlong(len(parts)) if parts else b"") + b"".join(parts) + b"\0"


def _encode_record(kind: AvroType, value: Any, path: str, depth: int) -> bytes:
    if not isinstance(value, dict):
        raise _make_misfit_error(kind, path)
    names = {field.name for field in kind.fields}
    for name in value:
        if name not in names:
            raise EncodeError(f"{kind.name} has no such field", path=_join_path(path, name))
    return b"".join(
        _encode_value(field.type, _field_value_or_default(field, value, path), _join_path(path, field.name), depth + 1)
        for field in kind.fields
    )


def _field_value_or_default(field: AvroField, value: dict[str, Any], path: str) -> Any:
    if field.name in value:
        return value[field.name]
    if not field.has_default:
        raise EncodeError("missing, and the schema has no default", path=_join_path(path, field.name))
    return field.default


def _encode_union(kind: AvroType, value: Any, path: str, depth: int) -> bytes:
    named = next(iter(value)) if isinstance(value, dict) and len(value) == 1 else None
    for number, branch in enumerate(kind.branches):
        try:
            return encode_varlong(number) + _encode_value(branch, value, path, depth)
        except EncodeError:
            if named is not None and named == (branch.name or branch.kind):
                return encode_varlong(number) + _encode_value(branch, value[named], path, depth)
    raise EncodeError(f"one of {', '.join(branch.name or branch.kind for branch in kind.branches)} expected", path=path)


def _join_path(path: str, name: object) -> str:
    return f"{path}.{name}" if path else str(name)


_ENCODERS: Final[dict[str, Callable[[AvroType, Any, str, int], bytes]]] = {
    "null": _encode_null,
    "boolean": _encode_boolean,
    "int": _encode_number,
    "long": _encode_number,
    "float": _encode_float,
    "double": _encode_float,
    "bytes": _encode_bytes,
    "string": _encode_bytes,
    "fixed": _encode_fixed,
    "enum": _encode_enum,
    "array": _encode_array,
    "map": _encode_map,
    "record": _encode_record,
    "union": _encode_union,
}
