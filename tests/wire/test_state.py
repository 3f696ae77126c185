"""States as bytes: every built-in value comes back unchanged, and other bytes are refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoders.errors import DecodeError
from decoders.wire.state_serialization import DEPTH_MAX, pack, state_fields, unpack

KEYS = st.one_of(st.none(), st.booleans(), st.integers(), st.text(), st.binary(), st.tuples(st.integers(), st.text()))
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.one_of(KEYS, st.floats(allow_nan=False), st.just("\udcff")),
    lambda inner: st.one_of(
        st.lists(inner),
        st.lists(inner).map(tuple),
        st.dictionaries(KEYS, inner),
        st.sets(KEYS),
        st.frozensets(KEYS),
    ),
    max_leaves=20,
)


def same(one: object, other: object) -> bool:
    """Whether two values and all their parts are equal and of equal types."""
    if type(one) is not type(other):
        return False
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return same(list(one.items()), list(other.items()))
    return one == other


@given(VALUES)
def test_values_come_back(value: Any) -> None:
    assert same(unpack(pack(value)), value)


@pytest.mark.parametrize("number", [0, -1, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 2**200, -(2**200)])
def test_numbers_of_any_size(number: int) -> None:
    assert unpack(pack(number)) == number


@given(VALUES, st.data())
def test_a_state_cut_off_is_refused(value: Any, data: st.DataObject) -> None:
    state = pack(value)
    with pytest.raises(DecodeError):
        unpack(state[: data.draw(st.integers(0, len(state) - 1))])
    with pytest.raises(DecodeError):
        unpack(state + b"N")


@pytest.mark.long
@given(st.binary(max_size=60))
@settings(max_examples=500)
def test_any_bytes_make_a_value_or_a_decode_error(data: bytes) -> None:
    try:
        value = unpack(data)
    except DecodeError:
        value = None
    state = pack(value)
    assert pack(unpack(state)) == state


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "state cut off"),
        (b"?", "unknown tag"),
        (b"l\xff\xff\xff\xff", "need 4,294,967,295 bytes, have 0"),
        (b"d\xff\xff\xff\xffN", "need 8,589,934,590 bytes, have 1"),
        (b"b\xff\xff\xff\xff", "need 4,294,967,300 bytes, have 5"),
        (b"e\0\0\0\1l\0\0\0\0", "unhashable"),
        (b"s\0\0\0\1\xff", "codec"),
        (b"t\0\0\0\1" * (DEPTH_MAX + 1) + b"N", "containers inside one another"),
    ],
)
def test_what_is_wrong_is_said(data: bytes, text: str) -> None:
    with pytest.raises(DecodeError, match=text):
        unpack(data)


@pytest.mark.parametrize("value", [object(), bytearray(b"x"), 1j, [range(3)], {"a": print}])
def test_other_types_have_no_place_in_a_state(value: object) -> None:
    with pytest.raises(TypeError, match="a state holds no"):
        pack(value)


def test_too_deep_a_value_is_refused() -> None:
    value: list[Any] = []
    for _ in range(DEPTH_MAX):
        value = [value]
    with pytest.raises(TypeError, match="containers inside one another"):
        pack(value)


def test_fields_are_checked() -> None:
    assert state_fields([1, "a", None], int, str, int | None) == [1, "a", None]
    for value, kinds in [(1, (int,)), ([1], (int, int)), ([1], (str,)), ({1: 2}, (int,))]:
        with pytest.raises(DecodeError):
            state_fields(value, *kinds)
