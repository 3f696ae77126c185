"""Batches and messages built field by field, so that tests can make any field wrong."""

from __future__ import annotations

import struct
import zlib

import google_crc32c


def varint(value: int) -> bytes:
    """The zigzag varint of a signed value of any size."""
    raw = value << 1 if value >= 0 else (-value << 1) - 1
    out = bytearray()
    while raw > 127:
        out.append(raw & 127 | 128)
        raw >>= 7
    out.append(raw)
    return bytes(out)


def sized(data: bytes | None) -> bytes:
    return varint(-1) if data is None else varint(len(data)) + data


def record(
    offset: int = 0,
    timestamp: int = 0,
    key: bytes | None = None,
    value: bytes | None = b"v",
    headers: tuple[tuple[bytes, bytes | None], ...] = (),
) -> bytes:
    """A record of magic 2; offset and timestamp are the deltas."""
    body = b"\0" + varint(timestamp) + varint(offset) + sized(key) + sized(value) + varint(len(headers))
    body += b"".join(sized(name) + sized(held) for name, held in headers)
    return varint(len(body)) + body


def batch(
    *records: bytes,
    attributes: int = 0,
    payload: bytes | None = None,
    base_offset: int = 0,
    last_delta: int | None = None,
    first: int = 1000,
    latest: int = 2000,
    producer: int = -1,
    epoch: int = -1,
    sequence: int = -1,
    count: int | None = None,
    leader_epoch: int = 0,
) -> bytes:
    """A batch of magic 2 with a right checksum; `payload` takes the place of the records."""
    held = b"".join(records) if payload is None else payload
    delta = len(records) - 1 if last_delta is None else last_delta
    number = len(records) if count is None else count
    body = struct.pack(">hiqqqhii", attributes, delta, first, latest, producer, epoch, sequence, number) + held
    crc = google_crc32c.value(body)
    return struct.pack(">qiibI", base_offset, 9 + len(body), leader_epoch, 2, crc) + body


def message(
    magic: int,
    offset: int,
    value: bytes | None,
    *,
    key: bytes | None = None,
    timestamp: int = 5000,
    attributes: int = 0,
) -> bytes:
    """A message of magic 0 or 1 with a right checksum."""
    body = struct.pack(">bb", magic, attributes) + (struct.pack(">q", timestamp) if magic else b"")
    for data in (key, value):
        body += struct.pack(">i", -1) if data is None else struct.pack(">i", len(data)) + data
    return struct.pack(">qiI", offset, 4 + len(body), zlib.crc32(body)) + body
