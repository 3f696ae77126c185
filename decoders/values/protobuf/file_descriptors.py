"""Serialised FileDescriptorProto or FileDescriptorSet in, the declarations of its files out.

They are messages too, so kw's own decoder reads them, with the part of their declaration that matters here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final

from decoders.errors import DecodeError, LimitExceeded, Malformed
from decoders.limits import SCHEMA_NESTING_MAX
from decoders.schema.body_json_form import bytes_from_json
from decoders.values.protobuf.proto_text import parse_proto_text
from decoders.values.protobuf.protobuf_decoder import ProtobufReader
from decoders.values.protobuf.protobuf_schema import (
    DeclaredEnum,
    DeclaredField,
    DeclaredFile,
    DeclaredMessage,
    ProtobufSchema,
    link_files,
)

_DESCRIPTORS: Final = """
syntax = "proto2";
message Set { repeated File file = 1; }
message SetOfBytes { repeated bytes file = 1; }
message File { optional string name = 1; optional string package = 2; repeated string dependency = 3;
    repeated Message message_type = 4; repeated Enum enum_type = 5; repeated Field extension = 7;
    optional string syntax = 12; }
message Message { optional string name = 1; repeated Field field = 2; repeated Message nested_type = 3;
    repeated Enum enum_type = 4; repeated Field extension = 6; optional Options options = 7;
    repeated Oneof oneof_decl = 8; }
message Field { optional string name = 1; optional string extendee = 2; optional int32 number = 3;
    optional int32 label = 4; optional int32 type = 5; optional string type_name = 6; optional int32 oneof_index = 9;
    optional bool proto3_optional = 17; }
message Oneof { optional string name = 1; }
message Enum { optional string name = 1; repeated EnumValue value = 2; }
message EnumValue { optional string name = 1; optional int32 number = 2; }
message Options { optional bool map_entry = 7; }
"""
_TYPES: Final = (
    "", "double", "float", "int64", "uint64", "int32", "fixed64", "fixed32", "bool", "string", "group", "message",
    "bytes", "uint32", "enum", "sfixed32", "sfixed64", "sint32", "sint64",
)  # fmt: skip
_LABELS: Final = ("", "optional", "required", "repeated")


@cache
def _load_descriptor_types() -> ProtobufSchema:
    return link_files([parse_proto_text(_DESCRIPTORS)], (), None)


def read_descriptors(data: bytes) -> list[DeclaredFile]:
    """The files of a set, or the one file, that the bytes are. Raises DecodeError."""
    types = _load_descriptor_types()
    if data[:1] != b"\x0a":
        raise Malformed("no descriptor of a file begins so")
    reader = ProtobufReader(types, data)
    try:
        files = reader.read(types.find_by_name("Set"), 0)["file"]
    except DecodeError:
        files = []
    if not all(isinstance(file.get("name"), str) for file in files) or not files:
        files = [ProtobufReader(types, data).read(types.find_by_name("File"), 0)]
    return [_declare_file(file) for file in files]


def split_descriptor_set(data: bytes) -> list[tuple[str, list[str], bytes]]:
    """The files of a set, each with its name, its imports and its bytes. Raises DecodeError."""
    types = _load_descriptor_types()
    found = []
    for shown in ProtobufReader(types, data).read(types.find_by_name("SetOfBytes"), 0)["file"]:
        content = bytes_from_json(shown, "file")
        file = ProtobufReader(types, content).read(types.find_by_name("File"), 0)
        found.append((str(file.get("name", "")), [*map(str, file["dependency"])], content))
    return found


def _declare_file(found: Mapping[str, Any]) -> DeclaredFile:
    package = str(found.get("package", ""))
    body = DeclaredMessage("")
    has_presence = found.get("syntax", "proto2") != "proto3"
    _declare_messages_and_enums(body, found["message_type"], found["enum_type"], found["extension"], has_presence, 0)
    return DeclaredFile(package, [*map(str, found["dependency"])], body)


def _declare_messages_and_enums(
    body: DeclaredMessage,
    messages: Sequence[Mapping[str, Any]],
    enums: Sequence[Mapping[str, Any]],
    extensions: Sequence[Mapping[str, Any]],
    has_presence: bool,
    depth: int,
) -> None:
    """Declare what files and messages have in common."""
    if depth > SCHEMA_NESTING_MAX:
        raise LimitExceeded(f"messages in more than {SCHEMA_NESTING_MAX} levels")
    for enum in enums:
        made = DeclaredEnum(str(enum.get("name", "")))
        for value in enum["value"]:
            made.values.setdefault(value.get("number", 0), str(value.get("name", "")))
        body.enums.append(made)
    for each in extensions:
        field = _declare_field(each, ())
        field.extendee, field.has_presence = str(each.get("extendee", "")), True
        body.extensions.append(field)
    for message in messages:
        inner = DeclaredMessage(str(message.get("name", "")))
        oneofs = [str(oneof.get("name", "")) for oneof in message["oneof_decl"]]
        for each in message["field"]:
            field = _declare_field(each, oneofs)
            field.has_presence = has_presence or "oneof_index" in each
            inner.fields.append(field)
        inner.is_map_entry = bool(message.get("options", {}).get("map_entry"))
        nested = message["nested_type"]
        _declare_messages_and_enums(inner, nested, message["enum_type"], message["extension"], has_presence, depth + 1)
        inner.replace_entries_by_maps()
        body.messages.append(inner)


def _declare_field(found: Mapping[str, Any], oneofs: Sequence[str]) -> DeclaredField:
    """A field, with the name of its oneof."""
    number, kind, label = found.get("type", 0), "", found.get("label", 0)
    name = str(found.get("type_name", ""))
    if not 0 <= number < len(_TYPES) or not 0 <= label < len(_LABELS):
        raise Malformed(f"a field of type {number} and label {label}")
    kind = name or _TYPES[number]
    field = DeclaredField(str(found.get("name", "")), found.get("number", 0), kind, _LABELS[label])
    field.is_group = _TYPES[number] == "group"
    index = found.get("oneof_index", -1)
    if 0 <= index < len(oneofs) and not found.get("proto3_optional"):
        field.oneof = oneofs[index]
    return field
