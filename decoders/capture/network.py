"""One captured frame in, its TCP segment out if it has one (else it is counted): the plain way, for every frame.

Lengths: an IP packet ends where its own length says (Ethernet padding is cut), and where that length is 0 (offload:
TSO, GSO, IPv6 jumbograms) it ends with the frame. A length beyond the bytes captured means bytes missing by snaplen.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from decoders.capture import tcp
from decoders.capture.fragments import Fragments
from decoders.capture.link import ARP, IP4, IP6, NO_LINK, SHORT, Link
from decoders.streams.chunks import Segment

__all__ = ["Dissector"]

_IPV4: Final = Struct(">BxHHHxB2x").unpack_from
_IPV6: Final = Struct(">B3xHB").unpack_from

# IPv6 extension headers that state their own length in units of 8 bytes beyond the first (RFC 8200, 6275, 5533, 7401).
_EXTENSIONS: Final = frozenset({0, 43, 60, 135, 139, 140})
_FRAGMENT: Final = 44
_AUTHENTICATION: Final = 51
_EXTENSIONS_MAX: Final = 16

# IP protocol number → the name it is counted under.
_NAMES: Final = {1: "icmp", 17: "udp", 58: "icmp"}
# The same for what is no IP packet.
_LINK_COUNTS: Final = {ARP: "arp", SHORT: "unreadable", NO_LINK: "unknown_link"}
_COUNTED: Final = ("udp", "icmp", "arp", "other", "fragments", "unreadable", "unknown_link")


class Dissector:
    """Frames in, segments out. `counts` counts each packet that gives none, once.

    `unreadable` are those of which a header is cut off or cannot be one.
    """

    def __init__(self) -> None:
        self.counts = dict.fromkeys(_COUNTED, 0)
        self.fragments = Fragments()

    def segment(
        self, link: Link, buf: bytes, at: int, end: int, missing: int, time_ns: int, packet: int
    ) -> Segment | None:
        """The segment of the frame in buf[at:end], of whose wire length `missing` bytes were not captured."""
        kind, at = link.follow(buf, at, end)
        if kind == IP4:
            return self._ip4(buf, at, end, missing, time_ns, packet)
        if kind == IP6:
            return self._ip6(buf, at, end, missing, time_ns, packet)
        return self._count(_LINK_COUNTS.get(kind, "other"))

    def _ip4(self, buf: bytes, at: int, end: int, missing: int, time_ns: int, packet: int) -> Segment | None:
        if at + 20 > end:
            return self._count("unreadable")
        version, total, ident, fragment, protocol = _IPV4(buf, at)
        header = (version & 15) * 4
        stop = at + total if total else end + missing
        start = at + header
        if version >> 4 != 4 or header < 20 or start > min(stop, end):
            return self._count("unreadable")
        addresses = buf[at + 12 : at + 20]
        if fragment & 0x3FFF:
            self.counts["fragments"] += 1
            name = addresses + ident.to_bytes(4, "big")
            data = buf[start:stop] if stop <= end else None
            whole = self.fragments.add(name, (fragment & 0x1FFF) * 8, bool(fragment & 0x2000), protocol, data)
            return self._defragmented(whole, addresses, time_ns, packet)
        return self._transport(buf, start, end, stop, protocol, addresses, time_ns, packet)

    def _ip6(self, buf: bytes, at: int, end: int, missing: int, time_ns: int, packet: int) -> Segment | None:
        if at + 40 > end:
            return self._count("unreadable")
        version, length, protocol = _IPV6(buf, at)
        if version >> 4 != 6:
            return self._count("unreadable")
        stop = at + 40 + length if length else end + missing
        addresses = buf[at + 8 : at + 40]
        at += 40
        protocol, at = _past_extensions(buf, at, min(end, stop), protocol)
        if protocol < 0:
            return self._count("unreadable")
        if protocol == _FRAGMENT:
            word = int.from_bytes(buf[at + 2 : at + 4], "big")
            self.counts["fragments"] += 1
            name = addresses + buf[at + 4 : at + 8]
            data = buf[at + 8 : stop] if stop <= end else None
            whole = self.fragments.add(name, word & 0xFFF8, bool(word & 1), buf[at], data)
            return self._defragmented(whole, addresses, time_ns, packet)
        return self._transport(buf, at, end, stop, protocol, addresses, time_ns, packet)

    def _defragmented(
        self, whole: tuple[int, bytes] | None, addresses: bytes, time_ns: int, packet: int
    ) -> Segment | None:
        if whole is None:
            return None
        self.counts["fragments"] -= 1  # counted as what it completes
        protocol, data = whole
        return self._transport(data, 0, len(data), len(data), protocol, addresses, time_ns, packet)

    def _transport(
        self, buf: bytes, at: int, end: int, stop: int, protocol: int, addresses: bytes, time_ns: int, packet: int
    ) -> Segment | None:
        if protocol != tcp.PROTOCOL:
            return self._count(_NAMES.get(protocol, "other"))
        segment = tcp.segment(buf, at, end, stop, addresses, time_ns, packet)
        if segment is None:
            return self._count("unreadable")
        return segment

    def _count(self, name: str) -> Segment | None:
        self.counts[name] += 1
        return None


def _past_extensions(buf: bytes, at: int, end: int, protocol: int) -> tuple[int, int]:
    """What follows the IPv6 extension headers and where; -1 where they are cut. A fragment header is whole there."""
    for _ in range(_EXTENSIONS_MAX):
        if protocol not in _EXTENSIONS and protocol not in (_AUTHENTICATION, _FRAGMENT):
            return protocol, at
        if at + 8 > end:
            return -1, at
        if protocol == _FRAGMENT:
            return protocol, at
        size = 8 + buf[at + 1] * (4 if protocol == _AUTHENTICATION else 8)
        if at + size > end:
            return -1, at
        protocol = buf[at]
        at += size
    return -1, at
