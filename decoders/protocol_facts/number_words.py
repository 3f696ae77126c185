"""Which fields hold numbers that have words, and the words: sets of `means`, error codes, keys of APIs."""

from __future__ import annotations

from typing import Final, Protocol

from decoders.apis import NAMES, api_name
from decoders.protocol_facts.enum_words import word_for_number
from decoders.protocol_facts.errors.error_codes import error_name

# In the place of a set's name: every field called so has the same numbers.
ERROR: Final = "error_code"
API: Final = "api_key"


class NumberField(Protocol):
    """What is asked of a field: of a declaration, or of a plan."""

    @property
    def name(self) -> str:
        """Kafka's name in snake_case."""

    @property
    def kind(self) -> str:
        """Its type."""

    @property
    def means(self) -> str:
        """The set of its words, empty for none."""


def number_set_of_field(field: NumberField) -> str:
    """The name of the set whose words the numbers of this field have; empty for none."""
    if field.means or field.kind != "int16":
        return field.means
    if field.name.endswith(ERROR):
        return ERROR
    return API if field.name == API else ""


def word_for_number_in_set(number_set: str, number: int) -> str | None:
    """The word for a number in this set, with commas between those of its bits; None where it has none."""
    if number_set == ERROR:
        return error_name(number)
    if number_set == API:
        return api_name(number) if number in NAMES else None
    return word_for_number(number_set, number)
