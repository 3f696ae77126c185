"""The options of `kw sniff` in; rows on standard output, and with FILE -w a capture of their packets, out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwcli.reading.run_ends import Event
from kwcli.reading.run_reading import ReadingRun
from kwcli.run_environment import Exit, Failure

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Settled
    from decoders.filters import Filter
    from decoders.tcp.chunks import Segment
    from decoders.tls.key_log import KeyLog
    from kwcli.options import CaptureOptions, FilterOptions
    from kwcli.output.renderers import WantedPaths
    from kwcli.output.settings import Settings
    from kwcli.run_environment import Environment
    from kwcli.sniff.packets_of_rows import LoggedEngine
    from kwcli.sniff.write_matching_packets import ExchangePackets, MatchingPacketsWriter

__all__ = ["run_sniff"]


def run_sniff(
    env: Environment,
    settings: Settings,
    capture: CaptureOptions,
    filters: FilterOptions,
    *,
    sort: str | None,
    strict: bool,
) -> Exit:
    """Show the rows that the options select, and write their packets where that is asked for. Raises Failure."""
    if capture.write and not capture.interface:
        return _cut_packets(env, settings, capture, filters, sort=sort, strict=strict)
    return ReadingRun(env, settings, capture, filters, sort=sort, strict=strict).run().exit_code()


def _cut_packets(
    env: Environment,
    settings: Settings,
    capture: CaptureOptions,
    filters: FilterOptions,
    *,
    sort: str | None,
    strict: bool,
) -> Exit:
    """Decode files, then write a capture of the packets of the rows that were shown."""
    from kwcli.reading.capture_sources import STANDARD_INPUT
    from kwcli.sniff.files_read_twice import Spooled, check_output, environment_with_stdin, reopen_captures

    assert capture.write
    check_output(capture.write, capture.files)
    cutter = _PacketCutter(env, capture, limited=filters.limit is not None)
    run = ReadingRun(env, settings, capture, filters, sort=sort, strict=strict, tap=cutter)
    spooled = Spooled(env.stdin) if "-" in capture.files else None
    try:
        captures = run.open_captures(capture.files, environment_with_stdin(env, spooled))
        if captures.records:
            raise Failure(f"{captures.records[0]}: records have no packets that -w could write", Exit.USAGE)
        cutter.writer.begin_output(captures.names)
        names = ["-" if source == STANDARD_INPUT else source for source in captures.names]
        ends = run.read_captures(captures).ends
        with ends.end_at_errors():
            if not cutter.writer.copy_kept_packets(reopen_captures(names, env, spooled)):
                ends.note(Event.PACKETS_UNWRITTEN)
            ends.note(Event.DONE)
        return ends.exit_code()
    finally:
        cutter.writer.close()
        if spooled is not None:
            spooled.file.close()


class _PacketCutter:
    """The tap of a run that finds and keeps the packets of the rows that are shown."""

    writer: MatchingPacketsWriter

    def __init__(self, env: Environment, capture: CaptureOptions, *, limited: bool) -> None:
        self._env = env
        self._capture = capture
        self._limited = limited
        self._selection: Filter | None = None
        self._pieces: dict[int, ExchangePackets | None] = {}  # of rows that wait to be shown, by their identity

    def make_engine(
        self, ports: frozenset[int] | None, wanted: WantedPaths, keys: KeyLog, selection: Filter | None
    ) -> LoggedEngine:
        """The engine of the run, which logs where its bytes come from."""
        from kwcli.sniff.packets_of_rows import LoggedEngine
        from kwcli.sniff.write_matching_packets import MatchingPacketsWriter

        asked = self._capture
        assert asked.write
        self._selection = selection
        whole = asked.whole_connections or (selection is None and not self._limited)
        self.writer = MatchingPacketsWriter(asked.write, self._env, keys, whole=whole, with_keys=asked.with_keys)
        return LoggedEngine(self.writer.segments, ports=ports, needs=wanted, keys=keys)

    def log_segments(self, segments: list[Segment]) -> None:
        """Log segments that the engine gets next."""
        self.writer.log_segments(segments)

    def note_rows(self, rows: list[Settled], *, numbered: bool) -> None:
        """Find the packets of rows, before these are numbered within their files; the others are numbered here."""
        from kwcli.reading.sinks.row_output import renumber_packets_in_file

        for row in rows:
            if self._selection is None or (row.kind == "exchange" and self._selection.matches(row)):
                self._pieces[id(row)] = self.writer.find_packets_of_row(row)
            if row.kind == "exchange" and not numbered:
                renumber_packets_in_file(row)

    def keep_rows(self, rows: list[Settled]) -> None:
        """Keep the packets of rows that are shown."""
        for row in rows:
            self.writer.keep_packets_of_row(self._pieces.pop(id(row), None))

    def end_batch(self) -> None:
        """Forget the rows of this batch that are not shown."""
        self._pieces.clear()
