"""The counts of a run in, what is said of it at its end out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from kwcli.pipeline.tables.columns import TABLES
from kwcli.render.units import amount, counted
from kwcli.summary import left_over, left_unread, time_span

if TYPE_CHECKING:
    from kwcli.pipeline.tables.write import Written
    from kwcli.pipeline.tally import RunCounts

__all__ = ["closing_line", "tables_line"]


def closing_line(tally: RunCounts, packets: Mapping[str, int], *, damaged: int, engine: str, seconds: float) -> str:
    """`193 exchanges, 12 clients, 3 brokers, 49 connections, 28 errors · 2026-11-21 17:34:43–17:35:32 · …`.

    `packets` are the counts of all readers, `damaged` how many captures could not be read to their end; `engine` says
    which one it was, and why.
    """
    parts = [
        counted(tally.exchanges, "exchange"),
        counted(len(tally.clients), "client"),
        counted(len(tally.brokers), "broker"),
    ]
    if tally.connections:
        parts.append(counted(tally.connections, "connection"))
    if tally.errors:
        parts.append(counted(tally.errors, "error"))
    parts += [f"{tally.statuses[name]:,} {name}" for name in ("unanswered", "undecoded") if tally.statuses[name]]
    parts += left_unread(tally.runs, tally.run_bytes)
    parts += left_over(packets)
    if damaged:
        parts.append(counted(damaged, "damaged capture"))
    when = [time_span(tally.first_ns, tally.last_ns)] if tally.first_ns else []
    return " · ".join([", ".join(parts), *when, counted(packets.get("packets", 0), "packet"), engine, took(seconds)])


def tables_line(written: Iterable[Written], out: str) -> str:
    """`tables: exchanges 193 rows, 31.0kB; connections 49 rows, 12.1kB`: how much there is of each table."""
    rows: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for file in written:
        rows[file.table] += file.rows
        sizes[file.table] += file.size
    each = [f"{name} {counted(rows[name], 'row')}, {amount(sizes[name])}" for name in TABLES if rows[name]]
    return f"{out}: {'; '.join(each) or 'no rows'}"


def took(seconds: float) -> str:
    """`0.08 s`, `41.3 s`, `12 min 5 s`, `3 h 20 min`."""
    if seconds < 10:
        return f"{seconds:.2f} s"
    if seconds < 120:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"
