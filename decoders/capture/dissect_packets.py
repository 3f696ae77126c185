"""One captured frame in, its TCP segment out if it has one (else it is counted): link, IP, fragments, TCP."""

from __future__ import annotations

from struct import Struct
from typing import Final

from decoders.capture.find_tunneled_packets import find_tunneled_packet, skip_layers_below_ip
from decoders.capture.join_ip_fragments import Fragments
from decoders.capture.link_types import ARP, IP4, IP6, LLC, NO_LINK, SHORT, Link
from decoders.capture.read_tcp_segment import PROTOCOL, has_right_checksum, read_tcp_segment
from decoders.limits import TUNNELS_MAX
from decoders.tcp.stream_chunks import Segment

# Lengths: an IP packet ends where its own length says (Ethernet padding is cut), and where that length is 0 (offload:
# TSO, GSO, IPv6 jumbograms) it ends with the frame. A length beyond the bytes captured means bytes missing by snaplen.


_unpack_ipv4: Final = Struct(">BxHHHxB2x").unpack_from
_unpack_ipv6: Final = Struct(">B3xHB").unpack_from

# IPv6 extension headers that state their own length in units of 8 bytes beyond the first (RFC 8200, 6275, 5533, 7401).
_EXTENSIONS: Final = frozenset({0, 43, 60, 135, 139, 140})
_FRAGMENT: Final = 44
_ENCRYPTION: Final = 50
AUTHENTICATION: Final = 51
# All that may stand between an IPv6 header and TCP.
EXTENSION_HEADERS: Final = _EXTENSIONS | {_FRAGMENT, AUTHENTICATION}
_EXTENSIONS_MAX: Final = 16

# IP protocol number → the name it is counted under.
_NAMES: Final = {1: "icmp", 17: "udp", 58: "icmp"}
# Kind of a frame without an IP packet → the name it is counted under.
_LINK_COUNTS: Final = {ARP: "arp", SHORT: "unreadable", NO_LINK: "unknown_link"}
# Sizes at which packets are cut that are counted apart: a snap length is one, several interfaces make a few.
CUT_SIZES_MAX: Final = 8
# Unknown protocols that are named.
UNKNOWN_MAX: Final = 8
_COUNTED: Final = ("udp", "icmp", "arp", "other", "fragments", "unreadable", "unknown_link")


# An IP packet's payload: protocol, a buffer, where in it the payload begins, is captured to, ends; both addresses.
_Payload = tuple[int, bytes, int, int, int, bytes]
_IP: Final = frozenset({IP4, IP6})


class Dissector:
    """Frames in, TCP segments out. `counts` counts each packet without a segment once, by kind.

    `unreadable` counts packets with a header that is cut off or cannot be one. `cut`: captured size → number of packets
    of which only that many bytes were captured, though their TCP segment has more. `unknown`: EtherType or IP protocol
    that nothing here reads → packets.
    """

    def __init__(self) -> None:
        self.counts = dict.fromkeys(_COUNTED, 0)
        self.cut: dict[int, int] = {}
        self.unknown: dict[str, int] = {}
        self.fragments = Fragments()

    def dissect_packet(
        self, link: Link, buf: bytes, at: int, end: int, missing: int, time_ns: int, packet: int
    ) -> Segment | None:
        """The segment of the frame in buf[at:end], with `missing` bytes not captured; None where it has none."""
        unreadable = self.counts["unreadable"]
        segment = self._follow_layers_to_tcp_segment(link, buf, at, end, missing, time_ns, packet)
        if segment[7] if segment is not None else missing and self.counts["unreadable"] > unreadable:
            self.count_packets_cut_at(end - at)
        return segment

    def _follow_layers_to_tcp_segment(
        self, link: Link, buf: bytes, at: int, end: int, missing: int, time_ns: int, packet: int
    ) -> Segment | None:
        kind, at = link.follow(buf, at, end)
        stop, count = end + missing, "other"
        for _ in range(TUNNELS_MAX):
            ethertype = kind
            if kind not in _IP:
                kind, at = skip_layers_below_ip(kind, buf, at, end)
            if kind == IP4:
                found = self._read_ipv4_packet(buf, at, end, stop)
            elif kind == IP6:
                found = self._read_ipv6_packet(buf, at, end, stop)
            else:
                found = _LINK_COUNTS.get(kind, "other")
                if found == "other" and ethertype:
                    self._count_unknown_protocol("LLC" if ethertype == LLC else f"EtherType 0x{kind or ethertype:04x}")
            if isinstance(found, str):
                count = found
                break
            protocol, buf, at, end, stop, addresses = found
            if protocol == AUTHENTICATION:  # in IPv4; IPv6 has it among its extension headers
                protocol, at = _skip_ipv6_extensions(buf, at, min(end, stop), protocol)
            if protocol == _ENCRYPTION:
                protocol, at, stop = _find_payload_of_esp(buf, at, end, stop, addresses)
            if protocol == PROTOCOL:
                segment = self._read_tcp_segment(buf, at, end, stop, addresses, time_ns, packet)
                if segment is not None:
                    return segment
                count = "unreadable"
                break
            count = _NAMES.get(protocol, "other")
            end = min(end, stop)
            inner = find_tunneled_packet(protocol, buf, at, end)
            if inner is None:
                if count == "other":
                    self._count_unknown_protocol(f"IP protocol {protocol}")
                break
            kind, at = inner
        self.counts[count] += 1
        return None

    def _read_tcp_segment(
        self, buf: bytes, at: int, end: int, stop: int, addresses: bytes, time_ns: int, packet: int
    ) -> Segment | None:
        """The segment whose header begins at `at`, as `read_tcp_segment` gives it."""
        return read_tcp_segment(buf, at, end, stop, addresses, time_ns, packet)

    # These methods give the payload of the packet, or the name of the count for a packet without a segment.

    def _read_ipv4_packet(self, buf: bytes, at: int, end: int, stop: int) -> _Payload | str:
        if at + 20 > end:
            return "unreadable"
        version, total, ident, fragment, protocol = _unpack_ipv4(buf, at)
        header = (version & 15) * 4
        if total:
            stop = at + total
        start = at + header
        if version >> 4 != 4 or header < 20 or start > min(stop, end):
            return "unreadable"
        addresses = buf[at + 12 : at + 20]
        if fragment & 0x3FFF:
            name = addresses + ident.to_bytes(4, "big")
            data = buf[start:stop] if stop <= end else None
            return self._add_fragment_and_join(
                name, (fragment & 0x1FFF) * 8, bool(fragment & 0x2000), protocol, data, addresses
            )
        return protocol, buf, start, end, stop, addresses

    def _read_ipv6_packet(self, buf: bytes, at: int, end: int, stop: int) -> _Payload | str:
        if at + 40 > end:
            return "unreadable"
        version, length, protocol = _unpack_ipv6(buf, at)
        if version >> 4 != 6:
            return "unreadable"
        if length:
            stop = at + 40 + length
        addresses = buf[at + 8 : at + 40]
        at += 40
        protocol, at = _skip_ipv6_extensions(buf, at, min(end, stop), protocol)
        if protocol < 0:
            return "unreadable"
        if protocol == _FRAGMENT:
            word = int.from_bytes(buf[at + 2 : at + 4], "big")
            name = addresses + buf[at + 4 : at + 8]
            data = buf[at + 8 : stop] if stop <= end else None
            return self._add_fragment_and_join(name, word & 0xFFF8, bool(word & 1), buf[at], data, addresses)
        return protocol, buf, at, end, stop, addresses

    def _add_fragment_and_join(
        self, name: bytes, at: int, more: bool, protocol: int, data: bytes | None, addresses: bytes
    ) -> _Payload | str:
        """The payload of the whole packet, where this fragment was the last one missing; else `fragments`."""
        whole = self.fragments.add_fragment(name, at, more, protocol, data)
        if whole is None:
            return "fragments"
        protocol, data = whole
        return protocol, data, 0, len(data), len(data), addresses

    def _count_unknown_protocol(self, protocol: str) -> None:
        if protocol in self.unknown or len(self.unknown) < UNKNOWN_MAX:
            self.unknown[protocol] = self.unknown.get(protocol, 0) + 1

    def count_packets_cut_at(self, captured_size: int, count: int = 1) -> None:
        """Count packets that are cut at this size; beyond CUT_SIZES_MAX sizes the smallest counts as a greater one."""
        if captured_size not in self.cut and len(self.cut) >= CUT_SIZES_MAX:
            least = min(self.cut)
            if captured_size < least:
                captured_size = least
            else:
                count += self.cut.pop(least)
        self.cut[captured_size] = self.cut.get(captured_size, 0) + count


# Sizes of the check value at the end of ESP: HMAC with SHA-1, with SHA-2 (RFC 2404, 4868), and none.
_CHECK_SIZES: Final = (12, 16, 24, 32, 0)


def _find_payload_of_esp(buf: bytes, at: int, end: int, stop: int, addresses: bytes) -> tuple[int, int, int]:
    """(protocol, offset, end) of what ESP (RFC 4303) carries where it does not encrypt (RFC 2410); else as it was.

    Nothing in a packet says that it is not encrypted. So its padding has to be 1, 2, 3 …, and a TCP segment in it has
    to have the right checksum, an IP packet its own length: of encrypted packets hardly one in 10⁹ has.
    """
    start = at + 8
    for size in _CHECK_SIZES:
        tail = stop - size - 2
        if stop > end or tail < start + 20:
            continue
        padding, protocol = buf[tail], buf[tail + 1]
        last = tail - padding
        if last < start + 20 or buf[last:tail] != bytes(range(1, padding + 1)):
            continue
        if protocol == PROTOCOL and has_right_checksum(buf[start:last], addresses):
            return protocol, start, last
        if protocol == 4 and buf[start] >> 4 == 4 and int.from_bytes(buf[start + 2 : start + 4], "big") == last - start:
            return protocol, start, last
    return _ENCRYPTION, at, stop


def _skip_ipv6_extensions(buf: bytes, at: int, end: int, protocol: int) -> tuple[int, int]:
    """(protocol, offset) after the IPv6 extension headers, or of a whole fragment header; protocol -1 where cut off."""
    for _ in range(_EXTENSIONS_MAX):
        if protocol not in EXTENSION_HEADERS:
            return protocol, at
        if at + 8 > end:
            return -1, at
        if protocol == _FRAGMENT:
            return protocol, at
        size = 8 + buf[at + 1] * (4 if protocol == AUTHENTICATION else 8)
        if at + size > end:
            return -1, at
        protocol = buf[at]
        at += size
    return -1, at
