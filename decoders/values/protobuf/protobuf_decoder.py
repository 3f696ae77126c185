"""A message's declaration and bytes in, its value in JSON form out, by tables of fields.

It goes down one function call for a level of the value, VALUE_NESTING_MAX levels at most.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from decoders.errors import DecodeError, LimitExceeded, Malformed, Truncated
from decoders.limits import VALUE_NESTING_MAX, VALUE_PARTS_MAX
from decoders.schema.body_json_form import float_json, json_bytes, string_json
from decoders.values.protobuf.protobuf_schema import (
    UNKNOWN_FIELDS,
    ProtobufSchema,
    ProtoField,
    ProtoMessage,
    default_value,
)
from decoders.values.protobuf.well_known_types import ANY, FORMS, RAW_BYTES
from decoders.values.shortest_float import shorten_float

_I32: Final = Struct("<i")
_U32: Final = Struct("<I")
_I64: Final = Struct("<q")
_U64: Final = Struct("<Q")
_F32: Final = Struct("<f")
_F64: Final = Struct("<d")
_MASK_32: Final = (1 << 32) - 1


def _signed_32(number: int) -> int:
    number &= _MASK_32
    return number - (1 << 32) if number >> 31 else number


def _signed_64(number: int) -> int:
    return number - (1 << 64) if number >> 63 else number


def _zigzag_32(number: int) -> int:
    number &= _MASK_32
    return number >> 1 ^ -(number & 1)


# Kind → what a varint means; enums are in the field.
_VARINTS: Final[dict[str, Callable[[int], Any]]] = {
    "int32": _signed_32,
    "int64": _signed_64,
    "uint32": lambda number: number & _MASK_32,
    "uint64": lambda number: number,
    "sint32": _zigzag_32,
    "sint64": lambda number: number >> 1 ^ -(number & 1),
    "bool": bool,
}
_FIXED: Final[dict[str, Callable[[bytes], Any]]] = {
    "fixed32": lambda data: _U32.unpack(data)[0],
    "sfixed32": lambda data: _I32.unpack(data)[0],
    "float": lambda data: float_json(shorten_float(_F32.unpack(data)[0])),
    "fixed64": lambda data: _U64.unpack(data)[0],
    "sfixed64": lambda data: _I64.unpack(data)[0],
    "double": lambda data: float_json(_F64.unpack(data)[0]),
}
_SIZES: Final = {1: 8, 5: 4}


def read_varint_64(buf: bytes, at: int, end: int) -> tuple[int, int]:
    """An unsigned varint of at most 10 bytes, of which 64 bits count, and where it ends. Raises DecodeError."""
    found = shift = 0
    for place in range(at, min(end, at + 10)):
        byte = buf[place]
        found |= (byte & 127) << shift
        if byte < 128:
            return found & 0xFFFFFFFFFFFFFFFF, place + 1
        shift += 7
    if end - at < 10:
        raise Truncated("the value ends inside a number", offset=end)
    raise Malformed("a number of more than 10 bytes", offset=at)


class ProtobufReader:
    """Reads one message; `left` is how many parts it may still have."""

    def __init__(self, schema: ProtobufSchema, buf: bytes) -> None:
        self.schema = schema
        self.buf = buf
        self.left = VALUE_PARTS_MAX

    def read(self, message: ProtoMessage, at: int) -> Any:
        """The value of a message that goes from `at` to the end. Raises DecodeError."""
        return self.read_message(message, at, len(self.buf), 0)[0]

    def read_message(
        self, message: ProtoMessage, at: int, end: int, depth: int, group: int = 0, into: dict[str, Any] | None = None
    ) -> tuple[Any, int]:
        """The value of a message and where it ends; `group` is the number of the field if the message is a group."""
        self.left -= 1 + len(message.defaults) + len(message.lists) + len(message.maps)
        if depth > VALUE_NESTING_MAX or self.left < 0:
            raise LimitExceeded("a value of too many parts or levels", offset=at)
        found = dict(message.defaults) if into is None else into
        if into is None:
            for name in message.lists:
                found[name] = []
            for name in message.maps:
                found[name] = {}
        buf = self.buf
        while at < end:
            start = at
            tag = buf[at]
            at += 1
            if tag > 127:
                tag, at = read_varint_64(buf, start, end)
            number, wire = tag >> 3, tag & 7
            if wire == 4:
                if number != group or not group:
                    raise Malformed(f"the end of group {number}", offset=start)
                return self.message_to_json(message, found, depth), at
            field = message.by_number.get(number)
            if field is None or (
                wire != field.wire and not (wire == 2 and field.is_repeated and field.wire in (0, 1, 5))
            ):
                value, at = self.read_unknown(number, wire, at, end, depth)
                found.setdefault(UNKNOWN_FIELDS, {}).setdefault(str(number), []).append(value)
                continue
            try:
                at = self.read_field(field, message, found, wire, at, end, depth)
            except DecodeError as failure:
                failure.path = f"{field.name}{'.' if failure.path else ''}{failure.path}"
                raise
        if group:
            raise Truncated(f"the end of group {group} is missing", offset=end)
        if at > end:
            raise Truncated("a field goes beyond its message", offset=end)
        return self.message_to_json(message, found, depth), at

    def message_to_json(self, message: ProtoMessage, found: dict[str, Any], depth: int) -> Any:
        """The JSON form of a message whose fields are read."""
        if message.name == ANY:
            return self.any_message_to_json(found, depth)
        form = FORMS.get(message.name)
        if form is None or (UNKNOWN_FIELDS in found and message.name not in RAW_BYTES):
            return found
        return form(found)

    def read_field(
        self, field: ProtoField, message: ProtoMessage, found: dict[str, Any], wire: int, at: int, end: int, depth: int
    ) -> int:
        """Read a field of a known type into `found`; returns where it ends."""
        self.left -= 1
        if field.oneof:
            self.drop_other_oneof_members(field, found)
        if wire == 0:
            number, at = read_varint_64(self.buf, at, end)
            value = self.varint_to_json(field, number)
        elif wire == 3:
            assert field.message is not None
            value, at = self.read_message(
                field.message, at, end, depth + 1, field.number, self.find_message_to_merge_into(field, found)
            )
        elif wire != 2:
            size = _SIZES[wire]
            value, at = _FIXED[field.kind](self.bytes_of_size(at, size, end)), at + size
        else:
            size, at = read_varint_64(self.buf, at, end)
            if size > end - at:
                raise Truncated(f"need {size} bytes, have {end - at}", offset=at)
            stop = at + size
            if field.wire != 2:
                self.read_packed(field, found.setdefault(field.name, []), at, stop)
                return stop
            if field.kind == "map":
                self.read_map_entry(field, found.setdefault(field.name, {}), at, stop, depth)
                return stop
            value = self.read_length_delimited(field, message, found, at, stop, depth)
            at = stop
        if field.is_repeated:
            found.setdefault(field.name, []).append(value)
        else:
            found[field.name] = value
        return at

    def drop_other_oneof_members(self, field: ProtoField, found: dict[str, Any]) -> None:
        """Take the other fields of a oneof away: the last on the wire is the one that is set."""
        fewer = field.oneof if len(field.oneof) < len(found) else found
        self.left -= len(fewer) // 16  # a hostile oneof has thousands
        for name in [name for name in fewer if name in field.oneof and name in found and name != field.name]:
            del found[name]

    def read_length_delimited(
        self, field: ProtoField, message: ProtoMessage, found: dict[str, Any], at: int, stop: int, depth: int
    ) -> Any:
        """The value of a string, of bytes or of a message."""
        if field.message is not None:
            return self.read_message(
                field.message, at, stop, depth + 1, 0, self.find_message_to_merge_into(field, found)
            )[0]
        data = self.buf[at:stop]
        if field.kind == "string":
            return string_json(data)
        return data if message.name in RAW_BYTES else json_bytes(data)

    def find_message_to_merge_into(self, field: ProtoField, found: dict[str, Any]) -> dict[str, Any] | None:
        """The message that a field has already, into which a second one of that field is merged."""
        before = None if field.is_repeated else found.get(field.name)
        name = field.message.name if field.message is not None else ANY
        return before if isinstance(before, dict) and name not in FORMS and name != ANY else None

    def read_packed(self, field: ProtoField, into: list[Any], at: int, stop: int) -> None:
        if field.wire:
            size = _SIZES[field.wire]
            if (stop - at) % size:
                raise Malformed(f"{stop - at} bytes of packed numbers of {size} bytes", offset=at)
            read = _FIXED[field.kind]
            self.left -= (stop - at) // size
            into += [read(self.buf[place : place + size]) for place in range(at, stop, size)]
            return
        self.left -= stop - at
        while at < stop:
            number, at = read_varint_64(self.buf, at, stop)
            into.append(self.varint_to_json(field, number))

    def read_map_entry(self, field: ProtoField, into: dict[Any, Any], at: int, stop: int, depth: int) -> None:
        """An entry of a map; a part that is not on the wire has its default."""
        entry = field.message
        assert entry is not None
        found, _ = self.read_message(entry, at, stop, depth + 1)
        value_field = entry.by_number[2]
        key = found.get("key", default_value(entry.by_number[1]))
        value = found.get("value")
        if "value" not in found:
            inner = value_field.message
            value = default_value(value_field) if inner is None else self.read_message(inner, stop, stop, depth + 1)[0]
        into[key if isinstance(key, str) else _map_key_text(key)] = value

    def varint_to_json(self, field: ProtoField, number: int) -> Any:
        if field.enum is None:
            return _VARINTS[field.kind](number)
        value = _signed_32(number)
        return field.enum.values.get(value, value) if field.enum.name != "google.protobuf.NullValue" else None

    def any_message_to_json(self, found: dict[str, Any], depth: int) -> dict[str, Any]:
        """A message of any type: with its fields where the schema has the type, else with its bytes."""
        url, data = found["type_url"], found["value"] or b""
        inner = self.schema.types.get(str(url).rpartition("/")[2])
        if isinstance(inner, ProtoMessage):
            outer, self.buf = self.buf, data
            try:
                value = self.read_message(inner, 0, len(data), depth + 1)[0]
            except DecodeError:
                pass
            else:
                return {"@type": url, **value} if isinstance(value, dict) else {"@type": url, "value": value}
            finally:
                self.buf = outer
        return {"@type": url, "value": json_bytes(data)}

    def read_unknown(self, number: int, wire: int, at: int, end: int, depth: int) -> tuple[Any, int]:
        """A field that the schema does not have: its number or bytes; a group is stepped over."""
        self.left -= 1
        if not number:
            raise Malformed("field number 0", offset=at - 1)
        if wire == 0:
            return read_varint_64(self.buf, at, end)
        if wire == 2:
            size, at = read_varint_64(self.buf, at, end)
            return json_bytes(self.bytes_of_size(at, size, end)), at + size
        if wire == 3:
            return self.read_message(_NOTHING, at, end, depth + 1, number)
        if wire not in _SIZES:
            raise Malformed(f"wire type {wire}", offset=at - 1)
        return int.from_bytes(self.bytes_of_size(at, _SIZES[wire], end), "little"), at + _SIZES[wire]

    def bytes_of_size(self, at: int, size: int, end: int) -> bytes:
        if size > end - at:
            raise Truncated(f"need {size} bytes, have {end - at}", offset=at)
        return self.buf[at : at + size]


_NOTHING: Final = ProtoMessage("")


def _map_key_text(key: Any) -> str:
    return str(key).lower() if isinstance(key, bool) else str(key)
