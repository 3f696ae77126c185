"""Rows of hex per primitive type: read forward, written backward, cut at each byte."""

from __future__ import annotations

from uuid import UUID

import pytest

from decoders.errors import DecodeError, Malformed, Truncated
from decoders.wire.primitive_types import (
    encode_number,
    encode_varlong,
    format_uuid,
    read_number,
    read_uvarint,
    uuid_to_bytes,
)

ROWS = [
    ("bool", "00", False),
    ("bool", "01", True),
    ("int8", "80", -128),
    ("int16", "7fff", 32767),
    ("uint16", "ffff", 65535),
    ("int32", "80000000", -(1 << 31)),
    ("uint32", "ffffffff", (1 << 32) - 1),
    ("int64", "8000000000000000", -(1 << 63)),
    ("float64", "3ff8000000000000", 1.5),
    ("uuid", "00112233445566778899aabbccddeeff", UUID("00112233-4455-6677-8899-aabbccddeeff")),
    ("uvarint", "00", 0),
    ("uvarint", "7f", 127),
    ("uvarint", "8001", 128),
    ("uvarint", "ffffffff0f", (1 << 32) - 1),
    ("varint", "01", -1),
    ("varint", "02", 1),
    ("varint", "ffffffff0f", -(1 << 31)),
    ("varint", "feffffff0f", (1 << 31) - 1),
    ("varlong", "ffffffffffffffffff01", -(1 << 63)),
    ("varlong", "feffffffffffffffff01", (1 << 63) - 1),
]


@pytest.mark.parametrize(("kind", "text", "value"), ROWS)
def test_forward_backward_and_cut(kind: str, text: str, value: object) -> None:
    data = bytes.fromhex(text)
    assert read_number(kind, b"\xff" + data + b"\xff", 1, 1 + len(data)) == (value, 1 + len(data))
    assert encode_number(kind, value) == data
    for size in range(len(data)):
        with pytest.raises(Truncated):
            read_number(kind, data, 0, size)


def test_any_byte_but_zero_is_true() -> None:
    assert read_number("bool", b"\x07", 0, 1) == (True, 1)


@pytest.mark.parametrize("text", ["80 80 80 80 80 00", "ff ff ff ff 1f", "80 80 80 80 10"])
def test_varints_beyond_their_size(text: str) -> None:
    with pytest.raises(Malformed):
        read_uvarint(bytes.fromhex(text), 0, 6)


def test_overlong_varints_are_read() -> None:
    assert read_uvarint(bytes.fromhex("80 80 00"), 0, 3) == (0, 3)


@pytest.mark.parametrize(
    ("kind", "value"),
    [("int8", 128), ("uint16", -1), ("varint", 1 << 31), ("int32", "1"), ("int64", 1.0), ("bool", "true"),
     ("float64", "1"), ("float64", 1 << 2000), ("uuid", b"x"), ("uuid", "x"), ("uuid", "é" * 22)],
)  # fmt: skip
def test_values_out_of_range_or_of_another_type(kind: str, value: object) -> None:
    with pytest.raises(ValueError, match=kind if kind != "bool" else "true or false"):
        encode_number(kind, value)


def test_forms_of_a_uuid() -> None:
    data = bytes(range(240, 256))
    text = format_uuid(data)
    assert (len(text), text[:4]) == (22, "8PHy")
    assert (
        uuid_to_bytes(text)
        == uuid_to_bytes(str(UUID(bytes=data)))
        == uuid_to_bytes(data)
        == uuid_to_bytes(UUID(bytes=data))
        == data
    )


def test_decode_errors_only() -> None:
    assert issubclass(Truncated, DecodeError)
    assert encode_varlong(-1) == b"\x01"
