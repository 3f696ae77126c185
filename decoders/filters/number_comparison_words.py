"""Numbers of bodies in, the words for them out, as filters compare both."""

from __future__ import annotations

from functools import cache

from decoders.apis import KEYS, api_name
from decoders.protocol_facts.enum_words import BITS, ENUMS
from decoders.protocol_facts.errors.error_codes import ERRORS
from decoders.protocol_facts.number_words import API, ERROR, word_for_number_in_set

__all__ = ["NamedNumber", "fold_word", "words_of_number_set"]


class NamedNumber(int):
    """A number of a body that knows the words for it; it can be used as any int."""

    _set: str

    def __new__(cls, value: int, words: str) -> NamedNumber:
        """`words`: the set of words that set_of() gives for the field of the number."""
        made = int.__new__(cls, value)
        made._set = words
        return made

    @property
    def words(self) -> frozenset[str]:
        """The word for the number, or those for all its bits; empty where there is none."""
        found = word_for_number_in_set(self._set, int(self))
        return frozenset(map(fold_word, found.split(","))) if found else frozenset()


@cache
def words_of_number_set(words: str) -> frozenset[str]:
    """All words of a set."""
    if words == ERROR:
        return frozenset(fold_word(row.name) for row in ERRORS.values())
    if words == API:
        return frozenset(fold_word(api_name(key)) for key in KEYS)
    bits = BITS.get(words)
    if bits is not None:
        known, _, text = bits
        return frozenset({*map(fold_word, known.values()), fold_word(text), "none"})
    return frozenset(map(fold_word, ENUMS[words].values()))


def fold_word(word: str) -> str:
    """A word in the form in which words are compared: small letters, `_` between its parts."""
    return word.lower().replace("-", "_")
