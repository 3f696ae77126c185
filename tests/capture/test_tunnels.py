"""Packets within packets: a capture in a tunnel, made by scapy, gives the segments that it gives without."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoders.capture.dissect_packets import Dissector
from decoders.capture.link_types import LINKS
from decoders.capture.pcapng_writer import PcapngWriter
from decoders.capture.read_capture import CaptureReader
from decoders.limits import TUNNELS_MAX
from decoders.tcp.stream_chunks import Segment
from tests.capture.frames import ACK, PSH, ethernet, ipv4, tcp

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from scapy.contrib.erspan import ERSPAN, ERSPAN_II, ERSPAN_III
    from scapy.contrib.geneve import GENEVE, GeneveOptions
    from scapy.contrib.gtp import GTP_U_Header, GTPPDUSessionContainer
    from scapy.contrib.mpls import MPLS, EoMCW
    from scapy.layers.inet import IP, UDP, fragment
    from scapy.layers.inet6 import IPv6
    from scapy.layers.l2 import GRE, GRE_PPTP, CookedLinux, Dot1Q, Ether
    from scapy.layers.ppp import HDLC, PPP, PPPoE
    from scapy.layers.vxlan import VXLAN
    from scapy.packet import Raw

TIME: Final = 1_700_000_000_123_456_789
ETHERNET: Final = 1

Wrap = Callable[[bytes], Any]


def out() -> Any:
    return Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") / IP(src="192.0.2.1", dst="192.0.2.2")


def udp(port: int) -> Any:
    return out() / UDP(sport=51234, dport=port, chksum=0)


# Tunnels that carry an Ethernet frame.
FRAMES: dict[str, Wrap] = {
    "VXLAN": lambda frame: udp(4789) / VXLAN(vni=42, flags="Instance") / Ether(frame),
    "VXLAN of flannel": lambda frame: udp(8472) / VXLAN(vni=1, flags="Instance") / Ether(frame),
    "VXLAN with a group policy": lambda frame: udp(4789) / VXLAN(vni=42, gpid=7, flags=0x88) / Ether(frame),
    "VXLAN on IPv6": lambda frame: Ether() / IPv6() / UDP(dport=4789) / VXLAN(vni=42, flags="Instance") / Ether(frame),
    "VXLAN-GPE": lambda frame: udp(4790) / Raw(b"\x0c\0\0\3\0\0\x2a\0" + frame),
    "VXLAN-GPE with the bit of management packets": lambda frame: udp(4790) / Raw(b"\x0d\0\0\3\0\0\x2a\0" + frame),
    "Geneve": lambda frame: udp(6081) / GENEVE(vni=42, proto=0x6558) / Ether(frame),
    "Geneve with options": lambda frame: (
        udp(6081)
        / GENEVE(vni=42, proto=0x6558, options=GeneveOptions(classid=0x103, type=1, data=b"abcd"))
        / Ether(frame)
    ),
    "GRE with Ethernet": lambda frame: out() / GRE(proto=0x6558) / Ether(frame),
    "NVGRE": lambda frame: out() / GRE(proto=0x6558, key_present=1, key=0x2A00) / Ether(frame),
    "ERSPAN I": lambda frame: out() / GRE(proto=0x88BE) / ERSPAN() / Ether(frame),
    "ERSPAN II": lambda frame: out() / GRE(proto=0x88BE, seqnum_present=1) / ERSPAN_II() / Ether(frame),
    "ERSPAN III": lambda frame: out() / GRE(proto=0x22EB, seqnum_present=1) / ERSPAN_III() / Ether(frame),
    "ERSPAN III with a platform's own": lambda frame: (
        out() / GRE(proto=0x22EB, seqnum_present=1) / Raw(bytes(ERSPAN_III())[:11] + b"\1" + bytes(8) + frame)
    ),
    "a pseudowire": lambda frame: Ether() / MPLS(label=7, s=0) / MPLS(label=8, s=1) / EoMCW() / Ether(frame),
    "VLAN and VXLAN": lambda frame: (
        Ether() / Dot1Q(vlan=7) / IP() / UDP(dport=4789) / VXLAN(vni=42, flags="Instance") / Ether(frame)
    ),
    "VXLAN in a mirror's ERSPAN": lambda frame: (
        out()
        / GRE(proto=0x88BE, seqnum_present=1)
        / ERSPAN_II()
        / Ether(bytes(udp(4789) / VXLAN(vni=42, flags="Instance") / Ether(frame)))
    ),
}
LAN: Final = bytes.fromhex("02000000000b 02000000000a")
SNAP: Final = bytes.fromhex("aaaa03 000000 0800")
FRAMES |= {
    "MAC in MAC": lambda frame: Raw(LAN + bytes.fromhex("88a8 0005 88e7 0000004d") + frame),
    "TRILL": lambda frame: Raw(LAN + bytes.fromhex("22f3 0001 0001 0002") + frame),
    "TRILL with options": lambda frame: Raw(LAN + bytes.fromhex("22f3 0041 0001 0002 00000000") + frame),
    "EtherIP": lambda frame: Ether() / IP(proto=97) / Raw(b"\x30\0" + frame),
    "TZSP": lambda frame: udp(37008) / Raw(bytes.fromhex("0100 0001 01") + frame),
    "TZSP with tags": lambda frame: udp(37008) / Raw(bytes.fromhex("0100 0001 00 0a01c3 1e020001 01") + frame),
}
# Tunnels that carry an IP packet.
PACKETS: dict[str, Wrap] = {
    "IP in IP": lambda packet: out() / IP(packet),
    "IPv4 in IPv6": lambda packet: Ether() / IPv6(nh=4) / IP(packet),
    "GRE": lambda packet: out() / GRE(proto=0x0800) / IP(packet),
    "GRE with all of its fields": lambda packet: (
        out() / GRE(proto=0x0800, chksum_present=1, key_present=1, seqnum_present=1, key=9) / IP(packet)
    ),
    "PPTP": lambda packet: (
        out() / GRE_PPTP(call_id=5, seqnum_present=1, acknum_present=1) / PPP(proto=0x21) / IP(packet)
    ),
    "MPLS": lambda packet: Ether() / MPLS(label=7, s=0) / MPLS(label=8, s=1) / IP(packet),
    "MPLS in IP": lambda packet: Ether() / IP(proto=137) / Raw(bytes(MPLS(label=7, s=1)) + packet),
    "MPLS in UDP": lambda packet: udp(6635) / Raw(bytes(MPLS(label=7, s=1)) + packet),
    "MPLS in GRE": lambda packet: out() / GRE(proto=0x8847) / Raw(bytes(MPLS(label=7, s=1)) + packet),
    "PPPoE": lambda packet: Ether() / PPPoE(sessionid=3) / PPP(proto=0x21) / IP(packet),
    "PPPoE in a VLAN": lambda packet: Ether() / Dot1Q(vlan=9) / PPPoE(sessionid=3) / PPP(proto=0x21) / IP(packet),
    "GTP-U": lambda packet: udp(2152) / GTP_U_Header(teid=5) / IP(packet),
    "GTP-U with a number": lambda packet: udp(2152) / GTP_U_Header(teid=5, S=1, seq=9) / IP(packet),
    "GTP-U of 5G": lambda packet: (
        udp(2152) / GTP_U_Header(teid=5, E=1, next_ex=0x85) / GTPPDUSessionContainer(type=1, QFI=3) / IP(packet)
    ),
    "Geneve with IP": lambda packet: udp(6081) / GENEVE(vni=42, proto=0x0800) / IP(packet),
    "VXLAN-GPE with IP": lambda packet: udp(4790) / Raw(b"\x0c\0\0\1\0\0\x2a\0" + packet),
}
PACKETS |= {
    "a VN-tag": lambda packet: Raw(LAN + bytes.fromhex("8926 00010000 0800") + packet),
    "a VN-tag before a VLAN": lambda packet: Raw(LAN + bytes.fromhex("8926 00010000 8100 0005 0800") + packet),
    "MACsec": lambda packet: Raw(LAN + bytes.fromhex("88e5 00 00 00000005 0800") + packet),
    "MACsec with a sender": lambda packet: Raw(
        LAN + bytes.fromhex("88e5 20 00 00000005 0102030405060001 0800") + packet
    ),
    "SNAP": lambda packet: Raw(LAN + (len(packet) + 8).to_bytes(2, "big") + SNAP + packet),
    "SNAP in a VLAN": lambda packet: Raw(LAN + bytes.fromhex("8100 0005 0040") + SNAP + packet),
    "WCCP": lambda packet: out() / GRE(proto=0x883E) / Raw(bytes(4) + packet),
    "WCCP 1": lambda packet: out() / GRE(proto=0x883E) / Raw(packet),
    "AH": lambda packet: Ether() / IP(proto=51) / Raw(authentication(4) + packet),
    "L2TP": lambda packet: udp(1701) / Raw(bytes.fromhex("0002 0001 0002 ff03 0021") + packet),
    "L2TP with all of its fields": lambda packet: (
        udp(1701) / Raw(bytes.fromhex("4a02 0040 0001 0002 0003 0004 0002 0000 0021") + packet)
    ),
    "LISP": lambda packet: udp(4341) / Raw(bytes.fromhex("8000000100000001") + packet),
}
# Link types that carry an IP packet: number, and the frame around it.
LINK_TYPES: dict[str, tuple[int, Callable[[bytes], bytes]]] = {
    "PPP": (9, lambda packet: bytes(PPP(proto=0x21) / IP(packet))),
    "PPP with a short protocol": (9, lambda packet: b"\x21" + packet),
    "PPP in HDLC": (50, lambda packet: bytes(HDLC() / PPP(proto=0x21) / IP(packet))),
    "PPPoE": (51, lambda packet: bytes(PPPoE(sessionid=3) / PPP(proto=0x21) / IP(packet))),
    "Cisco HDLC": (104, lambda packet: b"\x0f\0\x08\0" + packet),
    "OpenBSD IPsec": (109, lambda packet: b"\2\0\0\0" + bytes(8) + packet),
    "OpenBSD pflog": (117, lambda packet: b"\x3d\2" + bytes(62) + packet),
    "netfilter log": (239, lambda packet: b"\2\0\0\5" + nfula(1, b"abcd") + nfula(10, b"in\0") + nfula(9, packet)),
    "netfilter log, big-endian": (239, lambda packet: b"\2\0\0\5" + nfula(10, b"x\0", "big") + nfula(9, packet, "big")),
    "pktap": (258, lambda packet: pktap(12) + packet),
    "pktap of old tcpdump": (149, lambda packet: pktap(1) + bytes(12) + b"\x08\0" + packet),
    "FDDI": (10, lambda packet: b"\x54" + LAN + SNAP + packet),
    "ATM": (100, lambda packet: SNAP + packet),
    "802.11": (105, lambda packet: b"\x08\1" + bytes(22) + SNAP + packet),
    "802.11 with QoS": (105, lambda packet: b"\x88\1" + bytes(24) + SNAP + packet),
    "802.11 between access points": (105, lambda packet: b"\x08\3" + bytes(28) + SNAP + packet),
    "802.11n": (105, lambda packet: b"\x88\x81" + bytes(28) + SNAP + packet),
    "LLC of IP": (105, lambda packet: b"\x08\1" + bytes(22) + b"\x06\x06\x03" + packet),
    "radiotap": (127, lambda packet: bytes.fromhex("0000 0a00 00000000 0000") + b"\x08\1" + bytes(22) + SNAP + packet),
    "PPI": (192, lambda packet: bytes.fromhex("0000 0800 01000000") + LAN + b"\x08\0" + packet),
    "IP over InfiniBand": (242, lambda packet: bytes(40) + b"\x08\0\0\0" + packet),
    "Linux cooked": (113, lambda packet: bytes(CookedLinux(proto=0x0800) / IP(packet))),
}


def authentication(next_header: int) -> bytes:
    """An authentication header of 24 bytes (RFC 4302)."""
    return bytes((next_header, 4)) + bytes(22)


def nfula(kind: int, value: bytes, order: Any = "little") -> bytes:
    """An attribute of a netfilter log message."""
    size = len(value) + 4
    padding = b"" if kind == 9 else bytes(-size % 4)  # the packet is the last attribute, cut by the snaplen
    return size.to_bytes(2, order) + kind.to_bytes(2, order) + value + padding


def pktap(link: int) -> bytes:
    """Darwin's header of 108 bytes before a packet of this link type."""
    words = b"".join(word.to_bytes(4, "little") for word in (108, 1, link))
    return words + b"en0".ljust(24, b"\0") + bytes(108 - 36)


@cache
def plain() -> tuple[bytes, ...]:
    """Ethernet frames of a conversation: asks, answers, an ask in two fragments, an answer cut by snaplen."""
    asks = tcp(50000, 9092, 7, 9, ACK | PSH, b"asks", bytes(12))
    answers = tcp(9092, 50000, 9, 11, ACK | PSH, bytes(range(200)))
    first, second = ("10.0.0.1", "10.0.0.2"), ("10.0.0.2", "10.0.0.1")
    return (
        ethernet(ipv4(*first, asks)),
        ethernet(ipv4(*second, answers)),
        ethernet(ipv4(*first, asks[:24], fragment=0x2000)),
        ethernet(ipv4(*first, asks[24:], fragment=3)),
        ethernet(ipv4(*second, answers))[:100],
    )


def read(frames: list[tuple[bytes, int]], link: int = ETHERNET, *, fused: bool = True) -> list[Segment]:
    """The segments of frames, each frame with its size on the wire."""
    writer, reader = PcapngWriter(link), CaptureReader(fused=fused)
    segments = reader.feed(writer.make_file_header())
    for frame, size in frames:
        segments += reader.feed(writer.make_packet_block(TIME, frame, size))
    segments += reader.finish()
    assert reader.problem is None
    return segments


def sizes() -> list[int]:
    whole = len(plain()[1])
    return [*map(len, plain()[:-1]), whole]


@cache
def unwrapped() -> list[Segment]:
    """The segments of the conversation without a tunnel."""
    segments = read(list(zip(plain(), sizes(), strict=True)))
    assert [(segment[6], segment[7]) for segment in segments] == [
        (b"asks", 0),
        (bytes(range(200)), 0),
        (b"asks", 0),
        (bytes(range(46)), 154),
    ]
    return segments


def wrapped(make: Callable[[bytes], bytes], header: int) -> list[tuple[bytes, int]]:
    """The conversation's frames in a tunnel, which carries each from byte `header` on."""
    made = []
    for frame, size in zip(plain(), sizes(), strict=True):
        inner = frame[header:]
        outer = make(inner)
        made.append((outer, len(outer) + size - len(frame)))
    return made


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("name", FRAMES)
def test_ethernet_in_a_tunnel(name: str, fused: bool) -> None:
    assert read(wrapped(lambda frame: bytes(FRAMES[name](frame)), 0), fused=fused) == unwrapped()


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("name", PACKETS)
def test_ip_in_a_tunnel(name: str, fused: bool) -> None:
    assert read(wrapped(lambda packet: bytes(PACKETS[name](packet)), 14), fused=fused) == unwrapped()


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("name", LINK_TYPES)
def test_link_types(name: str, fused: bool) -> None:
    link, make = LINK_TYPES[name]
    assert read(wrapped(make, 14), link, fused=fused) == unwrapped()


# scapy fragments IPv4 right behind Ethernet only.
UNBREAKABLE: Final = ("IPv6", "pseudowire", "VLAN and", "MAC in MAC", "TRILL")
BREAKABLE: Final = [name for name in FRAMES if not any(word in name for word in UNBREAKABLE)]


@pytest.mark.parametrize("name", BREAKABLE)
def test_a_tunnel_whose_own_packets_are_fragments(name: str) -> None:
    frame = plain()[1]
    parts = [bytes(part) for part in fragment(FRAMES[name](frame), fragsize=64)]  # type: ignore[no-untyped-call]  # of scapy
    assert len(parts) > 2
    segments = read([(part, len(part)) for part in parts])
    assert [segment[6] for segment in segments] == [bytes(range(200))]


@pytest.mark.parametrize("fused", [True, False])
def test_authentication_before_tcp(fused: bool) -> None:
    def make(packet: bytes) -> bytes:
        head = bytearray(packet[:20])
        head[2:4] = (int.from_bytes(head[2:4], "big") + 24).to_bytes(2, "big")
        head[9] = 51
        return LAN + b"\x08\0" + bytes(head) + authentication(6) + packet[20:]

    whole = [(frame, size) for frame, size in zip(plain()[:2], sizes()[:2], strict=True)]
    made = [(make(frame[14:]), size + 24) for frame, size in whole]
    assert read(made, fused=fused) == read(whole, fused=fused)


def unencrypted(packet: bytes, check: int, *, tunnel: bool) -> bytes:
    """An IPv4 packet in ESP that does not encrypt, with a check value of some bytes."""
    summed = packet[12:20] + b"\0\6" + (len(packet) - 20).to_bytes(2, "big") + packet[20:36] + b"\0\0" + packet[38:]
    checksum = -int.from_bytes(summed, "big") % 0xFFFF  # the data is even
    packet = packet[:36] + checksum.to_bytes(2, "big") + packet[38:]
    head, data = bytearray(packet[:20]), packet if tunnel else packet[20:]
    padding = bytes(range(1, 1 + (-len(data) - 2) % 4))
    inner = bytes(8) + data + padding + bytes([len(padding), 4 if tunnel else 6]) + bytes(check)
    head[2:4], head[9] = (20 + len(inner)).to_bytes(2, "big"), 50
    return LAN + b"\x08\0" + bytes(head) + inner


@pytest.mark.parametrize("check", [0, 12, 16, 32])
@pytest.mark.parametrize("tunnel", [True, False])
def test_esp_that_does_not_encrypt(check: int, tunnel: bool) -> None:
    whole = [(frame, size) for frame, size in zip(plain()[:2], sizes()[:2], strict=True)]
    made = [unencrypted(frame[14:], check, tunnel=tunnel) for frame, _ in whole]
    assert read([(frame, len(frame)) for frame in made]) == read(whole)
    changed = [frame[:60] + bytes([frame[60] ^ 1]) + frame[61:] for frame in made]
    assert tunnel or read([(frame, len(frame)) for frame in changed]) == []
    assert read([(frame[:-1] + b"\5", len(frame)) for frame in made]) == ([] if check == 0 else read(whole))


# Frames of 802.11 that carry no packet that can be read.
@pytest.mark.parametrize("head", ["8000", "4801", "0841", "b400", "08"])
def test_frames_of_80211_without_a_packet(head: str) -> None:
    frame = bytes.fromhex(head) + bytes(22) + SNAP + plain()[0][14:]
    assert read([(frame[:40] if head == "08" else frame, len(frame))], 105) == []


@pytest.mark.parametrize(
    ("frame", "name"),
    [
        (LAN + b"\x88\xcc" + bytes(40), "of EtherType 0x88cc"),
        (LAN + b"\x88\xe5\x0c" + bytes(40), "of EtherType 0x88e5"),
        (ethernet(ipv4("10.0.0.1", "10.0.0.2", bytes(20), protocol=132)), "of IP protocol 132"),
    ],
)
def test_a_protocol_that_is_not_read_is_named(frame: bytes, name: str) -> None:
    writer, reader = PcapngWriter(ETHERNET), CaptureReader()
    reader.feed(writer.make_file_header() + writer.make_packet_block(TIME, frame, len(frame)))
    assert (reader.counts["other"], reader.counts[name]) == (1, 1)


@pytest.mark.parametrize("port", [1701, 2152, 4341, 4789, 4790, 6081, 6635, 8472, 37008])
@pytest.mark.parametrize("payload", [b"", b"\0" * 3, b"GET / HTTP/1.1\r\n\r\n" * 3, b"\xff" * 60, bytes(60)])
def test_other_traffic_on_the_port_of_a_tunnel_gives_no_segment(port: int, payload: bytes) -> None:
    frame = bytes(udp(port) / Raw(payload))
    dissector = Dissector()
    assert dissector.dissect_packet(LINKS[ETHERNET], frame, 0, len(frame), 0, TIME, 1) is None
    assert sum(dissector.counts.values()) == 1


def test_tunnels_in_tunnels_end() -> None:
    packet = plain()[0][14:]
    for _ in range(TUNNELS_MAX - 1):
        packet = bytes(IP(src="192.0.2.1", dst="192.0.2.2") / IP(packet))
    assert len(read([(ethernet(packet), len(packet) + 14)])) == 1
    packet = bytes(IP() / IP(packet))
    assert read([(ethernet(packet), len(packet) + 14)]) == []


@given(st.sampled_from([*FRAMES.items(), *PACKETS.items()]), st.data())
def test_damage_does_no_harm(case: tuple[str, Wrap], data: st.DataObject) -> None:
    name, make = case
    frame = bytearray(bytes(make(plain()[0][14 if name in PACKETS else 0 :])))
    for _ in range(data.draw(st.integers(0, 3))):
        frame[data.draw(st.integers(0, len(frame) - 1))] = data.draw(st.integers(0, 255))
    size = data.draw(st.integers(0, len(frame)))
    dissector = Dissector()
    found = dissector.dissect_packet(LINKS[ETHERNET], bytes(frame[:size]), 0, size, len(frame) - size, TIME, 1)
    assert (found is not None) + sum(dissector.counts.values()) == 1
