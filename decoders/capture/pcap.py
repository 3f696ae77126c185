"""The records of a classic pcap file in, TCP segments out (https://www.tcpdump.org/manpages/pcap-savefile.5.html).

One fused loop takes the usual packet (IPv4 or IPv6 with TCP, no options or extensions) with two `unpack_from` calls
(`python -m tests.bench.capture`); whatever it does not recognise goes to the plain way of `network`.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from decoders.capture.link import LINKS
from decoders.capture.network import Dissector
from decoders.capture.tcp import FUSED_SIZE, fused6, header_sizes, unpacker4
from decoders.errors import Malformed
from decoders.limits import PACKET_MAX
from decoders.streams.chunks import Segment
from decoders.wire.state import fields

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
        self._fused = fused
        self.packets = 0

    def read(self, buf: bytes, out: list[Segment]) -> tuple[int, int]:
        """Append the segments of the whole records in `buf`, which begins at a record.

        Gives (bytes used, bytes that the next record needs, as far as known). Raises Malformed at a record header that
        cannot be one; the records before it are in `out` and in `packets`.
        """
        link = self._link
        record, head, tick, packet = self._record, self._head, self._tick, self.packets
        four, base, sizes, ip4, ip6 = unpacker4(link), link.size, header_sizes(link.size + 20), link.ip4, link.ip6
        dissect, append = self._dissector.segment, out.append
        ticks = 1_000_000_000 // tick
        size = len(buf)
        last = size - head
        safe = last - base - FUSED_SIZE if self._fused else -1
        at, needed = 0, head
        while at <= last:
            seconds, fraction, captured, wire = record(buf, at)
            begin = at + head
            end = begin + captured
            if fraction >= ticks or not captured <= wire <= PACKET_MAX:
                self.packets = packet
                raise _impossible(fraction, ticks, captured, wire, at)
            if end > size:
                needed = head + captured
                break
            packet += 1
            time_ns = seconds * 1_000_000_000 + fraction * tick
            if at <= safe:
                network, version, total, fragment, protocol, key, seq, ack, offset, flags = four(buf, begin)
                if version == 0x45 and network == ip4 and protocol == 6 and not fragment & 0xBFFF:
                    start = begin + sizes[offset]
                    stop = begin + base + total
                    if start <= stop <= end:
                        append((key, time_ns, packet, seq, ack, flags, buf[start:stop], 0))
                        at = end
                        continue
                elif version >> 4 == 6 and network == ip6:
                    segment = fused6(link, buf, begin, end, time_ns, packet)
                    if segment is not None:
                        append(segment)
                        at = end
                        continue
            segment = dissect(link, buf, begin, end, wire - captured, time_ns, packet)
            if segment is not None:
                append(segment)
            at = end
        self.packets = packet
        return at, needed

    def export(self) -> object:
        """The state as built-in values."""
        return [self.packets]

    def resume(self, state: object) -> None:
        """Take over what `export` gave. Raises DecodeError when it is something else."""
        (self.packets,) = fields(state, int)


def _impossible(fraction: int, ticks: int, captured: int, wire: int, at: int) -> Malformed:
    """What is wrong with a record header that cannot be one."""
    if captured > PACKET_MAX or wire > PACKET_MAX:
        text = f"a packet of {max(captured, wire):,} bytes"
    elif captured > wire:
        text = f"a packet of {wire:,} bytes of which {captured:,} were captured"
    else:
        text = f"a time of {fraction:,} of {ticks:,} ticks in a second"
    return Malformed(f"no packet record: {text}", offset=at)
