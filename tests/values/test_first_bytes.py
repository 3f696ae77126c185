"""The looks at first bytes pass over no value that decoding knows, and most values that it does not."""

from __future__ import annotations

import random
import zlib
from typing import Any, cast

import cbor2
import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoders.records.records_as_json import (
    records_json,
    records_json_noting_encodings,
    records_json_noting_encodings_beyond_json,
)
from decoders.schema.body_json_form import json_bytes
from decoders.values.protobuf.guess_message import guess_message, looks_like_message
from decoders.values.schema_store import SchemaStore
from decoders.values.schemas_and_decoded_values import DecodedValue
from decoders.values.value_decoder import ValueDecoder
from decoders.values.values_that_may_be_encoded import JsonRecords, list_parts_that_may_be_encoded, may_be_encoded


def record_of(data: bytes | None, headers: list[Any] | None = None) -> dict[str, Any]:
    return {"offset": 0, "timestamp": 0, "key": None, "value": json_bytes(data or b""), "headers": headers or []}


def is_passed(data: bytes) -> bool:
    """Whether both looks pass a value on to decoding."""
    return bool(list_parts_that_may_be_encoded([record_of(data)]))


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


@st.composite
def messages(draw: st.DrawFn) -> bytes:
    """Messages of Protobuf, as serializers write them, and nearly so."""
    out, number = b"", 0
    for _ in range(draw(st.integers(1, 5))):
        number += draw(st.integers(0, 40))
        wire = draw(st.sampled_from([0, 1, 2, 5]))
        content = draw(st.one_of(st.binary(max_size=20), st.text("abc ", max_size=200).map(str.encode)))
        body = {
            0: varint(draw(st.integers(0, 1 << 63))),
            1: bytes(8),
            2: varint(len(content)) + content,
            5: b"abcd",
        }[wire]
        out += varint(number << 3 | wire) + body
    return out


JSON = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-(1 << 63), 1 << 63), st.floats(allow_nan=False), st.text(max_size=40)
    ),
    lambda inner: st.lists(inner, max_size=20) | st.dictionaries(st.text(max_size=40), inner, max_size=20),
    max_leaves=30,
)
BEGINNINGS = st.sampled_from(
    [
        bytes([first]) + rest
        for first in range(256)
        for rest in (b"", b"\0\0\0\7", b"\1", b"{", b"\x85", b"\xa3key", b"\xd9\3key")
    ]
)
VALUES = st.one_of(
    st.binary(max_size=40),
    st.tuples(BEGINNINGS, st.binary(max_size=30)).map(b"".join),
    messages(),
    JSON.map(msgpack.packb),
    JSON.map(cbor2.dumps),
    JSON.map(lambda value: cbor2.dumps([value, value])),
    st.binary(max_size=30).map(zlib.compress),
    st.text('{}[]": \t\nx\u06aa\u0061', max_size=12).map(str.encode),
)


@given(VALUES)
def test_what_is_passed_over_has_no_form(data: bytes) -> None:
    if ValueDecoder(SchemaStore()).decode(data) is not None:
        assert is_passed(data)


@given(
    st.lists(st.one_of(VALUES, st.text("abc Z\u00e9", max_size=9).map(str.encode)), min_size=6, max_size=12), st.data()
)
def test_what_a_look_at_a_chunk_passes_over_has_no_form(datas: list[bytes], data: st.DataObject) -> None:
    keys = data.draw(st.permutations(datas))
    rows = [(0, 0, key, value, (), None) for key, value in zip(keys, datas, strict=True)]
    found = cast("JsonRecords", records_json_noting_encodings(iter(rows)))
    assert found == records_json(iter(rows))
    decode = ValueDecoder(SchemaStore()).decode
    known = {(number, part) for number, row in enumerate(rows) for part, data in (("key", row[2]), ("value", row[3]))
             if decode(data) is not None}  # fmt: skip
    assert found.parts is not None
    assert known <= set(found.parts)
    shown = list_parts_that_may_be_encoded(found)
    assert all((found[number], part) in shown for number, part in known)
    lines = records_json_noting_encodings_beyond_json(iter(rows))
    formats = {
        each: cast("DecodedValue", decode((keys if each[1] == "key" else datas)[each[0]])).format for each in known
    }
    noted = list_parts_that_may_be_encoded(lines, beyond_json=True)
    assert all((lines[number], part) in noted for (number, part), form in formats.items() if form != "json")


def test_a_chunk_of_plain_text_random_bytes_and_numbers_has_few_parts() -> None:
    rng = random.Random(5)
    rows = [(n, 0, n.to_bytes(8, "big"), rng.randbytes(80), (("trace", b"7"),), None) for n in range(128 * 20)]
    found = cast("JsonRecords", records_json_noting_encodings(iter(rows)))
    assert found.parts is not None
    assert {part for _, part in found.parts} == {"value"}
    assert len(found.parts) <= len(rows) / 20
    texts = [(n, 0, b"key-%d" % n, b"order of %d" % n, (), None) for n in range(128)]
    assert cast("JsonRecords", records_json_noting_encodings(iter(texts))).parts == []
    named = [(n, 0, b"k", b"plain", (("ce_specversion", b"1.0"),), None) for n in range(6)]
    assert cast("JsonRecords", records_json_noting_encodings(iter(named))).parts is None
    json = [(n, 0, b"k", b'{"id":7}', (), None) for n in range(6)]
    assert cast("JsonRecords", records_json_noting_encodings_beyond_json(iter(json))).parts == []
    assert len(list_parts_that_may_be_encoded(records_json_noting_encodings(iter(json)))) == 6


@given(messages())
def test_a_message_that_is_guessed_is_passed(data: bytes) -> None:
    if looks_like_message(data) and 0 < data[0] >> 3 < 4:
        assert guess_message(data) is not None
        assert may_be_encoded(data[:18], len(data))


@given(VALUES, st.lists(st.sampled_from(["trace", "ce_id", "ce_type", "content-type", "Content-Type"]), max_size=2))
def test_headers_that_name_nothing_do_not_count(data: bytes, names: list[str]) -> None:
    headers = [(name, b"text/plain") for name in names]
    found = ValueDecoder(SchemaStore()).decode(data, headers)
    record = record_of(data, [{"key": name, "value": "text/plain"} for name in names])
    assert found is None or list_parts_that_may_be_encoded([record])


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("__value_schema_id", "x"),
        ("__key_schema_id", "x"),
        ("apicurio.value.globalId", "x"),
        ("apicurio.key.contentId", "x"),
        ("ce_specversion", "1.0"),
        ("content-type", "application/CloudEvents+json; charset=utf-8"),
    ],
)
def test_headers_that_name_a_form_pass_both_parts(name: str, content: str) -> None:
    record = record_of(b"plain", [{"key": name, "value": content}])
    assert list_parts_that_may_be_encoded([record]) == [(record, "key"), (record, "value")]
    assert list_parts_that_may_be_encoded([{**record, "control_record": {}}]) == []


@pytest.mark.parametrize(("text", "passes"), [
    ('{"id":1}', False), ('[{"payload":1}]', False), ('"payload"', False),
    ('{"schema":null,"payload":1}', True), ('{"specversion":"1.0"}', True), ('{"\\u0070ayload":1}', True),
])  # fmt: skip
def test_plain_json_is_passed_over_where_its_text_says_all(text: str, passes: bool) -> None:
    record = record_of(text.encode())
    assert bool(list_parts_that_may_be_encoded([record], beyond_json=True)) == passes
    assert list_parts_that_may_be_encoded([record]) == [(record, "value")]


def test_most_random_bytes_and_all_numbers_are_passed_over() -> None:
    rng = random.Random(5)
    assert sum(is_passed(rng.randbytes(80)) for _ in range(4000)) < 120
    assert not any(is_passed(number.to_bytes(8, "big")) for number in range(2000))


def test_odd_objects_of_ndjson_are_passed_over() -> None:
    odd: list[Any] = [{}, {"base64": 5}, {"base64": "AAA"}, {"base64": ""}, {"redacted": 9}, 7, [], None, ""]
    rows = [{"key": each, "value": each, "headers": [{"key": {"base64": "AAAA"}, "value": None}]} for each in odd]
    assert list_parts_that_may_be_encoded(rows) == []
