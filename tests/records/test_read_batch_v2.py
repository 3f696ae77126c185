"""Batches of magic 2: hex rows, batches that Kafka allows and refuses, and batches of other libraries."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoders import Batch, EncodeError, Record, decode_records
from decoders.records.codecs import NAMES, deflate
from decoders.records.encode_batches import encode_batch, records_from_json
from decoders.records.read_batch_v2 import read_rows_of_plain_batch
from decoders.records.read_batches import batches_json, batches_json_or_deferred, read_batches, read_records_by_batch
from decoders.records.record_and_batch import Budget
from decoders.records.summarize_records import summarize_batches_json, summarize_records, summarize_sole_batch
from tests.records.making import batch, record, varint
from tests.records.others import AioBuilder, DefaultRecordBatchBuilder

HEX = bytes.fromhex(
    "0000 0000 0000 002a"  # base offset 42
    "0000 0044"  # 68 bytes follow
    "0000 0007"  # leader epoch 7
    "02"  # magic
    "c409 9f9d"  # CRC-32C
    "0000"  # attributes: no compression, create time
    "0000 0001"  # last offset delta 1
    "0000 018b cfe5 6800"  # base timestamp 1700000000000
    "0000 018b cfe5 6803"  # max timestamp, 3 ms later
    "ffff ffff ffff ffff  ffff  ffff ffff"  # producer id, epoch, base sequence: none
    "0000 0002"  # 2 records
    "10  00  00  00  02 6b  02 76  00"  # 8 bytes, attributes, +0 ms, +0, key k, value v, 0 headers
    "12  00  06  02  01  01  02  02 68  01"  # 9 bytes, attributes, +3 ms, +1, null, null, 1 header: h, null
)


def only(data: bytes) -> Batch:
    batches = decode_records(data)
    assert len(batches) == 1
    assert batches[0].size == len(data)
    return batches[0]


def rows(found: Batch) -> list[Record]:
    assert found.error is None
    assert found.crc == "ok"
    assert found.records is not None
    return found.records


def reason(found: Batch) -> str:
    assert found.error is not None
    assert found.error[1]
    return found.error[0]


def test_hex_row() -> None:
    assert only(HEX) == Batch(
        base_offset=42,
        last_offset=43,
        magic=2,
        codec="none",
        timestamp_type="create",
        base_timestamp=1700000000000,
        max_timestamp=1700000000003,
        partition_leader_epoch=7,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        transactional=False,
        control=False,
        delete_horizon_ms=None,
        crc="ok",
        record_count=2,
        size=80,
        truncated=False,
        error=None,
        records=[Record(42, 1700000000000, b"k", b"v"), Record(43, 1700000000003, None, None, (("h", None),))],
        records_cut=0,
    )


def test_hex_row_as_json() -> None:
    head = {
        "base_offset": 42,
        "last_offset": 43,
        "magic": 2,
        "codec": "none",
        "timestamp_type": "create",
        "base_timestamp": 1700000000000,
        "max_timestamp": 1700000000003,
        "partition_leader_epoch": 7,
        "producer_id": -1,
        "producer_epoch": -1,
        "base_sequence": -1,
        "transactional": False,
        "control": False,
        "delete_horizon_ms": None,
        "crc": "ok",
        "record_count": 2,
        "size": 80,
        "truncated": False,
    }
    records = [
        {"offset": 42, "timestamp": 1700000000000, "key": "k", "value": "v", "headers": []},
        {
            "offset": 43,
            "timestamp": 1700000000003,
            "key": None,
            "value": None,
            "headers": [{"key": "h", "value": None}],
        },
    ]
    assert batches_json(HEX) == [head]
    assert batches_json(HEX, records=True) == [{**head, "records": records}]
    assert batches_json(None, records=True) is None
    assert batches_json(b"") == []


# kafka-python writes snappy only with a library that is not among the test dependencies.
BUILDERS = [(DefaultRecordBatchBuilder, codec) for codec in (0, 1, 3, 4)] + [(AioBuilder, codec) for codec in range(5)]
# key, value, headers; the timestamps go up and down
WRITTEN: list[tuple[bytes | None, bytes | None, list[tuple[str, bytes]]]] = [
    (b"key", b"value", []),
    (None, b"", []),
    (b"", None, [("one", b"1"), ("", b"")]),
    (b"k" * 64, b"v" * 63, []),
    (b"k" * 9000, b"v" * 20000, [("h" * 100, b"x" * 300)]),
    (None, None, [("naïve", "€".encode())]),
    *((b"%d" % index, b"value %d" % index, []) for index in range(200)),
]


@pytest.mark.parametrize(("builder", "codec"), BUILDERS)
@pytest.mark.parametrize("times", [[0], [0, 5, -70, 3, 200], [0, 9000, -9000, 3_000_000, 1 << 40]])
def test_other_writers(builder: Any, codec: int, times: list[int]) -> None:
    made = builder(2, codec, 1, 77, 3, 12, 1 << 20)
    expected = []
    for index, (key, value, headers) in enumerate(WRITTEN):
        timestamp = 1_700_000_000_000 + times[index % len(times)]
        made.append(index, timestamp, key, value, headers)
        expected.append(Record(index, timestamp, key, value, tuple(headers)))
    found = only(bytes(made.build()))
    assert rows(found) == expected
    assert (found.codec, found.transactional, found.producer_id) == (NAMES[codec], True, 77)
    assert (found.producer_epoch, found.base_sequence, found.record_count) == (3, 12, len(WRITTEN))
    assert (found.base_offset, found.last_offset) == (0, len(WRITTEN) - 1)


def test_offset_gaps_and_a_last_offset_beyond_the_last_record() -> None:
    found = only(batch(record(3), record(70), record(9000), base_offset=1 << 40, last_delta=10000))
    assert [row.offset - (1 << 40) for row in rows(found)] == [3, 70, 9000]
    assert found.last_offset == (1 << 40) + 10000


@pytest.mark.parametrize("codec", [0, 1, 2, 3, 4])
def test_a_batch_that_compaction_emptied(codec: int) -> None:
    found = only(batch(attributes=codec, base_offset=8, last_delta=4, first=-1, latest=-1))
    assert rows(found) == []
    assert (found.base_offset, found.last_offset, found.record_count) == (8, 12, 0)


def test_append_time_is_every_record_s_time() -> None:
    found = only(batch(record(0, 0), record(1, 50), attributes=0x08, latest=2**41))
    assert found.timestamp_type == "log_append"
    assert [row.timestamp for row in rows(found)] == [2**41, 2**41]


def test_delete_horizon_stands_in_the_base_timestamp() -> None:
    found = only(batch(record(0, -700), attributes=0x40, first=90_000))
    assert (found.delete_horizon_ms, found.base_timestamp) == (90_000, 90_000)
    assert rows(found)[0].timestamp == 89_300


def test_numbers_wrap_like_java_s() -> None:
    big = (1 << 63) - 1
    found = only(batch(record(0, 0), record(1, 2), base_offset=big, first=big))
    assert [row[:2] for row in rows(found)] == [(big, big), (-big - 1, -big)]
    assert found.last_offset == -big - 1
    assert rows(only(batch(record(0, -(1 << 63)), first=-1)))[0].timestamp == big
    assert only(batch(record(0), base_offset=-big - 1, last_delta=-1)).last_offset == big


def test_negative_lengths_of_key_and_value_are_null() -> None:
    body = b"\0\0\0" + varint(-2) + varint(-100) + b"\0"
    assert rows(only(batch(varint(len(body)) + body)))[0][2:4] == (None, None)


def test_overlong_varints_are_read() -> None:
    body = bytes.fromhex("00  8000  8080 00  82 00 6b  8280 00 76  80 00")
    assert rows(only(batch(varint(len(body)) + body))) == [Record(0, 1000, b"k", b"v")]
    assert rows(only(batch(b"\x9e\x00" + body))) == [Record(0, 1000, b"k", b"v")]


def test_header_keys_that_are_no_utf_8() -> None:
    data = batch(record(headers=((b"\xff", b"\0"),)))
    assert rows(only(data))[0].headers == (("\udcff", b"\0"),)
    (shown,) = batches_json(data, records=True) or []
    assert shown["records"][0]["headers"] == [{"key": {"base64": "/w=="}, "value": {"base64": "AA=="}}]


def test_bytes_that_are_no_text() -> None:
    values = [b"text", b"\0\1", b"\xff", "€".encode(), b"tab\t", b"esc\x1b"]
    data = batch(*(record(index, key=value, value=value) for index, value in enumerate(values)))
    (shown,) = batches_json(data, records=True) or []
    expected = ["text", {"base64": "AAE="}, {"base64": "/w=="}, "€", "tab\t", {"base64": "ZXNjGw=="}]
    assert [row["key"] for row in shown["records"]] == expected
    assert [row["value"] for row in shown["records"]] == expected


def test_several_batches() -> None:
    data = batch(record(), base_offset=5) + batch(record(), record(1), base_offset=6) + HEX
    found = decode_records(data)
    assert [each.base_offset for each in found] == [5, 6, 42]
    assert [len(rows(each)) for each in found] == [1, 2, 2]
    assert sum(each.size for each in found) == len(data)


# The error, the batch, the reason, and the number of records before the failure
GOOD = record(0), record(1)
WRONG: list[tuple[str, bytes, str, int]] = [
    ("codec number", batch(*GOOD, attributes=5), "codec", 0),
    ("no gzip", batch(*GOOD, attributes=1), "codec", 0),
    ("no snappy", batch(*GOOD, attributes=2), "codec", 0),
    ("no lz4", batch(*GOOD, attributes=3), "codec", 0),
    ("no zstd", batch(*GOOD, attributes=4), "codec", 0),
    ("negative count", batch(*GOOD, count=-1), "malformed", 0),
    ("count beyond the bytes", batch(*GOOD, count=2147483647), "malformed", 0),
    ("one record too few", batch(*GOOD, count=3), "malformed", 0),
    ("a long one too few", batch(record(value=b"v" * 50), record(1), count=3), "truncated", 2),
    ("one record too many", batch(*GOOD, count=1), "malformed", 1),
    ("no records, bytes", batch(*GOOD, count=0), "malformed", 0),
    ("too few inside", batch(payload=deflate("gzip", b"".join(GOOD)), attributes=1, count=9), "malformed", 0),
    ("record too long", batch(record(0), b"\x7e" + record(1)[1:]), "truncated", 1),
    ("record too short", batch(record(0), b"\x0a" + record(1)[1:]), "truncated", 1),
    ("record longer than it is", batch(record(0), b"\x10" + record(1)[1:] + b"\0"), "malformed", 1),
    ("negative length", batch(record(0), varint(-5) + record(1)[1:]), "truncated", 1),
    ("key beyond the record", batch(record(0), bytes.fromhex("0e 00 00 02 40 02 76 00")), "truncated", 1),
    ("value beyond the record", batch(record(0), bytes.fromhex("0e 00 00 02 01 40 76 00")), "truncated", 1),
    ("headers beyond the record", batch(record(0), bytes.fromhex("0e 00 00 02 01 02 76 40")), "malformed", 1),
    ("negative headers", batch(record(0), bytes.fromhex("0e 00 00 02 01 02 76 01")), "malformed", 1),
    ("null header key", batch(record(0), bytes.fromhex("12 00 00 02 01 02 76 02 01 01")), "malformed", 1),
    ("long varint", batch(record(0), bytes.fromhex("18 00 00 02 808080808000 02 76 00")), "malformed", 1),
    ("empty record", batch(record(0), b"\0" + bytes(8)), "truncated", 1),
]


@pytest.mark.parametrize(("data", "why", "count"), [row[1:] for row in WRONG], ids=[row[0] for row in WRONG])
def test_what_cannot_be_read_is_a_value(data: bytes, why: str, count: int) -> None:
    found, after = decode_records(data + HEX)
    assert reason(found) == why
    assert found.crc == "ok"
    assert found.size == len(data)
    assert len(found.records or []) == count
    assert len(rows(after)) == 2
    shown, _ = batches_json(data + HEX, records=True) or []
    assert found.error is not None
    assert shown["error"] == {"reason": why, "text": found.error[1]}
    assert len(shown["records"]) == count


def test_a_bad_checksum() -> None:
    found, after = decode_records(HEX[:70] + b"K" + HEX[71:] + HEX)
    assert (reason(found), found.crc, found.record_count) == ("crc", "bad", 2)
    assert found.records == rows(after)[:1]  # records are shown as far as they can be read
    assert found.records_cut == 1
    assert len(rows(after)) == 2
    (shown,) = batches_json(HEX[:-1] + b"\0") or []
    assert (shown["crc"], shown["error"]["reason"]) == ("bad", "crc")
    (shown,) = batches_json(HEX[:-10] + b"\x13" + HEX[-9:], records=True) or []  # the second record's size
    assert (shown["crc"], shown["error"]["reason"], len(shown["records"])) == ("bad", "crc", 1)
    with pytest.raises(EncodeError, match="cannot be encoded"):
        records_from_json([shown], "records")
    del shown["error"], shown["records_cut"]  # whoever removes these keys tells the error otherwise
    assert records_from_json([shown], "records")[:8] == HEX[:8]


def test_records_of_a_bad_checksum_count_nowhere() -> None:
    spoilt = HEX[:-1] + bytes([HEX[-1] ^ 1])
    data = spoilt + HEX
    assert summarize_records(data).records == 4
    counted = summarize_records(data, verify_checksums=True)
    assert (counted.batches, counted.records, counted.size) == (2, 2, len(data))
    assert summarize_sole_batch(spoilt, 0, len(spoilt)) == (2, "none")
    assert summarize_sole_batch(spoilt, 0, len(spoilt), verify_checksum=True) is None
    of_json = summarize_batches_json(batches_json(data) or [], verify_checksums=True)
    assert (of_json.batches, of_json.records) == (2, 2)


@given(st.integers(0, 60), st.integers(1, 255), st.sampled_from(["none", "gzip", "zstd"]))
def test_a_spoilt_batch_gives_what_it_gives_piece_by_piece_too(place: int, bits: int, codec: str) -> None:
    data = bytearray(encode_batch([Record(at, 5, b"k", b"v" * at) for at in range(9)], Batch(codec=codec)))
    data[61 + place % (len(data) - 61)] ^= bits
    (whole,) = batches_json(bytes(data), records=True) or []
    budget = Budget()
    budget.held = 0  # so that records are decoded as they are written
    (piece,) = batches_json_or_deferred(bytes(data), budget, records=True) or []
    assert whole["crc"] == piece["crc"] == "bad"
    assert [*whole["records"]] == [*piece["records"]]
    assert whole["error"] == piece["error"]


# The facts about a batch that is cut after this many bytes.
KNOWN = [
    (8, "base_offset", 42),
    (16, "partition_leader_epoch", 7),
    (17, "magic", 2),
    (23, "codec", "none"),
    (23, "timestamp_type", "create"),
    (23, "transactional", False),
    (27, "last_offset", 43),
    (35, "base_timestamp", 1700000000000),
    (43, "max_timestamp", 1700000000003),
    (51, "producer_id", -1),
    (53, "producer_epoch", -1),
    (57, "base_sequence", -1),
    (61, "record_count", 2),
]


@pytest.mark.parametrize("size", range(1, len(HEX)))
def test_every_cut_says_what_the_header_still_says(size: int) -> None:
    whole, cut = decode_records(HEX + HEX[:size])
    assert len(rows(whole)) == 2
    assert (cut.truncated, cut.error, cut.crc, cut.size, cut.records) == (True, None, "unchecked", size, [])
    for need, name, value in KNOWN:
        assert getattr(cut, name) == (value if size >= need else None)
    assert read_batches(HEX[:size], records=False)[0].records is None


GARBAGE = [
    ("length too small", bytes(11) + b"\x05" + bytes(40), None),
    ("length negative", bytes(8) + b"\xff" * 30, None),
    ("length too small for its magic", HEX[:11] + b"\x30" + HEX[12:], None),
    ("magic 3", HEX[:16] + b"\x03" + HEX[17:], 80),
    ("magic 3 beyond the end", HEX[:16] + b"\x03" + HEX[17:30], None),
    ("text", b"GET /index.html HTTP/1.1\r\nHost: example.org\r\n\r\n", None),
]


@pytest.mark.parametrize(("data", "size"), [row[1:] for row in GARBAGE], ids=[row[0] for row in GARBAGE])
def test_garbage(data: bytes, size: int | None) -> None:
    found = decode_records(HEX + data + (HEX if size else b""))
    assert len(rows(found[0])) == 2
    assert reason(found[1]) == "malformed"
    assert (found[1].size, found[1].magic, found[1].truncated) == (size or len(data), None, False)
    assert len(found) == (3 if size else 2)


@pytest.mark.parametrize(
    ("data", "is_plain"),
    [
        (HEX, True),
        (HEX[:-1] + b"\x03", False),  # -2 bytes of a header
        (encode_batch([Record(0, 5, b"k", b"v", (("h", b"1"),))] * 3, Batch(producer_id=7, transactional=True)), True),
        (encode_batch([], Batch()), True),
        (encode_batch([Record(0, 5, b"k", b"v")], Batch(codec="gzip")), False),
        (encode_batch([Record(0, 5, b"k", b"v")], Batch(timestamp_type="log_append", max_timestamp=9)), False),
        (HEX[:57] + b"\0\0\0\x03" + HEX[61:], False),  # three records are said to be there
        (HEX[:57] + b"\xff\xff\xff\xff" + HEX[61:], False),
        (b"\x7f" + HEX[1:], False),  # an offset that may wrap
    ],
)
def test_plain_batches_are_read_without_their_header(data: bytes, is_plain: bool) -> None:
    rows = read_rows_of_plain_batch(b"abc" + data + b"abc", 3, 3 + len(data), Budget())
    assert rows == (next(read_records_by_batch(data, Budget(), list)) if is_plain else None)
