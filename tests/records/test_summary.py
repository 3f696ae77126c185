"""The summary of record batches for a text line."""

from __future__ import annotations

import random

import pytest

from decoders.records import read_batches
from decoders.records import summarize_records as summarize_records_module
from decoders.records.codecs import deflate
from decoders.records.read_batches import batches_json
from decoders.records.summarize_records import (
    RecordsSummary,
    read_batch_heads,
    summarize_batches_json,
    summarize_records,
)
from tests.records.making import batch, message, record
from tests.records.test_read_batch_v2 import HEX

THREE = batch(record(0), record(1), record(2), base_offset=44)
EMPTY = batch(base_offset=47, last_delta=2)
GZIP = batch(payload=deflate("gzip", record()), attributes=1, count=1, base_offset=50, last_delta=0)
WRAPPER = message(1, 62, deflate("snappy", message(1, 0, b"a") + message(1, 2, b"b")), attributes=2)
OLD = message(0, 59, b"v")


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", RecordsSummary(0, 0, 0, (), (), None, False)),
        (HEX, RecordsSummary(1, 2, 80, ("none",), (2,), 43, False)),
        (HEX + THREE, RecordsSummary(2, 5, 80 + len(THREE), ("none",), (2,), 46, False)),
        (THREE + EMPTY + GZIP, RecordsSummary(3, 4, len(THREE + EMPTY + GZIP), ("none", "gzip"), (2,), 50, False)),
        (HEX + THREE[:70], RecordsSummary(1, 2, 150, ("none",), (2,), 43, True)),
        (HEX[:30], RecordsSummary(0, 0, 30, (), (), None, True)),
        (OLD + WRAPPER, RecordsSummary(2, 3, len(OLD + WRAPPER), ("none", "snappy"), (0, 1), 62, False)),
        (HEX + WRAPPER, RecordsSummary(2, 4, 80 + len(WRAPPER), ("none", "snappy"), (2, 1), 62, False)),
        (HEX + b"x" * 70, RecordsSummary(1, 2, 150, ("none",), (2,), 43, False)),
        (message(1, 5, b"no gzip", attributes=1), RecordsSummary(1, 0, 41, ("gzip",), (1,), 5, False)),
        (batch(record(), count=-1), RecordsSummary(1, 0, 69, ("none",), (2,), 0, False)),
    ],
)
def test_rows(data: bytes, expected: RecordsSummary) -> None:
    assert summarize_records(data) == expected
    assert summarize_records(b"before" + data + HEX, 6, len(data)) == expected


@pytest.mark.one_in(5)
@pytest.mark.parametrize("seed", range(40))
def test_it_says_what_the_batches_say_when_they_are_read(seed: int) -> None:
    """The summary equals that of the decoded batches, also for changed bytes; it does not check batches' checksums."""
    rng = random.Random(seed)
    nested = message(1, 70, deflate("gzip", WRAPPER), attributes=1)
    unknown = message(1, 71, b"who knows", attributes=6)
    parts = [OLD, WRAPPER, nested, unknown, HEX, GZIP, message(0, 3, deflate("gzip", OLD + OLD), attributes=1)]
    for _ in range(200):
        data = bytearray(b"".join(rng.choices(parts, k=rng.randrange(1, 5))))
        for _ in range(rng.choice((0, 0, 1, 3))):
            data[rng.randrange(len(data))] = rng.randrange(256)
        data = data[: rng.choice((len(data), rng.randrange(len(data) + 1)))]
        read = summarize_batches_json(batches_json(bytes(data)) or [])
        found = summarize_records(bytes(data))
        if found.records == read.records:
            assert found == read
        else:
            # The records of a batch of magic 2 with a wrong checksum are not counted.
            assert found._replace(records=0) == read._replace(records=0)
            assert 2 in found.magics


# Fast paths: whole batches of magic 2 are read by their headers, and nothing else of them.


def _refuse(*_words: object, **_more: object) -> None:
    raise AssertionError("the plain path was taken")


def test_whole_batches_are_summed_up_by_their_headers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summarize_records_module, "_add_unusual_batches_to_summary", _refuse)
    monkeypatch.setattr(summarize_records_module, "_add_legacy_messages", _refuse)
    assert summarize_records(HEX + THREE + EMPTY).batches == 3
    assert summarize_records(HEX + THREE + EMPTY, verify_checksums=True).records == 5


def test_heads_of_whole_batches_are_read_from_their_headers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_batches, "batches_json", _refuse)
    data = HEX + THREE + EMPTY
    heads = list(read_batch_heads((6, len(data)), b"before" + data))
    assert [(head.records, head.base_offset, head.last_offset) for head in heads] == [
        (2, 42, 43),
        (3, 44, 46),
        (0, 47, 49),
    ]
    monkeypatch.setattr(summarize_records_module, "_iterate_batch_heads", _refuse)
    assert [head.records for head in read_batch_heads((6, len(THREE)), b"before" + THREE)] == [3]


def test_a_batch_in_json_form_need_not_tell_its_codec() -> None:
    found = [*(batches_json(HEX + GZIP) or []), (batches_json(HEX) or [])[0] | {"codec": None}]
    assert summarize_batches_json(found).codecs == ("none", "gzip")
    assert [head.codec for head in read_batch_heads(found, None)] == ["none", "gzip", "unknown"]
