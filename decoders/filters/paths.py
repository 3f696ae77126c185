"""Paths into bodies (`topics[0].partitions.leader_id`) in, how declarations spell them out, and which APIs have them.

An array without an index stands for all its elements. Names may be written as older releases wrote them, or in
camelCase. `request` or `response` has been taken off the front.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from decoders.apis import KEYS, NAMES, api
from decoders.apis.paths import PathStep, parse_path
from decoders.schema.model import Field, Side


@cache
def paths_in(key: int, side: Side, path: str) -> tuple[str, ...]:
    """The path as the declaration of this API spells it: one or, where fields took turns under a name, several."""
    if key not in NAMES:
        return ()
    message = api(key).message(side)
    return tuple(dict.fromkeys(_spelt(message.fields, parse_path(path))))


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


def _spelt(fields: Iterable[Field], steps: Sequence[PathStep]) -> Iterator[str]:
    """The paths that these steps stand for, in the declaration's words, arrays with their brackets."""
    (name, indices), *rest = steps
    bracket = "".join("[]" if index is None else f"[{index}]" for index in indices)
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
