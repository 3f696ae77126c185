"""Schemas that a capture brings may be hostile: each ends in a value or an error of the library, soon."""

from __future__ import annotations

import builtins
import json
import socket
import time
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoders.errors import DecodeError
from decoders.values.avro.avro_decoder_codegen import DecoderWriter, compile_decoder
from decoders.values.avro.avro_schema import parse_avro_schema
from decoders.values.schema_store import SchemaStore
from decoders.values.schemas_and_decoded_values import (
    DecodedValue,
    RegisteredSchema,
    SchemaOrigin,
    SchemaReference,
    SchemaType,
)
from decoders.values.value_decoder import ValueDecoder
from decoders.wire.primitive_types import encode_varlong

ORIGIN = SchemaOrigin("capture", 1)
PREFIX = bytes.fromhex("0000000001")
SECONDS = 8  # of the processor, on a busy machine


def decode(
    kind: SchemaType,
    text: str,
    body: bytes,
    *,
    uses: tuple[SchemaReference, ...] = (),
    more: tuple[RegisteredSchema, ...] = (),
) -> DecodedValue:
    store = SchemaStore()
    store.add_schema(RegisteredSchema(kind, text, ORIGIN, 1, subject="s1", version=1, references=uses))
    for each in more:
        store.add_schema(each)
    begin = time.process_time()
    found = ValueDecoder(store).decode(PREFIX + body)
    assert time.process_time() - begin < SECONDS
    assert found is not None
    orjson.dumps(found.to_json())
    return found


def record(*fields: Any, name: str = "R") -> str:
    rows = [{"name": f"f{number}", "type": kind} for number, kind in enumerate(fields)]
    return json.dumps({"type": "record", "name": name, "fields": rows})


FIXED = {"type": "fixed", "name": "F", "size": 1 << 60}
ITSELF = '{"type":"record","name":"R","fields":[{"name":"r","type":"R"}]}'
PAIR = '{"type":"record","name":"R","fields":[{"name":"a","type":["null","R"]},{"name":"b","type":["null","R"]}]}'
AVRO: dict[str, tuple[str, bytes]] = {
    "recursion without end": (ITSELF, b"\0" * 99),
    "arrays of itself": (record({"type": "array", "items": "R"}), b"\2" * 9999),
    "trees of itself": (PAIR, b"\2" * 9999),
    "very many fields": (record(*["null"] * 25_000), b""),
    "a huge fixed": (json.dumps(FIXED), b"abcd"),
    "an array of huge fixed": (json.dumps({"type": "array", "items": FIXED}), encode_varlong(1 << 62)),
    "a union in a union": ('["null",["null",["int"]]]', b"\2\2\2\0"),
    "a union of a thousand": (
        json.dumps([{"type": "fixed", "name": f"F{n}", "size": n} for n in range(1000)]), b"\xce\x0f",
    ),
    "zero-size items": ('{"type":"array","items":"null"}', encode_varlong(1 << 62) + b"\0"),
    "a negative count": ('{"type":"array","items":"null"}', encode_varlong(-(1 << 62)) + b"\2\0"),
    "zero-size records": (
        json.dumps({"type": "array", "items": json.loads(record())}),
        encode_varlong(1 << 40) + b"\0",
    ),
    "a map of a million": ('{"type":"map","values":"null"}', encode_varlong(10**6) + b"\0" * 10**6 + b"\0"),
    "records of records": (record(*[json.loads(record(*["null"] * 90, name=f"R{n}")) for n in range(90)]), b""),
    "deep arrays": ('{"type":"array","items":' * 31 + '"null"' + "}" * 31, b"\2" * 200),
}  # fmt: skip


@pytest.mark.parametrize("name", AVRO)
def test_avro(name: str) -> None:
    found = decode("AVRO", *AVRO[name])
    assert (found.error is None) == (found.value is not None)


def test_blocks_that_double_in_each_level_are_few() -> None:
    """31 levels of arrays of two empty items each would be 2 ** 31 values."""
    text = '{"type":"array","items":' * 20 + '"null"' + "}" * 20

    def block(levels: int) -> bytes:
        return b"\0" if not levels else b"\4" + block(levels - 1) * 2 + b"\0"

    assert decode("AVRO", text, block(8)).error is None
    assert decode("AVRO", text, block(14) + b"\0").error is not None


def test_defaults_are_not_unfolded() -> None:
    text = record({"type": "array", "items": "long"}).replace(
        '"type": {"type": "array"', '"default": [0], "type": {"type": "array"'
    )
    deep = json.loads(text)
    deep["fields"][0]["default"] = [0] * 100_000
    assert decode("AVRO", json.dumps(deep), b"\0").value == {"f0": []}


PROTOBUF: dict[str, tuple[str, bytes]] = {
    "groups in groups": ("message A { repeated group G = 1 { optional group H = 1 {} } }", b"\x0b" * 100_000),
    "unknown groups": ("message A { optional int32 x = 9; }", b"\x0b" * 100_000),
    "itself": ("message A { optional A a = 1; }", b"\x0a\xff\x7f" * 30_000),
    "a map of very many": ("message A { map<int32, int32> m = 1; }", b"\x0a\0" * 10**5),
    "a list of very many": ("message A { repeated A a = 1; }", b"\x0a\0" * 10**5),
    "many defaults": (
        "message A { repeated B b = 1; } message B { "
        f"{' '.join(f'optional A a{n} = {n + 1};' for n in range(5000))} }}",
        b"\x0a\0" * 10_000,
    ),
    "many plain fields": (
        'syntax = "proto3"; message A { repeated B b = 1; } message B { '
        f"{' '.join(f'int32 a{n} = {n + 1};' for n in range(5000))} }}",
        b"\x0a\0" * 10_000,
    ),
    "a oneof of thousands": (
        f"message A {{ oneof o {{ {' '.join(f'int32 a{n} = {n + 1};' for n in range(15_000))} }} }}",
        b"\x08\1" * 100_000,
    ),
    "an import of an address": ('import "http://127.0.0.1:1/a.proto"; message A { optional far.B b = 1; }', b""),
    "numbers without end": (
        f"message A {{ int32 a = 0x{'f' * 6000}; int32 b = 0x{'f' * 6000}; enum E {{ Z = {'9' * 5000}; }} }}",
        b"\x08\1\x10\1",  # 8 bytes with the prefix could be a number
    ),
    "any in any": (
        'import "google/protobuf/any.proto"; message A { optional google.protobuf.Any a = 1; }',
        b"\x0a\x7f\x0a\x01/" * 1000,
    ),
    "a struct in itself": (
        'import "google/protobuf/struct.proto"; message A { optional google.protobuf.Value v = 1; }',
        b"\x0a\x7f\x32\x7d" * 1000,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PROTOBUF)
def test_protobuf(name: str) -> None:
    text, body = PROTOBUF[name]
    found = decode("PROTOBUF", text, b"\0" + body)
    assert (found.error is None) == (found.value is not None)


JSON: dict[str, tuple[Any, Any]] = {
    "a reference to itself": ({"$ref": "#"}, {}),
    "many references to itself": ({"anyOf": [{"$ref": "#"}] * 50, "allOf": [{"$ref": "#"}] * 50}, {}),
    "references in a circle": (
        {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}, {},
    ),
    "an address": ({"$ref": "http://127.0.0.1:1/x.json", "$schema": "http://127.0.0.1:1/y"}, {}),
    "a name that backtracks": (
        {"type": "object", "patternProperties": {"(a*)*b": {}}, "additionalProperties": False}, {"a" * 9999: 1},
    ),
    "a value that backtracks": (
        {"properties": {"x": {"pattern": "^(([a-z])+.)+[A-Z]([a-z])+$"}}}, {"x": "a" * 9999},
    ),
    "types of types": ({"type": [["string"], {}, "integer", None]}, 5),
    "an index without end": ({"$ref": f"#/allOf/{'9' * 5000}", "allOf": [{}]}, 5),
    "many patterns": (
        {"patternProperties": {f"^{'a?' * 9}{number}": {} for number in range(2000)}},
        {f"a{n}": n for n in range(5000)},
    ),
    "many choices": ({"items": {"enum": [[n, [n]] for n in range(20_000)]}}, [[n, [0]] for n in range(5000)]),
    "many names": ({"items": {"required": [f"a{n}" for n in range(20_000)]}}, [{}] * 5000),
    "items of items": ({"items": {"$ref": "#"}, "not": {"$ref": "#"}}, [[[[[[]]]]]]),
    "a trillion items": ({"uniqueItems": True}, [[number] for number in range(3000)]),
}  # fmt: skip


@pytest.mark.parametrize("name", JSON)
def test_json(name: str) -> None:
    schema, value = JSON[name]
    assert decode("JSON", json.dumps(schema), json.dumps(value).encode()).format == "json-schema"


def test_references_in_a_circle_end() -> None:
    uses = (SchemaReference("b", "s2", 1),)
    other = RegisteredSchema(
        "AVRO", '"b"', ORIGIN, 2, subject="s2", version=1, references=(SchemaReference("b", "s1", 1),)
    )
    assert decode("AVRO", '"b"', b"", uses=uses, more=(other,)).error is not None


def test_nothing_in_a_schema_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*words: object, **_more: object) -> Any:
        raise AssertionError(f"asked for {words}")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(builtins, "open", refuse)
    for url in ("http://127.0.0.1:1/x", "file:///etc/hostname", "/etc/hostname", "../x.json"):
        decode(
            "JSON", json.dumps({"$ref": url, "$schema": url, "properties": {"a": {"$ref": f"{url}#/b"}}}), b'{"a":1}'
        )
        decode("PROTOBUF", f'import "{url}"; message A {{ optional x.B b = 1; }}', b"\0")
        decode("AVRO", json.dumps({"type": url}), b"\0\0\0\0")


HOSTILE = st.text(st.sampled_from("'\"\\\n\r\t{}[]();:#, \u2028\u0000ab_.é"), min_size=1, max_size=12)


@settings(max_examples=60, deadline=None)
@given(st.lists(HOSTILE, min_size=5, max_size=5, unique=True))
def test_no_word_of_a_schema_reaches_generated_source_but_as_a_literal(words: list[str]) -> None:
    name, field, symbol, other, space = words
    schema = {
        "type": "record",
        "name": name,
        "namespace": space,
        "doc": other,
        "fields": [
            {"name": field, "type": {"type": "enum", "name": other, "symbols": [symbol]}, "doc": other},
            {"name": f"{field}!", "type": ["null", {"type": "fixed", "name": symbol, "size": 2, "logicalType": other}]},
            {
                "name": f"{field}?",
                "type": {"type": "map", "values": {"type": "array", "items": name if "." in name else "int"}},
            },
        ],
    }
    try:
        kind = parse_avro_schema(json.dumps(schema))
    except DecodeError:
        return
    source = "\n".join(DecoderWriter(kind).lines)
    assert source.isascii()
    plain = source
    for word in {field, f"{field}!", f"{field}?", symbol, *kind.name.split("."), kind.name}:
        plain = plain.replace(ascii(word), "_")
    # What is left of the source is what kw writes: no character of it comes from a word.
    assert not {"#", "\\", "{}"} & set(plain.replace("{}", ""))
    compiled = compile_decoder(kind)
    assert compiled is not None
    assert compiled(b"\0\0\0", 0) == ({field: symbol, f"{field}!": None, f"{field}?": {}}, 3)
