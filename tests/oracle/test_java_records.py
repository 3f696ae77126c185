"""kw against Kafka's own record classes: their bytes are read alike, they read our bytes, and both refuse the same."""

from __future__ import annotations

import random
import struct
from collections import Counter
from functools import cache
from typing import Any, Final

import pytest

from decoders import Batch, Record, decode_records, encode_records
from decoders.records import codecs
from decoders.records.codecs import NAMES
from decoders.records.encode_batches import encode_batch
from tests.oracle.asking import ask
from tests.records.making import batch

pytestmark = pytest.mark.oracle

NO_TIMESTAMP: Final = -1


def random_records(dice: random.Random, magic: int) -> list[list[Any]]:
    """Random rows of offset, timestamp, key, value and headers; bytes in hex."""

    def data(longest: int) -> str | None:
        size = dice.choice([-1, 0, 1, dice.randrange(70), dice.randrange(longest)])
        return None if size < 0 else (dice.randbytes(size) if dice.random() < 0.5 else b"text" * (size // 4)).hex()

    offset, base = dice.choice([0, 100, 1 << 40]), dice.choice([0, 1_700_000_000_000])
    rows = []
    for _ in range(dice.choice([1, 2, 5, 100])):
        spread = dice.choice([0, 3, 100, 10_000, 1 << 33])
        headers = [[dice.choice(["", "name", "naïve", "h" * 90]), data(200)] for _ in range(dice.choice([0, 0, 1, 3]))]
        rows.append([offset, base + dice.randrange(spread + 1), data(300), data(9000), headers if magic == 2 else []])
        offset += dice.choice([1, 1, 1, 2, 70, 9000])
    return rows


def random_batch(dice: random.Random, magic: int, codec: str) -> dict[str, Any]:
    rows = random_records(dice, magic)
    producer = magic == 2 and dice.random() < 0.5
    return {
        "magic": magic,
        "codec": codec,
        "append_ms": dice.choice([None, 1_700_000_123_456]) if magic else None,
        "base_offset": rows[0][0],
        "last_offset": rows[-1][0] + 5 if magic == 2 and dice.random() < 0.3 else None,
        "producer_id": 4000 if producer else -1,
        "producer_epoch": 3 if producer else -1,
        "base_sequence": dice.choice([0, 2147483647]) if producer else -1,
        "transactional": producer and dice.random() < 0.5,
        "leader_epoch": dice.choice([-1, 0, 9]) if magic == 2 else -1,
        "delete_horizon_ms": 1_600_000_000_000 if magic == 2 and dice.random() < 0.2 else None,
        "records": rows,
    }


@cache
def asked() -> list[dict[str, Any]]:
    dice = random.Random(20)
    codecs = {0: NAMES[:4], 1: NAMES[:4], 2: NAMES}
    return [random_batch(dice, magic, codec) for magic in codecs for codec in codecs[magic] for _ in range(8)]


@pytest.fixture(scope="module")
def written() -> list[bytes]:
    """The bytes that Kafka writes for each batch in asked()."""
    return [bytes.fromhex(answer) for answer in ask([["write", each] for each in asked()])]


@pytest.fixture(scope="module")
def read_by_kafka(written: list[bytes]) -> list[Any]:
    """The batches that Kafka reads in its own bytes."""
    return ask([["read", data.hex()] for data in written])


def as_kafka_tells(found: Batch) -> dict[str, Any]:
    """A batch of ours in the form of java_records."""
    legacy = found.magic != 2
    kinds = {None: "NoTimestampType", "create": "CreateTime", "log_append": "LogAppendTime"}
    return {
        "magic": found.magic,
        "size": found.size,
        "codec": found.codec,
        "timestamp_type": kinds[found.timestamp_type],
        "max_timestamp": NO_TIMESTAMP if found.max_timestamp is None else found.max_timestamp,
        "last_offset": found.last_offset,
        "valid": found.crc == "ok",
        "producer_id": -1 if legacy else found.producer_id,
        "producer_epoch": -1 if legacy else found.producer_epoch,
        "base_sequence": -1 if legacy else found.base_sequence,
        "transactional": bool(found.transactional),
        "control": bool(found.control),
        "delete_horizon_ms": found.delete_horizon_ms,
        "records": [rows_of(each) for each in found.records or []],
        "error": None,
        "base_offset": found.base_offset,
    }


def hexed(data: bytes | None) -> str | None:
    return None if data is None else data.hex()


def rows_of(record: Record) -> list[Any]:
    headers = [[name, hexed(data)] for name, data in record.headers]
    timestamp = NO_TIMESTAMP if record.timestamp is None else record.timestamp
    return [record.offset, timestamp, hexed(record.key), hexed(record.value), headers]


def test_what_kafka_writes_is_read_as_kafka_reads_it(written: list[bytes], read_by_kafka: list[Any]) -> None:
    for data, told in zip(written, read_by_kafka, strict=True):
        found = decode_records(data)
        assert [each.error for each in found] == [None] * len(found)
        assert [as_kafka_tells(each) for each in found] == told


@pytest.mark.long
def test_what_kafka_writes_is_what_was_asked(written: list[bytes]) -> None:
    for data, batch_asked in zip(written, asked(), strict=True):
        rows = [rows_of(each) for found in decode_records(data) for each in found.records or []]
        expected = [list(row) for row in batch_asked["records"]]
        for row in expected:
            if batch_asked["append_ms"] is not None:
                row[1] = batch_asked["append_ms"]
            if batch_asked["magic"] == 0:
                row[1] = NO_TIMESTAMP
        assert rows == expected


def opened(data: bytes) -> list[tuple[Any, ...]]:
    """Message sets with the content of their wrappers decompressed: compressors may differ, and nothing else."""
    out: list[tuple[Any, ...]] = []
    at = 0
    while at < len(data):
        offset, size, _, magic, attributes = struct.unpack_from(">qiIbb", data, at)
        stop = at + 12 + size
        number = attributes & 7
        if number:
            value_at = at + 18 + (8 if magic else 0) + 8
            inner = codecs.inflate(number, memoryview(data)[value_at:stop], 1 << 24, magic)
            out.append((offset, magic, attributes, data[at + 18 : value_at - 4], inner))
        else:
            out.append((data[at:stop],))
        at = stop
    return out


def test_the_same_bytes_again(written: list[bytes]) -> None:
    """Kafka's bytes, read and written again; not with append time, which hides timestamps of records in magic 2."""
    checked: Counter[int] = Counter()
    for data, batch_asked in zip(written, asked(), strict=True):
        magic, codec = batch_asked["magic"], batch_asked["codec"]
        if magic < 2:
            assert opened(encode_records(decode_records(data))) == opened(data)
        elif (codec, batch_asked["append_ms"]) == ("none", None):
            assert encode_records(decode_records(data)) == data
        else:
            continue
        checked[magic] += 1
    assert checked.keys() == {0, 1, 2}


def test_the_same_bytes_from_the_same_records(written: list[bytes]) -> None:
    """Without compression our bytes equal those of Kafka's MemoryRecordsBuilder, in every format."""
    checked: Counter[int] = Counter()
    for data, told in zip(written, asked(), strict=True):
        magic, horizon = told["magic"], told["delete_horizon_ms"]
        if told["append_ms"] is not None or (magic == 2 and told["codec"] != "none"):
            continue
        records = [record_of(row) for row in told["records"]]
        only_batches = {
            "producer_id": told["producer_id"],
            "producer_epoch": told["producer_epoch"],
            "base_sequence": told["base_sequence"],
            "transactional": told["transactional"],
            "partition_leader_epoch": told["leader_epoch"],
            "last_offset": told["last_offset"],
            "delete_horizon_ms": horizon,
        }
        if magic == 0:
            records = [record._replace(timestamp=None) for record in records]
        made = encode_batch(records, Batch(magic=magic, codec=told["codec"], **(only_batches if magic == 2 else {})))
        if magic == 2:
            assert made == data
        else:
            assert opened(made) == opened(data)
        checked[magic] += 1
    assert checked.keys() == {0, 1, 2}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("magic", [0, 1, 2])
def test_kafka_reads_what_we_write(magic: int) -> None:
    dice = random.Random(21)
    made = []
    for codec in NAMES if magic == 2 else NAMES[:4]:
        for _ in range(8):
            rows = [record_of(row) for row in random_records(dice, magic)]
            options: dict[str, Any] = {}
            if magic == 0:
                rows = [row._replace(timestamp=None) for row in rows]
            if magic == 2:
                options = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 3}
                options["transactional"] = dice.random() < 0.5
            made.append((encode_batch(rows, Batch(magic=magic, codec=codec, **options)), rows))
    answers = ask([["read", data.hex()] for data, _ in made])
    for (data, rows), told in zip(made, answers, strict=True):
        assert [as_kafka_tells(each) for each in decode_records(data)] == told
        assert [row for each in told for row in each["records"]] == [rows_of(row) for row in rows]


def record_of(row: list[Any]) -> Record:
    offset, timestamp, key, value, headers = row
    return Record(
        offset, timestamp, unhexed(key), unhexed(value), tuple((name, unhexed(data)) for name, data in headers)
    )


def unhexed(data: str | None) -> bytes | None:
    return None if data is None else bytes.fromhex(data)


@pytest.mark.long
def test_kafka_refuses_what_we_refuse() -> None:
    """Damaged records under a right checksum: Kafka reads the same records as we do before the error."""
    dice = random.Random(22)
    made = []
    for _ in range(400):
        rows = [Record(index, index, b"k" * dice.randrange(4), b"v" * dice.randrange(90)) for index in range(4)]
        payload = bytearray(encode_batch(rows)[61:])
        for _ in range(dice.choice([1, 1, 2])):
            payload[dice.randrange(len(payload))] = dice.choice([0, 1, 2, 0x7F, 0x80, 0xFF, dice.randrange(256)])
        made.append(batch(payload=bytes(payload), count=4 + dice.choice([0, 0, 0, 1, -1]), last_delta=3))
    for data, (told,) in zip(made, ask([["read", data.hex()] for data in made]), strict=True):
        (found,) = decode_records(data)
        assert (found.error is None) == (told["error"] is None), (data.hex(), found.error, told["error"])
        # Kafka does not give out the last record if bytes are left behind it, though the record can be read.
        read = [rows_of(each) for each in found.records or []]
        kept = len(told["records"])
        assert read[:kept] == told["records"]
        assert kept == len(read) or (kept == len(read) - 1 and found.record_count == len(read))
