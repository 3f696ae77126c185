"""Words of the command line in, checked values out: times, capture points, tables; what only `kw pipeline` takes."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from typing import Final

import click

__all__ = ["Moment", "Point", "TableNames"]

NS: Final = 10**9
_MOMENT: Final = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?\s*(Z|z|[+-]\d\d:?\d\d)?)?", re.ASCII
)
_NAME: Final = re.compile(r"[A-Za-z0-9][\w.:-]{0,99}", re.ASCII)


class Moment(click.ParamType[int]):
    """`2026-11-21T03:04:05.123456789Z`, `2026-11-21 03:04`, `2026-11-21` (its midnight): nanoseconds since 1970.

    A time without a zone is UTC, as all times that kw prints.
    """

    name = "time"

    def convert(self, value: str | int, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        match = _MOMENT.fullmatch(value.strip())
        found = None if match is None else _nanoseconds(*match.groups())
        if found is None:
            self.fail(
                f"{value!r} is no time (write 2026-11-21, 2026-11-21T03:04 or 2026-11-21T03:04:05.5Z)", param, ctx
            )
        return found


def _nanoseconds(day: str, clock: str | None, second: str | None, fraction: str | None, zone: str | None) -> int | None:
    """None where the calendar or the clock has no such time."""
    try:
        found = datetime.fromisoformat(f"{day} {clock or '00:00'}:{second or '00'}").replace(tzinfo=_zone(zone))
    except ValueError:
        return None
    return int(found.timestamp()) * NS + int((fraction or "").ljust(9, "0"))


def _zone(text: str | None) -> timezone:
    if text is None or text in "Zz":
        return UTC
    offset = timedelta(hours=int(text[1:3]), minutes=int(text[-2:]))
    return timezone(-offset if text[0] == "-" else offset)


class Point(click.ParamType[tuple[str, str]]):
    """`broker1=captures/b1-*.pcap`: a capture point's name and where its captures are."""

    name = "point"

    def convert(
        self, value: str | tuple[str, str], param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        if isinstance(value, tuple):
            return value
        name, equals, place = value.partition("=")
        if not equals or not place or not _NAME.fullmatch(name):
            self.fail(f"{value!r} is no capture point (write broker1=captures/b1-*.pcap)", param, ctx)
        return name, place


class TableNames(click.ParamType[tuple[str, ...]]):
    """`exchanges,connections`: a tuple of names of tables, each once, in the order in which they are known."""

    name = "tables"

    def __init__(self, known: tuple[str, ...]) -> None:
        self.known = known

    def convert(
        self, value: str | tuple[str, ...], param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        if isinstance(value, tuple):
            return value
        words = {word.strip() for word in value.split(",")}
        for word in sorted(words):
            if word not in self.known:
                self.fail(f"{word!r} is no table (they are {', '.join(self.known)})", param, ctx)
        return tuple(name for name in self.known if name in words)
