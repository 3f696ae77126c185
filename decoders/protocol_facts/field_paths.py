"""A path into a body as people write it (`topics[].partitions[0].leader_id`) in, its steps out.

Three languages have this syntax and each its own meaning of it: words of `kw call` (`[]` is a new element); --select,
columns and filters (`[]`, or no brackets at an array: every element), whose values `values_at_path` gives; and the
paths that declarations are spelt out to, which `schema/getter` takes apart by itself: those are made by code, and read
for each message.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Final

from decoders.named_tuple import NamedTuple
from decoders.wire.deferred_json import DeferredList

__all__ = ["FieldPathStep", "parse_field_path", "values_at_path"]

_STEP: Final = re.compile(r"([A-Za-z0-9_$-]+)((?:\[\d{0,9}\])*)", re.ASCII)
_INDEX: Final = re.compile(r"\[(\d*)\]")


class FieldPathStep(NamedTuple):
    """One name of a path, with what stands in its brackets; None for `[]`."""

    name: str
    indices: tuple[int | None, ...] = ()


def parse_field_path(text: str) -> tuple[FieldPathStep, ...]:
    """The steps of a path. Raises ValueError, whose argument is the part that is no step."""
    steps = []
    for part in text.split("."):
        match = _STEP.fullmatch(part)
        if match is None:
            raise ValueError(part)
        steps.append(FieldPathStep(match[1], tuple(int(one) if one else None for one in _INDEX.findall(match[2]))))
    return tuple(steps)


def values_at_path(json_body: Any, steps: Sequence[FieldPathStep]) -> Iterator[Any]:
    """What is there in a value of JSON's form; of an array without brackets, every element where steps follow.

    Nothing where the way ends before.
    """
    if not steps:
        yield json_body
        return
    (name, indices), rest = steps[0], steps[1:]
    if isinstance(json_body, dict) and name in json_body:
        yield from _values_at_indices(json_body[name], indices, rest)


def _values_at_indices(value: Any, indices: tuple[int | None, ...], rest: Sequence[FieldPathStep]) -> Iterator[Any]:
    if indices:
        elements = value if isinstance(value, list | DeferredList) else ()
        chosen: Iterable[Any] = elements if indices[0] is None else islice(elements, indices[0], indices[0] + 1)
        for element in chosen:
            yield from _values_at_indices(element, indices[1:], rest)
    elif rest and isinstance(value, list | DeferredList):
        for element in value:
            yield from values_at_path(element, rest)
    else:
        yield from values_at_path(value, rest)
