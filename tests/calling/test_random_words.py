"""Every message given in words field by field, and random words that make no sense."""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoders.apis import KEYS, api
from decoders.messages.whole_messages import encode_json
from decoders.protocol_facts.example_requests import example_request
from decoders.schema.body_json_form import body_to_json
from kwcli.calling.words.path_value_words import compose_body, encode_composed_body, parse_body_words
from kwcli.run_environment import Exit, Failure
from tests.apis.everything import layouts
from tests.schema.values import random_value


def words_of(value: Any, path: str, rng: Random) -> Iterator[str]:
    """Words that give a body: text by `=` where possible, all else by `:=`; array elements by their index."""
    if isinstance(value, dict) and value and "base64" not in value:
        for name, inner in value.items():
            yield from words_of(inner, f"{path}.{name}" if path else name, rng)
    elif isinstance(value, list) and value:
        for index, inner in enumerate(value):
            yield from words_of(inner, f"{path}[{index}]", rng)
    elif isinstance(value, bool):
        yield f"{path}={str(value).lower()}"
    elif isinstance(value, str | int) and rng.random() < 0.8:
        yield f"{path}={value}"
    else:
        yield f"{path}:={json.dumps(value)}"


@pytest.mark.one_in(5)
@pytest.mark.parametrize("key", KEYS)
def test_a_message_in_words(key: int) -> None:
    for declared in layouts(key):
        if declared.early_layout:
            continue
        rng = Random(str(declared))
        found = api(key)
        body = body_to_json(declared.plan, random_value(declared.plan, rng, values=40), reveal=True)
        words = list(words_of(body, "", rng)) if body else []
        composed = compose_body(found, declared.version, words, side=declared.side)
        wanted = encode_json(key, declared.version, declared.side, body)
        assert encode_composed_body(found, declared.version, composed, side=declared.side) == wanted, (
            f"{declared} {words}"
        )


NAMES = st.sampled_from(
    [
        *("topics", "topics[]", "topics[0]", "topics[999999999]", "partitions[]", "name", "topic_id", "_tagged_fields"),
        *(
            "7",
            "records",
            "$type",
            "x",
            "",
            "[",
            "é",
            "topics[-1]",
            "topics[1e3]",
            "Topics[]",
            "topic_data[]",
            "errors",
        ),
    ]
)
VALUES = st.one_of(
    st.text(max_size=20),
    st.sampled_from(
        ["null", "[]", "{}", "[[]]", '[{"name":"a"}]', "9" * 5000, "[" * 2000, '{"base64":"A"}', "NaN", "\ud800"]
    ),
)
WORDS = st.builds(
    lambda names, operator, value: ".".join(names) + operator + value,
    st.lists(NAMES, min_size=1, max_size=4),
    st.sampled_from(["=", ":=", "", "="]),
    VALUES,
)


@pytest.mark.long
@settings(max_examples=300, deadline=None)
@given(key=st.sampled_from([0, 1, 3, 19]), words=st.lists(WORDS, max_size=4))
def test_any_words_are_a_body_or_a_failure(key: int, words: list[str]) -> None:
    found = api(key)
    words = [word for word in words if word != "-" and not word.startswith("@")]
    try:
        checked = parse_body_words(found, words)
        for version in (found.versions.low, found.versions.high):
            body = compose_body(found, version, checked, start=example_request(found, version))
            encode_composed_body(found, version, body)
    except Failure as failure:
        code, text = failure.code, failure.text
        check_line(code, text, words)


def check_line(code: Exit, text: str, words: list[str]) -> None:
    """The exit code is that of usage, or of a failure if a word names a file; the message is one line."""
    assert code == Exit.USAGE or any("=@" in word or word.startswith("{") for word in words)
    assert "\n" not in text or any("\n" in word for word in words)
