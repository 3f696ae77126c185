"""The bytes of one capture file in, places where the file can be cut out; packets are not looked into.

A walk reads record by record with the code that reads captures, so both end at the same byte, for the same reason; only
the walk's loops over usual records read nothing but record headers (`python -m tests.bench.capture`).
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from decoders.capture.dissect_packets import Dissector
from decoders.capture.link_types import Link
from decoders.capture.read_capture import (
    BLOCK_HEAD,
    ENHANCED,
    PACKET_AT,
    TICK_MAX,
    TIME_MAX,
    CaptureReader,
    Pcapng,
)
from decoders.capture.read_pcap import Pcap
from decoders.capture.read_tcp_segment import UsualHeaders
from decoders.limits import BLOCK_MAX, PACKET_MAX
from decoders.named_tuple import NamedTuple
from decoders.tcp.stream_chunks import Segment

__all__ = ["CutPoint", "CutPointFinder"]

# Later than any clock says.
_NEVER_NS: Final = TIME_MAX + 1


class CutPoint(NamedTuple):
    """A place between two packets: the file's byte `at`, with `packets` packets of the file before it.

    `state` is for a `CaptureReader` that resumes with it and is fed the file from `at` on. `low_ns` and `high_ns` are
    the earliest and the latest time of the packets since the previous mark; None where there was no packet.
    """

    at: int
    packets: int
    state: bytes
    low_ns: int | None
    high_ns: int | None


class _PacketTimes(Dissector):
    """A dissector that only takes the times of packets. `low_ns` is above `high_ns` while there was no packet."""

    def __init__(self) -> None:
        super().__init__()
        self.clear_times()

    def clear_times(self) -> None:
        """Forget the times."""
        self.low_ns, self.high_ns = _NEVER_NS, -1

    def add_time_span(self, low_ns: int, high_ns: int) -> None:
        """Take packets with times from `low_ns` to `high_ns`."""
        self.low_ns = min(self.low_ns, low_ns)
        self.high_ns = max(self.high_ns, high_ns)

    def dissect_packet(
        self, link: Link, buf: bytes, at: int, end: int, missing: int, time_ns: int, packet: int
    ) -> Segment | None:
        del link, buf, at, end, missing, packet
        self.add_time_span(time_ns, time_ns)
        return None

    def count_packets_cut_at(self, captured_size: int, count: int = 1) -> None:
        """Do nothing: contents of packets are not looked at."""


class _IndexedPcap(Pcap):
    """A pcap whose usual records are read by their headers alone."""

    def __init__(self, header: bytes, dissector: Dissector, *, fused: bool = True) -> None:
        super().__init__(header, dissector, fused=fused)
        assert isinstance(dissector, _PacketTimes)
        self._times = dissector
        self._shapes = self._shapes[:1]  # what is in a packet makes no difference

    def _read_usual_records(self, buf: bytes, at: int, out: list[Segment], shape: UsualHeaders) -> int:
        del out, shape
        record, head, tick, ticks, packet = self._record, self._head, self._tick, self._ticks, self.packets
        size = len(buf)
        safe = size - head
        since, since_ns, first, last = -1, 0, 0, 0
        while at <= safe:
            seconds, fraction, captured, wire = record(buf, at)
            end = at + head + captured
            if end > size or fraction >= ticks or not captured <= wire <= PACKET_MAX or not (wire or seconds):
                break
            if fraction < last or seconds != since:  # else the times ascend
                if since >= 0:
                    self._times.add_time_span(since_ns + first * tick, since_ns + last * tick)
                since, since_ns, first = seconds, seconds * 1_000_000_000, fraction
            last = fraction
            packet += 1
            at = end
        if since >= 0:
            self._times.add_time_span(since_ns + first * tick, since_ns + last * tick)
        self.packets = packet
        return at


class _IndexedPcapng(Pcapng):
    """A pcapng whose enhanced packet blocks, of any interface, are read by their headers alone."""

    def __init__(self, dissector: Dissector, *, fused: bool = True) -> None:
        super().__init__(dissector, fused=fused)
        assert isinstance(dissector, _PacketTimes)
        self._times = dissector

    def _read_usual_blocks(self, buf: bytes, at: int, out: list[Segment]) -> int:
        del out
        block, length_at = Struct(self._order + BLOCK_HEAD).unpack_from, Struct(self._order + "I").unpack_from
        interfaces, packet, size = self.interfaces, self.packets, len(buf)
        safe = size - PACKET_AT - 4
        since = number = -1
        since_ns = offset_ns = tick = time_ns = last_ns = first_ns = -1
        while at <= safe:
            kind, length, source, high, low, captured, wire = block(buf, at)
            after = at + length
            if kind != ENHANCED or after > size or not captured <= wire <= PACKET_MAX:
                break
            # The length follows from the packet's length, or (with options) equals the one that closes the block.
            if length != (captured + 35) & -4 and (
                length & 3 or not captured + 32 <= length <= BLOCK_MAX or length_at(buf, after - 4)[0] != length
            ):
                break
            if source != number:
                if source >= len(interfaces):
                    break
                interface = interfaces[source]
                if interface.denominator != 1 or interface.numerator > TICK_MAX:
                    break
                number, tick, offset_ns, since = source, interface.numerator, interface.offset_ns, -1
            if high != since:
                begun_ns = (high << 32) * tick + offset_ns
                if not 0 <= begun_ns < TIME_MAX >> 1:
                    break
                since, since_ns = high, begun_ns
            time_ns = since_ns + low * tick
            if time_ns < last_ns or first_ns < 0:  # else the times ascend
                if first_ns >= 0:
                    self._times.add_time_span(first_ns, last_ns)
                first_ns = time_ns
            last_ns = time_ns
            packet += 1
            at = after
        if packet != self.packets:
            self._times.add_time_span(first_ns, last_ns)
            self.packets, self._time_ns = packet, last_ns
        return at


class CutPointFinder(CaptureReader):
    """One capture: `feed` it bytes, `mark_cut_point` places, then `finish`. It gives no segments.

    `problem` and `counts` (of packets, and those dropped) are as in a `CaptureReader`.
    """

    dissector = _PacketTimes
    formats = (_IndexedPcap, _IndexedPcapng)

    @property
    def packet_count(self) -> int:
        """The number of packets so far."""
        return self.counts["packets"]

    @property
    def fed_size(self) -> int:
        """The offset in the file of the next byte to feed."""
        return self._at + self._held

    def mark_cut_point(self) -> CutPoint:
        """The place after the last packet that was fed as a whole."""
        times = self._dissector
        assert isinstance(times, _PacketTimes)
        low_ns, high_ns = times.low_ns, times.high_ns
        times.clear_times()
        none = low_ns > high_ns
        return CutPoint(
            self.at,
            self.packet_count,
            self.export(held=False),
            None if none else low_ns,
            None if none else high_ns,
        )
