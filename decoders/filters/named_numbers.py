"""Numbers of bodies that have words, as filters compare them."""

from __future__ import annotations

from functools import cache

from decoders.apis import KEYS, api_name
from decoders.apis.enums import BITS, ENUMS
from decoders.apis.error_codes import ERRORS
from decoders.apis.number_words import API, ERROR, words_for

__all__ = ["NamedNumber", "folded", "words_in"]


class NamedNumber(int):
    """A number of a body with the words beside it; whatever asks for a number has one."""

    _set: str

    def __new__(cls, value: int, words: str) -> NamedNumber:
        """`words`: what set_of() says of its field."""
        made = int.__new__(cls, value)
        made._set = words
        return made

    @property
    def words(self) -> frozenset[str]:
        """The word for it, those of all its bits; none where it has none."""
        found = words_for(self._set, int(self))
        return frozenset(map(folded, found.split(","))) if found else frozenset()


@cache
def words_in(words: str) -> frozenset[str]:
    """All words of a set."""
    if words == ERROR:
        return frozenset(folded(row.name) for row in ERRORS.values())
    if words == API:
        return frozenset(folded(api_name(key)) for key in KEYS)
    bits = BITS.get(words)
    if bits is not None:
        known, _, text = bits
        return frozenset({*map(folded, known.values()), folded(text), "none"})
    return frozenset(map(folded, ENUMS[words].values()))


def folded(word: str) -> str:
    """As words are compared: small letters, one sign between their parts."""
    return word.lower().replace("-", "_")
