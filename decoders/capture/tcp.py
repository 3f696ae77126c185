"""The bytes of one IP payload in, one TCP segment out.

`shapes` serves the fused loops of `pcap` and `pcapng`: link, IP and TCP header in one call. `segment` is the plain way,
for what they leave: the two must agree.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from struct import Struct
from typing import Any, Final, NamedTuple

from decoders.capture.link import Link
from decoders.streams.chunks import Segment

__all__ = ["FUSED_SIZE", "PROTOCOL", "Shape", "segment", "shapes"]

PROTOCOL: Final = 6

# IPv4: version and length, total length, fragment word with TTL and protocol, addresses and ports, seq, ack, data
# offset, flags. IPv6: version and class, payload length, next header with hop limit, and the same.
_IPV4: Final = "BxHxxIxx12sIIBB"
_IPV6: Final = "BxxxHH36sIIBB"
# Bytes behind the link header that those formats read at most: the fused loops stay this far from a buffer's end.
FUSED_SIZE: Final = max(Struct(">" + _IPV4).size, Struct(">" + _IPV6).size)
# What a header size stands for that cannot be: so large that no payload can begin there.
_NEVER: Final = 1 << 40

_TCP: Final = Struct(">4sIIBB").unpack_from


class Shape(NamedTuple):
    """How the fused loops read the usual packet of one IP version: with TCP right behind a header without more.

    `unpack` reads link, IP and TCP header up to the flags: network protocol, version, length, a word, addresses and
    ports, seq, ack, data offset, flags. The packet is usual where `network` and `version` are as here and `word & mask`
    is `wanted` (no fragment; TCP). It ends `base` + length after the frame's begin, and its payload begins
    `sizes[data offset]` after it.
    """

    unpack: Callable[[bytes, int], tuple[Any, ...]]
    network: int | bytes
    version: int
    mask: int
    wanted: int
    base: int
    sizes: tuple[int, ...]


@cache
def shapes(link: Link) -> tuple[Shape, Shape]:
    """IPv4 and IPv6 behind this link header."""
    size = link.size
    four = Struct(">" + link.head + _IPV4).unpack_from
    six = Struct(">" + link.head + _IPV6).unpack_from
    return (
        Shape(four, link.ip4, 0x45, 0xBFFF00FF, PROTOCOL, size, _header_sizes(size + 20)),
        Shape(six, link.ip6, 0x60, 0xFF00, PROTOCOL << 8, size + 40, _header_sizes(size + 40)),
    )


def _header_sizes(before: int) -> tuple[int, ...]:
    """By the TCP data-offset byte: `before` plus the size of the TCP header, or more than any packet has."""
    return tuple(before + (byte >> 4) * 4 if byte >> 4 >= 5 else _NEVER for byte in range(256))


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
