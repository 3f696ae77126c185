"""The JSON text of an Avro schema in, its types (full names, no references left), canonical form and fingerprint out.

Attributes that a reader does not need (doc, aliases, order) are not kept. A logical type that does not fit the type
under it is left out, as the specification of Avro 1.12 says.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any, Final

import orjson

from decoders.errors import LimitExceeded, Malformed
from decoders.limits import SCHEMA_NESTING_MAX, SCHEMA_SIZE_MAX, SCHEMA_TYPES_MAX

PRIMITIVES: Final = frozenset(["null", "boolean", "int", "long", "float", "double", "bytes", "string"])
_NAMED: Final = frozenset(["record", "error", "enum", "fixed"])
# Logical type → the types that may be under it.
_LOGICAL: Final[dict[str, tuple[str, ...]]] = {
    "decimal": ("bytes", "fixed"),
    "uuid": ("string", "fixed"),
    "date": ("int",),
    "time-millis": ("int",),
    "time-micros": ("long",),
    "timestamp-millis": ("long",),
    "timestamp-micros": ("long",),
    "timestamp-nanos": ("long",),
    "local-timestamp-millis": ("long",),
    "local-timestamp-micros": ("long",),
    "local-timestamp-nanos": ("long",),
    "duration": ("fixed",),
}
_FIXED_SIZES: Final = {"uuid": 16, "duration": 12}
# Digits behind the point of a decimal: money and measures have some ten.
_SCALE_MAX: Final = 1000
_LEAST_SIZES: Final = {"null": 0, "float": 4, "double": 8}


class UnknownName(Malformed):
    """A type's name that nothing defines, which a schema that comes later may do."""

    name = ""


class AvroField:
    """A field of a record; `default` is what an encoder writes where the value lacks it."""

    __slots__ = ("default", "has_default", "name", "type")

    def __init__(self, name: str, kind: AvroType, source: Mapping[str, Any]) -> None:
        self.name = name
        self.type = kind
        self.has_default = "default" in source
        self.default = source.get("default")


class AvroType:
    """A type. `kind` is its word in the specification; the other attributes are those that this kind has.

    `least_size`: the fewest bytes of a value. `weight`: how many values its fixed parts have, at most; arrays, maps and
    types that contain themselves count as one.
    """

    __slots__ = (
        "branches", "fields", "is_complete", "is_recursive", "items", "kind", "least_size", "levels", "logical", "name",
        "scale", "size", "symbols", "weight",
    )  # fmt: skip

    def __init__(self, kind: str, name: str = "") -> None:
        self.kind = kind
        self.name = name
        self.logical = ""
        self.scale = 0
        self.size = 0
        self.symbols: tuple[str, ...] = ()
        self.fields: tuple[AvroField, ...] = ()
        self.branches: tuple[AvroType, ...] = ()
        self.items: AvroType | None = None
        self.least_size = _LEAST_SIZES.get(kind, 1)
        self.weight = 1
        self.levels = 1
        self.is_complete = True
        self.is_recursive = False

    def list_inner_types(self) -> Iterator[AvroType]:
        """The types that values of this one hold."""
        if self.items is not None:
            yield self.items
        yield from self.branches
        for field in self.fields:
            yield field.type

    def set_levels_and_sizes(self) -> None:
        """Set what follows from the parts, which are all there. Raises LimitExceeded."""
        parts = [*self.list_inner_types()]
        self.levels = 1 + max((part.levels for part in parts if part.is_complete), default=0)
        if self.levels > SCHEMA_NESTING_MAX:
            raise LimitExceeded(f"an Avro schema of more than {SCHEMA_NESTING_MAX} levels")
        if self.branches:
            self.weight = 1 + max(part.weight for part in parts)
            self.least_size = 1 + min(part.least_size for part in parts)
        elif self.kind == "record":
            self.weight = 1 + sum(part.weight for part in parts)
            self.least_size = sum(part.least_size for part in parts)
        if self.weight > SCHEMA_TYPES_MAX:
            raise LimitExceeded(f"an Avro schema whose values have more than {SCHEMA_TYPES_MAX} parts")


def parse_avro_schema(text: str, known: Mapping[str, AvroType] | None = None) -> AvroType:
    """The type that a schema's text describes; `known` has the types of schemas that it refers to, by full name.

    Raises DecodeError, UnknownName for a name that is not defined.
    """
    return _Parsing(known).parse(text)


def collect_named_types(root: AvroType) -> dict[str, AvroType]:
    """The types with a name in a type, by full name."""
    found: dict[str, AvroType] = {}
    left, seen = [root], {id(root)}
    while left:
        one = left.pop()
        if one.name:
            found[one.name] = one
        for part in one.list_inner_types():
            if id(part) not in seen:
                seen.add(id(part))
                left.append(part)
    return found


class _Parsing:
    """One run over a schema: the names that are defined so far, and how many types there are."""

    def __init__(self, known: Mapping[str, AvroType] | None) -> None:
        self.names: MutableMapping[str, AvroType] = dict(known or {})
        self.count = 0

    def parse(self, text: str) -> AvroType:
        if len(text) > SCHEMA_SIZE_MAX:
            raise LimitExceeded(f"a schema of more than {SCHEMA_SIZE_MAX} characters")
        try:
            source = orjson.loads(text)
        except ValueError:
            # An .avsc of one name, and what some registries answer for a primitive.
            source = text.strip()
            if source not in PRIMITIVES:
                raise Malformed("no JSON") from None
        return self.parse_type(source, "", 0)

    def parse_type(self, source: Any, namespace: str, depth: int) -> AvroType:
        self.count += 1
        if self.count > SCHEMA_TYPES_MAX or depth > SCHEMA_NESTING_MAX:
            raise LimitExceeded("an Avro schema of too many types")
        if isinstance(source, str):
            return self.find_type_by_name(source, namespace)
        if isinstance(source, list):
            union = AvroType("union")
            union.branches = tuple(self.parse_type(branch, namespace, depth + 1) for branch in source)
            if not union.branches or any(branch.kind == "union" for branch in union.branches):
                raise Malformed("a union of nothing, or of unions")
            union.set_levels_and_sizes()
            return union
        if not isinstance(source, dict) or "type" not in source:
            raise Malformed("no type where one should be")
        kind = source["type"]
        if not isinstance(kind, str):
            return self.parse_type(kind, namespace, depth + 1)
        if kind in _NAMED:
            return self.parse_named_type(source, kind, namespace, depth)
        if kind in ("array", "map"):
            made = AvroType(kind)
            made.items = self.parse_type(source.get("items" if kind == "array" else "values"), namespace, depth + 1)
            made.set_levels_and_sizes()
            return made
        made = self.find_type_by_name(kind, namespace)
        if kind in PRIMITIVES:
            add_logical_type(made, source)
        return made

    def find_type_by_name(self, name: str, namespace: str) -> AvroType:
        if name in PRIMITIVES:
            return AvroType(name)
        full = name if "." in name or not namespace else f"{namespace}.{name}"
        found = self.names.get(full) or self.names.get(name)
        if found is None:
            failure = UnknownName(f"no type is called {full!r}")
            failure.name = full
            raise failure
        if not found.is_complete:
            found.is_recursive = True
        return found

    def parse_named_type(self, source: Mapping[str, Any], kind: str, namespace: str, depth: int) -> AvroType:
        name, space = source.get("name"), source.get("namespace")
        if not isinstance(name, str) or not name:
            raise Malformed(f"a type {kind} without name")
        if "." not in name:
            space = space if isinstance(space, str) else namespace
            name = f"{space}.{name}" if space else name
        made = self.names[name] = AvroType("record" if kind == "error" else kind, name)
        if kind == "enum":
            symbols = source.get("symbols")
            if not isinstance(symbols, list) or not all(isinstance(symbol, str) for symbol in symbols):
                raise Malformed(f"the enum {name} without symbols")
            made.symbols = tuple(symbols)
        elif kind == "fixed":
            size = source.get("size")
            if not isinstance(size, int) or size < 0:
                raise Malformed(f"the fixed {name} without size")
            made.size = made.least_size = size
            add_logical_type(made, source)
        else:
            self.add_fields(made, source, depth)
        return made

    def add_fields(self, avro_type: AvroType, source: Mapping[str, Any], depth: int) -> None:
        fields = source.get("fields")
        if not isinstance(fields, list):
            raise Malformed(f"the record {avro_type.name} without fields")
        avro_type.is_complete = False
        avro_type.least_size = 0  # as long as its fields are not known: a type that contains itself may have no bytes
        found: dict[str, AvroField] = {}
        for field in fields:
            if not isinstance(field, dict) or not isinstance(field.get("name"), str) or "type" not in field:
                raise Malformed(f"a field of {avro_type.name} without name or type")
            name = field["name"]
            kind = self.parse_type(field["type"], avro_type.name.rpartition(".")[0], depth + 1)
            if name in found:
                raise Malformed(f"two fields of {avro_type.name} are called {name!r}")
            found[name] = AvroField(name, kind, field)
        avro_type.fields = tuple(found.values())
        avro_type.is_complete = True
        avro_type.set_levels_and_sizes()


def add_logical_type(avro_type: AvroType, source: Mapping[str, Any]) -> None:
    """Set the logical type of a type, where it has one that fits."""
    logical = source.get("logicalType")
    if not isinstance(logical, str) or avro_type.kind not in _LOGICAL.get(logical, ()):
        return
    if avro_type.kind == "fixed" and avro_type.size != _FIXED_SIZES.get(logical, avro_type.size):
        return
    if logical == "decimal":
        precision, scale = source.get("precision"), source.get("scale", 0)
        if not isinstance(precision, int) or not isinstance(scale, int) or not 0 <= scale <= min(precision, _SCALE_MAX):
            return
        avro_type.scale = scale
    avro_type.logical = logical


# The Parsing Canonical Form and its fingerprint.
_EMPTY: Final = 0xC15D213AA4D7A795
_MASK: Final = (1 << 64) - 1


def canonical_form(root: AvroType) -> str:
    """The Parsing Canonical Form of a type: what a fingerprint is of."""
    return _format_canonical_form(root, set())


def _format_canonical_form(one: AvroType, written: set[str]) -> str:
    if one.kind in PRIMITIVES:
        return f'"{one.kind}"'
    if one.kind == "union":
        return f"[{','.join(_format_canonical_form(branch, written) for branch in one.branches)}]"
    if one.items is not None:
        word = "items" if one.kind == "array" else "values"
        return f'{{"type":"{one.kind}","{word}":{_format_canonical_form(one.items, written)}}}'
    name = _dump_json_string(one.name)
    if one.name in written:
        return name
    written.add(one.name)
    head = f'{{"name":{name},"type":"{one.kind}",'
    if one.kind == "fixed":
        return f'{head}"size":{one.size}}}'
    if one.kind == "enum":
        return f'{head}"symbols":[{",".join(map(_dump_json_string, one.symbols))}]}}'
    fields = ",".join(
        f'{{"name":{_dump_json_string(field.name)},"type":{_format_canonical_form(field.type, written)}}}'
        for field in one.fields
    )
    return f'{head}"fields":[{fields}]}}'


def _dump_json_string(text: str) -> str:
    return orjson.dumps(text).decode()


def _make_fingerprint_table() -> tuple[int, ...]:
    found = []
    for byte in range(256):
        value = byte
        for _ in range(8):
            value = value >> 1 ^ (_EMPTY if value & 1 else 0)
        found.append(value)
    return tuple(found)


_TABLE: Final = _make_fingerprint_table()


def compute_fingerprint(root: AvroType) -> bytes:
    """CRC-64-AVRO of the canonical form, as 8 bytes in the order of the wire (little endian)."""
    value = _EMPTY
    for byte in canonical_form(root).encode():
        value = value >> 8 ^ _TABLE[(value ^ byte) & 0xFF]
    return (value & _MASK).to_bytes(8, "little")
