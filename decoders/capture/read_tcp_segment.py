"""The bytes of one IP payload in, one TCP segment out.

`usual_ip_headers_after_link` serves the fused loops of `pcap` and `pcapng`: link, IP and TCP header in one call.
`read_tcp_segment` is the plain way, for the packets that those loops leave: the two must agree.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from struct import Struct
from typing import Any, Final

from decoders.capture.link_types import Link
from decoders.named_tuple import NamedTuple
from decoders.tcp.stream_chunks import ZERO_WINDOW, Segment

PROTOCOL: Final = 6

# IPv4: version and length, total length, fragment word with TTL and protocol, addresses and ports, seq, ack, data
# offset, flags, window. IPv6: version and class, payload length, next header with hop limit, and the same.
_FUSED_IPV4: Final = "BxHxxIxx12sIIBBH"
_FUSED_IPV6: Final = "BxxxHH36sIIBBH"
# The most bytes that these formats read after the link header: the fused loops stay this far from a buffer's end.
FUSED_SIZE: Final = max(Struct(">" + _FUSED_IPV4).size, Struct(">" + _FUSED_IPV6).size)
# SYN and RST: their window says nothing about a buffer.
UNSAID: Final = 6
# The header size for an impossible data offset: so large that no payload can begin there.
_NEVER: Final = 1 << 40

_TCP: Final = Struct(">4sIIBBH").unpack_from


# The result of `Shape.unpack`. Sequence and acknowledgement number are `Any`: compiled code then hands on the objects
# as they are, and makes no new ones.
FusedHeaders = tuple[int | bytes, int, int, int, bytes, Any, Any, int, int, int]


class UsualHeaders(NamedTuple):
    """How the fused loops read the usual packet of one IP version: a header without options, right before TCP.

    `unpack` reads link, IP and TCP header up to the window: network protocol, version, length, a word, addresses and
    ports, seq, ack, data offset, flags, window. The packet is usual where `network` and `version` are as here and
    `word & mask` is `wanted` (no fragment; TCP). The packet ends `base` + length bytes after the start of the frame,
    and its payload begins `sizes[data offset]` bytes after that start.
    """

    unpack: Callable[[bytes, int], FusedHeaders]
    network: int | bytes
    version: int
    mask: int
    wanted: int
    base: int
    sizes: tuple[int, ...]


@cache
def usual_ip_headers_after_link(link: Link) -> tuple[UsualHeaders, UsualHeaders]:
    """The shapes of IPv4 and IPv6 packets after this link header."""
    size = link.size
    four = Struct(">" + link.head + _FUSED_IPV4).unpack_from
    six = Struct(">" + link.head + _FUSED_IPV6).unpack_from
    return (
        UsualHeaders(four, link.ip4, 0x45, 0xBFFF00FF, PROTOCOL, size, _payload_starts_by_data_offset(size + 20)),
        UsualHeaders(six, link.ip6, 0x60, 0xFF00, PROTOCOL << 8, size + 40, _payload_starts_by_data_offset(size + 40)),
    )


def _payload_starts_by_data_offset(size_before: int) -> tuple[int, ...]:
    """For each TCP data-offset byte: `size_before` plus the size of the TCP header, or more than any packet has."""
    return tuple(size_before + (byte >> 4) * 4 if byte >> 4 >= 5 else _NEVER for byte in range(256))


def read_tcp_segment(
    buf: bytes, at: int, captured_end: int, wire_end: int, addresses: bytes, time_ns: int, packet: int
) -> Segment | None:
    """The segment whose TCP header begins at `at`; captured up to `captured_end`, on the wire up to `wire_end`.

    None where the header is cut off, or cannot be a TCP header.
    """
    if at + 20 > min(captured_end, wire_end):
        return None
    ports, seq, ack, offset, flags, window = _TCP(buf, at)
    start = at + (offset >> 4) * 4
    if offset >> 4 < 5 or start > wire_end:
        return None
    if not window and not flags & UNSAID:
        flags |= ZERO_WINDOW
    payload = buf[start : min(captured_end, wire_end)]
    return addresses + ports, time_ns, packet, seq, ack, flags, payload, wire_end - start - len(payload)


def has_right_checksum(segment: bytes, addresses: bytes) -> bool:
    """Whether the checksum of a whole TCP segment is right (RFC 9293, 1071); `addresses` are those of its IP packet."""
    pseudo = addresses + PROTOCOL.to_bytes(4, "big") + len(segment).to_bytes(4, "big")
    return int.from_bytes(pseudo + segment + b"\0" * (len(segment) & 1), "big") % 0xFFFF == 0
