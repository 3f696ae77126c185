"""The options of `kw sniff` in; rows on standard output, and with FILE -w a capture of their packets, out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwcli.reading.run_ends import Event
from kwcli.reading.run_reading import ReadingRun
from kwcli.run_environment import Exit, Failure

if TYPE_CHECKING:
    from kwcli.options import CaptureOptions, FilterOptions
    from kwcli.output.settings import Settings
    from kwcli.run_environment import Environment
    from kwcli.sniff.write_matching_packets import MatchingPacketsWriter

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
    if not capture.write or capture.interface:
        return ReadingRun(env, settings, capture, filters, sort=sort, strict=strict).run().exit_code()
    from kwcli.sniff.files_read_twice import check_output
    from kwcli.sniff.write_matching_packets import MatchingPacketsWriter

    check_output(capture.write, capture.files)
    whole, limited, with_keys = capture.whole_connections, filters.limit is not None, capture.with_keys
    writer = MatchingPacketsWriter(capture.write, env, whole=whole, limited=limited, with_keys=with_keys)
    return _cut_packets(
        env, capture, writer, ReadingRun(env, settings, capture, filters, sort=sort, strict=strict, tap=writer)
    )


def _cut_packets(env: Environment, capture: CaptureOptions, writer: MatchingPacketsWriter, run: ReadingRun) -> Exit:
    """Decode files, then write a capture of the packets of the rows that were shown."""
    from kwcli.reading.capture_sources import STANDARD_INPUT
    from kwcli.sniff.files_read_twice import Spooled, environment_with_stdin, reopen_captures

    spooled = Spooled(env.stdin) if "-" in capture.files else None
    try:
        captures = run.open_captures(capture.files, environment_with_stdin(env, spooled))
        if captures.records:
            raise Failure(f"{captures.records[0]}: records have no packets that -w could write", Exit.USAGE)
        writer.begin_output(captures.names)
        names = ["-" if source == STANDARD_INPUT else source for source in captures.names]
        ends = run.read_captures(captures).ends
        with ends.end_at_errors():
            if not writer.copy_kept_packets(reopen_captures(names, env, spooled)):
                ends.note_event(Event.PACKETS_UNWRITTEN)
            ends.note_event(Event.DONE)
        return ends.exit_code()
    finally:
        writer.close()
        if spooled is not None:
            spooled.file.close()
