"""Headers of tunnels, each with the fields that it may have: which packet is in it, and where it begins."""

from __future__ import annotations

from typing import Final

import pytest

from decoders.capture.find_tunneled_packets import find_tunneled_packet, skip_layers_below_ip

V4, V6, ETHERNET, IPV4, IPV6 = "45" + 19 * "00", "60" + 19 * "00", "bridged", "IPv4", "IPv6"
GRE: Final = 47
MPLS_IN_IP: Final = 137
NAMES: Final = {0x0800: IPV4, 0x86DD: IPV6}
TEB: Final = 0x6558


def name(found: tuple[int, int] | None) -> tuple[str, int] | None:
    return None if found is None else (NAMES.get(found[0], ETHERNET if found[0] == TEB else hex(found[0])), found[1])


@pytest.mark.parametrize(
    ("protocol", "header", "found"),
    [
        (4, "", (IPV4, 0)),
        (41, "", (IPV6, 0)),
        (50, "", None),
        # GRE: checksum, key, sequence number
        (GRE, "0000 0800", (IPV4, 4)),
        (GRE, "8000 0800 00000000", (IPV4, 8)),
        (GRE, "2000 86dd 00000001", (IPV6, 8)),
        (GRE, "1000 0800 00000001", (IPV4, 8)),
        (GRE, "b000 0800 00000000 00000001 00000002", (IPV4, 16)),
        (GRE, "4000 0800", None),  # a source route
        (GRE, "0002 0800", None),  # a version that is none
        (GRE, "0001 0800", None),
        # PPTP: key, sequence number, acknowledgement
        (GRE, "2001 880b 0000 0000 0021", (IPV4, 10)),
        (GRE, "3001 880b 0000 0000 00000001 0021", (IPV4, 14)),
        (GRE, "3081 880b 0000 0000 00000001 00000002 ff03 0021", (IPV4, 20)),
        (GRE, "3081 880b 0000 0000 00000001 00000002 57", (IPV6, 17)),
        # ERSPAN I, II and III, with the subheader and without
        (GRE, "0000 88be", (ETHERNET, 4)),
        (GRE, "1000 88be 00000001 0000000000000000", (ETHERNET, 16)),
        (GRE, "1000 22eb 00000001 0000000000000000 00000000", (ETHERNET, 20)),
        (GRE, "1000 22eb 00000001 0000000000000000 00000001 0000000000000000", (ETHERNET, 28)),
        # WCCP 1 and 2
        (GRE, "0000 883e", (IPV4, 4)),
        (GRE, "0000 883e 00000000", (IPV4, 8)),
        (97, "3000", (ETHERNET, 2)),
        (97, "3001", None),
        (97, "4000", None),
        (MPLS_IN_IP, "00010140", (IPV4, 4)),
        (MPLS_IN_IP, "00010040 00010140", (IPV4, 8)),
        (MPLS_IN_IP, "00010140 00000000", (ETHERNET, 8)),
        (MPLS_IN_IP, "00010140 10000000", (ETHERNET, 4)),
    ],
)
def test_in_ip(protocol: int, header: str, found: tuple[str, int] | None) -> None:
    ended = [name(find_tunneled_packet(protocol, data, 0, len(data))) for data in [bytes.fromhex(header + V4)]]
    assert ended == [found]


@pytest.mark.parametrize(
    ("port", "header", "inner", "found"),
    [
        (4789, "0800000000000100", V4, (ETHERNET, 16)),
        (8472, "8800000000000100", V4, (ETHERNET, 16)),
        (4789, "0000000000000100", V4, None),
        (4789, "0900000000000100", V4, None),
        (4789, "4800000000000100", V4, None),
        (4789, "0800000000000101", V4, None),
        (4790, "0c00000100000100", V4, (IPV4, 16)),
        (4790, "0c00000200000100", V6, (IPV6, 16)),
        (4790, "0d00000300000100", V4, (ETHERNET, 16)),
        (4790, "0c00000400000100", V4, ("0x894f", 16)),
        (4790, "0c00000700000100", V4, None),
        (4790, "0800000100000100", V4, None),
        (4790, "1c00000100000100", V4, None),
        (6081, "0000655800000100", V4, (ETHERNET, 16)),
        (6081, "0200080000000100 0000000000000000", V4, (IPV4, 24)),
        (6081, "4000655800000100", V4, None),
        (6081, "0000655800000101", V4, None),
        (2152, "30ff000000000001", V4, (IPV4, 16)),
        (2152, "30ff000000000001", V6, (IPV6, 16)),
        (2152, "32ff000000000001 00010000", V4, (IPV4, 20)),
        (2152, "34ff000000000001 00000085 01000000 ", V4, (IPV4, 24)),
        (2152, "34ff000000000001 00000085 0100000085 00000001000000", V4, None),
        (2152, "34ff000000000001 000000c0 01000085 020000000000000000", V4, None),
        (2152, "34ff000000000001 000000c0 01000085 0200000000000000", V4, (IPV4, 32)),
        (2152, "34ff000000000001 000000c0 00000000", V4, None),
        (2152, "31ff000000000001 000000c0", V4, (IPV4, 20)),
        (2152, "30fe000000000001", V4, None),
        (2152, "20ff000000000001", V4, None),
        (2152, "30ff000000000001", "00" * 20, None),
        (1701, "0002 0001 0001 0021", V4, (IPV4, 16)),
        (1701, "4002 0010 0001 0001 0021", V4, (IPV4, 18)),
        (1701, "0802 0001 0001 00000000 0021", V4, (IPV4, 20)),
        (1701, "0202 0001 0001 0000 0021", V4, (IPV4, 18)),
        (1701, "0202 0001 0001 0002 ffff ff03 0021", V4, (IPV4, 22)),
        (1701, "8002 0001 0001 0021", V4, None),
        (1701, "0003 0001 0001 0021", V4, None),
        (4341, "8000000000000000", V4, (IPV4, 16)),
        (4341, "8100000000000000", V4, None),
        (37008, "0100 0001 01" + 12 * "00" + "0800", V4, (IPV4, 27)),
        (37008, "0101 0001 00 0a01ff 01" + 12 * "00" + "86dd", V4, (IPV6, 31)),
        (37008, "0102 0001 01" + 12 * "00" + "0800", V4, None),
        (37008, "0200 0001 01" + 12 * "00" + "0800", V4, None),
        (37008, "0100 0002 01" + 12 * "00" + "0800", V4, None),
        (6635, "00010140", V4, (IPV4, 12)),
        (9999, "00010140", V4, None),
    ],
)
def test_in_udp(port: int, header: str, inner: str, found: tuple[str, int] | None) -> None:
    data = bytes.fromhex(f"ffff {port:04x} 0000 0000 {header} {inner}")
    assert name(find_tunneled_packet(17, data, 0, len(data))) == found


@pytest.mark.parametrize(
    ("protocol", "data", "least"),
    [
        (GRE, "0000 0800 45", 5),
        (GRE, "1000 88be 00000001 0000000000000000 aa", 17),
        (GRE, "1000 22eb 00000001 0000000000000000 00000000 aa", 21),
        (GRE, "0000 883e 45", 5),
        (97, "3000 aa", 3),
        (MPLS_IN_IP, "00010140 45", 5),
        (17, "ffff 12b5 0000 0000 0800000000000100 aa", 17),
        (17, "ffff 0868 0000 0000 30ff000000000001 45", 17),
        (17, "ffff 0868 0000 0000 34ff000000000001 00000085 01000000 45", 25),
        (17, "ffff 06a5 0000 0000 0202 0001 0001 0000 0021 45", 19),
    ],
)
def test_a_tunnel_that_is_cut_off_carries_none(protocol: int, data: str, least: int) -> None:
    packet = bytes.fromhex(data)
    found = [find_tunneled_packet(protocol, packet, 0, end) is not None for end in range(len(packet) + 1)]
    assert found == [end >= least for end in range(len(packet) + 1)]


@pytest.mark.parametrize(
    ("ethertype", "data", "found"),
    [
        (0x8847, "00010140" + V4, (IPV4, 4)),
        (0x8848, "00010140" + V6, (IPV6, 4)),
        (0x8847, "00010140 00000000" + 12 * "10" + "0800" + V4, (IPV4, 22)),  # a control word
        (0x8847, "00010140" + 12 * "00" + "0800" + V4, (IPV4, 18)),  # none, and an address that begins with 0
        (0x894F, "0fc2 0201" + 4 * "00" + V4, (IPV4, 8)),
        (0x894F, "0fc6 0103" + 20 * "00" + 12 * "00" + "86dd" + V6, (IPV6, 38)),
        (0x894F, "4fc2 0201" + 4 * "00" + V4, ("0x0", 0)),
        (0x892F, "0040 0001 0800" + V4, (IPV4, 6)),
        (0x8909, "0101 0001 0005 0800" + V4, (IPV4, 8)),
        (0x8909, "0102 0001 0005 0800" + V4, ("0x0", 0)),
        (0x8864, "1100 0001 0016 0021" + V4, (IPV4, 8)),
        (0x8864, "1101 0001 0016 0021" + V4, ("0x0", 0)),
        (0x8864, "1200 0001 0016 0021" + V4, ("0x0", 0)),
        (0x8926, "00000000 0800" + V4, (IPV4, 6)),
        (0x88E7, "00000000" + 12 * "00" + "0800" + V4, (IPV4, 18)),
        (0x88E5, "0000 00000001 0800" + V4, (IPV4, 8)),
        (0x88E5, "2000 00000001 0000000000000001 0800" + V4, (IPV4, 16)),
        (0x88E5, "8000 00000001 0800" + V4, ("0x0", 0)),
        (0x88E5, "0800 00000001 0800" + V4, ("0x0", 0)),
        (0x88E5, "0400 00000001 0800" + V4, ("0x0", 0)),
        (0x22F3, "0000 0001 0002" + 12 * "00" + "0800" + V4, (IPV4, 20)),
        (0x22F3, "0040 0001 0002 00000000" + 12 * "00" + "0800" + V4, (IPV4, 24)),
        (0x22F3, "4000 0001 0002" + 12 * "00" + "0800" + V4, ("0x0", 0)),
        (0x6558, 12 * "00" + "8847 00010140" + V4, (IPV4, 18)),
        # Four layers at most: the next one is left as it is.
        (0x6558, 4 * (12 * "00" + "6558"), (ETHERNET, 56)),
        (0x0800, V4, (IPV4, 0)),
    ],
)
def test_layers_between_link_and_network(ethertype: int, data: str, found: tuple[str, int]) -> None:
    packet = bytes.fromhex(data)
    assert name(skip_layers_below_ip(ethertype, packet, 0, len(packet))) == found
