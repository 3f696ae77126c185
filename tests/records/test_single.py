"""Batches of one plain record: the short way gives the result of the general way, or none."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from decoders.records.encode_batches import encode_batch
from decoders.records.read_batches import batches_json, read_batches_as_fields, single_record_batch_json
from decoders.records.record_and_batch import Batch, Budget, Record
from decoders.records.records_as_json import records_json

CONTENTS = st.none() | st.binary(max_size=5) | st.integers(0, 20_000).map(bytes)
RECORDS = st.builds(
    Record,
    offset=st.integers(-(2**40), 2**61),
    timestamp=st.integers(-1, 2**41),
    key=CONTENTS,
    value=CONTENTS,
    headers=st.sampled_from([(), (("a", b"b"),)]),
    control_record=st.none(),
)


def general(data: bytes) -> list[dict[str, object]]:
    return list(read_batches_as_fields(data, Budget(), records_json))


@given(RECORDS)
def test_both_ways_agree(record: Record) -> None:
    data = encode_batch([record])
    short = single_record_batch_json(data)
    assert short == general(data) or (short is None and (record.headers or sum(map(len, _held(record))) > 8000))


def _held(record: Record) -> tuple[bytes, bytes]:
    return record.key or b"", record.value or b""


@given(RECORDS, st.data())
def test_damage_is_left_to_the_general_way(record: Record, draw: st.DataObject) -> None:
    data = bytearray(encode_batch([record]))
    for _ in range(draw.draw(st.integers(1, 3))):
        data[draw.draw(st.integers(0, len(data) - 1))] = draw.draw(st.integers(0, 255))
    cut = bytes(data[: draw.draw(st.integers(0, len(data)))])
    for damaged in (bytes(data), cut):
        short = single_record_batch_json(damaged)
        assert short is None or short == general(damaged)


def test_every_other_shape_is_left_to_the_general_way() -> None:
    record = Record(7, 1000, b"k", b"v", ())
    for data in (
        b"",
        encode_batch([]),
        encode_batch([record, record._replace(offset=8)]),
        encode_batch([record], Batch(codec="gzip")),
        encode_batch([record], Batch(transactional=True)),
        encode_batch([record], Batch(base_offset=5)),
        encode_batch([record]) * 2,
    ):
        assert single_record_batch_json(data) is None


def test_the_budget_counts() -> None:
    data = encode_batch([Record(7, 1000, b"k", b"v", ())])
    budget = Budget(records=1)
    shown = [batches_json(data, records=True, budget=budget) for _ in range(2)]
    assert [batch["records"] for batches in shown for batch in batches or ()] == [
        [{"offset": 7, "timestamp": 1000, "key": "k", "value": "v", "headers": []}],
        [],
    ]
