"""Bytes and strings as JSON shows them."""

from __future__ import annotations

import unicodedata
from base64 import b64decode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoders.schema.json_form import cell_json, cell_text, json_bytes, json_text, row_json, text_of_cell
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


@given(st.binary(max_size=40) | st.binary(max_size=9).map(lambda data: cell_text(data.decode("latin-1")).encode()))
def test_a_cell_stands_for_one_text(data: bytes) -> None:
    """A cell, or the key of an object, is text for every reader, and gives the text back, whatever it looks like."""
    text = data.decode("utf-8", "surrogateescape")
    cell = cell_text(text)
    cell.encode()
    assert text_of_cell(cell) == text
    assert cell_json(cell) == json_text(text)


def test_rows_have_the_form_in_keys_too() -> None:
    text = "order\udcff"
    row = {text: [text, {"plain": text}], "count": 1, "none": None}
    form = {"base64": "b3JkZXL/"}
    assert row_json(row) == {'{"base64":"b3JkZXL/"}': [form, {"plain": form}], "count": 1, "none": None}


@pytest.mark.parametrize("cell", ["orders", '{"base64":"', '{"base64":"a"}', '{"base64":"b3JkZXL/"', '{"base64":1}'])
def test_a_cell_of_another_form_is_the_text_itself(cell: str) -> None:
    assert text_of_cell(cell) == cell
