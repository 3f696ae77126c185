"""What completion knows of the protocol: API names, versions, words of a request's body, values, errors, releases."""

from __future__ import annotations

from functools import cache
from typing import Final, NamedTuple

from decoders.apis import KEYS, api
from decoders.apis.enums import ENUMS
from decoders.apis.error_codes import ERRORS
from decoders.apis.releases import RELEASES
from decoders.schema.model import Field
from kwcli.calling import fetch, produce
from kwcli.reference.tree import paths

# What Produce and Fetch take besides the fields of their requests.
_SHORT: Final = {0: produce.WORDS, 1: fetch.WORDS}
_BOOLEANS: Final = (("true", ""), ("false", ""))


class Known(NamedTuple):
    """One API: `labels` are the spellings that a script compares with, without `_` and `-` and in lower case.

    `words` begin a word of its body (`topics[].name=`); `values` {path: ((value, what it means), …)}.
    """

    labels: tuple[str, ...]
    name: str
    low: int
    high: int
    words: tuple[str, ...]
    values: dict[str, tuple[tuple[str, str], ...]]


@cache
def apis() -> tuple[Known, ...]:
    """All APIs by key."""
    return tuple(_known(key) for key in KEYS)


def _known(key: int) -> Known:
    found = api(key)
    words = [f"{name}=" for name in _SHORT.get(key, ())]
    values: dict[str, tuple[tuple[str, str], ...]] = {}
    for path, field, _ in paths(found.request.fields, found.versions):
        if field.fields:
            continue
        place = path + "[]" * field.array
        words.append(f"{place}=")
        meanings = _values(key, path, field)
        if meanings:
            values[place] = meanings
    labels = (str(key), found.name.lower(), *(name.lower() for name in found.was))
    return Known(labels, found.name, found.versions.low, found.versions.high, tuple(dict.fromkeys(words)), values)


def _values(key: int, path: str, field: Field) -> tuple[tuple[str, str], ...]:
    if field.kind == "bool":
        return _BOOLEANS
    return tuple((str(number), word) for number, word in ENUMS.get(key, {}).get(path, {}).items())


def api_names() -> tuple[str, ...]:
    """All names by key."""
    return tuple(known.name for known in apis())


def error_names() -> tuple[tuple[str, str], ...]:
    """(name, number and meaning)."""
    return tuple((error.name, f"{code}: {error.meaning}") for code, error in ERRORS.items())


def releases() -> tuple[str, ...]:
    """All releases, newest first."""
    return tuple(reversed(RELEASES))
