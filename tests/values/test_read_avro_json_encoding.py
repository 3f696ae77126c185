"""Avro's JSON encoding against fastavro's, and what is none."""

from __future__ import annotations

import io
import json
from decimal import Decimal

import pytest
from hypothesis import assume, given, reject, settings
from hypothesis import strategies as st

from decoders import DecodeError
from decoders.values.avro.avro_decoder import AvroDecoder
from decoders.values.avro.avro_schema import parse_avro_schema
from decoders.values.avro.read_avro_json_encoding import read_json_encoding
from tests.values.avro_values import schemas, values

fastavro = pytest.importorskip("fastavro", reason="fastavro is missing")


@settings(max_examples=18, deadline=None)
@given(st.data())
def test_both_encodings_say_the_same(data: st.DataObject) -> None:
    schema = data.draw(schemas())
    value = data.draw(values(schema))
    text, binary = io.StringIO(), io.BytesIO()
    parsed = fastavro.parse_schema(schema)
    try:
        fastavro.json_writer(text, parsed, [value])
    except Exception:  # it does not write records without fields, and not all types that contain themselves
        reject()
    fastavro.schemaless_writer(binary, parsed, value)
    assume("NaN" not in text.getvalue() and "Infinity" not in text.getvalue())  # which are no JSON
    decoder = AvroDecoder(parse_avro_schema(json.dumps(schema)))
    assert read_json_encoding(decoder.kind, text.getvalue().encode()) == decoder.decode_whole(binary.getvalue(), 0)


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ('"long"', "true"),
        ('"long"', '"1"'),
        ('"null"', "0"),
        ('"bytes"', '"\\u0100"'),
        ('"double"', '"many"'),
        ('["null","long"]', "1"),
        ('["null","long"]', '{"string":"x"}'),
        ('{"type":"fixed","name":"F","size":2}', '"abc"'),
        ('{"type":"enum","name":"E","symbols":["A"]}', '"B"'),
        ('{"type":"record","name":"R","fields":[{"name":"a","type":"int"}]}', "{}"),
        ('{"type":"array","items":"int"}', "{}"),
        ('"string"', "{"),
    ],
)
def test_what_does_not_fit_is_an_error(schema: str, text: str) -> None:
    with pytest.raises(DecodeError):
        read_json_encoding(parse_avro_schema(schema), text.encode())


def test_a_type_that_contains_itself_has_few_levels() -> None:
    kind = parse_avro_schema('{"type":"record","name":"R","fields":[{"name":"next","type":["null","R"]}]}')
    text = '{"next":{"R":' * 400 + '{"next":null}' + "}}" * 400
    with pytest.raises(DecodeError):
        read_json_encoding(kind, text.encode())


def test_decimals_are_texts_of_bytes() -> None:
    schema = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}
    text = io.StringIO()
    fastavro.json_writer(text, fastavro.parse_schema(dict(schema)), [Decimal("-1.50")])
    assert read_json_encoding(parse_avro_schema(json.dumps(schema)), text.getvalue().encode()) == "-1.50"
