"""Paths into bodies (`topics[0].partitions.leader_id`) in, how declarations spell them out, and which APIs have them.

An array without an index stands for all its elements. Names may be written as older releases wrote them, or in
camelCase. `request` or `response` has been taken off the front.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Final

from decoders.apis import KEYS, NAMES, api
from decoders.schema.model import Field, Side

_STEP: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\[(\d*)\])?")


@cache
def paths_in(key: int, side: Side, path: str) -> tuple[str, ...]:
    """The path as the declaration of this API spells it: one or, where fields took turns under a name, several."""
    if key not in NAMES:
        return ()
    message = api(key).message(side)
    steps = [(match[1], match[2]) for match in _STEP.finditer(path)]
    return tuple(dict.fromkeys(_spelt(message.fields, steps)))


def apis_with(side: Side, path: str) -> frozenset[int]:
    """The keys of all APIs that have such a field."""
    return frozenset(key for key in KEYS if paths_in(key, side, path))


def all_paths(side: Side, keys: Iterable[int] = KEYS) -> list[str]:
    """Every path of every API, without brackets: what a misspelt one may have been meant for."""
    found: dict[str, None] = {}
    for key in keys:
        message = api(key).message(side)
        found.update(dict.fromkeys(_every(message.fields, "")))
    return list(found)


def _spelt(fields: Iterable[Field], steps: list[tuple[str, str | None]]) -> Iterator[str]:
    """The paths that these steps stand for, in the declaration's words, arrays with their brackets."""
    (name, bracket), *rest = steps
    for field in _called(fields, name):
        head = field.name + ((bracket or "[]") if field.array else "")
        if bracket and not field.array:
            continue
        if not rest:
            yield head
        elif field.fields:
            for tail in _spelt(field.fields, rest):
                yield f"{head}.{tail}"


def _called(fields: Iterable[Field], name: str) -> list[Field]:
    """The fields that have this name; those that once had it, when none has it now."""
    folded = _folded(name)
    fields = list(fields)
    found = [field for field in fields if _folded(field.name) == folded]
    return found or [field for field in fields if any(_folded(old) == folded for old in field.was)]


def _every(fields: Iterable[Field], prefix: str) -> Iterator[str]:
    for field in fields:
        yield prefix + field.name
        if field.fields:
            yield from _every(field.fields, f"{prefix}{field.name}.")


def _folded(name: str) -> str:
    return name.replace("_", "").lower()
