"""Values against a JSON Schema, as the package `jsonschema` judges them; patterns and references that are hostile."""

from __future__ import annotations

import json
import time
from typing import Any

import jsonschema  # type: ignore[import-untyped]  # it ships no types
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoders.errors import DecodeError
from decoders.values.check_values_against_json_schema import JsonSchema

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 12) | st.sampled_from([0.5, 2.0, "", "a", "abc", "x9"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=5,
)
TYPES = st.sampled_from(["null", "boolean", "integer", "number", "string", "array", "object"])


def words(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Schemas with some of the words that kw knows; `inner` are those of parts."""
    optional: dict[str, st.SearchStrategy[Any]] = {
        "type": TYPES | st.lists(TYPES, min_size=1, max_size=2, unique=True),
        "enum": st.lists(st.sampled_from(["a", 7, None]), min_size=1, max_size=2, unique=True),
        "minimum": st.integers(-2, 5),
        "exclusiveMaximum": st.integers(-2, 5),
        "minLength": st.integers(0, 2),
        "maxItems": st.integers(0, 2),
        "minProperties": st.integers(0, 2),
        "pattern": st.sampled_from(["^a", "[0-9]$"]),
        "required": st.lists(st.sampled_from("abc"), max_size=2, unique=True),
        "properties": st.dictionaries(st.sampled_from("abc"), inner, max_size=2),
        "additionalProperties": inner,
        "items": inner,
        "prefixItems": st.lists(inner, min_size=1, max_size=2),
        **dict.fromkeys(("allOf", "anyOf", "oneOf"), st.lists(inner, min_size=1, max_size=2)),
        "not": inner,
    }
    return st.lists(st.sampled_from([*optional]), max_size=3, unique=True).flatmap(
        lambda names: st.fixed_dictionaries({name: optional[name] for name in names})
    )


SCHEMAS = st.recursive(st.booleans() | TYPES.map(lambda name: {"type": name}), words, max_leaves=4)


@settings(max_examples=80, deadline=None)
@given(SCHEMAS, VALUES)
def test_the_same_values_fit(schema: Any, value: Any) -> None:
    wanted = jsonschema.Draft202012Validator(schema).is_valid(value)
    assert (JsonSchema(json.dumps(schema), {}).find_misfit(value) is None) == wanted


def misfit(schema: Any, value: Any, references: dict[str, JsonSchema] | None = None) -> str | None:
    return JsonSchema(json.dumps(schema), references or {}).find_misfit(value)


def test_references_lead_inside_and_to_known_schemas_only() -> None:
    inner = JsonSchema('{"type": "integer"}', {})
    schema = {"$defs": {"a/b": {"type": "string"}}, "properties": {
        "x": {"$ref": "#/$defs/a~1b"}, "y": {"$ref": "https://example.com/inner.json"}, "z": {"$ref": "http://far.example/z"},
    }}  # fmt: skip
    assert misfit(schema, {"x": 1}) == "x: no string"
    assert misfit(schema, {"y": "1", "z": 2}) is None
    assert misfit(schema, {"y": "1"}, {"inner.json": inner}) == "y: no integer"


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"$ref": "#"}, 1),
        ({"allOf": [{"$ref": "#"}, {"$ref": "#"}]}, 1),
        ({"pattern": "(a*)*b"}, "a" * 5000),
        ({"pattern": "(?<=x)y"}, "a"),
        ({"pattern": "((a{0,100}){0,100}){0,100}"}, "a"),
        ({"properties": {"a": {"$ref": "#"}}}, {"a": {"a": {}}}),
    ],
)
def test_no_schema_takes_long(schema: Any, value: Any) -> None:
    begin = time.process_time()
    found = misfit(schema, value)
    assert found in (None, "the value: does not match the pattern")
    assert time.process_time() - begin < 10


@pytest.mark.parametrize("text", ["", "[]", "1", "[" * 200 + "]" * 200, '{"a":' * 150 + "1" + "}" * 150])
def test_other_texts_are_no_schemas(text: str) -> None:
    with pytest.raises(DecodeError):
        JsonSchema(text, {})
