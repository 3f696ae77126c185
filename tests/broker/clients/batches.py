"""Record sets made by hand, one record each, for the Produce requests of `everything.py`."""

from __future__ import annotations

import struct
import time
import zlib

import crc32c

__all__ = ["batch", "message"]


def batch(value: bytes = b"by hand", *, producer_id: int = -1, epoch: int = -1, transactional: bool = False) -> bytes:
    """A record batch (magic 2) without compression."""
    record = b"\0\0\0" + b"\x01" + _varint(len(value)) + value + b"\0"
    now = int(time.time() * 1000)
    sequence = 0 if producer_id >= 0 else -1
    attributes = 16 if transactional else 0
    body = struct.pack(">hiqqqhii", attributes, 0, now, now, producer_id, epoch, sequence, 1)
    body += _varint(len(record)) + record
    checked = struct.pack(">ibI", -1, 2, crc32c.crc32c(body)) + body
    return struct.pack(">qi", 0, len(checked)) + checked


def message(magic: int, value: bytes = b"by hand") -> bytes:
    """A message (magic 0 or 1) without compression."""
    body = struct.pack(">bb", magic, 0) + (struct.pack(">q", int(time.time() * 1000)) if magic else b"")
    body += struct.pack(">i", -1) + struct.pack(">i", len(value)) + value
    checked = struct.pack(">I", zlib.crc32(body)) + body
    return struct.pack(">qi", 0, len(checked)) + checked


def _varint(number: int) -> bytes:
    rest, made = number << 1, bytearray()
    while rest > 127:
        made.append(rest & 127 | 128)
        rest >>= 7
    return bytes([*made, rest])
