"""The records of a classic pcap file in, TCP segments out (https://www.tcpdump.org/manpages/pcap-savefile.5.html).

One fused loop takes usual packets (IPv4 or IPv6 with TCP, no options or extensions) with two `unpack_from` calls each
(`python -m tests.bench.capture`); whatever it does not recognise goes to the plain way of `network`.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from decoders.capture.link import LINKS
from decoders.capture.network import Dissector
from decoders.capture.tcp import FUSED_SIZE, Shape, shapes
from decoders.errors import Malformed
from decoders.limits import PACKET_MAX
from decoders.streams.chunks import Segment
from decoders.wire.state import fields
from decoders.wire.text import in_bytes

__all__ = ["HEADER_SIZE", "MAGICS", "Pcap"]

HEADER_SIZE: Final = 24
# First four bytes → byte order, nanoseconds per tick, size of a record header (24: Kuznetzov's modified format).
MAGICS: Final[dict[bytes, tuple[str, int, int]]] = {
    b"\xd4\xc3\xb2\xa1": ("<", 1000, 16),
    b"\xa1\xb2\xc3\xd4": (">", 1000, 16),
    b"\x4d\x3c\xb2\xa1": ("<", 1, 16),
    b"\xa1\xb2\x3c\x4d": (">", 1, 16),
    b"\x34\xcd\xb2\xa1": ("<", 1000, 24),
    b"\xa1\xb2\xcd\x34": (">", 1000, 24),
}


class Pcap:
    """One file, whose first 24 bytes are `header`. `read` takes whole records; `packets` counts them.

    Raises Malformed for a link type that `link.LINKS` has not.
    """

    def __init__(self, header: bytes, dissector: Dissector, *, fused: bool = True) -> None:
        order, self._tick, self._head = MAGICS[header[:4]]
        self.link_type = Struct(order + "I").unpack_from(header, 20)[0] & 0xFFFF  # above: size of a checksum behind
        self._record = Struct(order + "IIII").unpack_from
        self._dissector = dissector
        if self.link_type not in LINKS:
            raise Malformed(f"link type {self.link_type} is not supported", offset=20)
        self._link = LINKS[self.link_type]
        self._shapes: tuple[Shape, ...] = shapes(self._link)
        self._ticks = 1_000_000_000 // self._tick
        self._fused = fused
        self.packets = 0

    def read(self, buf: bytes, out: list[Segment]) -> tuple[int, int]:
        """Append the segments of the whole records in `buf`, which begins at a record.

        Gives (bytes used, bytes that the next record needs, as far as known). Raises Malformed at a record header that
        cannot be one; the records before it are in `out` and in `packets`.
        """
        at, size = 0, len(buf)
        while True:
            if self._fused:
                for shape in self._shapes:
                    at = self._usual(buf, at, out, shape)
            if at + self._head > size:
                return at, self._head
            seconds, fraction, captured, wire = self._record(buf, at)
            begin = at + self._head
            end = begin + captured
            if fraction >= self._ticks or not captured <= wire <= PACKET_MAX or not (wire or seconds):
                raise _impossible(fraction, self._ticks, captured, wire, at)
            if end > size:
                return at, self._head + captured
            self.packets += 1
            time_ns = seconds * 1_000_000_000 + fraction * self._tick
            missing = wire - captured
            segment = self._dissector.segment(self._link, buf, begin, end, missing, time_ns, self.packets)
            if segment is not None:
                out.append(segment)
            at = end

    def _usual(self, buf: bytes, at: int, out: list[Segment], shape: Shape) -> int:
        """Take the records from `at` on as long as they hold usual packets, and give the offset of the first other."""
        unpack, network, version, mask, wanted, base, sizes = shape
        record, head, tick, ticks, packet = self._record, self._head, self._tick, self._ticks, self.packets
        append = out.append
        size = len(buf)
        safe = size - head - self._link.size - FUSED_SIZE
        since = since_ns = -1
        while at <= safe:
            seconds, fraction, captured, wire = record(buf, at)
            begin = at + head
            end = begin + captured
            protocol, ip, length, word, key, seq, ack, offset, flags = unpack(buf, begin)
            stop = begin + base + length
            start = begin + sizes[offset]
            if ip != version or protocol != network or word & mask != wanted or not start <= end <= size:
                break
            if start > stop or fraction >= ticks or not captured <= wire <= PACKET_MAX:
                break
            packet += 1
            if seconds != since:
                since, since_ns = seconds, seconds * 1_000_000_000
            if stop <= end:
                append((key, since_ns + fraction * tick, packet, seq, ack, flags, buf[start:stop], 0))
            else:
                append((key, since_ns + fraction * tick, packet, seq, ack, flags, buf[start:end], stop - end))
            at = end
        self.packets = packet
        return at

    def export(self) -> object:
        """The state as built-in values."""
        return [self.packets]

    def resume(self, state: object) -> None:
        """Take over what `export` gave. Raises DecodeError when it is something else."""
        (self.packets,) = fields(state, int)


def _impossible(fraction: int, ticks: int, captured: int, wire: int, at: int) -> Malformed:
    """What is wrong with a record header that cannot be one."""
    if captured > PACKET_MAX or wire > PACKET_MAX:
        text = f"a packet of {in_bytes(max(captured, wire))}"
    elif captured > wire:
        text = f"a packet of {in_bytes(wire)} of which {captured:,} were captured"
    elif not wire:
        text = "nothing but zeros"
    else:
        text = f"a time of {fraction:,} of {ticks:,} ticks in a second"
    return Malformed(f"no packet record: {text}", offset=at)
