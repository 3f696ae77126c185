"""Points of a report in, whole series over its buckets of time out: text draws marks of them, the page draws lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from decoders.exchanges.times import rfc3339
from decoders.wire.units import parse_time

if TYPE_CHECKING:
    from decoders.analysis.fold import Row
    from kwcli.pipeline.report.contents import Report

NS: Final = 10**9


def numbers(report: Report) -> tuple[int, int]:
    """The first and the last bucket of time."""
    width = round(report["bucket_s"] * NS)
    first, last = (nanoseconds(report[name]) // width for name in ("first", "last"))
    return first, last


def slices(points: list[Row], key: str, report: Report, scale: int = 1) -> dict[int, int]:
    """A value by bucket, as an integer."""
    width = round(report["bucket_s"] * NS)
    return {nanoseconds(row["time"]) // width: round(row[key] * scale) for row in points if row[key] is not None}


def times(report: Report) -> list[str]:
    """When each bucket begins."""
    width = round(report["bucket_s"] * NS)
    first, last = numbers(report)
    return [rfc3339(number * width) for number in range(first, last + 1)]


def series(points: list[Row], key: str, starts: list[str]) -> list[Any]:
    """A value for each bucket, None where there is none."""
    known = {row["time"]: row[key] for row in points}
    return [known.get(start) for start in starts]


def nanoseconds(time: str) -> int:
    """What `rfc3339` made a text of."""
    if not time.endswith("Z") or time[4:5] != "-":
        return int(time.partition("s")[0]) * NS  # beyond the calendar
    return parse_time(time)
