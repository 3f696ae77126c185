"""Random Protobuf files, as text and as descriptors of Google's library, and the JSON form of messages of them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from hypothesis import strategies as st

from decoders.schema.body_json_form import float_json, json_bytes
from decoders.values.shortest_float import shorten_float

SCALARS = [
    *("double", "float", "int64", "uint64", "int32", "fixed64", "fixed32", "bool"),
    *("string", "bytes", "uint32", "sfixed32", "sfixed64", "sint32", "sint64"),
]
_RANGES = {
    **dict.fromkeys(("int32", "sint32", "sfixed32"), (-(1 << 31), (1 << 31) - 1)),
    **dict.fromkeys(("int64", "sint64", "sfixed64"), (-(1 << 63), (1 << 63) - 1)),
    **dict.fromkeys(("uint32", "fixed32"), (0, (1 << 32) - 1)),
    **dict.fromkeys(("uint64", "fixed64"), (0, (1 << 64) - 1)),
}
_SERIAL = count()
Descriptor = descriptor_pb2.FieldDescriptorProto


@st.composite
def files(draw: st.DrawFn) -> tuple[str, descriptor_pb2.FileDescriptorProto]:
    """The text of a file with a message M, which has all kinds of fields, and its descriptor."""
    syntax = draw(st.sampled_from(["proto2", "proto3"]))
    package = f"p{next(_SERIAL)}"
    file = descriptor_pb2.FileDescriptorProto(name=f"{package}.proto", package=package, syntax=syntax)
    enum = file.enum_type.add(name="E")
    for number, name in enumerate(("ZERO", "ONE", "FAR")):
        enum.value.add(name=name, number=number * number * 70)
    message = file.message_type.add(name="M")
    inner = message.nested_type.add(name="Inner")
    inner.field.add(name="text", number=1, type=9, label=1)
    message.oneof_decl.add(name="choice")
    message.field.add(name="chosen", number=4000, label=1, type=9, oneof_index=0)
    lines = ["in oneof string chosen = 4000;"]
    numbers = draw(st.lists(st.integers(1, 3000), min_size=1, max_size=9, unique=True))
    for at, number in enumerate(numbers):
        lines.append(_add_field(draw, message, syntax, at, number))
    plain = [line for line in lines if not line.startswith("in oneof ")]
    choice = [line.removeprefix("in oneof ") for line in lines if line.startswith("in oneof ")]
    label = "optional " if syntax == "proto2" else ""
    text = f"""syntax = "{syntax}";
package {package}; /* of a test */
enum E {{ ZERO = 0; ONE = 70; FAR = 0x118; }}
message M {{ option deprecated = false; reserved 5000 to max; // more
  message Inner {{ {label}string text = 1 [json_name = "a]b"]; }}
  {" ".join(plain)}
  oneof choice {{ {" ".join(choice)} }}
}}"""
    return text, file


def _add_field(draw: st.DrawFn, message: Any, syntax: str, at: int, number: int) -> str:
    """Add a field to a descriptor; returns its line of text."""
    kind = draw(st.sampled_from([*SCALARS, "Inner", "E"]))
    rule = draw(st.sampled_from(["optional", "repeated", "oneof", "map", *([""] if syntax == "proto3" else [])]))
    name = f"f{at}_x"
    field = message.field.add(name=name, number=number, label=3 if rule in ("repeated", "map") else 1)
    holder = field
    if rule == "map":
        key = draw(st.sampled_from(["string", "int32", "bool", "sint64"]))
        entry = message.nested_type.add(name=f"F{at}XEntry")
        entry.options.map_entry = True
        entry.field.add(name="key", number=1, label=1, type=Descriptor.Type.Value(f"TYPE_{key.upper()}"))
        holder = entry.field.add(name="value", number=2, label=1)
        field.type, field.type_name = Descriptor.TYPE_MESSAGE, f"M.F{at}XEntry"
    if kind == "Inner":
        holder.type, holder.type_name = Descriptor.TYPE_MESSAGE, "M.Inner"
    elif kind == "E":
        holder.type, holder.type_name = Descriptor.TYPE_ENUM, "E"
    else:
        holder.type = Descriptor.Type.Value(f"TYPE_{kind.upper()}")
    if rule == "oneof":
        field.oneof_index = 0
        return f"in oneof {kind} {name} = {number};"
    if rule == "optional" and syntax == "proto3":
        field.label, field.proto3_optional = 1, True
        message.oneof_decl.add(name=f"_{name}")
        field.oneof_index = len(message.oneof_decl) - 1
    if rule == "map":
        return f"map<{key}, {kind}> {name} = {number};"
    return f"{rule} {kind} {name} = {number};"


def make_class(file: descriptor_pb2.FileDescriptorProto) -> type[Message]:
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    found: type[Message] = message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{file.package}.M"))
    return found


def fill_message(draw: Callable[[st.SearchStrategy[Any]], Any], message: Any) -> None:
    """Set some of the fields of a message."""
    for field in message.DESCRIPTOR.fields:
        if not draw(st.booleans()):
            continue
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            key, inner = field.message_type.fields_by_name["key"], field.message_type.fields_by_name["value"]
            for each in draw(st.lists(_values(key), max_size=3)):
                if inner.message_type is not None:
                    getattr(message, field.name)[each].text = draw(st.text(max_size=3))
                else:
                    getattr(message, field.name)[each] = draw(_values(inner))
        elif field.message_type is not None:
            target = getattr(message, field.name)
            for _ in range(draw(st.integers(1, 3)) if field.is_repeated else 1):
                (target.add() if field.is_repeated else target).text = draw(st.text(max_size=5))
            if not field.is_repeated:
                target.SetInParent()
        elif field.is_repeated:
            getattr(message, field.name).extend(draw(st.lists(_values(field), max_size=4)))
        else:
            setattr(message, field.name, draw(_values(field)))


def _values(field: Any) -> st.SearchStrategy[Any]:
    if field.enum_type is not None:
        return st.sampled_from([0, 70, 280])
    kind = Descriptor.Type.Name(field.type)[5:].lower()
    if kind in _RANGES:
        return st.integers(*_RANGES[kind])
    return {
        "double": st.floats(),
        "float": st.floats(width=32),
        "bool": st.booleans(),
        "string": st.text(max_size=9),
        "bytes": st.binary(max_size=9),
    }[kind]


def json_form_of(message: Any) -> dict[str, Any]:
    """The JSON form of a message of Google's library."""
    found: dict[str, Any] = {}
    for field in message.DESCRIPTOR.fields:
        value = getattr(message, field.name)
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            inner = field.message_type.fields_by_name["value"]
            found[field.name] = {
                str(key).lower() if isinstance(key, bool) else str(key): _scalar_form(value[key], inner)
                for key in value
            }
        elif field.is_repeated:
            found[field.name] = [_scalar_form(each, field) for each in value]
        elif not field.has_presence or message.HasField(field.name):
            found[field.name] = _scalar_form(value, field)
    return found


def _scalar_form(value: Any, field: Any) -> Any:
    if field.message_type is not None:
        return json_form_of(value)
    if field.enum_type is not None:
        return field.enum_type.values_by_number[value].name
    if isinstance(value, bytes):
        return json_bytes(value)
    if field.type == FieldDescriptor.TYPE_FLOAT:
        return float_json(shorten_float(value))
    return float_json(value) if isinstance(value, float) else value
