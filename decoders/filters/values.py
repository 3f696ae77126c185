"""Words of an expression in, values out by the kind of field they are compared with: units, names, addresses, times."""

from __future__ import annotations

import re
from collections.abc import Callable
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Any, Final, Literal, NamedTuple

from decoders.apis import NAMES, api
from decoders.apis.error_codes import ERRORS
from decoders.errors import UnknownApi
from decoders.filters.errors import FilterError
from decoders.filters.scan import Word
from decoders.wire.units import parse_duration, parse_size, parse_time

Kind = Literal["text", "number", "duration", "size", "time", "address", "api", "error", "any"]

_NUMBER: Final = re.compile(r"[+-]?(\d+(\.\d+)?|\.\d+)")
_WORDS: Final = {"true": True, "yes": True, "false": False, "no": False, "null": None, "none": None}


class Network(NamedTuple):
    """An address, a network or a port of one; either part may be absent."""

    network: IPv4Network | IPv6Network | None
    port: str | None


def value_of(kind: Kind, word: Word) -> Any:
    """What a word means beside a field of this kind. Raises FilterError."""
    return READERS[kind](word)


def _text(word: Word) -> str:
    return word.text


def _number(word: Word) -> float | int:
    match = _NUMBER.fullmatch(word.text)
    if match is None:
        raise FilterError(f"{word.text!r} is no number", word.at + 1)
    return float(word.text) if "." in word.text else int(word.text)


def _signed(parse: Callable[[str], float], text: str) -> float:
    return -parse(text[1:]) if text.startswith("-") else parse(text.removeprefix("+"))


def _duration(word: Word) -> float:
    try:
        return _signed(parse_duration, word.text)
    except ValueError:
        raise FilterError(f"{word.text!r} is no duration: write 250us, 100ms, 1.5s or 2m", word.at + 1) from None


def _size(word: Word) -> float:
    try:
        return _signed(parse_size, word.text)
    except ValueError:
        raise FilterError(f"{word.text!r} is no size: write 512, 10kB or 1MiB", word.at + 1) from None


def _time(word: Word) -> int:
    try:
        return parse_time(word.text)
    except ValueError:
        raise FilterError(f"{word.text!r} is no time: write 2026-11-21T03:04:05.5Z", word.at + 1) from None


def _address(word: Word) -> Network:
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


def _api(word: Word) -> int:
    text = word.text
    if text.isascii() and text.isdecimal():
        return int(text)
    try:
        return api(text).key
    except UnknownApi:
        names = [api(key).name for key in NAMES]
        raise FilterError(f"no API has the name {text!r}", word.at + 1, word=text, candidates=names) from None


def _error(word: Word) -> int:
    text = word.text
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    known = {row.name: code for code, row in ERRORS.items()}
    code = known.get(text.upper().replace("-", "_"))
    if code is None:
        raise FilterError(f"no error has the name {text!r}", word.at + 1, word=text, candidates=known)
    return code


def _any(word: Word) -> Any:
    """Of a body's field: a number with or without a unit (ms, bytes), true, false, null, else text."""
    if word.quoted:
        return word.text
    if word.text.lower() in _WORDS:
        return _WORDS[word.text.lower()]
    if _NUMBER.fullmatch(word.text) is not None:
        return _number(word)
    for parse in (parse_duration, parse_size):
        try:
            return _signed(parse, word.text)
        except ValueError:
            continue
    return word.text


READERS: Final[dict[Kind, Callable[[Word], Any]]] = {
    "text": _text,
    "number": _number,
    "duration": _duration,
    "size": _size,
    "time": _time,
    "address": _address,
    "api": _api,
    "error": _error,
    "any": _any,
}
