"""A message's declaration and a value in JSON form in, its bytes out: what a user writes, or the decoder shows."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from functools import partial
from struct import Struct
from typing import Any, Final

from decoders.errors import EncodeError
from decoders.limits import VALUE_NESTING_MAX
from decoders.schema.body_json_form import bytes_from_json
from decoders.values.avro.logical_types import parse_decimal, parse_time_ns
from decoders.values.protobuf.protobuf_schema import ProtobufSchema, ProtoField, ProtoMessage
from decoders.values.protobuf.well_known_types import ANY, FORMS
from decoders.wire.primitive_types import encode_text, encode_uvarint

_STRUCTS: Final = {
    "fixed32": Struct("<I"), "sfixed32": Struct("<i"), "float": Struct("<f"),
    "fixed64": Struct("<Q"), "sfixed64": Struct("<q"), "double": Struct("<d"),
}  # fmt: skip
_RANGES: Final = {
    "int32": range(-(1 << 31), 1 << 31), "sint32": range(-(1 << 31), 1 << 31), "uint32": range(1 << 32),
    "int64": range(-(1 << 63), 1 << 63), "sint64": range(-(1 << 63), 1 << 63), "uint64": range(1 << 64),
}  # fmt: skip
_SPECIAL: Final = ("NaN", "Infinity", "-Infinity")
_GOOGLE: Final = "google.protobuf."


def encode_message(schema: ProtobufSchema, message: ProtoMessage, value: Any) -> bytes:
    """The bytes of a message. Raises EncodeError with the path of the part that does not fit."""
    return _Encoding(schema).encode_message(message, value, "", 0)


def encode_indexes(schema: ProtobufSchema, message: ProtoMessage) -> bytes:
    """Confluent's message indexes of a message. Raises EncodeError where it is not one of the file's own."""
    left: list[tuple[tuple[int, ...], ProtoMessage]] = [((at,), each) for at, each in enumerate(schema.messages)]
    while left:
        path, each = left.pop()
        if each is message:
            if path == (0,):
                return b"\0"
            return b"".join(encode_uvarint(number * 2) for number in (len(path), *path))
        left += [((*path, at), inner) for at, inner in enumerate(each.messages)]
    raise EncodeError(f"{message.name} is not in the schema's own file")


class _Encoding:
    """One run, with the types that an Any may name."""

    def __init__(self, schema: ProtobufSchema) -> None:
        self.schema = schema

    def encode_message(self, message: ProtoMessage, value: Any, path: str, depth: int) -> bytes:
        if depth > VALUE_NESTING_MAX:
            raise EncodeError(f"more than {VALUE_NESTING_MAX} levels", path=path)
        if message.name == ANY and isinstance(value, Mapping) and "@type" in value:
            value = self.fields_of_any(value, path, depth)
        elif message.name in FORMS:
            value = fields_of_well_known_message(message.name, value, path)
        if not isinstance(value, Mapping):
            raise EncodeError(f"an object expected, for {message.name}", path=path)
        out = []
        for name, inner in value.items():
            field = message.by_name.get(name) or _find_by_json_name(message, name)
            place = f"{path}.{name}" if path else str(name)
            if field is None:
                raise EncodeError(f"{message.name} has no such field", path=place)
            if inner is not None or (field.message is not None and field.message.name == f"{_GOOGLE}Value"):
                out.append(self.encode_field(field, inner, place, depth))
        return b"".join(out)

    def encode_field(self, field: ProtoField, value: Any, path: str, depth: int) -> bytes:
        if field.kind == "map":
            if not isinstance(value, Mapping) or field.message is None:
                raise EncodeError("an object expected", path=path)
            key_kind = field.message.by_number[1].kind
            entries = [
                {"key": key if key_kind == "string" else _map_key_of_text(key, key_kind), "value": each}
                for key, each in value.items()
            ]
            encode = partial(self.encode_message, field.message, path=path, depth=depth + 1)
            return b"".join(_encode_size_delimited_field(field.number, encode(entry)) for entry in entries)
        if not field.is_repeated:
            return self.encode_single_value(field, value, path, depth)
        if not isinstance(value, list):
            raise EncodeError("an array expected", path=path)
        if field.wire in (0, 1, 5):
            packed = b"".join(self.encode_scalar(field, each, f"{path}[{at}]") for at, each in enumerate(value))
            return _encode_size_delimited_field(field.number, packed) if value else b""
        return b"".join(self.encode_single_value(field, each, f"{path}[{at}]", depth) for at, each in enumerate(value))

    def encode_single_value(self, field: ProtoField, value: Any, path: str, depth: int) -> bytes:
        if field.message is not None:
            data = self.encode_message(field.message, value, path, depth + 1)
            if field.kind == "group":
                return encode_uvarint(field.number << 3 | 3) + data + encode_uvarint(field.number << 3 | 4)
            return _encode_size_delimited_field(field.number, data)
        data = self.encode_scalar(field, value, path)
        return (
            _encode_size_delimited_field(field.number, data)
            if field.wire == 2
            else encode_uvarint(field.number << 3 | field.wire) + data
        )

    def encode_scalar(self, field: ProtoField, value: Any, path: str) -> bytes:
        """A number, a text or bytes, without tag and size."""
        kind = field.kind
        try:
            if field.enum is not None:
                numbers = {name: number for number, name in field.enum.values.items()}
                number = 0 if value is None else numbers[value] if isinstance(value, str) else int(value)
                return encode_uvarint(number & (1 << 64) - 1)
            if kind == "string":
                return bytes_from_json(value, path) if isinstance(value, Mapping) else encode_text(value)
            if kind == "bytes":
                return value if isinstance(value, bytes) else bytes_from_json(value, path)
            if kind == "bool":
                return {True: b"\x01", False: b"\0"}[value]
            if isinstance(value, bool) or not isinstance(value, int | float | str):
                raise EncodeError(f"{kind} expected", path=path)
            if kind in ("float", "double"):
                return _STRUCTS[kind].pack(float(value) if value in _SPECIAL or not isinstance(value, str) else None)
            number = int(value)
            if number != (value if not isinstance(value, str) else number):
                raise EncodeError(f"{kind} expected", path=path)
            return _STRUCTS[kind].pack(number) if kind in _STRUCTS else _pack_varint(kind, number)
        except (ValueError, KeyError, TypeError, OverflowError, struct.error) as failure:
            if isinstance(failure, EncodeError):
                raise
            raise EncodeError(f"{field.enum.name if field.enum is not None else kind} expected", path=path) from None

    def fields_of_any(self, value: Mapping[str, Any], path: str, depth: int) -> dict[str, Any]:
        url = str(value["@type"])
        inner = self.schema.types.get(url.rpartition("/")[2])
        if not isinstance(inner, ProtoMessage):
            return {"type_url": url, "value": bytes_from_json(value.get("value", ""), path)}
        fields = value.get("value") if inner.name in FORMS else {k: v for k, v in value.items() if k != "@type"}
        return {"type_url": url, "value": self.encode_message(inner, fields, path, depth + 1)}


def _pack_varint(kind: str, number: int) -> bytes:
    if number not in _RANGES[kind]:
        raise ValueError
    if kind.startswith("s"):
        return encode_uvarint(number * 2 if number >= 0 else -number * 2 - 1)
    return encode_uvarint(number & (1 << 64) - 1)


def _encode_size_delimited_field(number: int, data: bytes) -> bytes:
    return encode_uvarint(number << 3 | 2) + encode_uvarint(len(data)) + data


def _find_by_json_name(message: ProtoMessage, name: object) -> ProtoField | None:
    """The field of a name in lowerCamelCase, as Protobuf's JSON has it."""
    plain = str(name).lower()
    return next((field for each, field in message.by_name.items() if each.replace("_", "").lower() == plain), None)


def _map_key_of_text(key: object, kind: str) -> Any:
    return {"true": True, "false": False}.get(str(key), key) if kind == "bool" else key


def _fields_of_timestamp(value: Any) -> dict[str, Any]:
    seconds, nanos = divmod(parse_time_ns(value), 10**9)
    return {"seconds": seconds, "nanos": nanos}


def _fields_of_duration(value: Any) -> dict[str, Any]:
    whole, _, fraction = value.removesuffix("s").partition(".")
    sign = -1 if whole.startswith("-") else 1
    return {"seconds": int(whole), "nanos": sign * int(fraction[:9].ljust(9, "0"))}


def _fields_of_value(value: Any) -> dict[str, Any]:
    kinds: list[tuple[Any, str]] = [
        (bool, "bool_value"), (str, "string_value"), (Mapping, "struct_value"), (list, "list_value"),
        (int | float, "number_value"),
    ]  # fmt: skip
    if value is None:
        return {"null_value": 0}
    return {next(name for kind, name in kinds if isinstance(value, kind)): value}


_FIELDS: Final[dict[str, Callable[[Any], dict[str, Any]]]] = {
    f"{_GOOGLE}Timestamp": _fields_of_timestamp,
    f"{_GOOGLE}Duration": _fields_of_duration,
    f"{_GOOGLE}FieldMask": lambda value: {"paths": value.split(",") if value else []},
    f"{_GOOGLE}Struct": lambda value: {"fields": value},
    f"{_GOOGLE}ListValue": lambda value: {"values": value},
    f"{_GOOGLE}Value": _fields_of_value,
    "confluent.type.Decimal": lambda value: {
        "value": parse_decimal(value, len(value.partition(".")[2]), 0),
        "precision": sum(map(str.isdecimal, value)),
        "scale": len(value.partition(".")[2]),
    },
}


def fields_of_well_known_message(name: str, value: Any, path: str) -> Any:
    """The fields of a well-known message, of its JSON form; a message that is written out stays as it is."""
    written_out = isinstance(value, Mapping) and name not in (f"{_GOOGLE}Struct", f"{_GOOGLE}Value")
    if written_out and not (name.endswith("Value") and {*value} == {"base64"}):
        return value
    make = _FIELDS.get(name, lambda plain: {"value": plain})
    try:
        return make(value)
    except (ValueError, TypeError, AttributeError, ArithmeticError, StopIteration):
        raise EncodeError(f"no {name}", path=path) from None
