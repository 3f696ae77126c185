"""Protobuf messages against Google's library, with schemas as text and as descriptors; and hostile ones."""

from __future__ import annotations

import json
import time
from base64 import b64encode
from contextlib import suppress
from random import Random
from typing import Any

import orjson
import pytest
from google.protobuf import (
    any_pb2,
    descriptor_pb2,
    duration_pb2,
    field_mask_pb2,
    json_format,
    struct_pb2,
    timestamp_pb2,
    wrappers_pb2,
)
from google.protobuf.message import DecodeError as GoogleError
from hypothesis import given, settings
from hypothesis import strategies as st

from decoders.errors import DecodeError, EncodeError
from decoders.values.parse_schema import parse_schema
from decoders.values.protobuf.guess_message import guess_message
from decoders.values.protobuf.protobuf_decoder import ProtobufReader
from decoders.values.protobuf.protobuf_encoder import encode_message
from decoders.values.protobuf.protobuf_schema import ProtobufSchema
from decoders.values.schemas_and_decoded_values import RegisteredSchema, SchemaOrigin
from tests.values.protobuf_values import SCALARS, files, fill_message, json_form_of, make_class


def parse(text: str) -> ProtobufSchema:
    found = parse_schema(RegisteredSchema("PROTOBUF", text, SchemaOrigin("capture")), {}, lambda _: None)
    assert isinstance(found, ProtobufSchema)
    return found


def read(schema: ProtobufSchema, data: bytes, name: str = "") -> Any:
    return ProtobufReader(schema, data).read(schema.find_by_name(name) if name else schema.messages[0], 0)


def sort_fields(form: Any) -> str:
    """The form as text; the order of maps on the wire is not that of the message."""
    return json.dumps(form, sort_keys=True)


@settings(max_examples=18, deadline=None)
@given(st.data())
def test_messages_are_those_of_googles_library(data: st.DataObject) -> None:
    text, file = data.draw(files())
    message = make_class(file)()
    fill_message(data.draw, message)
    packed = message.SerializeToString()
    wanted = sort_fields(json_form_of(message))
    assert sort_fields(read(parse(text), packed)) == wanted
    one = b64encode(file.SerializeToString()).decode()
    assert sort_fields(read(parse(one), packed)) == wanted
    many = b64encode(descriptor_pb2.FileDescriptorSet(file=[file]).SerializeToString()).decode()
    assert sort_fields(read(parse(many), packed)) == wanted


@settings(max_examples=18, deadline=None)
@given(files(), st.binary(max_size=50))
def test_any_bytes_are_read_as_googles_library_reads_them(file: Any, data: bytes) -> None:
    """Both refuse the same bytes, but for texts that are no UTF-8, groups and fields that the schema does not have."""
    text, descriptor = file
    message = make_class(descriptor)()
    try:
        found = read(parse(text), data)
    except DecodeError:
        with pytest.raises(GoogleError):
            message.ParseFromString(data)
        return
    try:
        message.ParseFromString(data)
    except GoogleError:
        return
    if "_unknown_fields" not in str(found) and "base64" not in str(found):
        assert found.keys() == json_form_of(message).keys()


KNOWN = """syntax = "proto3"; import "google/protobuf/any.proto"; import "google/protobuf/timestamp.proto";
package k; message K { google.protobuf.Timestamp t = 1; google.protobuf.Duration d = 2; google.protobuf.Struct s = 3;
google.protobuf.Int64Value i = 4; google.protobuf.FieldMask m = 5; google.protobuf.Any a = 6; .k.In in = 7;
google.protobuf.Value v = 8; google.protobuf.BoolValue off = 9; } message In { string x = 1; }"""


def test_well_known_types_have_their_json_forms() -> None:
    schema = parse(KNOWN)
    stamp = timestamp_pb2.Timestamp()
    stamp.FromJsonString("2026-11-28T10:00:00.5Z")
    struct = struct_pb2.Struct()
    json_format.ParseDict({"a": [1.5, None, {"b": "c"}], "t": True}, struct)
    inner = any_pb2.Any(type_url="type.googleapis.com/k.In", value=b"\x0a\x02hi")
    parts: list[Any] = [
        stamp,
        duration_pb2.Duration(seconds=-3, nanos=-500_000_000),
        struct,
        wrappers_pb2.Int64Value(value=1 << 60),
        field_mask_pb2.FieldMask(paths=["a.b", "c"]),
        inner,
        None,
        struct_pb2.Value(null_value=0),
        wrappers_pb2.BoolValue(),
    ]
    data = b"".join(
        bytes([number << 3 | 2, len(part.SerializeToString())]) + part.SerializeToString()
        for number, part in enumerate(parts, 1)
        if part is not None
    )
    assert read(schema, data) == {
        "t": "2026-11-28T10:00:00.500000Z",
        "d": "-3.5s",
        "s": {"a": [1.5, None, {"b": "c"}], "t": True},
        "i": 1 << 60,
        "m": "a.b,c",
        "a": {"@type": "type.googleapis.com/k.In", "x": "hi"},
        "v": None,
        "off": False,
    }


PROTO2 = """// of the old syntax
import public "other.proto";
option java_package = "a;b";
message Outer {
  required int32 a = 1 [default = 7, (my.option) = { a: "}" }];
  repeated group Part = 2 { optional string s = 3; }
  extensions 100 to 199;
  optional Mood mood = 5;
  enum Mood { option allow_alias = true; GOOD = 1; FINE = 1 [deprecated = true]; BAD = -2; }
  repeated int32 packed = 6 [packed = true];
}
extend Outer { optional string more = 100; repeated Outer.Mood moods = 101; }
service Shop { rpc Get (Outer) returns (stream Outer) { option x = { y: [1, 2] }; } }
extend google.protobuf.FieldOptions { optional string my_option = 50000; }
"""


def test_groups_extensions_and_all_else_of_the_old_syntax() -> None:
    data = bytes.fromhex(
        "08 05  13 1a 01 78 14  13 14  28 01  32 03 01 02 03  30 04  a2 06 01 79  a8 06 fe ff ff ff ff ff ff ff ff 01"
    )
    assert read(parse(PROTO2), data) == {
        "a": 5,
        "part": [{"s": "x"}, {}],
        "mood": "GOOD",
        "packed": [1, 2, 3, 4],
        "[more]": "y",
        "[moods]": ["BAD"],
    }


def test_a_field_that_the_schema_lacks_is_shown_by_its_number() -> None:
    assert read(parse(PROTO2), bytes.fromhex("08 05 f8 01 07")) == {
        "a": 5, "part": [], "packed": [], "_unknown_fields": {"31": [7]}
    }  # fmt: skip


@pytest.mark.parametrize(
    ("data", "error"),
    [
        ("08", "the value ends inside a number at byte 1 (a)"),
        ("13 1a 05 78", "need 5 bytes, have 1 at byte 3 (part.s)"),
        ("13 08 01", "the end of group 2 is missing at byte 3 (part)"),
        ("14", "the end of group 2 at byte 0"),
        ("0e", "wire type 6 at byte 0"),
        ("00 00", "field number 0 at byte 0"),
        ("13" * 200, "a value of too many parts or levels"),
    ],
)
def test_hostile_bytes_are_refused(data: str, error: str) -> None:
    with pytest.raises(DecodeError) as failure:
        read(parse(PROTO2), bytes.fromhex(data))
    assert str(failure.value).startswith(error)


@pytest.mark.parametrize(
    "text",
    [
        "message A { B b = 1; }",
        "message A { map<A, int32> b = 1; }",
        "message A { optional message b = 1; }",
        "message A { repeated int32 x = 1; optional string x = 2; }",
        "message A { optional int32 x = 1; optional int32 y = 1; }",
        "message A { optional int32 _unknown_fields = 1; }",
        "message A { int32 a = ; }",
        "message A {" * 100,
        "message A { optional group G = 1 {" + " optional group G = 1 {" * 99,
        'syntax = "proto3"; message',
        "message A { int32 a = 99999999999999999999x; }",
        "/* never closed",
        '"',
        b64encode(b"\x0a\x05abc").decode(),
        b64encode(b"\x0a\x80").decode(),
    ],
)
def test_hostile_schemas_are_refused(text: str) -> None:
    with pytest.raises(DecodeError):
        parse(text)


WORDS = ["message", "enum", "A", "B", "{", "}", "=", "1", ";", "oneof", "map", "<", ">", ",", "int32", '"x"', "extend"]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from([*WORDS, "group", "[", "]", "option", ".", "-"])))
def test_any_text_is_a_schema_or_refused(words: list[str]) -> None:
    with suppress(DecodeError):
        parse(" ".join(words))


TYPES = [*SCALARS, "A", "B", "E", "google.protobuf.Any", "google.protobuf.Value", "google.protobuf.Struct"]
TYPES += [
    "google.protobuf.Timestamp",
    "google.protobuf.BytesValue",
    "google.protobuf.FieldMask",
    "confluent.type.Decimal",
]


def hostile_field(random: Random, number: int) -> str:
    """A field as no compiler would take it in a oneof or an extension, such as a map or a group."""
    kind, label = random.choice(TYPES), random.choice(["optional", "repeated", "required", ""])
    if random.random() < 0.15:
        return f"map<{random.choice(['string', 'bool', 'int32', 'A'])}, {kind}> f{number} = {number};"
    if random.random() < 0.1:
        return f"{label} group G{number} = {number} {{ {hostile_field(random, 1)} }}"
    return f"{label} {kind} f{number} = {number};"


def hostile_bytes(random: Random, size: int) -> bytes:
    """Fields of all wire types, inside each other."""
    out = b""
    while len(out) < size:
        wire = random.choice([0, 0, 1, 2, 2, 2, 3, 4, 5, 6])
        out += bytes([random.randrange(9) << 3 | wire])
        if wire == 0:
            out += bytes([random.randrange(160)])
        elif wire == 2:
            inner = hostile_bytes(random, random.randrange(8))
            out += bytes([len(inner)]) + inner if len(inner) < 128 else b"\0"
        elif wire in (1, 5):
            out += random.randbytes(8 if wire == 1 else 4)
    return out


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 20))])
def test_hostile_files_and_bytes_give_values_or_errors_of_the_library(seed: int) -> None:
    random, read_count = Random(seed), 0
    while read_count < 200:
        fields = [hostile_field(random, number) for number in range(1, 11)]
        text = f"""syntax = "{random.choice(["proto2", "proto3"])}"; enum E {{ Z = 0; Y = -1; }}
            message A {{ {" ".join(fields[:4])} oneof o {{ {fields[4]} {fields[5]} }} extensions 7; }}
            message B {{ {fields[0]} {fields[8]} }} extend A {{ {fields[6]} {fields[7]} }}"""
        with suppress(DecodeError):
            schema = parse(text)
            for _ in range(20):
                with suppress(DecodeError):
                    value = read(schema, hostile_bytes(random, random.randrange(30)))
                    orjson.dumps(value)
                    read_count += 1
                    with suppress(EncodeError):
                        encode_message(schema, schema.messages[0], value)


def test_the_well_known_types_stay_as_they_are() -> None:
    """A schema that declares one itself does not change it, for this schema or another."""
    text = """package google.protobuf; message Timestamp { optional string seconds = 1; extensions 5; }
        extend Timestamp { optional string nanos = 5; } message A { optional Timestamp t = 1; }"""
    assert read(parse(text), bytes.fromhex("0a 02 08 01"), "A") == {"t": "1970-01-01T00:00:01.000000Z"}


def test_a_file_of_the_well_known_types_has_them() -> None:
    """Registries keep such files, and a value may be a message of one."""
    text = """syntax = "proto3"; package google.protobuf; enum NullValue { N = 0; }
        message Int64Value { int64 value = 1; } message Timestamp { int64 seconds = 1; int32 nanos = 2; }"""
    schema = parse(text)
    found = [ProtobufReader(schema, b"\x08\x01").read(schema.find_by_indexes([at]), 0) for at in (0, 1)]
    assert found == [1, "1970-01-01T00:00:01.000000Z"]


def test_a_guess_of_many_equal_fields_takes_no_long_time() -> None:
    data = b"\x0a\x04text" * 50_000
    begin = time.process_time()
    found = guess_message(data)
    assert found is not None
    assert len(found["1"]) == 50_000
    assert time.process_time() - begin < 5
