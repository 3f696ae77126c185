"""The bytes of one pcap file in, whole records at a time, TCP segments out."""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from decoders.capture.dissect_packets import Dissector
from decoders.capture.link_types import LINKS, UNSUPPORTED, describe_link_type_remedy
from decoders.capture.read_tcp_segment import FUSED_SIZE, UNSAID, UsualHeaders, usual_ip_headers_after_link
from decoders.errors import Malformed
from decoders.limits import PACKET_MAX
from decoders.mypyc_modules import mypyc_attr
from decoders.tcp.stream_chunks import ZERO_WINDOW, Segment
from decoders.wire.format_and_escape_text import format_bytes
from decoders.wire.state_serialization import state_fields

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

# Versions of pcap up to 2.3 had the two sizes of a record the other way round, and some programs wrote them so in 2.3.
_SWAPPED_MINOR: Final = 3
# AIX' tcpdump writes version 2.2, nanoseconds, and numbers of interface types (RFC 1573) for link types.
_AIX_MINOR: Final = 2
_AIX_LINKS: Final = {6: 1, 15: 10, 24: 0}
# Bytes of the first frame in which IP is looked for, where the link type is not supported.
_LOOKED_AT: Final = 256


@mypyc_attr(allow_interpreted_subclasses=True)
class Pcap:
    """One pcap file, whose first 24 bytes are `header`. `read_segments` takes whole records; `packets` counts them.

    Reading raises Malformed for a link type that is not in `link_types.LINKS`.
    """

    def __init__(self, header: bytes, dissector: Dissector, *, fused: bool = True) -> None:
        order, self._tick, self._head = MAGICS[header[:4]]
        _, minor = Struct(order + "HH").unpack_from(header, 4)
        self.link_type = Struct(order + "I").unpack_from(header, 20)[0] & 0xFFFF  # above: size of a checksum
        if minor == _AIX_MINOR:
            self._tick, self.link_type = 1, _AIX_LINKS.get(self.link_type, self.link_type)
        self._may_be_swapped = minor <= _SWAPPED_MINOR
        self._record: Callable[[bytes, int], tuple[int, int, int, int]] = Struct(order + "IIII").unpack_from
        self._dissector: Any = dissector  # it may give more than a segment (read_packet_copies.py)
        self._link = LINKS.get(self.link_type, UNSUPPORTED)
        self._shapes: tuple[UsualHeaders, ...] = usual_ip_headers_after_link(self._link)
        self._ticks = 1_000_000_000 // self._tick
        self._fused = fused
        self.packets = 0

    def _refuse_link_type(self, buf: bytes) -> tuple[int, int]:
        """Raise Malformed with what makes a capture that is read, once the beginning of the first frame is there."""
        needed = self._head
        if len(buf) >= needed:
            needed += min(self._record(buf, 0)[2], _LOOKED_AT)
        if len(buf) < needed:
            return 0, needed
        remedy = describe_link_type_remedy(buf[self._head : needed])
        # The link type stands in the last word before the first record.
        raise Malformed(f"link type {self.link_type} is not supported ({remedy})", offset=-4)

    def read_segments(self, buf: bytes, out: list[Segment]) -> tuple[int, int]:
        """Append the segments of the whole records in `buf`, which begins at a record.

        Gives (bytes used, bytes that the next record needs, as far as known). Raises Malformed at a record header that
        cannot be one; the records before it are in `out` and in `packets`.
        """
        at, size = 0, len(buf)
        if self._link is UNSUPPORTED:
            return self._refuse_link_type(buf)
        while True:
            if self._fused:
                for shape in self._shapes:
                    at = self._read_usual_records(buf, at, out, shape)
            if at + self._head > size:
                return at, self._head
            seconds, fraction, captured, wire = self._record(buf, at)
            if captured > wire and self._may_be_swapped:
                captured, wire = wire, captured
            begin = at + self._head
            end = begin + captured
            if fraction >= self._ticks or not captured <= wire <= PACKET_MAX or not (wire or seconds):
                raise make_record_header_error(fraction, self._ticks, captured, wire, at)
            if end > size:
                return at, self._head + captured
            self.packets += 1
            time_ns = seconds * 1_000_000_000 + fraction * self._tick
            missing = wire - captured
            segment = self._dissector.dissect_packet(self._link, buf, begin, end, missing, time_ns, self.packets)
            if segment is not None:
                out.append(segment)
            at = end

    def _read_usual_records(self, buf: bytes, at: int, out: list[Segment], shape: UsualHeaders) -> int:
        """Take the records from `at` on that hold usual packets; the offset of the first record that does not."""
        unpack, network, version, mask, wanted, base, sizes = shape
        record, head, tick, ticks, packet = self._record, self._head, self._tick, self._ticks, self.packets
        append = out.append
        size = len(buf)
        safe = size - head - self._link.size - FUSED_SIZE
        since, since_ns, cut_at, cut = -1, -1, 0, 0
        while at <= safe:
            seconds, fraction, captured, wire = record(buf, at)
            begin = at + head
            end = begin + captured
            protocol, ip, length, word, key, seq, ack, offset, flags, window = unpack(buf, begin)
            stop = begin + base + length
            start = begin + sizes[offset]
            if ip != version or protocol != network or word & mask != wanted or not start <= end <= size:
                break
            if start > stop or fraction >= ticks or not captured <= wire <= PACKET_MAX:
                break
            packet += 1
            if not window and not flags & UNSAID:
                flags |= ZERO_WINDOW
            if seconds != since:
                since, since_ns = seconds, seconds * 1_000_000_000
            if stop <= end:
                append((key, since_ns + fraction * tick, packet, seq, ack, flags, buf[start:stop], 0))
            else:
                append((key, since_ns + fraction * tick, packet, seq, ack, flags, buf[start:end], stop - end))
                if captured == cut_at:
                    cut += 1
                else:
                    if cut:
                        self._dissector.count_packets_cut_at(cut_at, cut)
                    cut_at, cut = captured, 1
            at = end
        if cut:
            self._dissector.count_packets_cut_at(cut_at, cut)
        self.packets = packet
        return at

    def export(self) -> object:
        """The state as built-in values, for `resume`."""
        return [self.packets]

    def resume(self, state: object) -> None:
        """Take over what `export` gave. Raises DecodeError when it is something else."""
        (self.packets,) = state_fields(state, int)


def make_record_header_error(fraction: int, ticks: int, captured: int, wire: int, at: int) -> Malformed:
    """The error that says what is wrong with a record header."""
    if captured > PACKET_MAX or wire > PACKET_MAX:
        text = f"a packet of {format_bytes(max(captured, wire))}"
    elif captured > wire:
        text = f"a packet of {format_bytes(wire)} of which {captured:,} were captured"
    elif not wire:
        text = "nothing but zeros"
    else:
        text = f"a time of {fraction:,} ticks, but a second has {ticks:,}"
    return Malformed(f"no packet record: {text}", offset=at)
