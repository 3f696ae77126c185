"""Names, secrets and bytes in, the names and secrets found in the bytes out: as text, in base64 or in hexadecimal.

Only runs of bytes that may be text are searched, each of them once: a capture repeats the same few texts. At each place
of a run, the next bytes are looked up among the first bytes of the searched forms, so that the work grows with the text
and not with the number of names.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

__all__ = ["NameSearch", "select_searchable_names"]

# Runs of bytes that may be text; overwritten runs are of one letter.
_RUN: Final = re.compile(rb"[^\x00-\x1f\x7f\xff]{5,}")
_OVERWRITTEN: Final = re.compile(rb"x*")
_SEEN_MAX: Final = 1 << 18
# A name is searched for only if it is too long to occur by chance: at least this many characters, more for much text;
# each character is taken as one of about 26.
_LEAST: Final = 5
_CHANCE: Final = 1000
_BITS_OF_LETTER: Final = 4.7
# The most bytes of a name that are searched for.
_PART: Final = 64


def select_searchable_names(
    names: Iterable[bytes], kept_texts: Iterable[str], size_min: int
) -> tuple[dict[bytes, bytes], int]:
    """The names (or secrets) that can be searched for, by their longest run of text, and how many names are left out.

    A name is left out if it is a part of a text that stays (`kept_texts`), or so short that it occurs by chance in
    `size_min` bytes of text.
    """
    names = set(names)
    least = max(_LEAST, round((_CHANCE * max(size_min, 1) * max(len(names), 1)).bit_length() / _BITS_OF_LETTER))
    found: dict[bytes, bytes] = {}
    for name in names:
        run = max(_RUN.findall(name), key=len, default=b"")[:_PART]
        if len(run) >= least and len(set(run)) > 1:
            found[run] = name
    staying = NameSearch({run: run for run in found})
    for text in kept_texts:
        staying.feed(text.encode("utf-8", "surrogateescape"))
    found = {run: name for run, name in found.items() if run not in staying.found}
    return found, len(names) - len(set(found.values()))


class NameSearch:
    """Searches for names in the bytes given to `feed`, and collects them in `found`. `names`: run of text → name.

    A run has 5 bytes or more.
    """

    def __init__(self, names: Mapping[bytes, bytes]) -> None:
        self.found: set[bytes] = set()
        self._heads: dict[bytes, list[tuple[bytes, bytes]]] = {}
        for run, name in names.items():
            for form in _encodings_to_search_for(run):
                self._heads.setdefault(form[:_LEAST], []).append((form, name))
        self._seen: set[bytes] = set()

    def feed(self, data: bytes) -> None:
        """Search `data`, and add the names in it to `found`."""
        heads, seen = self._heads, self._seen
        if not heads:
            return
        for run in _RUN.findall(data):
            if run in seen:
                continue
            if len(seen) >= _SEEN_MAX:
                seen.clear()
            seen.add(run)
            if not _OVERWRITTEN.fullmatch(run):
                for at in range(len(run) - _LEAST + 1):
                    head = run[at : at + _LEAST]
                    if head in heads:
                        self.found.update(name for form, name in heads[head] if run.startswith(form, at))


def _encodings_to_search_for(run: bytes) -> Iterator[bytes]:
    """The forms of a text to search for: plain, in hexadecimal, and in base64 at each of three alignments."""
    yield run
    yield run.hex().encode()
    yield run.hex().upper().encode()
    for before in range(3):
        text = b64encode(bytes(before) + run).rstrip(b"=")
        # The letters that also depend on the bytes around the text are left out.
        begin, end = (0, 2, 3)[before], len(text) - (1 if (before + len(run)) % 3 else 0)
        if end - begin >= _LEAST:
            yield text[begin:end]
            yield text[begin:end].replace(b"+", b"-").replace(b"/", b"_")
