"""Batches and records in a body: their fields in order of importance, key and value before all."""

from __future__ import annotations

from typing import Any

import pytest

from decoders import Record
from decoders.records.encode_batches import encode_batch
from decoders.records.read_batches import batches_json
from decoders.records.record_and_batch import Batch
from kwcli.output.body_printer import BodyPrinter, format_timestamp_field
from kwcli.output.short_texts import PLAIN, cell_width

STAMP = 1_795_282_486_519


def shown(width: int | None, *records: Record, **batch: Any) -> list[str]:
    value = {"records": batches_json(encode_batch(records, Batch(**batch)), records=True)}
    return list(BodyPrinter(width, PLAIN).struct_lines(value, None, 0))


ORDERS = [
    Record(7, STAMP, b"customer-1", b'{"order": 3, "amount": 237.57, "currency": "EUR"}', (("trace", b"4bf9"),)),
    Record(8, STAMP + 1, b"a key of unusual length, longer than its value", None),
]


def test_everything_where_there_is_room() -> None:
    assert shown(None, *ORDERS, producer_id=5, producer_epoch=0, base_sequence=0, transactional=True) == [
        "records",
        "  base_offset 7 · last_offset 8 · record_count 2 · size 192 · codec none · crc ok · producer_id 5"
        " · producer_epoch 0 · base_sequence 0 · transactional true · base_timestamp 2026-11-21T17:34:46.519Z"
        " · max_timestamp 2026-11-21T17:34:46.520Z · magic 2",
        "    offset  timestamp                 key                                             "
        "value                                              headers",
        "    7       2026-11-21T17:34:46.519Z  customer-1                                      "
        '{"order": 3, "amount": 237.57, "currency": "EUR"}  trace=4bf9',
        "    8       2026-11-21T17:34:46.520Z  a key of unusual length, longer than its value  "
        "–                                                  []",
    ]


def test_key_and_value_are_cut_last() -> None:
    assert shown(80, *ORDERS)[-3:] == [
        "    offset  key                  value                                headers …",
        '    7       customer-1           {"order": 3, "amount": 237.57, "cu…  trace=4bf9',
        "    8       a key of unusual l…  –                                    []",
    ]


@pytest.mark.parametrize("width", [20, 30, 40, 60, 80, 100, 120, 200])
def test_nothing_is_wider_than_the_terminal(width: int) -> None:
    for line in shown(width, *ORDERS):
        assert cell_width(line) <= width
    table = shown(width, *ORDERS)[-3:]
    assert "key" in table[0]
    assert "value" in table[0] or width < 30


def test_times() -> None:
    assert format_timestamp_field("timestamp", STAMP) == "2026-11-21T17:34:46.519Z"
    assert format_timestamp_field("max_timestamp", 0) == "1970-01-01T00:00:00.000Z"
    assert format_timestamp_field("offset", STAMP) is None
    assert format_timestamp_field("timestamp", -1) is None
    assert format_timestamp_field("timestamp", 1 << 62) is None
    assert format_timestamp_field("timestamp", None) is None


def test_a_topic_id_has_its_name_beside_it() -> None:
    body = BodyPrinter(None, PLAIN, {"Uy1vS0x1QnG5nYz3kq0b0A": "orders"})
    value = {"topics": [{"topic_id": "Uy1vS0x1QnG5nYz3kq0b0A", "partitions": [{"index": 0}]}], "other": 1}
    assert list(body.struct_lines(value, None, 0)) == [
        "topics",
        "  topic_id Uy1vS0x1QnG5nYz3kq0b0A (orders)",
        "    index",
        "    0",
        "other   1",
    ]
