"""A message of another process in, the state of the screen changed; which part of it is drawn anew then out."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, Final, Protocol

from kwcli.browse.background_processes.read_into_spool import CaptureFaults, ReaderReport, ReadingEnded, ReadProgress
from kwcli.browse.background_processes.search_messages import (
    CausesFound,
    RowsExported,
    RowsFound,
    RowsSorted,
    TopCounted,
)
from kwcli.browse.background_processes.share_schemas_between_processes import NewSchemas
from kwcli.browse.background_processes.spool import NewBlock
from kwcli.output.short_texts import count_of

if TYPE_CHECKING:
    from kwcli.browse.background_processes.spool import SpooledRows

__all__ = ["Changed", "apply_message"]


class Changed(Enum):
    """What a message has changed."""

    NOTHING = auto()
    ROWS = auto()  # there are more rows
    FOUND = auto()  # the list has other rows, or another order
    SCHEMAS = auto()  # more values can be decoded


class ScreenState(Protocol):
    """What the screen knows of the reading, and its panes that take answers."""

    rows: SpooledRows
    taken: int
    reports: list[str]
    faults: list[str]
    notice: str

    def show_notice(self, notice: str) -> None:
        """Show a sentence until the next key."""

    def apply_found_rows(self, part: RowsFound | RowsSorted) -> Changed:
        """Take a part of an answer that has rows."""

    def apply_findings(self, found: CausesFound) -> None:
        """Show findings."""

    def apply_top_counts(self, counted: TopCounted) -> None:
        """Show counts."""

    def add_schemas_from_reader(self, new: NewSchemas) -> None:
        """Keep schemas."""

    def note_reading_ended(self, ended: ReadingEnded) -> None:
        """Note that all is read."""


def apply_message(app: ScreenState, message: Any) -> Changed:
    """Apply a message to the screen; what it has changed."""
    return _APPLIERS[type(message)](app, message) or Changed.NOTHING


def _apply_new_block(app: ScreenState, block: NewBlock) -> Changed:
    app.rows.add_block(block)
    return Changed.ROWS


def _apply_new_schemas(app: ScreenState, new: NewSchemas) -> Changed:
    app.add_schemas_from_reader(new)
    return Changed.SCHEMAS


def _apply_rows_exported(app: ScreenState, exported: RowsExported) -> None:
    app.show_notice(f"{exported.path}: {exported.problem or count_of(exported.rows, 'row')}")


def _apply_read_progress(app: ScreenState, progress: ReadProgress) -> None:
    app.taken = progress.taken


def _apply_reader_report(app: ScreenState, report: ReaderReport) -> None:
    app.reports.append(report.text)
    if report.text.startswith("kw: "):
        app.notice = report.text.removeprefix("kw: ")


def _apply_capture_faults(app: ScreenState, faults: CaptureFaults) -> None:
    app.faults = faults.sentences


_APPLIERS: Final[dict[type, Callable[[ScreenState, Any], Changed | None]]] = {
    NewBlock: _apply_new_block,
    NewSchemas: _apply_new_schemas,
    RowsFound: lambda app, part: app.apply_found_rows(part),
    RowsSorted: lambda app, part: app.apply_found_rows(part),
    CausesFound: lambda app, found: app.apply_findings(found),
    TopCounted: lambda app, counted: app.apply_top_counts(counted),
    RowsExported: _apply_rows_exported,
    ReadProgress: _apply_read_progress,
    ReaderReport: _apply_reader_report,
    CaptureFaults: _apply_capture_faults,
    ReadingEnded: lambda app, ended: app.note_reading_ended(ended),
}
