"""What generated decoders call for the uncommon: long sizes, counts, tags, text that is no UTF-8.

Nothing here knows paths: a failure is `Crude`, and the walker then says where it is.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from struct import error as struct_error
from typing import Any, Final
from uuid import UUID, SafeUUID

from decoders.limits import ERRORS_SHOWN_MAX, TAGS_MAX
from decoders.schema.form import base64_json
from decoders.wire.primitives import uuid_text

Unpack = Callable[[bytes, int], tuple[Any, ...]]


class Crude(Exception):
    """Generated code cannot go on; only the walker knows why."""


# All that may come out of a generated decoder for bytes that are no such message.
CRUDE: Final = (Crude, struct_error, IndexError, OverflowError)
# All that a generated encoder may raise for a value that it cannot take.
ENCODE_CRUDE: Final = (Crude, struct_error, LookupError, TypeError, AttributeError, ValueError, OverflowError)

# Sizes of 7 bits stand in one byte; tables of structs are as long as that.
SHORT: Final = 128
# By count plus one: 0, 1, 2 … below the count. Looking one up is a third of the cost of making one.
RANGES: Final = [range(number - 1) for number in range(SHORT + 1)]
# Sizes up to which a struct of its own is kept for strings with int16 sizes.
KEPT: Final = 512
# Ids that are remembered.
KEPT_VALUES: Final = 10_000


def short_table(form: str, after: str, bias: int) -> list[Unpack]:
    """unpack_from by size: entry n unpacks `form` for n - bias items, then `after`; each is made when first used."""
    entries: list[Unpack] = []

    def maker(number: int) -> Unpack:
        def first(buf: bytes, at: int) -> tuple[Any, ...]:
            entries[number] = unpack = Struct(_format(form, number - bias, after)).unpack_from
            return unpack(buf, at)

        return first

    entries += [maker(number) for number in range(SHORT)]
    return entries


class LongTable(dict[int, Unpack]):
    """unpack_from by size, for sizes beyond a byte."""

    def __init__(self, form: str, after: str) -> None:
        super().__init__()
        self._form = form
        self._after = after

    def __missing__(self, size: int) -> Unpack:
        unpack = Struct(_format(self._form, size, self._after)).unpack_from
        if size < KEPT:
            self[size] = unpack
        return unpack


def _format(form: str, count: int, after: str) -> str:
    return ">" + (form % count if "%d" in form else form * count) + after


def many(letter: str, count: int) -> Unpack:
    """unpack_from for an array too long for the tables."""
    return Struct(_format("%d" + letter if len(letter) == 1 else letter, count, "")).unpack_from


def uvarint(buf: bytes, at: int) -> tuple[int, int]:
    """The unsigned varint at `at`, and the offset after it."""
    value = buf[at]
    if value < 0x80:
        return value, at + 1
    byte = buf[at + 1]
    value = value & 0x7F | (byte & 0x7F) << 7
    if byte < 0x80:
        return value, at + 2
    shift = 14
    at += 2
    while shift < 35:
        byte = buf[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value >> 32:
                break
            return value, at
        shift += 7
    raise Crude


def size(buf: bytes, at: int, end: int) -> tuple[int, int]:
    """The compact size at `at` of something that may not be null, which must end by `end`."""
    value, at = uvarint(buf, at)
    if not value or at + value - 1 > end:
        raise Crude
    return value - 1, at


def size_or_null(buf: bytes, at: int, end: int) -> tuple[int, int]:
    """The compact size at `at`, -1 for null."""
    value, at = uvarint(buf, at)
    if at + value - 1 > end:
        raise Crude
    return value - 1, at


def long_data(buf: bytes, at: int, end: int) -> tuple[bytes, int]:
    """Bytes with their compact size before them."""
    count, at = size(buf, at, end)
    return buf[at : at + count], at + count


def long_data_or_null(buf: bytes, at: int, end: int) -> tuple[bytes | None, int]:
    """Bytes with their compact size before them, or null."""
    count, at = size_or_null(buf, at, end)
    return (None, at) if count < 0 else (buf[at : at + count], at + count)


def long_count(buf: bytes, at: int, end: int, least: int) -> tuple[int, int]:
    """The compact count at `at`, plus one, of elements of at least `least` bytes."""
    value, at = uvarint(buf, at)
    if not value or (value - 1) * least > end - at:
        raise Crude
    return value, at


def long_count_or_null(buf: bytes, at: int, end: int, least: int) -> tuple[int, int]:
    """As long_count, 0 for null."""
    value, at = uvarint(buf, at)
    if value and (value - 1) * least > end - at:
        raise Crude
    return value, at


def count(number: int, at: int, end: int, least: int) -> int:
    """An int32 count checked against what is left."""
    if number < 0 or number * least > end - at:
        raise Crude
    return number


def count_or_null(number: int, at: int, end: int, least: int) -> int:
    """As count, -1 for null."""
    if number < -1 or number * least > end - at:
        raise Crude
    return number


def add_error(found: list[tuple[str, int]], place: str, code: int) -> None:
    """Add an error code to those of the message, of which no more are kept than are listed."""
    if len(found) < ERRORS_SHOWN_MAX:
        found.append((place, code))


def spend(left: list[int], values: int) -> None:
    """Count values of a large message against VALUES_MAX."""
    left[0] -= values
    if left[0] < 0:
        raise Crude


def room(left: list[int], count: int) -> int:
    """How many of so many elements a projection of a large message keeps; they are counted."""
    kept = min(count, left[1])
    left[1] -= kept
    return kept


def varint(buf: bytes, at: int) -> tuple[int, int]:
    """A zigzag varint of 32 bits."""
    value, at = uvarint(buf, at)
    return (value >> 1) ^ -(value & 1), at


def varlong(buf: bytes, at: int) -> tuple[int, int]:
    """A zigzag varint of 64 bits."""
    value = shift = 0
    while shift < 70:
        byte = buf[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value >> 64:
                break
            return (value >> 1) ^ -(value & 1), at
        shift += 7
    raise Crude


def text(data: bytes) -> str:
    """A string whatever its bytes are."""
    return data.decode("utf-8", "surrogateescape")


_new_uuid = UUID.__new__
_set_int = UUID.__dict__["int"].__set__
_set_safe = UUID.__dict__["is_safe"].__set__
_from_bytes = int.from_bytes


class Kept(dict[bytes, Any]):
    """Values by their bytes, each made when first asked for: few ids come again and again."""

    def __init__(self, make: Callable[[bytes], Any]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, data: bytes) -> Any:
        if len(self) >= KEPT_VALUES:
            self.clear()
        value = self[data] = self._make(data)
        return value


def _uuid(data: bytes) -> UUID:
    value = _new_uuid(UUID)
    _set_int(value, _from_bytes(data, "big"))
    _set_safe(value, SafeUUID.unknown)
    return value


# UUIDs by their 16 bytes, and as Kafka prints them.
uuids: Final = Kept(_uuid)
uuid_texts: Final = Kept(uuid_text)


def put_last(into: dict[str, Any], names: tuple[str, ...], unknown: dict[int, bytes]) -> None:
    """Bring tagged fields into ascending order, however they came, and add the unknown ones."""
    for name in names:
        if name in into:
            into[name] = into.pop(name)
    if unknown:
        into["_tagged_fields"] = dict(sorted(unknown.items()))


def put_last_json(into: dict[str, Any], names: tuple[str, ...], unknown: dict[int, bytes]) -> None:
    """As put_last, in JSON form."""
    put_last(into, names, unknown)
    if unknown:
        into["_tagged_fields"] = {str(tag): base64_json(unknown[tag]) for tag in into["_tagged_fields"]}


def long_skip(buf: bytes, at: int, end: int) -> int:
    """The offset after bytes with their compact size before them."""
    count, at = size(buf, at, end)
    return at + count


def long_skip_or_null(buf: bytes, at: int, end: int) -> int:
    """The offset after bytes with their compact size before them, or null."""
    count, at = size_or_null(buf, at, end)
    return at + count if count > 0 else at


def tag_count(buf: bytes, at: int, end: int, left: list[int] | None) -> tuple[int, int]:
    """The number of tagged fields, checked against what is left, and the offset after it."""
    number, at = uvarint(buf, at)
    if number * 2 > end - at or number > TAGS_MAX:
        raise Crude
    if left is not None:
        spend(left, number)
    return number, at


def skip_tags(buf: bytes, at: int, end: int, left: list[int] | None = None) -> int:
    """The offset after a tag section that holds nothing known."""
    number, at = tag_count(buf, at, end, left)
    for _ in range(number):
        _, at = uvarint(buf, at)
        count, at = uvarint(buf, at)
        at += count
        if at > end:
            raise Crude
    return at


def read_tags(buf: bytes, at: int, end: int, into: dict[str, Any], left: list[int] | None = None) -> int:
    """Read a tag section that holds nothing known; the offset after it."""
    number, at = tag_count(buf, at, end, left)
    unknown: dict[int, bytes] = {}
    for _ in range(number):
        tag, at = uvarint(buf, at)
        count, at = uvarint(buf, at)
        stop = at + count
        if stop > end:
            raise Crude
        unknown[tag] = buf[at:stop]
        at = stop
    put_last(into, (), unknown)
    return at


def read_tags_json(buf: bytes, at: int, end: int, into: dict[str, Any], left: list[int] | None = None) -> int:
    """As read_tags, in JSON form."""
    at = read_tags(buf, at, end, into, left)
    if "_tagged_fields" in into:
        into["_tagged_fields"] = {str(tag): base64_json(data) for tag, data in into["_tagged_fields"].items()}
    return at
