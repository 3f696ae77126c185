"""Durations, sizes and times as people write them in, numbers without a sign out; ValueError for what is none."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

__all__ = ["parse_duration", "parse_size", "parse_time"]

NS: Final = 10**9
# In milliseconds.
DURATIONS: Final[Mapping[str, float]] = {
    "ns": 1e-6,
    "us": 1e-3,
    "µs": 1e-3,
    "ms": 1.0,
    "s": 1e3,
    "m": 6e4,
    "min": 6e4,
    "h": 3.6e6,
    "d": 8.64e7,
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
_TIME: Final = re.compile(
    r"(\d{4}-\d\d-\d\d[^.,]*?)(?:(?<=:\d\d:\d\d)[.,](\d{1,9}))?\s*([Zz]|[+-]\d\d:?\d\d)?", re.ASCII
)


def parse_duration(text: str) -> float:
    """`250us`, `100 ms`, `1.5s`, `2m`: milliseconds. A number without a unit says nothing."""
    number, unit = _parts(text)
    if unit not in DURATIONS:
        raise ValueError(f"no duration: {text!r}")
    return float(number) * DURATIONS[unit]


def parse_size(text: str) -> float:
    """`512`, `10kB`, `1MiB`: bytes."""
    number, unit = _parts(text)
    if unit.lower() not in SIZES:
        raise ValueError(f"no size: {text!r}")
    return float(number) * SIZES[unit.lower()]


def _parts(text: str) -> tuple[str, str]:
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise ValueError(f"no quantity: {text!r}")
    return match[1], match[2]


def parse_time(text: str) -> int:
    """`2026-11-21`, `2026-11-21 03:04`, `2026-11-21T03:04:05.123456789+01:00`: ns since 1970, UTC without a zone."""
    match = _TIME.fullmatch(text)
    if match is None:
        raise ValueError(f"no time: {text!r}")
    whole, fraction, zone = match.groups()
    found = datetime.fromisoformat(whole + (zone or "").upper())
    return int(found.replace(tzinfo=found.tzinfo or UTC).timestamp()) * NS + int((fraction or "").ljust(9, "0"))
