"""The counts of a run in, its progress bar and the lines at its end out; and the line of a compaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from decoders.wire.format_and_escape_text import format_size
from kwcli.output.short_texts import count_of
from kwcli.pipeline.tables.table_columns import ALL_TABLES
from kwcli.reading.sinks.closing_lines import (
    describe_passed_over,
    describe_skipped_runs,
    format_client_count,
    format_time_span,
)
from kwcli.terminal.progress import TransientLine, draw_bar

if TYPE_CHECKING:
    from kwcli.pipeline.store.compact_tables import Compacted
    from kwcli.pipeline.tables.run_counts import RunCounts
    from kwcli.pipeline.tables.write_parquet import WrittenFile
    from kwcli.run_environment import Environment

__all__ = ["ProgressBar", "format_compacted_line", "format_run_closing_line", "format_written_tables_line"]

WIDTH: Final = 24


class ProgressBar(TransientLine):
    """A bar over the bytes of all captures: `show` often, `hide` before any other line is written.

    `splits` is 0 where the engine makes none.
    """

    def __init__(self, env: Environment, splits: int, size: int, *, wanted: bool) -> None:
        super().__init__(env, wanted=wanted)
        self._splits = splits
        self._size = size

    def show(self, size: int, splits: int) -> None:
        """Draw the bar for the bytes and splits read so far; after all bytes it says that tables are being written."""
        seconds = self._seconds_if_due()
        if seconds is not None:
            self._draw_line(self._text_that_fits(size, splits, seconds))

    def _text_that_fits(self, size: int, splits: int, seconds: float) -> str:
        """As much of the bar's text as the terminal has room for; the least important parts are left out first."""
        share = min(size / self._size, 1.0) if self._size else 0.0
        rate = size / seconds if seconds > 0 else 0.0
        left = f"{seconds * (1 - share) / share:.0f} s left" if share else ""
        parts = [
            draw_bar(share, WIDTH),
            left if size < self._size else "writing tables",
            f"{format_size(size)} of {format_size(self._size)}",
            f"{format_size(int(rate))}/s",
            f"{splits:,} of {count_of(self._splits, 'split')}" if self._splits else "",
        ]
        parts = [part for part in parts if part]
        width = self._env.columns
        while width is not None and len("  ".join(parts)) >= width and len(parts) > 1:
            parts.pop()
        return "  ".join(parts)


# Lines at the end of a run


def format_run_closing_line(
    tally: RunCounts, packets: Mapping[str, int], *, damaged: int, engine: str, seconds: float
) -> str:
    """The line at the end of a run: `193 exchanges, 12 clients, 28 errors · 2026-11-21 17:34:43–17:35:32 · …`.

    `packets` are the counts of all readers, `damaged` how many captures could not be read to their end; `engine` is
    the engine and the reason for it.
    """
    parts = [
        count_of(tally.exchanges, "exchange"),
        format_client_count(tally.clients),
        count_of(len(tally.brokers), "broker"),
    ]
    if tally.connections:
        parts.append(count_of(tally.connections, "connection"))
    if tally.errors:
        parts.append(count_of(tally.errors, "error"))
    if tally.expected:
        parts.append(count_of(tally.expected, "expected error"))
    parts += [f"{tally.statuses[name]:,} {name}" for name in ("unanswered", "undecoded") if tally.statuses[name]]
    parts += describe_skipped_runs(tally.runs, tally.run_bytes)
    if tally.logged:
        parts.append(f"{tally.logged:,} in request logs")
    parts += describe_passed_over(packets)
    if damaged:
        parts.append(count_of(damaged, "damaged capture"))
    when = [format_time_span(tally.first_ns, tally.last_ns)] if tally.first_ns else []
    return " · ".join(
        [", ".join(parts), *when, count_of(packets.get("packets", 0), "packet"), engine, format_duration(seconds)]
    )


def format_written_tables_line(written: Iterable[WrittenFile], out: str) -> str:
    """`tables: exchanges 193 rows, 31.0kB; connections 49 rows, 12.1kB`: how much there is of each table."""
    rows: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for file in written:
        rows[file.table] += file.rows
        sizes[file.table] += file.size
    each = [f"{name} {count_of(rows[name], 'row')}, {format_size(sizes[name])}" for name in ALL_TABLES if rows[name]]
    return f"{out}: {'; '.join(each) or 'no rows'}"


def format_compacted_line(compacted: Compacted) -> str:
    """`exchanges 2026-11-21: 1,200 files, 31.0MB → 1 file, 12.1MB`."""
    before = f"{count_of(compacted.files, 'file')}, {format_size(compacted.size)}"
    after = f"{count_of(compacted.now, 'file')}, {format_size(compacted.size_now)}"
    return f"{compacted.table} {compacted.day}: {before} → {after}"


def format_duration(seconds: float) -> str:
    """`0.08 s`, `41.3 s`, `12 min 5 s`, `3 h 20 min`."""
    if seconds < 10:
        return f"{seconds:.2f} s"
    if seconds < 120:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"
