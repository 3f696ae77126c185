"""Declared files in; messages and enums whose fields know their types out.

A name is searched for as Protobuf says: from the innermost scope outwards. A type of a file that is not there is an
error; the well-known types are always there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from decoders.errors import LimitExceeded, Malformed
from decoders.limits import SCHEMA_TYPES_MAX

# Kind of a field → its wire type; and the kinds that a type's name stands for.
WIRE_TYPES: Final[dict[str, int]] = {
    **dict.fromkeys(("int32", "int64", "uint32", "uint64", "sint32", "sint64", "bool", "enum"), 0),
    **dict.fromkeys(("fixed64", "sfixed64", "double"), 1),
    **dict.fromkeys(("string", "bytes", "message", "map"), 2),
    "group": 3,
    **dict.fromkeys(("fixed32", "sfixed32", "float"), 5),
}
_NAMED_KINDS: Final = frozenset({"enum", "message", "map", "group"})
_KEY_KINDS: Final = WIRE_TYPES.keys() - _NAMED_KINDS - {"bytes", "float", "double"}
# Under this name a message has what its schema does not have.
UNKNOWN_FIELDS: Final = "_unknown_fields"
_DEFAULTS: Final[dict[str, Any]] = {"string": "", "bytes": "", "bool": False, "double": 0.0, "float": 0.0}


class UnknownType(Malformed):
    """A type's name that nothing defines, which a file that comes later may do."""


@dataclass(slots=True)
class DeclaredField:
    """A field as it is written. `type_name` is a scalar's word or a name; `label` is empty where there is none."""

    name: str
    number: int
    type_name: str
    label: str = ""
    oneof: str = ""
    is_group: bool = False
    has_presence: bool = False
    key_type: str = ""  # of a map, whose values `type_name` are
    extendee: str = ""


@dataclass(slots=True)
class DeclaredMessage:
    """A message as it is written. `entries`: the places among the messages inside it that descriptors give to maps."""

    name: str
    is_map_entry: bool = False
    entries: list[int] = field(default_factory=list)
    fields: list[DeclaredField] = field(default_factory=list)
    messages: list[DeclaredMessage] = field(default_factory=list)
    enums: list[DeclaredEnum] = field(default_factory=list)
    extensions: list[DeclaredField] = field(default_factory=list)

    def replace_entries_by_maps(self) -> None:
        """Make maps of the fields whose types are entries of maps, which are no messages of their own."""
        named = {each.name: each for each in self.messages if each.is_map_entry and each.name}
        self.entries = [at for at, each in enumerate(self.messages) if each.is_map_entry]
        self.messages = [each for each in self.messages if not each.is_map_entry]
        for each in self.fields if named else ():
            entry = named.get(each.type_name.rpartition(".")[2]) if each.label == "repeated" else None
            if entry is not None:
                parts = {part.number: part for part in entry.fields}
                if 1 in parts and 2 in parts:
                    each.key_type, each.type_name = parts[1].type_name, parts[2].type_name


@dataclass(slots=True)
class DeclaredEnum:
    """An enum as it is written."""

    name: str
    values: dict[int, str] = field(default_factory=dict)


@dataclass(slots=True)
class DeclaredFile:
    """A file as it is written: `body` has its messages, enums and extensions."""

    package: str = ""
    imports: list[str] = field(default_factory=list)
    body: DeclaredMessage = field(default_factory=lambda: DeclaredMessage(""))


class ProtoEnum:
    """An enum: the names of its numbers."""

    __slots__ = ("name", "values")

    def __init__(self, name: str, values: Mapping[int, str]) -> None:
        self.name = name
        self.values = values


class ProtoField:
    """A field: `kind` is its scalar type, or `enum message group map`, whose type `message` or `enum` is."""

    __slots__ = ("enum", "is_repeated", "key_kind", "kind", "message", "name", "number", "oneof", "wire")

    def __init__(self, declared: DeclaredField, name: str) -> None:
        self.name = name
        self.number = declared.number
        self.kind = declared.type_name
        self.key_kind = declared.key_type
        self.is_repeated = declared.label == "repeated" or bool(declared.key_type)
        self.message: ProtoMessage | None = None
        self.enum: ProtoEnum | None = None
        self.oneof: frozenset[str] = frozenset()  # the names in its oneof, itself too: one value for all of them
        self.wire = 0


class ProtoMessage:
    """A message: its fields by number and by name, what they are where they are not on the wire, and what is in it.

    `entries`: the places among the messages inside it that descriptors give to entries of maps.
    """

    __slots__ = ("by_name", "by_number", "defaults", "entries", "lists", "maps", "messages", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.by_number: dict[int, ProtoField] = {}
        self.by_name: dict[str, ProtoField] = {}
        self.messages: list[ProtoMessage] = []
        self.entries: list[int] = []
        self.defaults: dict[str, Any] = {}
        self.lists: list[str] = []
        self.maps: list[str] = []

    def add_field(self, field: ProtoField) -> None:
        if field.name in self.by_name or field.number in self.by_number or field.name == UNKNOWN_FIELDS:
            raise Malformed(f"two fields of {self.name} are {field.name!r}, or have the number {field.number}")
        self.by_number[field.number] = field
        self.by_name[field.name] = field


class ProtobufSchema:
    """A file's messages, in their order, and all types that it knows by full name.

    `is_of_descriptors`: its text was that of descriptors, as those clients register it that count entries of maps as
    messages.
    """

    def __init__(self, messages: list[ProtoMessage], types: dict[str, ProtoMessage | ProtoEnum]) -> None:
        self.messages = messages
        self.types = types
        self.name = messages[0].name if messages else ""
        self.is_of_descriptors = False

    def find_by_indexes(self, indexes: Sequence[int], *, with_entries: bool = False) -> ProtoMessage:
        """The message of a path of positions, the first one among the file's. Raises Malformed.

        `with_entries`: entries of maps are counted as the messages that they are in descriptors.
        """
        inside, found = self.messages, None
        for index in indexes:
            if with_entries and found is not None and found.entries:
                if index in found.entries:
                    raise Malformed(f"an entry of a map has the indexes {[*indexes]}")
                index -= sum(entry < index for entry in found.entries)
            if not 0 <= index < len(inside):
                raise Malformed(f"the schema has no message of the indexes {[*indexes]}")
            found = inside[index]
            inside = found.messages
        if found is None:
            raise Malformed("no message is named")
        return found

    def find_by_name(self, name: str) -> ProtoMessage:
        """The message of a full name, or of a name without the package. Raises Malformed."""
        found = self.types.get(name)
        if not isinstance(found, ProtoMessage):
            found = next((each for each in self.list_messages() if each.name.endswith(f".{name}")), None)
        if found is None:
            raise Malformed(f"the schema has no message {name!r}")
        return found

    def list_messages(self) -> list[ProtoMessage]:
        """All messages of the file, those inside others too, sorted by full name (the numbers of AWS Glue)."""
        found: list[ProtoMessage] = []
        left = [*self.messages]
        while left:
            one = left.pop()
            found.append(one)
            left += one.messages
        return sorted(found, key=lambda each: each.name)


def link_files(
    files: Sequence[DeclaredFile], known: Iterable[ProtobufSchema], well_known: ProtobufSchema | None
) -> ProtobufSchema:
    """The schema of the last file; the others, and `known` schemas, have types that it uses. Raises DecodeError."""
    types: dict[str, ProtoMessage | ProtoEnum] = dict(well_known.types) if well_known else {}
    for each in known:
        types |= each.types
    linking = _Linking(types, frozenset(well_known.types if well_known else ()))
    messages: list[ProtoMessage] = []
    for file in files:
        messages = linking.declare_types(file.body, file.package)
    linking.link_fields()
    return ProtobufSchema(messages, types)


class _Linking:
    """Types are declared first, then their fields find their types; `protected` ones stay as they are."""

    def __init__(self, types: dict[str, ProtoMessage | ProtoEnum], protected: frozenset[str]) -> None:
        self.types = types
        self.protected = protected
        self.count = 0
        self.waiting: list[tuple[str, ProtoMessage | None, DeclaredMessage]] = []

    def declare_types(self, body: DeclaredMessage, scope: str) -> list[ProtoMessage]:
        """Declare what is in a file or a message (the depth is the parser's, which is bounded)."""
        prefix = f"{scope}." if scope else ""
        found = []
        for enum in body.enums:
            if prefix + enum.name not in self.protected:
                self.types[prefix + enum.name] = ProtoEnum(prefix + enum.name, enum.values)
        for declared in body.messages:
            made = ProtoMessage(prefix + declared.name)
            if made.name in self.protected:
                known = self.types[made.name]
                found.append(known if isinstance(known, ProtoMessage) else made)
                continue
            found.append(made)
            self.types[made.name] = made
            made.messages = self.declare_types(declared, made.name)
            made.entries = declared.entries
            self.waiting.append((made.name, made, declared))
        if body.extensions and not body.name:
            self.waiting.append((scope, None, body))
        return found

    def link_fields(self) -> None:
        for scope, made, declared in self.waiting:
            if made is not None:
                for each in declared.fields:
                    made.add_field(self.link_field(each, each.name, scope))
                _set_defaults(made, declared.fields)
            for each in declared.extensions:
                extended = self.search_type(each.extendee, scope)  # none where it is an option of schemas
                if isinstance(extended, ProtoMessage) and extended.name not in self.protected:
                    full = f"{scope}.{each.name}" if scope else each.name
                    if each.number not in extended.by_number:  # as it is where another schema has linked it
                        extended.add_field(self.link_field(each, f"[{full}]", scope))

    def link_field(self, declared: DeclaredField, name: str, scope: str) -> ProtoField:
        self.count += 1
        if self.count > SCHEMA_TYPES_MAX:
            raise LimitExceeded(f"a schema of more than {SCHEMA_TYPES_MAX} fields")
        made = ProtoField(declared, name)
        if made.kind not in WIRE_TYPES or made.kind in _NAMED_KINDS:
            found = self.find_type(made.kind, scope)
            if isinstance(found, ProtoEnum):
                made.enum, made.kind = found, "enum"
            else:
                made.message, made.kind = found, "group" if declared.is_group else "message"
        if declared.key_type:
            if declared.key_type not in _KEY_KINDS:
                raise Malformed(f"a map with keys of {declared.key_type!r}")
            entry = ProtoMessage("")
            for number, part in ((1, "key"), (2, "value")):
                inner = ProtoField(DeclaredField(part, number, declared.key_type), part)
                if number == 2:
                    inner.kind, inner.message, inner.enum = made.kind, made.message, made.enum
                inner.wire = WIRE_TYPES[inner.kind]
                entry.add_field(inner)
            made.kind, made.message, made.enum = "map", entry, None
        made.wire = WIRE_TYPES[made.kind]
        return made

    def find_type(self, name: str, scope: str) -> ProtoMessage | ProtoEnum:
        found = self.search_type(name, scope)
        if found is None:
            raise UnknownType(f"no type is called {name!r}")
        return found

    def search_type(self, name: str, scope: str) -> ProtoMessage | ProtoEnum | None:
        if name.startswith("."):
            return self.types.get(name[1:])
        while (found := self.types.get(f"{scope}.{name}" if scope else name)) is None and scope:
            scope = scope.rpartition(".")[0]
        return found


def _set_defaults(message: ProtoMessage, declared: Sequence[DeclaredField]) -> None:
    """Note what the fields are that are not on the wire, and the fields of a oneof."""
    members: dict[str, set[str]] = {}
    for each in declared:
        if each.oneof:
            members.setdefault(each.oneof, set()).add(each.name)
    oneofs = {name: frozenset(names) for name, names in members.items()}
    for each in declared:
        one = message.by_name[each.name]
        one.oneof = oneofs.get(each.oneof, one.oneof)
        if one.kind == "map":
            message.maps.append(each.name)
        elif one.is_repeated:
            message.lists.append(each.name)
        elif not each.has_presence and one.kind not in ("message", "group"):
            message.defaults[each.name] = default_value(one)


def default_value(one: ProtoField) -> Any:
    """What a field of a scalar type or an enum is where it is not on the wire."""
    if one.enum is not None:
        return one.enum.values.get(0, 0)
    return _DEFAULTS.get(one.kind, 0)
