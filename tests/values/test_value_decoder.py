"""What keys and values are taken for: bytes and headers in, format, schema and value out."""

from __future__ import annotations

import gzip
import json
import struct
import zlib
from random import Random
from typing import Any
from uuid import UUID

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoders.limits import VALUE_INFLATED_MAX
from decoders.values.schema_store import SchemaStore
from decoders.values.schemas_and_decoded_values import DecodedValue, RegisteredSchema, SchemaOrigin, SchemaReference
from decoders.values.value_decoder import ValueDecoder

ORDER = """{"type": "record", "name": "Order", "namespace": "shop",
    "fields": [{"name": "id", "type": "long"}, {"name": "customer", "type": "string"}]}"""
PROTO = """syntax = "proto3"; package shop;
message Order { int64 id = 1; string customer = 2;
  message Line { string sku = 1; int32 count = 2; message Deep { bool on = 1; } } }
message Zeta { string x = 1; message Mid { int32 y = 1; } }"""
JSON_SCHEMA = '{"title": "Order", "type": "object", "properties": {"id": {"type": "integer", "minimum": 1}}}'
GUID = "168499f1-d4ed-59a5-b55b-aed8e72cc852"
PROTO_GUID = "6db62f8b-bf6a-5682-b0b8-9382c39e99be"
GLUE = "b7b4a7f0-9c96-4e4a-a687-fb5de9ef0c63"
CAPTURE = SchemaOrigin("capture", 88)
ANN = {"id": 41, "customer": "Ann"}
AVRO = "52 06416e6e"
MESSAGE = "0829 1203416e6e"
REF = "07 0a05 4f72646572"


def make_store() -> SchemaStore:
    store = SchemaStore()
    store.add_schema(RegisteredSchema("AVRO", ORDER, CAPTURE, 1, GUID, "orders-value", 1))
    store.add_schema(RegisteredSchema("JSON", JSON_SCHEMA, CAPTURE, 2))
    store.add_schema(RegisteredSchema("PROTOBUF", PROTO, CAPTURE, 3, PROTO_GUID))
    store.add_schema(RegisteredSchema("AVRO", ORDER, CAPTURE, guid=GLUE))
    store.add_schema(RegisteredSchema("PROTOBUF", PROTO, CAPTURE, guid=GLUE.replace("b7", "b8")))
    store.add_schema(RegisteredSchema("AVRO", '"bytes"', CAPTURE, 5))
    return store


STORE = make_store()
TAGGED = """syntax = "proto3"; message Event { map<string, int32> tags = 1;
  message First { string a = 1; } map<int32, First> more = 2; message Second { int64 b = 2; } }"""


def decode(data: str, headers: dict[str, str] | None = None, **words: Any) -> DecodedValue | None:
    pairs = [(name, bytes.fromhex(content)) for name, content in (headers or {}).items()]
    return ValueDecoder(STORE).decode(bytes.fromhex(data), pairs, **words)


def hex_of(text: str) -> str:
    return text.encode().hex()


LINE = {"sku": "A1", "count": 2}
CONNECT = """{"schema":{"type":"struct","fields":[{"type":"int64","optional":false,"field":"id"},
 {"type":"bytes","name":"org.apache.kafka.connect.data.Decimal","version":1,"parameters":{"scale":"2"},"field":"price"},
 {"type":"int64","name":"org.apache.kafka.connect.data.Timestamp","version":1,"field":"at"},
 {"type":"bytes","optional":false,"field":"raw"}],"optional":false,"name":"shop.Order"},
 "payload":{"id":41,"price":"AJY=","at":0,"raw":"AQI="}}"""
EVENT = '{"specversion":"1.0","type":"t","source":"/s","id":"1","data":{"id":41}}'
HEADER = "__value_schema_id"
FORMS = [
    pytest.param("00 00000001" + AVRO, {}, "avro", 1, "shop.Order", ANN, id="Confluent Avro"),
    pytest.param("00 00000002" + hex_of('{"id":41}'), {}, "json-schema", 2, "Order", {"id": 41}, id="JSON Schema"),
    pytest.param("00 00000003 00" + MESSAGE, {}, "protobuf", 3, "shop.Order", ANN, id="first message"),
    pytest.param("00 00000003 0202 0a0178", {}, "protobuf", 3, "shop.Zeta", {"x": "x"}, id="second message"),
    pytest.param("00 00000003 040000 0a024131 1002", {}, "protobuf", 3, "shop.Order.Line", LINE, id="path 0,0"),
    pytest.param("00 00000003 06000000 0801", {}, "protobuf", 3, "shop.Order.Line.Deep", {"on": True}, id="0,0,0"),
    pytest.param("00 00000003 0101 0a0178", {}, "protobuf", 3, "shop.Zeta", {"x": "x"}, id="old second message"),
    pytest.param("00 00000003 020000 0a024131 1002", {}, "protobuf", 3, "shop.Order.Line", LINE, id="old path 0,0"),
    pytest.param("00 00000003 0200" + MESSAGE, {}, "protobuf", 3, "shop.Order", ANN, id="path 0 in two bytes"),
    pytest.param(AVRO, {HEADER: "01" + GUID.replace("-", "")}, "avro", GUID, "shop.Order", ANN, id="GUID header"),
    pytest.param(
        MESSAGE, {HEADER: f"01 {PROTO_GUID.replace('-', '')} 00"}, "protobuf", PROTO_GUID, "shop.Order", ANN,
        id="GUID header, Protobuf",
    ),
    pytest.param(
        "0a024131 1002", {HEADER: f"01 {PROTO_GUID.replace('-', '')} 040000"}, "protobuf", PROTO_GUID,
        "shop.Order.Line", LINE, id="GUID header, inner message",
    ),
    pytest.param(f"01 {GUID.replace('-', '')}" + AVRO, {}, "avro", GUID, "shop.Order", ANN, id="GUID prefix"),
    pytest.param(AVRO, {HEADER: "00 00000001"}, "avro", 1, "shop.Order", ANN, id="id in a header"),
    pytest.param(AVRO, {"apicurio.value.contentId": "00" * 7 + "01"}, "avro", 1, "shop.Order", ANN, id="Apicurio"),
    pytest.param("00" * 8 + "01" + AVRO, {}, "avro", 1, "shop.Order", ANN, id="Apicurio, 8 bytes"),
    pytest.param("00" * 8 + "03" + REF + MESSAGE, {}, "protobuf", 3, "shop.Order", ANN, id="Apicurio Ref, 8 bytes"),
    pytest.param("00 00000003" + REF + MESSAGE, {}, "protobuf", 3, "shop.Order", ANN, id="Apicurio Ref, 4 bytes"),
    pytest.param(f"0300 {GLUE.replace('-', '')}" + AVRO, {}, "avro", GLUE, "shop.Order", ANN, id="Glue"),
    pytest.param(
        f"0305 {GLUE.replace('-', '')}" + zlib.compress(bytes.fromhex(AVRO)).hex(), {}, "avro", GLUE, "shop.Order", ANN,
        id="Glue, zlib",
    ),
    pytest.param(
        f"0300 {GLUE.replace('-', '').replace('b7', 'b8')} 04 0807", {}, "protobuf", GLUE.replace("b7", "b8"),
        "shop.Zeta.Mid", {"y": 7}, id="Glue, Protobuf: sorted by name",
    ),
    pytest.param("c301 9d1196646a026d46" + AVRO, {}, "avro", None, "shop.Order", ANN, id="single object"),
    pytest.param("00 00000005 fffe", {}, "avro", 5, "bytes", {"base64": "//4="}, id="Confluent's raw bytes"),
    pytest.param(hex_of(' {"a": [1]}'), {}, "json", None, None, {"a": [1]}, id="JSON"),
    pytest.param(
        hex_of(CONNECT), {}, "connect-json", None, "shop.Order",
        {"id": 41, "price": "1.50", "at": "1970-01-01T00:00:00.000000Z", "raw": {"base64": "AQI="}}, id="Connect",
    ),
    pytest.param(hex_of(EVENT), {}, "cloudevents", None, "t", json.loads(EVENT), id="CloudEvent"),
    pytest.param(
        hex_of('{"id":41}'), {"ce_specversion": hex_of("1.0"), "ce_type": hex_of("t"), "ce_id": hex_of("7")},
        "cloudevents", None, "t", {"specversion": "1.0", "type": "t", "id": "7", "data": {"id": 41}}, id="ce headers",
    ),
    pytest.param("82 a26964 29 a161 c3", {}, "msgpack", None, None, {"id": 41, "a": True}, id="MessagePack"),
    pytest.param("a2 626964 1829 6161 f5", {}, "cbor", None, None, {"id": 41, "a": True}, id="CBOR"),
    pytest.param("d9d9f7 83 01 02 f97e00", {}, "cbor", None, None, [1, 2, "NaN"], id="CBOR that says so"),
    pytest.param(gzip.compress(b'{"a":1}').hex(), {}, "gzip", None, "json", {"a": 1}, id="gzip"),
    pytest.param(zlib.compress(b"plain text").hex(), {}, "zlib", None, None, "plain text", id="zlib"),
    pytest.param(
        "0829 1208 4d72732e20416e6e 1a04 0a02 4131", {}, "protobuf", None, None,
        {"1": 41, "2": "Mrs. Ann", "3": {"1": "A1"}} , id="Protobuf by wire types",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("data", "headers", "form", "schema_id", "name", "value"), FORMS)
def test_a_form_is_known_by_its_bytes_and_headers(
    data: str, headers: dict[str, str], form: str, schema_id: object, name: str | None, value: object
) -> None:
    found = decode(data, headers)
    assert found is not None
    assert (found.format, found.schema_id, found.name, found.value, found.error) == (form, schema_id, name, value, None)


@pytest.mark.parametrize(("data", "headers", "form", "schema_id", "name", "value"), FORMS)
def test_a_value_that_is_cut_is_none_or_says_so(
    data: str, headers: dict[str, str], form: str, schema_id: object, name: str | None, value: object
) -> None:
    """Cut at each byte, it never has its value; and nothing is raised."""
    whole = bytes.fromhex(data)
    for size in range(1, len(whole)):
        found = decode(whole[:size].hex(), headers)
        assert found is None or found.value != value, (form, schema_id, name)


def test_the_record_has_what_the_contract_says() -> None:
    found = decode("00 00000001" + AVRO)
    assert found is not None
    assert found.to_json() == {
        "format": "avro",
        "schema_id": 1,
        "name": "shop.Order",
        "schema_from": {"kind": "capture", "packet": 88},
        "value": ANN,
    }


@pytest.mark.parametrize(
    ("data", "error"),
    [
        ("00 00000001 52 06416e", "need 3 bytes, have 2 at byte 7 (customer)"),
        ("00 00000001 52 06416e6e 00", "1 bytes are left over at byte 10"),
        ("00 00000003 00 0829 1209", "need 9 bytes, have 0 at byte 10 (customer)"),
        ("00 00000003 0e", "no message of the schema is named at byte 5"),
        ("00 00000002" + hex_of('{"id":0}'), "id: minimum 1"),
        ("00 00000002" + hex_of("{id}"), "no JSON: "),
        ("c301 9d1196646a026d46 52", "the value ends inside a number at byte 11 (customer)"),
    ],
)
def test_a_value_that_does_not_decode_says_where(data: str, error: str) -> None:
    found = decode(data)
    assert found is not None
    assert str(found.error).startswith(error)


@pytest.mark.parametrize(
    ("data", "headers", "form", "schema_id", "guessed"),
    [
        ("00 00000011" + AVRO, {}, "unknown", 17, True),
        ("00 00000011" + hex_of('{"a":1}'), {}, "json", 17, True),
        ("00 00000011 00 0829 1208 4d72732e20416e6e", {}, "protobuf", 17, True),
        ("00 00000011" + REF + MESSAGE, {}, "protobuf", 17, True),
        (AVRO, {HEADER: f"01 {UUID(int=5).hex}"}, "unknown", str(UUID(int=5)), False),
        (AVRO, {"apicurio.value.globalId": "0000000000001267"}, "unknown", 4711, False),
        (f"0300 {GLUE[:-1].replace('-', '')}4" + AVRO, {}, "unknown", f"{GLUE[:-1]}4", False),
        ("c301 0011223344556677" + AVRO, {}, "avro", None, False),
    ],
)
def test_an_id_without_schema_is_told(
    data: str, headers: dict[str, str], form: str, schema_id: object, guessed: bool
) -> None:
    found = decode(data, headers)
    assert found is not None
    assert (found.format, found.schema_id, found.guessed, found.missing_schema) == (form, schema_id, guessed, True)


def test_a_schema_that_comes_later_is_used_from_then_on() -> None:
    store = SchemaStore()
    decoder = ValueDecoder(store)
    data = bytes.fromhex("00 00000007" + "02")
    before = decoder.decode(data)
    assert before is not None
    assert before.missing_schema
    uses = '{"type":"record","name":"A","fields":[{"name":"b","type":"shop.B"}]}'
    reference = (SchemaReference("shop.B", "b", 1),)
    store.add_schema(RegisteredSchema("AVRO", uses, CAPTURE, 7, references=reference))
    between = decoder.decode(data)
    assert between is not None
    assert between.error == "schema: the schema of 'b' that it refers to is not known"
    store.add_schema(RegisteredSchema("AVRO", '{"type":"fixed","name":"shop.B","size":1}', CAPTURE, 8, None, "b", 1))
    after = decoder.decode(data)
    assert after is not None
    assert (after.value, after.error) == ({"b": {"base64": "Ag=="}}, None)


def test_ids_of_two_registries_are_told_apart_or_guessed() -> None:
    store = SchemaStore()
    for registry, kind in (("a", "int"), ("b", "boolean")):
        store.add_schema(RegisteredSchema("AVRO", f'"{kind}"', CAPTURE, 1, registry=registry))
    decoder = ValueDecoder(store)
    data = bytes.fromhex("00 00000001 01")
    for asked, value, guessed in (("a", -1, False), ("b", True, False), (None, -1, True)):
        found = decoder.decode(data, registry=asked)
        assert found is not None
        assert (found.value, found.guessed) == (value, guessed)
    store.add_schema(RegisteredSchema("AVRO", '"long"', SchemaOrigin("file", place="a.avsc"), 1))
    found = decoder.decode(data)
    assert found is not None
    assert (found.name, found.guessed) == ("long", False)


def test_a_stale_header_is_told_and_the_prefix_counts() -> None:
    found = decode("00 00000001" + AVRO, {HEADER: f"01 {PROTO_GUID.replace('-', '')} 00"})
    assert found is not None
    assert found.value == ANN
    assert str(found.error).startswith(f"a header names the schema {PROTO_GUID}, by which it does not decode")


def test_a_schema_of_the_user_reads_values_without_prefix() -> None:
    store = SchemaStore()
    store.add_schema(RegisteredSchema("AVRO", ORDER, SchemaOrigin("file", place="o.avsc"), subject="orders-value"))
    decoder = ValueDecoder(store)
    found = decoder.decode(bytes.fromhex(AVRO), topic="orders")
    assert found is not None
    assert (found.value, found.schema_from) == (ANN, SchemaOrigin("file", place="o.avsc"))
    assert decoder.decode(bytes.fromhex(AVRO + "00"), topic="orders") is None
    assert decoder.decode(bytes.fromhex(AVRO), topic="others") is None


def test_schemas_that_refer_to_each_other_in_a_circle_are_refused() -> None:
    store = SchemaStore()
    for name, other in (("a", "b"), ("b", "a")):
        text = f'{{"type":"record","name":"{name}","fields":[{{"name":"x","type":"{other}"}}]}}'
        reference = (SchemaReference(other, other, 1),)
        store.add_schema(RegisteredSchema("AVRO", text, CAPTURE, ord(name), None, name, 1, reference))
    found = ValueDecoder(store).decode(bytes.fromhex("00 00000061 02"))
    assert found is not None
    assert "in a circle" in str(found.error)


def real_values_of_other_kinds() -> list[bytes]:
    """Numbers, identifiers, texts and small structures as serializers of Java and Kafka itself write them."""
    found = [struct.pack(">q", number) for number in [*range(0, 3000, 7), 2**24, 2**24 + 9, 3 * 2**24 + 5, 2**40, -1]]
    found += [struct.pack(">i", number) for number in range(0, 3000, 7)]
    found += [struct.pack(">d", number / 7) for number in range(500)]
    found += [struct.pack("<q", number * 977) for number in range(500)]
    found += [struct.pack(">qq", number, number * 31) for number in range(500)]
    found += [UUID(int=number << 64 | number * 2**70 | 4 << 76 | 2 << 62).bytes for number in range(500)]
    found += [f"user-{number}".encode() for number in range(300)]
    found += [f"2026-11-{number % 28 + 1:02}T10:00:00Z INFO started [{number}]".encode() for number in range(300)]
    found += [f"a,b,{number}\r\n".encode() for number in range(100)]
    found += [f"\t<order id='{number}'/>".encode() for number in range(100)]
    found += [
        "Größe: 5 µm".encode(),
        "日本語のテキスト".encode(),
        b"\0",
        b"\n",
        b"[",
        b"{",
        b"[not json]",
        b"{x}",
        b"\x01\x02",
    ]
    found += [struct.pack(">hh", 0, len(name)) + name + b"\0\0\0\1" for name in (b"ledger", b"consumer", b"orders-eu")]
    found += [b"true", b"123", b"null", b"xy", b"(a)", b"Objects", "é".encode(), b"\x80abc", b"\x9f" * 20]
    return found


@pytest.mark.parametrize("store", [SchemaStore(), STORE], ids=["no schemas", "schemas"])
def test_no_form_is_claimed_of_values_of_other_kinds(store: SchemaStore) -> None:
    decoder = ValueDecoder(store)
    values = real_values_of_other_kinds()
    claimed = [(value, found) for value in values if (found := decoder.decode(value)) is not None]
    assert len(claimed) * 1000 <= len(values), claimed[:5]


def test_what_is_compressed_is_bounded() -> None:
    bomb = zlib.compress(bytes(VALUE_INFLATED_MAX + 1))
    assert decode(bomb.hex()) is None
    assert decode(gzip.compress(bytes(VALUE_INFLATED_MAX + 1)).hex()) is None
    found = decode(f"0305 {GLUE.replace('-', '')}" + bomb.hex())
    assert found is not None
    assert str(found.error).startswith("the zlib data is cut, too large")


def test_values_inside_values_have_a_limit() -> None:
    data = b'{"a":1}'
    for _ in range(4):
        data = gzip.compress(data)
    found = ValueDecoder(STORE).decode(data)
    assert found is not None
    assert "base64" in found.value


def test_records_of_kafkas_own_topics_are_no_values() -> None:
    assert decode("00 00000001" + AVRO, topic="__consumer_offsets") is None


def test_no_form_is_claimed_of_random_bytes() -> None:
    random, decoder = Random(7), ValueDecoder(STORE)
    values = [random.randbytes(random.randrange(1, 80)) for _ in range(20_000)]
    claimed = [(value, found) for value in values if (found := decoder.decode(value)) is not None]
    assert len(claimed) * 1000 <= len(values), claimed[:5]


@settings(max_examples=80, deadline=None)
@given(
    st.sampled_from(["", *(row.values[0] for row in FORMS)]),
    st.binary(max_size=40),
    st.dictionaries(
        st.sampled_from([HEADER, "apicurio.value.globalId", "ce_specversion", "ce_type"]), st.binary(max_size=20)
    ),
    st.booleans(),
)
def test_nothing_is_raised_and_all_is_json(head: Any, tail: bytes, headers: dict[str, bytes], is_key: bool) -> None:
    found = ValueDecoder(STORE).decode(bytes.fromhex(head) + tail, [*headers.items()], topic="orders", is_key=is_key)
    if found is not None:
        orjson.dumps(found.to_json())


def store_of(*schemas: RegisteredSchema) -> ValueDecoder:
    store = SchemaStore()
    for schema in schemas:
        store.add_schema(schema)
    return ValueDecoder(store)


@pytest.mark.parametrize(
    ("path", "body", "name", "guessed"),
    [
        ("04 00 00", "0a0178", "Event.First", False),  # as Java counts
        ("04 00 02", "0a0178", "Event.First", False),  # as Python counts: an entry of a map comes before
        ("04 00 02", "1005", "Event.Second", False),
        ("04 00 06", "1005", "Event.Second", False),
        ("04 00 02", "", "Event.Second", True),  # both explain it
    ],
)
def test_entries_of_maps_may_count_as_messages(path: str, body: str, name: str, guessed: bool) -> None:
    decoder = store_of(RegisteredSchema("PROTOBUF", TAGGED, CAPTURE, 8))
    found = decoder.decode(bytes.fromhex(f"00 00000008 {path} {body}"))
    assert found is not None
    assert (found.name, found.guessed, found.error) == (name, guessed, None)


def test_printers_of_descriptors_write_maps_as_messages() -> None:
    text = """syntax = "proto3"; message M { repeated .M.TagsEntry tags = 1;
      message TagsEntry { option map_entry = true; string key = 1; .M value = 2; } message Other { int32 x = 3; } }"""
    decoder = store_of(RegisteredSchema("PROTOBUF", text, CAPTURE, 8))
    found = decoder.decode(bytes.fromhex("00 00000008 00 0a05 0a0161 1200"))
    assert found is not None
    assert found.value == {"tags": {"a": {"tags": {}}}}
    other = decoder.decode(bytes.fromhex("00 00000008 04 00 02 1805"))
    assert other is not None
    assert (other.name, other.value) == ("M.Other", {"x": 5})


def test_a_message_of_no_bytes_is_a_value_where_a_header_names_it() -> None:
    for header in ("01" + PROTO_GUID.replace("-", "") + "00", "0000000003 00"):
        found = decode("", {"__value_schema_id": header})
        assert found is not None
        assert (found.name, found.value) == ("shop.Order", {"id": 0, "customer": ""})
    assert ValueDecoder(STORE).decode(None, [("__value_schema_id", bytes.fromhex("0000000003"))]) is None


def test_a_header_of_apicurio_names_the_message() -> None:
    content, zeta = "0000000000000003", hex_of("Zeta")
    rows = {"apicurio.value.contentId": content, "apicurio.protobuf.type": zeta}
    found = decode("0a0178", rows)
    assert found is not None
    assert (found.name, found.value) == ("shop.Zeta", {"x": "x"})
    pairs = [("apicurio.protobuf.type", b"Order"), *((name, bytes.fromhex(each)) for name, each in rows.items())]
    both = ValueDecoder(STORE).decode(bytes.fromhex("0a0178"), pairs)
    assert both is not None
    assert both.name == "shop.Zeta"  # that of the key comes first


def test_a_schema_whose_references_may_still_come_is_missing() -> None:
    uses = (SchemaReference("shop.Line", "line", 1),)
    cart = """{"type":"record","name":"Cart","fields":[{"name":"line","type":"shop.Line"}]}"""
    line = """{"type":"record","name":"shop.Line","fields":[{"name":"sku","type":"string"}]}"""
    decoder = store_of(RegisteredSchema("AVRO", cart, CAPTURE, 8, references=uses))
    value = bytes.fromhex("00 00000008 0278")
    found = decoder.decode(value)
    assert found is not None
    assert (found.missing_schema, found.value) == (True, None)
    decoder.store.add_schema(RegisteredSchema("AVRO", line, CAPTURE, 7, subject="line", version=1))
    found = decoder.decode(value)
    assert found is not None
    assert (found.missing_schema, found.value) == (False, {"line": {"sku": "x"}})


def test_well_known_imports_need_no_reference() -> None:
    text = (
        'syntax = "proto3"; import "google/protobuf/timestamp.proto"; message M { google.protobuf.Timestamp at = 1; }'
    )
    uses = (SchemaReference("google/protobuf/timestamp.proto", "google/protobuf/timestamp.proto", 1),)
    found = store_of(RegisteredSchema("PROTOBUF", text, CAPTURE, 8, references=uses)).decode(
        bytes.fromhex("00 00000008 00 0a020801")
    )
    assert found is not None
    assert found.value == {"at": "1970-01-01T00:00:01.000000Z"}


def test_a_file_of_a_topic_reads_ids_of_a_context_that_is_not_known() -> None:
    other = '{"type":"record","name":"Other","fields":[{"name":"x","type":"double"}]}'
    decoder = store_of(
        RegisteredSchema("AVRO", other, CAPTURE, 1),
        RegisteredSchema("AVRO", ORDER, SchemaOrigin("file"), subject="orders-value"),
    )
    found = decoder.decode(bytes.fromhex("00 00000001") + bytes.fromhex(AVRO), topic="orders")
    assert found is not None
    assert (found.name, found.value, found.guessed) == ("shop.Order", ANN, False)


def test_two_spellings_of_a_schema_are_no_guess() -> None:
    spaced = json.dumps(json.loads(ORDER), indent=2)
    named = json.loads(ORDER) | {"doc": "another text"}
    first = RegisteredSchema("AVRO", ORDER, CAPTURE, 1, registry="a")
    for text, guessed in ((spaced, False), (json.dumps(named), False), (ORDER.replace("customer", "client"), True)):
        found = store_of(first, first._replace(text=text, registry="b")).decode(bytes.fromhex(f"00 00000001 {AVRO}"))
        assert found is not None
        assert (found.value, found.guessed) == (ANN, guessed)
