"""Hex views of records: the fields of decoded keys and values stand at their bytes; every byte is there once."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoders.limits import VALUE_SPANS_MAX
from decoders.messages.decode_record_values import RecordValueReader
from decoders.messages.split_frame_into_parts import split_frame
from decoders.records.encode_batches import encode_batch
from decoders.records.record_and_batch import Batch, Record
from decoders.values.schemas_and_decoded_values import RegisteredSchema, SchemaOrigin
from tests.exchanges.talks import request
from tests.output.test_hex import digits, view

FILE = SchemaOrigin("file")
LINE = {"type": "record", "name": "Line", "fields": [{"name": "sku", "type": "string"}, {"name": "n", "type": "int"}]}
ORDER = {
    "type": "record",
    "name": "shop.Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "customer", "type": {"type": "record", "name": "C", "fields": [{"name": "name", "type": "string"}]}},
        {"name": "note", "type": ["null", "string"]},
        {"name": "lines", "type": {"type": "array", "items": LINE}},
        {"name": "tags", "type": {"type": "map", "values": "int"}},
        {"name": "error_code", "type": "int"},
    ],
}
AVRO = "52 06416e6e 02 0468 69 02 0241 04 00 02 0478 79 06 00 0e"
PROTO = """syntax = "proto3"; package shop;
message Order { int64 id = 1; Customer customer = 2; repeated int32 n = 3; map<string, int32> tags = 4;
  repeated string sku = 5; message Customer { string name = 1; } }"""
MESSAGE = "0829 1205 0a03416e6e 1a03 010203 2206 0a0278 79 1003 2a0141 2a0142 3801"


def reader() -> RecordValueReader:
    found = RecordValueReader()
    found.store.add_schema(RegisteredSchema("AVRO", json.dumps(ORDER), FILE, 1))
    found.store.add_schema(RegisteredSchema("PROTOBUF", PROTO, FILE, 3))
    found.store.add_schema(RegisteredSchema("AVRO", json.dumps({"type": "array", "items": "int"}), FILE, 4))
    return found


def frame(*values: bytes, codec: str = "none", headers: Any = ()) -> bytes:
    records = encode_batch([Record(at, 5, b"k", value, headers) for at, value in enumerate(values)], Batch(codec=codec))
    return request(0, 9, 1, "app", {"topic_data": [{"name": "t", "partition_data": [{"records": records}]}]})


def fields(data: bytes, values: RecordValueReader | None) -> dict[str, tuple[str, str]]:
    """The path below the record of each field → its bytes, and its value."""
    found: dict[str, tuple[str, str]] = {}
    for part in split_frame(data, "request", 0, 9, values=values).body:
        if (name := part.path.rpartition("].records[0].")[2]).startswith("value"):
            bytes_ = found.get(name, ("", ""))[0] + data[part.at : part.end].hex()
            found[name] = bytes_, str(part.value)
    return found


def test_fields_of_avro_stand_at_their_bytes() -> None:
    found = fields(frame(bytes.fromhex("0000000001" + AVRO)), reader())
    assert found.pop("value")[1].endswith("avro #1 shop.Order")
    assert found == {
        "value.magic": ("00", "00"),
        "value.schema id": ("00000001", "1"),
        "value.id": ("52", "41"),
        "value.customer.name": ("06416e6e", "Ann"),
        "value.note": ("02046869", "hi"),
        "value.lines": ("0200", "end of the array"),
        "value.lines[0].sku": ("0241", "A"),
        "value.lines[0].n": ("04", "2"),
        "value.tags": ("0200", "end of the map"),
        "value.tags[0].key": ("047879", "xy"),
        "value.tags[0].value": ("06", "3"),
        "value.error_code": ("0e", "7"),
    }


def test_fields_of_protobuf_stand_at_their_bytes() -> None:
    found = fields(frame(bytes.fromhex("000000000300" + MESSAGE)), reader())
    assert found.pop("value")[1].endswith("protobuf #3 shop.Order")
    assert found == {
        "value.magic": ("00", "00"),
        "value.schema id": ("00000003", "3"),
        "value.message": ("00", "shop.Order"),
        "value.id": ("0829", "41"),
        "value.customer": ("1205", "5"),
        "value.customer.name": ("0a03416e6e", "Ann"),
        "value.n": ("1a03010203", "1,2,3"),
        "value.tags[0]": ("2206", "6"),
        "value.tags[0].key": ("0a027879", "xy"),
        "value.tags[0].value": ("1003", "3"),
        "value.sku[0]": ("2a0141", "A"),
        "value.sku[1]": ("2a0142", "B"),
        "value._unknown_fields.7": ("3801", "1"),
    }


def test_rows_show_the_fields_and_no_meaning_of_kafkas() -> None:
    data = frame(bytes.fromhex("0000000001" + AVRO), bytes.fromhex("000000000300" + MESSAGE), b"plain")
    lines = [" ".join(line.split()) for line in view(data, "request", 0, 9, values=reader())]
    assert any(line.endswith("avro #1 shop.Order") for line in lines)
    assert any(line.endswith("name string Ann") for line in lines)
    assert any(line.endswith("error_code int 7") for line in lines)
    assert any(line.endswith("value varint bytes plain") for line in lines)
    for width in (None, 40, 80, 200):
        shown = view(data, "request", 0, 9, values=reader(), width=width, whole=True)
        assert digits(shown, width) == data.hex()


@pytest.mark.parametrize("codec", ["none", "gzip"])
def test_without_a_reader_or_compressed_values_are_bytes(codec: str) -> None:
    data = frame(bytes.fromhex("0000000001" + AVRO), codec=codec)
    assert fields(data, None).keys() <= {"value"}
    assert ("value.id" in fields(data, reader())) == (codec == "none")


def test_an_id_in_a_header_and_an_unknown_one() -> None:
    guid = "168499f1-d4ed-59a5-b55b-aed8e72cc852"
    known = reader()
    known.store.add_schema(RegisteredSchema("AVRO", json.dumps(ORDER), FILE, guid=guid))
    header = (("__value_schema_id", bytes.fromhex("01" + guid.replace("-", ""))),)
    found = fields(frame(bytes.fromhex(AVRO), headers=header), known)
    assert found["value.customer.name"] == ("06416e6e", "Ann")
    assert "value.magic" not in found
    found = fields(frame(bytes.fromhex("0000000009" + AVRO)), reader())
    assert found["value.schema id"] == ("00000009", "9")


def test_so_many_fields_are_named() -> None:
    count = 3 * VALUE_SPANS_MAX
    data = frame(bytes.fromhex("0000000004" + "f02e" + "02" * count + "00"))
    found = split_frame(data, "request", 0, 9, values=reader()).body
    assert len([part for part in found if "].value[" in part.path]) < VALUE_SPANS_MAX
    assert any("fields to name" in str(part.value) for part in found)


@settings(max_examples=60)
@given(st.sampled_from([1, 3, 4]), st.binary(max_size=40), st.integers(0, 60))
def test_every_byte_is_in_one_part(schema: int, junk: bytes, cut: int) -> None:
    body = bytes.fromhex({1: AVRO, 3: "00" + MESSAGE, 4: "040204"}[schema])
    data = frame(bytes([0, 0, 0, 0, schema]) + body[:cut] + junk)
    at = None
    for part in split_frame(data, "request", 0, 9, values=reader()).body:
        assert at is None or part.at == at
        at = part.end
    assert at == len(data)
