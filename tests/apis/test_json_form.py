"""The JSON form of every declared message, decoded and encoded; and values of wrong types in any place."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pytest

from decoders import EncodeError
from decoders.apis import KEYS, api
from decoders.messages.whole_messages import encode_json, encode_message
from decoders.schema.api_declaration import Plan
from decoders.schema.body_json_form import body_to_json
from decoders.schema.decode_and_encode import encode
from kwcli.calling.check_field_values import ValueChecker
from kwcli.run_environment import Failure
from tests.apis.everything import Declared, layouts
from tests.schema.values import random_value

VALUES = 3
NESTED: Any = []
for _ in range(3000):
    NESTED = [NESTED]
DEEP: Any = {}
for _ in range(3000):
    DEEP = {"$type": DEEP}
WRONG: list[Any] = [
    *(None, True, 0, -1, 1.5, float("nan"), 10**5000, -(10**30), "", "x", "\ud800", "\udcff", [], [[]], {}, NESTED),
    *({"base64": "AA=="}, {"base64": "A"}, {"base64": 5}, {"base64": "", "x": 1}, {"redacted": 5}, {"redacted": []}),
    *({"$type": "EndTxnMarker"}, {"$type": "EndTxnMarker", "$version": 10**40}, {"$type": 5}, {"$type": None}, DEEP),
    *([{"records": 5}], [{"records": [5]}], [{"records": [{"key": 5}]}], [{"records": [{"offset": 10**40}]}], [NESTED]),
    *([{"records": [], "codec": []}], [{"records": [], "magic": 3}], [{"records": [{"headers": [5]}]}], [DEEP], ["x"]),
    *([{"records": [], "magic": 0, "codec": "gzip"}], [{"records": [], "base_offset": "x"}]),
    {"_tagged_fields": {"x": 1}},
]  # fmt: skip


def camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest) if name != "_tagged_fields" else name


def in_camel(value: Any) -> Any:
    """A body with its names in camelCase."""
    if isinstance(value, dict):
        return {camel(name): in_camel(inner) for name, inner in value.items()}
    return [in_camel(each) for each in value] if isinstance(value, list) else value


@pytest.mark.one_in(5)
@pytest.mark.parametrize("key", KEYS)
def test_the_json_form_comes_back(key: int) -> None:
    for declared in layouts(key):
        plan, layout = declared.plan, declared.early_layout or None
        rng = Random(str(declared))
        for number in range(VALUES):
            value = random_value(plan, rng, values=120)
            shown = json.loads(json.dumps(body_to_json(plan, value, reveal=True)))
            data = encode(plan, value)
            place = f"{declared} value {number}"
            assert encode_json(key, declared.version, declared.side, shown, layout=layout) == data, place
            if not layout:
                assert encode_json(key, declared.version, declared.side, in_camel(shown)) == data, place
                assert ValueChecker(api(key), declared.side, declared.version).check_body(shown) == shown, place


@pytest.mark.one_in(5)
@pytest.mark.parametrize("key", KEYS)
def test_anything_else_is_an_encode_error(key: int) -> None:
    for declared in layouts(key):
        if declared.early_layout or declared.version not in (api(key).versions.low, api(key).versions.high):
            continue
        rng = Random(str(declared))
        shown = body_to_json(declared.plan, random_value(declared.plan, rng, values=60), reveal=True)
        for wrong in WRONG:
            assert_refused_or_encoded(declared, wrong)
            assert_refused_or_encoded(declared, {"nothing_such": wrong})
        places = list(places_of(shown))
        for place in rng.sample(places, min(len(places), 40)):
            wrong = rng.choice(WRONG)
            before = place[0][place[1]]
            place[0][place[1]] = wrong
            assert_refused_or_encoded(declared, shown)
            place[0][place[1]] = before


def places_of(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in a body that holds a value: (container, key or index)."""
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, inner in entries:
        yield value, name
        yield from places_of(inner)


def assert_refused_or_encoded(declared: Declared, value: Any) -> None:
    """The body is encoded, or refused by both the encoder and the check, in one line of text."""
    text = failure_of(lambda: encode_json(declared.key, declared.version, declared.side, value))
    if text is not None:
        assert len(text) < 1200, declared
        assert "\n" not in text, declared
        checked = failure_of(lambda: ValueChecker(api(declared.key), declared.side, declared.version).check_body(value))
        assert checked is not None, f"{declared}: {text}"


def failure_of(act: Callable[[], object]) -> str | None:
    try:
        act()
    except (EncodeError, Failure) as failure:
        return str(failure)
    return None


def test_library_values_are_no_json() -> None:
    with pytest.raises(EncodeError, match="bytes"):
        encode_json(36, 2, "request", {"auth_bytes": b"x"})
    assert encode_message(36, 2, "request", {"auth_bytes": b"x"}) == encode_json(36, 2, "request", {"auth_bytes": "x"})


@pytest.mark.parametrize(
    ("api_key", "version", "body", "line"),
    [
        (
            36,
            2,
            {"auth_bytes": {"redacted": 7}},
            "auth_bytes: a redacted secret cannot be encoded; --reveal-secrets keeps its value",
        ),
        (
            0,
            9,
            {"topic_data": [{"name": "a", "partition_data": [{"records": [{"record_count": 1}]}]}]},
            "topic_data[0].partition_data[0].records[0].records: a batch without its records cannot be encoded;"
            " --records keeps them",
        ),
        (3, 12, {"topics": [{"name": 5}]}, "topics[0].name: string expected, not 5"),
        (3, 12, {"topics": {"name": 5}}, "topics: an array expected, not an object"),
        (3, 12, [], "an object expected, not an array"),
        (3, 12, {"_tagged_fields": {"x": ""}}, '_tagged_fields: a tag is a number, not "x"'),
        (32, 1, {"resources": [{"resource_type": 300}]}, "resources[0].resource_type: 300 is outside int8"
         " (-128 to 127)"),
        (49, 0, {"entries": [{"ops": [{"value": "inf"}]}]}, 'entries[0].ops[0].value: float64 expected, not "inf"'),
    ],
)  # fmt: skip
def test_errors_say_where_and_what(api_key: int, version: int, body: Any, line: str) -> None:
    with pytest.raises(EncodeError) as caught:
        encode_json(api_key, version, "request", body)
    assert str(caught.value) == line


def test_the_plan_of_a_message_with_no_fields_takes_an_empty_object() -> None:
    plan: Plan = next(each.plan for each in layouts(16) if each.version == 0)
    assert not plan.fields
    assert encode_json(16, 0, "request", {}) == b""
