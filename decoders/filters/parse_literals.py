"""The words of an expression in, the values that they stand for out, by the kind of field they are compared with."""

from __future__ import annotations

import re
from collections.abc import Callable
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Any, Final

from decoders.apis import NAMES, api
from decoders.capture.merge_captures import PACKET_NUMBER_MAX
from decoders.errors import FilterError, UnknownApi
from decoders.filters.filter_field_table import Kind, PacketSpan
from decoders.filters.tokens import Word
from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.errors.error_codes import ERRORS, find_error_code
from decoders.wire.parse_units import parse_duration, parse_moment, parse_size

_NUMBER: Final = re.compile(r"[+-]?(\d+(\.\d+)?|\.\d+)")
# A time of day, with the offset of the clock that it was read on.
_OF_DAY_WITH_ZONE: Final = re.compile(r"(\d?\d:[\d:.]*\d)(?:[Zz]|([+-])(\d\d):?([0-5]\d))")
_WORDS: Final = {"true": True, "yes": True, "false": False, "no": False, "null": None, "none": None}


class TimeOfDay(NamedTuple):
    """Nanoseconds since midnight, which are compared with the time of day of each exchange.

    `offset_ns`: how far the clock is ahead of UTC on which it was read.
    """

    ns: int
    offset_ns: int = 0


class Network(NamedTuple):
    """An address, a network or a port of one; either part may be absent."""

    network: IPv4Network | IPv6Network | None
    port: str | None


def parse_literal(kind: Kind, word: Word) -> Any:
    """The value of a word that is compared with a field of this kind. Raises FilterError."""
    return READERS[kind](word)


def _read_text(word: Word) -> str:
    return word.text


def _read_number(word: Word) -> float | int:
    match = _NUMBER.fullmatch(word.text)
    if match is None:
        raise FilterError(f"{word.text!r} is no number", word.at + 1)
    return float(word.text) if "." in word.text else int(word.text)


def _read_version(word: Word) -> int:
    number = word.text[1:] if word.text[:1] in ("v", "V") else word.text
    if not (number.isascii() and number.isdecimal()):
        raise FilterError(f"{word.text!r} is no version: write 12 or v12", word.at + 1)
    return int(number)


def _parse_signed(parse: Callable[[str], float], text: str) -> float:
    return -parse(text[1:]) if text.startswith("-") else parse(text.removeprefix("+"))


def _read_duration(word: Word) -> float:
    try:
        return _parse_signed(parse_duration, word.text)
    except ValueError:
        raise FilterError(
            f"{word.text!r} is no duration: write 250us, 100ms or 2m; 1.5 is seconds", word.at + 1
        ) from None


def _read_size(word: Word) -> float:
    try:
        return _parse_signed(parse_size, word.text)
    except ValueError:
        raise FilterError(f"{word.text!r} is no size: write 512, 10kB or 1MiB", word.at + 1) from None


def _read_time(word: Word) -> int | TimeOfDay:
    of_day = _OF_DAY_WITH_ZONE.fullmatch(word.text)
    try:
        found = parse_moment(word.text if of_day is None else of_day[1])
    except ValueError:
        found = None
    if found is None or found.since == "end":
        text = f"{word.text!r} is no time: write 17:34:50 or 2026-11-21T03:04:05.5Z"
        raise FilterError(text, word.at + 1)
    if found.since != "midnight":
        return found.ns
    if of_day is None or of_day[2] is None:
        return TimeOfDay(found.ns)
    offset_ns = (int(of_day[3]) * 60 + int(of_day[4])) * 60 * 10**9
    return TimeOfDay(found.ns, -offset_ns if of_day[2] == "-" else offset_ns)


def _read_address(word: Word) -> Network:
    text, port = word.text, None
    if text.startswith("["):
        inner, _, rest = text[1:].partition("]")
        text, port = inner, rest.removeprefix(":") or None
    elif text.count(":") == 1:
        text, _, port = text.partition(":")
    try:
        network = ip_network(text, strict=False) if text else None
    except ValueError:
        network = None
    if (text and network is None) or (port is not None and not port.isdecimal()) or (network is None and port is None):
        raise FilterError(
            f"{word.text!r} is no address: write 10.0.0.7, 10.0.0.0/8, 10.0.0.7:9092, :9092 or [::1]:9092", word.at + 1
        )
    return Network(network, port)


def _read_packets(word: Word) -> PacketSpan:
    file, _, numbers = word.text.rpartition(":")
    first, dash, last = numbers.partition("-")
    found = [int(text) for text in ((first, last) if dash else (first, first)) if text.isascii() and text.isdecimal()]
    if len(found) < 2 or not 1 <= found[0] <= found[1] <= PACKET_NUMBER_MAX:
        raise FilterError(f"{word.text!r} is no packet: write 105, 105-109 or kafka.pcap07:105", word.at + 1)
    return PacketSpan(file or None, *found)


def _read_api(word: Word) -> int:
    text = word.text
    if text.isascii() and text.isdecimal():
        return int(text)
    try:
        return api(text).key
    except UnknownApi:
        names = [api(key).name for key in NAMES]
        raise FilterError(f"no API has the name {text!r}", word.at + 1, word=text, candidates=names) from None


def _read_error(word: Word) -> int:
    text = word.text
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    code = find_error_code(text)
    if code is None:
        names = [row.name for row in ERRORS.values()]
        raise FilterError(f"no error has the name {text!r}", word.at + 1, word=text, candidates=names)
    return code


def _read_literal_of_any_kind(word: Word) -> Any:
    """The value of a word beside a body's field: a number with or without a unit, true, false, null, else text."""
    if word.quoted:
        return word.text
    if word.text.lower() in _WORDS:
        return _WORDS[word.text.lower()]
    if _NUMBER.fullmatch(word.text) is not None:
        return _read_number(word)
    for parse in (parse_duration, parse_size):
        try:
            return _parse_signed(parse, word.text)
        except ValueError:
            continue
    return word.text


READERS: Final[dict[Kind, Callable[[Word], Any]]] = {
    "text": _read_text,
    "record_content": _read_text,
    "number": _read_number,
    "version": _read_version,
    "duration": _read_duration,
    "size": _read_size,
    "time": _read_time,
    "address": _read_address,
    "api": _read_api,
    "error": _read_error,
    "packet": _read_packets,
    "any": _read_literal_of_any_kind,
}
