"""Avro values against fastavro, and what hostile schemas and bytes do: the walker and the compiled function alike."""

from __future__ import annotations

import io
import json
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoders.errors import DecodeError
from decoders.values.avro.avro_container_files import read_container
from decoders.values.avro.avro_decoder import AvroDecoder
from decoders.values.avro.avro_decoder_codegen import CRUDE, DecoderWriter, compile_decoder
from decoders.values.avro.avro_schema import AvroType, compute_fingerprint, parse_avro_schema
from decoders.values.avro.avro_walker import AvroWalker
from decoders.values.schema_store import SchemaStore
from decoders.values.schemas_and_decoded_values import RegisteredSchema, SchemaOrigin
from decoders.values.value_decoder import ValueDecoder
from decoders.wire.primitive_types import encode_varlong
from tests.values.avro_values import json_form_of, schemas, values

fastavro = pytest.importorskip("fastavro", reason="fastavro is missing")
TREE = '{"type":"record","name":"T","fields":[{"name":"inner","type":["null","T"]},{"name":"a","type":"int"}]}'


def encode(schema: Any, value: Any) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), value)
    return out.getvalue()


def read_both(kind: AvroType, data: bytes) -> tuple[Any, int] | str:
    """What the walker gives, or its error; the compiled function gives the same, or leaves it to the walker."""
    compiled = compile_decoder(kind)
    assert compiled is not None
    try:
        read = AvroWalker(data).read(kind, 0)
    except DecodeError as failure:
        with pytest.raises(CRUDE):
            compiled(data, 0)
        return str(failure)
    assert repr(compiled(data, 0)) == repr(read)
    return read


@settings(max_examples=18, deadline=None)
@given(st.data())
def test_values_are_those_that_fastavro_reads(data: st.DataObject) -> None:
    schema = data.draw(schemas())
    value = data.draw(values(schema))
    packed = encode(schema, value)
    kind = parse_avro_schema(json.dumps(schema))
    wanted = json_form_of(fastavro.schemaless_reader(io.BytesIO(packed), fastavro.parse_schema(schema), None), schema)
    assert repr(read_both(kind, packed)) == repr((wanted, len(packed)))
    cut = data.draw(st.integers(0, len(packed)))
    if cut < len(packed):
        assert isinstance(read_both(kind, packed[:cut]), str)


@settings(max_examples=18, deadline=None)
@given(schemas(), st.binary(max_size=60))
def test_any_bytes_give_a_value_or_an_error_of_the_library(schema: Any, data: bytes) -> None:
    read_both(parse_avro_schema(json.dumps(schema)), data)


@settings(max_examples=25, deadline=None)
@given(schemas())
def test_fingerprints_are_those_of_fastavro(schema: Any) -> None:
    form = fastavro.schema.to_parsing_canonical_form(fastavro.parse_schema(schema))
    wanted = fastavro.schema.fingerprint(form, "CRC-64-AVRO")
    assert compute_fingerprint(parse_avro_schema(json.dumps(schema))).hex() == wanted


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(["record", "int", "a.b", "union", "fixed", "x"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["type", "name", "fields", "items", "values", "symbols", "size", "logicalType", "namespace"]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)


@settings(max_examples=80, deadline=None)
@given(JSON_VALUES)
def test_any_schema_is_read_or_refused(schema: Any) -> None:
    try:
        kind = parse_avro_schema(json.dumps(schema))
    except DecodeError:
        return
    compile_decoder(kind)


@pytest.mark.parametrize("name", ["a'b", 'x"]; import os #', "\\", "\n", "{}", "ü\u2028", "\ud800"[:0] + "__class__"])
def test_words_of_a_schema_are_literals(name: str) -> None:
    schema = {
        "type": "record",
        "name": name,
        "fields": [{"name": name, "type": {"type": "enum", "name": "E", "symbols": [name]}}],
    }
    kind = parse_avro_schema(json.dumps(schema))
    assert read_both(kind, b"\0") == ({name: name}, 1)
    source = "\n".join(DecoderWriter(kind).lines)
    assert source.isascii()
    assert ascii(name) in source


def nested(count: int) -> str:
    """Records that each hold the next one twice, and no byte: 2 ** count values."""
    kind: Any = "null"
    for number in range(count):
        two = [{"name": "a", "type": kind}, {"name": "b", "type": kind if number == 0 else f"R{number - 1}"}]
        kind = {"type": "record", "name": f"R{number}", "fields": two}
    return json.dumps(kind)


@pytest.mark.parametrize(
    ("schema", "data"),
    [
        pytest.param('{"type":"array","items":"null"}', "feffffffffffffffff01 00", id="countless nulls"),
        pytest.param('{"type":"array","items":"null"}', "80 897a" + "00", id="a million nulls"),
        pytest.param('{"type":"array","items":"long"}', "fe ff ff ff 0f 00", id="more items than bytes"),
        pytest.param('{"type":"map","values":"long"}', "01 fe ff 02 00", id="a block of the least number"),
        pytest.param(TREE, "02" * 4000 + "00" * 4001, id="too deep"),
        pytest.param('"bytes"', "01", id="a negative size"),
        pytest.param('"string"', "fe ff ff ff ff ff ff ff ff 01", id="the longest text"),
        pytest.param('"long"', "ff ff ff ff ff ff ff ff ff ff 01", id="11 bytes"),
        pytest.param('"int"', "80 80 80 80 10", id="33 bits"),
        pytest.param('"boolean"', "02", id="no boolean"),
        pytest.param('["null","int"]', "04 00", id="no branch"),
        pytest.param('{"type":"enum","name":"E","symbols":["A"]}', "02", id="no symbol"),
    ],
)
def test_hostile_bytes_are_refused(schema: str, data: str) -> None:
    assert isinstance(read_both(parse_avro_schema(schema), bytes.fromhex(data)), str)


@pytest.mark.parametrize(
    "schema", [nested(30), "[" * 500 + "]" * 500, '{"type":"array","items":' * 90 + '"int"' + "}" * 90]
)
def test_hostile_schemas_are_refused(schema: str) -> None:
    with pytest.raises(DecodeError):
        parse_avro_schema(schema)


def test_a_value_of_some_levels_of_itself_is_read_by_both() -> None:
    kind = parse_avro_schema(TREE)
    read = read_both(kind, bytes.fromhex("02" * 5 + "00" + "02" * 6))
    assert not isinstance(read, str)
    assert str(read[0]).count("inner") == 6


def test_generated_code_reads_all_but_the_first_values(monkeypatch: pytest.MonkeyPatch) -> None:
    decoder = AvroDecoder(parse_avro_schema(TREE))
    packed = bytes.fromhex("02 00 04 06")
    wanted = decoder.decode(packed)
    for _ in range(5):
        decoder.decode(packed)
    monkeypatch.delattr(AvroWalker, "read")
    assert decoder.decode(packed) == wanted == ({"inner": {"inner": None, "a": 2}, "a": 3}, 4)


@pytest.mark.parametrize("codec", ["null", "deflate", "snappy", "zstandard"])
def test_containers_bring_their_schema(codec: str) -> None:
    schema = {"type": "record", "name": "shop.Order", "fields": [{"name": "id", "type": "long"}]}
    rows = [{"id": number} for number in range(300)]
    out = io.BytesIO()
    if codec in ("snappy", "zstandard"):
        packed = contained(codec, [encode(schema, row) for row in rows], json.dumps(schema).encode())
    else:
        fastavro.writer(out, fastavro.parse_schema(schema), rows, codec=codec, sync_interval=500)
        packed = out.getvalue()
    decoder, found = read_container(packed)
    assert (decoder.name, found) == ("shop.Order", rows)
    for cut in (3, 40, len(packed) - 1):
        with pytest.raises(DecodeError):
            read_container(packed[:cut])


def contained(codec: str, bodies: list[bytes], schema: bytes) -> bytes:
    """A container of one block whose codec fastavro needs further packages for."""
    import zlib

    import cramjam

    from decoders.records.codecs.zstd import deflate as deflate_zstd

    plain = b"".join(bodies)
    if codec == "snappy":
        block = bytes(cramjam.snappy.compress_raw(plain)) + zlib.crc32(plain).to_bytes(4, "big")
    else:
        block = deflate_zstd(plain, 2)
    sync = bytes(range(16))
    pairs = ((b"avro.schema", schema), (b"avro.codec", codec.encode()))
    head = b"".join(encode_varlong(len(name)) + name + encode_varlong(len(text)) + text for name, text in pairs)
    return (
        b"Obj\x01" + encode_varlong(2) + head + b"\0" + sync
        + encode_varlong(len(bodies)) + encode_varlong(len(block)) + block + sync
    )  # fmt: skip


MORE_LOGICAL: list[tuple[Any, Any, Any]] = [
    ({"type": "long", "logicalType": "timestamp-nanos"}, 1_795_860_000_123_456_789, "2026-11-28T10:00:00.123456789Z"),
    ({"type": "long", "logicalType": "local-timestamp-nanos"}, -1, "1969-12-31T23:59:59.999999999"),
    (
        {"type": "fixed", "name": "D", "size": 12, "logicalType": "duration"},
        bytes.fromhex("01000000 02000000 ffffffff"),
        {"months": 1, "days": 2, "milliseconds": (1 << 32) - 1},
    ),
    (
        {"type": "fixed", "name": "M", "size": 5, "logicalType": "decimal", "precision": 9, "scale": 3},
        Decimal("-12.345"),
        "-12.345",
    ),
    ({"type": "bytes", "logicalType": "decimal", "precision": 9}, Decimal(-7), "-7"),
    (
        {"type": "fixed", "name": "U", "size": 16, "logicalType": "uuid"},
        UUID("de305d54-75b4-431b-adb2-eb6b9e546014").bytes,
        "de305d54-75b4-431b-adb2-eb6b9e546014",
    ),
    ({"type": "int", "logicalType": "no-such"}, 7, 7),
    ({"type": "string", "logicalType": "date"}, "x", "x"),
    ({"type": "bytes", "logicalType": "decimal", "precision": 2, "scale": 3}, b"a", "a"),
]


@pytest.mark.parametrize(("schema", "value", "form"), MORE_LOGICAL)
def test_logical_types_have_their_json_forms(schema: Any, value: Any, form: Any) -> None:
    kind = parse_avro_schema(json.dumps(schema))
    plain = schema if not isinstance(value, bytes | int | str) else {**schema, "logicalType": "none"}
    packed = encode(plain, value)
    assert read_both(kind, packed) == (form, len(packed))


@settings(max_examples=12, deadline=None)
@given(st.data())
def test_unions_of_many_branches_and_types_of_other_schemas(data: st.DataObject) -> None:
    """What one schema takes from others, by their full names, fastavro reads in one schema."""
    parts: list[dict[str, Any]] = [
        {"type": "record", "name": "o.P0", "fields": [{"name": "a", "type": data.draw(schemas(1))}]},
        {"type": "enum", "name": "o.P1", "symbols": ["A", "B"]},
        {"type": "fixed", "name": "o.P2", "size": 3},
    ]
    names = data.draw(
        st.permutations(["null", "long", "string", "o.P0", "o.P1", "o.P2", {"type": "map", "values": "o.P0"}])
    )
    branches = names[: data.draw(st.integers(2, 7))]
    row = {"type": "record", "name": "R", "namespace": "shop", "fields": [{"name": "u", "type": branches}]}
    at = data.draw(st.integers(0, len(branches) - 1))
    branch = branches[at]
    by_name = {part["name"]: part for part in parts}
    inner = by_name.get(branch, branch) if isinstance(branch, str) else {"type": "map", "values": by_name["o.P0"]}
    value = data.draw(values(inner))
    packed = encode_varlong(at) + encode(inner, value)
    known = {part["name"]: parse_avro_schema(json.dumps(part)) for part in parts}
    kind = parse_avro_schema(json.dumps(row), known)
    wanted = json_form_of(fastavro.schemaless_reader(io.BytesIO(packed[1:]), fastavro.parse_schema(inner), None), inner)
    assert repr(read_both(kind, packed)) == repr(({"u": wanted}, len(packed)))


@settings(max_examples=12, deadline=None)
@given(st.data())
def test_each_version_of_a_schema_decodes_its_own_values(data: st.DataObject) -> None:
    """The writer's schema decodes: fields that were added, dropped and put in another order."""
    names: list[str] = []
    fields = [{"name": f"f{number}", "type": data.draw(schemas(1, names))} for number in range(4)]
    versions = [data.draw(st.permutations(fields))[: data.draw(st.integers(1, 4))] for _ in range(2)]
    store = SchemaStore()
    for number, each in enumerate(versions, 1):
        text = json.dumps({"type": "record", "name": "R", "fields": each})
        store.add_schema(RegisteredSchema("AVRO", text, SchemaOrigin("capture"), number, subject="r", version=number))
    for number, each in enumerate(versions, 1):
        schema = {"type": "record", "name": "R", "fields": each}
        value = data.draw(values(schema))
        packed = encode(schema, value)
        found = ValueDecoder(store).decode(b"\0\0\0\0" + bytes([number]) + packed)
        wanted = json_form_of(
            fastavro.schemaless_reader(io.BytesIO(packed), fastavro.parse_schema(schema), None), schema
        )
        if found is None:  # 8 bytes may be a number
            assert len(packed) == 3
        else:
            assert repr(found.value) == repr(wanted)
