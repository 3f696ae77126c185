"""Numbers and bytes of Avro's logical types in, their JSON forms out, and back.

A number that is no date or time (year 0, year 10,000) stays the number.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Context, Decimal
from functools import lru_cache
from typing import Any, Final
from uuid import UUID

from decoders.limits import DECIMAL_SIZE_MAX
from decoders.schema.body_json_form import json_bytes
from decoders.wire.format_and_escape_text import format_rfc3339

_DAY_0: Final = date(1970, 1, 1).toordinal()
_DAYS: Final = range(1 - _DAY_0, date.max.toordinal() - _DAY_0 + 1)
_DAY_NS: Final = 86_400 * 10**9
_TIMES_NS: Final = range(_DAYS[0] * _DAY_NS, (_DAYS[-1] + 1) * _DAY_NS)
# Digits of decimals that are written: more than DECIMAL_SIZE_MAX gives.
_CONTEXT: Final = Context(prec=400)
# The unit of a time or a timestamp, in ns.
_UNITS: Final = {"millis": 10**6, "micros": 10**3, "nanos": 1}


def format_decimal(data: bytes, scale: int) -> Any:
    """An unscaled big-endian number as text: `1.50`."""
    if len(data) > DECIMAL_SIZE_MAX or not data:
        return json_bytes(data)
    number = int.from_bytes(data, "big", signed=True)
    if not scale:
        return str(number)
    digits = str(abs(number)).rjust(scale + 1, "0")
    return f"{'-' if number < 0 else ''}{digits[:-scale]}.{digits[-scale:]}"


@lru_cache(maxsize=1024)
def format_date(days: int) -> int | str:
    """Days since 1970 as `2026-11-28`."""
    return date.fromordinal(days + _DAY_0).isoformat() if days in _DAYS else days


def format_time_of_day(number: int, unit_ns: int) -> int | str:
    """A time since midnight, in units of so many ns, as `10:00:00.000000`."""
    time_ns = number * unit_ns
    return format_rfc3339(time_ns)[11:-1] if 0 <= time_ns < _DAY_NS else number


def format_timestamp(number: int, unit_ns: int) -> int | str:
    """A time since 1970, in units of so many ns, as `2026-11-28T10:00:00.000000Z`."""
    time_ns = number * unit_ns
    return format_rfc3339(time_ns) if time_ns in _TIMES_NS else number


def format_local_timestamp(number: int, unit_ns: int) -> int | str:
    """A time of an unnamed zone, as a timestamp without `Z`."""
    found = format_timestamp(number, unit_ns)
    return found[:-1] if isinstance(found, str) else found


def format_uuid_bytes(data: bytes) -> str:
    """16 bytes as `de305d54-75b4-431b-adb2-eb6b9e546014`."""
    return str(UUID(bytes=data))


def format_duration(data: bytes) -> dict[str, int]:
    """Three little-endian numbers as an object."""
    return {
        "months": int.from_bytes(data[:4], "little"),
        "days": int.from_bytes(data[4:8], "little"),
        "milliseconds": int.from_bytes(data[8:], "little"),
    }


def find_logical_type_formatter(logical: str, kind: str, scale: int) -> Callable[[Any], Any] | None:
    """The function that gives the JSON form of a type's plain value; None where that is its JSON form."""
    if logical == "decimal":
        return lambda data: format_decimal(data, scale)
    if logical == "uuid":
        return format_uuid_bytes if kind == "fixed" else None
    if logical == "duration":
        return format_duration
    if logical == "date":
        return format_date
    name, _, word = logical.rpartition("-")
    made = {"time": format_time_of_day, "timestamp": format_timestamp, "local-timestamp": format_local_timestamp}
    if name not in made:
        return None
    function, unit = made[name], _UNITS[word]
    return lambda number: function(number, unit)


# And back: what a user may write is the JSON form, or the plain number.


def parse_decimal(value: Any, scale: int, size: int) -> bytes:
    """The unscaled number of `1.50`, in `size` bytes, or in as few as can be where that is 0. Raises ValueError."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError
    number = Decimal(str(value)).scaleb(scale, _CONTEXT)
    if number != number.to_integral_value(context=_CONTEXT):
        raise ValueError
    whole = int(number)
    return whole.to_bytes(size or (whole + (whole < 0)).bit_length() // 8 + 1, "big", signed=True)


def parse_date(value: Any) -> Any:
    """Days since 1970."""
    return date.fromisoformat(value).toordinal() - _DAY_0 if isinstance(value, str) else value


def parse_time_ns(text: str) -> int:
    """A time with up to nine digits behind the second, in ns since 1970 (a time of day: since midnight)."""
    whole, _, fraction = text.removesuffix("Z").partition(".")
    if "T" not in whole:
        whole = f"1970-01-01T{whole}"
    at = datetime.fromisoformat(whole).replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    if fraction and not fraction.isdecimal():
        raise ValueError
    return (at.days * 86_400 + at.seconds) * 10**9 + int(fraction[:9].ljust(9, "0"))


def parse_duration(value: Any) -> bytes:
    """Three little-endian numbers of an object."""
    return b"".join(int(value[name]).to_bytes(4, "little") for name in ("months", "days", "milliseconds"))


def find_logical_type_parser(logical: str, kind: str, scale: int, size: int) -> Callable[[Any], Any] | None:
    """The function that gives a type's plain value of its JSON form; it raises what Python's own parsers raise."""
    if logical == "decimal":
        return lambda value: parse_decimal(value, scale, size)
    if logical == "uuid":
        return (lambda value: UUID(value).bytes) if kind == "fixed" else None
    if logical == "duration":
        return parse_duration
    if logical == "date":
        return parse_date
    unit = _UNITS.get(logical.rpartition("-")[2])
    if unit is None:
        return None
    return lambda value: parse_time_ns(value) // unit if isinstance(value, str) else value
