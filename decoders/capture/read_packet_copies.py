"""The bytes of one capture file in, copies of its packets as they were captured, with their TCP fields, out."""

from __future__ import annotations

from typing import Any, Final

from decoders.capture.dissect_packets import Dissector
from decoders.capture.link_types import Link
from decoders.capture.read_capture import CaptureReader, Pcapng
from decoders.capture.read_pcap import Pcap
from decoders.capture.segments_of_cut_out_packets import CutNote, CutSegments
from decoders.limits import FRAGMENTED_MAX
from decoders.named_tuple import NamedTuple
from decoders.tcp.stream_chunks import Segment

__all__ = ["CopyReader", "PacketCopy", "StreamSpan"]

_SYN: Final = 2
# Offset of the header size in a TCP header.
_OFFSET_AT: Final = 12
_MASK: Final = 0xFFFF_FFFF


class StreamSpan(NamedTuple):
    """`size` bytes of a packet's payload from its byte `at` on; the first one has sequence number `seq`."""

    seq: int
    at: int
    size: int


class PacketCopy(NamedTuple):
    """A copy of one packet. The first three fields are as in a `Segment`, so that copies are merged as segments are.

    `key` is empty where the packet has no TCP segment. `source` is link type and name of its interface, `wire` its size
    on the wire. `earlier` are the packets before it with the other fragments of its IP packet, `note` is its cut note.
    `tcp` is the TCP header, after which `held` bytes of payload were captured and `missing` bytes were not.
    """

    key: bytes
    time_ns: int
    packet: int
    frame: bytes
    wire: int
    source: tuple[int, str]
    spans: tuple[StreamSpan, ...] = ()
    earlier: tuple[PacketCopy, ...] = ()
    note: CutNote | None = None
    tcp: bytes = b""
    held: int = 0
    missing: int = 0


class _CopyingDissector(Dissector):
    """A dissector that gives a PacketCopy for each packet, in place of a Segment."""

    def __init__(self) -> None:
        super().__init__()
        self.source = (0, "")
        self._fragments: dict[bytes, list[PacketCopy]] = {}
        self._earlier: list[PacketCopy] = []
        self._copy = PacketCopy(b"", 0, 0, b"", 0, (0, ""))
        self._head = b""

    def dissect_packet(
        self, link: Link, buf: bytes, at: int, end: int, missing: int, time_ns: int, packet: int
    ) -> Segment | None:
        frame = buf[at:end]
        self._earlier = []
        self._copy = PacketCopy(b"", time_ns, packet, frame, len(frame) + missing, self.source)
        segment = super().dissect_packet(link, buf, at, end, missing, time_ns, packet)
        copy: Any = self._copy
        if segment is not None:
            copy = copy._replace(
                key=segment[0],
                spans=(_payload_span(segment),),
                earlier=tuple(self._earlier),
                tcp=self._head,
                held=len(segment[6]),
                missing=segment[7],
            )
        found: Segment = copy
        return found

    def _read_tcp_segment(
        self, buf: bytes, at: int, end: int, stop: int, addresses: bytes, time_ns: int, packet: int
    ) -> Segment | None:
        self._head = buf[at : at + (buf[at + _OFFSET_AT] >> 4) * 4] if at + _OFFSET_AT < end else b""
        return super()._read_tcp_segment(buf, at, end, stop, addresses, time_ns, packet)

    def _add_fragment_and_join(
        self, name: bytes, at: int, more: bool, protocol: int, data: bytes | None, addresses: bytes
    ) -> Any:
        found = super()._add_fragment_and_join(name, at, more, protocol, data, addresses)
        if isinstance(found, str):
            if name not in self._fragments and len(self._fragments) >= FRAGMENTED_MAX:
                del self._fragments[next(iter(self._fragments))]
            self._fragments.setdefault(name, []).append(self._copy)
        else:
            self._earlier += self._fragments.pop(name, ())
        return found


def _payload_span(segment: Segment) -> StreamSpan:
    _, _, _, seq, _, flags, payload, cut = segment
    return StreamSpan(seq + bool(flags & _SYN) & _MASK, 0, len(payload) + cut)


class _CopyingPcap(Pcap):
    def __init__(self, header: bytes, dissector: Dissector, *, fused: bool = True) -> None:
        super().__init__(header, dissector, fused=fused)
        assert isinstance(dissector, _CopyingDissector)
        dissector.source = (self.link_type, "")


class _CopyingPcapng(Pcapng):
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
        assert isinstance(self._dissector, _CopyingDissector)
        interface = self.interfaces[number]
        self._dissector.source = (interface.link_type, interface.name)
        super()._dissect_packet(buf, at, end, number, captured, wire, time_ns, out)

    def _replace_segment_by_noted(self, note: CutNote, before: int, out: list[Segment]) -> None:
        copies: list[Any] = out
        copy = copies[before]
        if not copy.key:
            return
        span = copy.spans[0]
        segment = (copy.key, copy.time_ns, copy.packet, span.seq, 0, 0, bytes(span.size), 0)
        meant = [each for each in CutSegments().make_segments_of_note(segment, note) if not each[5] & _SYN]
        if note.parts and meant != [segment]:
            spans = tuple(StreamSpan(each[3], part.at, part.size) for each, part in zip(meant, note.parts, strict=True))
            copy = copy._replace(spans=spans)
        copies[before] = copy._replace(note=note)


class CopyReader(CaptureReader):
    """A CaptureReader that gives copies of all packets in place of segments."""

    dissector = _CopyingDissector
    formats = (_CopyingPcap, _CopyingPcapng)

    def __init__(self, *, fused: bool = False, before: int = 0) -> None:
        del fused
        super().__init__(fused=False, before=before)
