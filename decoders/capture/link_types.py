"""One captured frame in, its network protocol and the offset of the network packet out: link types and PPP."""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Final, Literal

from decoders.named_tuple import NamedTuple

__all__ = [
    "ARP",
    "BRIDGED",
    "IP4",
    "IP6",
    "LINKS",
    "LINK_TYPE_REMEDY",
    "LLC",
    "LLC_SIZES",
    "MPLS",
    "NO_LINK",
    "PPPOE",
    "SHORT",
    "UNSUPPORTED",
    "EthertypeAndOffset",
    "Follow",
    "Link",
    "describe_link_type_remedy",
    "follow_80211",
    "follow_ethernet",
    "follow_ethertype_header",
    "follow_llc",
    "follow_ppp",
]

IP4: Final = 0x0800
IP6: Final = 0x86DD
ARP: Final = 0x0806
MPLS: Final = 0x8847
PPPOE: Final = 0x8864
# Transparent Ethernet bridging: a whole Ethernet frame follows (RFC 1701).
BRIDGED: Final = 0x6558
# Stands for a frame with a length where others have their EtherType: an LLC header follows (IEEE 802.3, 802.2).
LLC: Final = 0x1_0000
LLC_SIZES: Final = range(1501)
# The protocol that `follow` gives for a frame too short for its own header.
SHORT: Final = -1
# The protocol that `follow` gives where the link type is not supported.
NO_LINK: Final = -2
# IEEE 802.1Q, 802.1ad and two older values for the outer of two tags.
_TAGS: Final = frozenset({0x8100, 0x88A8, 0x9100, 0x9200})
_TAGS_MAX: Final = 8

# Address families as the systems number them: the BSDs, FreeBSD, Darwin and Linux differ on IPv6.
_FAMILIES: Final = {2: IP4, 10: IP6, 24: IP6, 28: IP6, 30: IP6}

# PPP's numbers of network protocols (IANA).
_PPP: Final = {0x21: IP4, 0x57: IP6, 0x281: MPLS, 0x283: MPLS}
# The attribute of a netfilter log message that is the packet: NFULA_PAYLOAD.
_NFLOG_PAYLOAD: Final = 9

# LLC headers: SNAP, the organisations whose numbers in SNAP are EtherTypes, and IP's own (RFC 1042, IEEE 802.1H).
_SNAP: Final = b"\xaa\xaa\x03"
_SNAP_OF_ETHERTYPES: Final = frozenset({b"\0\0\0", b"\0\0\xf8"})
_LLC_OF_IP: Final = b"\x06\x06\x03"

_U16: Final = Struct(">H").unpack_from
_TCP: Final = 6
_TCP_SIZE: Final = 20

EthertypeAndOffset = tuple[int, int]
Follow = Callable[[bytes, int, int], EthertypeAndOffset]


class Link(NamedTuple):
    """One link type. `follow(buf, at, end)` gives (EtherType, offset of the packet) for the frame in buf[at:end]."""

    name: str
    size: int
    head: str
    ip4: int | bytes
    ip6: int | bytes
    follow: Follow


def follow_ethertype_header(buf: bytes, at: int, end: int, ethertype_at: int, header_size: int) -> EthertypeAndOffset:
    """A header of `header_size` bytes whose EtherType is at `ethertype_at`; VLAN tags may follow."""
    kind = SHORT
    ethertype_at += at
    at += header_size
    for _ in range(_TAGS_MAX):
        if at > end:
            return SHORT, end
        kind = _U16(buf, ethertype_at)[0]
        if kind not in _TAGS:
            break
        ethertype_at = at + 2
        at += 4
    return kind, at


def follow_ethernet(buf: bytes, at: int, end: int) -> EthertypeAndOffset:
    kind, at = follow_ethertype_header(buf, at, end, 12, 14)
    return (LLC if kind in LLC_SIZES else kind), at


def follow_llc(buf: bytes, at: int, end: int) -> EthertypeAndOffset:
    """An LLC header: SNAP with an EtherType (RFC 1042), or the service access point of IP."""
    if at + 8 <= end and buf[at : at + 3] == _SNAP and buf[at + 3 : at + 6] in _SNAP_OF_ETHERTYPES:
        return follow_ethertype_header(buf, at, end, 6, 8)
    return (IP4, at + 3) if buf[at : at + 3] == _LLC_OF_IP else (0, at)


def _follow_fddi(buf: bytes, at: int, end: int) -> EthertypeAndOffset:
    """FDDI: frame control, two addresses, LLC (RFC 1188)."""
    return follow_llc(buf, at + 13, end)


def follow_80211(buf: bytes, at: int, end: int) -> EthertypeAndOffset:
    """A data frame of IEEE 802.11 that is not encrypted; other frames carry no packet."""
    if at + 24 > end:
        return SHORT, end
    kind, flags = buf[at], buf[at + 1]
    if kind & 0x0C != 0x08 or kind & 0x40 or flags & 0x40:  # no data frame, without data, protected
        return 0, at
    size = 24 + (6 if flags & 3 == 3 else 0)  # a fourth address between two access points
    if kind & 0x80:  # quality of service, and control fields of 802.11n
        size += 6 if flags & 0x80 else 2
    return follow_llc(buf, at + size, end)


def _follow_radiotap(buf: bytes, at: int, end: int) -> EthertypeAndOffset:
    """A radiotap header, which states its length, and an 802.11 frame (radiotap.org)."""
    if at + 4 > end or buf[at]:
        return SHORT, end
    return follow_80211(buf, at + int.from_bytes(buf[at + 2 : at + 4], "little"), end)


def _follow_per_packet_information(buf: bytes, at: int, end: int) -> EthertypeAndOffset:
    """CACE's PPI: a header that states its length and the link type of its frame."""
    if at + 8 > end or buf[at]:
        return SHORT, end
    size, link = int.from_bytes(buf[at + 2 : at + 4], "little"), int.from_bytes(buf[at + 4 : at + 8], "little")
    behind = LINKS.get(link, UNSUPPORTED)
    if size < 8 or at + size > end or behind.follow is _follow_per_packet_information:
        return SHORT, end
    return behind.follow(buf, at + size, end)


def _follow_ip_over_infiniband(buf: bytes, at: int, end: int) -> EthertypeAndOffset:
    """A global routing header of 40 bytes, then an EtherType and a reserved field (RFC 4391)."""
    return follow_ethertype_header(buf, at, end, 40, 44)


def follow_ppp(buf: bytes, at: int, end: int) -> EthertypeAndOffset:
    """A PPP frame, with address and control field or without; its protocol in one byte or two (RFC 1661, 1662)."""
    if buf[at : at + 2] == b"\xff\x03":
        at += 2
    if at >= end:
        return SHORT, end
    if buf[at] & 1:
        return _PPP.get(buf[at], 0), at + 1
    return (_PPP.get(_U16(buf, at)[0], 0), at + 2) if at + 2 <= end else (SHORT, end)


def _follow_pppoe(buf: bytes, at: int, end: int) -> EthertypeAndOffset:
    del buf, end
    return PPPOE, at


def _follow_cisco_hdlc(buf: bytes, at: int, end: int) -> EthertypeAndOffset:
    return follow_ethertype_header(buf, at, end, 2, 4)


def _follow_linux_cooked(buf: bytes, at: int, end: int) -> EthertypeAndOffset:
    return follow_ethertype_header(buf, at, end, 14, 16)


def _follow_linux_cooked_v2(buf: bytes, at: int, end: int) -> EthertypeAndOffset:
    return follow_ethertype_header(buf, at, end, 0, 20)


def _follow_bsd_loopback(buf: bytes, at: int, end: int) -> EthertypeAndOffset:
    """A loopback header: an address family, in the byte order of the machine that captured."""
    if at + 4 > end:
        return SHORT, end
    family = int.from_bytes(buf[at : at + 4], "little")
    if family > 0xFFFF:
        family = int.from_bytes(buf[at : at + 4], "big")
    return _FAMILIES.get(family, 0), at + 4


def _follow_openbsd_ipsec(buf: bytes, at: int, end: int) -> EthertypeAndOffset:
    """OpenBSD's IPsec interface: an address family, an SPI and flags, in the byte order of the machine."""
    return (_follow_bsd_loopback(buf, at, end)[0], at + 12) if at + 12 <= end else (SHORT, end)


def _follow_openbsd_pflog(buf: bytes, at: int, end: int) -> EthertypeAndOffset:
    """The log of OpenBSD's packet filter: its header's length, padded to four bytes, then an address family."""
    if at + 2 > end:
        return SHORT, end
    return _FAMILIES.get(buf[at + 1], 0), at + (buf[at] + 3 & -4)


def _follow_netfilter_log(buf: bytes, at: int, end: int) -> EthertypeAndOffset:
    """Linux' netfilter log: an address family, then attributes, of which the packet is one."""
    family, at = buf[at] if at < end else 0, at + 4
    while at + 4 <= end:
        order: Literal["little", "big"] = "big" if buf[at + 3] else "little"  # the kind is below 256
        if buf[at + 2] | buf[at + 3] == _NFLOG_PAYLOAD:
            return _FAMILIES.get(family, 0), at + 4
        size = int.from_bytes(buf[at : at + 2], order)
        if size < 4:
            break
        at += size + 3 & -4
    return SHORT, end


def _follow_darwin_pktap(buf: bytes, at: int, end: int) -> EthertypeAndOffset:
    """Darwin's pktap: a header whose first word is its length and whose third word is the link type of its frame."""
    if at + 12 > end:
        return SHORT, end
    order: Literal["little", "big"] = "little" if buf[at + 3] == 0 else "big"
    size, _, link = (int.from_bytes(buf[at + word : at + word + 4], order) for word in (0, 4, 8))
    behind = LINKS.get(link, UNSUPPORTED)
    if size < 12 or at + size > end or behind.follow is _follow_darwin_pktap:
        return SHORT, end
    return behind.follow(buf, at + size, end)


def _follow_raw_ip(buf: bytes, at: int, end: int) -> EthertypeAndOffset:
    if at >= end:
        return SHORT, end
    return {4: IP4, 6: IP6}.get(buf[at] >> 4, 0), at


def _follow_unsupported_link(_buf: bytes, _at: int, end: int) -> EthertypeAndOffset:
    return NO_LINK, end


# The command that makes a capture that is read, where each frame has the same number of bytes before IP.
LINK_TYPE_REMEDY: Final = "where a header of SIZE bytes stands before IP: editcap -L -C SIZE -T rawip IN OUT"


def describe_link_type_remedy(frame: bytes) -> str:
    """What makes a capture that is read of one with an unsupported link type, of which this is a frame's beginning."""
    at = next((at for at in range(len(frame) - 19) if _begins_ip(frame, at)), None)
    if at is None:
        return LINK_TYPE_REMEDY
    cut = f"-L -C {at} " if at else ""
    return f"IP begins at byte {at} of its first frame: editcap {cut}-T rawip IN OUT"


def _begins_ip(frame: bytes, at: int) -> bool:
    """Whether a header of IP with TCP is at `at`, of IPv4 one whose checksum is right or left to the hardware."""
    if frame[at] >> 4 == 6:
        return at + 40 <= len(frame) and frame[at + 6] == _TCP and _U16(frame, at + 4)[0] >= _TCP_SIZE
    size = (frame[at] & 15) * 4
    if frame[at] >> 4 != 4 or size < 20 or at + size > len(frame) or frame[at + 9] != _TCP:
        return False
    words: int = sum(_U16(frame, place)[0] for place in range(at, at + size, 2))
    is_right = (words & 0xFFFF) + (words >> 16) == 0xFFFF or not _U16(frame, at + 10)[0]
    return is_right and bool(_U16(frame, at + 2)[0] >= size + _TCP_SIZE)


# Stands for a link type that has no row.
UNSUPPORTED: Final = Link("not supported", 0, "0s", 0, 0, _follow_unsupported_link)

# Numbers of https://www.tcpdump.org/linktypes.html; 12 and 14 are raw IP, 149 is pktap in files of
# some systems. A link type without a fixed place for the network protocol (`0s`, 0) has no usual packet.
LINKS: Final[dict[int, Link]] = {
    0: Link("loopback", 4, "I", 0x02000000, 0x1E000000, _follow_bsd_loopback),
    1: Link("Ethernet", 14, "12xH", IP4, IP6, follow_ethernet),
    9: Link("PPP", 0, "0s", 0, 0, follow_ppp),
    10: Link("FDDI", 0, "0s", 0, 0, _follow_fddi),
    12: Link("raw IP", 0, "0s", b"", b"", _follow_raw_ip),
    14: Link("raw IP", 0, "0s", b"", b"", _follow_raw_ip),
    50: Link("PPP in HDLC", 0, "0s", 0, 0, follow_ppp),
    51: Link("PPPoE", 0, "0s", 0, 0, _follow_pppoe),
    100: Link("ATM", 0, "0s", 0, 0, follow_llc),
    101: Link("raw IP", 0, "0s", b"", b"", _follow_raw_ip),
    104: Link("Cisco HDLC", 4, "2xH", IP4, IP6, _follow_cisco_hdlc),
    105: Link("802.11", 0, "0s", 0, 0, follow_80211),
    108: Link("OpenBSD loopback", 4, "I", 2, 24, _follow_bsd_loopback),
    109: Link("OpenBSD IPsec", 0, "0s", 0, 0, _follow_openbsd_ipsec),
    113: Link("Linux cooked", 16, "14xH", IP4, IP6, _follow_linux_cooked),
    117: Link("OpenBSD pflog", 0, "0s", 0, 0, _follow_openbsd_pflog),
    127: Link("radiotap", 0, "0s", 0, 0, _follow_radiotap),
    149: Link("Darwin pktap", 0, "0s", 0, 0, _follow_darwin_pktap),
    192: Link("PPI", 0, "0s", 0, 0, _follow_per_packet_information),
    228: Link("IPv4", 0, "0s", b"", b"", _follow_raw_ip),
    229: Link("IPv6", 0, "0s", b"", b"", _follow_raw_ip),
    239: Link("netfilter log", 0, "0s", 0, 0, _follow_netfilter_log),
    242: Link("IP over InfiniBand", 0, "0s", 0, 0, _follow_ip_over_infiniband),
    258: Link("Darwin pktap", 0, "0s", 0, 0, _follow_darwin_pktap),
    276: Link("Linux cooked v2", 20, "H18x", IP4, IP6, _follow_linux_cooked_v2),
}
