"""The zone that times are shown in: UTC, unless --local asks for that of $TZ or of the machine."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from functools import cache
from typing import Final

from kwcli.env import Exit, Failure

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
# What names of zones may have beside letters; others are rules of POSIX (`CET-1CEST`), which only the system reads.
_NAME_MAX: Final = 6


class Zone:
    """`zone` None: that of the machine, which reads TZ by itself."""

    __slots__ = ("_zone", "utc")

    def __init__(self, zone: tzinfo | None) -> None:
        self._zone = zone
        self.utc = zone is UTC

    def at(self, seconds: int) -> datetime:
        """A time in it, of seconds since 1970. Raises OverflowError, ValueError or OSError beyond all calendars."""
        return (_EPOCH + timedelta(seconds=seconds)).astimezone(self._zone)

    def name(self, seconds: int) -> str:
        """What it is called then: `UTC`, `CEST`, `+05:30` where it has no such name."""
        if self.utc:
            return "UTC"
        try:
            when = self.at(seconds)
        except (OverflowError, ValueError, OSError):
            return ""
        name = when.tzname() or ""
        return name if name.isalpha() and len(name) <= _NAME_MAX else when.isoformat()[-6:]

    def exact(self, text: str) -> str:
        """A time as records have it (`2026-11-21T03:04:05.123456Z`) in this zone, with its offset."""
        if self.utc or not text.endswith("Z"):
            return text
        whole, _, fraction = text[:-1].partition(".")
        try:
            when = datetime.fromisoformat(f"{whole}+00:00").astimezone(self._zone)
        except (OverflowError, ValueError, OSError):
            return text
        said = when.isoformat()
        return f"{said[:19]}{'.' if fraction else ''}{fraction}{said[19:]}"


UTC_ZONE: Final = Zone(UTC)
# The word for the zone of the machine.
LOCAL: Final = "local"


@cache
def find_zone(name: str) -> Zone:
    """The zone of a word: empty for UTC, `local`, or what TZ says. Raises Failure (usage) for a name that is none."""
    if not name:
        return UTC_ZONE
    if name == LOCAL:
        return Zone(None)
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        return Zone(ZoneInfo(name.removeprefix(":")))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        if any(letter.isdecimal() for letter in name):
            return Zone(None)
        raise Failure(f"--local: TZ={name} is no time zone (write Europe/Berlin)", Exit.USAGE) from None
