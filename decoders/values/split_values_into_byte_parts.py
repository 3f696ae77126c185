"""A decoded value and its bytes in; which bytes are which field out: the prefix, then the fields of Avro and Protobuf.

The plain readers do the reading; the classes here note where each part begins and ends. Parts are those of
schema/plan_walker.py, with paths below `value`, values as text, and no gap between them. At most VALUE_SPANS_MAX parts
of one value are named; the bytes after them are one part, and so are those that cannot be read.
"""

from __future__ import annotations

import re
from typing import Any, Final
from uuid import UUID

import orjson

from decoders.errors import DecodeError, LimitExceeded
from decoders.limits import VALUE_SPANS_MAX
from decoders.schema.plan_walker import BytePart, What
from decoders.values.avro.avro_decoder import AvroDecoder
from decoders.values.avro.avro_schema import AvroType
from decoders.values.avro.avro_walker import AvroWalker, read_long
from decoders.values.parse_schema import ValueReading
from decoders.values.protobuf.protobuf_decoder import ProtobufReader, read_varint_64
from decoders.values.protobuf.protobuf_schema import UNKNOWN_FIELDS, ProtobufSchema, ProtoField, ProtoMessage

__all__ = ["split_value_into_parts"]

# What a component of a path is not: separators of paths, and anything that a terminal obeys.
_STRANGE: Final = re.compile(r"[^\w$-]")
_NAME_MAX: Final = 64
_INDEX: Final = re.compile(r"\[\d+\]")
_TEXT_MAX: Final = 1 << 12
_SIZED: Final = frozenset({"string", "bytes"})


class _Parts:
    """The parts of one value; each begins where the one before ended."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.last = 0
        self.found: list[BytePart] = []
        self.entries: dict[str, int] = {}  # how many entries of a map have come

    def add(self, path: str, end: int, what: What, value: Any, kind: str = "") -> None:
        """Add the bytes up to `end`. Raises LimitExceeded."""
        if len(self.found) >= VALUE_SPANS_MAX:
            raise LimitExceeded(f"more than {VALUE_SPANS_MAX:,} fields to name", offset=self.last)
        self.found.append(BytePart(path, self.last, end, what, value, kind, foreign=True))
        self.last = end


def split_value_into_parts(data: bytes, reading: ValueReading, path: str) -> list[BytePart]:
    """The parts of a value, whose offsets count from its first byte; none where it has neither prefix nor fields."""
    parts = _Parts(path)
    _add_parts_before_body(parts, data, reading)
    try:
        if reading.framing.is_zlib or reading.framing.is_json:
            pass  # the fields are not in these bytes
        elif isinstance(reading.schema, AvroDecoder) and reading.schema.kind.kind == "bytes":
            pass  # which may stand there without a size
        elif isinstance(reading.schema, AvroDecoder):
            _AvroSpans(data, parts).read(reading.schema.kind, reading.framing.at)
        elif reading.schema is not None and reading.message is not None:
            _ProtobufSpans(reading.schema, data, parts).read(reading.message, reading.at)
    except DecodeError as failure:
        if parts.found:
            parts.found.append(BytePart(path, parts.last, len(data), "value", failure.text, "bytes", foreign=True))
            parts.last = len(data)
    if parts.found and parts.last < len(data):
        parts.found.append(BytePart(path, parts.last, len(data), "value", data[parts.last :], "bytes", foreign=True))
    return parts.found


def _add_parts_before_body(parts: _Parts, data: bytes, reading: ValueReading) -> None:
    """The parts before the body: magic, id, what names the message."""
    framing, path = reading.framing, parts.path
    if not framing.at:
        return
    parts.add(f"{path}.magic", 2 if framing.fingerprint else 1, "value", data[: 2 if framing.fingerprint else 1].hex())
    if framing.schema_id is not None:
        kind = "int32" if framing.at == 5 else "int64"
        parts.add(f"{path}.schema id", framing.at, "value", str(framing.schema_id), kind)
    elif framing.guid is not None:
        if framing.at == 18:
            parts.add(f"{path}.compression", 2, "value", "zlib" if framing.is_zlib else "none", "int8")
        parts.add(f"{path}.schema id", framing.at, "value", str(UUID(framing.guid)), "uuid")
    else:
        parts.add(f"{path}.fingerprint", framing.at, "value", data[2 : framing.at].hex(), "uint64")
    if reading.message is not None and reading.at > framing.at:
        parts.add(
            f"{path}.message",
            reading.at,
            "value",
            _shorten_and_clean_name(reading.message.name, dots=True),
            "message indexes",
        )


def _shorten_and_clean_name(name: str, *, dots: bool = False) -> str:
    text = name[-_NAME_MAX:] if dots else name[:_NAME_MAX]
    return ".".join(_STRANGE.sub("_", each) for each in text.split(".")) if dots else _STRANGE.sub("_", text)


def _format_value(value: Any) -> Any:
    """A value in JSON form as text; bytes as they are."""
    if value is None:
        return "–"
    if isinstance(value, str | bytes):
        return value[:_TEXT_MAX]
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | float) else orjson.dumps(value).decode()[:_TEXT_MAX]


class _AvroSpans(AvroWalker):
    """Reads a value of Avro."""

    def __init__(self, buf: bytes, parts: _Parts) -> None:
        super().__init__(buf)
        self._parts = parts
        self._path = parts.path

    def read(self, kind: AvroType, at: int, depth: int = 0) -> tuple[Any, int]:
        """Read a value, and note its parts."""
        if kind.kind == "union":
            number, end = read_long(self.buf, at)
            branch = kind.branches[number].kind if 0 <= number < len(kind.branches) else "?"
            self._parts.add(self._path, end, "flag", 1, f"union of {branch}")
            return super().read(kind, at, depth)
        found, end = super().read(kind, at, depth)
        if kind.kind in ("record", "array", "map"):
            return found, end
        shown = found
        if kind.kind in _SIZED:
            size, at = read_long(self.buf, at)
            self._parts.add(self._path, at, "size", size, kind.logical or kind.kind)
        if isinstance(found, dict) and not kind.logical:
            shown = self.buf[at:end]
        self._parts.add(self._path, end, "value", _format_value(shown), kind.logical or kind.kind)
        return found, end

    def read_part(self, kind: AvroType, at: int, depth: int, step: str) -> tuple[Any, int]:
        """Read a part; bytes before it that no part has are the key of a map's entry."""
        outer, parts = self._path, self._parts
        if at > parts.last:
            number = parts.entries.get(outer, 0)
            parts.entries[outer] = number + 1
            parts.add(f"{outer}[{number}].key", at, "value", _format_value(step), "string")
            self._path = f"{outer}[{number}].value"
        else:
            self._path = f"{outer}{step}" if _INDEX.fullmatch(step) else f"{outer}.{_shorten_and_clean_name(step)}"
        try:
            return super().read_part(kind, at, depth, step)
        finally:
            self._path = outer

    def _read_block_count(self, kind: AvroType, at: int) -> tuple[int, int]:
        count, end = super()._read_block_count(kind, at)
        text = f"{count:,} element{'s' * (count != 1)}" if count else f"end of the {kind.kind}"
        self._parts.add(self._path, end, "value", text, f"block of {kind.kind}")
        return count, end


class _ProtobufSpans(ProtobufReader):
    """Reads a message of Protobuf."""

    def __init__(self, schema: ProtobufSchema, buf: bytes, parts: _Parts) -> None:
        super().__init__(schema, buf)
        self._parts = parts
        self._path = parts.path
        self._inside = False  # bytes that a value of the type Any holds, which are read a second time

    def read_field(
        self, field: ProtoField, message: ProtoMessage, found: dict[str, Any], wire: int, at: int, end: int, depth: int
    ) -> int:
        """Read a field, and note its tag, size and value."""
        if self._inside:
            return super().read_field(field, message, found, wire, at, end, depth)
        outer, parts = self._path, self._parts
        path = f"{outer}.{_shorten_and_clean_name(field.name)}"
        had = found.get(field.name)
        packed = field.is_repeated and wire == 2 and field.wire != 2
        if (field.is_repeated and not packed) or field.kind == "map":
            number = parts.entries.get(path, 0)
            parts.entries[path] = number + 1
            path = f"{path}[{number}]"
        before = len(had) if isinstance(had, list) else 0
        parts.add(path, at, "tag", field.number)
        if wire == 2:
            size, content = read_varint_64(self.buf, at, end)
            parts.add(path, content, "size", size)
        self._path = path
        try:
            after = super().read_field(field, message, found, wire, at, end, depth)
        finally:
            self._path = outer
        if parts.last < after:
            value = found.get(field.name)
            shown: Any
            if packed and isinstance(value, list):
                shown = ",".join(map(str, value[before : before + _TEXT_MAX]))
            elif field.kind == "bytes":
                shown = self.buf[parts.last : after]
            elif field.message is not None:
                shown = "end of the group"
            else:
                shown = _format_value(value[-1] if isinstance(value, list) and value else value)
            parts.add(path, after, "value", shown, field.kind)
        return after

    def read_unknown(self, number: int, wire: int, at: int, end: int, depth: int) -> tuple[Any, int]:
        """Read a field that the schema does not have."""
        if self._inside:
            return super().read_unknown(number, wire, at, end, depth)
        path = f"{self._path}.{UNKNOWN_FIELDS}.{number}"
        self._parts.add(path, at, "tag", number)
        self._inside = True  # what an unknown group holds is shown as a whole
        try:
            value, after = super().read_unknown(number, wire, at, end, depth)
        finally:
            self._inside = False
        self._parts.add(path, after, "value", _format_value(value), "unknown")
        return value, after

    def any_message_to_json(self, found: dict[str, Any], depth: int) -> dict[str, Any]:
        """The form of a message of any type, whose bytes have been noted."""
        outer, self._inside = self._inside, True
        try:
            return super().any_message_to_json(found, depth)
        finally:
            self._inside = outer
