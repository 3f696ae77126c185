"""Bytes and strings as JSON shows them."""

from __future__ import annotations

import unicodedata
from base64 import b64decode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoders.schema.json_form import json_bytes, json_text
from decoders.wire.readable_text import is_plain

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
    assert not is_plain(data) or shown == data.decode("ascii")
    assert json_text(data.decode("utf-8", "surrogateescape")) == shown
