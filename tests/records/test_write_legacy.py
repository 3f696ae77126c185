"""Message sets of magic 0 and 1 written: the same records and bytes again, and other libraries can read them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoders import Batch, EncodeError, Record, decode_records, encode_records
from decoders.records.codecs import NAMES, deflate
from decoders.records.codecs.lz4 import compute_descriptor_checksum
from decoders.records.encode_batches import encode_batch
from tests.records.making import message
from tests.records.others import AioMemoryRecords, MemoryRecords

CODECS = NAMES[:4]
NULLABLE = st.none() | st.binary(max_size=20) | st.binary(min_size=60, max_size=200)


@st.composite
def records(draw: st.DrawFn, magic: int) -> list[Record]:
    """At least one record, offsets rising, timestamps anywhere in magic 1."""
    base = draw(st.integers(0, 1 << 50))
    out = []
    for step in draw(st.lists(st.integers(1, 3), min_size=1, max_size=12)):
        base += step
        stamp = draw(st.integers(-1, 1 << 41)) if magic else None
        out.append(Record(base, stamp, draw(NULLABLE), draw(NULLABLE)))
    return out


@given(st.data(), st.sampled_from((0, 1)), st.sampled_from(CODECS))
def test_round_trip(data: st.DataObject, magic: int, codec: str) -> None:
    made = data.draw(records(magic))
    raw = encode_batch(made, Batch(magic=magic, codec=codec))
    found = decode_records(raw)
    assert [each.error for each in found] == [None] * len(found)
    assert [record for each in found for record in each.records or ()] == made
    assert {(each.magic, each.codec) for each in found} == {(magic, codec)}
    assert len(found) == (len(made) if codec == "none" else 1)
    assert found[-1].last_offset == made[-1].offset
    stamps = [record.timestamp or 0 for record in made]
    assert max(each.max_timestamp or 0 for each in found) == max(stamps)
    assert encode_records(found) == raw


def wrapped(
    magic: int, offset: int, *inner: bytes, codec: str = "gzip", timestamp: int = 5000, append: bool = False
) -> bytes:
    attributes = NAMES.index(codec) | (8 if append else 0)
    return message(magic, offset, deflate(codec, b"".join(inner), magic), timestamp=timestamp, attributes=attributes)


SAME: dict[str, bytes] = {
    "two of magic 0": message(0, 3, b"a", key=b"k") + message(0, 9, None),
    "two of magic 1": message(1, 3, b"a", key=b"k") + message(1, 9, None, timestamp=4),
    "log append": message(1, 3, b"a", attributes=8),
    "absolute offsets inside magic 0": wrapped(0, 8, message(0, 7, b"a"), message(0, 8, b"b")),
    "offsets from the first inside magic 1": wrapped(1, 8, message(1, 0, b"a"), message(1, 1, b"b")),
    "a gap inside magic 1": wrapped(1, 9, message(1, 0, b"a"), message(1, 2, b"b")),
    "offset 0 on a wrapper of magic 1": wrapped(1, 0, message(1, 0, b"a"), message(1, 1, b"b")),
    "offset 0 on a wrapper of magic 0": wrapped(0, 0, message(0, 0, b"a"), message(0, 1, b"b"), codec="lz4"),
    "a later timestamp on the wrapper": wrapped(1, 1, message(1, 0, b"a"), message(1, 1, b"b"), timestamp=7000),
    "append time on the wrapper": wrapped(
        1, 1, message(1, 0, b"a", attributes=8), message(1, 1, b"b", attributes=8), append=True, codec="snappy"
    ),
    "several wrappers": wrapped(1, 1, message(1, 0, b"a"), message(1, 1, b"b")) + wrapped(1, 2, message(1, 0, b"c")),
}


@pytest.mark.parametrize("data", SAME.values(), ids=SAME)
def test_the_same_bytes_again(data: bytes) -> None:
    assert encode_records(decode_records(data)) == data


def test_formats_mixed_in_one_buffer() -> None:
    made = [Record(1, 5, None, b"a"), Record(2, 6, b"k", b"b")]
    plain = [record._replace(timestamp=None) for record in made]
    data = (
        encode_batch(plain, Batch(magic=0, codec="lz4"))
        + encode_batch(made, Batch(magic=1))
        + encode_batch(made, Batch(codec="zstd"))
    )
    assert encode_records(decode_records(data)) == data


def test_a_batch_made_by_hand() -> None:
    data = encode_records([Batch(magic=1, codec="gzip", records=[Record(0, 7, None, b"a"), Record(1, 3, b"", None)])])
    (found,) = decode_records(data)
    assert (found.base_offset, found.last_offset, found.max_timestamp) == (0, 1, 7)
    assert found.records == [Record(0, 7, None, b"a"), Record(1, 3, b"", None)]


def test_nothing_in_nothing_out() -> None:
    assert encode_batch([], Batch(magic=0)) == encode_batch([], Batch(magic=1)) == b""


def test_lz4_of_magic_0_has_the_checksum_that_old_readers_want() -> None:
    """KAFKA-3160: the checksum of magic 0 covers the LZ4 magic too; from magic 1 on it is as the LZ4 format says."""
    frames = []
    for magic in (0, 1):
        data = encode_batch([Record(0, None, None, b"v" * 500)], Batch(magic=magic, codec="lz4"))
        at = data.index(b"\x04\x22\x4d\x18")
        assert data[at + 6] == compute_descriptor_checksum(data[at : at + 6] if magic == 0 else data[at + 4 : at + 6])
        frames.append(data[at + 6])
    assert frames[0] != frames[1]


@pytest.mark.parametrize(
    ("magic", "codec"), [(magic, codec) for magic in (0, 1) for codec in CODECS if (magic, codec) != (0, "lz4")]
)
def test_kafka_python_and_aiokafka_read_it(magic: int, codec: str) -> None:
    stamp = 1000 if magic else None
    made = [Record(7 + index, stamp, b"k%d" % index, b"v%d" % index * 9) for index in range(70)]
    data = encode_batch(made, Batch(magic=magic, codec=codec))
    readers = [AioMemoryRecords(data)]
    if codec != "snappy":  # kafka-python needs another library for it
        readers.append(MemoryRecords(data))
    for reader in readers:
        rows = []
        while (found := reader.next_batch()) is not None:
            assert found.validate_crc()
            rows += [(row.offset, row.timestamp, row.key, row.value) for row in found]
        assert rows == [each[:4] for each in made]


PLAIN = Record(0, None, None, b"")
REFUSED: list[tuple[dict[str, object], Record, str]] = [
    ({"magic": 3}, PLAIN, "magic: no records have magic 3"),
    ({"magic": 1, "codec": "zstd"}, PLAIN, "codec: zstd needs magic 2"),
    ({"magic": 1, "codec": "brotli"}, PLAIN, "codec: no compression is called 'brotli'"),
    ({"magic": 0}, Record(0, 5, None, b""), r"records\[0\].timestamp: a timestamp needs magic 1 or 2"),
    ({"magic": 1}, Record(0, 5, None, b"", (("h", b""),)), r"records\[0\].headers: headers need magic 2"),
    ({"magic": 0, "timestamp_type": "log_append"}, PLAIN, "timestamp_type: 'log_append' needs magic 1 or 2"),
    ({"magic": 1, "timestamp_type": "event"}, PLAIN, "timestamp_type: 'event' is neither create nor log_append"),
    ({"magic": 1, "producer_id": 0}, PLAIN, "producer_id: needs magic 2"),
    ({"magic": 1, "transactional": True}, PLAIN, "transactional: needs magic 2"),
    ({"magic": 1, "delete_horizon_ms": 0}, PLAIN, "delete_horizon_ms: needs magic 2"),
    ({"magic": 1, "codec": "gzip", "last_offset": 4}, PLAIN, "last_offset: in magic 1 this is the last record's, 0"),
    ({"magic": 1}, Record(1 << 63, 5, None, b""), r"records\[0\]: offset, timestamp or size is out of range"),
    ({"magic": 1, "codec": "gzip", "max_timestamp": 1 << 63}, PLAIN, "out of range"),
]


@pytest.mark.parametrize(("options", "record", "text"), REFUSED)
def test_what_does_not_fit_is_refused(options: dict[str, object], record: Record, text: str) -> None:
    with pytest.raises(EncodeError, match=text):
        encode_batch([record], Batch(**options))  # type: ignore[arg-type]  # wrong values are the point


def test_no_wrapper_of_nothing() -> None:
    with pytest.raises(EncodeError, match="cannot compress no records"):
        encode_batch([], Batch(magic=0, codec="gzip"))


def test_the_path_says_which_batch() -> None:
    good = Batch(magic=0, records=[PLAIN])
    with pytest.raises(EncodeError, match=r"^\[1\]\.records\[0\]\.timestamp: "):
        encode_records([good, Batch(magic=0, records=[Record(0, 5, None, b"")])])
