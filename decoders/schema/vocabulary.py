"""Text of a declaration in, model objects out: the words that declarations are written in.

A declaration is one text block. Its head lines give a word and its value; a section (`request`, `response`, `fields`,
`struct NAME VERSIONS`, `early SIDE VERSION in RELEASE…`) holds one field a line, children indented below:

    api 1 Fetch                     or: message ConsumerProtocolSubscription
    versions 0-18
    flexible 12+                    `none` where it never is
    listeners broker controller
    was OlderName
    request
        cluster_id   string    12+  null 12+  tag 0  = null  ignorable
        topics       []struct  0+
            topic    string    0-12  is topicName  was name

    NAME TYPE VERSIONS then any of: `null V` nullable versions · `tag N [V]` tagged (in V, else in all its versions) ·
    `= LITERAL` default (JSON, no blanks) · `ignorable` · `key` map key · `inflexible` never compact · `secret` ·
    `secret unless FIELD` (a config value: unless FIELD, a sibling before it, holds a name known to be public) ·
    `is ENTITY` · `was NAME[,NAME]` older names · `since RELEASE` a tagged field that this release put into versions
    which were out already. TYPE is a primitive, `struct`, a common struct's name, or [] of these.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from decoders.schema.model import NONE, PRIMITIVES, Api, Default, Field, Message, Side, Versions

_VERSIONS = re.compile(r"\d+(\+|-\d+)?$|none$")
_WORDS: Final[dict[str, Default]] = {"null": None, "true": True, "false": False}
_STRING = re.compile(r'"[^"\\]*"$')
_NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][-+]?\d+)?$")


class DeclarationError(Exception):
    """A declaration that does not follow the vocabulary; the text names the line."""


class _Line:
    __slots__ = ("children", "depth", "number", "words")

    def __init__(self, number: int, depth: int, words: list[str]) -> None:
        self.number = number
        self.depth = depth
        self.words = words
        self.children: list[_Line] = []


def _tree(text: str) -> list[_Line]:
    roots: list[_Line] = []
    stack: list[_Line] = []
    for number, raw in enumerate(text.splitlines(), 1):
        if not raw.strip() or raw.lstrip().startswith("#"):
            continue
        line = _Line(number, len(raw) - len(raw.lstrip(" ")), raw.split())
        while stack and stack[-1].depth >= line.depth:
            stack.pop()
        (stack[-1].children if stack else roots).append(line)
        stack.append(line)
    return roots


def _fail(line: _Line, text: str) -> DeclarationError:
    return DeclarationError(f"line {line.number}: {text}: {' '.join(line.words)}")


def _field(line: _Line, commons: dict[str, _Line]) -> Field:
    if len(line.words) < 3:
        raise _fail(line, "a field needs a name, a type and versions")
    name, kind, versions_text, *rest = line.words
    array = kind.startswith("[]")
    kind = kind.removeprefix("[]")
    versions = Versions.parse(versions_text)
    options: dict[str, object] = {}
    words = iter(rest)
    struct = ""
    children = line.children
    if kind not in PRIMITIVES and kind != "struct":
        if kind not in commons:
            raise _fail(line, f"no type {kind!r}")
        struct, kind, children = kind, "struct", commons[kind].children
    pending = next(words, None)
    while pending is not None:
        word, pending = pending, None
        pending = _option(line, word, words, versions, options)
    if bool(children) != (kind == "struct"):
        raise _fail(line, "a struct has fields, nothing else has")
    fields = tuple(_field(child, commons) for child in children)
    return Field(name, kind, array, versions, struct=struct, fields=fields, **options)  # type: ignore[arg-type]  # options are checked by word


def _option(line: _Line, word: str, words: Iterator[str], versions: Versions, options: dict[str, object]) -> str | None:
    """Read one option into `options`; the word after it, when it had to be looked at."""
    if word in {"ignorable", "key"}:
        options[word] = True
    elif word == "secret":
        options[word] = True
        after = next(words, None)
        if after != "unless":
            return after
        options[after] = _next(line, words)
    elif word == "inflexible":
        options["flexible"] = False
    elif word == "null":
        options["nullable"] = Versions.parse(_next(line, words))
    elif word == "is":
        options["entity"] = _next(line, words)
    elif word == "since":
        options["since"] = _next(line, words)
    elif word == "was":
        options["was"] = tuple(_next(line, words).split(","))
    elif word == "=":
        options["default"] = _literal(line, _next(line, words))
        options["has_default"] = True
    elif word == "tag":
        options["tag"] = int(_next(line, words))
        options["tagged"] = versions
        after = next(words, None)
        if after is None or not _VERSIONS.match(after):
            return after if after is not None else next(words, None)
        options["tagged"] = Versions.parse(after)
    else:
        raise _fail(line, f"no word {word!r}")
    return next(words, None)


def _next(line: _Line, words: Iterator[str]) -> str:
    value = next(words, None)
    if value is None:
        raise _fail(line, "a value is missing at the end")
    return value


def _literal(line: _Line, text: str) -> Default:
    """A JSON literal without escapes; the json module would cost as much as all else that is imported."""
    if text in _WORDS:
        return _WORDS[text]
    if _STRING.match(text):
        return text[1:-1]
    if _NUMBER.match(text):
        return int(text) if text.lstrip("-").isdigit() else float(text)
    raise _fail(line, f"{text!r} is no plain literal")


class _Head:
    """The head lines and sections of one declaration."""

    def __init__(self, text: str) -> None:
        self.kind = ""
        self.key = -1
        self.name = ""
        self.words: dict[str, list[str]] = {}
        self.sections: dict[str, _Line] = {}
        self.commons: dict[str, _Line] = {}
        self.early: list[_Line] = []
        for line in _tree(text):
            word, *rest = line.words
            if word == "api":
                self.kind, self.key, self.name = word, int(rest[0]), rest[1]
            elif word == "message":
                self.kind, self.name = word, rest[0]
            elif word == "struct":
                self.commons[rest[0]] = line
            elif word == "early":
                self.early.append(line)
            elif word in {"request", "response", "fields"}:
                self.sections[word] = line
            elif word in {"versions", "flexible", "listeners", "was"}:
                self.words[word] = rest
            else:
                raise _fail(line, f"no word {word!r}")

    def versions(self, word: str) -> Versions:
        values = self.words.get(word)
        return Versions.parse(values[0]) if values else NONE

    def message(self, name: str, line: _Line | None) -> Message:
        children = line.children if line else []
        fields = tuple(_field(child, self.commons) for child in children)
        return Message(name, self.versions("versions"), self.versions("flexible"), fields)


def parse_api(text: str) -> Api:
    """The API that a declaration describes. Raises DeclarationError."""
    head = _Head(text)
    if head.kind != "api":
        raise DeclarationError("line 1: a declaration of an API begins with `api KEY NAME`")
    early: dict[tuple[Side, int, str], Message] = {}
    for line in head.early:
        side, version, _, *releases = line.words[1:]
        message = head.message(f"{head.name}{side.capitalize()}", line)
        for release in releases:
            early[side, int(version), release] = message  # type: ignore[index]  # checked by check.py
    return Api(
        head.key,
        head.name,
        head.versions("versions"),
        head.versions("flexible"),
        head.message(head.name + "Request", head.sections.get("request")),
        head.message(head.name + "Response", head.sections.get("response")),
        tuple(head.words.get("listeners", ())),
        tuple(head.words.get("was", ())),
        early,
    )


def parse_message(text: str) -> Message:
    """The structure that a declaration describes. Raises DeclarationError."""
    head = _Head(text)
    if head.kind != "message":
        raise DeclarationError("line 1: a declaration of a structure begins with `message NAME`")
    return head.message(head.name, head.sections.get("fields"))
