"""A pcap of tcpdump in, a capture to ship out: chosen ports only, pcap or pcapng, plain or compressed, by its name."""

from __future__ import annotations

import gzip
import struct
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

import zstandard

__all__ = ["Packet", "packets", "ship"]

# seconds, nanoseconds, length on the wire, bytes
Packet = tuple[int, int, int, bytes]

_SNAPLEN = 262144


def packets(data: bytes) -> tuple[int, list[Packet]]:
    """Link type and packets of a little-endian classic pcap (micro- or nanoseconds), as tcpdump writes it here."""
    magic, _, _, _, _, _, link = struct.unpack_from("<IHHiIII", data)
    scale = {0xA1B2C3D4: 1000, 0xA1B23C4D: 1}[magic]
    found: list[Packet] = []
    at = 24
    while at + 16 <= len(data):
        seconds, fraction, kept, size = struct.unpack_from("<IIII", data, at)
        found.append((seconds, fraction * scale, size, data[at + 16 : at + 16 + kept]))
        at += 16 + kept
    return link, found


def ship(
    source: Path,
    target: Path,
    *,
    ports: Collection[int] = (),
    keep: Callable[[int, Packet], bool] = lambda _number, _packet: True,
) -> int:
    """Write packets of `source` that touch one of `ports` (empty: any) and that `keep` accepts; gives their count."""
    link, found = packets(source.read_bytes())
    if ports:
        found = [packet for packet in found if set(_ports(packet[3])) & set(ports)]
    found = [packet for number, packet in enumerate(found, 1) if keep(number, packet)]
    name = target.name
    body = b"".join(_pcapng(link, found) if ".pcapng" in name else _pcap(link, found))
    if name.endswith(".gz"):
        body = gzip.compress(body, mtime=0)
    elif name.endswith(".zst"):
        body = zstandard.ZstdCompressor(level=19).compress(body)
    target.write_bytes(body)
    return len(found)


def _ports(frame: bytes) -> tuple[int, int]:
    """TCP ports of an Ethernet frame with IPv4, or IPv6 without extension headers (loopback has no others)."""
    kind = frame[12:14]
    at = 14 + (40 if kind == b"\x86\xdd" else (frame[14] & 15) * 4)
    source, target = struct.unpack_from(">HH", frame, at)
    return source, target


def _pcap(link: int, found: list[Packet]) -> Iterator[bytes]:
    yield struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, _SNAPLEN, link)
    for seconds, nanoseconds, size, data in found:
        yield struct.pack("<IIII", seconds, nanoseconds // 1000, len(data), size) + data


def _pcapng(link: int, found: list[Packet]) -> Iterator[bytes]:
    yield _block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
    # if_tsresol 9: time stamps in nanoseconds
    yield _block(1, struct.pack("<HHI", link, 0, _SNAPLEN) + struct.pack("<HHB3xHH", 9, 1, 9, 0, 0))
    for seconds, nanoseconds, size, data in found:
        stamp = seconds * 10**9 + nanoseconds
        head = struct.pack("<IIIII", 0, stamp >> 32, stamp & 0xFFFFFFFF, len(data), size)
        yield _block(6, head + data + b"\0" * (-len(data) % 4))


def _block(kind: int, body: bytes) -> bytes:
    size = len(body) + 12
    return struct.pack("<II", kind, size) + body + struct.pack("<I", size)
