"""The time of a row in, the first twelve cells of its line out: of day, since the first row, since the row before."""

from __future__ import annotations

from enum import Enum
from typing import Final

from kwcli.output.short_texts import NS, TimeZone

__all__ = ["TIME_CELLS", "TimeForm", "format_row_time"]

TIME_CELLS: Final = 12


class TimeForm(Enum):
    """How times of rows are shown; the value is the title of the column."""

    ABSOLUTE = "time"
    RELATIVE = "since first"
    DELTA = "since before"

    @property
    def meaning(self) -> str:
        """What times are then, in words."""
        return _MEANINGS[self]

    def next_form(self) -> TimeForm:
        """The form after this one."""
        forms = list(TimeForm.__members__.values())
        return forms[(forms.index(self) + 1) % len(forms)]


_MEANINGS: Final = {
    TimeForm.ABSOLUTE: "of day",
    TimeForm.RELATIVE: "since the first row",
    TimeForm.DELTA: "since the row before",
}


def format_row_time(time_ns: int, since_ns: int | None, zone: TimeZone) -> str:
    """A time of day in a zone, or the time since `since_ns`, in TIME_CELLS cells."""
    if since_ns is None:
        try:
            when = zone.local_time(time_ns // NS)
        except (OverflowError, ValueError, OSError):
            return "??:??:??.???"
        return f"{when:%H:%M:%S}.{time_ns // 1_000_000 % 1000:03d}"
    span = time_ns - since_ns
    sign, span = ("-" if span < 0 else "+"), abs(span)
    if span < 1000 * NS:
        return f"{sign}{span / NS:.6f}".rjust(TIME_CELLS)[:TIME_CELLS]
    seconds = span // NS
    text = f"{sign}{seconds // 3600}:{seconds // 60 % 60:02d}:{seconds % 60:02d}.{span // 1_000_000 % 1000:03d}"
    return text.rjust(TIME_CELLS)[:TIME_CELLS]
