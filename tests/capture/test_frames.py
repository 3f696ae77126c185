"""Packets of all kinds, built by hand and by scapy: their TCP segments."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from random import Random

import pytest

from decoders.capture.join_ip_fragments import Fragments
from decoders.capture.pcapng_writer import PcapngWriter
from decoders.capture.read_capture import CaptureReader
from decoders.limits import FRAGMENTED_MAX
from decoders.tcp.stream_chunks import Segment
from tests.capture.frames import ACK, PSH, ethernet, ipv4, ipv6, tcp

TIME = 1_700_000_000_123_456_789
IPV6 = 0x86DD
IP4, IP6 = ("10.0.0.1", "10.0.0.2"), ("2001:db8::1", "2001:db8::2")


def read(frames: Iterable[bytes], link: int = 1, snaplen: int = 1 << 20) -> tuple[list[Segment], dict[str, int]]:
    """The segments of these frames, and the counts."""
    writer = PcapngWriter(link)
    reader = CaptureReader()
    segments = reader.feed(writer.make_file_header())
    for frame in frames:
        segments += reader.feed(writer.make_packet_block(TIME, frame[:snaplen], len(frame)))
    segments += reader.finish()
    assert reader.problem is None
    return segments, reader.counts


def facts(segments: list[Segment]) -> list[tuple[int, int, int, int, bytes, int]]:
    """Packet number, seq, ack, flags, payload and bytes cut of each segment."""
    return [(packet, seq, ack, flags, data, cut) for _, _, packet, seq, ack, flags, data, cut in segments]


ASK = tcp(50000, 9092, 7, 9, ACK | PSH, b"asks", bytes(12))
# The segment of ASK, which has a TCP header of 32 bytes.
WHOLE = [(1, 7, 9, ACK | PSH, b"asks", 0)]

ROWS: dict[str, tuple[list[bytes], list[tuple[int, int, int, int, bytes, int]]]] = {
    "IPv4 with options": ([ethernet(ipv4(*IP4, ASK, options=bytes(40)))], WHOLE),
    "length left to the network card": ([ethernet(ipv4(*IP4, ASK, total=0))], WHOLE),
    "IPv6 length left to the network card": ([ethernet(ipv6(*IP6, ASK, length=0), IPV6)], WHOLE),
    "a traffic class": ([ethernet(b"\x6f" + ipv6(*IP6, ASK)[1:], IPV6)], WHOLE),
    "hop-by-hop options": ([ethernet(ipv6(*IP6, b"\6\0" + bytes(6) + ASK, protocol=0), IPV6)], WHOLE),
    "jumbogram": (
        [ethernet(ipv6(*IP6, b"\6\0\xc2\4\0\1\0\0" + ASK, protocol=0, length=0), IPV6)],
        WHOLE,
    ),
    "several extension headers": (
        [
            ethernet(
                ipv6(*IP6, b"\x3c\1" + bytes(14) + b"\x33\0" + bytes(6) + b"\6\2" + bytes(14) + ASK, protocol=0), IPV6
            )
        ],
        WHOLE,
    ),
    "an atomic fragment": ([ethernet(ipv6(*IP6, b"\6\0\0\0\0\0\0\5" + ASK, protocol=44), IPV6)], WHOLE),
    "more than the snaplen": ([ethernet(ipv4(*IP4, ASK + bytes(200)))], [(1, 7, 9, 24, b"asks" + bytes(30), 170)]),
    "an IP length beyond the frame": ([ethernet(ipv4(*IP4, ASK, total=80))], [(1, 7, 9, 24, b"asks", 24)]),
    "three tags": ([ethernet(ipv4(*IP4, ASK), tags=b"\x91\0\0\1\x88\xa8\0\2\x81\0\0\3")], WHOLE),
    "no payload but padding": (
        [ethernet(ipv4(*IP4, tcp(1, 2, 7, 9, ACK))) + bytes(6)],
        [(1, 7, 9, ACK, b"", 0)],
    ),
    "fragments": (
        [
            ethernet(ipv4(*IP4, ASK[:24], fragment=0x2000)),
            ethernet(ipv4(*IP4, ASK[24:], fragment=3)),
        ],
        [(2, *WHOLE[0][1:])],
    ),
    "fragments in disorder, one twice, another packet's between": (
        [
            ethernet(ipv4(*IP4, ASK[32:], fragment=4)),
            ethernet(ipv4(*IP4, ASK[:24], fragment=0x2000, ident=8)),
            ethernet(ipv4(*IP4, ASK[24:32], fragment=0x2003)),
            ethernet(ipv4(*IP4, ASK[24:32], fragment=0x2003)),
            ethernet(ipv4(*IP4, ASK[:24], fragment=0x2000)),
        ],
        [(5, *WHOLE[0][1:])],
    ),
    "IPv6 fragments": (
        [
            ethernet(ipv6(*IP6, b"\6\0\0\1\0\0\0\5" + ASK[:24], protocol=44), IPV6),
            ethernet(ipv6(*IP6, b"\6\0\0\x18\0\0\0\5" + ASK[24:], protocol=44), IPV6),
        ],
        [(2, *WHOLE[0][1:])],
    ),
    "overlapping fragments": (
        [
            ethernet(ipv4(*IP4, ASK[:24], fragment=0x2000)),
            ethernet(ipv4(*IP4, ASK[16:], fragment=2)),
        ],
        [],
    ),
    "a header cut by the snaplen": ([ethernet(ipv4(*IP4, ASK, options=bytes(40)), tags=b"\x81\0\0\1" * 2)], []),
    "options cut by the snaplen": ([ethernet(ipv4(*IP4, ASK, options=bytes(40)))], [(1, 7, 9, 24, b"", 4)]),
    "a TCP header shorter than any": ([ethernet(ipv4(*IP4, ASK[:12] + b"\x40" + ASK[13:]))], []),
    "a TCP header longer than the packet": ([ethernet(ipv4(*IP4, ASK[:12] + b"\xf0" + ASK[13:]))], []),
    "an IP header shorter than any": ([ethernet(b"\x44" + ipv4(*IP4, ASK)[1:])], []),
    "not the IP version it says": ([ethernet(ipv6(*IP6, ASK))], []),
    "an extension header without end": ([ethernet(ipv6(*IP6, b"\0\xff" + bytes(30), protocol=0), IPV6)], []),
    "nothing but extension headers": ([ethernet(ipv6(*IP6, (b"\0\0" + bytes(6)) * 4, protocol=0), IPV6)], []),
}


@pytest.mark.parametrize("name", ROWS)
def test_frames(name: str) -> None:
    frames, wanted = ROWS[name]
    snaplen = 100 if "snaplen" in name else 1 << 20
    segments, counts = read(frames, snaplen=snaplen)
    assert facts(segments) == wanted
    assert counts["tcp"] + counts["unreadable"] + counts["fragments"] + counts["other"] == len(frames)


@pytest.mark.parametrize("link", [0, 101, 113, 276])
def test_packets_larger_than_ip_can_say(link: int) -> None:
    size = 300_000
    head4 = {0: b"\2\0\0\0", 101: b"", 113: bytes(14) + b"\x08\x00", 276: b"\x08\x00" + bytes(18)}[link]
    head6 = {0: b"\x1e\0\0\0", 101: b"", 113: bytes(14) + b"\x86\xdd", 276: b"\x86\xdd" + bytes(18)}[link]
    segment = tcp(1, 2, 3, 4, ACK, bytes(size))
    segments, _ = read([head4 + ipv4(*IP4, segment, total=0), head6 + ipv6(*IP6, segment, length=0)], link)
    assert [len(segment[6]) for segment in segments] == [size, size]
    segments, _ = read([head4 + ipv4(*IP4, segment, total=0)], link, snaplen=1000)
    assert len(segments[0][6]) + segments[0][7] == size


def test_fragments_that_wait_are_bounded_and_counted() -> None:
    frames = [ethernet(ipv4(*IP4, ASK[:24], fragment=0x2000, ident=ident)) for ident in range(FRAGMENTED_MAX + 10)]
    frames.append(ethernet(ipv4(*IP4, ASK[24:], fragment=3, ident=3)))
    frames.append(ethernet(ipv4(*IP4, ASK[24:], fragment=3, ident=FRAGMENTED_MAX + 9)))
    segments, counts = read(frames)
    assert [segment[2] for segment in segments] == [len(frames)]
    assert counts["fragmented"] == FRAGMENTED_MAX + 10  # the two late ones wait for their first halves


def test_a_cut_fragment_makes_nothing() -> None:
    fragments = Fragments()
    assert fragments.add_fragment(b"a", 0, True, 6, b"12345678") is None
    assert fragments.add_fragment(b"a", 8, False, 6, None) is None
    assert fragments.given_up == 1


def test_scapy_and_kw_agree() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of scapy's own, about ciphers
        from scapy.layers.inet import IP, TCP
        from scapy.layers.inet6 import IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrHopByHop
        from scapy.layers.l2 import CookedLinux, CookedLinuxV2, Dot1AD, Dot1Q, Ether, Loopback
        from scapy.packet import Packet

        random = Random(7)
        # With an address, since scapy would ask the network for one otherwise.
        ether = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
        links: dict[int, list[Packet]] = {
            1: [ether, ether / Dot1Q(vlan=5), ether / Dot1AD(vlan=5) / Dot1Q(vlan=6)],
            113: [CookedLinux()],
            276: [CookedLinuxV2()],
            108: [Loopback()],
        }
        networks = [IP(src=IP4[0], dst=IP4[1]), IPv6(src=IP6[0], dst=IP6[1])]
        networks += [networks[1] / IPv6ExtHdrHopByHop(), networks[1] / IPv6ExtHdrHopByHop() / IPv6ExtHdrDestOpt()]
        options = [[], [("Timestamp", (1, 2))], [("MSS", 1460), ("SAckOK", b""), ("Timestamp", (1, 2)), ("WScale", 7)]]
        for link, heads in links.items():
            frames, wanted = [], []
            for head in heads:
                for network in networks:
                    for number in range(12):
                        payload = random.randbytes(random.choice([0, 1, 6, 7, 1400]))
                        layer = TCP(
                            sport=1000 + number,
                            dport=9092,
                            seq=random.getrandbits(32),
                            ack=random.getrandbits(32),
                            flags=random.choice(["S", "PA", "A", "FA", "R", "SA"]),
                            options=random.choice(options),
                        )
                        frame = bytes(head / network / layer / payload)
                        frames.append(frame + bytes(max(60 - len(frame), 0) if link == 1 else 0))
                        wanted.append((len(frames), layer.seq, layer.ack, int(layer.flags), payload, 0))
            segments, _ = read(frames, link)
            assert facts(segments) == wanted
            assert [int.from_bytes(segment[0][-4:-2], "big") for segment in segments] == [
                1000 + number % 12 for number in range(len(frames))
            ]
