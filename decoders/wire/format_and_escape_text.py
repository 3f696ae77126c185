"""Values in, text out: latencies, sizes, times, text that is safe in a line; whether bytes are readable text."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final

_KEPT: Final = frozenset(b"\t\n\r")
# One pass in C over the bytes: each byte that is no plain ASCII text becomes a byte that is no ASCII.
PLAIN: Final = bytes(byte if 0x20 <= byte < 0x7F or byte in _KEPT else 0x80 for byte in range(256))
# The control characters that no readable text has, of those that are one byte.
CONTROLS: Final = bytes(byte for byte in (*range(0x20), 0x7F) if byte not in _KEPT)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_CONTROL: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]").search


def format_bytes(size: int) -> str:
    """A size as it is read out: `1 byte`, `4,096 bytes`."""
    return "1 byte" if size == 1 else f"{size:,} bytes"


def is_plain_text(data: bytes) -> bool:
    """Whether the bytes are ASCII text without control characters: cheap, and true of most text."""
    return data.translate(PLAIN).isascii()


def has_control_characters(text: str) -> bool:
    """Whether a text has control characters other than tab and line ends."""
    return _CONTROL(text) is not None


def escape_text(text: str) -> str:
    """The value for use in a line of text: unprintable characters and line ends are escaped as Python writes them."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else _escape_character(c) for c in text)


def replace_unprintable(data: bytes, most: int) -> str:
    """The first `most` bytes as text, with `�` for all that is unprintable or no UTF-8."""
    text = data[:most].decode("utf-8", "replace")
    return "".join(each if each.isprintable() else "�" for each in text)


def _escape_character(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # a byte that was not UTF-8
        return f"\\x{code - 0xDC00:02x}"
    return character.encode("unicode_escape").decode("ascii")


def format_latency(ms: float | None) -> str:
    """A latency: `48µs`, `1.2ms`, `502ms`, `3.25s`; `–` where there is none."""
    if ms is None:
        return "–"
    if 1 <= ms < 99.95:
        return f"{ms:.1f}ms"
    size = abs(ms)
    if size < 1:
        return f"{ms * 1000:.0f}µs"
    if size < 1000:
        return f"{ms:.0f}ms" if size >= 99.95 else f"{ms:.1f}ms"
    return f"{ms / 1000:.2f}s" if size < 60_000 else f"{ms / 1000:.0f}s"


# The units of durations beyond two of them, in ms.
_UNITS: Final = ((86_400_000, "days"), (3_600_000, "hours"), (60_000, "minutes"))


def describe_duration(ms: float) -> str:
    """A duration in a sentence: `48µs`, `19s`, `3.25s`, from two minutes on `7.5 minutes`, `36 hours`, `30 days`."""
    for unit, name in _UNITS:
        if abs(ms) >= 2 * unit:
            return f"{ms / unit:.1f}".removesuffix(".0") + f" {name}"
    text = format_latency(ms)
    return f"{text[:-1].rstrip('0').rstrip('.')}s" if "." in text and abs(ms) >= 1000 else text


def format_size(size: int) -> str:
    """A size in bytes as text, in powers of 1000: `92B`, `38.1kB`, `1.4MB`."""
    if size < 1000:
        return f"{size}B"
    if size < 999_950:
        return f"{size / 1000:.1f}kB"
    return f"{size / 1e6:.1f}MB" if size < 999_950_000 else f"{size / 1e9:.1f}GB"


@lru_cache(maxsize=64)
def _format_second(second: int) -> str:
    try:
        return (_EPOCH + timedelta(seconds=second)).isoformat()[:19]
    except OverflowError:  # a time stamp beyond year 9999, which a corrupt capture may have
        return f"{second}s"


def format_rfc3339(time_ns: int) -> str:
    """`2026-11-21T03:04:05.123456Z`, with nine digits where the capture has nanoseconds."""
    second, fraction = divmod(time_ns, 1_000_000_000)
    digits = str(1_000_000_000 + fraction)  # faster than a format with leading zeros
    return f"{_format_second(second)}.{digits[1:] if fraction % 1000 else digits[1:7]}Z"
