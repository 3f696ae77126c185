"""Faulty captures made of those that ship: one direction, cut or lost packets, no Kafka at all.

`$MADE` in a command line is the folder with these captures.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from functools import cache
from ipaddress import ip_address
from pathlib import Path
from typing import Final

from decoders.tcp.connection_and_halves import format_endpoints
from decoders.tcp.stream_chunks import Segment
from tests.capture.blocks import enhanced, interface, section, statistics
from tests.capture.frames import ACK, SYN, ethernet, ipv4, ipv6, tcp
from tests.capture.pcap_writer import PcapWriter
from tests.captures.shipped import segments

__all__ = ["CAPTURES", "answers_of", "in_packets", "made_folder", "requests_of"]

_TOUR: Final = "tour.pcapng"


def answers_of(name: str) -> list[Segment]:
    """The segments of a capture that servers sent."""
    servers = _servers(name)
    return [segment for segment in segments(name) if format_endpoints(segment[0])[0] in servers]


def requests_of(name: str) -> list[Segment]:
    """The segments of a capture that clients sent to servers."""
    servers = _servers(name)
    return [segment for segment in segments(name) if format_endpoints(segment[0])[1] in servers]


@cache
def _servers(name: str) -> frozenset[str]:
    return frozenset(format_endpoints(each[0])[1] for each in segments(name) if each[5] & (SYN | ACK) == SYN)


def packet(segment: Segment) -> bytes:
    """The Ethernet frame of a segment."""
    key, _, _, seq, ack, flags, payload, _ = segment
    size = (len(key) - 4) // 2
    source, target = (str(ip_address(key[at : at + size])) for at in (0, size))
    source_port, target_port = (int.from_bytes(key[2 * size + at : 2 * size + at + 2], "big") for at in (0, 2))
    data = tcp(source_port, target_port, seq, ack, flags, payload)
    if size == 16:
        return ethernet(ipv6(source, target, data, length=0 if len(data) > 65535 else None), 0x86DD)
    return ethernet(ipv4(source, target, data, total=0 if len(data) > 65500 else None))


def in_packets(found: Iterable[Segment], snaplen: int | None = None) -> bytes:
    """A pcap file of segments, each cut at `snaplen` bytes."""
    writer = PcapWriter(1, snaplen=snaplen or 262_144)
    out = [writer.make_file_header()]
    for segment in found:
        frame = packet(segment)
        out.append(writer.make_packet_block(segment[1], frame[:snaplen], len(frame)))
    return b"".join(out)


def _mixed() -> bytes:
    """A capture with both directions of some connections, only answers of some, only requests of some."""
    servers = _servers(_TOUR)
    kept = []
    for segment in segments(_TOUR):
        source, target = format_endpoints(segment[0])
        answers = source in servers
        client = int((target if answers else source).rpartition(":")[2])
        if client % 3 == 0 or client % 3 == (1 if answers else 2):
            kept.append(segment)
    return in_packets(kept)


def _dropped() -> bytes:
    """A pcapng with a count of packets that the capturing system dropped."""
    out = [section("<"), interface("<", rows=((9, b"\x09"),))]
    out += [enhanced("<", 0, segment[1], packet(segment)) for segment in segments(_TOUR)]
    return b"".join([*out, statistics("<", 0, 9, 0, 1234)])


def _twice() -> bytes:
    """Each packet three times, as captured on three interfaces, a microsecond apart."""
    copies = [(each[1] + 1000 * n, number, each) for number, each in enumerate(segments(_TOUR)) for n in range(3)]
    return in_packets((each[0], at, *each[2:]) for at, _, each in sorted(copies, key=lambda copy: copy[:2]))


def _udp() -> bytes:
    writer = PcapWriter(1)
    frame = ethernet(ipv4("10.0.0.1", "10.0.0.2", bytes(40), protocol=17))
    return b"".join(
        [writer.make_file_header(), *(writer.make_packet_block(number * 10**9, frame) for number in range(1, 8))]
    )


CAPTURES: Final[dict[str, Callable[[], bytes]]] = {
    "answers.pcap": lambda: in_packets(answers_of(_TOUR)),
    "requests.pcap": lambda: in_packets(requests_of(_TOUR)),
    "mixed.pcap": _mixed,
    "answers-of-zookeeper.pcap": lambda: in_packets(answers_of("negative/zookeeper.pcap")),
    "answers-of-postgresql.pcap": lambda: in_packets(answers_of("negative/postgresql.pcap")),
    "answers-of-mongodb.pcap": lambda: in_packets(answers_of("negative/mongodb.pcap")),
    "cut-at-96.pcap": lambda: in_packets(segments(_TOUR), 96),
    "cut-at-300.pcap": lambda: in_packets(segments(_TOUR), 300),
    "cut-at-60.pcap": lambda: in_packets(segments(_TOUR), 60),
    "cut-at-40.pcap": lambda: in_packets(segments(_TOUR), 40),
    "middle.pcap": lambda: in_packets(segments(_TOUR)[400:]),
    "lossy.pcap": lambda: in_packets(each for n, each in enumerate(segments(_TOUR)) if n % 40 != 39),
    "dropped.pcapng": _dropped,
    "twice.pcap": _twice,
    "udp.pcap": _udp,
    "no-packets.pcap": lambda: in_packets([]),
    "no-bytes.pcap": lambda: in_packets(each for each in segments(_TOUR) if each[5] & SYN),
}


@cache
def made_folder() -> Path:
    """The folder with all faulty captures, which lasts as long as this process."""
    folder = Path(_kept().name)
    for name, make in CAPTURES.items():
        (folder / name).write_bytes(make())
    return folder


@cache
def _kept() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="kw-faulty-")
