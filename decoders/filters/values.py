"""Text of an expression in, its words with their places out, and the values and questions that they stand for."""

from __future__ import annotations

import fnmatch
import operator
import re
from collections.abc import Callable
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Any, Final, Literal, NamedTuple
from uuid import UUID

from decoders.apis import NAMES, api
from decoders.apis.error_codes import ERRORS, error_name
from decoders.errors import UnknownApi
from decoders.filters.errors import FilterError
from decoders.wire.primitives import uuid_text
from decoders.wire.units import parse_duration, parse_size, parse_time

# Longest first, so that `!=` is not read as `!`.
SIGNS: Final = ("==", "!=", "<=", ">=", "!~", "&&", "||", "<", ">", "~", "=", "!", "(", ")", ",")
_BLANKS: Final = re.compile(r"\s*")
_PATH: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\[\d*\])?(?:\.[A-Za-z0-9_]+(?:\[\d*\])?)*")
_BARE: Final = re.compile(r"[^\s(),\"'=!<>~&|]+")
_QUOTES: Final = "\"'"
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}


class Word(NamedTuple):
    """A piece of the text. `quoted`: it stood in quotes, so it is text whatever it looks like."""

    text: str
    at: int
    quoted: bool = False


class Scanner:
    """Reads one expression from left to right. Raises FilterError."""

    __slots__ = ("at", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self._skip()

    @property
    def ended(self) -> bool:
        """Whether nothing is left."""
        return self.at == len(self.text)

    def error(self, text: str, at: int | None = None) -> FilterError:
        """A failure here, or at an earlier place."""
        return FilterError(text, (self.at if at is None else at) + 1)

    def sign(self, *wanted: str) -> str | None:
        """One of these signs, if it comes next."""
        found = next((sign for sign in SIGNS if self.text.startswith(sign, self.at)), None)
        if found is None or (wanted and found not in wanted):
            return None
        self._go(len(found))
        return found

    def keyword(self, *wanted: str) -> str | None:
        """One of these words, if it comes next."""
        match = _PATH.match(self.text, self.at)
        if match is None or match[0].lower() not in wanted:
            return None
        self._go(len(match[0]))
        return match[0].lower()

    def path(self) -> Word:
        """The name of a field."""
        match = _PATH.match(self.text, self.at)
        if match is None:
            raise self.error("the name of a field is missing" if self.ended else f"no field begins with {self._seen()}")
        word = Word(match[0], self.at)
        self._go(len(match[0]))
        return word

    def value(self) -> Word:
        """A value: in quotes, or as it stands up to a blank or a sign."""
        if not self.ended and self.text[self.at] in _QUOTES:
            return self._quoted()
        match = _BARE.match(self.text, self.at)
        if match is None:
            raise self.error("a value is missing" if self.ended else f"a value is missing before {self._seen()}")
        word = Word(match[0], self.at)
        self._go(len(match[0]))
        return word

    def _quoted(self) -> Word:
        begun, quote = self.at, self.text[self.at]
        made: list[str] = []
        at = begun + 1
        while at < len(self.text) and self.text[at] != quote:
            if self.text[at] == "\\" and at + 1 < len(self.text):
                following = self.text[at + 1]
                # What is no escape of ours stays as it is: regular expressions are full of backslashes.
                made.append(following if following in "\\\"'" else _ESCAPES.get(following, "\\" + following))
                at += 2
            else:
                made.append(self.text[at])
                at += 1
        if at >= len(self.text):
            raise self.error(f"the quote {quote} is not closed", begun)
        self._go(at + 1 - begun)
        return Word("".join(made), begun, quoted=True)

    def _go(self, count: int) -> None:
        self.at += count
        self._skip()

    def _skip(self) -> None:
        match = _BLANKS.match(self.text, self.at)
        assert match is not None
        self.at = match.end()

    def _seen(self) -> str:
        return repr(self.text[self.at : self.at + 12])


# Words of an expression in, values out by the kind of field they are compared with: units, names, addresses, times.


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

# Signs and values in, questions about one value out: equal, less, like, matching.


Test = Callable[[Any], bool]

ORDER: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
# Kinds whose values have an order, and those that are text.
ORDERED: Final = frozenset({"number", "duration", "size", "time", "any"})
TEXTUAL: Final = frozenset({"text", "any", "api", "error", "address"})
# How a pattern sees what is a number inside.
TEXTS: Final[dict[str, Callable[[Any], str]]] = {
    "api": lambda key: api(key).name if key in NAMES else str(key),
    "error": error_name,
}
PATTERN_MAX: Final = 1000
# So much of a value a pattern sees.
SEEN_MAX: Final = 65536


def equal(kind: Kind, word: Word) -> Test:
    """`field == word` of one value."""
    wanted = value_of(kind, word)
    if isinstance(wanted, Network):
        return _address_test(wanted)
    if kind != "any":
        return lambda value: value == wanted
    return lambda value: _plain(value) == wanted or (word.text == _plain(value) and not isinstance(value, bool))


def ordered(kind: Kind, sign: str, word: Word) -> Test:
    """`field < word` and its like."""
    compare = ORDER[sign]
    wanted = value_of(kind, word)
    if not isinstance(wanted, int | float):
        raise FilterError(f"{sign} needs a number, not {word.text!r}", word.at + 1)
    return lambda value: isinstance(value, int | float) and compare(value, wanted)


def like(kind: Kind, word: Word) -> Test:
    """`field like GLOB`: the whole value, * and ? as a shell has them."""
    pattern = re.compile(fnmatch.translate(word.text), re.DOTALL)
    text_of = TEXTS.get(kind, _questions_text)
    return lambda value: pattern.match(text_of(value)) is not None


def matching(kind: Kind, word: Word) -> Test:
    """`field ~ REGEX`: somewhere in the value, in a time that grows with its length only (RE2's syntax)."""
    if len(word.text) > PATTERN_MAX:
        raise FilterError(f"a pattern has at most {PATTERN_MAX} characters", word.at + 1)
    import re2  # type: ignore[import-untyped]  # it ships no types; and it takes 5 ms, and few expressions have a pattern

    options = re2.Options()
    options.log_errors = False
    try:
        pattern = re2.compile(word.text, options)
    except re2.error as problem:
        reason = problem.args[0] if problem.args else ""
        text = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        raise FilterError(f"{word.text!r} is no regular expression: {text}", word.at + 1) from None
    text_of = TEXTS.get(kind, _questions_text)
    return lambda value: pattern.search(text_of(value)[:SEEN_MAX]) is not None


def _address_test(wanted: Network) -> Test:
    def test(value: Any) -> bool:
        host, _, port = str(value).rpartition(":")
        if wanted.port is not None and port != wanted.port:
            return False
        if wanted.network is None:
            return True
        try:
            return ip_address(host.strip("[]")) in wanted.network
        except ValueError:
            return False

    return test


def _plain(value: Any) -> Any:
    """A body's value as an expression would write it."""
    if isinstance(value, UUID):
        return uuid_text(value.bytes)
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _questions_text(value: Any) -> str:
    text = str(_plain(value))
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
