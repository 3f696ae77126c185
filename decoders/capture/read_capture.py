"""The bytes of one capture file (pcap or pcapng) in, cut anywhere; TCP segments out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from math import gcd
from struct import Struct
from typing import TYPE_CHECKING, Any, ClassVar, Final

from decoders.capture.dissect_packets import Dissector
from decoders.capture.find_key_log_lines import SECRETS, SECTION, TLS_KEY_LOG
from decoders.capture.link_types import LINKS, UNSUPPORTED
from decoders.capture.read_pcap import HEADER_SIZE, MAGICS, Pcap
from decoders.capture.read_tcp_segment import FUSED_SIZE, UNSAID, UsualHeaders, usual_ip_headers_after_link
from decoders.errors import DecodeError, LimitExceeded, Malformed, Truncated, strip_traceback
from decoders.limits import BLOCK_MAX, INTERFACES_MAX, PACKET_MAX
from decoders.mypyc_modules import mypyc_attr
from decoders.tcp.stream_chunks import ZERO_WINDOW, Segment
from decoders.wire.format_and_escape_text import format_bytes
from decoders.wire.state_serialization import pack, state_fields, unpack

if TYPE_CHECKING:  # loaded with the first capture that was cut out of another one
    from decoders.capture.segments_of_cut_out_packets import CutNote, CutReceiver, CutSegments

__all__ = ["MAGIC", "CaptureReader", "Interface", "Pcapng"]

# Blocks of pcapng
MAGIC: Final = b"\x0a\x0d\x0d\x0a"  # the same in both byte orders

ENHANCED: Final = 6
_BLOCK_MIN: Final = 12
PACKET_AT: Final = 28  # where the packet begins in an enhanced packet block, the header included
_ORDERS: Final = {b"\x4d\x3c\x2b\x1a": "<", b"\x1a\x2b\x3c\x4d": ">"}

# The head of an enhanced packet block: type, length, interface, time (high, low), captured, on the wire.
BLOCK_HEAD: Final = "IIIIIII"
# Formats are read in the byte order of their section: there are two structs of each.
_struct = cache(Struct)
# Option codes of interface descriptions and of interface statistics.
_END: Final = 0
_COMMENT: Final = 1
_IF_NAME: Final = 2
_IF_TSRESOL: Final = 9
_IF_TSOFFSET: Final = 14
_ISB_DROPS: Final = (5, 7)  # dropped by the interface, by the operating system
# The start of the comment of a section whose packets kw has cut out of another capture
# (noted_packets_to_segments.MARK).
_CUT_OUT: Final = b"cut out by kw sniff -w"

# The finest resolution of a clock, as a power of 2 or 10: a finer one is no clock, and its power a large number.
_RESOLUTION_MAX: Final = 64
# The latest time of a packet in ns, in the year 2262: a later one is damaged, and shown as this one.
TIME_MAX: Final = (1 << 63) - 1
# The longest tick of the fused loop (a microsecond): 2**32 of them are far from TIME_MAX.
TICK_MAX: Final = 1000


class Interface:
    """One capture interface. A tick is `numerator/denominator` ns, `offset_ns` is added; `dropped` is its own count."""

    __slots__ = ("denominator", "dropped", "link_type", "name", "numerator", "offset_ns", "snaplen")

    def __init__(
        self,
        link_type: int,
        snaplen: int,
        name: str = "",
        numerator: int = 1000,
        denominator: int = 1,
        offset_ns: int = 0,
        dropped: int = 0,
    ) -> None:
        self.link_type = link_type
        self.snaplen = snaplen
        self.name = name
        self.numerator = numerator
        self.denominator = denominator
        self.offset_ns = offset_ns
        self.dropped = dropped


@mypyc_attr(allow_interpreted_subclasses=True)
class Pcapng:
    """One pcapng file (draft-ietf-opsawg-pcapng); `interfaces` are those of the current section, of any byte order."""

    def __init__(self, dissector: Dissector, *, fused: bool = True) -> None:
        self.packets = 0
        self.interfaces: list[Interface] = []
        self._dissector: Any = dissector  # it may give more than a segment, as in Pcap
        self._fused = fused
        self._order = "<"
        self._earlier_drops = 0  # of earlier sections
        self.on_secrets: Callable[[bytes], None] | None = None
        self.cut_receiver: CutReceiver | None = None
        self.cuts: CutSegments | None = None  # of a section whose packets were cut out of another capture
        self._time_ns = 0  # of the latest packet that had one

    @property
    def count_dropped_packets(self) -> int:
        """Packets that the interfaces and the capturing system say they dropped."""
        return self._earlier_drops + sum(interface.dropped for interface in self.interfaces)

    def read_segments(self, buf: bytes, out: list[Segment]) -> tuple[int, int]:
        """Append the segments of the whole blocks in `buf`, which begins at a block.

        Gives (bytes used, bytes that the next block needs, as far as known). Raises Malformed at a block that cannot
        be one, with the segments before it in `out`.
        """
        at, size = 0, len(buf)
        while True:
            if self._fused:
                at = self._read_usual_blocks(buf, at, out)
            if size - at < _BLOCK_MIN:
                return at, _BLOCK_MIN
            if buf[at : at + 4] == MAGIC:
                self._begin_section(buf, at)
            kind, length = _struct(self._order + "II").unpack_from(buf, at)
            if length < _BLOCK_MIN or length & 3 or length > BLOCK_MAX:
                raise Malformed(f"no block: {format_bytes(length)} cannot be the length of one", offset=at)
            end = at + length
            if end > size:
                return at, length
            if self._read_uint32(buf, end - 4) != length and not self._has_usual_length(buf, at, kind, length):
                raise Malformed(f"a block of {format_bytes(length)} does not repeat its length at its end", offset=at)
            handler = _BLOCKS.get(kind)
            if handler is not None:
                handler(self, buf, at, end - 4, out)
            at = end

    def _read_usual_blocks(self, buf: bytes, at: int, out: list[Segment]) -> int:
        """Take the usual packets of one interface from `at` on; the offset of the first other block."""
        if len(buf) < at + PACKET_AT or self.cuts is not None:
            return at
        number = self._read_uint32(buf, at + 8)
        if number < len(self.interfaces):
            interface = self.interfaces[number]
            link = LINKS.get(interface.link_type)
            if link is not None and interface.denominator == 1 and interface.numerator <= TICK_MAX:
                for shape in usual_ip_headers_after_link(link):
                    at = self._read_enhanced_blocks(buf, at, out, number, interface, len(buf) - link.size, shape)
        return at

    def _read_enhanced_blocks(
        self, buf: bytes, at: int, out: list[Segment], number: int, interface: Interface, safe: int, shape: UsualHeaders
    ) -> int:
        """The fused loop (tests/bench/capture.py) over packets of one interface; the offset of another block."""
        unpack, network, version, mask, wanted, base, sizes = shape
        block: Callable[[bytes, int], tuple[int, int, int, int, int, int, int]]
        block = _struct(self._order + BLOCK_HEAD).unpack_from
        tick, offset_ns, packet, append = interface.numerator, interface.offset_ns, self.packets, out.append
        size = len(buf)
        safe -= PACKET_AT + FUSED_SIZE
        since, since_ns, cut_at, cut = -1, -1, 0, 0
        while at <= safe:
            kind, length, source, high, low, captured, wire = block(buf, at)
            begin = at + PACKET_AT
            end = begin + captured
            after = at + length
            protocol, ip, total, word, key, seq, ack, offset, flags, window = unpack(buf, begin)
            stop = begin + base + total
            start = begin + sizes[offset]
            if ip != version or protocol != network or word & mask != wanted or not start <= end < after <= size:
                break
            if start > stop or kind != ENHANCED or source != number or not captured <= wire <= PACKET_MAX:
                break
            # The length follows from the packet's length, or (with options) equals the one that closes the block.
            if length != (captured + 35) & -4 and (length & 3 or self._read_uint32(buf, after - 4) != length):
                break
            if high != since:
                since, since_ns = high, (high << 32) * tick + offset_ns
                if not 0 <= since_ns < TIME_MAX >> 1:
                    break
            packet += 1
            if not window and not flags & UNSAID:
                flags |= ZERO_WINDOW
            if stop <= end:
                append((key, since_ns + low * tick, packet, seq, ack, flags, buf[start:stop], 0))
            else:
                append((key, since_ns + low * tick, packet, seq, ack, flags, buf[start:end], stop - end))
                if captured == cut_at:
                    cut += 1
                else:
                    if cut:
                        self._dissector.count_packets_cut_at(cut_at, cut)
                    cut_at, cut = captured, 1
            at = after
        if cut:
            self._dissector.count_packets_cut_at(cut_at, cut)
        if packet != self.packets:
            self.packets, self._time_ns = packet, out[-1][1]
        return at

    def _has_usual_length(self, buf: bytes, at: int, kind: int, length: int) -> bool:
        """Whether the block is an enhanced packet block without options whose length follows from the packet's."""
        return kind == ENHANCED and length >= PACKET_AT and length == (self._read_uint32(buf, at + 20) + 35) & -4

    def export(self) -> object:
        """The state as built-in values, for `resume`."""
        interfaces = [
            [each.link_type, each.snaplen, each.name, each.numerator, each.denominator, each.offset_ns, each.dropped]
            for each in self.interfaces
        ]
        cuts = None if self.cuts is None else self.cuts.count
        return [self.packets, self._order, self._earlier_drops, self._time_ns, interfaces, cuts]

    def resume(self, state: object) -> None:
        """Take over what `export` gave. Raises DecodeError when it is something else."""
        self.packets, order, self._earlier_drops, self._time_ns, interfaces, cuts = state_fields(
            state, int, str, int, int, list, int | None
        )
        if order not in _ORDERS.values() or len(interfaces) > INTERFACES_MAX:
            raise Malformed("a saved state of no known section")
        self._order = order
        self.interfaces = [Interface(*state_fields(row, int, int, str, int, int, int, int)) for row in interfaces]
        if any(interface.denominator < 1 for interface in self.interfaces):
            raise Malformed("a saved interface without a clock")
        if cuts is not None:
            self._begin_reading_cut_notes().count = cuts

    def _read_uint32(self, buf: bytes, at: int) -> int:
        value: int = _struct(self._order + "I").unpack_from(buf, at)[0]
        return value

    def _begin_section(self, buf: bytes, at: int) -> None:
        order = _ORDERS.get(buf[at + 8 : at + 12])
        if order is None:
            raise Malformed("a section has no byte-order magic", offset=at + 8)
        self._order = order
        self._earlier_drops = self.count_dropped_packets
        self.interfaces = []

    def _read_section_header(self, buf: bytes, at: int, end: int, _out: list[Segment]) -> None:
        """Check the version of a section that is there as a whole, and see whether its packets were cut out."""
        major = _struct(self._order + "H").unpack_from(buf, at + 12)[0] if at + 16 <= end else 0
        if major != 1:
            raise Malformed(f"version {major} of pcapng is not known", offset=at + 12)
        comments = [value for code, value in self._read_options(buf, at + 24, end) if code == _COMMENT]
        if any(comment.startswith(_CUT_OUT) for comment in comments):
            self._begin_reading_cut_notes().pass_topic_names_to_receiver(comments, self.cut_receiver)

    def _begin_reading_cut_notes(self) -> CutSegments:
        """Read notes of packets from here on (segments_of_cut_out_packets.py)."""
        from decoders.capture.segments_of_cut_out_packets import CutSegments

        if self.cuts is None:
            self.cuts = CutSegments()
        return self.cuts

    def _find_cut_note(self, buf: bytes, at: int, end: int) -> CutNote | None:
        """The note of the packet in an enhanced packet block; None where it has none."""
        assert self.cuts is not None
        options = self._read_options(buf, at + PACKET_AT + (self._read_uint32(buf, at + 20) + 3 & -4), end)
        return self.cuts.find_note_in_comments([value for code, value in options if code == _COMMENT])

    def _replace_segment_by_noted(self, note: CutNote, before: int, out: list[Segment]) -> None:
        """Replace the segment of a packet with a note, where it gave one, by the segments that the note means."""
        if self.cuts is not None and len(out) > before:
            out[before:] = self.cuts.replace_by_noted_segments(out[before], note, self.cut_receiver)

    def _read_interface_description(self, buf: bytes, at: int, end: int, _out: list[Segment]) -> None:
        if at + 16 > end:
            raise Malformed("an interface description is too short", offset=at)
        if len(self.interfaces) >= INTERFACES_MAX:
            raise LimitExceeded(f"more than {INTERFACES_MAX} interfaces", offset=at)
        interface = Interface(*_struct(self._order + "HxxI").unpack_from(buf, at + 8))
        for code, value in self._read_options(buf, at + 16, end):
            if code == _IF_NAME:
                interface.name = value.rstrip(b"\0").decode("utf-8", "replace")
            elif code == _IF_TSRESOL and value:
                power = value[0] & 0x7F
                base = 2 if value[0] & 0x80 else 10
                if power > _RESOLUTION_MAX:
                    raise Malformed(f"a clock resolution of {base}**-{power} seconds is not possible", offset=at)
                ticks = base**power
                divisor = gcd(ticks, 1_000_000_000)
                interface.numerator = 1_000_000_000 // divisor
                interface.denominator = ticks // divisor
            elif code == _IF_TSOFFSET and len(value) == 8:
                interface.offset_ns = _struct(self._order + "q").unpack(value)[0] * 1_000_000_000
        self.interfaces.append(interface)

    def _read_interface_statistics(self, buf: bytes, at: int, end: int, _out: list[Segment]) -> None:
        if at + 20 > end or self._read_uint32(buf, at + 8) >= len(self.interfaces):
            return  # statistics say nothing about packets: no reason to stop reading
        counter = _struct(self._order + "Q")
        drops = {
            code: counter.unpack(value)[0]
            for code, value in self._read_options(buf, at + 20, end)
            if code in _ISB_DROPS and len(value) == 8
        }
        self.interfaces[self._read_uint32(buf, at + 8)].dropped = sum(drops.values())

    def _read_decryption_secrets(self, buf: bytes, at: int, end: int, _out: list[Segment]) -> None:
        """Give the lines of a key log to `on_secrets`."""
        if self.on_secrets is None or at + 16 > end or self._read_uint32(buf, at + 8) != TLS_KEY_LOG:
            return
        self.on_secrets(buf[at + 16 : min(at + 16 + self._read_uint32(buf, at + 12), end)])

    def _read_options(self, buf: bytes, at: int, end: int) -> Iterator[tuple[int, bytes]]:
        option = _struct(self._order + "HH")
        while at + 4 <= end:
            code, size = option.unpack_from(buf, at)
            at += 4
            if code == _END or at + size > end:
                return
            yield code, buf[at : at + size]
            at += size + 3 & -4

    def _read_simple_packet(self, buf: bytes, at: int, end: int, out: list[Segment]) -> None:
        """Take a packet of the first interface without a time: it gets the time of the packet before it."""
        if at + 12 > end:
            raise Malformed("a packet block is too short", offset=at)
        if not self.interfaces:
            raise Malformed("a packet of an interface that is not described", offset=at)
        wire = self._read_uint32(buf, at + 8)
        snaplen = self.interfaces[0].snaplen or wire
        self._dissect_packet(buf, at + 12, end, 0, min(wire, snaplen), wire, self._time_ns, out)

    def _read_obsolete_packet(self, buf: bytes, at: int, end: int, out: list[Segment]) -> None:
        if at + PACKET_AT > end:
            raise Malformed("a packet block is too short", offset=at)
        number, _drops, high, low, captured, wire = _struct(self._order + "HHIIII").unpack_from(buf, at + 8)
        self._dissect_packet_with_ticks(buf, at, end, number, high << 32 | low, captured, wire, out)

    def _read_enhanced_packet(self, buf: bytes, at: int, end: int, out: list[Segment]) -> None:
        """Take any enhanced packet block."""
        if at + PACKET_AT > end:
            raise Malformed("a packet block is too short", offset=at)
        number, high, low, captured, wire = _struct(self._order + "IIIII").unpack_from(buf, at + 8)
        note = None if self.cuts is None else self._find_cut_note(buf, at, end)
        before = len(out)
        self._dissect_packet_with_ticks(buf, at, end, number, high << 32 | low, captured, wire, out)
        if note is not None:
            self._replace_segment_by_noted(note, before, out)

    def _dissect_packet_with_ticks(
        self, buf: bytes, at: int, end: int, number: int, ticks: int, captured: int, wire: int, out: list[Segment]
    ) -> None:
        if number >= len(self.interfaces):
            raise Malformed(f"a packet of interface {number}, which is not described", offset=at)
        interface = self.interfaces[number]
        time_ns = ticks * interface.numerator // interface.denominator + interface.offset_ns
        time_ns = min(max(time_ns, 0), TIME_MAX)
        self._dissect_packet(buf, at + PACKET_AT, end, number, captured, wire, time_ns, out)
        self._time_ns = time_ns

    def _dissect_packet(
        self,
        buf: bytes,
        at: int,
        end: int,
        number: int,
        captured: int,
        wire: int,
        time_ns: int,
        out: list[Segment],
    ) -> None:
        if captured > end - at or not captured <= wire <= PACKET_MAX:
            raise Malformed(f"a packet of {format_bytes(wire)} of which {captured:,} were captured", offset=at)
        self.packets += 1
        link = LINKS.get(self.interfaces[number].link_type, UNSUPPORTED)
        segment = self._dissector.dissect_packet(link, buf, at, at + captured, wire - captured, time_ns, self.packets)
        if segment is not None:
            out.append(segment)


_Handler = Callable[[Pcapng, bytes, int, int, list[Segment]], None]

# Block type → handler of the block buf[at:end], with its header, without its closing length. Others are passed over.
_BLOCKS: Final[dict[int, _Handler]] = {
    SECTION: Pcapng._read_section_header,
    1: Pcapng._read_interface_description,
    2: Pcapng._read_obsolete_packet,
    3: Pcapng._read_simple_packet,
    5: Pcapng._read_interface_statistics,
    ENHANCED: Pcapng._read_enhanced_packet,
    SECRETS: Pcapng._read_decryption_secrets,
}

# `feed` keeps only the bytes of the record that is not whole yet, and reads it when enough bytes have come.


_MAGIC_SIZE = 4
# The start of the name of a count of packets that are cut at a size.
CUT_AT: Final = "cut at "
# The start of the name of a count of packets of a protocol that kw does not read.
UNKNOWN: Final = "of "
# The length of a state that an earlier version saved, without the last three elements.
_STATE_BEFORE_UNKNOWN: Final = 12
# A packet that is earlier than the one before by less comes from another queue of the interface.
SET_BACK_NS: Final = 1_000_000_000
_PROBLEMS = {kind.__name__: kind for kind in (Malformed, Truncated, LimitExceeded)}


@mypyc_attr(allow_interpreted_subclasses=True)
class CaptureReader:
    """One capture, sans-IO: `feed` it bytes, then `finish`.

    `problem` is None, or says at which byte of the file reading ended and why; all segments before it were given, bytes
    fed after it are ignored. `kind` is "pcap", "pcapng", or None where the bytes are (so far) no capture. The first
    packet gets the number `before` + 1. `on_secrets` is called with the lines of TLS key logs in a pcapng, before the
    packets after them are given; the lines are not kept. `cut_receiver` gets the facts in the notes of a capture that
    was cut out of another one (segments_of_cut_out_packets.py).
    """

    dissector: ClassVar[type[Dissector]] = Dissector
    formats: ClassVar[tuple[type[Pcap], type[Pcapng]]] = (Pcap, Pcapng)

    def __init__(self, *, fused: bool = True, before: int = 0) -> None:
        self.problem: DecodeError | None = None
        self.kind: str | None = None
        self.on_secrets: Callable[[bytes], None] | None = None
        self.cut_receiver: CutReceiver | None = None
        self._fused = fused  # False: the plain way for every packet, the oracle in tests
        self._before = before
        self._dissector = self.dissector()
        self._header = b""
        self._latest_ns = 0  # of the segments
        self._set_back = 0
        self._file: Pcap | Pcapng | None = None
        self._parts: list[bytes] = []  # bytes from `_at` on that are not used yet
        self._held = 0
        self._at = 0
        self._needed = _MAGIC_SIZE
        self._segments = 0

    @property
    def counts(self) -> dict[str, int]:
        """`packets`, of these `tcp` (segments given) and the others by kind; `dropped` as the capture states it.

        `fragmented` counts IP packets of which some fragment is missing. `cut at N` counts packets of which only N
        bytes were captured: the snap length. `of EtherType 0x88cc`, `of IP protocol 132` say what some of `other` are.
        `set_back` counts packets that are earlier by a second or more than the one before.
        """
        packets = self._file.packets - self._before if self._file else 0
        dropped = self._file.count_dropped_packets if isinstance(self._file, Pcapng) else 0
        return {
            "packets": packets,
            "tcp": self._segments,
            **self._dissector.counts,
            "fragmented": self._dissector.fragments.given_up,
            "dropped": dropped,
            **({"set_back": self._set_back} if self._set_back else {}),
            **self._count_of_cut_out_packets(),
            **{f"{CUT_AT}{size}": count for size, count in self._dissector.cut.items()},
            **{f"{UNKNOWN}{protocol}": count for protocol, count in self._dissector.unknown.items()},
        }

    def _count_of_cut_out_packets(self) -> dict[str, int]:
        """`cut_out`: packets of which only parts are kept, in a capture that was cut out of another one; else empty."""
        cuts = self._file.cuts if isinstance(self._file, Pcapng) else None
        return {} if cuts is None else {"cut_out": cuts.count}

    def feed(self, data: bytes, now_ns: int = 0) -> list[Segment]:  # noqa: ARG002 - one protocol for all stages
        """The segments of the packets that these bytes complete."""
        out: list[Segment] = []
        if self.problem is not None or not data:
            return out
        self._parts.append(bytes(data))
        self._held += len(data)
        if self._held < self._needed:
            return out
        buf = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        try:
            if self._file is None:
                buf = self._recognise_format(buf)
            if self._file is not None:
                used, self._needed = self._file.read_segments(buf, out)
                if out:
                    self._count_times_set_back(out)
                self._at += used
                buf = buf[used:]
        except DecodeError as problem:
            problem.offset += self._at
            self.problem = strip_traceback(problem)
            buf = b""
        self._parts = [buf]
        self._held = len(buf)
        self._segments += len(out)
        return out

    def _count_times_set_back(self, segments: Sequence[tuple[Any, ...]]) -> None:
        """Count the segments, or copies of packets, that are earlier than the one before by SET_BACK_NS or more."""
        times = [self._latest_ns, *(segment[1] for segment in segments)]
        self._latest_ns = times[-1]
        if times != sorted(times):
            self._set_back += sum(before - after >= SET_BACK_NS for before, after in pairwise(times))

    def _recognise_format(self, buf: bytes) -> bytes:
        """Recognise the format; the bytes after the file header, where that is whole."""
        magic = buf[:_MAGIC_SIZE]
        if magic == MAGIC:
            self.kind = "pcapng"
            self._file = self._make_pcapng_reader()
        elif magic not in MAGICS:
            raise Malformed(f"not a capture: starts with {_quote_unknown_format(magic)}")
        elif len(buf) < HEADER_SIZE:
            self.kind = "pcap"
            self._needed = HEADER_SIZE
        else:
            self.kind = "pcap"
            self._header = buf[:HEADER_SIZE]
            self._file = self._make_pcap_reader()
            self._at = HEADER_SIZE
            buf = buf[HEADER_SIZE:]
        if self._file is not None:
            self._file.packets = self._before
        return buf

    def _make_pcap_reader(self) -> Pcap:
        return self.formats[0](self._header, self._dissector, fused=self._fused)

    def _make_pcapng_reader(self) -> Pcapng:
        file = self.formats[1](self._dissector, fused=self._fused)
        file.on_secrets = self.on_secrets
        file.cut_receiver = self.cut_receiver
        return file

    @property
    def count_fragmented_packets(self) -> int:
        """The number of IP packets of which some fragment was seen so far."""
        return self._dissector.fragments.begun

    def finish(self, since_fragment: int = 0, until_fragment: int | None = None) -> list[Segment]:
        """End the capture. Gives no segment; sets `problem` where the capture ends inside a record, or is no capture.

        A reader of a part of a file counts missing fragments only for IP packets that began when `fragmented` was at
        least `since_fragment` and below `until_fragment`; the readers of the other parts count the others.
        """
        self._dissector.fragments.finish(since_fragment, until_fragment)
        if self.problem is None:
            end = self._at + self._held
            if self.kind is None:
                start = b"".join(self._parts)
                self.problem = Truncated(
                    f"not a capture: {f'only {_quote_unknown_format(start)}' if start else 'empty'}", offset=end
                )
            elif self._held:
                self.problem = Truncated("cut off inside a packet" if self._file else "cut off", offset=end)
        self._parts, self._held = [], 0
        return []

    @property
    def at(self) -> int:
        """The byte of the file after the last packet that was read, while there is no `problem`."""
        return self._at

    def export(self, *, held: bool = True) -> bytes:
        """The state between two feeds, for `resume`. Without `held`, the resumed reader is fed from byte `at` on."""
        problem = self.problem
        return pack(
            [
                self._before,
                self.kind,
                self._header,
                self._file.export() if self._file else None,
                b"".join(self._parts) if held else b"",
                self._at,
                self._needed,
                self._segments,
                dict(self._dissector.counts),
                dict(self._dissector.cut),
                self._dissector.fragments.export(),
                [type(problem).__name__, problem.text, problem.offset] if problem else None,
                dict(self._dissector.unknown),
                self._latest_ns,
                self._set_back,
            ]
        )

    def resume(self, state: bytes) -> None:
        """Go on where `export` was called, maybe in another process. Raises DecodeError when the state is not valid."""
        row = unpack(state)
        if isinstance(row, list) and len(row) == _STATE_BEFORE_UNKNOWN:
            row += [{}, 0, 0]
        (
            *(self._before, kind, header, file, held, at, needed, segments, counts, cut, fragments, problem, unknown),
            self._latest_ns,
            self._set_back,
        ) = state_fields(
            row,
            int,
            str | None,
            bytes,
            list | None,
            bytes,
            int,
            int,
            int,
            dict,
            dict,
            list,
            list | None,
            dict,
            int,
            int,
        )
        if counts.keys() != self._dissector.counts.keys() or not all(isinstance(n, int) for n in counts.values()):
            raise Malformed("a saved state with other counts")
        if not all(isinstance(n, int) for item in (*cut.items(), unknown.values()) for n in item):
            raise Malformed("a saved state with other counts")
        self._dissector.counts.update(counts)
        self._dissector.cut, self._dissector.unknown = cut, unknown
        self._dissector.fragments.resume(fragments)
        self.kind, self._header, self._at, self._needed, self._segments = kind, header, at, needed, segments
        self._parts, self._held = [held], len(held)
        self._file = None
        if file is not None:
            if kind == "pcapng":
                self._file = self._make_pcapng_reader()
            elif len(header) == HEADER_SIZE and header[:_MAGIC_SIZE] in MAGICS:
                self._file = self._make_pcap_reader()
            else:
                raise Malformed("a saved state of no known format")
            self._file.resume(file)
        self.problem = None
        if problem is not None:
            name, text, offset = state_fields(problem, str, str, int)
            self.problem = _PROBLEMS.get(name, DecodeError)(text, offset=offset)


def _quote_unknown_format(start: bytes) -> str:
    text = start.decode("latin-1")
    return f'"{text}"' if text.isascii() and text.isprintable() else f"bytes {start.hex(' ')}"
