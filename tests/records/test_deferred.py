"""Records and bodies that are decoded while they are written equal their decoded values, and can be read twice."""

from __future__ import annotations

import gc
from random import Random
from typing import Any

import orjson
import pytest

from decoders import limits
from decoders.errors import DecodeError
from decoders.messages.build_body_json import Options, hooks_of_side, make_hook_table
from decoders.records.codecs import NAMES, deflate
from decoders.records.encode_batches import encode_batch, encode_message_set
from decoders.records.read_batches import DeferredBatches, batches_json, batches_json_or_deferred
from decoders.records.record_and_batch import Batch, Budget, Record
from decoders.schema import defer_long_arrays
from decoders.schema.body_json_form import json_bytes
from decoders.schema.decode_and_encode import decode_partial
from decoders.schema.lazy_decoder import get_json_decoder
from decoders.schema.plan_walker import encode_by_walking
from decoders.wire.deferred_json import DeferredText, make_json_pieces
from tests.apis.everything import all_layouts
from tests.records.bombs import packed
from tests.records.making import batch, message, record
from tests.records.test_hostile import MIXED
from tests.schema.values import random_value

NOTHING_HELD = -1
TEXTS = [b"", b"abc", b'a"\n\\', "ä€😀".encode() * 9, b"\0\1", b"\xff\xfe", b"a" * 70_000 + "😀".encode() + b"\xff"]


def both(data: bytes, **limits: int) -> tuple[Any, Any]:
    """The batches as values, and as decoded while they are written (twice, with equal results)."""
    budget = Budget(**limits)
    budget.held = NOTHING_HELD
    found = batches_json_or_deferred(data, budget, records=True)
    assert isinstance(found, DeferredBatches)
    once = b"".join(make_json_pieces(found))
    assert b"".join(make_json_pieces(found)) == once
    return batches_json(data, records=True, budget=Budget(**limits)), orjson.loads(once)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("size", [64 * 1024, 20], ids=["whole batches", "single records"])
@pytest.mark.parametrize("codec", NAMES)
def test_records(monkeypatch: pytest.MonkeyPatch, codec: str, size: int) -> None:
    monkeypatch.setattr("decoders.records.records_as_json.PIECE", size)
    monkeypatch.setattr("decoders.records.read_batches._AT_ONCE", size)
    rows = [Record(5 + index, index, b"k%d" % index, value, (("h", value),)) for index, value in enumerate(TEXTS * 40)]
    values, written = both(encode_batch(rows, Batch(codec=codec)) * 3 + MIXED)
    assert written == values


@pytest.mark.plain
def test_what_is_over_the_limit_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("decoders.records.read_batches._AT_ONCE", 0)
    data = encode_batch([Record(index, 0, None, b"x") for index in range(10)], Batch(codec="zstd")) * 3
    values, written = both(data, records=14)
    assert written == values
    assert [each.get("records_cut") for each in written] == [None, 6, 10]
    monkeypatch.setattr("decoders.records.record_and_batch.RECORDS_SHOWN_MAX", 500)
    _, written = both(data)
    assert [len(each["records"]) for each in written] == [4, 0, 0]
    assert [each["records_cut"] for each in written] == [6, 10, 10]


def test_what_is_wrong_is_said_behind_the_records(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("decoders.records.read_batches._AT_ONCE", 0)
    least = bytes.fromhex("0c 00 00 00 01 01 00")
    broken = packed("gzip", least * 300 + b"\x0e" + least[1:], 301)
    headers = batch(record(headers=((b"h", b"v"),) * 9)) * 2
    for data in (broken, batch(payload=least * 9 + b"\1", count=9), headers):
        values, written = both(data, headers=12)
        assert written == values
    assert any("error" in each for each in both(broken)[1])


@pytest.mark.parametrize("magic", [0, 1])
def test_wrappers(monkeypatch: pytest.MonkeyPatch, magic: int) -> None:
    monkeypatch.setattr("decoders.records.read_batches._AT_ONCE", 0)
    inside = b"".join(message(magic, offset, b"v%d" % offset) for offset in range(300))
    bad = inside[:-1] + b"\xff"
    for held in (inside, bad, inside[:-1]):
        values, written = both(message(magic, 900, deflate("gzip", held, magic), attributes=1) * 2, records=450)
        assert written == values


@pytest.mark.long
@pytest.mark.one_in(3)
@pytest.mark.parametrize("magic", [0, 1, 2])
def test_nothing_refers_to_itself(magic: int) -> None:
    """No reference cycles: memory is freed at once, since collections are rare and a batch may have megabytes."""
    rows = [Record(at, at if magic else None, None, b"v" * 2000, ()) for at in range(40)]
    data = encode_batch(rows, Batch()) if magic == 2 else encode_message_set(rows, magic, codec="gzip")
    gc.collect()
    gc.disable()
    try:
        before = len(gc.get_objects())
        for _ in range(50):
            budget = Budget()
            budget.held = NOTHING_HELD
            assert len(b"".join(make_json_pieces(batches_json_or_deferred(data, budget, records=True)))) > 80_000
        assert len(gc.get_objects()) - before < 50
    finally:
        gc.enable()


@pytest.mark.parametrize("data", TEXTS)
def test_long_values(data: bytes) -> None:
    assert orjson.loads(b"".join(DeferredText(data).json())) == json_bytes(data)


@pytest.mark.long
@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", range(3))
def test_bodies(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Every layout of every API by the JSON decoder; and cut bodies, of which the walker reads the rest."""
    monkeypatch.setattr(defer_long_arrays, "PIECE", 3)
    monkeypatch.setattr(defer_long_arrays, "VALUE_WHOLE_MAX", 8)
    rng = Random(seed)
    arrays = 0
    for each in all_layouts():
        plan = each.plan
        data = encode_by_walking(plan, random_value(plan, rng, values=60))
        names = hooks_of_side(each.key, each.side)
        hooks = make_hook_table(Options())
        reading = defer_long_arrays.BodyReader(names, hooks, reveal=False)
        body, after, failure = reading.read(plan, data, 0, len(data))
        expected, end = get_json_decoder(plan, names, False)(data, 0, len(data), hooks)
        assert (after, failure) == (end, None)
        text = b"".join(make_json_pieces(body))
        assert text == orjson.dumps(expected)
        assert b"".join(make_json_pieces(body)) == text
        arrays += any(isinstance(value, defer_long_arrays.DeferredArray) for value in body.values())
        cut = rng.randrange(len(data) + 1)
        left, problem = defer_long_arrays.decode_partial_large(plan, data, 0, cut, reading)
        known, expected_problem = decode_partial(plan, data, 0, cut, json=True, hooks=names, table=hooks)
        assert b"".join(make_json_pieces(left)) == orjson.dumps(known)
        if expected_problem is not None:
            assert told(problem) == told(expected_problem)
    assert arrays > 100


def told(problem: DecodeError | None) -> tuple[object, ...]:
    assert problem is not None
    return problem.reason, problem.offset, problem.path, problem.text


def test_limits_hold_together() -> None:
    """A piece takes a part of the memory limit, and a body that is read at once fits in it."""
    assert limits.PIECE * limits.RECORD_BYTE_COST < limits.RECORDS_HELD_MAX
    assert limits.PIECE < limits.VALUE_WHOLE_MAX < limits.BODY_WHOLE_MAX
