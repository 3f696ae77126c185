"""Several inputs that are read as they come (live_inputs.py), merged by packet time: pipes, commands, interfaces.

The run's own thread reads segments of the bytes that the inputs give, and gives these in the order that
merge_live_captures.py makes.

    inputs ──► readers ──► LiveMerger ──► segments by time

Memory is bounded: an input waits while many segments of its place wait.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from decoders.capture.merge_captures import packet_number_before_file
from decoders.capture.merge_live_captures import LiveMerger, shift_segment
from decoders.capture.read_capture import CaptureReader
from decoders.named_tuple import NamedTuple
from decoders.tcp.clock_offsets import ClockOffsets
from decoders.tcp.packets_at_capture_points import PacketsAtPoints
from decoders.wire.format_and_escape_text import format_latency
from kwcli.output.short_texts import count_of
from kwcli.reading.live.exchange_times_at_points import ExchangesAtPoints
from kwcli.reading.live.live_inputs import LiveInput, LiveInputs, list_live_inputs
from kwcli.reading.packet_sources import PacketClock, PacketSource, SegmentBatch
from kwcli.reading.read_captures_by_time import Captures

if TYPE_CHECKING:
    from decoders.capture.segments_of_cut_out_packets import CutReceiver
    from decoders.errors import DecodeError
    from decoders.exchanges.exchange import Settled
    from decoders.tcp.stream_chunks import Segment
    from kwcli.reading.capture_sources import CaptureSource
    from kwcli.reading.live.capture_commands import CaptureCommand
    from kwcli.reading.live_capture import LiveCapture, PieceWriter
    from kwcli.run_environment import Environment

__all__ = ["LivePlaces", "MergeOptions"]

# Segments of one place that wait for their turn.
_WAITING_MAX: Final = 20_000
# Clocks are told to differ from here on: less is what time stamps are off by anyway.
_CLOCK_SLACK_NS: Final = 10**6


class MergeOptions(NamedTuple):
    """How places are merged.

    `delay_s`: how long a packet waits for earlier ones of other places, 1 s unless --merge-delay says otherwise.
    `restart`: a command that ends is started again. `align_clocks`: times are put right by the first place's clock.
    """

    delay_s: float = 1.0
    restart: bool = False
    align_clocks: bool = False


class _PlaceReader:
    """What reads the packets of one input."""

    def __init__(self) -> None:
        self.reader = CaptureReader()
        self.copier: CaptureReader | None = None  # where packets are kept
        self.cut: DecodeError | None = None
        self.ahead_ns: int | None = None  # of the first place's clock, where its times are put right by it


class LivePlaces(PacketSource):
    """The places of one run. Those of `words` end; commands and interfaces go on until the run is ended.

    `kept`, if there is one, gets all packets as pcapng, one interface for each place.
    """

    def __init__(
        self,
        words: Sequence[str],
        commands: Sequence[CaptureCommand],
        interfaces: Sequence[LiveCapture],
        env: Environment,
        *,
        options: MergeOptions = MergeOptions(),  # noqa: B008  # a value
        on_secrets: Callable[[bytes], None] | None = None,
        cut_receiver: CutReceiver | None = None,
    ) -> None:
        super().__init__()
        self.is_endless = bool(commands or interfaces)
        self.has_files = not self.is_endless
        self.kept: PieceWriter | None = None
        self._env = env
        self._on_secrets = on_secrets
        self._cut_receiver = cut_receiver
        self._delay_s = options.delay_s
        self._merger: LiveMerger = LiveMerger(options.delay_s)
        self._ended: Counter[str] = Counter()
        self._captures_ended = 0
        self._recorded = Captures((), env)
        self._keeper: _PacketKeeper | None = None
        self._begun_s = self._env.monotonic()
        self._places = list_live_inputs(words, commands, interfaces)
        self._readers = [_PlaceReader() for _ in self._places]
        for place in self._places:
            self._merger.add_place(self._begun_s, is_live=place.is_live)
        self._inputs = LiveInputs(self._places, self, env, restart=options.restart)
        self._align_clocks = options.align_clocks
        clockless = [place.number for place in self._places if place.interface is not None]  # they share this machine's
        self._clocks = ClockOffsets(clockless)
        self._packets = PacketsAtPoints()
        self._exchanges = ExchangesAtPoints(self._packets, clockless, options.delay_s)
        self._latest_ns = 0
        self.names = [place.name for place in self._places]
        self.points = [place.point for place in self._places]
        self.input_count = None if self.is_endless else len(self._places)
        if self.is_endless:
            shown = ", ".join(self.points[:4]) + (" …" if self.points[4:] else "")
            self.greeting = f"reading {shown}; Ctrl-C ends"

    # -- reading -------------------------------------------------------------------------------------------------------

    def read_batches(self) -> Iterator[SegmentBatch]:
        clock = PacketClock()
        if self.kept is not None:
            self._keeper = _PacketKeeper(self.kept, self.points, self._delay_s, self._env.monotonic(), self._places)
        inputs = self._inputs
        inputs.start()
        try:
            while inputs.are_going_on:
                inputs.deliver_received()
                now_s = self._env.monotonic()
                segments = (
                    []
                    if self._waits_for_clocks(now_s)
                    else self._leave_out_copies(self._merger.take_due_segments(now_s))
                )
                clock.note_segments(segments)
                if self._keeper is not None:
                    self._keeper.write_due_packets(now_s)
                inputs.maintain_inputs(now_s)
                self.is_broken = inputs.is_broken
                yield SegmentBatch(segments, clock.now_ns())
        except KeyboardInterrupt:  # while it waits: packets that wait for those of other places have been captured
            inputs.deliver_received()
            yield self._take_all_waiting_packets(clock)
            raise
        inputs.deliver_remaining()
        self.is_broken = inputs.is_broken
        yield self._take_all_waiting_packets(clock)

    def _take_all_waiting_packets(self, clock: PacketClock) -> SegmentBatch:
        """All packets that wait."""
        return SegmentBatch(self._leave_out_copies(self._merger.take_all_segments()), clock.now_ns())

    def release_rows(self, rows: list[Settled]) -> list[Settled]:
        if len(self._places) < 2:
            return rows
        return self._exchanges.release_rows_with_times(
            rows, self._env.monotonic(), self._latest_ns, self._merger.arrivals_s
        )

    def finish_rows(self, rows: list[Settled]) -> list[Settled]:
        return self.release_rows(rows) + self._exchanges.release_all_rows()

    def read_recorded_rows(self) -> Iterator[tuple[str, list[Settled]]]:
        return self._recorded.read_recorded_rows()

    def counts_besides_packets(self) -> list[tuple[int, str]]:
        return self._recorded.counts_besides_packets()

    def packet_counts(self) -> Counter[str]:
        counts = Counter(self._ended)
        if self._packets.copies:
            counts["twice"] += self._packets.copies
        for place, reading in zip(self._places, self._readers, strict=True):
            if place.is_open:
                counts.update(reading.reader.counts)
        return counts

    @property
    def is_read_whole(self) -> bool:
        """Whether there was a capture: of commands that gave none this is told already."""
        return self._captures_ended > 0 or any(reading.reader.kind is not None for reading in self._readers)

    def cut_captures(self) -> Iterator[tuple[str, DecodeError]]:
        for place, reading in zip(self._places, self._readers, strict=True):
            if reading.cut is not None and not place.is_live:
                yield place.name, reading.cut

    def closing_remarks(self) -> list[str]:
        """Places whose clocks differ; those whose packets came too late, with the delay that would have done."""
        said = self._describe_clocks()
        for place in self._places:
            late = self._merger.late_packets(place.number)
            if late.packets:
                needed = f"{int(late.most_ns / 1e9 + self._delay_s) + 1}s"
                said.append(
                    f"{self.points[place.number]}: {count_of(late.packets, 'packet')} came after later ones of other"
                    f" places, by up to {late.most_ns / 1e9:.3g} s: --merge-delay {needed} would have put them in order"
                )
        return said

    def close(self) -> None:
        """End all commands, and wait for what they have started; close files and sockets."""
        self._inputs.stop()
        if self._keeper is not None:
            self._keeper.close()
            self.packets_unwritten = self._keeper.writer.failed
        for place in self._places:
            if place.interface is not None:
                place.interface.close()
                self.dropped = (self.dropped or 0) + (place.interface.dropped or 0)
            if place.source is not None and place.source.name not in self.records:
                place.source.close()

    # -- the bytes of one place ----------------------------------------------------------------------------------------

    def begin_input(self, place: LiveInput, now_s: float) -> None:
        """A capture of a place begins."""
        reading = self._readers[place.number]
        if place.tries:
            self._merger.reopen_place(place.number, now_s)
        reading.cut = None
        reading.reader = CaptureReader(before=packet_number_before_file(place.number))
        reading.reader.on_secrets = self._on_secrets
        if not place.is_live:
            reading.reader.cut_receiver = self._cut_receiver
        if self._keeper is not None:
            reading.copier = self._keeper.make_copier()

    def add_piece(self, place: LiveInput, piece: bytes, now_s: float) -> DecodeError | None:
        """Read a piece of a place's capture."""
        reading = self._readers[place.number]
        self.taken += len(piece)
        self._add_segments(place.number, reading.reader.feed(piece), now_s)
        if self._keeper is not None and reading.copier is not None:
            self._keeper.add_packets(place.number, reading.copier.feed(piece), now_s)
        return reading.reader.problem

    def end_input(self, place: LiveInput, now_s: float) -> DecodeError | None:
        """A place's capture has ended."""
        reading = self._readers[place.number]
        if place.has_bytes:
            self._add_segments(place.number, reading.reader.finish(), now_s)
            if reading.copier is not None and self._keeper is not None:
                self._keeper.add_packets(place.number, reading.copier.finish(), now_s)
            reading.cut = reading.reader.problem
        self._merger.stop_waiting_for_place(place.number)
        self._ended.update(reading.reader.counts)
        self._captures_ended += reading.reader.kind is not None
        return reading.cut

    def add_records(self, source: CaptureSource) -> None:
        """Take an input that holds records."""
        self._recorded.add_source(source)
        self.records = [*self.records, source.name]

    def has_room(self, place: LiveInput) -> bool:
        """Whether few enough segments of a place wait for their turn."""
        return self._merger.count_waiting_segments(place.number) <= _WAITING_MAX

    def _add_segments(self, number: int, segments: list[Segment], now_s: float) -> None:
        if segments and len(self._places) > 1:
            changes = self._clocks.changes
            self._clocks.note_segments(number, segments)
            if self._align_clocks:
                if self._clocks.changes != changes:
                    self._put_waiting_segments_right()
                ahead_ns = self._readers[number].ahead_ns
                if ahead_ns:
                    segments = [shift_segment(segment, -ahead_ns) for segment in segments]
        self._merger.add_segments(number, segments, now_s)

    def _leave_out_copies(self, segments: list[Segment]) -> list[Segment]:
        if segments and len(self._places) > 1:
            self._latest_ns = segments[-1][1]
            return self._packets.leave_out_copies(segments)
        return segments

    def _waits_for_clocks(self, now_s: float) -> bool:
        """Whether packets wait until it is known how far the clocks are apart."""
        is_early = self._align_clocks and now_s - self._begun_s < self._delay_s
        return is_early and any(
            place.is_open and self._readers[place.number].ahead_ns is None for place in self._places[1:]
        )

    def _put_waiting_segments_right(self) -> None:
        """Follow the estimates of how far the clocks are apart, where they have left what was taken for it."""
        for number, reading in enumerate(self._readers[1:], 1):
            offset = self._clocks.find_offset(number, 0)
            if offset is None:
                continue
            known = reading.ahead_ns
            slack = _CLOCK_SLACK_NS
            if known is None or not offset.least_ns - slack <= known <= offset.most_ns + slack:
                self._merger.shift_times_of_place(number, (known or 0) - offset.estimate_ns)
                reading.ahead_ns = offset.estimate_ns

    def _describe_clocks(self) -> list[str]:
        """How far the clocks of the places are ahead of the first one's or behind it, where they differ."""
        said = []
        first, *others = self.points
        for number, point in enumerate(others, 1):
            offset = self._clocks.find_offset(number, 0)
            if offset is None or abs(offset.estimate_ns) <= max(offset.error_ns, _CLOCK_SLACK_NS):
                continue
            apart, error = (format_latency(ns / 1e6) for ns in (abs(offset.estimate_ns), offset.error_ns))
            which = "ahead of" if offset.estimate_ns > 0 else "behind"
            remedy = (
                "its packets were put right by it" if self._align_clocks else "--align-clocks puts its packets right"
            )
            said.append(f"{point} is about {apart} {which} {first} (± {error}): {remedy}")
        return said


class _PacketKeeper:
    """Writes the packets of all places by time, as pcapng: an interface for each place and link type."""

    def __init__(
        self, writer: PieceWriter, points: Sequence[str], delay_s: float, now_s: float, places: Sequence[LiveInput]
    ) -> None:
        from decoders.capture.pcapng_writer import PcapngWriter

        self.writer = writer
        self._points = points
        self._pcapng = PcapngWriter
        self._merger = LiveMerger(delay_s)
        for place in places:
            self._merger.add_place(now_s, is_live=place.is_live)
        self._interfaces: dict[tuple[int, int], int] = {}
        writer.write(PcapngWriter(0).make_section_block())

    @staticmethod
    def make_copier() -> CaptureReader:
        """A reader that gives copies of packets."""
        from decoders.capture.read_packet_copies import CopyReader

        return CopyReader()

    def add_packets(self, number: int, copies: list[Segment], now_s: float) -> None:
        """Take copies of packets of a place; each has its place's number, in place of its own."""
        self._merger.add_segments(number, [each._replace(packet=number) for each in copies], now_s)  # type: ignore[attr-defined]  # copies stand for segments

    def write_due_packets(self, now_s: float) -> None:
        """Write the packets whose turn it is."""
        self._write_packet_copies(self._merger.take_due_segments(now_s))

    def close(self) -> None:
        """Write what waits, and close the file."""
        self._write_packet_copies(self._merger.take_all_segments())
        self.writer.close()

    def _write_packet_copies(self, copies: Sequence[object]) -> None:
        from decoders.capture.read_packet_copies import PacketCopy

        blocks: list[bytes] = []
        for copy in copies:
            assert isinstance(copy, PacketCopy)
            for one in (*copy.earlier, copy):
                blocks.append(self._make_block(copy.packet, one.source[0], one.time_ns, one.frame, one.wire))
        self.writer.write(b"".join(blocks))

    def _make_block(self, place: int, link_type: int, time_ns: int, frame: bytes, wire: int) -> bytes:
        interface = self._interfaces.get((place, link_type))
        if interface is None:
            interface = self._interfaces[place, link_type] = len(self._interfaces)
            self.writer.add_block_for_all_files(self._pcapng.make_interface_block(link_type, self._points[place]))
        return self._pcapng.make_commented_packet_block(time_ns, frame, (), wire=wire, interface=interface)
