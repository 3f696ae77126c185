"""Primitive types one at a time: bytes and an offset in, a value and the offset after it out; and back.

This is the plain, exact form that the walker uses; generated code packs and unpacks the same types in groups.

"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from operator import index
from struct import Struct
from typing import Final
from uuid import UUID

from decoders.errors import Malformed, Truncated
from decoders.wire.format_and_escape_text import format_bytes


def read_uvarint(buf: bytes, at: int, end: int, bits: int = 32) -> tuple[int, int]:
    """The unsigned varint at `at` that must end before `end`. Raises Truncated or Malformed."""
    value = shift = 0
    start = at
    while True:
        if at >= end:
            raise Truncated("the bytes end inside a varint", offset=start)
        byte = buf[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
        if shift >= bits:
            raise Malformed(f"a varint of more than {(bits + 6) // 7} bytes", offset=start)
    if value >> bits:
        raise Malformed(f"a varint beyond {bits} bits", offset=start)
    return value, at


def read_varint(buf: bytes, at: int, end: int) -> tuple[int, int]:
    """The zigzag varint of 32 bits at `at`."""
    value, at = read_uvarint(buf, at, end)
    return (value >> 1) ^ -(value & 1), at


def read_varlong(buf: bytes, at: int, end: int) -> tuple[int, int]:
    """The zigzag varint of 64 bits at `at`."""
    value, at = read_uvarint(buf, at, end, 64)
    return (value >> 1) ^ -(value & 1), at


def encode_uvarint(value: int) -> bytes:
    """The shortest unsigned varint of a value that is not negative."""
    if value < 0x80:
        return _ONE_BYTE[value]
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def encode_varint(value: int) -> bytes:
    """The zigzag varint of a signed value of 32 bits."""
    return encode_uvarint((value << 1) ^ (value >> 31))


def encode_varlong(value: int) -> bytes:
    """The zigzag varint of a signed value of 64 bits."""
    return encode_uvarint((value << 1) ^ (value >> 63))


_ONE_BYTE = [bytes([value]) for value in range(0x80)]

# Primitive types one at a time

# This is the plain, exact form that the walker uses; generated code packs and unpacks the same types in groups.


# The struct module's letter for each type of fixed size. A bool is true when its byte is not 0.
LETTERS: Final[dict[str, str]] = {
    "bool": "?",
    "int8": "b",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "float64": "d",
    "uuid": "16s",
}
RANGES: Final[dict[str, tuple[int, int]]] = {
    "int8": (-(1 << 7), (1 << 7) - 1),
    "int16": (-(1 << 15), (1 << 15) - 1),
    "uint16": (0, (1 << 16) - 1),
    "int32": (-(1 << 31), (1 << 31) - 1),
    "uint32": (0, (1 << 32) - 1),
    "int64": (-(1 << 63), (1 << 63) - 1),
    "varint": (-(1 << 31), (1 << 31) - 1),
    "varlong": (-(1 << 63), (1 << 63) - 1),
    "uvarint": (0, (1 << 32) - 1),
}
STRUCTS: Final = {kind: Struct(">" + letter) for kind, letter in LETTERS.items()}
VARINTS: Final[dict[str, Callable[[bytes, int, int], tuple[int, int]]]] = {
    "varint": read_varint,
    "varlong": read_varlong,
    "uvarint": read_uvarint,
}
_VARINT_WRITERS: Final = {"varint": encode_varint, "varlong": encode_varlong, "uvarint": encode_uvarint}
INT16: Final = STRUCTS["int16"]
INT32: Final = STRUCTS["int32"]


def read_number(kind: str, buf: bytes, at: int, end: int) -> tuple[object, int]:
    """A value of a fixed type or a varint, and the offset after it."""
    reader = VARINTS.get(kind)
    if reader is not None:
        return reader(buf, at, end)
    form = STRUCTS[kind]
    after = at + form.size
    if after > end:
        raise Truncated(f"{kind} needs {format_bytes(form.size)}, {max(end - at, 0)} are left", offset=at)
    (value,) = form.unpack_from(buf, at)
    return (UUID(bytes=value) if kind == "uuid" else value), after


# What is wrong with a null that is not allowed, for errors and for the remark of who reads it all the same.
NULL_FORBIDDEN: Final = "null where null is not allowed"


def read_size(wide: bool, compact: bool, nullable: bool, buf: bytes, at: int, end: int) -> tuple[int, int]:
    """The length or count before a string, bytes or an array (-1: null) and the offset after it.

    Compact sizes are an unsigned varint of size + 1; others are int32 (`wide`) or int16, negative for null.
    """
    start = at
    if compact:
        size, at = read_uvarint(buf, at, end)
        size -= 1
    else:
        number, at = read_number("int32" if wide else "int16", buf, at, end)
        size = index(number)  # type: ignore[arg-type]  # int16 and int32 read as int
    if size < 0:
        if size < -1:
            raise Malformed(f"a length of {size}", offset=start)
        if not nullable:
            raise Malformed(NULL_FORBIDDEN, offset=start)
    return size, at


def encode_size(size: int, wide: bool, compact: bool) -> bytes:
    """The bytes of the length or count before a string, bytes or an array (-1: null); ValueError if it does not fit."""
    if compact:
        return encode_uvarint(size + 1)
    form = INT32 if wide else INT16
    if size >> (8 * form.size - 1) > 0:
        raise ValueError(f"{size} is too long for a length of {form.size} bytes")
    return form.pack(size)


def encode_number(kind: str, value: object) -> bytes:
    """The bytes of a fixed type or a varint. Raises ValueError that says what is wrong with the value."""
    if kind == "uuid":
        return uuid_to_bytes(value)
    if kind == "bool":
        if value is True or value is False or (isinstance(value, int) and value in (0, 1)):
            return b"\1" if value else b"\0"
        raise ValueError(f"true or false expected, not {value!r:.80}")
    if kind == "float64":
        return STRUCTS[kind].pack(_to_float(value))
    try:
        number = index(value)  # type: ignore[arg-type]  # anything that is no integer raises TypeError
    except TypeError:
        raise ValueError(f"{kind} expected, not {value!r:.80}") from None
    low, high = RANGES[kind]
    if not low <= number <= high:
        raise ValueError(f"{number} is outside {kind} ({low} to {high})")
    writer = _VARINT_WRITERS.get(kind)
    return writer(number) if writer is not None else STRUCTS[kind].pack(number)


def _to_float(value: object) -> float:
    if isinstance(value, float | int):
        try:
            return float(value)
        except OverflowError:
            raise ValueError(f"{value} is outside float64") from None
    if value in ("NaN", "Infinity", "-Infinity"):
        return float(str(value))
    raise ValueError(f"float64 expected, not {value!r:.80}")


def uuid_to_bytes(value: object) -> bytes:
    """The 16 bytes of a UUID, from 16 bytes, or from text (22 characters as Kafka prints it, or hex with dashes)."""
    if isinstance(value, UUID):
        return value.bytes
    if isinstance(value, bytes) and len(value) == 16:
        return value
    if isinstance(value, str):
        try:
            if len(value) == 22 and value.isascii():
                data = urlsafe_b64decode(value + "==")
                if len(data) == 16:
                    return data
            return UUID(value).bytes
        except ValueError:
            pass
    raise ValueError(f"a uuid expected, not {value!r:.80}")


def format_uuid(value: bytes) -> str:
    """16 bytes as Kafka prints a uuid: URL-safe base64 without padding."""
    return urlsafe_b64encode(value)[:22].decode()


def encode_text(value: object) -> bytes:
    """The bytes of a string; characters from surrogateescape become the bytes that they stand for."""
    if not isinstance(value, str):
        raise ValueError(f"a string expected, not {value!r:.80}")
    try:
        return value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as failure:
        raise ValueError(f"no text: {failure.reason}") from None


def check_bytes_left(count: int, least: int, at: int, end: int) -> None:
    """Raise Truncated where elements of at least `least` bytes each cannot be in the bytes left."""
    if count * least > end - at:
        raise Truncated(
            f"{count} elements need {format_bytes(count * least)} or more, {max(end - at, 0)} are left", offset=at
        )
