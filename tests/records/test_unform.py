"""Records in JSON form, encoded again: batches of every magic and codec, by hand and at random."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoders import Batch, EncodeError, Record, decode_records, encode_records
from decoders.records.encode_batches import encode_batch, records_from_json
from decoders.records.read_batches import batches_json

INT16 = st.integers(-(1 << 15), (1 << 15) - 1)
INT32 = st.integers(-(1 << 31), (1 << 31) - 1)
TIMES = st.integers(-1, 1 << 41)
DATA = st.none() | st.binary(max_size=12) | st.text(max_size=6).map(str.encode)
NAMES = st.binary(max_size=6).map(lambda data: data.decode("utf-8", "surrogateescape"))
HEADERS = st.lists(st.tuples(NAMES, DATA), max_size=3).map(tuple)


@st.composite
def batches(draw: st.DrawFn) -> Batch:
    magic = draw(st.sampled_from([0, 1, 2, 2, 2]))
    codec = draw(st.sampled_from(["none", "gzip", "snappy", "lz4"] + ["zstd"] * (magic == 2)))
    # A plain message of the old formats is a separate batch.
    most = 4 if magic == 2 or codec != "none" else 1
    base = draw(st.integers(0, 1 << 40))
    kind = draw(st.sampled_from(["create", "log_append"])) if magic else None
    latest = draw(TIMES)
    records = []
    for index in range(draw(st.integers(0 if magic == 2 else 1, most))):
        stamp = None if not magic else latest if kind == "log_append" else draw(TIMES)
        headers = draw(HEADERS) if magic == 2 else ()
        records.append(Record(base + index, stamp, draw(DATA), draw(DATA), headers))
    made = Batch(magic=magic, codec=codec, timestamp_type=kind, records=records)
    if magic == 2:
        made.base_offset = base
        made.last_offset = base + len(records) + draw(st.integers(0, 3)) - 1
        made.max_timestamp = latest
        made.partition_leader_epoch, made.base_sequence = draw(INT32), draw(INT32)
        made.producer_id, made.producer_epoch = draw(st.integers(-1, 1 << 62)), draw(INT16)
        made.transactional = draw(st.booleans())
        made.delete_horizon_ms = draw(st.none() | TIMES)
    elif codec != "none" and kind == "log_append":
        made.max_timestamp = latest
    return made


@settings(max_examples=150, deadline=None)
@given(st.lists(batches(), max_size=3))
def test_batches_come_back(made: list[Batch]) -> None:
    data = encode_records(made)
    shown = json.loads(json.dumps(batches_json(data, records=True)))
    assert all("error" not in batch for batch in shown)
    assert records_from_json(shown, "records") == data


def test_the_least_that_a_batch_says() -> None:
    (batch,) = decode_records(
        records_from_json([{"records": [{"key": "k"}, {"value": {"base64": "/w=="}}]}], "records")
    )
    assert (batch.magic, batch.codec, batch.base_offset, batch.last_offset, batch.producer_id) == (2, "none", 0, 1, -1)
    assert batch.records == [Record(0, -1, b"k", None), Record(1, -1, None, b"\xff")]
    old = records_from_json([{"magic": 1, "codec": "gzip", "records": [{"value": "a", "timestamp": 5}]}], "records")
    assert [record.timestamp for record in decode_records(old)[0].records or []] == [5]
    assert records_from_json([], "records") == b""


def test_offsets_that_are_not_said_count_from_the_base() -> None:
    value = [{"baseOffset": 7, "records": [{"value": "a"}, {"value": "b"}]}]
    assert [record.offset for record in decode_records(records_from_json(value, "records"))[0].records or []] == [7, 8]


def test_control_records_are_their_bytes() -> None:
    data = encode_batch(
        [Record(3, 5, b"\0\0\0\1", b"\0\0\0\0\0\7")], Batch(control=True, transactional=True, producer_id=4)
    )
    shown = batches_json(data, records=True)
    assert shown is not None
    assert shown[0]["records"][0]["control_record"]["type"] == "COMMIT"
    assert records_from_json(json.loads(json.dumps(shown)), "records") == data


@pytest.mark.parametrize(
    ("batch", "line"),
    [
        (5, "r[0]: a batch (an object) expected, not 5"),
        ({}, "r[0].records: a batch without its records cannot be encoded; --records keeps them"),
        (
            {"record_count": 3, "records": None},
            "r[0].records: a batch without its records cannot be encoded; --records keeps them",
        ),
        ({"records": {}}, "r[0].records: an array of records expected, not an object"),
        ({"records": [5]}, "r[0].records[0]: a record (an object) expected, not 5"),
        (
            {"records": [{"value": {"redacted": 9}}]},
            "r[0].records[0].value: a redacted secret cannot be encoded; --reveal-secrets keeps its value",
        ),
        ({"records": [{"value": 9}]}, 'r[0].records[0].value: bytes (text or {"base64": …}) expected, not 9'),
        (
            {"records": [{"offset": 1 << 40, "value": "x"}], "base_offset": 0},
            "r[0].records[0].offset: 1099511627776 is too far from 0",
        ),
        ({"records": [{"headers": [{"key": None}]}]}, "r[0].records[0].headers[0].key: string expected, not null"),
        ({"records": [], "truncated": True}, "r[0].truncated: a batch that was cut off cannot be encoded"),
        (
            {"records": [], "error": {"reason": "crc", "text": "x"}},
            'r[0].error: a batch that could not be read ("crc") cannot be encoded',
        ),
        (
            {"records": [], "records_cut": 7},
            "r[0].records_cut: 7 records were left out by a limit; the batch cannot be encoded",
        ),
        ({"records": [], "codec": "brotli"}, 'r[0].codec: none or gzip or snappy or lz4 or zstd, not "brotli"'),
        ({"records": [], "magic": True}, "r[0].magic: 0, 1 or 2, not true"),
        ({"records": [], "producer_epoch": 1 << 15}, "r[0].producer_epoch: 32768 is outside int16 (-32768 to 32767)"),
        ({"records": [], "baseOffset": 1, "base_offset": 1}, "r[0].base_offset: the same field twice"),
        ({"magic": 0, "codec": "gzip", "records": []}, "r[0].records: magic 0 cannot compress no records at all"),
        ({"magic": 1, "records": [{"headers": [{"key": "a"}]}]}, "r[0].records[0].headers: headers need magic 2"),
        ({"magic": 1, "producer_id": 5, "records": [{}]}, "r[0].producer_id: needs magic 2"),
    ],
)
def test_what_cannot_be_written(batch: Any, line: str) -> None:
    with pytest.raises(EncodeError) as caught:
        records_from_json([batch], "r")
    assert str(caught.value) == line
