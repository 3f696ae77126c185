"""Secret values in, a function out that puts `{redacted N}` in their place in any text.

A value of eight characters or more is found anywhere; a shorter one only as a word of its own, because it may be a
part of words that have nothing to do with it.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from decoders.limits import SECRETS_MAX, SECRETS_SIZE_MAX

Conceal = Callable[[str], str]

_ANYWHERE: Final = 8
# Up to this many values are searched for one after the other; more are looked up by their first characters.
_FEW: Final = 32
# Patterns are strings: few runs need them, and `re` compiles each when it is first used, then keeps it.
# The words of a value that has several: a login configuration, a list, a SASL token.
_WORD: Final = r"[^\x00-\x20\"',;=]+"
# A Java class or another dotted name, and the words of every login configuration.
_NAME: Final = r"[A-Za-z]\w*(?:\.[A-Za-z]\w*)+|required|username|password"
# RFC 4616 and RFC 7628.
_SASL_PLAIN: Final = "([^\0]*\0[^\0]*)\0([^\0]+)"
_BEARER: Final = "(?i)auth=Bearer ([^\x01]+)"
_URL_PASSWORD: Final = r"(?<=://)[^\s/@:]*:([^\s/@]+)@"
_HOLE: Final = r"\{redacted \d+\}"


def passwords_of_urls(words: Iterable[str]) -> Iterator[str]:
    """The passwords in `scheme://user:password@host` texts."""
    for word in words:
        if "@" in word and "://" in word:
            yield from re.findall(_URL_PASSWORD, word)


def make_concealer(values: Iterable[str]) -> Conceal | None:
    """The function that takes these values from a text; None where there is nothing to hide."""
    wanted = sorted({value for value in values if value.strip()}, key=len, reverse=True)
    if not wanted:
        return None
    return _make_concealer_of_few_values(wanted) if len(wanted) <= _FEW else _make_concealer_of_many_values(wanted)


def _make_concealer_of_few_values(values: list[str]) -> Conceal:
    # Most texts repeat no secret, and searching for each costs less than compiling a pattern.
    pattern: list[re.Pattern[str]] = []

    def conceal_few_values(text: str) -> str:
        if not any(map(text.__contains__, values)):
            return text
        if not pattern:
            pattern.append(_pattern_of_values(values))
        return pattern[0].sub(_redact_match, text)

    return conceal_few_values


def _make_concealer_of_many_values(values: list[str]) -> Conceal:
    by_head: dict[int, dict[str, list[str]]] = {}
    for value in values:
        size = min(len(value), _ANYWHERE)
        by_head.setdefault(size, {}).setdefault(value[:size], []).append(value)

    def conceal_many_values(text: str) -> str:
        found = {
            value
            for size, heads in by_head.items()
            for at in range(len(text) - size + 1)
            for value in heads.get(text[at : at + size], ())
            if text.startswith(value, at)
        }
        return _pattern_of_values(sorted(found, key=len, reverse=True)).sub(_redact_match, text) if found else text

    return conceal_many_values


def _pattern_of_values(values: list[str]) -> re.Pattern[str]:
    """A pattern that finds the values, given with the longer ones first."""
    return re.compile("|".join(map(_value_pattern, values)))


def make_secret_concealer(secrets: Iterable[str | bytes], size: int) -> Conceal | None:
    """The function that takes secrets, in any spelling, from texts of at most `size` bytes; None for no secrets.

    Where there are more secrets than SECRETS_MAX, the function is `redact_whole_text`, which takes the whole text.
    """
    seen: set[str | bytes] = set()
    wanted: set[str] = set()
    held = 0
    for secret in secrets:
        if secret in seen:
            continue
        if len(seen) == SECRETS_MAX:
            return redact_whole_text
        if len(secret) <= size:
            seen.add(secret)
        for text in list_spellings_of_secrets((secret,), size):
            if text not in wanted:
                wanted.add(text)
                held += len(text)
            if held > SECRETS_SIZE_MAX or len(wanted) > 4 * SECRETS_MAX:
                return redact_whole_text
    return make_concealer(wanted)


def list_secret_and_its_parts(value: str) -> Iterable[str]:
    """A secret value, and those of its words that are long enough to be secrets by themselves."""
    yield value
    if value != value.strip():
        yield value.strip()
    for match in re.finditer(_WORD, value):
        part = match[0]
        if _ANYWHERE <= len(part) < len(value) and not re.fullmatch(_NAME, part):
            yield part


def list_spellings_of_secrets(secrets: Iterable[str | bytes], most: int | None = None) -> Iterator[str]:
    """The texts in which a secret may be repeated: as it is, its parts, in base64, in hex; none above `most` bytes.

    The secret of a PLAIN token is its password; a token of OAUTHBEARER has its bearer token among its texts.
    """
    for text in _list_spellings(secrets, most):
        if most is None or len(text) <= most:
            yield text


def _list_spellings(secrets: Iterable[str | bytes], most: int | None) -> Iterator[str]:
    for secret in secrets:
        data = secret if isinstance(secret, bytes) else secret.encode("utf-8", "surrogateescape")
        if not data:
            continue
        text = data.decode("utf-8", "surrogateescape")
        plain, bearer = re.fullmatch(_SASL_PLAIN, text), re.search(_BEARER, text)
        if plain is not None:
            if plain[2] not in plain[1]:  # the absence of the user's name would tell that it is the password
                yield from list_secret_and_its_parts(plain[2])
            continue
        if bearer is not None:
            yield bearer[1]
        yield from list_secret_and_its_parts(text)
        if len(data) >= _ANYWHERE and (most is None or len(data) <= most):
            yield b64encode(data).decode()
            yield data.hex()


def redact_whole_text(text: str) -> str:
    """The text `{redacted N}` that stands for a secret; N is the secret's size in bytes."""
    return f"{{redacted {len(text.encode('utf-8', 'surrogateescape'))}}}"


def has_redaction(text: str) -> bool:
    """Whether a secret was taken from the text."""
    return re.search(_HOLE, text) is not None


def _redact_match(match: re.Match[str]) -> str:
    return redact_whole_text(match[0])


def _value_pattern(value: str) -> str:
    return re.escape(value) if len(value) >= _ANYWHERE else rf"(?<![0-9A-Za-z]){re.escape(value)}(?![0-9A-Za-z])"
