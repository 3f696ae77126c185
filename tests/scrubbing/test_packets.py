"""Packets with other addresses: each layer keeps its harmless parts, and checksums are right."""

from __future__ import annotations

import warnings
from ipaddress import ip_address

import pytest

from decoders.capture.pcapng_writer import PcapngWriter
from decoders.capture.read_capture import CaptureReader
from decoders.capture.read_packet_copies import CopyReader, PacketCopy
from decoders.scrubbing.pseudonyms import Pseudonyms
from decoders.scrubbing.scrub_packets import RAW, PacketScrubber, RewrittenPacket, _internet_checksum
from decoders.tcp.stream_chunks import Segment
from tests.capture.frames import ACK, PSH, ethernet, ipv4, ipv6, tcp
from tests.capture.test_tunnels import FRAMES, LINK_TYPES, PACKETS

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from scapy.layers.inet import IP, TCP
    from scapy.layers.inet6 import IPv6
    from scapy.layers.l2 import CookedLinux, Ether

PSEUDONYMS = Pseudonyms(b"key")
SCRUBBER = PacketScrubber(PSEUDONYMS, keeps_hosts=False)
# Maximum segment size, window scale, timestamps, an unknown option.
OPTIONS = bytes.fromhex("020405b4 030307 080a1122334455667788 fd04abcd 01")
PAYLOAD = bytes(range(200))
FOUR = ("10.0.0.1", "10.0.0.2")
SIX = ("2001:db8::1", "fe80::2")
COMMON = ("Ethernet", "Linux cooked", "PPP", "PPP with a short protocol", "PPP in HDLC", "Cisco HDLC")


def copies(frames: list[tuple[bytes, int]], link: int = 1) -> list[PacketCopy]:
    writer, reader = PcapngWriter(link), CopyReader()
    found: list[PacketCopy] = []
    for data in (writer.make_file_header(), *(writer.make_packet_block(10**18, frame, size) for frame, size in frames)):
        found += reader.feed(data)  # type: ignore[arg-type]  # copies in the place of segments
    return [copy for copy in found if copy.key]


def read(packet: RewrittenPacket) -> Segment:
    """The segment in a rewritten packet."""
    writer, reader = PcapngWriter(packet.link_type), CaptureReader()
    (found,) = reader.feed(writer.make_file_header() + writer.make_packet_block(10**18, packet.frame, packet.wire))
    assert reader.problem is None
    return found


def scrubbed(frame: bytes, link: int = 1, size: int | None = None) -> tuple[PacketCopy, RewrittenPacket]:
    (copy,) = copies([(frame, len(frame) if size is None else size)], link)
    return copy, SCRUBBER.rewrite_packet(copy, b"y" * copy.held)


def check(copy: PacketCopy, made: RewrittenPacket) -> None:
    """Assert that a rewritten packet has the same segment, with pseudonyms and another payload, and right checksums."""
    key, _, _, seq, ack, flags, payload, cut = read(made)
    width = (len(key) - 4) // 2
    assert (
        key == SCRUBBER.replace_address(copy.key[:width]) + SCRUBBER.replace_address(copy.key[width:-4]) + copy.key[-4:]
    )
    assert (payload, cut) == (b"y" * copy.held, copy.missing)
    assert (seq, ack, flags) == (copy.spans[0].seq, int.from_bytes(copy.tcp[8:12], "big"), copy.tcp[13])
    assert len(made.frame) == len(copy.frame) or made.link_type == RAW
    first = {1: Ether, 113: CookedLinux}.get(made.link_type)
    if not copy.missing and (first is not None or made.link_type == RAW):
        parsed = first(made.frame) if first else (IP if made.frame[0] >> 4 == 4 else IPv6)(made.frame)
        again = parsed.copy()
        for layer in (IP, TCP):
            if layer in again:
                del again[layer].chksum
        assert bytes(again)[: len(bytes(parsed))] == bytes(parsed)


@pytest.mark.parametrize("four", [True, False])
@pytest.mark.parametrize("size", [0, 1, 200, 1460])
def test_usual_packets(size: int, four: bool) -> None:
    segment = tcp(50000, 9092, 7, 9, ACK | PSH, bytes(size))
    frame = ethernet(ipv4(*FOUR, segment)) if four else ethernet(ipv6(*SIX, segment), 0x86DD)
    copy, made = scrubbed(frame)
    assert (made.link_type, made.wire) == (1, len(frame))
    check(copy, made)


def test_options_and_padding_are_gone() -> None:
    segment = tcp(50000, 9092, 7, 9, ACK, b"asks", OPTIONS)
    frame = ethernet(ipv4(*FOUR, segment, options=bytes.fromhex("440c0500 11223344 55667788"))) + b"trailer of a switch"
    copy, made = scrubbed(frame)
    check(copy, made)
    assert b"\x11\x22\x33" not in made.frame
    assert b"\xab\xcd" not in made.frame
    assert made.frame.endswith(bytes(19))
    assert bytes.fromhex("020405b4 030307") in made.frame
    assert made.frame[6:12] != frame[6:12]


def test_a_length_of_0_and_vlan_tags_stay() -> None:
    frame = ethernet(ipv4(*FOUR, tcp(50000, 9092, 7, 9, ACK, PAYLOAD), total=0), tags=bytes.fromhex("81000007"))
    copy, made = scrubbed(frame)
    key, *_, payload, cut = read(made)
    assert (len(key), payload, cut) == (12, b"y" * 200, 0)
    assert made.frame[12:16] == frame[12:16]
    assert copy.held == 200


@pytest.mark.parametrize("end", [54, 60, 100, 253])
def test_packets_cut_by_the_snaplen(end: int) -> None:
    frame = ethernet(ipv4(*FOUR, tcp(50000, 9092, 7, 9, ACK, PAYLOAD)))
    copy, made = scrubbed(frame[:end], size=len(frame))
    check(copy, made)
    assert (len(made.frame), made.wire) == (end, len(frame))


@pytest.mark.parametrize("name", [*FRAMES, *PACKETS])
def test_what_came_in_a_tunnel_comes_without(name: str) -> None:
    inner = ipv4(*FOUR, tcp(50000, 9092, 7, 9, ACK, PAYLOAD))
    outer = bytes(FRAMES[name](ethernet(inner)) if name in FRAMES else PACKETS[name](inner))
    copy, made = scrubbed(outer)
    check(copy, made)
    assert made.link_type == RAW
    for address in (*FOUR, "192.0.2.1"):
        assert ip_address(address).packed not in made.frame


@pytest.mark.parametrize("name", LINK_TYPES)
def test_link_types(name: str) -> None:
    """Headers of the link layer that name interfaces or processes are left out."""
    link, wrap = LINK_TYPES[name]
    copy, made = scrubbed(wrap(ipv4(*FOUR, tcp(50000, 9092, 7, 9, ACK, PAYLOAD))), link)
    check(copy, made)
    assert (made.link_type == link) is (name in COMMON)
    assert made.link_type in (link, RAW)


def test_fragments_are_one_packet() -> None:
    segment = tcp(50000, 9092, 7, 9, ACK, PAYLOAD)
    frames = [ethernet(ipv4(*FOUR, segment[:104], fragment=0x2000)), ethernet(ipv4(*FOUR, segment[104:], fragment=13))]
    (copy,) = copies([(frame, len(frame)) for frame in frames])
    made = SCRUBBER.rewrite_packet(copy, b"y" * copy.held)
    check(copy, made)
    assert made.link_type == RAW


def test_hosts_can_be_kept() -> None:
    frame = ethernet(ipv4(*FOUR, tcp(50000, 9092, 7, 9, ACK, PAYLOAD)))
    (copy,) = copies([(frame, len(frame))])
    made = PacketScrubber(PSEUDONYMS, keeps_hosts=True).rewrite_packet(copy, PAYLOAD)
    assert made.frame[:24] == frame[:24]
    assert made.frame[26:34] == frame[26:34]


def test_a_sum_of_all_ones_is_the_checksum_zero() -> None:
    """TCP and IP write the checksum of all ones as 0 (RFC 1071); 0xFFFF is a rule of UDP."""
    assert [_internet_checksum(data) for data in (b"\xff\xff", b"\x12\x34\xed\xcb", b"\x00\x01")] == [0, 0, 0xFFFE]
