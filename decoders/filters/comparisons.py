"""Signs and words of an expression in, tests of one value out: equal, less, like, matching."""

from __future__ import annotations

import fnmatch
import operator
import re
from collections.abc import Callable
from ipaddress import ip_address
from typing import Any, Final
from uuid import UUID

from decoders.apis import NAMES, api
from decoders.errors import FilterError
from decoders.filters.filter_field_table import Kind, PacketSpan
from decoders.filters.parse_literals import Network, TimeOfDay, parse_literal
from decoders.filters.tokens import Word
from decoders.protocol_facts.errors.error_codes import error_name
from decoders.wire.parse_units import DAY_NS
from decoders.wire.primitive_types import format_uuid

Test = Callable[[Any], bool]

ORDER: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
# Kinds whose values have an order, and those that are text.
ORDERED: Final = frozenset({"number", "version", "duration", "size", "time", "any"})
TEXTUAL: Final = frozenset({"text", "record_content", "any", "api", "error", "address"})
# The text that a pattern sees of kinds whose values are numbers.
TEXTS: Final[dict[str, Callable[[Any], str]]] = {
    "api": lambda key: api(key).name if key in NAMES else str(key),
    "error": error_name,
}
PATTERN_MAX: Final = 1000
# The characters of a value that a pattern sees at most.
SEEN_MAX: Final = 65536


def make_equality_test(kind: Kind, word: Word) -> Test:
    """The test for `field == word`. Raises FilterError."""
    wanted = parse_literal(kind, word)
    if isinstance(wanted, Network):
        return _make_address_test(wanted)
    if isinstance(wanted, TimeOfDay):
        return lambda value: (value + wanted.offset_ns) % DAY_NS == wanted.ns
    if isinstance(wanted, PacketSpan):
        return lambda value: value.overlaps(wanted)
    if kind != "any":
        return lambda value: value == wanted
    text = word.text
    return lambda value: (comparable := _comparable_value(value)) == wanted or comparable == text


def make_order_test(kind: Kind, sign: str, word: Word) -> Test:
    """The test for `field < word`, and for <=, > and >=. Raises FilterError."""
    compare = ORDER[sign]
    wanted = parse_literal(kind, word)
    if isinstance(wanted, TimeOfDay):
        return lambda value: compare((value + wanted.offset_ns) % DAY_NS, wanted.ns)
    if not isinstance(wanted, int | float):
        raise FilterError(f"{sign} needs a number, not {word.text!r}", word.at + 1)
    return lambda value: isinstance(value, int | float) and compare(value, wanted)


def make_glob_test(kind: Kind, word: Word) -> Test:
    """The test for `field like GLOB`: the whole value, * and ? as a shell has them."""
    pattern = re.compile(fnmatch.translate(word.text), re.DOTALL)
    text_of = TEXTS.get(kind, _text_for_comparison)
    return lambda value: pattern.match(text_of(value)) is not None


def longest_literal_of_glob(word: Word) -> str:
    """The longest piece of a GLOB without wildcards: it stands in every text that the GLOB takes."""
    return max(_WILD.split(word.text), key=len)


def literal_of_regex(word: Word) -> str | None:
    """The word that a REGEX is, which may have ^ before it and $ behind it; None where a REGEX is more than a word."""
    match = _PLAIN_REGEX.fullmatch(word.text)
    return None if match is None else match[1]


_WILD: Final = re.compile(r"[*?]|\[.*", re.DOTALL)
_PLAIN_REGEX: Final = re.compile(r"\^?([A-Za-z0-9_-]+)\$?")


def make_regex_test(kind: Kind, word: Word) -> Test:
    """The test for `field ~ REGEX`: anywhere in the value, in a time that grows with its length only (RE2's syntax)."""
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
    text_of = TEXTS.get(kind, _text_for_regex)
    return lambda value: pattern.search(text_of(value)[:SEEN_MAX]) is not None


def _make_address_test(wanted: Network) -> Test:
    def is_wanted_address(value: Any) -> bool:
        host, _, port = str(value).rpartition(":")
        if wanted.port is not None and port != wanted.port:
            return False
        if wanted.network is None:
            return True
        try:
            return ip_address(host.strip("[]")) in wanted.network
        except ValueError:
            return False

    return is_wanted_address


def _comparable_value(value: Any) -> Any:
    """A body's value as an expression would write it."""
    if isinstance(value, UUID):
        return format_uuid(value.bytes)
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _text_for_comparison(value: Any) -> str:
    """A body's value as text; bytes that are no UTF-8 are surrogates, as in the words of a command line."""
    return str(_comparable_value(value))


def _text_for_regex(value: Any) -> str:
    """A body's value as text that RE2 takes, which knows no surrogates."""
    text = _text_for_comparison(value)
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
