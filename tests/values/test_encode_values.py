"""Values in JSON form and schemas in, bytes out: those that fastavro and Google's library read, and kw itself."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoders.errors import EncodeError
from decoders.values.encode_values import encode_value
from decoders.values.schema_store import SchemaStore, StoredSchema
from decoders.values.schemas_and_decoded_values import RegisteredSchema, SchemaOrigin
from decoders.values.value_decoder import ValueDecoder
from tests.values.avro_values import json_form_of, schemas, values
from tests.values.protobuf_values import files, fill_message, make_class
from tests.values.protobuf_values import json_form_of as form_of_message
from tests.values.test_protobuf import KNOWN, PROTO2

fastavro = pytest.importorskip("fastavro", reason="fastavro is missing")


def stored(kind: Any, text: str) -> tuple[StoredSchema, ValueDecoder]:
    store = SchemaStore()
    store.add_schema(RegisteredSchema(kind, text, SchemaOrigin("registry"), 7))
    return store.find_by_id(7)[0], ValueDecoder(store)


@settings(max_examples=18, deadline=None)
@given(st.data())
def test_avro_is_what_fastavro_reads(data: st.DataObject) -> None:
    schema = data.draw(schemas())
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), data.draw(values(schema)))

    def read(packed: bytes) -> Any:
        found = fastavro.schemaless_reader(io.BytesIO(packed), fastavro.parse_schema(schema), None)
        return json_form_of(found, schema)

    form = read(out.getvalue())
    packed = encode_value(form, stored("AVRO", json.dumps(schema))[0])
    assert packed[:5] == b"\0\0\0\0\x07"
    assert json.dumps(read(packed[5:])) == json.dumps(form)


@settings(max_examples=18, deadline=None)
@given(st.data())
def test_protobuf_is_what_googles_library_reads(data: st.DataObject) -> None:
    text, file = data.draw(files())
    message = make_class(file)()
    fill_message(data.draw, message)
    form = form_of_message(message)
    again = make_class(file)()
    packed = encode_value(form, stored("PROTOBUF", text)[0])
    assert packed[:6] == b"\0\0\0\0\x07\0"
    again.ParseFromString(packed[6:])
    assert json.dumps(form_of_message(again), sort_keys=True) == json.dumps(form, sort_keys=True)


ALL = {"type": "record", "name": "A", "fields": [
    {"name": "d", "type":
        {"type": "fixed", "name": "D", "size": 5, "logicalType": "decimal", "precision": 9, "scale": 2}},
    {"name": "t", "type": {"type": "int", "logicalType": "time-millis"}},
    {"name": "l", "type": {"type": "long", "logicalType": "local-timestamp-nanos"}},
    {"name": "p", "type": {"type": "fixed", "name": "P", "size": 12, "logicalType": "duration"}},
    {"name": "u", "type": {"type": "fixed", "name": "U", "size": 16, "logicalType": "uuid"}},
    {"name": "x", "type": "int", "default": 9},
    {"name": "y", "type": ["null", "double", {"type": "map", "values": "A"}]},
]}  # fmt: skip
ALL_VALUES = {
    "d": "-1.50", "t": "10:00:00.125000", "l": "2026-11-28T10:00:00.123456789",
    "p": {"months": 1, "days": 2, "milliseconds": 3}, "u": "de305d54-75b4-431b-adb2-eb6b9e546014", "x": 1, "y": "NaN",
}  # fmt: skip
KNOWN_VALUES = {
    "t": "1969-12-31T23:59:59.500000Z", "d": "-0.5s", "s": {"a": [1.5, None, {"b": True}]}, "i": 5, "m": "a.b,c",
    "a": {"@type": "x/k.In", "x": "hi"}, "in": {"x": "y"}, "v": [None, "z"], "off": False,
}  # fmt: skip
GROUPS = {"a": 5, "part": [{"s": "x"}, {}], "mood": "BAD", "packed": [1, -2], "[more]": "y", "[moods]": ["GOOD"]}


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("AVRO", json.dumps(ALL), ALL_VALUES),
        ("AVRO", json.dumps(ALL), {**ALL_VALUES, "y": {"k": {**ALL_VALUES, "y": None}}}),
        ("PROTOBUF", KNOWN, KNOWN_VALUES),
        ("PROTOBUF", PROTO2, GROUPS),
        ("JSON", '{"type":"object"}', {"a": [1, None]}),
    ],
)
def test_what_is_shown_can_be_written(kind: str, text: str, value: object) -> None:
    schema, decoder = stored(kind, text)
    found = decoder.decode(encode_value(value, schema))
    assert found is not None
    assert (found.value, found.error) == (value, None)


def test_a_message_inside_another_has_its_indexes() -> None:
    text = "message A { optional int32 x = 1; message B { optional int32 y = 1; } } message C {}"
    schema, _ = stored("PROTOBUF", text)
    assert encode_value({"y": 3}, schema, message="A.B").hex() == "00 00000007 04 00 00 08 03".replace(" ", "")
    assert encode_value({}, schema, message="C").hex() == "00 00000007 02 02".replace(" ", "")


def test_a_single_object_has_its_fingerprint() -> None:
    order = """{"type": "record", "name": "Order", "namespace": "shop",
        "fields": [{"name": "id", "type": "long"}, {"name": "customer", "type": "string"}]}"""
    schema, decoder = stored("AVRO", order)
    packed = encode_value({"id": 41, "customer": "Ann"}, schema, "single-object")
    assert packed.hex() == "c3019d1196646a026d465206416e6e"
    found = decoder.decode(packed)
    assert found is not None
    assert found.value == {"id": 41, "customer": "Ann"}


@pytest.mark.parametrize(
    ("kind", "text", "value", "error"),
    [
        ("AVRO", json.dumps(ALL), {"d": "1.505"}, "d: no decimal"),
        ("AVRO", json.dumps(ALL), {**ALL_VALUES, "t": "noon"}, "t: no time-millis"),
        ("AVRO", json.dumps(ALL), {**ALL_VALUES, "z": 1}, "z: A has no such field"),
        ("AVRO", json.dumps(ALL), {**ALL_VALUES, "y": "text"}, "y: one of null, double, map expected"),
        ("AVRO", json.dumps(ALL), {}, "d: missing, and the schema has no default"),
        ("AVRO", '{"type":"array","items":"int"}', [1, 1 << 31], "[1]: int expected"),
        ("AVRO", '"x.Y"', 1, "schema: no type is called 'x.Y'"),
        ("PROTOBUF", KNOWN, {"t": "noon"}, "t: no google.protobuf.Timestamp"),
        ("PROTOBUF", KNOWN, {"in": {"z": 1}}, "in.z: k.In has no such field"),
        ("PROTOBUF", PROTO2, {"packed": [1, "x"]}, "packed[1]: int32 expected"),
        ("PROTOBUF", PROTO2, {"mood": "SAD"}, "mood: Outer.Mood expected"),
        ("JSON", '{"required":["id"]}', {}, "the value: id is missing"),
    ],
)
def test_a_value_that_does_not_fit_says_where(kind: str, text: str, value: object, error: str) -> None:
    with pytest.raises(EncodeError) as failure:
        encode_value(value, stored(kind, text)[0])
    assert str(failure.value) == error
