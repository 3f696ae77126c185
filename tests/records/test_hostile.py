"""Any bytes: no exception, the fast reader agrees with the plain one, and every limit holds."""

from __future__ import annotations

import struct
import time
import tracemalloc
from collections.abc import Callable

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoders import Batch, DecodeError, decode_records
from decoders.limits import BATCH_INFLATED_MAX, MIB
from decoders.records.codecs import NAMES, deflate
from decoders.records.encode_batches import encode_batch
from decoders.records.read_batches import batches_json, read_batches
from decoders.records.read_rows_v2 import read_rows_checked, read_rows_fast, read_rows_of_any_width
from decoders.records.record_and_batch import Budget, Record
from decoders.records.summarize_records import summarize_records
from decoders.wire.format_and_escape_text import format_bytes
from tests.records.batch_json import batch_json
from tests.records.making import batch, message, record, varint
from tests.records.test_codecs import BOMBS, lz4_claim
from tests.records.test_read_batch_v2 import HEX
from tests.records.test_read_legacy import MAGIC_0, MAGIC_1, nested
from tests.records.test_write import records

MIXED = (
    HEX
    + encode_batch(
        [Record(50 + index, 1, b"k", b"v" * index, (("h", b"1"),)) for index in range(90)], Batch(codec="gzip")
    )
    + MAGIC_0
    + nested(2)
    + batch(record(key=b"\0\0\0\1", value=bytes(6)), attributes=0x20)
    + MAGIC_1
)


def check(data: bytes) -> list[Batch]:
    """Decode any bytes, and assert what must hold for all of them."""
    found = decode_records(data)
    assert sum(each.size for each in found) == len(data)
    shown = batches_json(data, records=True)
    assert shown is not None
    assert shown == [batch_json(each) for each in found]
    assert orjson.dumps(shown)
    without = batches_json(data) or []
    for with_records, head in zip(shown, without, strict=True):
        kept = {key: value for key, value in with_records.items() if key not in ("records", "records_cut")}
        assert kept == head or "error" in kept
    summary = summarize_records(data)
    assert summary.size == len(data)
    assert summary.truncated == any(each.truncated for each in found)
    assert summary.records == sum(max(each.record_count or 0, 0) for each in found if not each.truncated)
    return found


def by_the_plain_reader(payload: bytes, count: int) -> tuple[list[Record], tuple[str, str] | None]:
    out: list[Record] = []
    try:
        for row in read_rows_checked(payload, 0, len(payload), count, 0, 1000, Budget()):
            out.append(Record(*row))
    except DecodeError as failure:
        return out, (failure.reason, failure.text)
    return out, None


@given(records())
def test_the_fast_reader_takes_every_usual_batch(made: list[Record]) -> None:
    payload = encode_batch(made)[61:]
    base, first = (made[0][0], made[0][1] or 0) if made else (0, 0)
    arguments = 0, len(payload), len(made), base, first
    quick = [Record(*row) for row in read_rows_fast(payload, *arguments, Budget())]
    wide = [Record(*row) for row in read_rows_of_any_width(payload, *arguments, Budget())]
    slow = [Record(*row) for row in read_rows_checked(payload, *arguments, Budget())]
    assert quick == wide == slow == made


@st.composite
def broken_payloads(draw: st.DrawFn) -> tuple[bytes, int]:
    made = draw(records())
    payload = bytearray(encode_batch(made)[61:])
    for _ in range(draw(st.integers(0, 3))):
        if payload:
            payload[draw(st.integers(0, len(payload) - 1))] = draw(st.integers(0, 255))
    if draw(st.booleans()):
        payload = payload[: draw(st.integers(0, len(payload)))]
    return bytes(payload), max(len(made) + draw(st.sampled_from([0, 0, 0, -1, 1])), 0)


@pytest.mark.long
@settings(max_examples=300)
@given(broken_payloads() | st.tuples(st.binary(max_size=60), st.integers(0, 6)))
def test_fast_and_plain_agree_on_broken_records(made: tuple[bytes, int]) -> None:
    payload, count = made
    (found,) = check(batch(payload=payload, count=count))
    expected, error = by_the_plain_reader(payload, count)
    if found.error is not None and not found.records and len(payload) < 7 * count:
        assert found.error == ("malformed", f"{count} records in {format_bytes(len(payload))}")
    else:
        assert (found.records, found.error) == (expected, error)


@given(st.binary(max_size=200))
def test_noise(data: bytes) -> None:
    check(data)
    check(HEX + data)


@given(st.integers(0, 2), st.binary(max_size=120), st.integers(-2, 200))
def test_noise_behind_a_plausible_header(magic: int, data: bytes, length: int) -> None:
    check(struct.pack(">qiib", 7, length, 0, magic) + data)


@pytest.mark.long
@settings(max_examples=200)
@given(st.data())
def test_flipped_bytes(data: st.DataObject) -> None:
    changed = bytearray(MIXED)
    for _ in range(data.draw(st.integers(1, 4))):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    check(bytes(changed))


def test_every_truncation() -> None:
    whole = decode_records(MIXED)
    for size in range(1, len(MIXED)):
        found = check(MIXED[:size])
        assert found[:-1] == whole[: len(found) - 1]
        assert found[-1].truncated or found[-1] == whole[len(found) - 1]


@given(st.binary(max_size=80), st.sampled_from(NAMES[1:]), st.integers(0, 5))
def test_anything_inside_compression(data: bytes, codec: str, count: int) -> None:
    number = NAMES.index(codec)
    check(batch(payload=deflate(codec, data), attributes=number, count=count))
    check(message(1, 7, deflate(codec, data), attributes=number))
    check(batch(payload=data, attributes=number, count=count))
    check(message(0, 7, data, attributes=number))


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    ("codec", "data"), [(row[1], row[2]) for row in BOMBS], ids=[f"{row[1]} {row[0]}" for row in BOMBS]
)
@pytest.mark.parametrize("wrap", [0, 1, 2], ids=["magic 0", "magic 1", "magic 2"])
def test_bombs(codec: str, data: bytes, wrap: int) -> None:
    number = NAMES.index(codec)
    data = data or lz4_claim()
    bomb = batch(payload=data, attributes=number, count=5) if wrap == 2 else message(wrap, 0, data, attributes=number)
    budget = Budget(inflated=4 * MIB)
    read_batches(bomb, records=True, budget=budget)
    budget = Budget(inflated=4 * MIB)
    tracemalloc.start()
    try:
        found, after = read_batches(bomb + HEX, records=True, budget=budget)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 12 * MIB + 3 * len(bomb)
    assert found.error is not None
    assert found.error[0] in ("limit", "codec")
    assert (found.records, found.crc) == ([], "ok")
    assert after.error is None


def test_one_batch_gives_no_more_than_its_limit() -> None:
    bomb = batch(payload=deflate("zstd", bytes(BATCH_INFLATED_MAX + 1)), attributes=4, count=9)
    budget = Budget()
    (found,) = read_batches(bomb, records=True, budget=budget)
    assert found.error is not None
    assert found.error[0] == "limit"
    assert budget.inflated == Budget().inflated - BATCH_INFLATED_MAX


@pytest.mark.parametrize("codec", NAMES[1:])
def test_the_exchange_s_budget_is_spent(codec: str) -> None:
    rows = [Record(index, 0, None, bytes(1000)) for index in range(100)]
    data = encode_batch(rows, Batch(codec=codec))
    size = len(encode_batch(rows)) - 61
    budget = Budget(inflated=2 * size + 10)
    found = read_batches(data * 4, records=True, budget=budget)
    assert [each.error and each.error[0] for each in found] == [None, None, "limit", "limit"]
    assert budget.inflated == 0
    assert [each.error for each in read_batches(data * 4, records=False, budget=budget)] == [None] * 4


def test_what_does_not_decompress_costs_too() -> None:
    bad = batch(payload=deflate("gzip", bytes(100))[:-1], attributes=1, count=1)
    found = read_batches(bad * 100, records=True, budget=Budget(inflated=40 * MIB))
    reasons = [each.error and each.error[0] for each in found]
    assert reasons == ["codec"] * 10 + ["limit"] * 90


@pytest.mark.parametrize("codec", ["none", "lz4"])
def test_records_over_the_budget_are_cut(codec: str) -> None:
    data = encode_batch([Record(index, 0, None, b"x") for index in range(10)], Batch(codec=codec))
    found = read_batches(data * 3, records=True, budget=Budget(records=14))
    assert [(len(each.records or []), each.records_cut, each.error) for each in found] == [
        (10, 0, None),
        (4, 6, None),
        (0, 10, None),
    ]
    shown = batches_json(data * 3, records=True, budget=Budget(records=14)) or []
    assert [each.get("records_cut") for each in shown] == [None, 6, 10]
    assert shown == [batch_json(each) for each in found]


def test_headers_over_the_budget() -> None:
    data = encode_batch([Record(0, 0, None, None, (("h", None),) * 10)])
    first, second = read_batches(data * 2, records=True, budget=Budget(headers=15))
    assert first.error is None
    assert second.error is not None
    assert second.error[0] == "limit"
    full = batch(varint(1 << 20) + bytes.fromhex("00 00 00 01 01") + varint(1 << 30) + bytes((1 << 20) - 10))
    assert (decode_records(full)[0].error or ("",))[0] == "malformed"


def test_batches_over_the_budget() -> None:
    found = read_batches(HEX * 5, records=True, budget=Budget(batches=3))
    assert [each.size for each in found] == [80, 80, 80, 160]
    assert found[3].error is not None
    assert found[3].error[0] == "limit"


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "make",
    [
        lambda: batch(payload=bytes(MIB), count=MIB // 7),
        lambda: batch(payload=b"\x0c\0\0\0\1\1\0" * 50_000, count=50_000),
        lambda: batch(count=0) * 20_000,
        lambda: message(0, 0, b"") * 40_000,
        lambda: b"\xff" * MIB,
        lambda: message(1, 1, deflate("gzip", message(1, 1, b"") * 40_000), attributes=1),
    ],
    ids=["zeros", "smallest records", "empty batches", "messages", "ones", "wrapper"],
)
def test_time_is_bounded(make: Callable[[], bytes]) -> None:
    data = make()
    began = time.process_time()
    decode_records(data)
    summarize_records(data)
    assert time.process_time() - began < 20  # about one is usual; non-linear work takes minutes
