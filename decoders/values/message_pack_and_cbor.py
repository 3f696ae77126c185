"""Bytes that are all one MessagePack or CBOR map or array in; its value out, or None.

Both formats have a meaning for nearly every byte, so a value is taken for one of them only where the top is a map with
texts for keys, or an array of such maps, where all bytes are used, and where the other format does not explain it too.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from decoders.errors import DecodeError, LimitExceeded, Malformed, Truncated
from decoders.limits import VALUE_NESTING_MAX, VALUE_PARTS_MAX
from decoders.schema.body_json_form import float_json, json_bytes, string_json
from decoders.values.avro.logical_types import format_timestamp
from decoders.values.shortest_float import shorten_float
from decoders.values.values_that_may_be_encoded import begins_as_binary_json

_F16: Final = Struct(">e")
_F32: Final = Struct(">f")
_F64: Final = Struct(">d")
_SELF_DESCRIBED: Final = b"\xd9\xd9\xf7"
_TIMESTAMP: Final = -1
_HEAD: Final = 18
# How maps and arrays begin.
_MAPS_OF_MSGPACK: Final = frozenset([*range(0x80, 0xA0), *range(0xDC, 0xE0)])
_MAPS_OF_CBOR: Final = frozenset(range(0x80, 0xC0))


def guess_binary_json(data: bytes) -> tuple[str, Any] | None:
    """The format (`msgpack`, `cbor`) and the value; None where neither or both explain all bytes."""
    if data[:3] == _SELF_DESCRIBED:
        found = _read_whole_value(CborReader, data, 3)
        return None if found is None else ("cbor", found[0])
    if not begins_as_binary_json(data[:_HEAD], len(data)):
        return None
    readings = [
        (name, found[0])
        for name, reader, heads in (
            ("msgpack", MessagePackReader, _MAPS_OF_MSGPACK),
            ("cbor", CborReader, _MAPS_OF_CBOR),
        )
        if data[0] in heads and (found := _read_whole_value(reader, data, 0)) is not None and _has_text_keys(found[0])
    ]
    return readings[0] if len(readings) == 1 else None


def _has_text_keys(value: Any) -> bool:
    maps = value if isinstance(value, list) else [value]
    return bool(maps) and all(isinstance(each, dict) and _has_only_text_keys(each) for each in maps)


def _has_only_text_keys(found: dict[Any, Any]) -> bool:
    return bool(found) and all(isinstance(key, str) and key.isprintable() and key for key in found)


def _read_whole_value(reader: type[_BinaryReader], data: bytes, at: int) -> tuple[Any] | None:
    try:
        run = reader(data)
        value, end = run.read(at, 0)
    except DecodeError:
        return None
    return (value,) if end == len(data) else None


class _BinaryReader:
    """What the readers of both formats have in common."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.left = VALUE_PARTS_MAX

    def read(self, at: int, depth: int) -> tuple[Any, int]:
        """The value at `at` in JSON form, and where it ends. Raises DecodeError."""
        raise NotImplementedError

    def read_first_byte(self, at: int, depth: int) -> int:
        """The first byte of a value, which is counted."""
        self.left -= 1
        if self.left < 0 or depth > VALUE_NESTING_MAX:
            raise LimitExceeded("a value of too many parts or levels", offset=at)
        return self.bytes_at(at, 1)[0]

    def bytes_at(self, at: int, size: int) -> bytes:
        if size > len(self.data) - at:
            raise Truncated(f"need {size} bytes, have {len(self.data) - at}", offset=at)
        return self.data[at : at + size]

    def number_at(self, at: int, size: int, *, signed: bool = False) -> int:
        return int.from_bytes(self.bytes_at(at, size), "big", signed=signed)

    def read_array(self, at: int, count: int, depth: int) -> tuple[list[Any], int]:
        if count > len(self.data) - at:
            raise Truncated(f"{count} items, {len(self.data) - at} bytes are left", offset=at)
        found = []
        for _ in range(count):
            value, at = self.read(at, depth + 1)
            found.append(value)
        return found, at

    def read_map(self, at: int, count: int, depth: int) -> tuple[dict[str, Any], int]:
        if count * 2 > len(self.data) - at:
            raise Truncated(f"{count} entries, {len(self.data) - at} bytes are left", offset=at)
        found = {}
        for _ in range(count):
            key, at = self.read(at, depth + 1)
            found[self.key_to_text(key, at, depth)], at = self.read(at, depth + 1)
        return found, at

    def key_to_text(self, key: Any, at: int, depth: int) -> str:
        """A key as text; one that is no text speaks against the format at the top."""
        if not isinstance(key, str) and depth < 2:
            raise Malformed("a key that is no text", offset=at)
        return str(key)


def _float_32(data: bytes) -> Any:
    return float_json(shorten_float(_F32.unpack(data)[0]))


class MessagePackReader(_BinaryReader):
    """Reads MessagePack."""

    def read(self, at: int, depth: int) -> tuple[Any, int]:
        byte = self.read_first_byte(at, depth)
        at += 1
        if byte < 0x80:
            return byte, at
        if byte < 0x90:
            return self.read_map(at, byte & 15, depth)
        if byte < 0xA0:
            return self.read_array(at, byte & 15, depth)
        if byte < 0xC0:
            return string_json(self.bytes_at(at, byte & 31)), at + (byte & 31)
        if byte >= 0xE0:
            return byte - 256, at
        if byte in _CONSTANTS:
            return _CONSTANTS[byte], at
        if byte in _NUMBERS:
            size, form = _NUMBERS[byte]
            return form(self.bytes_at(at, size)), at + size
        if byte not in _SIZES:
            raise Malformed(f"no MessagePack begins with {byte:#x}", offset=at - 1)
        kind, width = _SIZES[byte]
        size = self.number_at(at, width) if width < 16 else 1 << (byte - 0xD4)
        at += width if width < 16 else 0
        if kind == "array":
            return self.read_array(at, size, depth)
        if kind == "map":
            return self.read_map(at, size, depth)
        if kind == "ext":
            code = self.number_at(at, 1, signed=True)
            return _extension_to_json(code, self.bytes_at(at + 1, size)), at + 1 + size
        data = self.bytes_at(at, size)
        return string_json(data) if kind == "str" else json_bytes(data), at + size


_CONSTANTS: Final[dict[int, Any]] = {0xC0: None, 0xC2: False, 0xC3: True}
_NUMBERS: Final[dict[int, tuple[int, Callable[[bytes], Any]]]] = {
    0xCA: (4, _float_32),
    0xCB: (8, lambda data: float_json(_F64.unpack(data)[0])),
    **{0xCC + power: (1 << power, lambda data: int.from_bytes(data, "big")) for power in range(4)},
    **{0xD0 + power: (1 << power, lambda data: int.from_bytes(data, "big", signed=True)) for power in range(4)},
}
# First byte → what it is, and the bytes of its size; 16 where the first byte tells the size.
_SIZES: Final[dict[int, tuple[str, int]]] = {
    **{0xC4 + power: ("bin", 1 << power) for power in range(3)},
    **{0xC7 + power: ("ext", 1 << power) for power in range(3)},
    **{0xD4 + power: ("ext", 16) for power in range(5)},
    **{0xD9 + power: ("str", 1 << power) for power in range(3)},
    **{0xDC + power: ("array", 2 << power) for power in range(2)},
    **{0xDE + power: ("map", 2 << power) for power in range(2)},
}


def _extension_to_json(code: int, data: bytes) -> Any:
    """A timestamp as text; another extension with its number."""
    if code == _TIMESTAMP and len(data) in (4, 8, 12):
        if len(data) == 12:
            nanos, seconds = int.from_bytes(data[:4], "big"), int.from_bytes(data[4:], "big", signed=True)
        else:
            number = int.from_bytes(data, "big")
            nanos, seconds = (number >> 34, number & (1 << 34) - 1) if len(data) == 8 else (0, number)
        form = format_timestamp(seconds * 10**9 + nanos, 1)
        if isinstance(form, str):
            return form
    return {"extension": code, "data": json_bytes(data)}


class CborReader(_BinaryReader):
    """Reads CBOR (RFC 8949); a tag is left out, except of large numbers, which are texts."""

    def read(self, at: int, depth: int) -> tuple[Any, int]:
        byte = self.read_first_byte(at, depth)
        major, more = byte >> 5, byte & 31
        at += 1
        if major == 7:
            return self.read_simple(at, more)
        if more == 31 and 2 <= major <= 5:
            return self.read_indefinite_length(major, at, depth)
        if more > 27:
            raise Malformed(f"no CBOR begins with {byte:#x}", offset=at - 1)
        number = more
        if more > 23:
            width = 1 << (more - 24)
            number = self.number_at(at, width)
            at += width
        if major < 2:
            number = number if not major else -1 - number
            return number if number >= -(1 << 63) else str(number), at
        if major == 4:
            return self.read_array(at, number, depth)
        if major == 5:
            return self.read_map(at, number, depth)
        if major == 6:
            return self.read_tagged(number, at, depth)
        data = self.bytes_at(at, number)
        return string_json(data) if major == 3 else json_bytes(data), at + number

    def read_simple(self, at: int, more: int) -> tuple[Any, int]:
        if 20 <= more <= 23:
            return (False, True, None, None)[more - 20], at
        if more == 25:
            return float_json(_F16.unpack(self.bytes_at(at, 2))[0]), at + 2
        if more == 26:
            return _float_32(self.bytes_at(at, 4)), at + 4
        if more == 27:
            return float_json(_F64.unpack(self.bytes_at(at, 8))[0]), at + 8
        raise Malformed(f"no simple value {more}", offset=at - 1)

    def read_tagged(self, tag: int, at: int, depth: int) -> tuple[Any, int]:
        head = self.bytes_at(at, 1)[0]
        if tag in (2, 3) and head >> 5 == 2 and head & 31 < 24:
            size = head & 31
            number = int.from_bytes(self.bytes_at(at + 1, size), "big")
            return str(number if tag == 2 else -1 - number), at + 1 + size
        return self.read(at, depth + 1)

    def read_indefinite_length(self, major: int, at: int, depth: int) -> tuple[Any, int]:
        """An array, a map, a text or bytes up to the mark of its end."""
        parts: list[Any] = []
        entries: dict[str, Any] = {}
        while self.bytes_at(at, 1)[0] != 0xFF:
            if major in (2, 3) and self.data[at] >> 5 != major:
                raise Malformed("a piece of another kind", offset=at)
            part, at = self.read(at, depth + 1)
            if major == 5:
                entries[self.key_to_text(part, at, depth)], at = self.read(at, depth + 1)
            else:
                parts.append(part)
        if major == 5:
            return entries, at + 1
        if major == 4:
            return parts, at + 1
        return "".join(part if isinstance(part, str) else "�" for part in parts), at + 1
