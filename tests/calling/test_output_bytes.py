"""Bytes as `kw encode` writes them."""

from __future__ import annotations

import pytest

from kwcli.calling.encode_words import format_output_bytes


@pytest.mark.parametrize(("form", "text"), [("raw", b"\0\xff"), ("hex", b"00ff\n"), ("base64", b"AP8=\n")])
def test_forms(form: str, text: bytes) -> None:
    assert format_output_bytes(b"\0\xff", form) == text
