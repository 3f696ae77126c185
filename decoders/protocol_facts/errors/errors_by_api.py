"""Which errors the answers of an API carry: as its definition lists them, as brokers are known to behave, by design.

They are sections of its declaration. `errors_listed` has what comments in its response's definition list, in any
release; `errors_observed` what brokers answer with besides: no table of this kind is published by Kafka, so it was
written from the behaviour of brokers and may lack a rare one. All that brokers answered in the captures that ship is in
it. Codes that any answer with an error code can carry (GENERIC) are not repeated.

`errors_expected` has errors that are the protocol as designed, as NAME (the place that says so) and what a client is
told by it on its usual way. An error belongs there when the client's next step is the one that the protocol has for it,
nothing failed, and nothing is tried again in the hope that it goes better. One that says "later" or "elsewhere" (a
leader that moved, a coordinator that loads) does not.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from decoders.apis import section
from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.errors.error_codes import ERRORS
from decoders.schema.api_declaration import Section

__all__ = [
    "GENERIC",
    "ExpectedError",
    "errors_listed_by_definition",
    "errors_observed_from_brokers",
    "expected_error_codes",
    "expected_errors",
    "is_plausible_error",
]

# What a broker can say whatever it was asked.
GENERIC: Final = ("UNKNOWN_SERVER_ERROR", "NONE", "UNSUPPORTED_VERSION")


class ExpectedError(NamedTuple):
    """An error that an answer carries by design: its code, where it is designed so, what it is for."""

    code: int
    source: str
    text: str


def errors_listed_by_definition(api_key: int) -> tuple[str, ...]:
    """The errors that the definition of an API's response lists."""
    return _error_names_in_section(api_key, "errors_listed")


def errors_observed_from_brokers(api_key: int) -> tuple[str, ...]:
    """The errors that brokers answer an API with besides."""
    return _error_names_in_section(api_key, "errors_observed")


@cache
def _error_names_in_section(key: int, section_word: str) -> tuple[str, ...]:
    said = section(key, section_word)
    return tuple(said.text.split()) if said else ()


def is_plausible_error(api_key: int, error: str) -> bool:
    """Whether brokers are known to answer this API with the error of this name."""
    return (
        error in GENERIC
        or error in errors_listed_by_definition(api_key)
        or error in errors_observed_from_brokers(api_key)
    )


def expected_errors(api_key: int) -> list[ExpectedError]:
    """The errors that the answers of an API carry by design."""
    said = section(api_key, "errors_expected")
    if said is None:
        return []
    found: list[ExpectedError] = []
    for line in map(str.strip, said.text.split("\n")):
        name, _, rest = line.partition(" (")
        source, closed, text = rest.partition(") ")
        if name.isupper() and closed:
            found.append(ExpectedError(_code_of_error_name(said, name), source, text))
        elif found:
            found[-1] = found[-1]._replace(text=f"{found[-1].text} {line}")
        elif line:
            raise said.error("an expected error is written as NAME (SOURCE) TEXT")
    return found


def _code_of_error_name(errors_section: Section, name: str) -> int:
    for code, error in ERRORS.items():
        if error.name == name:
            return code
    raise errors_section.error(f"no error {name!r}")


@cache
def expected_error_codes(api_key: int | None) -> frozenset[int]:
    """The codes of those errors; none for a number that no API has."""
    return frozenset(each.code for each in expected_errors(-1 if api_key is None else api_key))
