"""The state of the reading and of the list in, the two texts of the status line out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from decoders.named_tuple import NamedTuple
from decoders.wire.format_and_escape_text import escape_text, format_rfc3339
from kwcli.browse.background_processes.read_into_spool import ReadingEnded
from kwcli.browse.background_work_and_source import Source
from kwcli.browse.panes.title_status_and_key_bars import format_progress_bar
from kwcli.filter_options import WENT_WRONG
from kwcli.output.short_texts import count_of, find_zone

if TYPE_CHECKING:
    from kwcli.browse.background_processes.spool import SpooledRows
    from kwcli.browse.panes.list_pane import ListPane
    from kwcli.browse.row_filter import FoundRows

__all__ = ["Reading", "format_status_texts"]


class Reading(NamedTuple):
    """How far the reading is: the bytes that were read, and how it ended."""

    source: Source
    taken: int
    ended: ReadingEnded | None


def format_status_texts(
    reading: Reading, rows: SpooledRows, pane: ListPane, found: FoundRows | None, zone: str, said: str = ""
) -> tuple[str, str]:
    """What is shown, on the left; the day, the position and how far reading and searching are, on the right.

    `said`: what the rows are of a finding, as in "3 examples of 5".
    """
    source, ended = reading.source, reading.ended
    parts: list[str] = []
    if said:
        parts.append(said)
    if found is not None and found.order:
        parts.append(f"by {found.order}")
    if found is not None and found.text:
        parts.append(f"{count_of(len(found.rows), 'match')}: {found.text.replace(WENT_WRONG, 'errors')}")
        parts += [_describe_failures(found.failures)] if found.failures else []
    parts += [source.name, count_of(rows.end, "row")]
    right = f"{pane.cursor + 1:,} of {pane.count_lines():,}" if pane.count_lines() else "no rows"
    row = pane.row
    if row is not None:
        day = find_zone(zone).format_exact_time(format_rfc3339(row.time_ns))
        right = f"{day[:10]} {right}"
    if ended is None and source.size:
        right = f"{format_progress_bar(reading.taken, source.size)}  {right}"
    elif ended is None:
        right = f"live{' ▼' if pane.follows else ''}  {right}"
    elif ended.full:
        parts.insert(0, "the spool is full: narrow by --since, --port, or give more by --spool")
    elif found is not None and found.until < rows.end:
        right = f"searched {format_progress_bar(found.until, rows.end)}  {right}"
    return " · ".join(map(escape_text, parts)), right


def _describe_failures(failures: dict[str, dict[str, int]]) -> str:
    """`Produce 10 KAFKA_STORAGE_ERROR, Metadata 8 LEADER_NOT_AVAILABLE`, the most frequent first."""
    counts = [(count, api, name) for api, names in failures.items() for name, count in names.items()]
    return ", ".join(f"{api} {count:,} {name}" for count, api, name in sorted(counts, key=lambda each: -each[0]))
