"""Numbers of bodies that have words: the sets of `apis/enums.py` by what a declaration `means`, and error codes."""

from __future__ import annotations

from functools import cache
from typing import Final

from decoders.apis.enums import BITS, ENUMS, words_of
from decoders.apis.error_codes import ERRORS, error_name
from decoders.schema.model import Field

__all__ = ["ERROR", "NamedNumber", "folded", "set_of", "words_in"]

# In the place of a set's name: every field called so has the same numbers.
ERROR: Final = "error_code"


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
        if self._set == ERROR:
            return frozenset({folded(error_name(int(self)))})
        found = words_of(self._set, int(self))
        return frozenset(map(folded, found.split(","))) if found else frozenset()


def set_of(field: Field) -> str:
    """The name of the set whose words the numbers of this field have; empty for none."""
    return ERROR if field.name == ERROR and field.kind == "int16" else field.means


@cache
def words_in(words: str) -> frozenset[str]:
    """All words of a set."""
    if words == ERROR:
        return frozenset(folded(row.name) for row in ERRORS.values())
    bits = BITS.get(words)
    if bits is not None:
        known, _, text = bits
        return frozenset({*map(folded, known.values()), folded(text), "none"})
    return frozenset(map(folded, ENUMS[words].values()))


def folded(word: str) -> str:
    """As words are compared: small letters, one sign between their parts."""
    return word.lower().replace("-", "_")
