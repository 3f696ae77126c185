"""Captures whose records have schemas, made by hand: Kafka and HTTP connections as TCP packets, in the order given."""

from __future__ import annotations

import gzip
import json
from itertools import count
from pathlib import Path
from struct import pack
from typing import Any

from decoders import Record, encode_request, encode_response
from decoders.records.encode_batches import encode_batch
from tests.capture.frames import ACK, FIN, SYN, ethernet, ipv4, tcp

PRODUCE, FETCH, METADATA = 0, 1, 3
KAFKA, REGISTRY = 9092, 8081
ORDER = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "fields": [{"name": "id", "type": "long"}, {"name": "customer", "type": "string"}],
}
# What an order is as Avro: id 41, customer "Ann".
ANN, BOB = bytes.fromhex("5206416e6e"), bytes.fromhex("5406426f62")


def prefixed(schema_id: int, body: bytes = ANN) -> bytes:
    """A value with the prefix of Confluent's serializers."""
    return b"\0" + pack(">i", schema_id) + body


_PORTS = count(40_000)  # of clients, each connection another one


class HandMadeCapture:
    """Packets of connections between one client and one server; each turn is one packet."""

    def __init__(self) -> None:
        self._packets: list[bytes] = []

    def talk(self, *turns: tuple[bool, bytes], port: int = KAFKA, server: str = "10.0.0.9") -> HandMadeCapture:
        """A connection from its begin to its end; a turn is (from the client, its bytes)."""
        port_here = next(_PORTS)
        seq = {True: 1000, False: 5000}

        def put(client: bool, flags: int, data: bytes = b"") -> None:
            places = ("10.0.0.1", server) if client else (server, "10.0.0.1")
            ports = (port_here, port) if client else (port, port_here)
            segment = tcp(*ports, seq[client], seq[not client] if flags & ACK else 0, flags, data)
            self._packets.append(ethernet(ipv4(*places, segment)))
            seq[client] += len(data) + bool(flags & (SYN | FIN))

        put(True, SYN)
        put(False, SYN | ACK)
        put(True, ACK)
        for client, data in turns:
            put(client, ACK, data)
        for client in (True, False):
            put(client, FIN | ACK)
        return self

    def produce(self, topic: str, *records: Record, server: str = "10.0.0.9") -> HandMadeCapture:
        """A Produce request of these records, answered, on a connection of its own."""
        part = {"index": 0, "records": encode_batch(list(records))}
        asked = {"acks": 1, "timeout_ms": 1, "topic_data": [{"name": topic, "partition_data": [part]}]}
        return self.talk(
            (True, framed(encode_request(PRODUCE, 8, asked, correlation_id=1, client_id="app"))),
            (False, framed(encode_response(PRODUCE, 8, {}, correlation_id=1))),
            server=server,
        )

    def fetch(self, topic: str, *records: Record) -> HandMadeCapture:
        """A Fetch answered with these records, on a connection of its own."""
        part = {"partition_index": 0, "records": encode_batch(list(records)), "high_watermark": 9}
        answer = {"responses": [{"topic": topic, "partitions": [part]}]}
        asked = {"topics": [{"topic": topic, "partitions": [{"partition": 0}]}]}
        return self.talk(
            (True, framed(encode_request(FETCH, 4, asked, correlation_id=1, client_id="app"))),
            (False, framed(encode_response(FETCH, 4, answer, correlation_id=1))),
        )

    def http(self, *pairs: tuple[bytes, bytes], port: int = REGISTRY) -> HandMadeCapture:
        """Requests with answers on one connection."""
        return self.talk(*(turn for asked, told in pairs for turn in ((True, asked), (False, told))), port=port)

    def add_packets_of(self, other: HandMadeCapture) -> None:
        """Append the packets of another capture, whose connections are other ones."""
        self._packets += other._packets

    def data(self) -> bytes:
        """The capture as pcap, a packet a millisecond."""
        head = pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 1 << 18, 1)
        return head + b"".join(
            pack("<IIII", 1_790_000_000 + number // 1000, number % 1000 * 1000, len(each), len(each)) + each
            for number, each in enumerate(self._packets)
        )

    def write(self, path: Path) -> str:
        """Write the capture to a file; returns its name."""
        path.write_bytes(self.data())
        return str(path)


def framed(frame: bytes) -> bytes:
    """A frame with its size field."""
    return pack(">i", len(frame)) + frame


def schemas_record(
    schema_id: int, schema: Any = ORDER, subject: str = "orders-value", version: int = 1, **more: Any
) -> Record:
    """A record of `_schemas`."""
    key = {"keytype": "SCHEMA", "subject": subject, "version": version, "magic": 1}
    text = schema if isinstance(schema, str) else json.dumps(schema)
    value = {"subject": subject, "version": version, "id": schema_id, "schema": text, "deleted": False, **more}
    return Record(0, 5, json.dumps(key).encode(), json.dumps(value).encode())


def http_get(path: str, host: str = "registry:8081") -> bytes:
    """A GET request."""
    return f"GET {path} HTTP/1.1\r\nHost: {host}\r\nAccept: */*\r\n\r\n".encode()


def http_post(path: str, body: Any) -> bytes:
    """A POST request with a JSON body."""
    data = json.dumps(body).encode()
    return f"POST {path} HTTP/1.1\r\nHost: registry:8081\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data


def http_answer(body: Any, *, status: int = 200, how: str = "length") -> bytes:
    """An answer with a JSON body: `length`, `chunked`, `gzip`, or `close`, which ends with the connection."""
    data = json.dumps(body).encode()
    head = f"HTTP/1.1 {status} OK\r\nContent-Type: application/vnd.schemaregistry.v1+json\r\n"
    if how == "gzip":
        data = gzip.compress(data)
        head += "Content-Encoding: gzip\r\n"
    if how == "chunked":
        half = len(data) // 2
        chunks = b"".join(f"{len(part):x}\r\n".encode() + part + b"\r\n" for part in (data[:half], data[half:]))
        return head.encode() + b"Transfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n"
    if how == "close":
        return head.encode() + b"Connection: close\r\n\r\n" + data
    return head.encode() + f"Content-Length: {len(data)}\r\n\r\n".encode() + data
