"""Message sets of magic 0 and 1: hex rows, wrappers, sets that Kafka refuses, and sets of other libraries."""

from __future__ import annotations

import struct
import zlib
from itertools import product
from typing import Any

import lz4.frame  # type: ignore[import-untyped]  # lz4 ships no types
import pytest

from decoders import Batch, Record, decode_records
from decoders.limits import RECORD_NESTING_MAX
from decoders.records.codecs import NAMES, deflate
from decoders.records.codecs.lz4 import compute_descriptor_checksum
from decoders.records.read_batches import batches_json, read_batches
from decoders.records.record_and_batch import Budget
from tests.records.batch_json import batch_json
from tests.records.making import batch, message, record
from tests.records.others import AioLegacyBuilder, LegacyRecordBatchBuilder

MAGIC_0 = bytes.fromhex(
    "0000 0000 0000 0009"  # offset 9
    "0000 0010"  # 16 bytes follow
    "1fec d70a"  # CRC-32
    "00 00"  # magic, attributes
    "0000 0001 6b"  # key k
    "0000 0001 76"  # value v
)
MAGIC_1 = bytes.fromhex(
    "0000 0000 0000 000a"  # offset 10
    "0000 0017"  # 23 bytes follow
    "d636 84c9"  # CRC-32
    "01 08"  # magic, attributes: append time
    "0000 018b cfe5 6800"  # timestamp 1700000000000
    "ffff ffff"  # null key
    "0000 0001 76"  # value v
)


def rows(found: Batch) -> list[Record]:
    assert found.error is None
    assert found.crc == "ok"
    assert found.records is not None
    return found.records


def wrapper(magic: int, codec: int, *inner: bytes, offset: int = 0, timestamp: int = 5000, more: int = 0) -> bytes:
    packed = deflate(NAMES[codec], b"".join(inner))
    return message(magic, offset, packed, timestamp=timestamp, attributes=codec | more)


def test_hex_rows() -> None:
    first, second = decode_records(MAGIC_0 + MAGIC_1)
    assert first == Batch(
        base_offset=9,
        last_offset=9,
        magic=0,
        codec="none",
        crc="ok",
        record_count=1,
        size=28,
        records=[Record(9, None, b"k", b"v")],
    )
    assert second == Batch(
        base_offset=10,
        last_offset=10,
        magic=1,
        codec="none",
        timestamp_type="log_append",
        max_timestamp=1700000000000,
        crc="ok",
        record_count=1,
        size=35,
        records=[Record(10, 1700000000000, None, b"v")],
    )
    shown = batches_json(MAGIC_0 + MAGIC_1, records=True) or []
    assert shown == [batch_json(first), batch_json(second)]
    assert shown[0]["records"] == [{"offset": 9, "timestamp": None, "key": "k", "value": "v", "headers": []}]


# kafka-python writes snappy only with a library that is not among the test dependencies.
BUILDERS = [
    *product([LegacyRecordBatchBuilder, AioLegacyBuilder], [0, 1], [0, 1]),
    *product([AioLegacyBuilder], [0, 1], [2]),
    *product([LegacyRecordBatchBuilder, AioLegacyBuilder], [1], [3]),
]


@pytest.mark.parametrize(("builder", "magic", "codec"), BUILDERS)
def test_other_writers(builder: Any, magic: int, codec: int) -> None:
    made = builder(magic, codec, 1 << 20)
    expected = []
    for index in range(100):
        key, value = (None, b"", b"key %d" % index)[index % 3], (b"value %d" % index, None, b"v" * 300)[index % 3]
        made.append(index, 1_700_000_000_000 + index, key, value)
        expected.append(Record(index, 1_700_000_000_000 + index if magic else None, key, value))
    found = decode_records(bytes(made.build()))
    assert [row for each in found for row in rows(each)] == expected
    assert {each.codec for each in found} == {NAMES[codec]}
    assert [each.record_count for each in found] == ([100] if codec else [1] * 100)


@pytest.mark.parametrize("codec", [1, 2, 3, 4], ids=NAMES[1:])
@pytest.mark.parametrize(("outer", "base"), [(12, 10), (2, 0), (0, 0)])
def test_relative_offsets_count_back_from_the_wrapper(codec: int, outer: int, base: int) -> None:
    """Magic 1; librdkafka may leave an outer offset of 0."""
    inner = [message(1, index, b"%d" % index, timestamp=index) for index in range(3)]
    (found,) = decode_records(wrapper(1, codec, *inner, offset=outer))
    assert rows(found) == [Record(base + index, index, None, b"%d" % index) for index in range(3)]
    assert (found.base_offset, found.last_offset, found.record_count) == (base, outer, 3)


def test_relative_offsets_after_compaction() -> None:
    (found,) = decode_records(wrapper(1, 1, message(1, 3, b"a"), message(1, 7, b"b"), offset=107))
    assert [row.offset for row in rows(found)] == [103, 107]
    assert (found.base_offset, found.last_offset) == (103, 107)


def test_absolute_offsets_in_magic_0() -> None:
    (found,) = decode_records(wrapper(0, 1, message(0, 50, b"a"), message(0, 52, b"b"), offset=52))
    assert [row[:2] for row in rows(found)] == [(50, None), (52, None)]
    assert (found.base_offset, found.last_offset, found.max_timestamp, found.timestamp_type) == (50, 52, None, None)


def test_append_time_of_the_wrapper_is_every_message_s_time() -> None:
    inner = message(1, 0, b"a", timestamp=1), message(1, 1, b"b", timestamp=2)
    (found,) = decode_records(wrapper(1, 1, *inner, offset=1, timestamp=99, more=0x08))
    assert [row.timestamp for row in rows(found)] == [99, 99]
    assert (found.timestamp_type, found.max_timestamp) == ("log_append", 99)


@pytest.mark.parametrize("magic", [0, 1])
def test_lz4_with_the_wrong_header_checksum(magic: int) -> None:
    frame = lz4.frame.compress(message(magic, 0, b"a"), store_size=False)
    broken = frame[:6] + bytes([compute_descriptor_checksum(frame[:6])]) + frame[7:]
    assert broken != frame
    (found,) = decode_records(message(magic, 0, broken, attributes=3))
    assert [row.value for row in rows(found)] == [b"a"]


def nested(depth: int) -> bytes:
    data = message(1, 1, b"deep") + message(1, 2, b"deeper")
    for _ in range(depth):
        data = message(1, 2, deflate("gzip", data), attributes=1)
    return data


@pytest.mark.parametrize("depth", range(1, RECORD_NESTING_MAX + 1))
def test_wrappers_inside_wrappers(depth: int) -> None:
    (found,) = decode_records(nested(depth))
    assert [row[:1] + row[3:4] for row in rows(found)] == [(1, b"deep"), (2, b"deeper")]


def test_too_many_wrappers() -> None:
    (found,) = decode_records(nested(RECORD_NESTING_MAX + 1))
    assert found.error is not None
    assert found.error[0] == "limit"
    assert found.records == []


def spoilt(data: bytes) -> bytes:
    return data[:-1] + bytes([data[-1] ^ 1])


GOOD = message(1, 0, b"a")
WRONG: list[tuple[str, bytes, str, int]] = [
    ("no value", message(1, 0, None, attributes=1), "malformed", 0),
    ("nothing inside", wrapper(1, 1), "malformed", 0),
    ("no gzip", message(1, 0, b"abc", attributes=1), "codec", 0),
    ("codec number", message(0, 0, b"abc", attributes=6), "codec", 0),
    ("other magic inside", wrapper(1, 1, GOOD, message(0, 1, b"b")), "malformed", 1),
    ("checksum inside", wrapper(1, 1, GOOD, spoilt(GOOD)), "crc", 1),
    ("cut inside", wrapper(1, 1, GOOD, GOOD[:20]), "truncated", 0),
    ("cut value inside", wrapper(1, 1, GOOD, GOOD[:-1]), "malformed", 0),
    ("size inside", wrapper(1, 1, GOOD, struct.pack(">qi", 0, -5) + bytes(30)), "malformed", 0),
    ("batch inside", wrapper(1, 1, batch(record())), "malformed", 0),
    ("magic 1 in 14 bytes inside", wrapper(1, 1, message(0, 0, b"")[:16] + b"\x01" + bytes(9)), "crc", 0),
]


@pytest.mark.parametrize(("data", "why", "count"), [row[1:] for row in WRONG], ids=[row[0] for row in WRONG])
def test_what_cannot_be_read_is_a_value(data: bytes, why: str, count: int) -> None:
    found, after = decode_records(data + MAGIC_0)
    assert found.error is not None
    assert found.error[0] == why
    assert found.error[1]
    assert (found.crc, found.size, len(found.records or []), found.record_count) == ("ok", len(data), count, None)
    assert len(rows(after)) == 1
    assert batches_json(data, records=True) == [batch_json(found)]


@pytest.mark.parametrize("data", [MAGIC_0, MAGIC_1], ids=["magic 0", "magic 1"])
def test_a_bad_checksum(data: bytes) -> None:
    found, after = decode_records(spoilt(data) + data)
    assert (found.crc, len(found.records or [])) == ("bad", 1)  # records are shown as far as they can be read
    assert found.error is not None
    assert found.error[0] == "crc"
    assert len(rows(after)) == 1


def crc_right(data: bytes) -> bytes:
    """A message with its size and checksum corrected."""
    return data[:8] + struct.pack(">iI", len(data) - 12, zlib.crc32(data[16:])) + data[16:]


@pytest.mark.parametrize(
    "tail",
    ["0000 0005 6b 0000 0001 76", "0000 0001 6b 0000 0009 76", "ffff ffff 0000 0001 76 00", "0000 0002 6b6b 0000"],
)
def test_sizes_that_do_not_fit(tail: str) -> None:
    (found,) = decode_records(crc_right(MAGIC_0[:18] + bytes.fromhex(tail)))
    assert found.crc == "ok"
    assert found.error is not None
    assert found.error[0] == "malformed"


@pytest.mark.parametrize("data", [MAGIC_0, MAGIC_1, wrapper(1, 1, GOOD, offset=4)], ids=["magic 0", "magic 1", "gzip"])
def test_every_cut_says_what_the_header_still_says(data: bytes) -> None:
    (whole,) = decode_records(data)
    for size in range(1, len(data)):
        (cut,) = decode_records(data[:size])
        assert (cut.truncated, cut.error, cut.crc, cut.size, cut.records) == (True, None, "unchecked", size, [])
        assert cut.magic == (whole.magic if size > 16 else None)
        assert cut.codec == (whole.codec if size > 17 else None)
        assert cut.timestamp_type == (whole.timestamp_type if size > 17 else None)
        assert cut.max_timestamp == (whole.max_timestamp if size > 25 else None)


def test_all_magics_in_one_buffer() -> None:
    data = MAGIC_0 + wrapper(1, 2, GOOD, offset=11) + batch(record(), base_offset=12) + MAGIC_1 + MAGIC_0[:20]
    found = decode_records(data)
    assert [each.magic for each in found] == [0, 1, 2, 1, 0]
    assert [len(each.records or []) for each in found] == [1, 1, 1, 1, 0]
    assert [each.truncated for each in found] == [False] * 4 + [True]
    assert sum(each.size for each in found) == len(data)


def test_counts_are_the_same_without_records() -> None:
    data = wrapper(1, 1, GOOD, message(1, 1, b"b"), offset=11) + MAGIC_0
    without = batches_json(data) or []
    with_records = batches_json(data, records=True) or []
    assert without == [{key: each[key] for key in each if key != "records"} for each in with_records]
    assert without[0]["record_count"] == 2


def test_records_over_the_budget_are_counted() -> None:
    inner = [message(1, index, b"a") for index in range(10)]
    data = wrapper(1, 1, *inner, offset=9)
    first, second = read_batches(data + data, records=True, budget=Budget(records=12))
    assert (first.record_count, len(first.records or []), first.records_cut) == (10, 10, 0)
    assert (second.record_count, len(second.records or []), second.records_cut) == (10, 2, 8)
