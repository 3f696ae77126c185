"""Several inputs that are read as they come, merged by packet time: pipes, commands that write a capture, interfaces.

Each place has a thread, which waits for its bytes; the run's own thread takes them, reads segments of them, and gives
these in the order that merge_live_captures.py makes. A place that is slow, silent or gone never stops the others: what
happens to it is told with its name.

    ssh b1 tcpdump ──thread──┐
    ssh b2 tcpdump ──thread──┼──► queue ──► readers ──► LiveMerger ──► segments by time
    /dev/fd/63 ──────thread──┘

Memory is bounded: a thread waits while many bytes or segments of its place wait, and the pipe's writer with it.
"""

from __future__ import annotations

import queue
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from threading import Event as Flag
from threading import Thread
from typing import TYPE_CHECKING, Final

from decoders.capture.merge_captures import packet_number_before_file
from decoders.capture.merge_live_captures import LiveMerger, shift_segment
from decoders.capture.read_capture import CaptureReader
from decoders.errors import without_frames
from decoders.named_tuple import NamedTuple
from decoders.tcp.clock_offsets import ClockOffsets
from decoders.tcp.packets_at_points import PacketsAtPoints
from decoders.wire.format_and_escape_text import format_latency
from kwcli.output.short_texts import count_of
from kwcli.reading.capture_commands import CaptureCommand, CommandProcess, skip_text_before_capture
from kwcli.reading.capture_sources import (
    CaptureSource,
    add_byte_offset,
    begins_as_json,
    begins_as_request_log,
    escape_non_utf8,
    open_source,
)
from kwcli.reading.decompress_inputs import InputProblem
from kwcli.reading.exchanges_at_points import ExchangesAtPoints
from kwcli.reading.packet_sources import PacketClock, PacketSource, SegmentBatch
from kwcli.reading.read_captures_by_time import Captures

if TYPE_CHECKING:
    from decoders.capture.noted_packets_to_segments import CutReceiver
    from decoders.errors import DecodeError
    from decoders.exchanges.exchange import Settled
    from decoders.tcp.chunks import Segment
    from kwcli.reading.live_capture import LiveCapture, PieceWriter
    from kwcli.run_environment import Environment

__all__ = ["LivePlaces", "MergeOptions"]

# How long the run waits for bytes before it looks whether a segment's turn has come.
TICK_S: Final = 0.05
# Without bytes for so long, while others go on, a place is told to be silent.
SILENT_S: Final = 10.0
# Seconds until a command is started again: doubled each time that it has given nothing, up to the second.
_RESTART_S: Final = (1.0, 30.0)
# How long the threads have to end.
_THREADS_END_S: Final = 1.0
# Pieces of all places that wait in the queue; segments of one place that wait for their turn.
_PIECES_MAX: Final = 64
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


class _LivePlace:
    """One input: its name, how to begin reading it, and what is known of it now."""

    def __init__(self, number: int, name: str, *, is_live: bool) -> None:
        self.number = number
        self.name = name
        self.is_live = is_live
        self.word: str | None = None  # of a file, a pipe or standard input
        self.command: CaptureCommand | None = None
        self.interface: LiveCapture | None = None
        self.process: CommandProcess | None = None
        self.thread: Thread | None = None
        self.source: CaptureSource | None = None
        self.reader = CaptureReader()
        self.copier: CaptureReader | None = None  # where packets are kept
        self.is_open = True
        self.has_bytes = False  # of the capture that is read now
        self.may_read = Flag()
        self.is_stopped = False
        self.heard_s = 0.0
        self.is_silent = False
        self.starts_s: float | None = None  # when the command is started again
        self.tries = 0
        self.empty_tries = 0  # that gave no bytes, one after the other
        self.cut: DecodeError | None = None
        self.ahead_ns: int | None = None  # of the first place's clock, where its times are put right by it


# What a place's thread gives: its bytes, a text to be told, an input that holds records, or how it has ended.
_Given = bytes | str | CaptureSource | InputProblem | None


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
        self._restart = options.restart
        self._on_secrets = on_secrets
        self._cut_receiver = cut_receiver
        self._delay_s = options.delay_s
        self._merger: LiveMerger = LiveMerger(options.delay_s)
        self._given: queue.Queue[tuple[_LivePlace, int, _Given]] = queue.Queue(_PIECES_MAX)
        self._ended: Counter[str] = Counter()
        self._recorded = Captures((), env)
        self._keeper: _PacketKeeper | None = None
        self._places: list[_LivePlace] = []
        for word in words:
            self._add_place(word, is_live=False).word = word
        for command in commands:
            self._add_place(command.name, is_live=True).command = command
        for interface in interfaces:
            self._add_place(interface.interface, is_live=True).interface = interface
        self._align_clocks = options.align_clocks
        self._begun_s = self._env.monotonic()
        clockless = [place.number for place in self._places if place.interface is not None]  # they share this machine's
        self._clocks = ClockOffsets(clockless)
        self._packets = PacketsAtPoints()
        self._exchanges = ExchangesAtPoints(self._packets, clockless, options.delay_s)
        self._latest_ns = 0
        self.names = [place.name for place in self._places]
        self.points = [escape_non_utf8(name) for name in self.names]
        self.input_count = None if self.is_endless else len(self._places)
        if self.is_endless:
            shown = ", ".join(self.points[:4]) + (" …" if self.points[4:] else "")
            self.greeting = f"reading {shown}; Ctrl-C ends"

    def _add_place(self, name: str, *, is_live: bool) -> _LivePlace:
        place = _LivePlace(self._merger.add_place(self._env.monotonic(), is_live=is_live), name, is_live=is_live)
        self._places.append(place)
        return place

    # -- reading -------------------------------------------------------------------------------------------------------

    def read_batches(self) -> Iterator[SegmentBatch]:
        clock = PacketClock()
        if self.kept is not None:
            self._keeper = _PacketKeeper(self.kept, self.points, self._delay_s, self._env.monotonic(), self._places)
        for place in self._places:
            self._start_place(place)
        while any(place.is_open or place.starts_s is not None for place in self._places):
            self._take_given()
            now_s = self._env.monotonic()
            segments = (
                [] if self._waits_for_clocks(now_s) else self._leave_out_copies(self._merger.take_segments(now_s))
            )
            clock.note_segments(segments)
            if self._keeper is not None:
                self._keeper.write_due_packets(now_s)
            for place in self._places:
                self._look_after_place(place, now_s)
            yield SegmentBatch(segments, clock.now_ns())
        while not self._given.empty():  # what commands have said before they ended
            self._take_given()
        yield SegmentBatch(self._leave_out_copies(self._merger.take_all()), clock.now_ns())

    def set_times_of_rows(self, rows: list[Settled]) -> list[Settled]:
        if len(self._places) < 2:
            return rows
        return self._exchanges.set_times(rows, self._env.monotonic(), self._latest_ns)

    def finish_rows(self, rows: list[Settled]) -> list[Settled]:
        return self.set_times_of_rows(rows) + self._exchanges.set_times_of_all()

    def read_recorded_rows(self) -> Iterator[tuple[str, list[Settled]]]:
        return self._recorded.read_recorded_rows()

    def counts_besides_packets(self) -> list[tuple[int, str]]:
        return self._recorded.counts_besides_packets()

    def packet_counts(self) -> Counter[str]:
        counts = Counter(self._ended)
        if self._packets.copies:
            counts["twice"] += self._packets.copies
        for place in self._places:
            if place.is_open:
                counts.update(place.reader.counts)
        return counts

    def cut_captures(self) -> Iterator[tuple[str, DecodeError]]:
        for place in self._places:
            if place.cut is not None and not place.is_live:
                yield place.name, place.cut

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
        for place in self._places:
            place.is_stopped = True
            place.may_read.set()
        stopping = [
            Thread(target=place.process.stop, daemon=True) for place in self._places if place.process is not None
        ]
        for thread in stopping:
            thread.start()
        for thread in stopping:
            thread.join()
        self._end_threads()
        if self._keeper is not None:
            self._keeper.close()
            self.packets_unwritten = self._keeper.writer.failed
        for place in self._places:
            if place.interface is not None:
                place.interface.close()
                self.dropped = (self.dropped or 0) + (place.interface.dropped or 0)
            if place.source is not None and place.source.name not in self.records:
                place.source.close()

    def _end_threads(self) -> None:
        """Let the threads end; one that waits for the writer of a pipe is left."""
        until_s = self._env.monotonic() + _THREADS_END_S
        for place in self._places:
            while place.thread is not None and place.thread.is_alive() and self._env.monotonic() < until_s:
                with suppress(queue.Empty):
                    self._given.get_nowait()
                place.thread.join(TICK_S / 10)

    # -- one place -----------------------------------------------------------------------------------------------------

    def _start_place(self, place: _LivePlace) -> None:
        place.starts_s = None
        place.heard_s = self._env.monotonic()
        place.is_open, place.is_silent, place.has_bytes, place.cut = True, False, False, None
        before = packet_number_before_file(place.number)
        place.reader = CaptureReader(before=before)
        place.reader.on_secrets = self._on_secrets
        if not place.is_live:
            place.reader.cut_receiver = self._cut_receiver
        if self._keeper is not None:
            place.copier = self._keeper.make_copier()
        place.may_read.set()
        place.tries += 1
        if place.command is not None:
            tell = partial(self._put_given, place, place.tries)
            try:  # in this thread: what a command says is told in the order of the places
                place.process = CommandProcess(place.command, tell)
            except InputProblem as problem:
                self._end_place(place, problem.text, failed=True)
                return
        place.thread = Thread(target=self._run_thread, args=(place, place.tries), daemon=True)
        place.thread.start()

    def _put_given(self, place: _LivePlace, turn: int, given: _Given) -> None:
        self._given.put((place, turn, given))

    def _run_thread(self, place: _LivePlace, turn: int) -> None:
        """A place's thread: give its bytes, then how it has ended."""
        ended: _Given = None
        process = place.process
        try:
            for piece in self._read_pieces(place, turn):
                if piece:
                    self._put_given(place, turn, piece)
                    place.may_read.wait()
                if place.is_stopped:
                    return
        except InputProblem as problem:
            ended = without_frames(problem)
        except (OSError, ValueError) as error:  # its socket was closed
            ended = InputProblem(f"{place.name}: {getattr(error, 'strerror', None) or error}".lower())
        finally:
            if process is not None:
                process.close_output()
        self._put_given(place, turn, ended)

    def _read_pieces(self, place: _LivePlace, turn: int) -> Iterator[bytes]:
        if place.interface is not None:
            return place.interface.stream_pcapng()
        if place.process is not None:
            source = CaptureSource(place.name, place.process.read)
            return skip_text_before_capture(
                place.name, source.read_plain_pieces(), partial(self._put_given, place, turn)
            )
        assert place.word is not None
        source = open_source(place.word, self._env)  # waits for the writer of a pipe
        head = source.peek_head()
        if begins_as_json(head) or begins_as_request_log(head):
            self._put_given(place, turn, source)
            return iter(())
        place.source = source
        return source.read_capture_pieces()

    def _take_given(self) -> None:
        """Take what the threads have given; wait a moment where that is nothing."""
        try:
            place, turn, given = self._given.get(timeout=TICK_S)
        except queue.Empty:
            return
        for _ in range(_PIECES_MAX):
            self._take_from_place(place, turn, given)
            try:
                place, turn, given = self._given.get_nowait()
            except queue.Empty:
                return
        self._take_from_place(place, turn, given)

    def _take_from_place(self, place: _LivePlace, turn: int, given: _Given) -> None:
        if isinstance(given, str):
            self._report_text(place, given)
        elif turn != place.tries or not place.is_open:
            return  # of a command that was started again, or after a fault
        elif isinstance(given, bytes):
            self._read_piece(place, given)
        elif isinstance(given, CaptureSource):
            self._recorded.add_source(given)
            self.records = [*self.records, given.name]
        else:
            texts = [] if given is None else [given.text]
            failed = given is not None
            if place.process is not None:
                how, has_failed = place.process.describe_end()
                if has_failed or not failed:
                    texts.append(how if failed else f"{place.name}: {how}")
                failed = failed or has_failed
            self._end_place(place, "; it ".join(texts), failed=failed)

    def _read_piece(self, place: _LivePlace, piece: bytes) -> None:
        now_s = self._env.monotonic()
        if place.is_silent:
            self._report_text(place, f"packets again after {now_s - place.heard_s:.0f} s")
            place.is_silent = False
        place.heard_s, place.has_bytes = now_s, True
        self.taken += len(piece)
        self._add_segments(place, place.reader.feed(piece), now_s)
        if self._keeper is not None and place.copier is not None:
            self._keeper.add_packets(place.number, place.copier.feed(piece), now_s)
        problem = place.reader.problem
        if problem is not None:
            place.cut = problem
            text = f"{place.name}: {add_byte_offset(problem.text, problem.offset)}" if place.is_live else ""
            self._end_place(place, text, failed=True)

    def _add_segments(self, place: _LivePlace, segments: list[Segment], now_s: float) -> None:
        if segments and len(self._places) > 1:
            changes = self._clocks.changes
            self._clocks.note_segments(place.number, segments)
            if self._align_clocks:
                if self._clocks.changes != changes:
                    self._put_waiting_segments_right()
                if place.ahead_ns:
                    segments = [shift_segment(segment, -place.ahead_ns) for segment in segments]
        self._merger.add_segments(place.number, segments, now_s)

    def _leave_out_copies(self, segments: list[Segment]) -> list[Segment]:
        if segments and len(self._places) > 1:
            self._latest_ns = segments[-1][1]
            return self._packets.leave_out_copies(segments)
        return segments

    def _waits_for_clocks(self, now_s: float) -> bool:
        """Whether packets wait until it is known how far the clocks are apart."""
        is_early = self._align_clocks and now_s - self._begun_s < self._delay_s
        return is_early and any(place.is_open and place.ahead_ns is None for place in self._places[1:])

    def _put_waiting_segments_right(self) -> None:
        """Follow the estimates of how far the clocks are apart, where they have left what was taken for it."""
        for place in self._places[1:]:
            offset = self._clocks.find_offset(place.number, 0)
            if offset is None:
                continue
            known = place.ahead_ns
            slack = _CLOCK_SLACK_NS
            if known is None or not offset.least_ns - slack <= known <= offset.most_ns + slack:
                self._merger.shift_place(place.number, (known or 0) - offset.middle_ns)
                place.ahead_ns = offset.middle_ns

    def _describe_clocks(self) -> list[str]:
        """How far the clocks of the places are ahead of the first one's or behind it, where they differ."""
        said = []
        first, *others = self.points
        for number, point in enumerate(others, 1):
            offset = self._clocks.find_offset(number, 0)
            if offset is None or abs(offset.middle_ns) <= max(offset.error_ns, _CLOCK_SLACK_NS):
                continue
            apart, error = (format_latency(ns / 1e6) for ns in (abs(offset.middle_ns), offset.error_ns))
            which = "ahead of" if offset.middle_ns > 0 else "behind"
            remedy = (
                "its packets were put right by it" if self._align_clocks else "--align-clocks puts its packets right"
            )
            said.append(f"{point} is about {apart} {which} {first} (± {error}): {remedy}")
        return said

    def _look_after_place(self, place: _LivePlace, now_s: float) -> None:
        """Let a place's thread go on or wait; start a command again; tell that a place is silent."""
        if place.starts_s is not None and now_s >= place.starts_s:
            self._merger.open_place(place.number, now_s)
            self._start_place(place)
        if self._merger.count_waiting(place.number) > _WAITING_MAX:
            place.may_read.clear()
        else:
            place.may_read.set()
        if place.is_open and place.is_live and not place.is_silent and now_s - place.heard_s >= SILENT_S:
            place.is_silent = any(now_s - other.heard_s < SILENT_S for other in self._places if other.is_open)
            if place.is_silent:
                self._report_text(place, f"silent for {SILENT_S:.0f} s; the others go on")

    def _end_place(self, place: _LivePlace, text: str, *, failed: bool) -> None:
        """Nothing more comes of a place, unless its command is started again."""
        now_s = self._env.monotonic()
        if place.has_bytes:
            self._add_segments(place, place.reader.finish(), now_s)
        if place.has_bytes and place.copier is not None and self._keeper is not None:
            self._keeper.add_packets(place.number, place.copier.finish(), now_s)
        problem = place.reader.problem if place.has_bytes else None
        if problem is not None and place.cut is None and place.is_live:
            text, failed = f"{place.name}: {add_byte_offset(problem.text, problem.offset)}", True
        place.cut = problem
        self._merger.end_place(place.number)
        self._ended.update(place.reader.counts)
        place.is_open = False
        if place.process is not None:
            Thread(target=place.process.stop, daemon=True).start()
        again = ""
        if place.command is not None and self._restart:
            first_s, longest_s = _RESTART_S
            place.empty_tries = 0 if place.has_bytes else place.empty_tries + 1
            pause_s = min(first_s * 2 ** min(place.empty_tries, 16), longest_s)
            place.starts_s = now_s + pause_s
            again = f"; it is started again in {pause_s:.0f} s"
        elif any(other.is_open for other in self._places):
            again = "; the others go on"
        if text:
            self._env.report(f"kw: {escape_non_utf8(text)}{again}")
            if failed and place.starts_s is None:
                self.is_broken = True

    def _report_text(self, place: _LivePlace, text: str) -> None:
        self._env.report(f"kw: {self.points[place.number]}: {text}")


class _PacketKeeper:
    """Writes the packets of all places by time, as pcapng: an interface for each place and link type."""

    def __init__(
        self, writer: PieceWriter, points: Sequence[str], delay_s: float, now_s: float, places: Sequence[_LivePlace]
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
        self._write(self._merger.take_segments(now_s))

    def close(self) -> None:
        """Write what waits, and close the file."""
        self._write(self._merger.take_all())
        self.writer.close()

    def _write(self, copies: Sequence[object]) -> None:
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
            self.writer.add_header(self._pcapng.make_interface_block(link_type, self._points[place]))
        return self._pcapng.make_commented_packet_block(time_ns, frame, (), wire=wire, interface=interface)
