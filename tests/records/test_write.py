"""Batches written: the same bytes again, and other libraries can read them."""

from __future__ import annotations

from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoders import EncodeError, Record, decode_records, encode_records
from decoders.records.codecs import NAMES
from decoders.records.encode_batches import encode_batch
from decoders.records.record_and_batch import Batch
from tests.records.making import batch, message, record
from tests.records.others import AioMemoryRecords, MemoryRecords
from tests.records.test_read_batch_v2 import HEX

INT64 = st.integers(-(1 << 62), (1 << 62) - 1)
NAME = st.binary(max_size=12).map(lambda data: data.decode("utf-8", "surrogateescape"))
HEADERS = st.lists(st.tuples(NAME, st.none() | st.binary(max_size=70)), max_size=3).map(tuple)
NULLABLE = st.none() | st.binary(max_size=20) | st.binary(min_size=60, max_size=200)


@st.composite
def records(draw: st.DrawFn) -> list[Record]:
    """Records with rising offsets; timestamps near to each other or anywhere."""
    base, stamp = draw(st.integers(0, 1 << 50)), draw(st.integers(-1, 1 << 41))
    near = st.integers(-10, 100) | st.integers(-9000, 9000) | st.integers(-(1 << 40), 1 << 40)
    steps = draw(st.lists(st.integers(0, 3) | st.integers(0, 9000), max_size=12))
    out = []
    for step in steps:
        base += step
        out.append(Record(base, stamp + draw(near), draw(NULLABLE), draw(NULLABLE), draw(HEADERS)))
    return out


@pytest.mark.parametrize(
    "data",
    [
        HEX,
        batch(record(0), record(1, 5), base_offset=7, producer=9, epoch=1, sequence=4, attributes=0x10),
        batch(base_offset=7, last_delta=5, first=-1, latest=-1),
        batch(record(3, -700), record(80), attributes=0x40, last_delta=100),
        batch(record(key=b"\0\0\0\1", value=b"\0\0\0\0\0\1"), attributes=0x30, producer=1, epoch=0),
        batch(record(headers=((b"\xff", None), (b"", b"")))),
    ],
)
def test_the_same_bytes_again(data: bytes) -> None:
    assert encode_records(decode_records(data + data)) == data + data


@given(records(), st.sampled_from(NAMES), st.booleans(), st.integers(-1, 1 << 31 - 1))
def test_round_trip(made: list[Record], codec: str, transactional: bool, sequence: int) -> None:
    data = encode_batch(made, Batch(codec=codec, transactional=transactional, producer_id=5, base_sequence=sequence))
    (found,) = decode_records(data)
    assert found.error is None
    assert found.records == made
    assert (found.codec, found.transactional, found.base_sequence) == (codec, transactional, sequence)
    assert found.max_timestamp == max([each.timestamp or 0 for each in made], default=-1)
    assert encode_records([found]) == data


@given(INT64, INT64)
def test_far_timestamps(first: int, second: int) -> None:
    made = [Record(0, first, None, None), Record(1, second, None, None)]
    (found,) = decode_records(encode_batch(made))
    assert found.records == made


@pytest.mark.parametrize("codec", [*NAMES[:2], *NAMES[3:]])
def test_kafka_python_reads_it(codec: str) -> None:
    made = [Record(7 + index, 1000 + index, b"k%d" % index, None, (("h", b"x"),)) for index in range(70)]
    reader = MemoryRecords(encode_batch(made, Batch(codec=codec)))
    found = reader.next_batch()
    assert found.validate_crc()
    assert [(row.offset, row.timestamp, row.key, row.value, tuple(row.headers)) for row in found] == [
        each[:5] for each in made
    ]


@pytest.mark.parametrize("codec", NAMES)
def test_aiokafka_reads_it(codec: str) -> None:
    made = [Record(7 + index, 1000 + index, None, b"v%d" % index, (("h", b"x"),)) for index in range(70)]
    found = AioMemoryRecords(encode_batch(made, Batch(codec=codec))).next_batch()
    assert found.validate_crc()
    assert [(row.offset, row.timestamp, row.key, row.value, tuple(row.headers)) for row in found] == [
        each[:5] for each in made
    ]


def test_defaults_follow_from_the_records() -> None:
    (found,) = decode_records(encode_batch([Record(5, 100, None, b"a"), Record(9, 50, None, b"b")]))
    assert (found.base_offset, found.last_offset, found.base_timestamp, found.max_timestamp) == (5, 9, 100, 100)
    assert (found.partition_leader_epoch, found.producer_id, found.base_sequence) == (-1, -1, -1)


REFUSED: list[tuple[dict[str, object], str]] = [
    ({"codec": "brotli"}, "no compression"),
    ({"timestamp_type": "event"}, "create or log_append"),
    ({"producer_epoch": 1 << 15}, "out of range"),
    ({"base_offset": 1 << 63}, "too far"),
    ({"last_offset": 1 << 40}, "out of range"),
    ({"base_timestamp": -(1 << 63)}, "too far from the base timestamp"),
]


@pytest.mark.parametrize(("options", "text"), REFUSED)
def test_what_does_not_fit_is_refused(options: dict[str, object], text: str) -> None:
    with pytest.raises(EncodeError, match=text):
        encode_batch([Record(0, 5, None, b"")], Batch(**options))  # type: ignore[arg-type]  # wrong values are the point


@pytest.mark.parametrize("data", [HEX[:-1], message(1, 0, b"")[:-1], batch(record(), count=2), b"garbage" * 9])
def test_only_whole_batches_are_written(data: bytes) -> None:
    with pytest.raises(EncodeError, match=r"^\[0\]: only whole"):
        encode_records(decode_records(data))
    with pytest.raises(EncodeError, match="without its records"):
        encode_records([Batch()])


def odd_batch(**fields: Any) -> Batch:
    """A batch whose fields may have any types."""
    return Batch(**fields)


class Odd:
    def __repr__(self) -> str:
        return "Odd"


@pytest.mark.parametrize("magic", [0, 1, 2])
@pytest.mark.parametrize("codec", ["none", "gzip"])
@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"key": "text"}, r"\[0\].records\[1\].key: bytes or None expected, not str"),
        ({"value": 7}, r"\[0\].records\[1\].value: bytes or None expected, not int"),
        ({"value": {"a": 1}}, r"\[0\].records\[1\].value: bytes or None expected, not dict"),
        ({"offset": "1"}, r"\[0\].records\[1\].offset: int expected, not str"),
        ({"offset": None}, r"\[0\].records\[1\].offset: int expected, not NoneType"),
        ({"timestamp": 1.5}, r"\[0\].records\[1\].timestamp: int or None expected, not float"),
        ({"headers": {"name": b"value"}}, r"\[0\].records\[1\].headers(\[0\])?: "),
        ({"headers": [("ab", "cd")]}, r"\[0\].records\[1\].headers(\[0\])?: "),
        ({"headers": ["ab"]}, r"\[0\].records\[1\].headers(\[0\])?: "),
        ({"headers": 7}, r"\[0\].records\[1\].headers(\[0\])?: "),
    ],
)
def test_a_record_of_wrong_types_is_an_encode_error(wrong: dict[str, Any], told: str, magic: int, codec: str) -> None:
    if magic == 0:
        wrong = {"timestamp": None, **wrong}
    record = Record(1, None if magic == 0 else 5, b"k", b"v")._replace(**wrong)
    good = Record(0, None if magic == 0 else 5, b"k", b"v")
    with pytest.raises(EncodeError, match=told) as failure:
        encode_records([Batch(magic=magic, codec=codec, records=[good, record])])
    assert not isinstance(failure.value.__cause__, TypeError)


HEADERS_OF_MAGIC_2: Final = [
    ({"name": b"value"}, r"headers: \(key, value\) pairs expected, not dict"),
    ([("ab", "cd")], r"headers\[0\]: \(str, bytes or None\) expected, not \(str, str\)"),
    ([(b"ab", b"cd")], r"headers\[0\]: \(str, bytes or None\) expected, not \(bytes, bytes\)"),
    ([("a", b"b", 3)], r"headers\[0\]: \(str, bytes or None\) expected, not \(str, bytes, int\)"),
    (["ab"], r"headers\[0\]: \(str, bytes or None\) expected, not str"),
    (7, r"headers: \(key, value\) pairs expected, not int"),
]


@pytest.mark.parametrize(("headers", "told"), HEADERS_OF_MAGIC_2)
def test_headers_of_wrong_types_say_what_they_are(headers: Any, told: str) -> None:
    with pytest.raises(EncodeError, match=told):
        encode_records([Batch(records=[Record(0, 5, b"k", b"v", headers)])])


@pytest.mark.parametrize(
    ("batches", "told"),
    [
        ([Record(0, 1, None, None)], r"\[0\]: Batch expected, not Record"),
        ([{"records": []}], r"\[0\]: Batch expected, not dict"),
        (7, "an iterable of Batch expected, not int"),
        (odd_batch(records=[]), "an iterable of Batch expected, not Batch"),
        ([odd_batch(records=[(0, 1, b"", b"")])], r"\[0\].records\[0\]: Record expected, not tuple"),
        ([odd_batch(records=7)], r"\[0\].records: a list of Record expected, not int"),
        ([odd_batch(records=[], producer_id="5")], r"\[0\].producer_id: int or None expected, not str"),
        ([odd_batch(records=[], base_sequence=1.5)], r"\[0\].base_sequence: int or None expected, not float"),
        ([odd_batch(records=[], base_offset=Odd())], r"\[0\].base_offset: int or None expected, not Odd"),
        ([odd_batch(records=[], magic="2")], r"\[0\].*magic"),
        ([odd_batch(records=[], codec=3)], r"\[0\].codec: "),
        ([odd_batch(records=[], codec=["gzip"])], r"\[0\].codec: "),
        ([odd_batch(records=[], timestamp_type=["create"])], r"\[0\].timestamp_type: "),
    ],
)
def test_a_batch_of_wrong_types_is_an_encode_error(batches: Any, told: str) -> None:
    with pytest.raises(EncodeError, match=told):
        encode_records(batches)
