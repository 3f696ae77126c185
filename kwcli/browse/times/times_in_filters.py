"""A filter as it is typed and the zone of the screen in, the filter with an offset at each time without a zone out.

The filter language takes a time without a zone for UTC, so that a filter means one thing wherever it is read. Here
people copy times off the screen: what is typed gets the offset of the zone that is shown.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from kwcli.output.short_texts import TimeZone

__all__ = ["write_offsets_at_times"]

# The field, with what stands before its value or values; quoted text, in which nothing is a time, is passed over.
_FIELD: Final = re.compile(
    r"""(?P<before>(?<![\w.\-])time\s*(?:(?:==|=|!=|<=|>=|<|>)\s*|\s(?:not\s+)?in\s*\(\s*(?=(?P<more>[^)]*))))
    (?P<values>(?(more)[^)]*|(?:"[^"]*"|'[^']*'|[^\s()&|,"']+(?:[ ](?=\d?\d:\d\d))?[^\s()&|,"']*)))
    |"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'""",
    re.VERBOSE | re.ASCII,
)
_TIME: Final = re.compile(
    r"""(?P<quote>["']?)
    (?P<time>(?:(?P<day>\d{4}-\d\d-\d\d)(?:[T ](?=\d))?)?(?P<of_day>\d?\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?)?)
    (?P=quote)""",
    re.VERBOSE | re.ASCII,
)


def write_offsets_at_times(text: str, zone: TimeZone, first_ns: int) -> str:
    """`time >= 19:35:07` in the zone of Helsinki → `time >= 19:35:07+02:00`. Others, and those of UTC, stay.

    `first_ns`: a moment of the capture, for the offset of a time of any day.
    """
    if zone.utc:
        return text

    def write_offset(match: re.Match[str]) -> str:
        day, of_day = match["day"], match["of_day"]
        if not day and not of_day:
            return match[0]
        try:
            when = datetime.fromisoformat(f"{day}T{(of_day or '00:00')[:5]}+00:00") if day else None
            offset = _format_utc_offset(
                zone, first_ns // 10**9 if when is None else int(when.timestamp()), naive=bool(day)
            )
        except (OverflowError, ValueError, OSError):
            return match[0]
        time = match["time"] if of_day else f"{day}T00:00"
        return f"{match['quote']}{time}{offset}{match['quote']}"

    def write_offsets(match: re.Match[str]) -> str:
        if match["before"] is None:
            return match[0]
        values = re.split(r"(\s*,\s*)", match["values"]) if match["more"] is not None else [match["values"]]
        found = ((each, _TIME.fullmatch(each.rstrip())) for each in values)
        return match["before"] + "".join(each if its is None else write_offset(its) for each, its in found)

    return _FIELD.sub(write_offsets, text)


def _format_utc_offset(zone: TimeZone, seconds: int, *, naive: bool) -> str:
    """`+02:00` at a moment; `naive`: the seconds are those that a clock of the zone shows."""
    offset = zone.local_time(seconds).utcoffset() or timedelta()
    if naive:
        offset = zone.local_time(seconds - int(offset.total_seconds())).utcoffset() or timedelta()
    shown = (datetime.fromtimestamp(0, UTC) + abs(offset)).strftime("%H:%M")
    return f"{'-' if offset < timedelta() else '+'}{shown}"
