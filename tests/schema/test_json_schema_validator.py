"""A compiled JSON Schema says the same of a value as the library jsonschema, and where a value does not fit."""

from __future__ import annotations

import json
from binascii import a2b_base64
from pathlib import Path
from typing import Any, Final

import jsonschema  # type: ignore[import-untyped]  # it ships no types
import pytest

from decoders.limits import UNNAMED_NESTING_MAX
from decoders.messages.read_ndjson import compile_record_checks
from decoders.schema.json_schema_validator import compile_json_schema
from tests.cli.worlds import kw
from tests.fuzz import odd_values

ROOT: Final = Path(__file__).resolve().parents[2]
SCHEMA: Final = json.loads((ROOT / "decoders" / "messages" / "record.schema.json").read_bytes())
INT: Final = {"type": "integer", "minimum": -2, "maximum": 5}
PAIR: Final = {"type": "object", "required": ["a"], "properties": {"a": INT, "b": {"type": ["string", "null"]}}}


@pytest.mark.parametrize(
    ("schema", "value", "said"),
    [
        (INT, 5, None),
        (INT, 6, "it is 6, not -2 to 5"),
        (INT, 1.0, "it is 1.0, not an integer"),
        (INT, True, "it is true, not an integer"),
        ({"const": 1}, True, "it is true, not 1"),
        ({"enum": ["x", None]}, [], 'it is an array, not one of "x" null'),
        ({"type": "number", "maximum": 10}, 1e308, "it is 1e+308, not 10 or less"),
        ({"type": "string", "pattern": "^a$"}, "a\n", 'it is "a\n", not of the form ^a$'),
        ({"type": "string", "pattern": "^a$", "description": "an a"}, "b", 'it is "b", not an a'),
        ({"type": "string", "contentEncoding": "base64"}, "eA=", 'it is "eA=", not base64'),
        ({"type": "string", "minLength": 1}, "", "it is empty"),
        (PAIR, {"a": 1, "b": None, "more": [[1]]}, None),
        (PAIR, {"b": "x"}, "it has no a"),
        (PAIR, {"a": 1, "b": 2}, "b is 2, not text or null"),
        (PAIR, {"a": 1, "more": json.loads("[" * 99 + "]" * 99)}, "more has too many levels"),
        (
            {"type": "object", "additionalProperties": PAIR},
            {"k\x1b[": {"a": "x"}},
            '["k\x1b["].a is "x", not an integer',
        ),
        ({"type": "object", "propertyNames": {"pattern": "^x"}}, {"y": 1}, "y is a key that the schema does not allow"),
        ({"type": "object", "patternProperties": {"^x": INT}}, {"xy": 9}, "xy is 9, not -2 to 5"),
        ({"type": "array", "items": PAIR, "maxItems": 2}, [{"a": 1}, {"a": None}], "[1].a is null, not an integer"),
        ({"type": "array", "minItems": 2, "maxItems": 2, "items": {}}, [1], "it has 1 elements, not 2"),
        ({"anyOf": [PAIR, {"type": "string"}]}, {"a": 7}, "a is 7, not -2 to 5"),
        ({"anyOf": [PAIR, {"type": "string"}]}, 7, "it is 7, not {a} or text"),
        ({"if": {"properties": {"a": {"const": 1}}}, "then": {"required": ["b"]}}, {"a": 2}, None),
        ({"if": {"properties": {"a": {"const": 1}}}, "then": {"required": ["b"]}}, {"a": 1}, "it has no b"),
        ({"not": {"required": ["b"]}}, {"b": 1}, "it has b"),
    ],
)
def test_what_is_said_of_a_value(schema: dict[str, Any], value: Any, said: str | None) -> None:
    misfit = compile_json_schema(schema)(value)
    assert (None if misfit is None else misfit.sentence) == said


def test_a_keyword_that_is_not_known_is_an_error() -> None:
    with pytest.raises(ValueError, match="multipleOf"):
        compile_json_schema({"type": "object", "properties": {"a": {"multipleOf": 2}}})


def _open(schema: Any) -> Any:
    """The schema, which other properties may join."""
    if isinstance(schema, dict):
        return {name: _open(each) for name, each in schema.items() if (name, each) != ("additionalProperties", False)}
    return [_open(each) for each in schema] if isinstance(schema, list) else schema


ORACLE: Final = jsonschema.Draft202012Validator({**_open(SCHEMA), "oneOf": [{"$ref": "#/$defs/exchange"}]})
SKIPPED: Final = jsonschema.Draft202012Validator({**_open(SCHEMA), "oneOf": [{"$ref": "#/$defs/skipped"}]})


def _agree(line: str) -> bool:
    """Assert that both say the same of a record; False where the compiled check is stricter on purpose."""
    record = json.loads(line)
    kind = record["kind"]
    if kind not in ("exchange", "skipped") or '"raw": "' in line:
        return False
    if any(isinstance(odd, float) and odd.is_integer() for odd in _values(record)) or _levels(record) > 30:
        return False
    if any(isinstance(odd, dict) and not _is_base64(odd.get("base64", "")) for odd in _values(record)):
        return False  # to a validator `contentEncoding` is a remark
    oracle = ORACLE if kind == "exchange" else SKIPPED
    misfit = compile_record_checks()[kind](record)
    assert (misfit is None) == oracle.is_valid(record), misfit.sentence if misfit is not None else line[:500]
    return True


def _is_base64(text: Any) -> bool:
    try:
        return not isinstance(text, str) or a2b_base64(text, strict_mode=True) is not None
    except ValueError:
        return False


def _values(record: dict[str, Any]) -> list[Any]:
    found: list[Any] = [record]
    for each in found:
        inner = each.values() if isinstance(each, dict) else each if isinstance(each, list) else ()
        found.extend(inner)
    return found


def _levels(value: Any) -> int:
    level, count = [value], 0
    while level:
        level = [
            x
            for each in level
            if isinstance(each, dict | list)
            for x in (each.values() if isinstance(each, dict) else each)
        ]
        count += 1
    return count


@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.long) for part in range(1, 60))])
def test_the_check_of_records_says_what_jsonschema_says(part: int) -> None:
    """Every key of the schema, with each odd value."""
    said = [_agree(line) for line in odd_values.odd_records(part, 60)]
    assert len(said) > 20


def test_the_records_that_are_made_odd_are_whole() -> None:
    for record in odd_values.whole_records():
        assert compile_record_checks()[record["kind"]](record) is None
    named = {name for record in odd_values.whole_records() for name in record}
    assert named == {*SCHEMA["$defs"]["exchange"]["properties"], *SCHEMA["$defs"]["skipped"]["properties"]}


def test_levels_of_parts_that_the_schema_does_not_describe() -> None:
    record = json.loads(kw("sniff", str(ROOT / "captures" / "tour.pcapng"), "-o", "ndjson", "-n", "1").out)
    check = compile_record_checks()["exchange"]
    deepest = json.loads("[" * (UNNAMED_NESTING_MAX + 1) + "]" * (UNNAMED_NESTING_MAX + 1))
    assert check({**record, "newer": deepest}) is None
    misfit = check({**record, "newer": [deepest]})
    assert misfit is not None
    assert misfit.sentence == "newer has too many levels"
