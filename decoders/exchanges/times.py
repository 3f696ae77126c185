"""Nanoseconds since 1970 in, RFC 3339 text in UTC out."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@lru_cache(maxsize=64)
def _second(second: int) -> str:
    try:
        return (_EPOCH + timedelta(seconds=second)).strftime("%Y-%m-%dT%H:%M:%S")
    except OverflowError:  # a time stamp beyond year 9999, which a corrupt capture may have
        return f"{second}s"


def rfc3339(time_ns: int) -> str:
    """`2026-11-21T03:04:05.123456Z`, with nine digits where the capture has nanoseconds."""
    second, fraction = divmod(time_ns, 1_000_000_000)
    micros, nanos = divmod(fraction, 1000)
    if nanos:
        return f"{_second(second)}.{fraction:09d}Z"
    return f"{_second(second)}.{micros:06d}Z"
