"""Bytes and strings as JSON shows them."""

from __future__ import annotations

import unicodedata
from base64 import b64decode
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoders.errors import EncodeError
from decoders.schema.body_json_form import (
    cell_to_json,
    decode_text_of_cell,
    encode_text_for_cell,
    has_at_most_levels,
    json_bytes,
    json_text,
    leaf_from_json,
    quote_json,
    row_json,
    tags_from_json,
)
from decoders.wire.format_and_escape_text import is_plain_text

ROWS = [
    (b"", ""),
    (b"plain text", "plain text"),
    (b"tab\tline\nreturn\r", "tab\tline\nreturn\r"),
    ("naïve €".encode(), "naïve €"),
    ("\u200b\u2028".encode(), "\u200b\u2028"),
    (b"\x00", {"base64": "AA=="}),
    (b"escape \x1b[0m", {"base64": "ZXNjYXBlIBtbMG0="}),
    (b"\x7f", {"base64": "fw=="}),
    ("\x85".encode(), {"base64": "woU="}),
    (b"\xff\xfe", {"base64": "//4="}),
    (b"\xed\xa0\x80", {"base64": "7aCA"}),  # a surrogate is no UTF-8
]


@pytest.mark.parametrize(("data", "shown"), ROWS)
def test_rows(data: bytes, shown: object) -> None:
    assert json_bytes(data) == shown
    assert json_text(data.decode("utf-8", "surrogateescape")) == shown


@given(st.binary(max_size=40) | st.text(max_size=20).map(str.encode))
def test_nothing_is_lost(data: bytes) -> None:
    shown = json_bytes(data)
    if isinstance(shown, str):
        assert shown.encode() == data
        assert not any(unicodedata.category(char) == "Cc" and char not in "\t\n\r" for char in shown)
    else:
        assert b64decode(shown["base64"]) == data
    assert not is_plain_text(data) or shown == data.decode("ascii")
    assert json_text(data.decode("utf-8", "surrogateescape")) == shown


@given(
    st.binary(max_size=40)
    | st.binary(max_size=9).map(lambda data: encode_text_for_cell(data.decode("latin-1")).encode())
)
def test_a_cell_stands_for_one_text(data: bytes) -> None:
    """A cell, or the key of an object, is text for every reader, and gives the text back, whatever it looks like."""
    text = data.decode("utf-8", "surrogateescape")
    cell = encode_text_for_cell(text)
    cell.encode()
    assert decode_text_of_cell(cell) == text
    assert cell_to_json(cell) == json_text(text)


def test_rows_have_the_form_in_keys_too() -> None:
    text = "order\udcff"
    row = {text: [text, {"plain": text}], "count": 1, "none": None}
    form = {"base64": "b3JkZXL/"}
    assert row_json(row) == {'{"base64":"b3JkZXL/"}': [form, {"plain": form}], "count": 1, "none": None}


@pytest.mark.parametrize("cell", ["orders", '{"base64":"', '{"base64":"a"}', '{"base64":"b3JkZXL/"', '{"base64":1}'])
def test_a_cell_of_another_form_is_the_text_itself(cell: str) -> None:
    assert decode_text_of_cell(cell) == cell


def say_failure(read: Callable[..., object], *values: object) -> object:
    """What a function gives of the values, or the text of its error."""
    try:
        return read(*values)
    except EncodeError as failure:
        return failure.text


LEAVES = [
    ("int8", 127, 127),
    ("int8", -128, -128),
    ("int8", 128, "128 is outside int8 (-128 to 127)"),
    ("int8", -129, "-129 is outside int8 (-128 to 127)"),
    ("int8", True, "int8 (-128 to 127) expected, not true"),
    ("int8", 1.0, "int8 (-128 to 127) expected, not 1.0"),
    ("int8", {"redacted": 3}, "a redacted secret cannot be encoded; --reveal-secrets keeps its value"),
    ("bool", False, False),
    ("bool", 0, "true or false expected, not 0"),
    ("uuid", "AAAAAAAAAAAAAAAAAAAAAQ", bytes(15) + b"\1"),
    ("uuid", "x", 'uuid (22 characters of URL-safe base64, or hex) expected, not "x"'),
    ("float64", 1, 1.0),
    ("float64", "-Infinity", float("-inf")),
    ("float64", True, "float64 expected, not true"),
    ("float64", "infinity", 'float64 expected, not "infinity"'),
    ("float64", 10**309, f"a number of {(10**309).bit_length()} bits is outside float64"),
    ("string", "é", "é"),
    ("string", {"base64": "/w=="}, "\udcff"),
    ("string", {"base64": "/w==", "error": "cut"}, "\udcff"),
    ("string", {"base64": "/w", "error": "cut"}, "no base64"),
    ("string", {"base64": "w==", "more": 1}, 'string expected (text or {"base64": "…"}), not another object'),
    ("string", {"base64": 1}, 'string expected (text or {"base64": "…"}), not another object'),
    ("string", {"redacted": 3}, "a redacted secret cannot be encoded; --reveal-secrets keeps its value"),
    ("string", [], "string expected, not an array"),
    ("bytes", "é", "é".encode()),
    ("bytes", {"base64": "/w=="}, b"\xff"),
    ("bytes", {"base64": 1}, 'bytes expected (text or {"base64": "…"}), not another object'),
    ("bytes", 1, 'bytes (text or {"base64": …}) expected, not 1'),
    ("records", 1, "records (a list of batches) expected, not 1"),
]


@pytest.mark.parametrize(("kind", "value", "expected"), LEAVES)
def test_a_value_has_its_type_or_the_error_says_which(kind: str, value: object, expected: object) -> None:
    found = say_failure(leaf_from_json, kind, value, "topics[0].x")
    assert (found, type(found)) == (expected, type(expected))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({}, {}),
        ({"7": "a", "10": {"base64": "/w=="}}, {7: b"a", 10: b"\xff"}),
        ({7: "a"}, {7: b"a"}),
        ({"9999999999": ""}, {9999999999: b""}),
        ([], "an object of tag: bytes expected, not an array"),
        ({"99999999990": "a"}, 'a tag is a number, not "99999999990"'),
        ({"²": "a"}, 'a tag is a number, not "²"'),
        ({"-1": "a"}, 'a tag is a number, not "-1"'),
        ({"7": "a", "07": "b"}, "the same tag twice"),
    ],
)
def test_tags_are_bytes_by_number(value: object, expected: object) -> None:
    assert say_failure(tags_from_json, value, "_tagged_fields") == expected


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (False, "false"),
        ("x" * 60, f'"{"x" * 60}"'),
        ("x" * 61, f'"{"x" * 60}…"'),
        ({"a": 1}, "an object"),
        ((), "an array"),
        (2**255, str(2**255)[:60]),
        (2**256, "a number of 257 bits"),
        (-1.5, "-1.5"),
    ],
)
def test_an_error_line_quotes_a_value_in_few_signs(value: object, text: str) -> None:
    assert quote_json(value) == text


@pytest.mark.parametrize(
    ("value", "levels"), [(1, 0), ([], 0), ([1], 1), ({"a": 0}, 1), ([1, {"a": 2}], 2), ({"a": [[[1]]]}, 4)]
)
def test_levels_of_arrays_and_objects_are_counted(value: object, levels: int) -> None:
    assert [has_at_most_levels(value, most) for most in range(6)] == [most >= levels for most in range(6)]
