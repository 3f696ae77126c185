"""Numbers in, short texts for people out: times, durations, sizes, counts; and the escape codes of colours."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from functools import cache
from typing import TYPE_CHECKING, Final

from decoders.named_tuple import NamedTuple
from decoders.wire.format_and_escape_text import escape_text
from kwcli.run_environment import Exit, Failure

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange

OFF: Final = "\x1b[0m"


class Palette(NamedTuple):
    """Escape codes by meaning, all empty without colours."""

    off: str
    dim: str
    client: str
    api: str
    bad: str
    name: str
    sign: dict[str, str]
    fields: tuple[str, ...]  # in turn, so that neighbours differ


_SIGNS: Final[dict[str, str]] = {
    "✗": "\x1b[1;31m",
    "·": "\x1b[2m",
    "?": "\x1b[1;33m",
    "!": "\x1b[1;35m",
    "←": "\x1b[33m",
    "…": "\x1b[35m",
    "⚡": "\x1b[1;33m",
}
COLORED: Final = Palette(
    off=OFF,
    dim="\x1b[2m",
    client="\x1b[36m",
    api="\x1b[1m",
    bad="\x1b[31m",
    name="\x1b[36m",
    sign=_SIGNS,
    fields=("\x1b[36m", "\x1b[32m", "\x1b[35m"),
)
PLAIN: Final = Palette(off="", dim="", client="", api="", bad="", name="", sign=dict.fromkeys(_SIGNS, ""), fields=("",))


def palette(color: bool) -> Palette:
    """The escape codes for a terminal with or without colours."""
    return COLORED if color else PLAIN


NS: Final = 1_000_000_000
# Characters that a terminal draws two cells wide, a good approximation of East Asian Width W and F: the first of each
# range, and the first behind it. A pattern of them would cost as much to compile as 100 lines, for one "–" in a table.
_WIDE: Final = (
    *(0x1100, 0x1160, 0x2E80, 0x303F, 0x3041, 0x4DC0, 0x4E00, 0xA4D0, 0xAC00, 0xD7A4, 0xF900, 0xFB00, 0xFE30, 0xFE50),
    *(0xFF00, 0xFF61, 0xFFE0, 0xFFE7, 0x1F300, 0x1FB00, 0x20000, 0x3FFFE),
)
_EDGES: Final = list(map(chr, _WIDE))


def _is_wide_character(character: str) -> bool:
    return bisect(_EDGES, character) % 2 == 1


def format_period(ms: int) -> str:
    """A configured time in ms: `500ms`, `30s`, `5m`, `7d`."""
    for unit, size in (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000)):
        if ms >= size and ms % size == 0:
            return f"{ms // size}{unit}"
    return f"{ms}ms"


def count_of(count: int, noun: str) -> str:
    """`1 topic`, `3 topics`, `2 replicas`, `4 entries`, `5 batches`."""
    if count == 1:
        return f"1 {noun}"
    if noun.endswith("ch"):
        return f"{count:,} {noun}es"
    return f"{count:,} {noun[:-1]}ies" if noun.endswith("ry") else f"{count:,} {noun}s"


# What a broker that wants all metrics of a client asks for (KIP-714): `*` in Kafka, an empty name in the KIP.
ALL_METRICS: Final = (["*"], [""])


def join_first_and_count_others(items: Sequence[str], most: int | None) -> str:
    """`orders,payments`; beyond `most` of them `orders,payments,+7`."""
    if most is None or len(items) <= most:
        return ",".join(items)
    return ",".join(items[:most]) + f",+{len(items) - most}"


def format_number_ranges(numbers: Iterable[int]) -> str:
    """Partition numbers: `0,3,5`, `0-5`, `0-2,7`."""
    parts: list[str] = []
    ordered = sorted(numbers)
    at = 0
    while at < len(ordered):
        end = at
        while end + 1 < len(ordered) and ordered[end + 1] - ordered[end] <= 1:
            end += 1
        low, high = ordered[at], ordered[end]
        parts.append(str(low) if low == high else f"{low},{high}" if high == low + 1 else f"{low}-{high}")
        at = end + 1
    return ",".join(parts)


def cell_width(text: str) -> int:
    """How many cells of a terminal a printable text takes."""
    if text.isascii() or text == "–":  # most cells without a value
        return len(text)
    return len(text) + sum(map(_is_wide_character, text))


def format_ends_with_host_names(exchange: Exchange) -> tuple[str, str]:
    """host:port of the client and of the broker, with the names that `--hosts` gives."""
    extra = exchange.extra or {}
    client, broker = extra.get("client_name"), extra.get("broker_name")
    return _put_host_name_in_address(exchange.client, client), _put_host_name_in_address(exchange.broker, broker)


def _put_host_name_in_address(end: str, name: object) -> str:
    return f"{escape_text(str(name))}:{end.rpartition(':')[2]}" if name else end


def cut(text: str, width: int) -> str:
    """The text in at most `width` cells, its end replaced by `…` where it is longer."""
    if cell_width(text) <= width:
        return text
    text = text[: max(width - 1, 0)]
    while cell_width(text) > width - 1 > 0:
        text = text[:-1]
    return text + "…" if width > 0 else ""


def cut_start_to_width(text: str, width: int) -> str:
    """The text in at most `width` characters, its beginning replaced by `…`: an address is told apart by its end."""
    return text if len(text) <= width else ("…" + text[len(text) - width + 1 :])[:width]


def shorten_api_name(name: str, room: int) -> str:
    """An API's name in at most `room` characters, its last word kept, as that tells the most: `Consum…Heartbeat`."""
    if len(name) <= room:
        return name
    last = next(iter(re.findall("[A-Z][a-z]*$", name)), "")
    head = name[: room - 1 - len(last)]
    return f"{head}…{last}" if last and len(last) + 4 <= room else cut(name, room)


def format_number_with_word(number: int, means: str) -> str:
    """A number and its word in the set that its field means: `0 read_uncommitted`; a set of bits by its words alone."""
    from decoders.protocol_facts.enum_words import BITS, word_for_number

    word = word_for_number(means, number)
    return f"{number} {word}" if word and means not in BITS else word or str(number)


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
# The longest name of a zone that is shown; others are shown as an offset.
_NAME_MAX: Final = 6


class TimeZone:
    """A time zone. `zone` None: that of the machine, for which the system reads TZ."""

    __slots__ = ("_zone", "utc")

    def __init__(self, zone: tzinfo | None) -> None:
        self._zone = zone
        self.utc = zone is UTC

    def local_time(self, seconds: int) -> datetime:
        """A time in this zone, of seconds since 1970. Raises OverflowError, ValueError or OSError beyond calendars."""
        return (_EPOCH + timedelta(seconds=seconds)).astimezone(self._zone)

    def name(self, seconds: int) -> str:
        """The name of the zone at that moment: `UTC`, `CEST`, or `+05:30` where it has no such name."""
        if self.utc:
            return "UTC"
        try:
            when = self.local_time(seconds)
        except (OverflowError, ValueError, OSError):
            return ""
        name = when.tzname() or ""
        return name if name.isalpha() and len(name) <= _NAME_MAX else when.isoformat()[-6:]

    def format_exact_time(self, text: str) -> str:
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


UTC_ZONE: Final = TimeZone(UTC)
# The word for the zone of the machine.
LOCAL: Final = "local"


@cache
def find_zone(name: str) -> TimeZone:
    """The zone of a word: empty for UTC, `local`, or a value of TZ. Raises Failure (usage) for a name that is none."""
    if not name:
        return UTC_ZONE
    if name == LOCAL:
        return TimeZone(None)
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        return TimeZone(ZoneInfo(name.removeprefix(":")))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        if any(letter.isdecimal() for letter in name):
            return TimeZone(None)
        raise Failure(f"--local: TZ={name} is no time zone (write Europe/Berlin)", Exit.USAGE) from None
