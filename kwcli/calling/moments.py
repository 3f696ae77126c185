"""A point in time as people write it in, milliseconds since 1970 out."""

from __future__ import annotations

import re
from typing import Final

from decoders.wire.units import parse_duration, parse_time
from kwcli.exits import Exit, Failure

_NUMBER: Final = re.compile(r"-?\d{1,19}")


def moment_ms(text: str, now_ms: int, what: str) -> int:
    """`1700000000000`, `2026-11-21`, `2026-11-21T03:04:05.123Z` (UTC unless said), `now`, `-5m` (before now).

    Raises Failure (usage) that begins with `what`.
    """
    if _NUMBER.fullmatch(text):
        return int(text)
    if text == "now":
        return now_ms
    try:
        return now_ms - int(parse_duration(text[1:])) if text.startswith("-") else parse_time(text) // 10**6
    except ValueError:
        raise Failure(
            f"{what}: {text!r} is no time (write 2026-11-21T03:04:05Z, milliseconds since 1970, now or -5m)", Exit.USAGE
        ) from None
