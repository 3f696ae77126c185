"""A packet and its new payload in, the packet with pseudonymous addresses out: only known fields of it are kept.

A usual packet (a known link header, then IP, then TCP) keeps its length. A packet from a tunnel, from fragments or from
another link is written as a packet of its own without these: link type raw IP. IP options become no-operations, and so
do all but a few TCP options; bytes after the packet become zeros. Checksums are right if all bytes that they cover are
there, and else 0.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Final

from decoders.capture.link_types import IP4, IP6, LINKS
from decoders.capture.read_packet_copies import PacketCopy
from decoders.named_tuple import NamedTuple
from decoders.scrubbing.pseudonyms import Pseudonyms

__all__ = ["RAW", "PacketScrubber", "RewrittenPacket"]

# Link type of packets that begin with their IP header.
RAW: Final = 101
_TCP: Final = 6
_IP4_HEAD: Final = Struct(">BBHHHBBH4s4s")
_IP6_HEAD: Final = Struct(">IHBB16s16s")
_U16: Final = Struct(">H")
_IP4_KEY: Final = 12
_HOPS: Final = 64
_DO_NOT_FRAGMENT: Final = 0x4000
_FRAGMENT: Final = 0x3FFF
_IP_MAX: Final = 0xFFFF
_TCP_MIN: Final = 20
_CHECKSUM_AT: Final = 16
_NO_OPERATION: Final = 1
# TCP options that say nothing about the host: maximum segment size, window scale, selective acknowledgements.
_OPTIONS_KEPT: Final = frozenset({2, 3, 4, 5})


class RewrittenPacket(NamedTuple):
    """A packet as it is written: its link type, its bytes, and its length on the wire."""

    link_type: int
    frame: bytes
    wire: int


class PacketScrubber:
    """Replaces the addresses of packets by pseudonyms; with `keeps_hosts`, IP addresses stay."""

    def __init__(self, pseudonyms: Pseudonyms, *, keeps_hosts: bool) -> None:
        self._pseudonyms = pseudonyms
        self._keeps = keeps_hosts

    def replace_address(self, packed: bytes) -> bytes:
        """The pseudonym of an IP address, or the address itself with `keeps_hosts`."""
        return packed if self._keeps else self._pseudonyms.address_pseudonym(packed)

    def rewrite_packet(self, packet: PacketCopy, payload: bytes) -> RewrittenPacket:
        """The TCP packet rewritten with a new payload, which has as many bytes as the old one."""
        return self._rewrite_in_place(packet, payload) or self._rewrite_as_raw_ip(packet, payload)

    def _rewrite_in_place(self, packet: PacketCopy, payload: bytes) -> RewrittenPacket | None:
        """The packet rewritten in place if it is a usual one (see the module); else None."""
        link_type, frame = packet.source[0], packet.frame
        head = _HEADS.get(link_type)
        if head is None or packet.earlier:
            return None
        kind, at = LINKS[link_type].follow(frame, 0, len(frame))
        size = _ip_header_size(frame, kind, at)
        start = at + size
        if not size or frame[start : start + len(packet.tcp)] != packet.tcp:
            return None
        out = bytearray(len(frame))
        out[:start] = frame[:start]
        if not self._keeps:
            head(self._pseudonyms, out)
        body = start + len(packet.tcp)
        end = body + len(payload)
        out[start:body] = _harmless_tcp_header(packet.tcp)
        out[body:end] = payload
        addresses = self._replace_ip_addresses(out, kind, at, size)
        _set_tcp_checksum(out, start, end, addresses, whole=not packet.missing)
        return RewrittenPacket(link_type, bytes(out), max(packet.wire, len(out)))

    def _replace_ip_addresses(self, out: bytearray, kind: int, at: int, size: int) -> bytes:
        """Replace the addresses, options and checksum of an IP header; returns both new addresses together."""
        begin, width = (at + 12, 4) if kind == IP4 else (at + 8, 16)
        middle, end = begin + width, begin + 2 * width
        out[begin:middle] = self.replace_address(bytes(out[begin:middle]))
        out[middle:end] = self.replace_address(bytes(out[middle:end]))
        if kind == IP4:
            out[at + _IP4_HEAD.size : at + size] = bytes((_NO_OPERATION,)) * (size - _IP4_HEAD.size)
            _U16.pack_into(out, at + 10, 0)
            _U16.pack_into(out, at + 10, _internet_checksum(bytes(out[at : at + size])))
        return bytes(out[begin:end])

    def _rewrite_as_raw_ip(self, packet: PacketCopy, payload: bytes) -> RewrittenPacket:
        """The packet rewritten as raw IP, with a new IP header."""
        width = 4 if len(packet.key) == _IP4_KEY else 16
        first, second = self.replace_address(packet.key[:width]), self.replace_address(packet.key[width : 2 * width])
        length = len(packet.tcp) + len(payload) + packet.missing
        out = bytearray()
        if width == 4:
            total = length + _IP4_HEAD.size
            fields = (0x45, 0, total if total <= _IP_MAX else 0, 0, _DO_NOT_FRAGMENT, _HOPS, _TCP, 0, first, second)
            out += _IP4_HEAD.pack(*fields)
            _U16.pack_into(out, 10, _internet_checksum(bytes(out)))
        else:
            out += _IP6_HEAD.pack(6 << 28, length if length <= _IP_MAX else 0, _TCP, _HOPS, first, second)
        start = len(out)
        out += _harmless_tcp_header(packet.tcp) + payload
        _set_tcp_checksum(out, start, len(out), first + second, whole=not packet.missing)
        return RewrittenPacket(RAW, bytes(out), len(out) + packet.missing)

    def with_tcp_checksum(self, packet: bytes) -> bytes:
        """A packet that begins with an IP header and then TCP, with its TCP checksum set."""
        out = bytearray(packet)
        start, begin = (_IP4_HEAD.size, 12) if packet[0] >> 4 == 4 else (_IP6_HEAD.size, 8)
        _set_tcp_checksum(out, start, len(out), bytes(out[begin:start]), whole=True)
        return bytes(out)


def _ip_header_size(frame: bytes, kind: int, at: int) -> int:
    """The size of the IP header at `at`; 0 if there is none, or TCP does not follow it directly."""
    if kind == IP4 and at + _IP4_HEAD.size <= len(frame):
        if frame[at + 9] == _TCP and not _U16.unpack_from(frame, at + 6)[0] & _FRAGMENT:
            return (frame[at] & 15) * 4
    elif kind == IP6 and at + _IP6_HEAD.size <= len(frame) and frame[at + 6] == _TCP:
        return _IP6_HEAD.size
    return 0


def _harmless_tcp_header(header: bytes) -> bytes:
    """The TCP header; options that are not known to be harmless become no-operations."""
    out = bytearray(header)
    at = _TCP_MIN
    while at < len(out):
        kind = out[at]
        size = out[at + 1] if at + 1 < len(out) else 0
        if kind == _NO_OPERATION:
            at += 1
            continue
        if kind == 0 or size < 2 or at + size > len(out):
            size = len(out) - at
            kind = -1
        if kind not in _OPTIONS_KEPT:
            out[at : at + size] = bytes((_NO_OPERATION,)) * size
        at += size
    return bytes(out)


def _set_tcp_checksum(out: bytearray, start: int, end: int, addresses: bytes, *, whole: bool) -> None:
    """Set the checksum of the TCP segment in `out[start:end]`, or 0 unless it is `whole`."""
    _U16.pack_into(out, start + _CHECKSUM_AT, 0)
    if whole:
        segment = bytes(out[start:end])
        pseudo = addresses + _TCP.to_bytes(4, "big") + len(segment).to_bytes(4, "big")
        _U16.pack_into(out, start + _CHECKSUM_AT, _internet_checksum(pseudo + segment))


def _internet_checksum(data: bytes) -> int:
    """The Internet checksum (RFC 1071)."""
    return -int.from_bytes(data + b"\0" * (len(data) & 1), "big") % 0xFFFF


# Functions that replace the addresses in link headers.


def _replace_ethernet_addresses(pseudonyms: Pseudonyms, out: bytearray) -> None:
    out[:6] = pseudonyms.mac_address_pseudonym(bytes(out[:6]))
    out[6:12] = pseudonyms.mac_address_pseudonym(bytes(out[6:12]))


def _replace_linux_cooked_address(pseudonyms: Pseudonyms, out: bytearray) -> None:
    _replace_cooked_address(pseudonyms, out, 6, int.from_bytes(out[4:6], "big"))


def _replace_linux_cooked_v2_address(pseudonyms: Pseudonyms, out: bytearray) -> None:
    _replace_cooked_address(pseudonyms, out, 12, out[11])


def _replace_cooked_address(pseudonyms: Pseudonyms, out: bytearray, at: int, size: int) -> None:
    """Replace the address in a Linux cooked header: a field of eight bytes, of which `size` are used."""
    size = min(size, 8)
    out[at : at + 8] = pseudonyms.mac_address_pseudonym(bytes(out[at : at + size])) + bytes(8 - size)


def _keep_link_header(pseudonyms: Pseudonyms, out: bytearray) -> None:
    del pseudonyms, out


# Link types whose headers are kept.
_HEADS: Final[dict[int, Callable[[Pseudonyms, bytearray], None]]] = {
    1: _replace_ethernet_addresses,
    113: _replace_linux_cooked_address,
    276: _replace_linux_cooked_v2_address,
    **dict.fromkeys((0, 9, 12, 14, 50, 101, 104, 108, 228, 229), _keep_link_header),
}
