"""MessagePack and CBOR against their own libraries, and what is taken for neither."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoders.schema.body_json_form import float_json, json_bytes, string_json
from decoders.values.message_pack_and_cbor import CborReader, MessagePackReader, guess_binary_json

TEXTS = st.text(st.characters(codec="utf-8"), max_size=40)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False)
    | TEXTS
    | st.binary(max_size=40),
    lambda inner: st.lists(inner, max_size=8) | st.dictionaries(TEXTS, inner, max_size=8),
    max_leaves=12,
)
MAPS = st.dictionaries(TEXTS, VALUES, min_size=1, max_size=8)


def shown(value: Any) -> Any:
    """A value in the JSON form of the house."""
    if isinstance(value, dict):
        return {key: shown(item) for key, item in value.items()}
    if isinstance(value, list):
        return [shown(item) for item in value]
    if isinstance(value, bytes):
        return json_bytes(value)
    if isinstance(value, str):
        return string_json(value.encode())
    return float_json(value) if isinstance(value, float) else value


@pytest.mark.long
@given(MAPS)
def test_messagepack_is_what_its_library_wrote(value: dict[str, Any]) -> None:
    data = pytest.importorskip("msgpack").packb(value)
    assert MessagePackReader(data).read(0, 0) == (shown(value), len(data))


@pytest.mark.long
@given(MAPS)
def test_cbor_is_what_its_library_wrote(value: dict[str, Any]) -> None:
    data = pytest.importorskip("cbor2").dumps(value)
    assert CborReader(data).read(0, 0) == (shown(value), len(data))


@pytest.mark.long
@given(st.dictionaries(st.text("abcdefgh_", min_size=1, max_size=8), VALUES, min_size=2, max_size=8))
def test_a_map_with_texts_for_keys_is_guessed_or_left_open(value: dict[str, Any]) -> None:
    packed = pytest.importorskip("msgpack").packb(value)
    dumped = pytest.importorskip("cbor2").dumps(value)
    assert guess_binary_json(packed) in (("msgpack", shown(value)), None)
    assert guess_binary_json(dumped) in (("cbor", shown(value)), None)
    assert guess_binary_json(b"\xd9\xd9\xf7" + dumped) == ("cbor", shown(value))
    assert guess_binary_json(packed[:-1]) is None
    assert guess_binary_json(packed + b"\0") is None


@pytest.mark.parametrize(
    ("data", "value"),
    [
        ("bf616101626263f6ff", {"a": 1, "bc": None}),
        ("bf61619f0102ffff", {"a": [1, 2]}),
        ("bf61617f61786179ffff", {"a": "xy"}),
        ("a16161f93c00", {"a": 1.0}),
        ("a16161fa3dcccccd", {"a": 0.1}),
        ("a16161c249010000000000000000", {"a": "18446744073709551616"}),
        ("a16161c11a514b67b0", {"a": 1363896240}),
    ],
)
def test_forms_of_cbor_that_its_library_does_not_write(data: str, value: dict[str, Any]) -> None:
    assert CborReader(bytes.fromhex(data)).read(0, 0)[0] == value


def test_floats_that_json_lacks_are_words() -> None:
    packed = pytest.importorskip("msgpack").packb({"a": math.inf, "b": -math.inf})
    assert guess_binary_json(packed) == ("msgpack", shown({"a": math.inf, "b": -math.inf}))
