"""The value of `sasl.jaas.config` in, the login module it names and its options out.

The grammar is that of Java's JAAS configuration files: `class flag name=value …;` where a value with anything but
letters, digits and `_ - . $ /` stands in double or single quotes, and a backslash in quotes escapes.
"""

from __future__ import annotations

import re
from typing import Final

from decoders.named_tuple import NamedTuple

_TOKEN: Final = re.compile(
    r"""\s*(?:
        (?P<comment>//[^\n]*|\#[^\n]*|/\*.*?\*/)
      | (?P<double>"(?:[^"\\]|\\.)*")
      | (?P<single>'(?:[^'\\]|\\.)*')
      | (?P<sign>[=;{}])
      | (?P<word>[^\s=;{}"'\#]+)
    )""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "b": "\b"}
_OPTIONS: Final = frozenset({"username", "password", "tokenauth", "clientId", "clientSecret", "scope", "keyTab"})
_FLAGS: Final = ("required", "requisite", "sufficient", "optional")


class JaasError(ValueError):
    """The text is no login configuration; the message says what is wrong and shows no value."""


class JaasLogin(NamedTuple):
    """A login module: the last part of its class name, and its options."""

    module: str
    options: dict[str, str]


def parse_jaas(text: str) -> JaasLogin:
    """The (first) login module of a configuration.

    A whole file's entry `KafkaClient { … };` is taken as well. JaasError where the text is no such configuration.
    """
    tokens = _split_jaas_tokens(text)
    if len(tokens) > 1 and tokens[1] == ("sign", "{"):
        tokens = tokens[2:]
    if not tokens or tokens[0][0] != "word":
        raise JaasError("it must begin with the class of a login module")
    module = tokens[0][1].rpartition(".")[2]
    if len(tokens) < 2 or tokens[1][1].lower() not in _FLAGS:
        # What is no class may be a password.
        called = module if module.endswith("LoginModule") else "its first word"
        raise JaasError(f"{called} must be followed by `required`")
    options = {}
    at = 2
    while at < len(tokens) and tokens[at][0] == "word":
        name = tokens[at][1]
        if tokens[at + 1 : at + 2] != [("sign", "=")] or not tokens[at + 2 :] or tokens[at + 2][0] == "sign":
            called = f"the option {name}" if name in _OPTIONS else "an option"  # may be the rest of a password
            raise JaasError(f'{called} must be followed by ="its value"')
        options[name] = tokens[at + 2][1]
        at += 3
    if tokens[at : at + 1] != [("sign", ";")]:
        raise JaasError("it must end with a semicolon; a value with other signs than letters and digits needs quotes")
    return JaasLogin(module, options)


def _split_jaas_tokens(text: str) -> list[tuple[str, str]]:
    tokens = []
    at = 0
    end = len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None:
            raise JaasError("a quotation mark has no partner")
        kind = match.lastgroup or ""
        if kind in ("double", "single"):
            value = match[kind][1:-1]
            tokens.append(("value", re.sub(r"\\(.)", _unescape_character, value, flags=re.DOTALL)))
        elif kind != "comment":
            tokens.append((kind, match[kind]))
        at = match.end()
    return tokens


def _unescape_character(match: re.Match[str]) -> str:
    return _ESCAPES.get(match[1], match[1])
