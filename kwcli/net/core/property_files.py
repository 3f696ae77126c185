"""Text of a configuration file in, its properties out (and back): Java's .properties and librdkafka's plain lines.

They differ in one thing that matters: for Java a backslash escapes and joins lines, for librdkafka it is a character
like any other. Which of them a text is, its property names tell; where they do not, Java's rules hold.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from kwcli.net.core.properties import ONLY_JAVA, ONLY_LIBRDKAFKA

Pair = tuple[str, str]

_ESCAPES: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_ESCAPE: Final = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_KEY: Final = re.compile(r"((?:[^\\=: \t\f]|\\.)*)[ \t\f]*(?:[=:][ \t\f]*)?(.*)", re.DOTALL)
_BLANK: Final = " \t\f"


def decoded(data: bytes) -> str:
    """A file's text: UTF-8, else Latin-1, which is what Java reads such files as."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def parse(text: str) -> list[Pair]:
    """The pairs of a file of either kind, in its order."""
    if is_java(text):
        return java_pairs(text)
    return plain_pairs(text)


def is_java(text: str) -> bool:
    """Whether the names in it say Java, or say nothing."""
    names = {name for name, _ in plain_pairs(text)}
    return bool(names & ONLY_JAVA) or not names & ONLY_LIBRDKAFKA


def plain_pairs(text: str) -> list[Pair]:
    """librdkafka's kind (kcat.conf, librdkafka.config): `name=value` lines, `#` comments, nothing is escaped."""
    pairs = []
    for line in text.splitlines():
        line = line.strip()
        if line and not line.startswith("#"):
            name, _, value = line.partition("=")
            pairs.append((name.strip(), value.strip()))
    return pairs


def java_pairs(text: str) -> list[Pair]:
    r"""Java's kind: `name=value`, `name: value` or `name value`, `#` and `!` comments, lines joined by a last `\`."""
    pairs = []
    for line in _logical_lines(text):
        match = _KEY.fullmatch(line)
        if match is not None:
            pairs.append((_unescaped(match[1]), _unescaped(match[2])))
    return pairs


def _logical_lines(text: str) -> Iterator[str]:
    joined: list[str] = []
    for natural in re.split(r"\r\n|\n|\r", text):
        line = natural.lstrip(_BLANK)
        if not joined and (not line or line[0] in "#!"):
            continue
        escaping = (len(line) - len(line.rstrip("\\"))) % 2 == 1
        joined.append(line[:-1] if escaping else line)
        if not escaping:
            yield "".join(joined)
            joined = []
    if any(joined):
        yield "".join(joined)


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(_character, text)


def _character(match: re.Match[str]) -> str:
    word = match[1]
    return chr(int(word[1:], 16)) if len(word) == 5 else _ESCAPES.get(word, word)


def write(pairs: Iterable[Pair]) -> str:
    """The same pairs as Java's kind."""
    return "".join(f"{_escaped(name, ' =:#!')}={_escaped(value, '')}\n" for name, value in pairs)


def _escaped(text: str, special: str) -> str:
    parts = []
    for character in text:
        if character in "\\" or character in special:
            parts.append("\\" + character)
        elif character in "\t\n\r\f":
            parts.append("\\" + {code: word for word, code in _ESCAPES.items()}[character])
        else:
            parts.append(character)
    written = "".join(parts)
    return "\\" + written if written.startswith(" ") else written
