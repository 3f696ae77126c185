"""Which columns a table of records has in so much room, and which of their values are times."""

from __future__ import annotations

from typing import Any

import pytest

from kwcli.output.body_printer import fit_record_columns, format_timestamp_field, pick_informative_batch_fields

WIDE = {"offset": 6, "timestamp": 24, "key": 10, "value": 40, "headers": 20}


@pytest.mark.parametrize(
    ("room", "widths"),
    [
        (108, (6, 24, 10, 40, 20)),
        (107, (6, 24, 10, 39, 20)),
        (90, (6, 24, 10, 28, 14)),
        (80, (6, 24, 10, 34, None)),
        (70, (6, 24, 10, 24, None)),
        (69, (6, None, 10, 31, 16)),
        (60, (6, None, 10, 25, 13)),
        (50, (6, None, 10, 30, None)),
        (30, (6, None, 8, 12, None)),
        (20, (6, None, 8, 2, None)),
        (12, (6, None, 8, 1, None)),
    ],
)
def test_columns_go_and_are_cut_as_room_shrinks(room: int, widths: tuple[int | None, ...]) -> None:
    found = fit_record_columns(dict(WIDE), room, 2)
    assert tuple(map(found.get, WIDE)) == widths


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("timestamp", 0, "1970-01-01T00:00:00.000Z"),
        ("max_timestamp", 1_795_230_245_123, "2026-11-21T03:04:05.123Z"),
        ("base_timestamp", -1, None),
        ("timestamp", 1 << 62, None),
        ("timestamp", None, None),
        ("offset", 1_795_230_245_123, None),
    ],
)
def test_times_are_text(name: str, value: Any, text: str | None) -> None:
    assert format_timestamp_field(name, value) == text


def test_fields_of_a_batch_that_say_nothing_are_left_out() -> None:
    batch = {"more": 1, "codec": "none", "base_offset": 0, "crc": "ok", "record_count": 2, "producer_id": -1}
    found = pick_informative_batch_fields(batch)
    assert list(found)[-1] == "more"
    assert found["record_count"] == 2
    assert "producer_id" not in found
    assert pick_informative_batch_fields({"crc": "bad", "producer_id": 0}) == {"crc": "bad", "producer_id": 0}
