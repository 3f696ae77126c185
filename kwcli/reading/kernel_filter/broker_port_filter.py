"""Ports of brokers in, the condition on packets out that may hold their traffic.

Beside TCP segments from and to the ports these are what a program for the kernel cannot see into, and kw can: later
fragments, IPv6 with extension headers, tunnels. VLAN tags in a packet are passed over, two at most.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Final

from decoders.capture.dissect_packets import AUTHENTICATION, EXTENSION_HEADERS
from decoders.capture.find_tunneled_packets import IP_TUNNELS, LAYERS, UDP_TUNNELS
from decoders.capture.link_types import IP4, IP6, LLC, LLC_SIZES
from kwcli.reading.kernel_filter.bpf_program import Condition, Load, all_of, any_of, negate
from kwcli.reading.kernel_filter.packet_layout import (
    TCP,
    UDP,
    VLAN_TYPES,
    PacketLayout,
    condition_between,
    condition_equals,
    condition_for_first_fragment,
)

__all__ = ["condition_for_broker_ports"]

TAGS_MAX: Final = 2


def condition_for_broker_ports(ports: Iterable[int], layout: PacketLayout) -> Condition:
    """The packets that may hold traffic from or to these TCP ports, with any number of tags up to two."""
    ranges = _join_ports_into_ranges(sorted(set(ports)))
    if not layout.ethernet:
        return _condition_for_network_layer(ranges, layout)
    found = _condition_for_network_layer(ranges, layout._replace(tags=TAGS_MAX))
    for tags in reversed(range(TAGS_MAX)):
        untagged = layout._replace(tags=tags)
        tagged = any_of(*(untagged.condition_for_ethertype(kind) for kind in VLAN_TYPES))
        found = any_of(all_of(tagged, found), all_of(negate(tagged), _condition_for_network_layer(ranges, untagged)))
    return found


def _join_ports_into_ranges(ports: Sequence[int]) -> list[tuple[int, int]]:
    """Ports that follow each other as their first and last one: a program has few instructions."""
    out: list[tuple[int, int]] = []
    for port in ports:
        if out and out[-1][1] == port - 1:
            out[-1] = (out[-1][0], port)
        else:
            out.append((port, port))
    return out


def _condition_for_network_layer(ranges: Sequence[tuple[int, int]], layout: PacketLayout) -> Condition:
    layers = [layout.condition_for_ethertype(kind) for kind in LAYERS if kind != LLC] if layout.ethernet else []
    if layout.ethernet:
        layers.append(condition_between(Load(layout.network_header_at - 2, 2), LLC_SIZES[0], LLC_SIZES[-1]))
    return any_of(
        all_of(layout.condition_for_ethertype(IP4), _condition_for_ip4(ranges, layout)),
        all_of(layout.condition_for_ethertype(IP6), _condition_for_ip6(ranges, layout)),
        *layers,
    )


def _condition_for_ip4(ranges: Sequence[tuple[int, int]], layout: PacketLayout) -> Condition:
    at = layout.network_header_at
    tunnels = [condition_equals(at + 9, 1, protocol) for protocol in (*IP_TUNNELS, AUTHENTICATION)]
    source, target = (Load(place, 2, at) for place in (0, 2))
    return any_of(
        negate(condition_for_first_fragment(layout)),
        all_of(condition_equals(at + 9, 1, TCP), _condition_for_port_ranges(ranges, source, target)),
        *tunnels,
        all_of(condition_equals(at + 9, 1, UDP), _condition_for_tunnel(target)),
    )


def _condition_for_ip6(ranges: Sequence[tuple[int, int]], layout: PacketLayout) -> Condition:
    at = layout.network_header_at
    opaque = [condition_equals(at + 6, 1, protocol) for protocol in chain(sorted(EXTENSION_HEADERS), IP_TUNNELS)]
    source, target = (Load(at + 40 + place, 2) for place in (0, 2))
    return any_of(
        all_of(condition_equals(at + 6, 1, TCP), _condition_for_port_ranges(ranges, source, target)),
        *opaque,
        all_of(condition_equals(at + 6, 1, UDP), _condition_for_tunnel(target)),
    )


def _condition_for_port_ranges(ranges: Sequence[tuple[int, int]], source: Load, target: Load) -> Condition:
    return any_of(*(condition_between(load, *ends) for load in (source, target) for ends in ranges))


def _condition_for_tunnel(target: Load) -> Condition:
    return any_of(*(condition_between(target, port, port) for port in UDP_TUNNELS))
