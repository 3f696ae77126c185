"""Captures for measuring, made from real-looking traffic: exchanges in, a pcap of loopback TCP packets out.

Every message is encoded by the project's own encoders at API versions that tshark 4.0 dissects too, so that both sides
of a comparison do the same work. Profiles: `small` (one record a message, many connections), `mixed` (batches of about
50 records in five codecs, groups, metadata), `tiny` (as `mixed`, of records of 30 bytes), `big` (fetch responses of a
megabyte with few records), `readings` (twenty records of 30 bytes a batch, three partitions a request, idempotent
producers).
"""

from __future__ import annotations

import itertools
import random
import struct
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import decoders
from decoders.records.encode_batches import encode_batch
from decoders.records.record_and_batch import Batch, Record

Exchange = tuple[bytes, bytes]  # a request frame and its response frame, without their size fields

MTU = 65483
BROKER = b"\x7f\x00\x00\x01"
PORT = 9092
_RECORD = struct.Struct("<IIII")
_PACKET = struct.Struct(">12sH BBHHHBBH4s4s HHIIBBHHH 12s")
TIMESTAMPS = b"\x01\x01\x08\x0a" + bytes(8)


@dataclass
class Side:
    """One end of a connection: its address and the next sequence number."""

    ip: bytes
    port: int
    sequence: int


class Pcap:
    """Writes packets of loopback Ethernet frames into a classic pcap file."""

    def __init__(self, path: Path) -> None:
        self.file = path.open("wb", buffering=1 << 20)
        self.file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1))
        self.size = 24
        self.now_us = 1_790_000_000_000_000

    def packet(self, source: Side, target: Side, flags: int, data: bytes) -> None:
        length = 52 + len(data)
        head = _PACKET.pack(
            bytes(12),
            0x0800,
            0x45,
            0,
            min(length, 65535),
            0,
            0x4000,
            64,
            6,
            0,
            source.ip,
            target.ip,
            source.port,
            target.port,
            source.sequence,
            target.sequence,
            0x80,
            flags,
            512,
            0,
            0,
            TIMESTAMPS,
        )
        self.now_us += 20
        size = len(head) + len(data)
        self.file.write(_RECORD.pack(self.now_us // 1_000_000, self.now_us % 1_000_000, size, size) + head + data)
        self.size += 16 + size
        source.sequence = (source.sequence + len(data) + (flags & 3 != 0)) & 0xFFFFFFFF

    def message(self, source: Side, target: Side, frame: bytes) -> None:
        data = len(frame).to_bytes(4, "big") + frame
        for at in range(0, len(data), MTU):
            self.packet(source, target, 0x18, data[at : at + MTU])

    def close(self) -> None:
        self.file.close()


def connection(pcap: Pcap, number: int) -> tuple[Side, Side]:
    """Write the handshake of a connection; gives its two ends."""
    client = Side(bytes([127, 0, number >> 8 & 255, 1 + number % 250]), 30000 + number, number * 7919)
    broker = Side(BROKER, PORT, number * 104729)
    for source, target, flags in ((client, broker, 2), (broker, client, 18), (client, broker, 16)):
        pcap.packet(source, target, flags, b"")
    return client, broker


def end(pcap: Pcap, client: Side, broker: Side) -> None:
    """Write the FINs of both sides of a connection."""
    for source, target, flags in ((client, broker, 17), (broker, client, 17), (client, broker, 16)):
        pcap.packet(source, target, flags, b"")


def _pair(api: int, version: int, correlation: int, client: str, request: Any, response: Any) -> Exchange:
    return (
        decoders.encode_request(api, version, request, correlation_id=correlation, client_id=client),
        decoders.encode_response(api, version, response, correlation_id=correlation),
    )


def _batch(rng: random.Random, count: int, value: int, codec: str, base: int = 0) -> bytes:
    words = [b"%x" % rng.getrandbits(36) if i % 3 else b"warehouse" for i in range(4096)]
    records = [
        Record(
            offset=base + i,
            timestamp=1_790_000_000_000 + i,
            key=b"key-%d" % rng.randrange(1000),
            value=b" ".join(rng.choice(words) for _ in range(value // 6))[:value],
            headers=(),
        )
        for i in range(count)
    ]
    return encode_batch(records, Batch(codec=codec, base_offset=base))


def _produce(rng: random.Random, at: int, client: str, records: bytes) -> Exchange:
    return _produce_to(at, client, rng.choice(["orders", "payments", "clicks"]), {rng.randrange(12): records})


def _produce_to(at: int, client: str, topic: str, parts: dict[int, bytes]) -> Exchange:
    """A Produce with the records of each partition, and its answer."""
    sent = [{"index": partition, "records": records} for partition, records in parts.items()]
    request = {
        "transactional_id": None,
        "acks": -1,
        "timeout_ms": 30000,
        "topic_data": [{"name": topic, "partition_data": sent}],
    }
    done = [
        {"index": partition, "error_code": 0, "base_offset": at, "log_append_time_ms": -1, "log_start_offset": 0}
        for partition in parts
    ]
    return _pair(
        0, 7, at, client, request, {"responses": [{"name": topic, "partition_responses": done}], "throttle_time_ms": 0}
    )


def _fetch(rng: random.Random, at: int, client: str, records: bytes) -> Exchange:
    topic, partition = rng.choice(["orders", "payments", "clicks"]), rng.randrange(12)
    wanted = {"partition": partition, "fetch_offset": at, "log_start_offset": -1, "partition_max_bytes": 1 << 20}
    request = {
        "replica_id": -1,
        "max_wait_ms": 500,
        "min_bytes": 1,
        "max_bytes": 50 << 20,
        "topics": [{"topic": topic, "partitions": [wanted]}],
    }
    got = {
        "partition_index": partition,
        "error_code": 0,
        "high_watermark": at + 9,
        "last_stable_offset": at + 9,
        "log_start_offset": 0,
        "aborted_transactions": None,
        "records": records,
    }
    return _pair(
        1, 10, at, client, request, {"throttle_time_ms": 0, "responses": [{"topic": topic, "partitions": [got]}]}
    )


def _heartbeat(at: int, client: str) -> Exchange:
    request = {"group_id": "billing", "generation_id": 7, "member_id": client + "-0b5c", "group_instance_id": None}
    return _pair(12, 3, at, client, request, {"throttle_time_ms": 0, "error_code": 0})


def _commit(at: int, client: str) -> Exchange:
    partition = {"partition_index": 3, "committed_offset": at, "committed_leader_epoch": 4, "committed_metadata": ""}
    request = {
        "group_id": "billing",
        "generation_id_or_member_epoch": 7,
        "member_id": client + "-0b5c",
        "topics": [{"name": "orders", "partitions": [partition]}],
    }
    done = [{"name": "orders", "partitions": [{"partition_index": 3, "error_code": 0}]}]
    return _pair(8, 7, at, client, request, {"throttle_time_ms": 0, "topics": done})


def _metadata(at: int, client: str) -> Exchange:
    partitions = [
        {
            "error_code": 0,
            "partition_index": i,
            "leader_id": 1 + i % 3,
            "leader_epoch": 4,
            "replica_nodes": [1, 2, 3],
            "isr_nodes": [1, 2, 3],
            "offline_replicas": [],
        }
        for i in range(12)
    ]
    response = {
        "brokers": [{"node_id": i, "host": f"broker-{i}", "port": 9092, "rack": None} for i in (1, 2, 3)],
        "cluster_id": "5L6g3nShT-eMCtK--X86sw",
        "controller_id": 1,
        "topics": [{"error_code": 0, "name": "orders", "is_internal": False, "partitions": partitions}],
    }
    return _pair(3, 7, at, client, {"topics": [{"name": "orders"}], "allow_auto_topic_creation": True}, response)


def small(rng: random.Random) -> Iterator[tuple[int, Exchange]]:
    """Connection numbers and exchanges of one record each."""
    batches = [_batch(rng, 1, 150 + 4 * i, "none") for i in range(64)]
    for at in itertools.count():
        number = rng.randrange(100)
        client = f"sensor-{number}"
        kind = rng.random()
        if kind < 0.55:
            yield number, _produce(rng, at, client, rng.choice(batches))
        elif kind < 0.85:
            yield number, _fetch(rng, at, client, rng.choice(batches) if kind < 0.7 else b"")
        elif kind < 0.93:
            yield number, _heartbeat(at, client)
        elif kind < 0.99:
            yield number, _commit(at, client)
        else:
            yield number, _metadata(at, client)


def mixed(rng: random.Random) -> Iterator[tuple[int, Exchange]]:
    """Connection numbers and exchanges of about a hundred records in five codecs."""
    return _batched(rng, 600)


def tiny(rng: random.Random) -> Iterator[tuple[int, Exchange]]:
    """Connection numbers and exchanges of about a hundred records of 30 bytes in five codecs."""
    return _batched(rng, 22)


def _batched(rng: random.Random, value: int) -> Iterator[tuple[int, Exchange]]:
    codecs = ("none", "gzip", "snappy", "lz4", "zstd")
    batches = [_batch(rng, 40 + i, value + i, codec) for codec in codecs for i in range(8)]
    for at in itertools.count():
        number = rng.randrange(40)
        client = f"worker-{number}"
        kind = rng.random()
        if kind < 0.45:
            yield number, _produce(rng, at, client, rng.choice(batches))
        elif kind < 0.9:
            yield number, _fetch(rng, at, client, b"".join(rng.choices(batches, k=4)))
        elif kind < 0.95:
            yield number, _heartbeat(at, client)
        else:
            yield number, _metadata(at, client)


def big(rng: random.Random) -> Iterator[tuple[int, Exchange]]:
    """Connection numbers and fetches of a megabyte."""
    batches = [_batch(rng, 10, 100_000, "none") for _ in range(4)]
    for at in itertools.count():
        yield at % 4, _fetch(rng, at, f"mirror-{at % 4}", rng.choice(batches))


def readings(rng: random.Random) -> Iterator[tuple[int, Exchange]]:
    """Connection numbers and exchanges of batches of twenty small records, by idempotent producers."""
    sent: Counter[tuple[int, str, int]] = Counter()

    def make_batch(base: int, header: Batch) -> bytes:
        at_ms = 1_789_999_990_000
        return encode_batch([Record(base + at, at_ms + at, None, rng.randbytes(30)) for at in range(20)], header)

    for at in itertools.count():
        number, topic = rng.randrange(40), rng.choice(["orders", "payments", "clicks"])
        if at % 3 == 0:
            batches = b"".join(make_batch(60 * at + 20 * part, Batch()) for part in range(3))
            yield number, _fetch(rng, 60 * at, f"reader-{number}", batches)
            continue
        parts = {}
        for partition in rng.sample(range(12), 3):
            first = sent[number, topic, partition]
            parts[partition] = make_batch(0, Batch(producer_id=number, producer_epoch=0, base_sequence=first))
            sent[number, topic, partition] += 20
        yield number, _produce_to(60 * at, f"meter-{number}", topic, parts)


PROFILES: dict[str, Callable[[random.Random], Iterator[tuple[int, Exchange]]]] = {
    "small": small,
    "mixed": mixed,
    "tiny": tiny,
    "big": big,
    "readings": readings,
}


def write(profile: str, path: Path, size: int, *, distinct: int = 4000) -> tuple[int, int]:
    """Make a capture of at least `size` bytes; gives the number of its exchanges and of its bytes.

    Only `distinct` exchanges are encoded, then used again under other correlation ids.
    """
    rng = random.Random(profile)
    made = list(itertools.islice(PROFILES[profile](rng), distinct if profile == "small" else distinct // 20))
    pcap = Pcap(path)
    connections: dict[int, tuple[Side, Side]] = {}
    count = 0
    while pcap.size < size:
        for number, (request, response) in made:
            if number not in connections:
                connections[number] = connection(pcap, number)
            client, broker = connections[number]
            correlation = count.to_bytes(4, "big")
            pcap.message(client, broker, request[:4] + correlation + request[8:])
            pcap.message(broker, client, correlation + response[4:])
            count += 1
            if pcap.size >= size:
                break
    pcap.close()
    return count, pcap.size


if __name__ == "__main__":  # a new process: the process that measures must stay small, see process.py
    print(*write(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])))
