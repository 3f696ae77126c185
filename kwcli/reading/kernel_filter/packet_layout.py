"""Places of the fields of a captured packet in, conditions on them out: link layer, IPv4, IPv6, TCP and UDP ports.

The functions name what libpcap's language names (pcap-filter(7)), and ask the bytes that its programs ask.
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Network, IPv6Network
from typing import Final

from decoders.capture.link_types import ARP, IP4, IP6
from decoders.named_tuple import NamedTuple
from kwcli.reading.kernel_filter.bpf_program import (
    JUMP_ABOVE,
    JUMP_ANY_BIT,
    JUMP_AT_LEAST,
    JUMP_EQUAL,
    NEVER,
    Condition,
    Load,
    Test,
    all_of,
    any_of,
    negate,
)

RARP: Final = 0x8035
VLAN_TYPES: Final = (0x8100, 0x88A8, 0x9100)
ICMP, TCP, UDP, ICMP6, SCTP = 1, 6, 17, 58, 132
FRAGMENT: Final = 44
# The bits of the IPv4 header's word with flags and fragment offset that are the offset.
OFFSET_BITS: Final = 0x1FFF
# linux/filter.h, SKF_AD_OFF: the kernel's own facts of a packet, at negative offsets. A tag that the kernel took out
# of the packet is told here.
_FACTS: Final = 0x1_0000_0000 - 0x1000
TAG: Final = _FACTS + 44
TAG_PRESENT: Final = _FACTS + 48
TAG_ID_BITS: Final = 0x0FFF

SOURCE: Final = "src"
TARGET: Final = "dst"
EITHER: Final = "src or dst"
BOTH: Final = "src and dst"


class PacketLayout(NamedTuple):
    """How a packet begins: with an Ethernet header, behind which `tags` VLAN tags stand, or with IP at once."""

    ethernet: bool = True
    tags: int = 0

    @property
    def network_header_at(self) -> int:
        """The offset of the network header."""
        return 14 + 4 * self.tags if self.ethernet else 0

    def condition_for_ethertype(self, number: int) -> Condition:
        """Whether the packet has this EtherType; a bare IP packet says by its version what it is."""
        if self.ethernet:
            return condition_equals(self.network_header_at - 2, 2, number)
        version = {IP4: 0x40, IP6: 0x60}.get(number)
        return NEVER if version is None else Test(Load(0, 1, mask=0xF0), JUMP_EQUAL, version)


def condition_equals(at: int, size: int, value: int) -> Condition:
    """Whether the number of `size` bytes at `at` is this one."""
    return Test(Load(at, size), JUMP_EQUAL, value)


def condition_for_protocol(layout: PacketLayout, number: int) -> Condition:
    """IPv4 or IPv6 of this protocol; also where IPv6 names it behind a fragment header."""
    return any_of(condition_for_protocol6(layout, number), condition_for_protocol4(layout, number))


def condition_for_protocol4(layout: PacketLayout, number: int) -> Condition:
    return all_of(layout.condition_for_ethertype(IP4), condition_equals(layout.network_header_at + 9, 1, number))


def condition_for_protocol6(layout: PacketLayout, number: int) -> Condition:
    at = layout.network_header_at
    behind = all_of(condition_equals(at + 6, 1, FRAGMENT), condition_equals(at + 40, 1, number))
    return all_of(layout.condition_for_ethertype(IP6), any_of(condition_equals(at + 6, 1, number), behind))


def condition_for_port(layout: PacketLayout, protocols: Iterable[int], first: int, last: int, side: str) -> Condition:
    """TCP, UDP or SCTP with a port from `first` to `last` on a side; of fragments, the first."""
    return any_of(
        _condition_for_port6(layout, protocols, first, last, side),
        _condition_for_port4(layout, protocols, first, last, side),
    )


def _condition_for_port4(layout: PacketLayout, protocols: Iterable[int], first: int, last: int, side: str) -> Condition:
    at = layout.network_header_at
    return all_of(
        layout.condition_for_ethertype(IP4),
        any_of(*(condition_equals(at + 9, 1, protocol) for protocol in protocols)),
        condition_for_first_fragment(layout),
        condition_for_side(side, *(condition_between(Load(place, 2, at), first, last) for place in (0, 2))),
    )


def _condition_for_port6(layout: PacketLayout, protocols: Iterable[int], first: int, last: int, side: str) -> Condition:
    at = layout.network_header_at
    return all_of(
        layout.condition_for_ethertype(IP6),
        any_of(*(condition_equals(at + 6, 1, protocol) for protocol in protocols)),
        condition_for_side(side, *(condition_between(Load(at + 40 + place, 2), first, last) for place in (0, 2))),
    )


def condition_for_first_fragment(layout: PacketLayout) -> Condition:
    """Whether an IPv4 packet is none of the later fragments, which have no ports."""
    return negate(Test(Load(layout.network_header_at + 6, 2), JUMP_ANY_BIT, OFFSET_BITS))


def condition_between(load: Load, first: int, last: int) -> Condition:
    if first == last:
        return Test(load, JUMP_EQUAL, first)
    return all_of(Test(load, JUMP_AT_LEAST, first), negate(Test(load, JUMP_ABOVE, last)))


def condition_for_side(side: str, source: Condition, target: Condition) -> Condition:
    """The condition of one side, of either, or of both."""
    if side in (SOURCE, TARGET):
        return source if side == SOURCE else target
    return all_of(source, target) if side == BOTH else any_of(source, target)


def condition_for_address(
    layout: PacketLayout, network: IPv4Network | IPv6Network, side: str, *, arp: bool
) -> Condition:
    """An address of a network on a side of IPv4 or IPv6; with `arp`, in ARP and RARP as well."""
    at = layout.network_header_at
    if isinstance(network, IPv6Network):
        sides = condition_for_side(side, *(_condition_for_network6(place, network) for place in (at + 8, at + 24)))
        return all_of(layout.condition_for_ethertype(IP6), sides)
    in_ip = condition_for_side(side, *(_condition_for_network4(place, network) for place in (at + 12, at + 16)))
    found = all_of(layout.condition_for_ethertype(IP4), in_ip)
    if not arp or not layout.ethernet:
        return found
    in_arp = condition_for_side(side, *(_condition_for_network4(place, network) for place in (at + 14, at + 24)))
    return any_of(found, *(all_of(layout.condition_for_ethertype(kind), in_arp) for kind in (ARP, RARP)))


def _condition_for_network4(at: int, network: IPv4Network) -> Condition:
    mask = int(network.netmask)
    load = Load(at, 4, mask=None if mask == 0xFFFFFFFF else mask)
    return Test(load, JUMP_EQUAL, int(network.network_address))


def _condition_for_network6(at: int, network: IPv6Network) -> Condition:
    words = []
    for place in range(4):
        shift = 96 - 32 * place
        mask, value = (int(part) >> shift & 0xFFFFFFFF for part in (network.netmask, network.network_address))
        words.append(Test(Load(at + 4 * place, 4, mask=None if mask == 0xFFFFFFFF else mask), JUMP_EQUAL, value))
    return all_of(*words)


def condition_for_vlan_tag(layout: PacketLayout, number: int | None) -> Condition:
    """A VLAN tag in the packet behind those that the layout has, of this VLAN or of any."""
    if not layout.ethernet:
        return NEVER
    tagged = any_of(*(layout.condition_for_ethertype(kind) for kind in VLAN_TYPES))
    if number is None:
        return tagged
    return all_of(tagged, Test(Load(layout.network_header_at, 2, mask=TAG_ID_BITS), JUMP_EQUAL, number))


def condition_for_removed_vlan_tag(number: int | None) -> Condition:
    """A VLAN tag that the kernel took out of the packet, of this VLAN or of any."""
    present = negate(Test(Load(TAG_PRESENT, 1), JUMP_EQUAL, 0))
    if number is None:
        return present
    return all_of(present, Test(Load(TAG, 2, mask=TAG_ID_BITS), JUMP_EQUAL, number))
