"""Frames for captures, built by hand so that a test may put anything into any field."""

from __future__ import annotations

from ipaddress import ip_address
from struct import pack

from decoders.tcp.stream_chunks import ZERO_WINDOW

FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16


def tcp(source: int, target: int, seq: int, ack: int, flags: int, payload: bytes = b"", options: bytes = b"") -> bytes:
    """A TCP segment; `options` is padded to four bytes, ZERO_WINDOW in `flags` is a window of 0."""
    options += bytes(-len(options) % 4)
    offset = (20 + len(options)) // 4 << 4
    return (
        pack(">HHIIBBHHH", source, target, seq, ack, offset, flags & 255, 0 if flags & ZERO_WINDOW else 65535, 0, 0)
        + options
        + payload
    )


def ipv4(
    source: str,
    target: str,
    payload: bytes,
    *,
    protocol: int = 6,
    options: bytes = b"",
    total: int | None = None,
    fragment: int = 0x4000,
    ident: int = 7,
) -> bytes:
    """An IPv4 packet; `fragment` is the word of flags and offset."""
    header = 20 + len(options)
    if total is None:
        total = header + len(payload)
    head = pack(">BBHHHBBH", 0x40 | header // 4, 0, total, ident, fragment, 64, protocol, 0)
    return head + ip_address(source).packed + ip_address(target).packed + options + payload


def ipv6(source: str, target: str, payload: bytes, *, protocol: int = 6, length: int | None = None) -> bytes:
    """An IPv6 packet; extension headers are part of `payload`."""
    head = pack(">IHBB", 0x60000000, len(payload) if length is None else length, protocol, 64)
    return head + ip_address(source).packed + ip_address(target).packed + payload


def ethernet(payload: bytes, kind: int = 0x0800, tags: bytes = b"") -> bytes:
    """An Ethernet frame; `tags` are whole VLAN tags (type and number)."""
    return bytes(6) + bytes(5) + b"\x01" + tags + pack(">H", kind) + payload
