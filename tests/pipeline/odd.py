"""A capture to be cut into splits: a conversation, and a connection that waits in the oddest of states."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from decoders.tcp.stream_chunks import Segment
from tests.capture.frames import ethernet
from tests.capture.pcap_writer import PcapWriter
from tests.exchanges.talks import Talker
from tests.exchanges.talks import segments as spoken

RST_ACK = 20
FIN_ACK = 17
ACK = 16
BEGIN_NS = 1_700_000_000 * 10**9


def odd_capture(count: int = 60) -> bytes:
    """The odd connection (port 50001) begins first and never ends; the other one (50000) continues beside it."""
    rng = Random(5)
    odd = spoken(Talker(rng, count=6).talk.turns, rng, port=50001)[:-3]  # without its normal end
    *_, (key, _, _, seq, ack, _, data, _) = (segment for segment in odd if segment[0][-2:] == b"\x23\x84")
    due = seq + len(data)
    broker = key[4:8] + key[:4] + key[-2:] + key[-4:-2]
    odd += [
        # The client ends, and resets with the number of its FIN; both acknowledge what comes later, or never.
        (key, 0, 0, due, ack + 10, FIN_ACK, b"", 0),
        (key, 0, 0, due, ack + 13, RST_ACK, b"", 0),
        (broker, 0, 0, ack, due + 1, ACK, b"0123456789", 0),
    ]
    other = spoken(Talker(rng, count=count).talk.turns, rng)
    return written([*odd, *other])


def written(segments: list[Segment]) -> bytes:
    """Segments of IPv4 as a capture, a microsecond apart."""
    writer = PcapWriter(1)
    out = [writer.make_file_header()]
    for number, (key, _, _, seq, ack, flags, data, _) in enumerate(segments):
        ports, numbers = key[8:], (seq % 2**32).to_bytes(4, "big") + (ack % 2**32).to_bytes(4, "big")
        tcp = ports + numbers + bytes([0x50, flags]) + b"\xff\xff\0\0\0\0" + data
        ip = b"\x45\0" + (20 + len(tcp)).to_bytes(2, "big") + b"\0\7\x40\0\x40\6\0\0" + key[:8] + tcp
        out.append(writer.make_packet_block(BEGIN_NS + number * 1000, ethernet(ip)))
    return b"".join(out)


def packets(capture: bytes) -> Iterator[bytes]:
    """The records of a classic capture in little endian."""
    at = 24
    while at < len(capture):
        end = at + 16 + int.from_bytes(capture[at + 8 : at + 12], "little")
        yield capture[at:end]
        at = end
