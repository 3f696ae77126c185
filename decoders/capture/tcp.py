"""The bytes of one IP payload in, one TCP segment out.

`unpacker4` and `fused6` serve the fused loops: link, IP and TCP header in one call. `segment` is the plain
way, for what they leave: the two must agree.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from struct import Struct
from typing import Any, Final

from decoders.capture.link import Link
from decoders.streams.chunks import Segment

__all__ = ["FUSED_SIZE", "PROTOCOL", "fused6", "header_sizes", "segment", "unpacker4"]

PROTOCOL: Final = 6

# Version and length, total length, fragment word, protocol, addresses and ports, seq, ack, data offset, flags.
_IPV4: Final = "BxH2xHxB2x12sIIBB"
# Version, payload length, next header, addresses and ports, seq, ack, data offset, flags.
_IPV6: Final = "B3xHBx36sIIBB"
# Bytes behind the link header that those formats read at most: the fused loops stay this far from a buffer's end.
FUSED_SIZE: Final = max(Struct(">" + _IPV4).size, Struct(">" + _IPV6).size)
# What a header size stands for that cannot be: so large that no payload can begin there.
_NEVER: Final = 1 << 40

_TCP: Final = Struct(">4sIIBB").unpack_from

Unpack = Callable[[bytes, int], tuple[Any, ...]]


@cache
def unpacker4(link: Link) -> Unpack:
    """One call that reads link, IPv4 (without options) and TCP header up to the flags."""
    return Struct(">" + link.head + _IPV4).unpack_from


@cache
def unpacker6(link: Link) -> Unpack:
    """The same for IPv6 without extension headers."""
    return Struct(">" + link.head + _IPV6).unpack_from


@cache
def header_sizes(before: int) -> tuple[int, ...]:
    """By the TCP data-offset byte: `before` plus the size of the TCP header, or more than any packet has."""
    return tuple(before + (byte >> 4) * 4 if byte >> 4 >= 5 else _NEVER for byte in range(256))


def fused6(link: Link, buf: bytes, begin: int, end: int, time_ns: int, packet: int) -> Segment | None:
    """The segment of the frame in buf[begin:end] if it is TCP right behind an IPv6 header and captured as a whole."""
    _, _, length, protocol, key, seq, ack, offset, flags = unpacker6(link)(buf, begin)
    at = begin + link.size + 40
    start = at + (offset >> 4) * 4
    stop = at + length
    if protocol != PROTOCOL or offset < 0x50 or not start <= stop <= end:
        return None
    return key, time_ns, packet, seq, ack, flags, buf[start:stop], 0


def segment(buf: bytes, at: int, end: int, stop: int, addresses: bytes, time_ns: int, packet: int) -> Segment | None:
    """The segment whose TCP header begins at `at`; captured up to `end`, on the wire up to `stop`.

    None where its header is not there as a whole, or cannot be one.
    """
    if at + 20 > min(end, stop):
        return None
    ports, seq, ack, offset, flags = _TCP(buf, at)
    start = at + (offset >> 4) * 4
    if offset >> 4 < 5 or start > stop:
        return None
    payload = buf[start : min(end, stop)]
    return addresses + ports, time_ns, packet, seq, ack, flags, payload, stop - start - len(payload)
