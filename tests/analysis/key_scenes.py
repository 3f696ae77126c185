"""Scenes of producers that put the records of a key into partitions, by one partitioner or several: test_doctor.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final
from zlib import crc32

from decoders.protocol_facts.api_keys import METADATA, PRODUCE
from decoders.records.encode_batches import encode_batch
from decoders.records.hash_keys import fnv1a, murmur2
from decoders.records.record_and_batch import Batch, Record
from tests.analysis.scenes import BEGUN, MS, Scene

# From the number of a record, its key (None: null) and the count of partitions to its partition.
Placed = Callable[[int, bytes, int], int]


def by_murmur2(_: int, key: bytes, partitions: int) -> int:
    return (murmur2(key) & 0x7FFFFFFF) % partitions


def by_crc32(_: int, key: bytes, partitions: int) -> int:
    return crc32(key) % partitions


def by_fnv1a(_: int, key: bytes, partitions: int) -> int:
    return fnv1a(key) % partitions


def in_turns(number: int, _: bytes, partitions: int) -> int:
    return number * 7 // 3 % partitions


def by_tenant(_: int, key: bytes, partitions: int) -> int:
    """As a program chooses: by the last digit."""
    return key[-1] % partitions


def keyed(
    *writers: tuple[str, Placed],
    records: int = 200,
    keys: str = "cust-%d",
    others: str | None = None,
    many: int = 40,
    codec: str = "none",
    partitions: tuple[int, int] = (6, 6),
    listed: int | None = None,
) -> Scene:
    """Producers that write keys one after another; the topic has these partitions in the first half, then those.

    `others`: keys of all writers but the first, empty for null ones.
    """
    scene = Scene()
    parts = [
        {"partition_index": number, "leader_id": 1, "replica_nodes": [1], "isr_nodes": [1]}
        for number in range(partitions[1] if listed is None else listed)
    ]
    scene.ask(0, (METADATA, 9), {}, {"topics": [{"name": "customers", "partitions": parts}]})
    for at, (client, place) in enumerate(writers):
        form = others if at and others is not None else keys
        for number in range(records):
            key = (form % (number * 7 % many)).encode() if form else None
            count = partitions[number * 2 >= records]
            time_ms = BEGUN // MS + at * 20_000 + number * 50
            batch = Batch(codec=codec, base_timestamp=time_ms, max_timestamp=time_ms)
            data = encode_batch([Record(0, time_ms, key, b"%d %s" % (number, client.encode()))], batch)
            part = {"index": place(number, key or b"", count), "records": data}
            asked: dict[str, Any] = {"acks": -1, "topic_data": [{"name": "customers", "partition_data": [part]}]}
            answer = {"responses": [{"name": "customers", "partition_responses": [{"index": part["index"]}]}]}
            scene.ask(1 + at * 20 + number / 20, (PRODUCE, 8), asked, answer, client=client)
    return scene


CORE, WEB = ("core", by_murmur2), ("web", by_crc32)
BY_BOTH: Final = (
    "topic customers: web chooses partitions of keys by CRC-32 (librdkafka's default, consistent_random), core by"
    " murmur2 (as Java clients do): "
)
KEY_SCENES: Final[list[tuple[str, Scene, str, str]]] = [
    ("keys-apart", keyed(CORE, WEB), "warning", BY_BOTH),
    ("keys-apart", keyed(CORE, WEB, codec="zstd"), "warning", BY_BOTH),
    (
        "keys-apart",
        keyed(CORE, ("go", by_fnv1a)),
        "warning",
        "go chooses partitions of keys by FNV-1a (Sarama's default)",
    ),
    (
        "keys-apart",
        keyed(CORE, ("any", in_turns), many=10, records=400),
        "warning",
        "any chooses partitions of keys whatever the key, core by",
    ),
    (
        "keys-apart",
        keyed(CORE, WEB, others="user-%d"),
        "note",
        "core by murmur2 (as Java clients do): no key of both was in",
    ),
]
KEY_NEAR: Final[list[tuple[str, Scene]]] = [
    ("keys-apart", keyed(CORE, ("java", by_murmur2))),
    ("keys-apart", keyed(CORE, ("java", by_murmur2), partitions=(4, 6))),  # partitions are added
    ("keys-apart", keyed(("one", by_tenant), ("other", by_tenant))),
    ("keys-apart", keyed(CORE, ("other", by_tenant))),  # it may be meant
    ("keys-apart", keyed(CORE, WEB, others="")),
    ("keys-apart", keyed(WEB)),
    ("keys-apart", keyed(CORE, WEB, records=12)),
    ("keys-apart", keyed(CORE, WEB, partitions=(1, 1))),
    ("keys-apart", keyed(CORE, WEB, listed=0)),  # how many partitions it has is not known
]
