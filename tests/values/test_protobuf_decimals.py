"""Confluent's decimals in Protobuf: numbers as text, and what is no number as it stands."""

from __future__ import annotations

from typing import Any

import pytest

from decoders.values.protobuf.well_known_types import FORMS


@pytest.mark.parametrize(
    ("value", "scale", "form"),
    [
        (b"\x30\x39", 2, "123.45"),
        (b"\xcf\xc7", 2, "-123.45"),
        (b"\x05", 0, "5"),
        (b"\x05", 3, "0.005"),
        (b"\x00", 2, "0.00"),
        (b"\x05", 1000, f"0.{'0' * 999}5"),
        (b"\x05", 1001, {"value": {"base64": "BQ=="}}),
        (b"\x05", -1, {"value": {"base64": "BQ=="}}),
        (b"", 2, {"value": ""}),
    ],
)
def test_a_decimal_is_its_digits(value: bytes, scale: int, form: Any) -> None:
    found = FORMS["confluent.type.Decimal"]({"value": value, "precision": 9, "scale": scale})
    assert found == (form if isinstance(form, str) else {"precision": 9, "scale": scale, **form})
