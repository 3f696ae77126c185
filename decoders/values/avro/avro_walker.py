"""A type and bytes in, the value in JSON form out, by interpreting the type: slow, and exact about errors.

It goes down one function call for a level of the value, and refuses more than VALUE_NESTING_MAX levels of types that
contain themselves; schemas have at most SCHEMA_NESTING_MAX levels.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from decoders.errors import DecodeError, LimitExceeded, Malformed, Truncated
from decoders.limits import VALUE_NESTING_MAX, VALUE_PARTS_MAX
from decoders.schema.body_json_form import float_json, json_bytes, string_json
from decoders.values.avro.avro_schema import AvroType
from decoders.values.avro.logical_types import find_logical_type_formatter
from decoders.values.shortest_float import shorten_float

_FLOAT: Final = Struct("<f")
_DOUBLE: Final = Struct("<d")
_PARTS_FREE: Final = 20_000
_PARTS_PER_BYTE: Final = 50


def read_long(buf: bytes, at: int, bits: int = 64) -> tuple[int, int]:
    """A zigzag varint: its value and where it ends. Raises DecodeError."""
    found = shift = 0
    start = at
    try:
        while (byte := buf[at]) > 127:
            found |= (byte & 127) << shift
            shift += 7
            at += 1
            if shift > 63:
                raise Malformed("a number of more than 10 bytes", offset=start)
    except IndexError:
        raise Truncated("the value ends inside a number", offset=at) from None
    found |= byte << shift
    if found >> bits:
        raise Malformed(f"a number of more than {bits} bits", offset=start)
    return found >> 1 ^ -(found & 1), at + 1


def parts_budget(size: int) -> int:
    """How many parts a value of so many bytes may have: parts without bytes are few in real values."""
    return min(VALUE_PARTS_MAX, _PARTS_FREE + size * _PARTS_PER_BYTE)


class AvroWalker:
    """Reads one value; `left` is how many parts it may still have."""

    def __init__(self, buf: bytes) -> None:
        self.buf = buf
        self.left = parts_budget(len(buf))

    def read(self, kind: AvroType, at: int, depth: int = 0) -> tuple[Any, int]:
        """The JSON form of a value, and where it ends. Raises DecodeError, whose path says which part it is."""
        self.left -= 1
        if depth > VALUE_NESTING_MAX or self.left < 0:
            raise LimitExceeded("a value of too many parts or levels", offset=at)
        found, at = _READERS[kind.kind](self, kind, at, depth)
        if kind.logical:
            formatter = find_logical_type_formatter(kind.logical, kind.kind, kind.scale)
            if formatter is not None:
                found = formatter(found)
            elif isinstance(found, bytes):
                found = json_bytes(found)
        elif isinstance(found, bytes):
            found = json_bytes(found)
        return found, at

    def read_part(self, kind: AvroType, at: int, depth: int, step: str) -> tuple[Any, int]:
        """A part of a value, whose step of the path is known."""
        try:
            return self.read(kind, at, depth)
        except DecodeError as failure:
            failure.path = f"{step}{'' if not failure.path or failure.path[0] == '[' else '.'}{failure.path}"
            raise

    def _read_null(self, _kind: AvroType, at: int, _depth: int) -> tuple[Any, int]:
        return None, at

    def _read_boolean(self, _kind: AvroType, at: int, _depth: int) -> tuple[Any, int]:
        byte = self._bytes_of_size(at, 1)[0]
        if byte > 1:
            raise Malformed(f"a boolean of {byte}", offset=at)
        return byte == 1, at + 1

    def _read_int(self, _kind: AvroType, at: int, _depth: int) -> tuple[Any, int]:
        return read_long(self.buf, at, 32)

    def _read_long(self, _kind: AvroType, at: int, _depth: int) -> tuple[Any, int]:
        return read_long(self.buf, at)

    def _read_float(self, _kind: AvroType, at: int, _depth: int) -> tuple[Any, int]:
        return float_json(shorten_float(_FLOAT.unpack(self._bytes_of_size(at, 4))[0])), at + 4

    def _read_double(self, _kind: AvroType, at: int, _depth: int) -> tuple[Any, int]:
        return float_json(_DOUBLE.unpack(self._bytes_of_size(at, 8))[0]), at + 8

    def _read_bytes(self, _kind: AvroType, at: int, _depth: int) -> tuple[bytes, int]:
        size, at = read_long(self.buf, at)
        return self._bytes_of_size(at, size), at + size

    def _read_string(self, kind: AvroType, at: int, depth: int) -> tuple[Any, int]:
        data, at = self._read_bytes(kind, at, depth)
        return string_json(data), at

    def _read_fixed(self, kind: AvroType, at: int, _depth: int) -> tuple[bytes, int]:
        return self._bytes_of_size(at, kind.size), at + kind.size

    def _read_enum(self, kind: AvroType, at: int, _depth: int) -> tuple[Any, int]:
        number, end = read_long(self.buf, at)
        if not 0 <= number < len(kind.symbols):
            raise Malformed(f"symbol {number} of {len(kind.symbols)}", offset=at)
        return kind.symbols[number], end

    def _read_union(self, kind: AvroType, at: int, depth: int) -> tuple[Any, int]:
        number, end = read_long(self.buf, at)
        if not 0 <= number < len(kind.branches):
            raise Malformed(f"branch {number} of a union of {len(kind.branches)}", offset=at)
        return self.read(kind.branches[number], end, depth)

    def _read_array(self, kind: AvroType, at: int, depth: int) -> tuple[Any, int]:
        found: list[Any] = []
        assert kind.items is not None
        while True:
            count, at = self._read_block_count(kind, at)
            if not count:
                return found, at
            for _ in range(count):
                value, at = self.read_part(kind.items, at, depth + 1, f"[{len(found)}]")
                found.append(value)

    def _read_map(self, kind: AvroType, at: int, depth: int) -> tuple[Any, int]:
        found: dict[Any, Any] = {}
        assert kind.items is not None
        while True:
            count, at = self._read_block_count(kind, at)
            if not count:
                return found, at
            for _ in range(count):
                data, at = self._read_bytes(kind, at, depth)
                key = data.decode("utf-8", "replace")
                found[key], at = self.read_part(kind.items, at, depth + 1, key)

    def _read_record(self, kind: AvroType, at: int, depth: int) -> tuple[Any, int]:
        found: dict[str, Any] = {}
        for field in kind.fields:
            found[field.name], at = self.read_part(field.type, at, depth + 1, field.name)
        return found, at

    def _read_block_count(self, kind: AvroType, at: int) -> tuple[int, int]:
        """The number of items in a block; its size in bytes, which a negative number announces, is not needed."""
        count, end = read_long(self.buf, at)
        if count < 0:
            count = -count
            _, end = read_long(self.buf, end)
        assert kind.items is not None
        least = kind.items.least_size + (kind.kind == "map")
        if count * least > len(self.buf) - end:
            raise Truncated(f"{count} items, {len(self.buf) - end} bytes are left", offset=at)
        if count > self.left:
            raise LimitExceeded("a value of too many parts or levels", offset=at)
        return count, end

    def _bytes_of_size(self, at: int, size: int) -> bytes:
        if not 0 <= size <= len(self.buf) - at:
            raise Truncated(f"need {size} bytes, have {len(self.buf) - at}", offset=at)
        return self.buf[at : at + size]


_READERS: Final[dict[str, Callable[[AvroWalker, AvroType, int, int], tuple[Any, int]]]] = {
    "null": AvroWalker._read_null,
    "boolean": AvroWalker._read_boolean,
    "int": AvroWalker._read_int,
    "long": AvroWalker._read_long,
    "float": AvroWalker._read_float,
    "double": AvroWalker._read_double,
    "bytes": AvroWalker._read_bytes,
    "string": AvroWalker._read_string,
    "fixed": AvroWalker._read_fixed,
    "enum": AvroWalker._read_enum,
    "union": AvroWalker._read_union,
    "array": AvroWalker._read_array,
    "map": AvroWalker._read_map,
    "record": AvroWalker._read_record,
}
