"""Keys, values and headers are overwritten in all formats of records; their layout stays."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from random import Random
from typing import Final

import lz4.frame  # type: ignore[import-untyped]
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from decoders import decode_records
from decoders.records.codecs import NUMBERS, deflate
from decoders.records.encode_batches import encode_message_set
from decoders.records.record_and_batch import Record
from decoders.scrubbing import compress_to_exact_size
from decoders.scrubbing.pseudonyms import Pseudonyms
from decoders.scrubbing.replace_names import NameReplacer
from decoders.scrubbing.scrub_frames import Scrubber
from decoders.scrubbing.scrub_records import inflate_batches_anywhere
from tests.records.making import batch, record

SECRET = b"Zq9x-the-secret-of-a-record"
SAID = ("base_offset", "last_offset", "magic", "codec", "timestamp_type", "base_timestamp", "max_timestamp",
        "partition_leader_epoch", "producer_id", "producer_epoch", "base_sequence", "transactional", "control",
        "delete_horizon_ms", "crc", "record_count", "size", "truncated")  # fmt: skip


def scrubber() -> Scrubber:
    return Scrubber(NameReplacer(Pseudonyms(b"key")))


def rows() -> list[bytes]:
    return [
        record(at, 3 * at, SECRET + b"%d" % at, SECRET * (at % 3), ((SECRET, None), (b"h", SECRET))) for at in range(30)
    ]


def compare(data: bytes, made: bytes, *, records: bool = True) -> None:
    """Assert that the headers of batches are equal, and their records of the same length without the secret."""
    assert len(made) == len(data)
    assert SECRET not in made
    for before, after in zip(decode_records(data), decode_records(made), strict=True):
        assert [getattr(after, name) for name in SAID] == [getattr(before, name) for name in SAID]
        if records:
            assert before.records is not None
            assert after.records is not None
            for one, other in zip(before.records, after.records, strict=True):
                assert (one.offset, one.timestamp) == (other.offset, other.timestamp)
                assert [len(part or b"") for part in (one.key, one.value)] == [
                    len(part or b"") for part in (other.key, other.value)
                ]
                assert [(len(key), len(value or b"")) for key, value in one.headers] == [
                    (len(key), len(value or b"")) for key, value in other.headers
                ]
                assert SECRET not in repr(other).encode()


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_batches(codec: str) -> None:
    payload = deflate(codec, b"".join(rows()))
    data = batch(attributes=NUMBERS[codec] | 0x18, payload=payload, count=30, last_delta=29, producer=7, sequence=4)
    by = scrubber()
    compare(data * 3, by.scrub_records_field(data * 3, "orders"))
    assert by.counts == {"batches": 3, "records": 90}


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4"])
@pytest.mark.parametrize("magic", [0, 1])
def test_message_sets(magic: int, codec: str) -> None:
    records = [Record(at, 1000 + at if magic else None, SECRET, SECRET + b"%d" % at, ()) for at in range(20)]
    data = encode_message_set(records, magic, codec=codec)
    by = scrubber()
    compare(data, by.scrub_records_field(data, "orders"))
    assert by.counts["emptied"] == 0


@pytest.mark.parametrize(
    ("magic", "codec"),
    [*((magic, codec) for magic in (0, 1, 2) for codec in ("gzip", "snappy", "lz4")), (2, "zstd")],
)
def test_the_search_for_what_is_left_looks_into_all_that_is_compressed(magic: int, codec: str) -> None:
    """Compressed batches and message sets between other bytes are found, twice; a damaged one is skipped."""
    if magic == 2:
        payload = deflate(codec, b"".join(rows()))
        data, has = batch(attributes=NUMBERS[codec], payload=payload, count=30, last_delta=29), b"".join(rows())
    else:
        records = [Record(at, 1000 + at if magic else None, None, SECRET, ()) for at in range(20)]
        data, has = encode_message_set(records, magic, codec=codec), SECRET
    damaged = data[:30] + bytes([data[30] ^ 1]) + data[31:]
    found = list(inflate_batches_anywhere(b"\1\2\1" + data + damaged + b"\0" * 30 + data + data[:-1], 1 << 20))
    assert len(found) == 2
    assert all(has in plain for plain in found)


def test_a_compressed_message_whose_bytes_look_like_two_is_found() -> None:
    """The end of its checksum and the begin of its timestamp look like the begin of another message."""
    for timestamp in range(0xFF, 1 << 20, 0x100):
        data = encode_message_set([Record(0, timestamp, None, SECRET, ())], 1, codec="gzip")
        if data[15] == 1:
            break
    assert (data[15:18], data[25]) == (b"\1\1\1", 0xFF)
    assert [SECRET in plain for plain in inflate_batches_anywhere(b"\0" + data, 1 << 20)] == [True]


def test_a_wrong_checksum_stays_wrong() -> None:
    data = bytearray(batch(*rows()))
    data[17] ^= 1
    made = scrubber().scrub_records_field(bytes(data), "orders")
    compare(bytes(data), made)
    (found,) = decode_records(made)
    assert found.crc == "bad"


@pytest.mark.parametrize("codec", ["none", "zstd"])
def test_a_batch_cut_off_anywhere(codec: str) -> None:
    data = batch(attributes=NUMBERS[codec], payload=deflate(codec, b"".join(rows())), count=30)
    whole = batch(*rows())
    for end in range(0, len(data), 31):
        cut = whole + data[:end]
        made = scrubber().scrub_records_field(cut, "orders")
        assert len(made) == len(cut)
        assert SECRET[:6] not in made
        assert [each.truncated for each in decode_records(made)] == [each.truncated for each in decode_records(cut)]


def test_what_no_codec_reads_is_overwritten() -> None:
    data = batch(attributes=4, payload=SECRET * 9, count=3)
    by = scrubber()
    compare(data, by.scrub_records_field(data, "orders"), records=False)
    assert by.counts["overwritten"] == 1


def dense_rows(count: int) -> bytes:
    """Records whose time steps and sizes follow no pattern: a better compressor makes less of them."""
    rng = Random(1)
    return b"".join(record(at, rng.randrange(1 << 20), b"", b"x" * rng.randrange(4)) for at in range(count))


# How clients compress at the highest level that Kafka's configuration allows, some with larger blocks.
BEST: Final[dict[str, Callable[[bytes], bytes]]] = {
    "gzip": lambda plain: gzip.compress(plain, 9, mtime=0),
    "lz4": lambda plain: lz4.frame.compress(plain, 16, lz4.frame.BLOCKSIZE_MAX4MB, block_linked=False),
    "zstd": lambda plain: zstandard.ZstdCompressor(level=22, write_content_size=False).compress(plain),
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("codec", BEST)
@pytest.mark.parametrize("count", [30, 3000, 12_000])
def test_a_batch_compressed_as_well_as_can_be_keeps_its_records(codec: str, count: int) -> None:
    data = batch(attributes=NUMBERS[codec], payload=BEST[codec](dense_rows(count)), count=count)
    by = scrubber()
    made = by.scrub_records_field(data, "orders")
    (found,) = decode_records(made)
    assert len(made) == len(data)
    assert (found.error, found.crc, found.record_count, by.counts["emptied"]) == (None, "ok", count, 0)


def test_where_nothing_fits_a_batch_is_emptied(monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch that no form of its codec fits into keeps its size, codec and last offset, and has no records."""
    monkeypatch.setattr(compress_to_exact_size, "_ZSTD_FORMS", compress_to_exact_size._ZSTD_FORMS[:1])
    data = batch(attributes=NUMBERS["zstd"], payload=BEST["zstd"](dense_rows(3000)), count=3000)
    by = scrubber()
    made = by.scrub_records_field(data, "orders")
    (before,), (found,) = decode_records(data), decode_records(made)
    assert len(made) == len(data)
    assert by.counts["emptied"] == 1
    assert (found.error, found.crc, found.codec, found.record_count) == (None, "ok", "zstd", 0)
    assert found.last_offset == before.last_offset


@given(st.binary(max_size=200), st.integers(0, 2), st.integers(0, 60))
def test_garbage_is_never_kept(data: bytes, magic: int, length: int) -> None:
    """Any bytes in a records field are replaced by as many bytes, without the secret."""
    field = data + SECRET + bytes((magic,)) + bytes(length) + SECRET
    made = scrubber().scrub_records_field(field, "orders")
    assert len(made) == len(field)
    assert SECRET[:8] not in made


def wrong(data: bytes) -> bytes:
    """A batch with a wrong checksum."""
    return data[:20] + bytes((data[20] ^ 1,)) + data[21:]


@pytest.mark.parametrize(
    ("field", "stays"),
    [
        (batch(record(value=SECRET), first=0x61626364), True),  # its checksum proves that it is a batch
        (wrong(batch(record(value=SECRET), first=0x61626364)), False),
        (wrong(batch(record(value=SECRET), first=0x61626304)), True),
        (wrong(batch(record(value=SECRET), producer=0x6162, epoch=0x6364)), False),
        (wrong(batch(payload=deflate("gzip", record(value=SECRET)), attributes=1, count=1)), True),
        (wrong(batch(payload=deflate("gzip", record(value=SECRET)), attributes=1, count=1, latest=0x61626364)), False),
        (batch(record(value=SECRET), first=0x61626364)[:-3], False),
        (batch(record(value=SECRET), first=0x61626304)[:-3], True),
        (batch(record(value=SECRET))[:14], True),
        (b"\0\0zqwkvy\0wkv", False),
    ],
)
def test_a_batch_that_may_be_text_is_overwritten(field: bytes, stays: bool) -> None:
    made = scrubber().scrub_records_field(field, None)
    assert len(made) == len(field)
    assert (set(made[:61]) == {0xFF}) is not stays
    assert not stays or made[:12] == field[:12]
