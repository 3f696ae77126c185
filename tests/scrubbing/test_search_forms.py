"""The forms of a name in bytes: whatever stands around it, one of them is in the text that encodes both."""

from __future__ import annotations

from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable

import pytest

from decoders.scrubbing.search_names_in_bytes import _encodings_to_search_for


@pytest.mark.parametrize("name", [b"orders", b"payments", b"x-customer-7", b"\xfb\xff\xfe\xfb\xff\xfe\xfb"])
@pytest.mark.parametrize("encode", [bytes, b64encode, urlsafe_b64encode], ids=lambda encode: encode.__name__)
@pytest.mark.parametrize("before", range(3))
@pytest.mark.parametrize("after", range(3))
def test_a_form_is_found(name: bytes, encode: Callable[[bytes], bytes], before: int, after: int) -> None:
    text = encode(b"\x11" * before + name + b"\xee" * after)
    assert any(form in text for form in _encodings_to_search_for(name))


def test_forms() -> None:
    assert list(_encodings_to_search_for(b"orders")) == [
        b"orders",
        b"6f7264657273",
        b"6F7264657273",
        *[b"b3JkZXJz"] * 2,
        *[b"9yZGVyc"] * 2,
        *[b"vcmRlcn"] * 2,
    ]
