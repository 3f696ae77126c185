"""A point in time as people write it in, milliseconds since 1970 out."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from kwcli.exits import Exit, Failure

_UNITS_MS: Final = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_AGO: Final = re.compile(r"-(\d+)(ms|s|m|h|d)")
_NUMBER: Final = re.compile(r"-?\d{1,19}")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def moment_ms(text: str, now_ms: int, what: str) -> int:
    """`1700000000000`, `2026-11-21`, `2026-11-21T03:04:05.123Z` (UTC unless said), `now`, `-5m` (before now).

    Raises Failure (usage) that begins with `what`.
    """
    if _NUMBER.fullmatch(text):
        return int(text)
    if text == "now":
        return now_ms
    ago = _AGO.fullmatch(text)
    if ago:
        return now_ms - int(ago[1]) * _UNITS_MS[ago[2]]
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise Failure(
            f"{what}: {text!r} is no time (write 2026-11-21T03:04:05Z, milliseconds since 1970, now or -5m)", Exit.USAGE
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) // timedelta(milliseconds=1)
