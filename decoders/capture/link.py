"""One captured frame in, the network protocol and where its header begins out, for every link type that kw reads.

`LINKS` is the registry: one row a link type. `size`, `head`, `ip4` and `ip6` describe the usual frame to the fused
loops of `pcap` and `pcapng`: `head` is a `struct` format of `size` bytes with one value, which is `ip4` or `ip6` where
an IP header follows directly. `follow` is the plain way, for every frame.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from struct import Struct
from typing import Final

__all__ = ["ARP", "IP4", "IP6", "LINKS", "NO_LINK", "SHORT", "UNSUPPORTED", "Link"]

IP4: Final = 0x0800
IP6: Final = 0x86DD
ARP: Final = 0x0806
# What `follow` says of a frame too short for its own header.
SHORT: Final = -1
# What it says where the link type is not supported.
NO_LINK: Final = -2
# IEEE 802.1Q, 802.1ad and two older values for the outer of two tags.
_TAGS: Final = frozenset({0x8100, 0x88A8, 0x9100, 0x9200})
_TAGS_MAX: Final = 8

# Address families as the systems number them: the BSDs, FreeBSD, Darwin and Linux differ on IPv6.
_FAMILIES: Final = {2: IP4, 10: IP6, 24: IP6, 28: IP6, 30: IP6}

_U16: Final = Struct(">H").unpack_from

Follow = Callable[[bytes, int, int], tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Link:
    """One link type. `follow(buf, at, end)` gives (EtherType, offset of what follows) for the frame in buf[at:end]."""

    name: str
    size: int
    head: str
    ip4: int | bytes
    ip6: int | bytes
    follow: Follow


def _typed(buf: bytes, at: int, end: int, field: int, size: int) -> tuple[int, int]:
    """A header of `size` bytes whose EtherType is at `field`; VLAN tags may follow."""
    kind = SHORT
    field += at
    at += size
    for _ in range(_TAGS_MAX):
        if at > end:
            return SHORT, end
        kind = _U16(buf, field)[0]
        if kind not in _TAGS:
            break
        field = at + 2
        at += 4
    return kind, at


def _ethernet(buf: bytes, at: int, end: int) -> tuple[int, int]:
    return _typed(buf, at, end, 12, 14)


def _cooked1(buf: bytes, at: int, end: int) -> tuple[int, int]:
    return _typed(buf, at, end, 14, 16)


def _cooked2(buf: bytes, at: int, end: int) -> tuple[int, int]:
    return _typed(buf, at, end, 0, 20)


def _loopback(buf: bytes, at: int, end: int) -> tuple[int, int]:
    """An address family in the byte order of whichever machine captured."""
    if at + 4 > end:
        return SHORT, end
    family = int.from_bytes(buf[at : at + 4], "little")
    if family > 0xFFFF:
        family = int.from_bytes(buf[at : at + 4], "big")
    return _FAMILIES.get(family, 0), at + 4


def _raw(buf: bytes, at: int, end: int) -> tuple[int, int]:
    if at >= end:
        return SHORT, end
    return {4: IP4, 6: IP6}.get(buf[at] >> 4, 0), at


def _unsupported(_buf: bytes, _at: int, end: int) -> tuple[int, int]:
    return NO_LINK, end


# Stands for a link type that has no row.
UNSUPPORTED: Final = Link("not supported", 0, "0s", 0, 0, _unsupported)

# Numbers of https://www.tcpdump.org/linktypes.html; 12 and 14 are raw IP in files of some systems.
LINKS: Final[dict[int, Link]] = {
    0: Link("loopback", 4, "I", 0x02000000, 0x1E000000, _loopback),
    1: Link("Ethernet", 14, "12xH", IP4, IP6, _ethernet),
    12: Link("raw IP", 0, "0s", b"", b"", _raw),
    14: Link("raw IP", 0, "0s", b"", b"", _raw),
    101: Link("raw IP", 0, "0s", b"", b"", _raw),
    108: Link("OpenBSD loopback", 4, "I", 2, 24, _loopback),
    113: Link("Linux cooked", 16, "14xH", IP4, IP6, _cooked1),
    228: Link("IPv4", 0, "0s", b"", b"", _raw),
    229: Link("IPv6", 0, "0s", b"", b"", _raw),
    276: Link("Linux cooked v2", 20, "H18x", IP4, IP6, _cooked2),
}
