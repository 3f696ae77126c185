"""Bytes in, what a person may see of them out: text, sizes in words, and stars where a secret is repeated."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator
from typing import Final

_KEPT: Final = frozenset(b"\t\n\r")
# One pass in C over the bytes: what is no plain ASCII text becomes a byte that is no ASCII.
_PLAIN: Final = bytes(byte if 0x20 <= byte < 0x7F or byte in _KEPT else 0x80 for byte in range(256))
_CONTROL: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]").search


def in_bytes(size: int) -> str:
    """A size as it is read out: `1 byte`, `4,096 bytes`."""
    return "1 byte" if size == 1 else f"{size:,} bytes"


def is_plain(data: bytes) -> bool:
    """Whether the bytes are ASCII text without control characters (what most text is; cheap)."""
    return data.translate(_PLAIN).isascii()


def has_controls(text: str) -> bool:
    """Whether a text has control characters other than tab and line ends."""
    return _CONTROL(text) is not None


def json_bytes(data: bytes) -> str | dict[str, str]:
    """The JSON form of bytes: a string, or {"base64": "..."} where they are no readable text."""
    if data.translate(_PLAIN).isascii():
        return data.decode("ascii")
    try:
        text = data.decode()
    except UnicodeDecodeError:
        pass
    else:
        if not _CONTROL(text):
            return text
    return {"base64": b64encode(data).decode("ascii")}


def json_text(text: str) -> str | dict[str, str]:
    """The JSON form of a string in which surrogateescape stands for bytes that are no UTF-8."""
    if text.isprintable():
        return text
    return json_bytes(text.encode("utf-8", "surrogateescape"))


# Secret values in, a function out that takes them from any text: `{redacted N}` stands where one was.
#
# A value of eight characters or more is found anywhere; a shorter one only as a word of its own, because it is a part
# of words that have nothing to do with it.


Conceal = Callable[[str], str]

_ANYWHERE: Final = 8
# What parts the words of a value that has several: a login configuration, a list, a SASL token.
_BETWEEN: Final = re.compile(r"[\x00-\x20\"',;=]+")
# A Java class or another dotted name, and the words of every login configuration.
_NAME: Final = re.compile(r"[A-Za-z]\w*(?:\.[A-Za-z]\w*)+|required|username|password")
# RFC 4616 and RFC 7628.
_SASL_PLAIN: Final = re.compile("([^\0]*\0[^\0]*)\0([^\0]+)")
_BEARER: Final = re.compile("auth=Bearer ([^\x01]+)", re.IGNORECASE)
_HOLE: Final = re.compile(r"\{redacted \d+\}")


def concealer(values: Iterable[str]) -> Conceal | None:
    """The function; None where there is nothing to hide."""
    wanted = sorted({value for value in values if value.strip()}, key=len, reverse=True)
    if not wanted:
        return None
    found = re.compile("|".join(map(_pattern, wanted))).sub
    return lambda text: found(_hole, text)


def with_parts(value: str) -> Iterable[str]:
    """A secret value, and those of its words that are long enough to be secrets by themselves."""
    yield value
    if value != value.strip():
        yield value.strip()
    for part in _BETWEEN.split(value):
        if _ANYWHERE <= len(part) < len(value) and not _NAME.fullmatch(part):
            yield part


def spellings(secrets: Iterable[str | bytes]) -> Iterator[str]:
    """The texts by which somebody may repeat a secret: as it is, its parts, in base64 and in hex.

    Of a token of PLAIN the password is one, of one of OAUTHBEARER the bearer's token.
    """
    for secret in secrets:
        data = secret if isinstance(secret, bytes) else secret.encode("utf-8", "surrogateescape")
        if not data:
            continue
        text = data.decode("utf-8", "surrogateescape")
        plain, bearer = _SASL_PLAIN.fullmatch(text), _BEARER.search(text)
        if plain is not None:
            if plain[2] not in plain[1]:  # the absence of the user's name would tell that it is the password
                yield from with_parts(plain[2])
            continue
        if bearer is not None:
            yield bearer[1]
        yield from with_parts(text)
        if len(data) >= _ANYWHERE:
            yield b64encode(data).decode()
            yield data.hex()


def hole(text: str) -> str:
    """What stands for a secret in a text; the number is its size in bytes."""
    return f"{{redacted {len(text.encode('utf-8', 'surrogateescape'))}}}"


def has_hole(text: str) -> bool:
    """Whether a secret was taken from the text."""
    return _HOLE.search(text) is not None


def _hole(match: re.Match[str]) -> str:
    return hole(match[0])


def _pattern(value: str) -> str:
    return re.escape(value) if len(value) >= _ANYWHERE else rf"(?<![0-9A-Za-z]){re.escape(value)}(?![0-9A-Za-z])"
