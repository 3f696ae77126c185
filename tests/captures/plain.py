"""A plain reader of clean loopback captures: whole streams in memory, no recovery, no limits; the engine's oracle.

It reads Ethernet with IPv4 or IPv6 and TCP, as tcpdump writes them for `lo`; missing bytes are an error.
"""

from __future__ import annotations

import gzip
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path

import zstandard

__all__ = ["Conversation", "Stream", "conversations", "frames", "packets", "read_bytes"]

_FIN, _SYN = 1, 2


@dataclass(slots=True)
class Stream:
    """The bytes that one side of a connection sent, in order."""

    source: str
    target: str
    data: bytearray = field(default_factory=bytearray)
    next: int | None = None
    ahead: dict[int, bytes] = field(default_factory=dict)
    opened: bool = False

    def take(self, seq: int, payload: bytes) -> None:
        """Add a segment, in any order; bytes seen before are dropped."""
        if self.next is None:
            self.next = seq
        if payload:
            self.ahead[seq] = max(payload, self.ahead.get(seq, b""), key=len)
        for start in sorted(self.ahead, key=lambda each: (each - (self.next or 0)) & 0xFFFFFFFF):
            skip = ((self.next or 0) - start) & 0xFFFFFFFF
            if skip < 1 << 31:
                fresh = self.ahead.pop(start)[skip:]
                self.data += fresh
                self.next = ((self.next or 0) + len(fresh)) & 0xFFFFFFFF


@dataclass(slots=True)
class Conversation:
    """One TCP connection: `first` is the side that opened it (or spoke first)."""

    number: int
    first: Stream
    second: Stream

    @property
    def opened(self) -> bool:
        return self.first.opened

    @property
    def holes(self) -> int:
        return len(self.first.ahead) + len(self.second.ahead)


def read_bytes(file: Path) -> bytes:
    """The capture's bytes, decompressed."""
    data = file.read_bytes()
    if file.suffix == ".gz":
        return gzip.decompress(data)
    if file.suffix == ".zst":
        return zstandard.ZstdDecompressor().decompressobj().decompress(data)
    return data


def packets(data: bytes) -> Iterator[bytes]:
    """The packets of a little-endian pcap or pcapng."""
    at = 24 if data[:4] != b"\x0a\x0d\x0d\x0a" else 0
    if at:
        while at < len(data):
            (kept,) = struct.unpack_from("<I", data, at + 8)
            yield data[at + 16 : at + 16 + kept]
            at += 16 + kept
    while at < len(data):
        kind, size = struct.unpack_from("<II", data, at)
        if kind == 6:
            (kept,) = struct.unpack_from("<I", data, at + 20)
            yield data[at + 28 : at + 28 + kept]
        at += size


def conversations(data: bytes) -> list[Conversation]:
    """Every TCP connection of a capture, in order of appearance."""
    found: list[Conversation] = []
    open_now: dict[frozenset[str], Conversation] = {}
    for packet in packets(data):
        source, target, seq, flags, payload = _segment(packet)
        key = frozenset((source, target))
        talk = open_now.get(key)
        if talk is None or (flags & 18 == _SYN and talk.first.opened):
            talk = Conversation(len(found) + 1, Stream(source, target), Stream(target, source))
            open_now[key] = talk
            found.append(talk)
        side = talk.first if talk.first.source == source else talk.second
        if flags & _SYN:
            side.opened = True
            side.next = (seq + 1) & 0xFFFFFFFF
        elif payload:
            side.take(seq, payload)
    return found


def frames(data: bytes) -> Iterator[bytes]:
    """The frames of one direction with their size fields; the last may be cut if the sender gave up."""
    at = 0
    while at < len(data):
        (size,) = struct.unpack_from(">i", data, at)
        if size < 0:
            raise ValueError(f"a frame of {size} bytes at {at} of {len(data)}")
        yield bytes(data[at : at + 4 + size])
        at += 4 + size


def _segment(packet: bytes) -> tuple[str, str, int, int, bytes]:
    if packet[12:14] == b"\x86\xdd":
        source, target, at = f"[{ip_address(packet[22:38])}]", f"[{ip_address(packet[38:54])}]", 54
        end = 54 + int.from_bytes(packet[18:20], "big")
    else:
        source, target = str(ip_address(packet[26:30])), str(ip_address(packet[30:34]))
        at = 14 + (packet[14] & 15) * 4
        # 0: larger than 65,535 bytes, which loopback allows
        end = 14 + int.from_bytes(packet[16:18], "big") if packet[16:18] != b"\0\0" else len(packet)
    end = len(packet) if end == 54 else end
    source_port, target_port, seq, _, offset, flags = struct.unpack_from(">HHIIBB", packet, at)
    payload = packet[at + (offset >> 4) * 4 : end]
    return f"{source}:{source_port}", f"{target}:{target_port}", seq, flags, payload
