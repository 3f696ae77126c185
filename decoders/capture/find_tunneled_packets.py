"""A packet that carries another one in, the network protocol and the offset of the inner packet out.

Three tables name the inner protocol: by EtherType (or PPP's number), by IP protocol, by UDP port. A header that does
not look as its specification says is no tunnel: other programs' traffic on these ports stays UDP.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from decoders.capture.link_types import (
    BRIDGED,
    IP4,
    IP6,
    LLC,
    MPLS,
    PPPOE,
    SHORT,
    EthertypeAndOffset,
    Follow,
    follow_80211,
    follow_ethernet,
    follow_ethertype_header,
    follow_llc,
    follow_ppp,
)

__all__ = ["IP_TUNNELS", "LAYERS", "UDP_TUNNELS", "find_tunneled_packet", "skip_layers_below_ip"]

_LAYERS_MAX: Final = 4
_MPLS_MULTICAST: Final = 0x8848
_PPP: Final = 0x880B
# Cisco's ERSPAN: types I and II, and III.
_ERSPAN: Final = 0x88BE
_ERSPAN_3: Final = 0x22EB
# Cisco's redirection to web caches, in GRE.
_WCCP: Final = 0x883E
_NSH: Final = 0x894F
_UDP: Final = 17

_U16: Final = Struct(">H").unpack_from
_PORTS: Final = Struct(">HH").unpack_from
_NONE: Final = (0, 0)
# EtherTypes of IP, VLAN tags and ARP.
_ETHERTYPES: Final = (b"\x08\0", b"\x86\xdd", b"\x81\0", b"\x88\xa8", b"\x08\6")


def skip_layers_below_ip(ethertype: int, buf: bytes, at: int, end: int) -> EthertypeAndOffset:
    """(EtherType, offset) after the layers between link and network in buf[at:end]: MPLS, PPPoE, bridged Ethernet."""
    for _ in range(_LAYERS_MAX):
        layer = LAYERS.get(ethertype)
        if layer is None:
            break
        ethertype, at = layer(buf, at, end)
    return ethertype, at


def find_tunneled_packet(ip_protocol: int, buf: bytes, at: int, end: int) -> tuple[int, int] | None:
    """(EtherType, offset) of the packet that the IP payload buf[at:end] carries; None where it carries none."""
    if ip_protocol == _UDP:
        if at + 16 > end:
            return None
        tunnel = UDP_TUNNELS.get(_PORTS(buf, at)[1])
        at += 8
    else:
        tunnel = IP_TUNNELS.get(ip_protocol)
    if tunnel is None:
        return None
    kind, at = tunnel(buf, at, end)
    return (kind, at) if kind > 0 and at < end else None


def _follow_mpls(buf: bytes, at: int, end: int) -> EthertypeAndOffset:
    """An MPLS label stack (RFC 3032), then IP, or Ethernet with or without a control word before it (RFC 4448)."""
    while at + 4 < end:
        bottom = buf[at + 2] & 1
        at += 4
        if bottom:
            first = buf[at] >> 4
            if first in (4, 6):
                return (IP4 if first == 4 else IP6), at
            # No control word: the frame's addresses may begin with 0 too, but its EtherType tells.
            bare = first or buf[at + 12 : at + 14] in _ETHERTYPES
            return BRIDGED, at if bare else at + 4
    return SHORT, end


def _follow_pppoe_session(buf: bytes, at: int, end: int) -> EthertypeAndOffset:
    """A PPPoE session frame (RFC 2516): version and type, code 0, session, length."""
    if at + 8 > end:
        return SHORT, end
    return follow_ppp(buf, at + 6, end) if buf[at] == 0x11 and buf[at + 1] == 0 else _NONE


def _follow_gre(buf: bytes, at: int, end: int) -> EthertypeAndOffset:
    """GRE (RFC 2784, 2890), PPTP's form of it (RFC 2637), and ERSPAN in it."""
    if at + 4 > end:
        return _NONE
    flags, kind = _PORTS(buf, at)
    version = flags & 7
    if version > 1 or flags & 0x4000:  # source routes are of RFC 1701 and obsolete
        return _NONE
    at += 4 + 4 * (bool(flags & 0x8000) + bool(flags & 0x2000) + bool(flags & 0x1000))
    if version == 1:
        return follow_ppp(buf, at + (4 if flags & 0x80 else 0), end) if kind == _PPP else _NONE
    if kind == _ERSPAN and flags & 0x1000:  # type I has no sequence number, and no header of its own
        at += 8
    elif kind == _ERSPAN_3:
        if at + 12 > end:
            return _NONE
        at += 20 if buf[at + 11] & 1 else 12
    if kind in (_ERSPAN, _ERSPAN_3):
        kind = BRIDGED
    if kind == _WCCP:  # version 2 has a header of its own, version 1 has none
        return _follow_bare_ip(buf, at if at < end and buf[at] >> 4 == 4 else at + 4, end)
    return kind, at


def _follow_vxlan(buf: bytes, at: int, end: int) -> EthertypeAndOffset:
    """VXLAN (RFC 7348), with the bits of the group-policy extension: a flag says that the network id is there."""
    del end
    return (BRIDGED, at + 8) if buf[at] & 0x77 == 0 and buf[at] & 8 and buf[at + 7] == 0 else _NONE


def _follow_vxlan_gpe(buf: bytes, at: int, end: int) -> EthertypeAndOffset:
    """VXLAN-GPE, the generic protocol extension: the header names the inner protocol."""
    del end
    return (_GPE.get(buf[at + 3], 0), at + 8) if buf[at] & 0xF4 == 4 else _NONE


def _follow_geneve(buf: bytes, at: int, end: int) -> EthertypeAndOffset:
    """Geneve (RFC 8926): options in words of four bytes, and an EtherType."""
    del end
    if buf[at] >> 6 or buf[at + 7]:
        return _NONE
    return _U16(buf, at + 2)[0], at + 8 + (buf[at] & 63) * 4


def _follow_gtp_u(buf: bytes, at: int, end: int) -> EthertypeAndOffset:
    """GTP-U (3GPP TS 29.281): a subscriber's packet (type 255), after optional fields and extension headers."""
    if buf[at] >> 4 != 3 or buf[at + 1] != 255:
        return _NONE
    extended = buf[at] & 7
    more = buf[at] & 4
    at += 8
    if extended:
        if at + 4 > end:
            return _NONE
        more = more and buf[at + 3]
        at += 4
    while more:
        size = buf[at] * 4 if at < end else 0
        if not size or at + size > end:
            return _NONE
        more = buf[at + size - 1]
        at += size
    return _follow_bare_ip(buf, at, end)


def _follow_bare_ip(buf: bytes, at: int, end: int) -> EthertypeAndOffset:
    return (_VERSIONS.get(buf[at] >> 4, 0), at) if at < end else _NONE


def _follow_vn_tag(buf: bytes, at: int, end: int) -> EthertypeAndOffset:
    """A VN-tag, which fabric extenders put before VLAN tags (IEEE 802.1Qbh): four bytes, an EtherType."""
    return follow_ethertype_header(buf, at, end, 4, 6)


def _follow_mac_in_mac(buf: bytes, at: int, end: int) -> EthertypeAndOffset:
    """The service tag of a provider's backbone bridge (IEEE 802.1ah): flags and a number, then an Ethernet frame."""
    return follow_ethernet(buf, at + 4, end)


def _follow_macsec(buf: bytes, at: int, end: int) -> EthertypeAndOffset:
    """MACsec (IEEE 802.1AE) that does not encrypt; its check value at the end is beyond the length of IP."""
    if at + 6 > end:
        return SHORT, end
    flags = buf[at]
    if flags & 0x8C:  # another version; encrypted; changed
        return 0, at
    size = 14 if flags & 0x20 else 6  # with the sender's identifier
    return follow_ethertype_header(buf, at, end, size, size + 2)


def _follow_nsh(buf: bytes, at: int, end: int) -> EthertypeAndOffset:
    """A network service header (RFC 8300): its length in words of four bytes, and the inner protocol."""
    if at + 8 > end or buf[at] >> 6:
        return _NONE
    return _GPE.get(buf[at + 3], 0), at + 4 * (buf[at + 1] & 63)


def _follow_seamless_redundancy(buf: bytes, at: int, end: int) -> EthertypeAndOffset:
    """The tag of HSR (IEC 62439-3): path and size, a number, an EtherType."""
    return follow_ethertype_header(buf, at, end, 4, 6)


def _follow_cisco_metadata(buf: bytes, at: int, end: int) -> EthertypeAndOffset:
    """The security group tag of Cisco TrustSec: version 1, length 1, an option, the group, an EtherType."""
    return follow_ethertype_header(buf, at, end, 6, 8) if buf[at : at + 2] == b"\1\1" else _NONE


def _follow_trill(buf: bytes, at: int, end: int) -> EthertypeAndOffset:
    """TRILL (RFC 6325): a header of six bytes with options in words of four bytes, then an Ethernet frame."""
    if at + 6 > end:
        return SHORT, end
    words = _U16(buf, at)[0] >> 6 & 31
    return (0, at) if buf[at] >> 6 else follow_ethernet(buf, at + 6 + 4 * words, end)


def _follow_ethernet_in_ip(buf: bytes, at: int, end: int) -> EthertypeAndOffset:
    """EtherIP (RFC 3378): version 3 and zeros, then an Ethernet frame."""
    return (BRIDGED, at + 2) if buf[at : at + 2] == b"\x30\0" and at + 2 < end else _NONE


def _follow_l2tp(buf: bytes, at: int, end: int) -> EthertypeAndOffset:
    """A data message of L2TP 2 (RFC 2661): flags say which fields there are; a PPP frame follows."""
    flags = _U16(buf, at)[0]
    if flags & 0x800F != 2:
        return _NONE
    at += 6 + (2 if flags & 0x4000 else 0) + (4 if flags & 0x0800 else 0)
    if flags & 0x0200:
        if at + 2 > end:
            return _NONE
        at += 2 + _U16(buf, at)[0]
    return follow_ppp(buf, at, end)


def _follow_lisp(buf: bytes, at: int, end: int) -> EthertypeAndOffset:
    """A data packet of LISP (RFC 9300): flags and eight bytes in all, then an IP packet."""
    return _follow_bare_ip(buf, at + 8, end) if not buf[at] & 7 else _NONE


def _follow_tzsp(buf: bytes, at: int, end: int) -> EthertypeAndOffset:
    """TaZmen Sniffer Protocol: the kind of the frame, then tagged fields up to an end tag, then the frame."""
    if buf[at] != 1 or buf[at + 1] > 1:
        return _NONE
    frame = _TZSP.get(_U16(buf, at + 2)[0])
    at += 4
    while at < end and buf[at] != 1:
        if buf[at]:  # 0 is padding, of one byte
            if at + 2 > end:
                return _NONE
            at += 1 + buf[at + 1]
        at += 1
    return frame(buf, at + 1, end) if frame is not None and at + 1 < end else _NONE


def _follow_ip_in_ip(buf: bytes, at: int, end: int) -> EthertypeAndOffset:
    del buf, end
    return IP4, at


def _follow_ipv6_in_ip(buf: bytes, at: int, end: int) -> EthertypeAndOffset:
    del buf, end
    return IP6, at


_VERSIONS: Final = {4: IP4, 6: IP6}
# The next protocols of VXLAN-GPE and NSH.
_GPE: Final = {1: IP4, 2: IP6, 3: BRIDGED, 4: _NSH, 5: MPLS}

# Frames in TZSP, by its numbers.
_TZSP: Final[dict[int, Follow]] = {1: follow_ethernet, 18: follow_80211}

LAYERS: Final[dict[int, Follow]] = {
    LLC: follow_llc,
    MPLS: _follow_mpls,
    _MPLS_MULTICAST: _follow_mpls,
    PPPOE: _follow_pppoe_session,
    BRIDGED: follow_ethernet,
    0x22F3: _follow_trill,
    0x8926: _follow_vn_tag,
    0x88E5: _follow_macsec,
    0x88E7: _follow_mac_in_mac,
    0x8909: _follow_cisco_metadata,
    0x892F: _follow_seamless_redundancy,
    _NSH: _follow_nsh,
}

IP_TUNNELS: Final[dict[int, Follow]] = {
    4: _follow_ip_in_ip,  # IP in IP (RFC 2003)
    41: _follow_ipv6_in_ip,  # RFC 4213
    47: _follow_gre,
    97: _follow_ethernet_in_ip,
    137: _follow_mpls,  # RFC 4023
}

# By destination port.
UDP_TUNNELS: Final[dict[int, Follow]] = {
    1701: _follow_l2tp,
    2152: _follow_gtp_u,
    4341: _follow_lisp,
    4789: _follow_vxlan,
    4790: _follow_vxlan_gpe,
    6081: _follow_geneve,
    6635: _follow_mpls,  # RFC 7510
    8472: _follow_vxlan,  # Linux before VXLAN had a number; flannel and Cilium still
    37008: _follow_tzsp,
}
