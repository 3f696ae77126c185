"""One packet a row, under every link type and in every file format, with the segment to expect."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from decoders.capture.pcapng_writer import PcapngWriter
from decoders.capture.read_capture import CaptureReader
from tests.capture.frames import ACK, PSH, ethernet, ipv4, ipv6, tcp
from tests.capture.pcap_writer import PcapWriter

TIME = 1_700_000_000_123_456_789
SEGMENT = tcp(50000, 9092, 7, 9, ACK | PSH, b"ask", b"\1\1\x08\x0a" + bytes(8))
FOUR = ipv4("10.0.0.1", "10.0.0.2", SEGMENT)
SIX = ipv6("::1", "::2", SEGMENT)
KEY4 = bytes([10, 0, 0, 1, 10, 0, 0, 2]) + b"\xc3\x50\x23\x84"
KEY6 = bytes(15) + b"\1" + bytes(15) + b"\2" + b"\xc3\x50\x23\x84"

LINKS = {
    "Ethernet": (1, ethernet(FOUR), ethernet(SIX, 0x86DD)),
    "Ethernet with padding": (1, ethernet(FOUR) + bytes(9), ethernet(SIX, 0x86DD) + bytes(9)),
    "VLAN": (1, ethernet(FOUR, tags=b"\x81\0\0\5"), ethernet(SIX, 0x86DD, b"\x81\0\0\5")),
    "QinQ": (1, ethernet(FOUR, tags=b"\x88\xa8\0\5\x81\0\0\6"), ethernet(SIX, 0x86DD, b"\x88\xa8\0\5\x81\0\0\6")),
    "Linux cooked": (113, bytes(14) + b"\x08\x00" + FOUR, bytes(14) + b"\x86\xdd" + SIX),
    "Linux cooked v2": (276, b"\x08\x00" + bytes(18) + FOUR, b"\x86\xdd" + bytes(18) + SIX),
    "loopback, little-endian": (0, b"\2\0\0\0" + FOUR, b"\x1e\0\0\0" + SIX),
    "loopback, big-endian": (0, b"\0\0\0\2" + FOUR, b"\0\0\0\x1c" + SIX),
    "OpenBSD loopback": (108, b"\0\0\0\2" + FOUR, b"\0\0\0\x18" + SIX),
    **{f"raw IP {number}": (number, FOUR, SIX) for number in (12, 14, 101, 228, 229)},
}
FORMATS: dict[str, Callable[[int], PcapWriter | PcapngWriter]] = {
    "pcap": PcapWriter,
    "pcap, µs": partial(PcapWriter, nanoseconds=False),
    "pcap, big-endian": partial(PcapWriter, order=">"),
    "pcapng": PcapngWriter,
}


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("file", FORMATS)
@pytest.mark.parametrize("name", LINKS)
def test_a_segment_under_every_link_type(name: str, file: str, fused: bool) -> None:
    link, four, six = LINKS[name]
    writer = FORMATS[file](link)
    # The bytes behind it keep the fused loops away from the end of the buffer.
    data = (
        writer.make_file_header()
        + writer.make_packet_block(TIME, four)
        + writer.make_packet_block(TIME + 2000, six)
        + writer.make_packet_block(TIME, bytes(200))
    )
    reader = CaptureReader(fused=fused)
    got = reader.feed(data) + reader.finish()
    time = TIME // 1000 * 1000 if "µs" in file else TIME
    assert got == [
        (KEY4, time, 1, 7, 9, ACK | PSH, b"ask", 0),
        (KEY6, time + 2000, 2, 7, 9, ACK | PSH, b"ask", 0),
    ]
    assert reader.problem is None
    assert (reader.counts["packets"], reader.counts["tcp"]) == (3, 2)
