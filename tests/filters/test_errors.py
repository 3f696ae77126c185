"""Wrong expressions: each with its line, its column, and the words that may have been meant."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoders.filters import FIELDS, FilterError, parse
from decoders.wire.parse_units import DURATIONS, SIZES


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("api = Fetch", 'write "==" for equal', 5),
        ("api == Fetc", "no API has the name 'Fetc'", 8),
        ("api ==", "a value is missing", 7),
        ("api == )", "a value is missing before ')'", 8),
        ("api == Fetch topic", '"and" or "or" is missing', 14),
        ("latency > 100x", "'100x' is no duration", 11),
        ("size > 3parsec", "'3parsec' is no size", 8),
        ("time > yesterday", "'yesterday' is no time", 8),
        ("api_version == new", "'new' is no version", 16),
        ("client == 10.0.0", "'10.0.0' is no address", 11),
        ("client == 10.0.0.1:x", "'10.0.0.1:x' is no address", 11),
        ("error == NOT_LEDER", "no error has the name 'NOT_LEDER'", 10),
        ("foo == 3", "there is no field 'foo'", 1),
        ("not foo", "there is no field 'foo'", 5),
        ("request == 3", "there is no field 'request'", 1),
        ("request.max_wit_ms > 1", "no request has a field 'max_wit_ms'", 1),
        ("response.max_wait_ms > 1", "no response has a field 'max_wait_ms'", 1),
        ("request.max_wait_ms > many", "> needs a number", 23),
        ("topic > a", "topic has no order", 7),
        ("latency ~ 3", "latency is no text", 11),
        ("latency like 3", "latency is no text", 14),
        ('topic ~ "("', "is no regular expression", 9),
        ('topic ~ "a{1000000}"', "is no regular expression", 9),
        (f"topic ~ {'a' * 1001}", "at most 1000 characters", 9),
        ("(api == Fetch", "this parenthesis is not closed", 1),
        ("api == Fetch)", 'this ")" has no "("', 14),
        ("api in (Fetch", "this list is not closed", 8),
        ("api in ()", "a value is missing", 9),
        ("topic == 'a", "the quote ' is not closed", 10),
        ("topic not == a", 'after "not" comes "in" or "like"', 11),
        ("== 3", "no field begins with", 1),
        ("not", "the name of a field is missing", 4),
        ("api == Fetch and", "the name of a field is missing", 17),
        ("(" * 200 + "api" + ")" * 200, "more than 100 levels", 101),
        ("a" * 70000, "at most 65536 characters", 65536),
    ],
)
def test_an_expression_that_says_nothing(text: str, line: str, column: int) -> None:
    with pytest.raises(FilterError) as caught:
        parse(text)
    assert line in caught.value.text
    assert (caught.value.column, "\n" in str(caught.value)) == (column, False)


def test_a_word_that_is_not_known_comes_with_those_that_are() -> None:
    with pytest.raises(FilterError) as caught:
        parse("request.topics.nam == a")
    assert caught.value.word == "request.topics.nam"
    assert "request.topics.name" in caught.value.candidates


WORDS = [
    *FIELDS,
    "request.acks",
    "and",
    "or",
    "not",
    "in",
    "like",
    "==",
    "~",
    "<",
    "(",
    ")",
    ",",
    '"x"',
    "10ms",
    "3",
    "Fetch",
]


@given(st.lists(st.sampled_from(WORDS) | st.text(max_size=4), max_size=12).map(" ".join))
def test_whatever_is_written_is_a_filter_or_an_error_with_its_column(text: str) -> None:
    columns = []
    try:
        parse(text)
    except FilterError as error:
        columns.append(error.column)
    assert all(1 <= column <= len(text) + 1 for column in columns)


def test_units_are_what_they_are_called() -> None:
    assert DURATIONS["s"] / DURATIONS["ms"] == 1000
    assert (SIZES["kb"], SIZES["kib"], SIZES["mib"]) == (1000, 1024, 1 << 20)


def test_patterns_take_no_longer_than_their_text() -> None:
    """A pattern on which a backtracking engine would take forever is matched at once."""
    ask = parse('client_id ~ "(a+)+$"')

    class Exchange:
        client_id = "a" * 50_000 + "b"

    assert ask.matches(Exchange()) is False  # type: ignore[arg-type]  # all that it looks at
