"""One captured frame in, its TCP segment out if it has one (else it is counted): link, IP, fragments, TCP."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from struct import Struct
from typing import Any, Final

from decoders.capture.links import ARP, IP4, IP6, NO_LINK, SHORT, Link
from decoders.capture.tunnels import inner_packet, network_packet
from decoders.errors import Malformed
from decoders.limits import FRAGMENTED_MAX, TUNNELS_MAX
from decoders.named_tuple import NamedTuple
from decoders.tcp.chunks import ZERO_WINDOW, Segment
from decoders.wire.state_serialization import fields

__all__ = ["FUSED_SIZE", "PROTOCOL", "UNSAID", "Dissector", "Fragments", "Shape", "shapes", "tcp_segment"]

# IP fragments in, the payload of the whole packet out once every fragment of it has been seen.
#
# The first copy of a fragment counts; a packet whose fragments overlap otherwise, or were cut by snaplen, is given up
# (RFC 5722), and so is the oldest one when too many wait.


# Largest payload that fragment offsets can describe (RFC 791).
_SIZE_MAX = 65_535


class _Packet:
    __slots__ = ("end", "have", "number", "parts", "protocol")

    def __init__(self, number: int) -> None:
        self.number = number  # in order of appearance
        self.parts: dict[int, bytes] = {}
        self.have = 0
        self.end = -1  # known once the last fragment was seen
        self.protocol = -1  # known once the first fragment was seen


class Fragments:
    """IP packets seen in fragments: `begun` counts all of them, `given_up` those that will never be whole."""

    def __init__(self) -> None:
        self.begun = 0
        self.given_up = 0
        self._open: dict[bytes, _Packet] = {}

    def add(self, name: bytes, at: int, more: bool, protocol: int, data: bytes | None) -> tuple[int, bytes] | None:
        """Add a fragment of the IP packet `name`, at byte `at` of its payload; `data` is None where it was cut.

        Gives (protocol, payload) when the packet is whole with this fragment.
        """
        packet = self._open.get(name)
        if packet is None:
            if len(self._open) >= FRAGMENTED_MAX:
                self._give_up(next(iter(self._open)))
            packet = self._open[name] = _Packet(self.begun)
            self.begun += 1
        if data is None or at + len(data) > _SIZE_MAX or (more and not data):
            return self._give_up(name)
        if at in packet.parts:
            return None if len(packet.parts[at]) == len(data) else self._give_up(name)
        packet.parts[at] = data
        packet.have += len(data)
        if not more:
            packet.end = at + len(data)
        if at == 0:
            packet.protocol = protocol
        if packet.end < 0 or packet.protocol < 0 or packet.have < packet.end:
            return None
        del self._open[name]
        place = 0
        for start, part in sorted(packet.parts.items()):
            if start != place:
                self.given_up += 1
                return None
            place += len(part)
        return packet.protocol, b"".join(part for _, part in sorted(packet.parts.items()))

    def finish(self, since: int = 0, until: int | None = None) -> None:
        """Give up waiting packets, as no fragment follows; of a part of a file, those numbered `since` to `until`."""
        self.given_up += sum(
            since <= packet.number and (until is None or packet.number < until) for packet in self._open.values()
        )
        self._open.clear()

    def _give_up(self, name: bytes) -> tuple[int, bytes] | None:
        del self._open[name]
        self.given_up += 1
        return None

    def export(self) -> object:
        """The state as built-in values, for `resume`."""
        return [
            self.begun,
            self.given_up,
            [[name, packet.number, packet.parts, packet.end, packet.protocol] for name, packet in self._open.items()],
        ]

    def resume(self, state: object) -> None:
        """Take over what `export` gave. Raises DecodeError when it is something else."""
        self.begun, self.given_up, packets = fields(state, int, int, list)
        self._open.clear()
        for row in packets:
            name, number, parts, end, protocol = fields(row, bytes, int, dict, int, int)
            if not all(isinstance(at, int) and isinstance(part, bytes) for at, part in parts.items()):
                raise Malformed("a saved fragment is none")
            packet = self._open[name] = _Packet(number)
            packet.parts, packet.end, packet.protocol = parts, end, protocol
            packet.have = sum(map(len, parts.values()))


# The bytes of one IP payload in, one TCP segment out.
#
# `shapes` serves the fused loops of `pcap` and `pcapng`: link, IP and TCP header in one call. `segment` is the plain
# way, for the packets that those loops leave: the two must agree.


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


class Shape(NamedTuple):
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
def shapes(link: Link) -> tuple[Shape, Shape]:
    """The shapes of IPv4 and IPv6 packets after this link header."""
    size = link.size
    four = Struct(">" + link.head + _FUSED_IPV4).unpack_from
    six = Struct(">" + link.head + _FUSED_IPV6).unpack_from
    return (
        Shape(four, link.ip4, 0x45, 0xBFFF00FF, PROTOCOL, size, _header_sizes(size + 20)),
        Shape(six, link.ip6, 0x60, 0xFF00, PROTOCOL << 8, size + 40, _header_sizes(size + 40)),
    )


def _header_sizes(before: int) -> tuple[int, ...]:
    """For each TCP data-offset byte: `before` plus the size of the TCP header, or more than any packet has."""
    return tuple(before + (byte >> 4) * 4 if byte >> 4 >= 5 else _NEVER for byte in range(256))


def tcp_segment(
    buf: bytes, at: int, end: int, stop: int, addresses: bytes, time_ns: int, packet: int
) -> Segment | None:
    """The segment whose TCP header begins at `at`; captured up to `end`, on the wire up to `stop`.

    None where the header is cut off, or cannot be a TCP header.
    """
    if at + 20 > min(end, stop):
        return None
    ports, seq, ack, offset, flags, window = _TCP(buf, at)
    start = at + (offset >> 4) * 4
    if offset >> 4 < 5 or start > stop:
        return None
    if not window and not flags & UNSAID:
        flags |= ZERO_WINDOW
    payload = buf[start : min(end, stop)]
    return addresses + ports, time_ns, packet, seq, ack, flags, payload, stop - start - len(payload)


# Lengths: an IP packet ends where its own length says (Ethernet padding is cut), and where that length is 0 (offload:
# TSO, GSO, IPv6 jumbograms) it ends with the frame. A length beyond the bytes captured means bytes missing by snaplen.


_unpack_ipv4: Final = Struct(">BxHHHxB2x").unpack_from
_unpack_ipv6: Final = Struct(">B3xHB").unpack_from

# IPv6 extension headers that state their own length in units of 8 bytes beyond the first (RFC 8200, 6275, 5533, 7401).
_EXTENSIONS: Final = frozenset({0, 43, 60, 135, 139, 140})
_FRAGMENT: Final = 44
_AUTHENTICATION: Final = 51
# All that may stand between an IPv6 header and TCP.
EXTENSION_HEADERS: Final = _EXTENSIONS | {_FRAGMENT, _AUTHENTICATION}
_EXTENSIONS_MAX: Final = 16

# IP protocol number → the name it is counted under.
_NAMES: Final = {1: "icmp", 17: "udp", 58: "icmp"}
# Kind of a frame without an IP packet → the name it is counted under.
_LINK_COUNTS: Final = {ARP: "arp", SHORT: "unreadable", NO_LINK: "unknown_link"}
# Sizes at which packets are cut that are counted apart: a snap length is one, several interfaces make a few.
CUT_SIZES_MAX: Final = 8
_COUNTED: Final = ("udp", "icmp", "arp", "other", "fragments", "unreadable", "unknown_link")


# An IP packet's payload: protocol, a buffer, where in it the payload begins, is captured to, ends; both addresses.
_Payload = tuple[int, bytes, int, int, int, bytes]
_IP: Final = frozenset({IP4, IP6})


class Dissector:
    """Frames in, TCP segments out. `counts` counts each packet without a segment once, by kind.

    `unreadable` counts packets with a header that is cut off or cannot be one. `cut`: captured size → number of packets
    of which only that many bytes were captured, though their TCP segment has more.
    """

    def __init__(self) -> None:
        self.counts = dict.fromkeys(_COUNTED, 0)
        self.cut: dict[int, int] = {}
        self.fragments = Fragments()

    def segment(
        self, link: Link, buf: bytes, at: int, end: int, missing: int, time_ns: int, packet: int
    ) -> Segment | None:
        """The segment of the frame in buf[at:end], with `missing` bytes not captured; None where it has none."""
        unreadable = self.counts["unreadable"]
        segment = self._dissect(link, buf, at, end, missing, time_ns, packet)
        if segment[7] if segment is not None else missing and self.counts["unreadable"] > unreadable:
            self.count_cut(end - at)
        return segment

    def _dissect(
        self, link: Link, buf: bytes, at: int, end: int, missing: int, time_ns: int, packet: int
    ) -> Segment | None:
        kind, at = link.follow(buf, at, end)
        stop, count = end + missing, "other"
        for _ in range(TUNNELS_MAX):
            if kind not in _IP:
                kind, at = network_packet(kind, buf, at, end)
            if kind == IP4:
                found = self._read_ip4(buf, at, end, stop)
            elif kind == IP6:
                found = self._read_ip6(buf, at, end, stop)
            else:
                found = _LINK_COUNTS.get(kind, "other")
            if isinstance(found, str):
                count = found
                break
            protocol, buf, at, end, stop, addresses = found
            if protocol == PROTOCOL:
                segment = self._read_tcp(buf, at, end, stop, addresses, time_ns, packet)
                if segment is not None:
                    return segment
                count = "unreadable"
                break
            count = _NAMES.get(protocol, "other")
            end = min(end, stop)
            inner = inner_packet(protocol, buf, at, end)
            if inner is None:
                break
            kind, at = inner
        self.counts[count] += 1
        return None

    def _read_tcp(
        self, buf: bytes, at: int, end: int, stop: int, addresses: bytes, time_ns: int, packet: int
    ) -> Segment | None:
        """The segment whose header begins at `at`, as `tcp_segment` gives it."""
        return tcp_segment(buf, at, end, stop, addresses, time_ns, packet)

    # These methods give the payload of the packet, or the name of the count for a packet without a segment.

    def _read_ip4(self, buf: bytes, at: int, end: int, stop: int) -> _Payload | str:
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
            return self._add_fragment(name, (fragment & 0x1FFF) * 8, bool(fragment & 0x2000), protocol, data, addresses)
        return protocol, buf, start, end, stop, addresses

    def _read_ip6(self, buf: bytes, at: int, end: int, stop: int) -> _Payload | str:
        if at + 40 > end:
            return "unreadable"
        version, length, protocol = _unpack_ipv6(buf, at)
        if version >> 4 != 6:
            return "unreadable"
        if length:
            stop = at + 40 + length
        addresses = buf[at + 8 : at + 40]
        at += 40
        protocol, at = _skip_extensions(buf, at, min(end, stop), protocol)
        if protocol < 0:
            return "unreadable"
        if protocol == _FRAGMENT:
            word = int.from_bytes(buf[at + 2 : at + 4], "big")
            name = addresses + buf[at + 4 : at + 8]
            data = buf[at + 8 : stop] if stop <= end else None
            return self._add_fragment(name, word & 0xFFF8, bool(word & 1), buf[at], data, addresses)
        return protocol, buf, at, end, stop, addresses

    def _add_fragment(
        self, name: bytes, at: int, more: bool, protocol: int, data: bytes | None, addresses: bytes
    ) -> _Payload | str:
        """The payload of the whole packet, where this fragment was the last one missing; else `fragments`."""
        whole = self.fragments.add(name, at, more, protocol, data)
        if whole is None:
            return "fragments"
        protocol, data = whole
        return protocol, data, 0, len(data), len(data), addresses

    def count_cut(self, size: int, count: int = 1) -> None:
        """Count packets that are cut at `size`; beyond CUT_SIZES_MAX sizes the smallest counts as a greater one."""
        if size not in self.cut and len(self.cut) >= CUT_SIZES_MAX:
            least = min(self.cut)
            if size < least:
                size = least
            else:
                count += self.cut.pop(least)
        self.cut[size] = self.cut.get(size, 0) + count


def _skip_extensions(buf: bytes, at: int, end: int, protocol: int) -> tuple[int, int]:
    """(protocol, offset) after the IPv6 extension headers, or of a whole fragment header; protocol -1 where cut off."""
    for _ in range(_EXTENSIONS_MAX):
        if protocol not in EXTENSION_HEADERS:
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
