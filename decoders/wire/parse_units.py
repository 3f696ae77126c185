"""Durations, sizes and times as people write them in, numbers without a sign out; else ValueError."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final, Literal

from decoders.named_tuple import NamedTuple

__all__ = ["Moment", "parse_duration", "parse_moment", "parse_size", "parse_time"]

NS: Final = 10**9
DAY_NS: Final = 86_400 * NS
# In milliseconds; a bare number is seconds.
DURATIONS: Final[Mapping[str, float]] = {
    "ns": 1e-6,
    **dict.fromkeys(("us", "µs"), 1e-3),
    **dict.fromkeys(("ms", "msec"), 1.0),
    **dict.fromkeys(("", "s", "sec", "secs", "second", "seconds"), 1e3),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), 6e4),
    **dict.fromkeys(("h", "hr", "hour", "hours"), 3.6e6),
    **dict.fromkeys(("d", "day", "days"), 8.64e7),
}
# In bytes; capitals do not matter.
SIZES: Final[Mapping[str, float]] = {
    **dict.fromkeys(("", "b"), 1),
    **dict.fromkeys(("k", "kb"), 10**3),
    **dict.fromkeys(("m", "mb"), 10**6),
    **dict.fromkeys(("g", "gb"), 10**9),
    **dict.fromkeys(("t", "tb"), 10**12),
    "kib": 1 << 10,
    "mib": 1 << 20,
    "gib": 1 << 30,
    "tib": 1 << 40,
}
_QUANTITY: Final = re.compile(r"(\d+(?:\.\d+)?|\.\d+)\s*([A-Za-zµ]*)", re.ASCII)
_QUANTITIES: Final = re.compile(r"(?:(?:\d+(?:\.\d+)?|\.\d+)\s*[A-Za-zµ]+\s*){2,}", re.ASCII)
_OF_DAY: Final = re.compile(r"([01]?\d|2[0-4]):([0-5]\d)(?::([0-5]\d)(?:[.,](\d{1,9}))?)?\s*[Zz]?", re.ASCII)
_BARE: Final = re.compile(r"\d{1,14}(?:\.\d+)?", re.ASCII)
_TIME: Final = re.compile(
    r"(\d{4}-\d\d-\d\d[^.,]*?)(?:(?<=:\d\d:\d\d)[.,](\d{1,9}))?\s*([Zz]|[+-]\d\d:?\d\d)?", re.ASCII
)


def parse_duration(text: str) -> float:
    """A duration in milliseconds: `250us`, `100 ms`, `1.5s`, `2m`, `1h30m`, `10` (a bare number is seconds)."""
    if _QUANTITIES.fullmatch(text):
        return sum(parse_duration(each[0]) for each in _QUANTITY.finditer(text))
    number, unit = _split_number_and_unit(text)
    if unit not in DURATIONS:
        raise ValueError(f"no duration: {text!r}")
    return float(number) * DURATIONS[unit]


def parse_size(text: str) -> float:
    """A size in bytes: `512`, `10kB`, `1MiB`."""
    number, unit = _split_number_and_unit(text)
    if unit.lower() not in SIZES:
        raise ValueError(f"no size: {text!r}")
    return float(number) * SIZES[unit.lower()]


def _split_number_and_unit(text: str) -> tuple[str, str]:
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise ValueError(f"no quantity: {text!r}")
    return match[1], match[2]


def parse_time(text: str) -> int:
    """ns since 1970, UTC without a zone: `2026-11-21`, `2026-11-21 03:04`, `2026-11-21T03:04:05.123456789+01:00`."""
    match = _TIME.fullmatch(text)
    if match is None:
        raise ValueError(f"no time: {text!r}")
    whole, fraction, zone = match.groups()
    found = datetime.fromisoformat(whole + (zone or "").upper())
    return int(found.replace(tzinfo=found.tzinfo or UTC).timestamp()) * NS + int((fraction or "").ljust(9, "0"))


# Bare numbers from the first on are seconds since 1970, and from the second on milliseconds, as Kafka counts.
_EPOCH_S: Final = 10**9
_EPOCH_MS: Final = 10**11
# Ten thousand years.
_LONGEST_MS: Final = 3.2e14


class Moment(NamedTuple):
    """A time as people write it: `ns` since 1970, since the midnight of a day that is not named, or before the end.

    `naive`: a date and a time without a zone; `ns` takes it for UTC.
    """

    ns: int
    since: Literal["1970", "midnight", "end"] = "1970"
    naive: bool = False

    def resolve_to_ns(self, first_ns: int, last_ns: int, offset_ns: int = 0) -> int:
        """The time in ns since 1970, for something that went on from `first_ns` to `last_ns`.

        A time of day is on the first day; on the next day where only that part of the span has this time. `offset_ns`:
        how far the clock of the person who wrote the time is ahead of UTC.
        """
        if self.since == "1970":
            return self.ns - offset_ns if self.naive else self.ns
        if self.since == "end":
            return last_ns - self.ns
        found = first_ns - (first_ns + offset_ns) % DAY_NS + self.ns
        return found + DAY_NS if found < first_ns and found + DAY_NS <= last_ns else found


def parse_moment(text: str) -> Moment:
    """A time with its date as `parse_time` takes it, a time of day (`17:34`, `17:34:50.5`), a time before the end.

    `5m`, `-5m`, `90` (seconds) are that long before the end, and `now` is the end. A bare number of ten digits or more
    is seconds since 1970, of twelve or more milliseconds.
    """
    word = text.strip()
    if word == "now":
        return Moment(0, "end")
    if match := _OF_DAY.fullmatch(word):
        hours, minutes, seconds, fraction = match.groups()
        of_day = (int(hours) * 60 + int(minutes)) * 60 + int(seconds or 0)
        return Moment(of_day * NS + int((fraction or "").ljust(9, "0")), "midnight")
    if _BARE.fullmatch(word) and float(word) >= _EPOCH_S:
        whole, _, digits = word.partition(".")
        unit = NS if int(whole) < _EPOCH_MS else 10**6
        return Moment(int(whole) * unit + int(digits[:9].ljust(9, "0") or 0) * unit // NS)
    try:
        before_ms = parse_duration(word.removeprefix("-").removesuffix("ago").rstrip())
    except ValueError:
        match = _TIME.fullmatch(word)
        return Moment(parse_time(word), naive=match is not None and not match[3])
    if before_ms > _LONGEST_MS:
        raise ValueError(f"no time: {text!r}")
    return Moment(round(before_ms * 1e6), "end")
