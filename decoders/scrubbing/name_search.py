"""Names and secrets in; bytes in, those of them that are in these out: as text, in base64 or in hexadecimal.

Only runs of bytes that may be text are looked at, each of them once: a capture says the same few things again and
again. What is searched for is one regular expression, a tree of what begins alike.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Iterator
from typing import Any, Final

__all__ = ["NameSearch", "searchable"]

# Runs of bytes that may be text, but for those that were overwritten.
_RUN: Final = re.compile(rb"[^\x00-\x1f\x7f\xff]{4,}")
_OVERWRITTEN: Final = re.compile(rb"x*")
_SEEN_MAX: Final = 1 << 18
# A name is searched for where it is so long that it is not found by chance.
_LEAST: Final = 5
_LETTERS: Final = 16
_CHANCE: Final = 1000
# What is searched for at most.
_PART: Final = 64


def searchable(names: Iterable[bytes], kept: Iterable[str], size: int) -> tuple[dict[bytes, bytes], int]:
    """Of these names (or secrets) those that can be searched for, by what is: its longest run of text; and how many are
    left out. These are a part of what stays (`kept`), or so short that one is found by chance in `size` bytes of text.
    """
    names = set(names)
    staying = b"\0".join(text.encode("utf-8", "surrogateescape") for text in kept)
    found: dict[bytes, bytes] = {}
    least = max(_LEAST, len(f"{_CHANCE * max(size, 1) * max(len(names), 1):x}") * 4 // 5 + 1)
    for name in names:
        run = max(_RUN.findall(name), key=len, default=b"")[:_PART]
        if len(run) >= least and run not in staying and len(set(run)) > 1:
            found[run] = name
    return found, len(names) - len(set(found.values()))


class NameSearch:
    """`feed` it bytes; `found` are the names that were in them."""

    def __init__(self, names: dict[bytes, bytes]) -> None:
        self.found: dict[bytes, None] = {}
        self._names: dict[bytes, bytes] = {}
        for run, name in names.items():
            for form in _forms(run):
                self._names[form] = name
        self._pattern = re.compile(_tree(self._names), re.DOTALL) if self._names else None
        self._seen: set[bytes] = set()

    def feed(self, data: bytes) -> None:
        """Look through bytes."""
        if self._pattern is None:
            return
        seen = self._seen
        for run in _RUN.findall(data):
            if run in seen:
                continue
            if len(seen) >= _SEEN_MAX:
                seen.clear()
            seen.add(run)
            if _OVERWRITTEN.fullmatch(run):
                continue
            for found in self._pattern.finditer(run):
                self.found[self._names[found[0]]] = None


def _forms(run: bytes) -> Iterator[bytes]:
    """A text as it is, in hexadecimal, and in base64 at each of three places in what is encoded."""
    yield run
    yield run.hex().encode()
    yield run.hex().upper().encode()
    for before in range(3):
        text = b64encode(bytes(before) + run).rstrip(b"=")
        # Letters that say something of the bytes around it as well are left out.
        begin, end = (0, 2, 3)[before], len(text) - (1 if (before + len(run)) % 3 else 0)
        if end - begin >= _LEAST:
            yield text[begin:end]
            yield text[begin:end].replace(b"+", b"-").replace(b"/", b"_")


def _tree(words: Iterable[bytes]) -> bytes:
    """A regular expression that matches these words, in which what begins alike is looked at once."""
    root: dict[int, Any] = {}
    for word in words:
        node = root
        for byte in word:
            node = node.setdefault(byte, {})
        node[-1] = None
    # From the leaves up, without recursion: words are as long as somebody made them.
    made: dict[int, bytes] = {}
    waiting: list[tuple[dict[int, Any], bool]] = [(root, False)]
    while waiting:
        node, ready = waiting.pop()
        inner = [(byte, each) for byte, each in node.items() if byte >= 0]
        if not ready:
            waiting.append((node, True))
            waiting += [(each, False) for _, each in inner]
            continue
        options = [re.escape(bytes((byte,))) + made.pop(id(each)) for byte, each in inner]
        text = options[0] if len(options) == 1 else b"(?:" + b"|".join(options) + b")" if options else b""
        made[id(node)] = b"(?:" + text + b")?" if -1 in node and text else text
    return made[id(root)]
