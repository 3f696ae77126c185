"""Segments in, the bytes of a capture that holds them out: Ethernet, IPv4, TCP, in a classic pcap."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import ip_address

from decoders.tcp.stream_chunks import Segment
from tests.capture.frames import ethernet, ipv4, tcp
from tests.capture.pcap_writer import PcapWriter


def spoken(every: Iterable[Segment]) -> bytes:
    """A capture of these IPv4 segments; bytes that a segment lacks were cut by the snaplen."""
    writer = PcapWriter(1)
    out = [writer.make_file_header()]
    for key, time_ns, _, seq, ack, flags, data, lacks in every:
        ports = (int.from_bytes(key[8:10], "big"), int.from_bytes(key[10:], "big"))
        segment = tcp(*ports, seq, ack, flags, data)
        frame = ethernet(
            ipv4(str(ip_address(key[:4])), str(ip_address(key[4:8])), segment, total=20 + len(segment) + lacks)
        )
        out.append(writer.make_packet_block(time_ns, frame, len(frame) + lacks))
    return b"".join(out)
