"""Programs for the kernel: what they take of shipped captures and random packets, beside libpcap's own programs."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from functools import cache
from ipaddress import IPv4Network, IPv6Network
from typing import Final

import pytest

from decoders.capture.link_types import ARP, IP4, IP6
from decoders.capture.read_packet_copies import CopyReader, PacketCopy
from kwcli.reading.kernel_filter.bpf_program import assemble_program, pack_instructions
from kwcli.reading.kernel_filter.broker_port_filter import condition_for_broker_ports
from kwcli.reading.kernel_filter.packet_layout import PacketLayout
from kwcli.reading.kernel_filter.parse_tcpdump_filter import NotUnderstood, parse_tcpdump_expression
from tests.captures.shipped import CLEAN, NEGATIVE, capture_bytes
from tests.cli.bpf_machine import ETHERNET, RAW, Packet, compile_by_libpcap, libpcap, run

needs_libpcap = pytest.mark.skipif(libpcap() is None, reason="needs libpcap")

EXPRESSIONS: Final = (
    *("tcp", "udp", "ip", "ip6", "arp", "icmp", "icmp6", "not tcp", "! tcp", "vlan", "not vlan", "vlan 100"),
    *("port 9092", "tcp port 9092", "udp port 53", "src port 9092", "dst port 9092", "src or dst port 9092"),
    *("src and dst port 9092", "tcp src port 9092", "tcp dst port 9092 or 9093", "port 9092 or 9093 or 9094"),
    *("portrange 9092-9099", "tcp portrange 9099-9092", "src portrange 9092-9099", "port (9092 or 9093)"),
    *("host 127.0.0.1", "host ::1", "src host 127.0.0.1", "dst 10.0.0.1", "src 10.0.0.1", "src 10.0.0.1 and 10.0.0.2"),
    *("ip host 10.0.0.1", "ip6 host ::1", "host 10.0.0.1 or 10.0.0.2", "src host 10.0.0.1 and dst host 10.0.0.2"),
    *("net 10.0.0.0/8", "net 10", "net 127.0", "net 10.0.0.0 mask 255.0.0.0", "src net 10.0.0.0/16", "net ::/0"),
    *("net 2001:db8::/32", "dst net 2001:db8:0:2::/63", "ip6 net fe80::/10", "net 0.0.0.0/0", "net 10.0.0.0"),
    *("tcp and port 9092", "tcp and (port 9092 or port 9093)", "tcp or udp and port 9092", "tcp && port 9092 || arp"),
    *("host 127.0.0.1 and (port 9092 or portrange 19092-19099)", "not (tcp port 22)", "not port 22 and not arp"),
    *(
        "tcp and not port 22 and not port 9092",
        "not src port 9092",
        "(((tcp)))",
        "not not tcp",
        "port 9092 and not host ::1",
    ),
    *(
        "vlan and port 9092",
        "vlan 100 and tcp port 9092",
        "port 9092 or (vlan and port 9092)",
        "vlan and vlan 7 and tcp",
    ),
    *("vlan and host 10.0.0.1", "not (vlan and port 9092)", "ip and tcp", "src net 10 or 127", "tcp or icmp or icmp6"),
)
NOT_OURS: Final = (
    "tcp[13] & 2 != 0",
    "less 100",
    "ether host 1:2:3:4:5:6",
    "tcp prt 9092",
    "ip and 10.0.0.1",
    "10.0.0.1",
    "port kafka",
    "gateway x",
)
WRONG: Final = (
    "",
    "port",
    "port 70000",
    "(tcp",
    "tcp)",
    "tcp and",
    "vlan 5000",
    "net 10.1.1.1/8",
    "net 1.2.3.4/40",
    "or tcp",
)


def _resolve(name: str) -> Sequence[IPv4Network | IPv6Network]:
    raise NotUnderstood(name)


def _compiled(text: str, layout: PacketLayout, *, live: bool) -> list[tuple[int, int, int, int]]:
    return list(assemble_program(parse_tcpdump_expression(text, layout, _resolve, live=live)))


def _ip(rng: random.Random, data: bytes, protocol: int) -> bytes:
    """An IPv4 or IPv6 packet around a transport header, sometimes a fragment, with options or behind extensions."""
    if rng.random() < 0.5:
        addresses = [rng.choice((b"\n\0\0\1", b"\n\0\0\2", b"\x7f\0\0\1", b"\n\0\1\1")) for _ in range(2)]
        options = rng.choice((0, 0, 0, 4, 40))
        offset = rng.choice((0, 0, 0, 0, 0x2000, 0x2010, 0x0010, 0x4000))
        head = bytes([0x45 + options // 4, 0]) + (20 + options + len(data)).to_bytes(2, "big")
        head += b"\0\7" + offset.to_bytes(2, "big") + bytes([64, protocol, 0, 0])
        return head + b"".join(addresses) + bytes([1] * options) + data
    texts = (
        "00" * 15 + "01",
        "20010db8" + "00" * 11 + "02",
        "20010db80000000100" + "00" * 6 + "03",
        "fe80" + "00" * 13 + "04",
    )
    v6 = [bytes.fromhex(rng.choice(texts)) for _ in range(2)]
    following = protocol
    if rng.random() < 0.3:
        following = rng.choice((44, 0, 60, 43))
        data = bytes([protocol, 0]) + bytes(6) + data
    return b"\x60\0\0\0" + len(data).to_bytes(2, "big") + bytes([following, 64]) + b"".join(v6) + data


def _random_packet(rng: random.Random, *, ethernet: bool, padded: bool = True) -> bytes:
    ports = [rng.choice((9092, 9093, 9094, 9099, 19095, 22, 53, 40000)).to_bytes(2, "big") for _ in range(2)]
    protocol = rng.choice((6, 6, 6, 17, 132, 1, 58, 47))
    kind, packet = IP4, _ip(rng, b"".join(ports) + bytes(rng.randrange(16, 60)), protocol)
    if packet[0] >> 4 == 6:
        kind = IP6
    if not ethernet:
        return packet
    if rng.random() < 0.1:
        kind = rng.choice((ARP, 0x8035))
        packet = b"\0\1\x08\0\6\4\0\1" + bytes(6) + rng.choice((b"\n\0\0\1", b"\x7f\0\0\1")) + bytes(6) + b"\n\0\0\2"
    tags = b""
    for _ in range(rng.choice((0, 0, 0, 1, 1, 2))):
        tags += rng.choice((b"\x81\0", b"\x88\xa8", b"\x91\0")) + (rng.choice((100, 7, 0x3064))).to_bytes(2, "big")
    frame = bytes(12) + tags + kind.to_bytes(2, "big") + packet
    return frame + bytes(60) if padded else frame


@cache
def _random_packets(ethernet: bool) -> list[bytes]:
    rng = random.Random(7)
    whole = [_random_packet(rng, ethernet=ethernet) for _ in range(400)]
    return whole + [packet[: rng.randrange(len(packet))] for packet in whole[:200]]


def _shipped() -> Iterator[bytes]:
    """Packets of every shipped Ethernet capture: some from the beginning of each."""
    for name in [*CLEAN, *NEGATIVE]:
        for packet in CopyReader().feed(capture_bytes(name)[:20_000]):
            assert isinstance(packet, PacketCopy)
            if packet.source[0] == ETHERNET:
                yield packet.frame


@pytest.mark.long
@needs_libpcap
@pytest.mark.parametrize("link_type", [ETHERNET, RAW])
def test_programs_take_what_those_of_libpcap_take(link_type: int) -> None:
    ethernet = link_type == ETHERNET
    packets = _random_packets(ethernet) + (list(_shipped()) if ethernet else [])
    wrong, seen = [], 0
    for text in EXPRESSIONS:
        theirs = compile_by_libpcap(text, link_type)
        if theirs is None and not ethernet and "vlan" in text:
            continue  # libpcap refuses it for packets without a link layer; ours never holds
        assert theirs is not None, text
        ours = _compiled(text, PacketLayout(ethernet=ethernet), live=False)
        for packet in packets:
            taken = run(theirs, Packet(packet))
            seen += taken
            if run(ours, Packet(packet)) is not taken:
                wrong.append((text, packet.hex(), taken))
                break
    assert wrong == []
    assert seen > 1000


def test_a_tag_that_the_kernel_took_out_counts_as_one_in_the_packet() -> None:
    """The same packets with their outer tag beside them: the live program takes what that of a file takes."""
    taken = 0
    for text in EXPRESSIONS:
        of_file = _compiled(text, PacketLayout(), live=False)
        live = _compiled(text, PacketLayout(), live=True)
        for data in _random_packets(ethernet=True):
            in_packet = run(of_file, Packet(data))
            assert run(live, Packet(data)) is in_packet or "vlan" not in text
            if data[12:14] in (b"\x81\0", b"\x88\xa8", b"\x91\0") and "vlan" in text and len(data) > 120:
                removed = Packet(data[:12] + data[16:], int.from_bytes(data[14:16], "big"))
                assert run(live, removed) is in_packet, (text, data.hex())
                taken += in_packet
    assert taken > 100


@pytest.mark.parametrize("text", NOT_OURS)
def test_the_rest_of_the_language_is_left_to_libpcap(text: str) -> None:
    with pytest.raises(NotUnderstood) as raised:
        _compiled(text, PacketLayout(), live=True)
    assert raised.value.text
    assert not raised.value.certain


@pytest.mark.parametrize("text", WRONG)
def test_what_is_wrong_is_wrong_for_libpcap_too(text: str) -> None:
    with pytest.raises(NotUnderstood):
        _compiled(text, PacketLayout(), live=True)
    if libpcap() is not None and text:
        assert compile_by_libpcap(text, ETHERNET) is None


@pytest.mark.parametrize(
    "text",
    [
        *("vlan ²", "port ٩٠٩٢", "net 0", "net 10.0.0.0 mask 255.0.255.0", "net 1.2.3.4 mask x", "port \udcff"),
        *("vlan " + "9" * 5000, "port " + "9" * 5000),
    ],
)
def test_odd_numbers_are_not_understood(text: str) -> None:
    with pytest.raises(NotUnderstood):
        _compiled(text, PacketLayout(), live=True)


@needs_libpcap
def test_a_mask_is_no_mask_of_hosts() -> None:
    """0.0.0.255 has a hole before its end: Python would read it as the reverse of 255.255.255.0."""
    with pytest.raises(NotUnderstood) as raised:
        _compiled("net 0.0.0.0 mask 0.0.0.255", PacketLayout(), live=True)
    assert not raised.value.certain
    assert compile_by_libpcap("net 0.0.0.0 mask 0.0.0.255", ETHERNET) is not None


def test_names_of_hosts_are_all_their_addresses() -> None:
    def resolve(name: str) -> Sequence[IPv4Network | IPv6Network]:
        assert name == "broker1"
        return [IPv4Network("10.0.0.1"), IPv6Network("::1")]

    named = assemble_program(parse_tcpdump_expression("tcp and host broker1", PacketLayout(), resolve, live=False))
    addresses = _compiled("tcp and (host 10.0.0.1 or host ::1)", PacketLayout(), live=False)
    packets = [Packet(data) for data in _random_packets(ethernet=True)]
    assert [run(named, packet) for packet in packets] == [run(addresses, packet) for packet in packets]


@pytest.mark.parametrize("ethernet", [True, False])
def test_ports_of_brokers(ethernet: bool) -> None:
    """TCP of the ports in any form, and what the kernel cannot look into; nothing else."""
    program = assemble_program(condition_for_broker_ports([9092, 9093], PacketLayout(ethernet=ethernet)))
    taken = 0
    for data in _random_packets(ethernet):
        at, tags = (14, 0) if ethernet else (0, 0)
        while ethernet and data[at - 2 : at] in (b"\x81\0", b"\x88\xa8", b"\x91\0"):
            at, tags = at + 4, tags + 1
        if len(data) < at + 80 or tags > 2:
            continue
        wanted = run(program, Packet(data))
        kind = int.from_bytes(data[at - 2 : at], "big") if ethernet else {4: IP4, 6: IP6}[data[0] >> 4]
        if kind == IP4:
            behind = at + 4 * (data[at] & 15)
            later = bool(int.from_bytes(data[at + 6 : at + 8], "big") & 0x1FFF)
            protocol, opaque = data[at + 9], later or data[at + 9] == 47
        elif kind == IP6:
            behind, protocol = at + 40, data[at + 6]
            opaque = protocol in (0, 43, 44, 60, 47)
        else:
            assert not wanted
            continue
        ports = {int.from_bytes(data[behind + place : behind + place + 2], "big") for place in (0, 2)}
        assert wanted is (opaque or (protocol == 6 and bool(ports & {9092, 9093}))), data.hex()
        taken += wanted
    assert taken > 50


@pytest.mark.parametrize(
    ("name", "frame"),
    [
        ("VXLAN", "11" + "00 00 00 00 12b5".replace(" ", "")),
        ("MPLS", ""),
    ],
)
def test_tunnels_are_taken_whatever_is_in_them(name: str, frame: str) -> None:
    program = assemble_program(condition_for_broker_ports([9092], PacketLayout()))
    if name == "MPLS":
        assert run(program, Packet(bytes(12) + b"\x88\x47" + bytes(60)))
        return
    head = bytes(12) + b"\x08\0" + b"\x45\0\0\x64" + bytes(4) + b"\x40" + bytes.fromhex(frame[:2]) + bytes(2) + bytes(8)
    assert run(program, Packet(head + (4000).to_bytes(2, "big") + (4789).to_bytes(2, "big") + bytes(60)))
    assert not run(program, Packet(head + (4000).to_bytes(2, "big") + (53).to_bytes(2, "big") + bytes(60)))


def test_many_ports_reach_over_long_jumps() -> None:
    ports = range(10_000, 10_000 + 3 * 300, 3)
    program = assemble_program(condition_for_broker_ports(ports, PacketLayout()))
    assert all(max(line.if_true, line.if_false) <= 255 for line in program)
    assert len(pack_instructions(program)) == 8 * len(program)
    head = bytes(12) + b"\x08\0" + b"\x45\0\0\x64" + bytes(4) + b"\x40\x06" + bytes(2) + bytes(8)
    taken = [port for port in range(9_990, 11_000) if run(program, Packet(head + port.to_bytes(2, "big") + bytes(60)))]
    assert taken == list(ports)
